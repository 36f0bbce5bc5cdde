"""Packets of which only a part has come: how many bytes wait for the rest, and how slowly it comes.

What a peer sends is kept until the packet is whole. One budget holds for all sessions together; who
has to go when it is used up, and who is too slow, is decided here, with the time passed in.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from heapq import heapify, heapreplace
from typing import Final, Generic, Protocol, TypeVar

RATE_WINDOW: Final = 60.0
"Seconds over which the rate of an unfinished packet is measured."
RATE_LEAST: Final = 1024
"Bytes that an unfinished packet gains each second, over such a window."
CUT_BELOW: Final = 7 / 8
"The part of the budget in use to which it is cut back: not each byte costs a search."


class Party(Protocol):
    """A session, as far as it matters here."""

    @property
    def is_known(self) -> bool:
        """The other side is one of the managers that this one knows."""
        ...

    @property
    def reads_paused(self) -> bool:
        """Nothing is read from it: that it is slow is not its fault."""
        ...

    @property
    def address(self) -> str:
        """The IP address of the other side."""
        ...


S = TypeVar("S", bound=Party)


@dataclass(slots=True)
class _Part:
    """An unfinished packet."""

    size: int
    begun: float
    "When its first bytes came."
    since: float
    "The start of the window over which its rate is measured."
    gained: int
    "Bytes that came in the window."


class Unfinished(Generic[S]):
    """The unfinished packets of all sessions, one each."""

    def __init__(self, limit: int) -> None:
        """`limit` is how many bytes all of them may have together."""
        self._limit = limit
        self._parts: dict[S, _Part] = {}
        self.total = 0
        "Bytes that wait for the rest of their packets."

    def note(self, session: S, came: int, pending: int, now: float) -> None:
        """Some bytes came; `pending` of them wait for the rest of their packet."""
        part = self._parts.get(session)
        before = 0 if part is None else part.size
        self.total += pending - before
        if not pending:
            self._parts.pop(session, None)
        elif part is None or pending != before + came:  # another packet has begun
            self._parts[session] = _Part(pending, now, now, pending)
        else:
            part.size = pending
            part.gained += came

    def forget(self, session: S) -> None:
        """A session is over."""
        part = self._parts.pop(session, None)
        if part is not None:
            self.total -= part.size

    def slow(self, now: float) -> list[S]:
        """Sessions whose packets come too slowly."""
        found = []
        for session, part in self._parts.items():
            if session.reads_paused:
                part.since, part.gained = now, 0
            elif now - part.since >= RATE_WINDOW:
                if part.gained < RATE_LEAST * (now - part.since):
                    found.append(session)
                part.since, part.gained = now, 0
        return found

    def excess(self) -> list[S]:
        """Sessions that have to go because all together hold too much; none if they do not.

        Those of managers that are not known go first. Among them the address that holds most loses
        its oldest packet, and so on until enough is free.
        """
        if self.total <= self._limit:
            return []
        target = self.total - int(self._limit * CUT_BELOW)
        strangers = [session for session in self._parts if not session.is_known]
        chosen, freed = self._choose(strangers, target)
        if freed < target:
            known = [session for session in self._parts if session.is_known]
            chosen += self._choose(known, target - freed)[0]
        return chosen

    def _choose(self, sessions: Iterable[S], target: int) -> tuple[list[S], int]:
        """Sessions that free this many bytes together, or all; and how many these free."""
        by_address: dict[str, list[S]] = {}
        for session in sorted(sessions, key=lambda one: self._parts[one].begun, reverse=True):
            by_address.setdefault(session.address, []).append(session)
        heap = [
            (-sum(self._parts[one].size for one in held), address)
            for address, held in by_address.items()
        ]
        heapify(heap)
        chosen: list[S] = []
        freed = 0
        while freed < target and heap and heap[0][0] < 0:
            held, address = heap[0]
            session = by_address[address].pop()
            size = self._parts[session].size
            chosen.append(session)
            freed += size
            heapreplace(heap, (held + size, address))
        return chosen, freed
