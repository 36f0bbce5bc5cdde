"""Which messages of a queue are held, and by what: the only place of the manager that says so.

A message that is held is in its queue and cannot be read. It is held by the handle it was read
through until it is removed or returned, by a transaction until its outcome, or by the manager
itself while it is sent or removed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import ClassVar, Final

from openmsmq.engine.queues.entry import Entry
from openmsmq.engine.queues.slices import RunSlice
from openmsmq.engine.queues.spans import Span, Spans
from openmsmq.engine.storage.layout import START_SIZE
from openmsmq.types.lookup import ranges_of

_NONE: Final[Mapping[int, Entry]] = {}


class Holder:
    """What has taken messages and not yet removed or returned them."""

    __slots__ = ()

    keeps_entries: ClassVar[bool] = False
    "It ends messages by and by, and needs to know them as they were read."


class SliceHolder(Holder):
    """One that can hold messages of a run together."""

    __slots__ = ()


REMOVING: Final = SliceHolder()
"Holds messages that are received and leave the store with the next commit."
IN_TRANSIT: Final = SliceHolder()
"Holds messages that were handed to the port."


class Holds:
    """The holders of the messages of one queue.

    Messages of a run that were taken together are a span; any other has an entry of its own.
    """

    __slots__ = ("_holders", "_read", "_spans")

    def __init__(self) -> None:
        self._holders: dict[int, Holder] = {}
        self._read: dict[Holder, dict[int, Entry]] = {}
        "Messages as they were read, of those that are held by what will end them by and by."
        self._spans: Spans[Holder] = Spans()

    def __len__(self) -> int:
        return len(self._holders) + self._spans.count

    def __iter__(self) -> Iterator[int]:
        yield from self._holders
        for span in self._spans:
            yield from range(span.first, span.end)

    def holder_of(self, lookup: int) -> Holder | None:
        """What holds a message; None if it is free."""
        holder = self._holders.get(lookup)
        if holder is None and self._spans.count:
            span = self._spans.at(lookup)
            return None if span is None else span.holder
        return holder

    def those_of(self, lookups: Iterable[int], holder: Holder) -> list[int]:
        """Which of these messages something holds."""
        holders = self._holders
        if not self._spans.count:
            return [lookup for lookup in lookups if holders.get(lookup) is holder]
        return [lookup for lookup in lookups if self.holder_of(lookup) is holder]

    def all_of(self, holder: Holder) -> list[int]:
        """All messages that something holds."""
        found = [lookup for lookup, other in self._holders.items() if other is holder]
        for span in self._spans:
            if span.holder is holder:
                found += range(span.first, span.end)
        return found

    def parts_of(self, first: int, end: int, holder: Holder) -> list[RunSlice]:
        """The messages of runs between two places that something holds together, as they were read.

        Others of it may be held one by one.
        """
        if not self._spans.count:
            return []
        spans = self._spans.within(first, end)
        return [span.part(first, end).read for span in spans if span.holder is holder]

    def singles_of(self, first: int, end: int, holder: Holder) -> list[int]:
        """The messages between two places that something holds one by one."""
        return [
            lookup
            for lookup, other in self._holders.items()
            if first <= lookup < end and other is holder
        ]

    def may_hold(self, lookups: Iterable[int]) -> bool:
        """Whether some messages may be held; False is certain, and known at once."""
        return self._spans.count > 0 or not self._holders.keys().isdisjoint(lookups)

    @property
    def is_held(self) -> Callable[[int], bool]:
        """Tells whether a message is held; bound once by scans, which ask for every message."""
        return self._is_held if self._spans.count else self._holders.__contains__

    def _is_held(self, lookup: int) -> bool:
        return lookup in self._holders or self._spans.at(lookup) is not None

    def held_bits(self, first: int, count: int) -> int:
        """A bit for each of `count` messages that is held."""
        bits, end = 0, first + count
        if self._spans.count:
            for span in self._spans.within(first, end):
                low, high = max(span.first, first), min(span.end, end)
                bits |= (1 << high - low) - 1 << low - first
        singles = self._holders
        if not singles:
            return bits
        if len(singles) < count:
            held = [lookup for lookup in singles if first <= lookup < end]
        else:
            held = [lookup for lookup in range(first, end) if lookup in singles]
        for lookup in held:
            bits |= 1 << lookup - first
        return bits

    def hold(self, lookups: Iterable[int], holder: Holder) -> None:
        """Let something hold messages, whatever held them before."""
        if self._read or self._spans.count:
            lookups = list(lookups)
            self._forget(lookups)
            if self._spans.count:
                for first, end in ranges_of(lookups):
                    self._spans.take(first, end)
        self._holders.update(dict.fromkeys(lookups, holder))

    def hold_read(self, entries: Iterable[Entry], holder: Holder) -> None:
        """Let a reader hold free messages, and keep what it needs to remove them later.

        Of packets the start is enough, which has the identifier for the history.
        """
        new = tuple.__new__
        found = {
            lookup: new(
                Entry, (lookup, record, packet if express else packet[:START_SIZE], express)
            )
            for lookup, record, packet, express in entries
        }
        self._holders.update(dict.fromkeys(found, holder))
        self._read.setdefault(holder, {}).update(found)

    def hold_slice(self, part: RunSlice, holder: Holder) -> None:
        """Let something hold messages of a run that are free, or are in a span now."""
        self._spans.take(part.first, part.end)
        self._spans.add(Span(part.first, part.end, holder, part.without_packets()))

    def span_at(self, lookup: int) -> Span[Holder] | None:
        """The span that a message is held in, if it is."""
        return self._spans.at(lookup) if self._spans.count else None

    def read_by(self, holder: Holder) -> Mapping[int, Entry]:
        """The messages that a reader holds one by one, as they were read."""
        return self._read.get(holder, _NONE)

    def held_by(self, reader: Holder) -> list[int]:
        """All messages that a reader holds which keeps what it has read."""
        found = list(self.read_by(reader))
        for span in self._spans:
            if span.holder is reader:
                found += range(span.first, span.end)
        return found

    def release(self, lookups: Iterable[int]) -> None:
        """Release messages that are held."""
        if self._read or self._spans.count:
            lookups = list(lookups)
            self._forget(lookups)
        if not self._spans.count:
            for lookup in lookups:
                del self._holders[lookup]
            return
        others = [lookup for lookup in lookups if self._holders.pop(lookup, None) is None]
        before = self._spans.count
        for first, end in ranges_of(others):
            self._spans.take(first, end)
        assert before - self._spans.count == len(others), "a message is not held"

    def release_slice(self, part: RunSlice) -> None:
        """Release messages of a run."""
        self._spans.take(part.first, part.end)

    def _forget(self, lookups: list[int]) -> None:
        if not self._read:
            return
        for lookup in lookups:
            holder = self._holders.get(lookup)
            read = None if holder is None else self._read.get(holder)
            if holder is not None and read is not None:
                read.pop(lookup, None)
                if not read:
                    del self._read[holder]
