"""Messages by label and time over REST, on all managers: which ones there are, and where."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from typing import Final

from openmsmq.client._async.manager import Manager
from openmsmq.console.filters import Filter, parse_filter
from openmsmq.console.limits import HISTORY_MAX, HISTORY_S, PAGE_MAX, SCAN_BATCH
from openmsmq.console.models import HistoryHit, HistoryView
from openmsmq.console.problems import RequestRefused
from openmsmq.console.rest.calls import ApiCall, ApiRoute
from openmsmq.errors import AccessDenied, MQError, QueueNotFound
from openmsmq.types.access import Access
from openmsmq.types.queues import QueueInfo, QueueKind

KEPT: Final = (
    QueueKind.PRIVATE,
    QueueKind.PUBLIC,
    QueueKind.SYSTEM,
    QueueKind.JOURNAL,
    QueueKind.SUBQUEUE,
    QueueKind.CONNECTOR,
)
"Kinds of queues that messages are looked for in."


@dataclass(slots=True)
class _Search:
    """A search, and how far it is."""

    call: ApiCall
    wanted: Filter
    limit: int
    until: float
    hits: list[HistoryHit] = field(default_factory=list)
    looked_at: int = 0
    complete: bool = True

    @property
    def is_over(self) -> bool:
        """Whether it may not look at more."""
        over = self.looked_at >= HISTORY_MAX or time.monotonic() > self.until
        return over or len(self.hits) >= self.limit


async def history(call: ApiCall) -> HistoryView:
    """Messages with a label that are in a queue, a journal or a dead-letter queue anywhere."""
    label = call.text("label")
    if not label:
        raise RequestRefused(400, "label: a text; * and ? are wild")
    text = f"label:{_quoted(label)}"
    for name, sign in (("from", ">="), ("to", "<=")):
        if given := call.text(name, most=40):
            text += f" sent:{_quoted(sign + given)}"
    limit = call.number("limit", 100, 1, PAGE_MAX) or PAGE_MAX
    search = _Search(call, parse_filter(text), limit, time.monotonic() + HISTORY_S)
    names = list(call.state.entries)
    found = await asyncio.gather(*(_ask(search, name) for name in names))
    asked = dict(zip(names, found, strict=True))
    if all(how != "ok" for how in asked.values()):
        raise RequestRefused(403, "; ".join(f"{name}: {how}" for name, how in asked.items()))
    hits = sorted(search.hits, key=lambda hit: hit.sent)
    return HistoryView(hits, search.looked_at, search.complete, asked)


def _quoted(text: str) -> str:
    """A value of a filter."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


async def _ask(search: _Search, name: str) -> str:
    """Look at the messages of one manager; `ok`, or why it could not be asked."""
    try:
        manager = await search.call.link(name).manager()
        infos = await manager.queues(everything=True)
        kept = [info for info in infos if info.messages and info.kind in KEPT]
        denied = [error for info in kept if (error := await _look(search, name, manager, info))]
    except (MQError, OSError) as error:
        return str(error)
    return denied[0] if kept and len(denied) == len(kept) else "ok"


async def _look(search: _Search, name: str, manager: Manager, info: QueueInfo) -> str:
    """Look at the messages of one queue; why it could not be opened, if so."""
    try:
        async with await manager.open_queue(info.name, access=Access.PEEK) as queue:
            after = 0
            while True:
                if search.is_over:
                    search.complete = False
                    return ""
                async with search.call.state.scanning():
                    batch = await queue.peek_many(SCAN_BATCH, timeout=0, after=after)
                    search.looked_at += len(batch)
                    search.hits += [
                        HistoryHit(
                            manager=name,
                            queue=info.name,
                            lookup_id=str(one.lookup_id),
                            id=one.id,
                            label=one.label,
                            sent=one.sent_time,
                            arrived=one.arrived_time,
                        )
                        for one in batch
                        if search.wanted.matches(one)
                    ][: search.limit - len(search.hits)]
                if not batch:
                    return ""
                after = batch[-1].lookup_id
    except AccessDenied as error:
        return error.detail
    except QueueNotFound:
        return ""  # it is gone


HISTORY_ROUTES: Final = (
    ApiRoute(
        "GET",
        "/history",
        "peek",
        "Messages by label and time, on all managers",
        history,
        HistoryView,
        query={
            "label": "the label; * and ? are wild",
            "from": "sent at this time or later: -2h, or 2026-07-01T10:00",
            "to": "sent at this time or earlier",
            "limit": "messages in the answer",
        },
    ),
)
