"""Queues over REST."""

from __future__ import annotations

import hashlib
from dataclasses import asdict
from math import inf
from typing import Any, Final

from msgspec import UNSET, to_builtins

from openmsmq.console.filters import is_like
from openmsmq.console.limits import PAGE_MAX
from openmsmq.console.links import ManagerLink, QueueTally
from openmsmq.console.models import NewQueue, QueuePage, QueueSettings, QueueView
from openmsmq.console.problems import RequestRefused
from openmsmq.console.rest.calls import ApiCall, ApiReply, ApiRoute
from openmsmq.console.views import queue_view
from openmsmq.errors import AccessDenied, QueueNotFound
from openmsmq.types.access import Access
from openmsmq.types.queues import VISIBLE, QueueInfo, QueueKind

SORTS: Final = ("name", "messages", "bytes", "oldest_age")
_TREND_S: Final = 3600
_TREND_POINTS: Final = 30
_OFFSETS: Final = 10_000_000
_IDLE: Final = QueueTally()
_LAST: Final = (QueueKind.SYSTEM, QueueKind.OUTGOING)
"Kinds of queues that come behind all others."


async def list_queues(call: ApiCall) -> QueuePage:
    """Queues by name or size; only those of the page are described."""
    link = call.link()
    link.sampler.start()
    manager = await link.manager()
    infos = await manager.queues(everything=call.flag("everything"))
    pattern = call.text("name")
    if pattern:
        infos = [one for one in infos if is_like(one.name, _wild(pattern))]
    if call.flag("nonempty"):
        infos = [one for one in infos if one.messages]
    order = call.text("sort", "name")
    if order.removeprefix("-") not in SORTS:
        raise RequestRefused(
            400, f"sort: one of {', '.join(SORTS)}, with - in front for the other way"
        )
    if order.removeprefix("-") == "name":
        infos.sort(key=_family)
    else:
        infos.sort(key=lambda one: getattr(one, order.removeprefix("-")) or 0)
    if order.startswith("-"):
        infos.reverse()
    limit = call.number("limit", 200, 1, PAGE_MAX) or PAGE_MAX
    start = call.number("cursor", 0, 0, _OFFSETS) or 0
    page = infos[start : start + limit]
    following = str(start + limit) if start + limit < len(infos) else None
    views = [queue_view(one, link.sampler.rates_of(one.name)) for one in page]
    if link.entry.tallies is not None:
        tallies = link.entry.tallies()
        for view in views:
            view.readers, view.held = tallies.get(view.name, _IDLE)
    if call.flag("trend"):
        for view in views:
            view.trend = _trend(call, link, view.name)
    return QueuePage(views, len(infos), following)


def _trend(call: ApiCall, link: ManagerLink, name: str) -> list[int]:
    """Messages of a queue over the last hour; by seconds, while the console is too young."""
    minutes = call.state.minutes.get(call.part("manager"))
    found = {} if minutes is None else minutes.queue(name, call.state.wall() - _TREND_S)
    if len(found.get("time", ())) < _TREND_POINTS // 4:
        found = link.sampler.series_of(name, 1)
    points = found["messages"]
    step = max(1, -(-len(points) // _TREND_POINTS))
    return [int(value) for value in points[::-step][::-1]]


def _family(info: QueueInfo) -> tuple[int, str, str]:
    """Queues of programs first, each with its journal and subqueues, those of the manager last."""
    name = info.name.casefold()
    parent = name.partition(";")[0].removesuffix("\\journal$")
    kind = _LAST.index(info.kind) + 1 if info.kind in _LAST else 0
    return kind, parent, name


def _wild(pattern: str) -> str:
    return pattern if "*" in pattern or "?" in pattern else f"*{pattern}*"


async def create_queue(call: ApiCall) -> ApiReply:
    """Create a queue."""
    asked = await call.body(NewQueue)
    manager = await call.manager()
    given = _properties(asked)
    given.pop("name")
    async with await manager.create_queue(asked.name, **given) as queue:
        call.log("create queue", queue.name)
        info = await queue.info()
    return ApiReply(queue_view(info), {"ETag": etag_of(info)}, 201)


async def show_queue(call: ApiCall) -> ApiReply:
    """A queue, and an ETag for `PATCH`."""
    try:
        async with await call.queue(Access.PEEK) as queue:
            info = await queue.info()
    except (AccessDenied, QueueNotFound):  # who may only watch cannot open it, nor what is sent on
        info = await _listed(call)
    rates = call.link().sampler.rates_of(info.name)
    return ApiReply(queue_view(info, rates), {"ETag": etag_of(info)})


async def _listed(call: ApiCall) -> QueueInfo:
    """The queue of the path as the list of all shows it, which `watch` is enough for."""
    asked = (await call.queue_name()).lower()
    names = {asked, f".\\private$\\{asked}", f".\\{asked}"}
    for info in await (await call.manager()).queues(everything=True):
        if info.name.lower() in names:
            return info
    raise QueueNotFound(asked)


async def change_queue(call: ApiCall) -> ApiReply:
    """Change properties of a queue that no one has changed meanwhile."""
    wanted = call.request.headers.get("If-Match")
    if wanted is None:
        raise RequestRefused(428, "If-Match is needed", "GET the queue, and send its ETag")
    asked = await call.body(QueueSettings)
    async with await call.queue(Access.ALL) as queue:
        if wanted != "*" and wanted != etag_of(await queue.info()):
            raise RequestRefused(412, "the queue has other properties now", "GET it again")
        changes = _properties(asked)
        for name in ("quota", "journal_quota"):
            if changes.get(name, 0) is None:
                changes[name] = inf
        await queue.set(**changes)
        call.log("change queue", queue.name, ", ".join(f"{a} = {b}" for a, b in changes.items()))
        info = await queue.info()
    return ApiReply(queue_view(info), {"ETag": etag_of(info)})


async def delete_queue(call: ApiCall) -> None:
    """Delete a queue with its messages, if there are as many as one thinks."""
    expected = call.number("messages", None, 0, 1 << 62)
    async with await call.queue(Access.ALL) as queue:
        info = await queue.info()
        if info.kind not in VISIBLE:
            raise RequestRefused(422, f"{info.name} belongs to the manager and cannot be deleted")
        if expected is None or expected != info.messages:
            raise RequestRefused(
                409,
                f"{info.name} has {info.messages} messages",
                f"say so: ?messages={info.messages}",
            )
    await (await call.manager()).delete_queue(info.name)
    call.log("delete queue", info.name, f"{info.messages} messages")


def etag_of(info: QueueInfo) -> str:
    """What changes with the properties of a queue, and not with its messages."""
    values = {
        name: value
        for name, value in asdict(info).items()
        if name not in ("messages", "bytes", "oldest_age", "state", "delayed", "delayed_bytes")
        and not name.startswith("journal_")
    }
    values["journal_quota"] = info.journal_quota
    return f'"{hashlib.sha256(repr(sorted(values.items())).encode()).hexdigest()[:20]}"'


def _properties(asked: QueueSettings) -> dict[str, Any]:
    return {name: value for name, value in to_builtins(asked).items() if value is not UNSET}


QUEUE_ROUTES: Final = (
    ApiRoute(
        "GET",
        "/managers/{manager}/queues",
        "watch",
        "Queues, with how much is in them",
        list_queues,
        QueuePage,
        query={
            "name": "part of the name, or a pattern with * and ?",
            "everything": "true: also journals, subqueues, outgoing and system queues",
            "nonempty": "true: only those with messages",
            "trend": "true: with their messages over the last hour",
            "sort": "name, messages, bytes or oldest_age; - in front for the other way",
            "limit": "queues in the answer",
            "cursor": "`next` of the page before",
        },
    ),
    ApiRoute(
        "POST",
        "/managers/{manager}/queues",
        "admin",
        "Create a queue",
        create_queue,
        QueueView,
        NewQueue,
        status=201,
    ),
    ApiRoute(
        "GET",
        "/managers/{manager}/queues/{queue}",
        "watch",
        "A queue, by its name, percent-encoded, or its id",
        show_queue,
        QueueView,
    ),
    ApiRoute(
        "PATCH",
        "/managers/{manager}/queues/{queue}",
        "admin",
        "Change properties; needs If-Match with the ETag",
        change_queue,
        QueueView,
        QueueSettings,
    ),
    ApiRoute(
        "DELETE",
        "/managers/{manager}/queues/{queue}",
        "admin",
        "Delete a queue with its messages",
        delete_queue,
        query={"messages": "how many messages it has, as a confirmation"},
        status=204,
    ),
)
