"""Connections to queue managers: one for each manager and login, shared by all pages of it.

Every call goes to the manager with the login of the person who asks, so that the manager itself
decides what is allowed, and its audit log knows who it was.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

from openmsmq.client._async.manager import Manager
from openmsmq.console.limits import LINK_IDLE_S, LINKS_MAX
from openmsmq.console.problems import RequestRefused
from openmsmq.console.sampler import Sampler
from openmsmq.errors import MQError

Connect = Callable[[str], Awaitable[Manager]]
"Connects with a token."


class QueueTally(NamedTuple):
    """What is going on at a queue at this moment."""

    readers: int = 0
    "Reads that wait for a message."
    held: int = 0
    "Messages that readers and transactions have taken, and not yet removed or given back."


@dataclass(frozen=True, slots=True)
class ManagerEntry:
    """A queue manager that the console knows."""

    name: str
    connect: Connect
    is_own: bool = False
    "The console is a part of its service."
    tallies: Callable[[], Mapping[str, QueueTally]] | None = None
    "Of queues by name, without those at which nothing goes on; None if that is not known."


class ManagerLink:
    """A manager as one login sees it."""

    def __init__(self, entry: ManagerEntry, token: str) -> None:
        self.entry = entry
        self.used = 0.0
        self.sampler = Sampler(self.manager)
        self._token = token
        self._manager: Manager | None = None
        self._connecting = asyncio.Lock()

    async def manager(self) -> Manager:
        """The manager, connected."""
        async with self._connecting:
            if self._manager is None:
                self._manager = await self.entry.connect(self._token)
        return self._manager

    async def close(self) -> None:
        """End the connection."""
        await self.sampler.stop()
        if self._manager is not None:
            with suppress(MQError, OSError):
                await self._manager.close()


class Links:
    """All connections of a console."""

    def __init__(self, entries: dict[str, ManagerEntry], clock: Callable[[], float]) -> None:
        self.entries = entries
        self._clock = clock
        self._links: dict[tuple[str, str], ManagerLink] = {}
        self._ending: set[asyncio.Task[None]] = set()

    def find(self, name: str, token: str) -> ManagerLink:
        """The connection to a manager with a login."""
        entry = self.entries.get(name)
        if entry is None:
            known = ", ".join(self.entries)
            raise RequestRefused(
                404, f"this console knows no manager {name[:60]!r}", f"known: {known}"
            )
        link = self._links.get((name, token))
        if link is None:
            self._sweep()
            while len(self._links) >= LINKS_MAX:
                self._drop(min(self._links, key=lambda key: self._links[key].used))
            link = self._links[name, token] = ManagerLink(entry, token)
        link.used = self._clock()
        return link

    def all(self) -> list[ManagerLink]:
        """All that are open."""
        return list(self._links.values())

    def _sweep(self) -> None:
        old = self._clock() - LINK_IDLE_S
        idle = [
            key
            for key, link in self._links.items()
            if link.used < old and not link.sampler.listeners
        ]
        for key in idle:
            self._drop(key)

    def _drop(self, key: tuple[str, str]) -> None:
        task = asyncio.create_task(self._links.pop(key).close())
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)

    async def close(self) -> None:
        """End all of them."""
        for key in list(self._links):
            self._drop(key)
        if self._ending:
            await asyncio.wait(list(self._ending))
