"""The express messages of a queue: in memory, in the same order as those in the store."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import lt

from openmsmq.engine.queues.entry import Entry
from openmsmq.properties.message import PRIORITY_MAX
from openmsmq.types.lookup import ARRIVAL_BITS

TIDY_AT = 1000
"Removed messages a list may still name before it is written anew."


class ExpressMessages:
    """Messages by lookup identifier, sorted.

    One list a priority: arrival numbers rise, so that adding is appending. A list may name
    messages that are gone; they are skipped, and dropped when they are many.
    """

    __slots__ = ("_entries", "_gone", "_lists", "size")

    def __init__(self) -> None:
        self._entries: dict[int, Entry] = {}
        self._lists: tuple[list[int], ...] = tuple([] for _ in range(PRIORITY_MAX + 1))
        self._gone = 0
        self.size = 0
        "Bytes of their packets."

    def __len__(self) -> int:
        return len(self._entries)

    def __contains__(self, lookup: object) -> bool:
        return lookup in self._entries

    def __getitem__(self, lookup: int) -> Entry:
        return self._entries[lookup]

    def get(self, lookup: int) -> Entry | None:
        """The message with this lookup identifier, if it is there."""
        return self._entries.get(lookup)

    def add(self, added: Sequence[Entry]) -> None:
        """Put messages at their places."""
        lookups = [entry.lookup for entry in added]
        lists = self._lists
        last = {order[-1] >> ARRIVAL_BITS: order[-1] for order in lists if order}
        if any([lookup <= last.get(lookup >> ARRIVAL_BITS, -1) for lookup in lookups]):
            self._tidy()  # a list may name one of them that was gone
        for rank, group in groupby(lookups, key=ARRIVAL_BITS.__rrshift__):
            order, new = lists[rank], list(group)
            if (not order or new[0] > order[-1]) and all(map(lt, new, new[1:])):
                order += new
            else:
                for lookup in new:
                    insort(order, lookup)
        self._entries.update(zip(lookups, added, strict=True))
        self.size += sum([len(entry.packet) for entry in added])

    def rewrite(self, lookup: int, record: bytes) -> None:
        """Change the record of a message that stays where it is."""
        self._entries[lookup] = self._entries[lookup]._replace(record=record)

    def remove(self, lookup: int) -> None:
        """Take a message out."""
        self.size -= len(self._entries.pop(lookup).packet)
        self._gone += 1
        if self._gone > TIDY_AT + len(self._entries):
            self._tidy()

    def after(self, lookup: int) -> Iterator[Entry]:
        """The messages above a lookup identifier, in rising order."""
        entries = self._entries
        for order in self._lists[lookup >> ARRIVAL_BITS :]:
            for place in range(bisect_right(order, lookup), len(order)):
                if order[place] in entries:
                    yield entries[order[place]]

    def before(self, lookup: int) -> Iterator[Entry]:
        """The messages below a lookup identifier, in falling order."""
        entries = self._entries
        highest = min(lookup >> ARRIVAL_BITS, PRIORITY_MAX)
        for order in reversed(self._lists[: highest + 1]):
            for place in range(bisect_left(order, lookup) - 1, -1, -1):
                if order[place] in entries:
                    yield entries[order[place]]

    def firsts(self) -> Iterator[Entry]:
        """The first message of each priority."""
        for order in self._lists:
            for lookup in order:
                if lookup in self._entries:
                    yield self._entries[lookup]
                    break

    def last(self) -> int:
        """The greatest lookup identifier; 0 if there is no message."""
        return max(self._entries, default=0)

    def lookups(self) -> list[int]:
        """All lookup identifiers, in rising order."""
        return sorted(self._entries)

    def _tidy(self) -> None:
        """Drop what is gone from the lists."""
        for order in self._lists:
            order[:] = [lookup for lookup in order if lookup in self._entries]
        self._gone = 0
