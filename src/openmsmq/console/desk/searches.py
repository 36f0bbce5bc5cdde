"""Searches on all managers: they run by themselves, show what they have found, and can be stopped.

A search takes its turn with others (`ConsoleState.scanning`), so that sends are answered meanwhile;
it ends when no page asks for it any more.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field

from openmsmq.client._async.manager import Manager
from openmsmq.console.desk.models import HistoryHit, NewSearch, SearchView
from openmsmq.console.filters import Filter, is_like
from openmsmq.console.limits import (
    LOGIN_SEARCHES_MAX,
    SEARCH_HITS_MAX,
    SEARCH_SILENCE_S,
    SEARCHES_KEPT_MAX,
    SEARCHES_MAX,
)
from openmsmq.console.links import Links
from openmsmq.console.pace import Pace
from openmsmq.console.problems import RequestRefused
from openmsmq.errors import AccessDenied, MQError, QueueNotFound
from openmsmq.types.access import Access
from openmsmq.types.queues import SEARCHED, QueueInfo
from openmsmq.types.received import ReceivedMessage

Turn = Callable[[], AbstractAsyncContextManager[None]]
"The turn of one search among others."


@dataclass(slots=True, eq=False)
class Search:
    """Messages that are looked for, and how far that is."""

    asked: NewSearch
    wanted: Filter
    token: str = field(repr=False)
    turn: Turn
    most: int | None = None
    "Messages that it looks at."
    limit: int = 0
    "Hits after which it ends; more if someone lets it go on."
    places: dict[tuple[str, str], int] = field(default_factory=dict)
    "How far it has looked, by manager and queue."
    id: str = field(default_factory=lambda: secrets.token_hex(6))
    hits: list[HistoryHit] = field(default_factory=list)
    looked_at: int = 0
    total: int = 0
    answers: dict[str, str] = field(default_factory=dict)
    complete: bool = True
    is_stopped: bool = False
    used: float = 0.0
    task: asyncio.Task[None] | None = None

    @property
    def is_full(self) -> bool:
        """Whether it may not look at more."""
        over = self.most is not None and self.looked_at >= self.most
        return over or len(self.hits) >= self.limit

    def __post_init__(self) -> None:
        self.limit = self.asked.limit

    @property
    def is_running(self) -> bool:
        """Whether it goes on by itself."""
        return self.task is not None and not self.task.done()

    def view(self, after: int) -> SearchView:
        """How it stands, with the hits from one on."""
        state = "running" if self.is_running else "stopped" if self.is_stopped else "done"
        if state == "done" and not self.complete:
            state = "full"
        return SearchView(
            id=self.id,
            state=state,  # type: ignore[arg-type] # one of these
            looked_at=self.looked_at,
            total=max(self.total, self.looked_at),
            found=len(self.hits),
            hits=self.hits[after:],
            asked=self.answers,
        )

    async def run(self, links: Links) -> None:
        """Look at the messages of all managers."""
        names = self.asked.managers or list(links.entries)
        self.total, self.complete, self.answers = 0, True, {}
        await asyncio.gather(*(self._ask(name, links) for name in names))

    async def _ask(self, name: str, links: Links) -> None:
        """Look at the messages of one manager."""
        try:
            manager = await links.find(name, self.token).manager()
            infos = await manager.queues(everything=True)
            kept = [info for info in infos if info.messages and self._is_asked(info)]
            self.total += sum(info.messages for info in kept)
            denied = [error for info in kept if (error := await self._look(name, manager, info))]
        except (MQError, OSError) as error:
            self.answers[name] = str(error)
            return
        self.answers[name] = denied[0] if kept and len(denied) == len(kept) else "ok"

    def _is_asked(self, info: QueueInfo) -> bool:
        return info.kind in SEARCHED and is_like(info.name, f"*{self.asked.queues.strip('*')}*")

    async def _look(self, name: str, manager: Manager, info: QueueInfo) -> str:
        """Look at the messages of one queue; why it could not be opened, if so."""
        pace = Pace()
        try:
            async with await manager.open_queue(info.name, access=Access.PEEK) as queue:
                while not self.is_full:
                    async with self.turn():
                        after = self.places.get((name, info.name), 0)
                        batch = await queue.peek_many(pace.size, timeout=0, after=after)
                        with pace.turn(batch):
                            self._take(name, info.name, batch)
                    if not batch:
                        return ""
                self.complete = False
                return ""
        except AccessDenied as error:
            return error.detail
        except QueueNotFound:
            return ""  # it is gone

    def _take(self, name: str, queue: str, batch: list[ReceivedMessage]) -> None:
        """Keep what matches; where it is full, another run goes on behind the last hit."""
        for one in batch:
            self.looked_at += 1
            self.places[name, queue] = one.lookup_id
            if self.wanted.matches(one):
                self.hits.append(
                    HistoryHit(
                        manager=name,
                        queue=queue,
                        lookup_id=str(one.lookup_id),
                        id=one.id,
                        label=one.label,
                        sent=one.sent_time,
                        arrived=one.arrived_time,
                    )
                )
                if len(self.hits) >= self.limit:
                    return


class Searches:
    """The searches of a console."""

    def __init__(self, links: Links, clock: Callable[[], float]) -> None:
        self._links = links
        self._clock = clock
        self._searches: dict[str, Search] = {}

    def begin(self, search: Search) -> None:
        """Let a search run by itself."""
        own = [one for one in self._running() if one.token == search.token]
        for old in own[: max(0, len(own) - LOGIN_SEARCHES_MAX + 1)]:
            self.stop(old)
        if len(self._running()) >= SEARCHES_MAX:
            raise RequestRefused(429, f"{SEARCHES_MAX} searches are running", "try again soon")
        over = [one.id for one in self._searches.values() if not one.is_running]
        for name in over[: max(0, len(self._searches) - SEARCHES_KEPT_MAX + 1)]:
            del self._searches[name]
        search.used = self._clock()
        search.is_stopped = False
        search.task = asyncio.create_task(self._run(search))
        self._searches[search.id] = search

    def go_on(self, search: Search) -> None:
        """Let a search that is full, or was stopped, find as many messages again."""
        if search.is_running:
            raise RequestRefused(409, "the search is running")
        if search.limit >= SEARCH_HITS_MAX:
            raise RequestRefused(409, f"a search has at most {SEARCH_HITS_MAX} hits", "filter more")
        search.limit = min(SEARCH_HITS_MAX, len(search.hits) + search.asked.limit)
        self.begin(search)

    def _running(self) -> list[Search]:
        return [one for one in self._searches.values() if one.is_running and not one.is_stopped]

    async def _run(self, search: Search) -> None:
        work = asyncio.create_task(search.run(self._links))
        try:
            while not work.done():
                await asyncio.wait([work], timeout=SEARCH_SILENCE_S / 10)
                if search.used + SEARCH_SILENCE_S < self._clock():
                    search.is_stopped = True
                    break
            if work.done():
                await work
        finally:
            work.cancel()

    def find(self, name: str, token: str) -> Search:
        """A search of a login, which goes on because someone asks for it."""
        found = self._searches.get(name)
        if found is None or found.token != token:
            raise RequestRefused(404, f"there is no search {name[:40]!r}")
        found.used = self._clock()
        return found

    def stop(self, search: Search) -> None:
        """Let a search look no further; what it has found stays."""
        if search.is_running and search.task is not None:
            search.is_stopped = True
            search.task.cancel()

    async def close(self) -> None:
        """Stop all of them."""
        tasks = [one.task for one in self._searches.values() if one.task is not None]
        for one in list(self._searches.values()):
            self.stop(one)
        if tasks:
            await asyncio.wait(tasks)
