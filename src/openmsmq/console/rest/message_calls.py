"""Messages over REST. To look at messages changes nothing: no order, no count, no flag."""

from __future__ import annotations

import time
from base64 import b64decode
from collections.abc import AsyncIterator, Callable
from contextlib import nullcontext, suppress
from typing import Any, Final

import msgspec
from aiohttp import web
from msgspec import UNSET

from openmsmq.client._async.manager import Queue
from openmsmq.console.desk.places import Walk
from openmsmq.console.filters import Filter
from openmsmq.console.limits import (
    EXPORT_BATCH,
    EXPORT_IDS_MAX,
    FILTER_MAX,
    IMPORT_MAX,
    PAGE_MAX,
    SCAN_BATCH,
    SCAN_MAX,
    SCAN_S,
)
from openmsmq.console.models import (
    DecodedView,
    MessageDetails,
    MessagePage,
    MessageToSend,
    MessageView,
    SentView,
)
from openmsmq.console.pace import Pace
from openmsmq.console.problems import RequestRefused
from openmsmq.console.rest.calls import ApiCall, ApiReply, ApiRoute, lookup_of
from openmsmq.console.views import decoded_view, message_details, message_view
from openmsmq.errors import MessageNotFound
from openmsmq.limits import U64_MAX
from openmsmq.types.access import Access
from openmsmq.types.json import from_json, renewed, to_json
from openmsmq.types.message import Message
from openmsmq.types.received import ReceivedMessage


async def list_messages(call: ApiCall) -> MessagePage:
    """Messages in their order or the newest first; with a filter, those that match.

    A request looks at a bounded number of messages; `next` says where to go on.
    """
    wanted = call.wanted(call.text("filter", most=FILTER_MAX))
    limit = call.number("limit", 50, 1, PAGE_MAX) or PAGE_MAX
    after = call.number("after", None, 0, U64_MAX)
    before = call.number("before", None, 0, U64_MAX)
    if after is not None and before is not None:
        raise RequestRefused(400, "after or before, not both")
    columns = call.columns()
    backwards = before is not None or call.flag("newest")
    preview = call.flag("preview")
    since = call.time("time")
    async with await call.queue(Access.PEEK) as queue:
        walk = Walk(queue, before if backwards else after, backwards=backwards, time=since)

        def view(message: ReceivedMessage) -> MessageView:
            return message_view(message, preview=preview, masks=call.masks, columns=columns)

        views, looked_at, following = await _scan(call, walk, wanted, limit, view)
    if preview or columns:
        call.read("look at bodies", queue.name, f"{len(views)} messages")
    return MessagePage(views, looked_at, None if following is None else str(following))


async def _scan(
    call: ApiCall,
    walk: Walk,
    wanted: Filter,
    limit: int,
    view: Callable[[ReceivedMessage], MessageView],
) -> tuple[list[MessageView], int, int | None]:
    """Messages that match, how many were looked at, and where to go on.

    Bodies are not kept: those of one batch at a time are in memory.
    """
    found: list[MessageView] = []
    looked_at = 0
    until = time.monotonic() + SCAN_S
    pace = Pace()
    while looked_at < SCAN_MAX and (looked_at == 0 or time.monotonic() < until):
        async with call.state.scanning() if wanted.text else nullcontext():
            size = pace.size if wanted.text else min(SCAN_BATCH, limit - len(found))
            batch = await walk.next(size)
            with pace.turn(batch):
                for message in batch:
                    looked_at += 1
                    if wanted.matches(message):
                        found.append(view(message))
                        if len(found) == limit:
                            return found, looked_at, message.lookup_id
        if not batch:
            return found, looked_at, None
    return found, looked_at, walk.at


async def send_message(call: ApiCall) -> ApiReply:
    """Send a message; with an idempotency key it is sent once, however often it is asked for."""
    asked = await call.body(MessageToSend)
    key = call.request.headers.get("Idempotency-Key", "")
    message = await _message_to_send(call, asked)
    manager = await call.manager()
    async with await call.queue(Access.SEND) as queue:
        info = await queue.info()
        if info.transactional:
            async with manager.transaction() as work:
                sent = await queue.send(message, transaction=work, dedup_id=key or None)
        else:
            sent = await queue.send(message, dedup_id=key or None)
    call.audit("send", queue.name, sent)
    return ApiReply(SentView(str(sent), sent.duplicate), {}, 200 if sent.duplicate else 201)


async def _message_to_send(call: ApiCall, asked: MessageToSend) -> Message:
    """The message that is asked for: a new one, or one like another."""
    if asked.text is not UNSET and asked.body is not UNSET:
        raise RequestRefused(400, "text or body: not both of them")
    given: dict[str, Any] = {
        name: value
        for name in SAID
        if (value := getattr(asked, name)) is not UNSET and value is not None
    }
    if "correlation_id" in given:
        given["correlation_id"] = bytes.fromhex(given["correlation_id"])
    try:
        if asked.body is not UNSET:
            given["body"] = b64decode(asked.body, validate=True)
    except ValueError as error:
        raise RequestRefused(400, f"body: not base64 ({error})") from None
    if asked.like is UNSET:
        if asked.text is UNSET and asked.body is UNSET:
            raise RequestRefused(400, "text or body: one of them is needed")
        return Message(given.pop("body", asked.text), **given)
    call.check_unmasked()
    known = int(asked.like.lookup_id)
    async with await (await call.manager()).open_queue(
        asked.like.queue, access=Access.PEEK
    ) as queue:
        old = await queue.peek_by_lookup_id(known)
    return renewed(old, text=None if asked.text is UNSET else asked.text, **given)


async def show_message(call: ApiCall) -> MessageDetails:
    """A message with its body, decoded, and every property."""
    return message_details(await _message(call), call.masks)


async def take_apart(call: ApiCall) -> DecodedView:
    """The body of a message as a tree, and the fields of its packet."""
    message = await _message(call)
    return decoded_view(message, call.masks)


async def _message(call: ApiCall) -> ReceivedMessage:
    async with await call.queue(Access.PEEK) as queue:
        found = await queue.peek_by_lookup_id(call.lookup())
    call.read("look at message", queue.name, found.id)
    return found


async def show_body(call: ApiCall) -> web.Response:
    """The bytes of the body, as a download."""
    call.check_unmasked()
    return _download(call, (await _message(call)).body)


async def show_packet(call: ApiCall) -> web.Response:
    """The bytes of the whole message, as a download for `openmsmq decode`."""
    call.check_unmasked()
    return _download(call, (await _message(call)).packet)


def _download(call: ApiCall, data: bytes) -> web.Response:
    """Some bytes as a file, or the range of them that is asked for (RFC 9110, 14)."""
    headers = {"Content-Disposition": "attachment", "Accept-Ranges": "bytes"}
    try:
        asked = call.request.http_range
    except ValueError:
        return web.Response(body=data, headers=headers)  # what cannot be read is passed over
    if asked.start is None and asked.stop is None:
        return web.Response(body=data, headers=headers)
    start, stop, _ = asked.indices(len(data))
    if start >= stop:
        wrong = {"Content-Range": f"bytes */{len(data)}"}
        raise RequestRefused(416, f"there are {len(data)} bytes", headers=wrong)
    headers["Content-Range"] = f"bytes {start}-{stop - 1}/{len(data)}"
    return web.Response(status=206, body=data[start:stop], headers=headers)


async def delete_message(call: ApiCall) -> None:
    """Remove one message."""
    lookup = call.lookup()
    async with await call.queue(Access.RECEIVE) as queue:
        gone = await queue.receive_by_lookup_id(lookup)
    call.audit("delete message", queue.name, gone.id)


async def export(call: ApiCall) -> web.StreamResponse:
    """All messages, those that match, or those that were chosen, as JSON lines."""
    call.check_unmasked()
    wanted = call.wanted(call.text("filter", most=FILTER_MAX))
    chosen = _chosen(call)
    async with await call.queue(Access.PEEK) as queue:
        call.read("export", queue.name, wanted.text)
        response = web.StreamResponse(
            headers={
                "Content-Type": "application/x-ndjson",
                "Content-Disposition": 'attachment; filename="messages.jsonl"',
            }
        )
        await response.prepare(call.request)
        async for message in _all(queue) if chosen is None else _some(queue, chosen):
            if wanted.matches(message):
                await response.write(msgspec.json.encode(_exported(message)) + b"\n")
        await response.write_eof()
    return response


def _chosen(call: ApiCall) -> list[int] | None:
    """The lookup identifiers in a query; None if there are none."""
    given = call.request.query.getall("lookup_id", [])
    if len(given) > EXPORT_IDS_MAX:
        raise RequestRefused(
            413, f"at most {EXPORT_IDS_MAX} lookup identifiers, not {len(given)}", "use a filter"
        )
    return [lookup_of(text) for text in given] or None


async def _some(queue: Queue, chosen: list[int]) -> AsyncIterator[ReceivedMessage]:
    for lookup in chosen:
        with suppress(MessageNotFound):  # someone has taken it
            yield await queue.peek_by_lookup_id(lookup)


async def _all(queue: Queue) -> AsyncIterator[ReceivedMessage]:
    after = 0
    while batch := await queue.peek_many(EXPORT_BATCH, timeout=0, after=after):
        for message in batch:
            yield message
        after = batch[-1].lookup_id


def _exported(message: ReceivedMessage) -> dict[str, Any]:
    return to_json(message)


async def import_messages(call: ApiCall) -> dict[str, int]:
    """Send messages that are given as JSON lines, all or none."""
    messages = messages_of(await call.request.read())
    manager = await call.manager()
    async with await call.queue(Access.SEND) as queue:
        if (await queue.info()).transactional:
            async with manager.transaction() as work:
                await queue.send_many(messages, transaction=work)
        else:
            await queue.send_many(messages)
    call.audit("import", queue.name, f"{len(messages)} messages")
    return {"sent": len(messages)}


def messages_of(data: bytes) -> list[Message]:
    """The messages of some JSON lines."""
    lines = [line for line in data.splitlines() if line.strip()]
    if len(lines) > IMPORT_MAX:
        raise RequestRefused(413, f"at most {IMPORT_MAX} messages at once")
    if not lines:
        raise RequestRefused(400, "there are no messages in the request")
    return [from_json(msgspec.json.decode(line)) for line in lines]


SAID: Final = (
    *("label", "priority", "recoverable", "journal", "dead_letter", "app_specific"),
    *("correlation_id", "time_to_be_received"),
)
"What a request says of a message beside its body."
_QUEUE: Final = "/managers/{manager}/queues/{queue}"
_FILTER: Final = {"filter": "which messages; see the grammar in docs/console.md"}
MESSAGE_ROUTES: Final = (
    ApiRoute(
        "GET",
        f"{_QUEUE}/messages",
        "peek",
        "Messages, with a filter if wanted; changes nothing",
        list_messages,
        MessagePage,
        query={
            **_FILTER,
            "after": "only behind this lookup identifier",
            "before": "only before this one, the newest first",
            "newest": "true: begin with the newest",
            "preview": "true: with the beginning of each body",
            "time": "only what arrived at this time or later (newest first: or earlier): -2h, or"
            " 2026-07-01T10:00; found at once, however long the queue is",
            "column": "a value of each body, `json:$.customer.name`, `xpath:/order/@no` or"
            " `header.NAME`; may be given several times",
            "limit": "messages in the answer",
        },
    ),
    ApiRoute(
        "POST",
        f"{_QUEUE}/messages",
        "send",
        "Send a message; Idempotency-Key is its deduplication id",
        send_message,
        SentView,
        MessageToSend,
        status=201,
    ),
    ApiRoute(
        "GET",
        f"{_QUEUE}/messages/{{lookup}}",
        "peek",
        "A message with its body",
        show_message,
        MessageDetails,
    ),
    ApiRoute(
        "DELETE",
        f"{_QUEUE}/messages/{{lookup}}",
        "read",
        "Remove a message",
        delete_message,
        status=204,
    ),
    ApiRoute(
        "GET",
        f"{_QUEUE}/messages/{{lookup}}/decoded",
        "peek",
        "The body as a tree, and the fields of the packet",
        take_apart,
        DecodedView,
    ),
    ApiRoute(
        "GET",
        f"{_QUEUE}/messages/{{lookup}}/body",
        "peek",
        "The bytes of a body, or a range of them",
        show_body,
    ),
    ApiRoute(
        "GET",
        f"{_QUEUE}/messages/{{lookup}}/packet",
        "peek",
        "The whole message as it travels, or a range of its bytes",
        show_packet,
    ),
    ApiRoute(
        "GET",
        f"{_QUEUE}/export",
        "peek",
        "Messages as JSON lines",
        export,
        query={**_FILTER, "lookup_id": "these messages; may be given several times"},
    ),
    ApiRoute(
        "POST",
        f"{_QUEUE}/import",
        "send",
        "Send messages given as JSON lines, all or none",
        import_messages,
        dict[str, int],
    ),
)
