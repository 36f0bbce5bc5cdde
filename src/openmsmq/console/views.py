"""Queues, messages and bodies as the API shows them: values only, never markup."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final

from openmsmq.bodies.body import Body
from openmsmq.bodies.decode import body_format, decode_body
from openmsmq.bodies.headers import decode_headers
from openmsmq.bodies.text import encodable
from openmsmq.capture.value_words import ValueWords
from openmsmq.console.bodies.columns import Column
from openmsmq.console.bodies.masks import MASKED, Names, masked_body, masked_view
from openmsmq.console.bodies.trees import tree_of
from openmsmq.console.limits import CONTENT_MAX, PREVIEW_MAX, TREE_BYTES_MAX
from openmsmq.console.models import (
    BodyView,
    DecodedView,
    MessageDetails,
    MessageView,
    PacketField,
    QueueView,
)
from openmsmq.console.sampler import QueueRates
from openmsmq.packet.describe import describe
from openmsmq.properties.message import describe_class
from openmsmq.types.json import to_json
from openmsmq.types.queues import QueueInfo
from openmsmq.types.received import ReceivedMessage

ROW_TEXT: Final = 160
"Characters of a body in a list."
_ROW_BYTES: Final = 4096
"Bytes of a body that are looked at for a list."
_COMPRESSED: Final = (
    ("gzip", (b"\x1f\x8b",), 31),
    ("deflate", (b"x\x01", b"x\x9c", b"x\xda"), 15),
)
"Ways to compress: how such a body begins, and what zlib expects of its header."
_KINDS: Final = {"nmf": "a message of WCF", "nrbf": "objects of .NET (BinaryFormatter)"}
_FIELD_TEXT: Final = 400
"Characters of a field of a packet."
_NO_RATES: Final = QueueRates()


def reason_of(message_class: int) -> str:
    """What the class of a message says, in words."""
    return describe_class(message_class) if message_class else ""


def queue_view(info: QueueInfo, rates: QueueRates = _NO_RATES) -> QueueView:
    """A queue."""
    return QueueView(
        name=info.name,
        id=str(info.id),
        kind=str(info.kind),
        state=info.state,
        transactional=info.transactional,
        journal=info.journal,
        messages=info.messages,
        bytes=info.bytes,
        journal_messages=info.journal_messages,
        delayed=info.delayed,
        oldest_age=info.oldest_age,
        quota=info.quota,
        journal_quota=info.journal_quota,
        label=info.label,
        authenticate=info.authenticate,
        privacy=info.privacy,
        base_priority=info.base_priority,
        abort_limit=info.abort_limit,
        retry_delay=info.retry_delay,
        poison=str(info.poison),
        multicast=info.multicast,
        restricted=info.restricted,
        format_name=info.format_name,
        created=datetime.fromtimestamp(info.created, UTC),
        modified=datetime.fromtimestamp(info.modified, UTC),
        change=rates.change,
        arriving=rates.arrived,
        leaving=rates.received,
    )


def message_view(
    message: ReceivedMessage,
    *,
    preview: bool,
    masks: Names = frozenset(),
    columns: Sequence[Column] = (),
) -> MessageView:
    """A message of a list."""
    text = kind = ""
    if preview and masks:
        shown = masked_view(message.body, message.body_type, masks)
        text, kind = " ".join((shown.text or MASKED)[: 4 * ROW_TEXT].split()), shown.format
    elif preview:
        start = message.body[:_ROW_BYTES]
        kind = body_format(start, message.body_type)
        found = decode_body(start, message.body_type).text
        text = " ".join((start.hex(" ", 2) if found is None else found)[: 4 * ROW_TEXT].split())
    return MessageView(
        lookup_id=str(message.lookup_id),
        id=message.id,
        label=message.label,
        size=len(message.body),
        priority=message.priority,
        message_class=message.message_class,
        reason=reason_of(message.message_class),
        sent=message.sent_time,
        arrived=message.arrived_time,
        destination=str(message.destination_queue or ""),
        source=str(message.source_manager),
        sender=message.sender_id or "",
        transactional=message.transactional,
        recoverable=message.recoverable,
        abort_count=message.abort_count,
        move_count=message.move_count,
        body_type=message.body_type,
        app_specific=message.app_specific,
        correlation_id=message.correlation_id.hex(),
        response_queue=str(message.response_queue or ""),
        admin_queue=str(message.admin_queue or ""),
        time_to_be_received=message.time_to_be_received,
        preview=text[:ROW_TEXT],
        format=kind,
        columns=[read(message) for read in columns],
    )


def inflated(body: bytes) -> tuple[str, bytes] | None:
    """How a body was compressed, and what is inside as far as is looked at; None if it was not."""
    for kind, starts, bits in _COMPRESSED:
        if body[:2] in starts:
            try:
                return kind, zlib.decompressobj(bits).decompress(body, CONTENT_MAX)
            except zlib.error:
                return None
    return None


def read_body(body: bytes, body_type: int) -> Body:
    """What a body is, or what is inside it if it was compressed."""
    inside = inflated(body)
    if inside is None:
        return decode_body(body, body_type)
    found = decode_body(inside[1], body_type)
    return replace(found, format=f"{inside[0]}, {found.format}")


def body_view(body: bytes, body_type: int) -> BodyView:
    """A body as text and as bytes, as far as a page shows it."""
    found = read_body(body, body_type)
    text = found.text
    is_long = len(body) > PREVIEW_MAX or (text is not None and len(text) > PREVIEW_MAX)
    return BodyView(
        format=found.format,
        text=None if text is None else text[:PREVIEW_MAX],
        hex=body[: PREVIEW_MAX // 4].hex(),
        size=len(body),
        truncated=is_long,
        reason=found.reason,
    )


def message_details(message: ReceivedMessage, masks: Names = frozenset()) -> MessageDetails:
    """A message with its body and every property."""
    properties: dict[str, Any] = to_json(message)
    for name in ("body", "text", *(("extension",) if masks else ())):
        properties.pop(name, None)
    properties["lookup_id"] = str(message.lookup_id)
    properties["arrival"] = str(message.arrival)
    bus = decode_headers(message.extension)
    return MessageDetails(
        message=message_view(message, preview=True, masks=masks),
        body=masked_view(message.body, message.body_type, masks)
        if masks
        else body_view(message.body, message.body_type),
        properties=properties,
        headers={} if masks else dict(bus.values),
        bus="" if masks else bus.kind or "",
    )


def decoded_view(message: ReceivedMessage, masks: Names = frozenset()) -> DecodedView:
    """A message taken apart; of one that is masked, its body alone."""
    body, kind = message.body, message.body_type
    if len(body) > TREE_BYTES_MAX:
        return DecodedView("", "the body is too long to be taken apart", None, fields_of(message))
    found = masked_body(body, kind, masks) if masks else read_body(body, kind)
    inner = replace(found, format=found.format.rpartition(", ")[2])
    fields = [] if masks else fields_of(message)
    return DecodedView(found.format, why_of(found.format, kind), tree_of(inner), fields)


def why_of(found: str, body_type: int) -> str:
    """What a body was recognised by."""
    declared = f"the message declares body type 0x{body_type:X}" if body_type else ""
    if found.startswith("activex:") or (declared and found == "nrbf"):
        return declared
    if found in ("binary", "empty"):
        return declared or "no body type is declared, and the body looks like nothing known"
    kind = _KINDS.get(found, found)
    return f"{declared or 'no body type is declared'}; the body looks like {kind}"


def fields_of(message: ReceivedMessage) -> list[PacketField]:
    """The fields of a message as it travels, with what they mean."""
    description = next(describe(message.packet))
    words = ValueWords(description)
    return [
        PacketField(
            one.path,
            one.offset,
            one.size,
            encodable(str(one.value)[:_FIELD_TEXT]),
            encodable((words.of(one) or "")[:_FIELD_TEXT]),
        )
        for one in description.fields
    ]
