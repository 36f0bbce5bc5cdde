"""Slices of runs: messages that follow each other in one run, and stay together on their way."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate, islice, pairwise
from struct import Struct
from typing import Final, TypeAlias, cast

from openmsmq.engine.queues.entry import Entry
from openmsmq.engine.storage import runs
from openmsmq.engine.storage.runs import Found, MessageRun

_SOURCE: Final = slice(16, 32)
"Where a packet has the GUID of its source."
_NUMBER: Final = 56
"Where it has the number of the message."
_u32 = Struct("<I")


class RunSlice:
    """Messages with consecutive lookup identifiers, all of which are in one run.

    Those that a reader has got have their packets, one after the other; of those that it holds, the
    identifier is kept, which counts up within a run.
    """

    __slots__ = ("_number", "_sizes", "_source", "end", "first", "packets", "run")

    def __init__(
        self,
        run: MessageRun,
        first: int,
        end: int,
        packets: bytes = b"",
        sizes: list[int] | None = None,
    ) -> None:
        """`sizes` are those of the packets, where they are not as they are stored."""
        self.run = run
        self.first = first
        "The lookup identifier of the first message."
        self.end = end
        "The one behind that of the last."
        self.packets = packets
        self._sizes = sizes
        self._source = b""
        self._number = 0

    def __len__(self) -> int:
        return self.end - self.first

    @property
    def start(self) -> int:
        """Where its packets begin in the blob of the run."""
        return self.run.offset(self.first - self.run.first)

    @property
    def stop(self) -> int:
        """Where they end there."""
        return self.run.offset(self.end - self.run.first)

    @property
    def size(self) -> int:
        """The bytes of its packets in the store."""
        return self.stop - self.start

    @property
    def sizes(self) -> list[int]:
        """The bytes of each packet."""
        if self._sizes is not None:
            return self._sizes
        if self.run.stride:
            return [self.run.stride] * len(self)
        place = self.first - self.run.first
        return [self.run.size_of(at) for at in range(place, place + len(self))]

    @property
    def identifier(self) -> bytes:
        """The identifier of the first message, once packets were read."""
        return self._source + _u32.pack(self._number)

    def with_packets(self, packets: bytes, sizes: list[int] | None = None) -> RunSlice:
        """The same with its packets, which were read, or were made of those that were."""
        found = RunSlice(self.run, self.first, self.end, packets, sizes or self._sizes)
        found._source = packets[_SOURCE]
        found._number = _u32.unpack_from(packets, _NUMBER)[0]
        return found

    def without_packets(self) -> RunSlice:
        """The same for a holder, which needs no packets to end it."""
        return self.part(self.first, self.end)

    def part(self, first: int, end: int) -> RunSlice:
        """Some of its messages, without their packets."""
        found = RunSlice(self.run, first, end)
        found._source = self._source
        found._number = self._number + first - self.first
        return found

    def as_it_stood(self) -> RunSlice:
        """The same in the queue that a subscription was given it from; there it is not any more."""
        moved = self.run.stood - self.run.first
        return RunSlice(self.run, self.first + moved, self.end + moved)

    def up_to(self, size_max: int) -> RunSlice:
        """The first messages that have at most this many bytes together; it may be none."""
        run, start = self.run, self.start
        low, high = 0, len(self)
        while low < high:
            middle = (low + high + 1) // 2
            if run.offset(self.first + middle - run.first) - start <= size_max:
                low = middle
            else:
                high = middle - 1
        return self.part(self.first, self.first + low)

    def found(self) -> Iterable[Found]:
        """Its messages one by one: lookup identifiers and records."""
        return islice(self.run.members(self.first - 1), len(self))

    @property
    def bounds(self) -> Sequence[int]:
        """Where each of its packets begins among them, and where the last ends."""
        run, start = self.run, self.start
        if self._sizes is not None:
            return list(accumulate(self._sizes, initial=0))
        if run.stride:
            return range(0, self.size + 1, run.stride)
        place = self.first - run.first
        return [run.offset(at) - start for at in range(place, place + len(self) + 1)]

    def split(self) -> list[bytes]:
        """Its packets, which were read."""
        packets = self.packets
        return [packets[at:end] for at, end in pairwise(self.bounds)]

    def entries(self) -> list[Entry]:
        """Its messages one by one, with their packets if they were read."""
        new, found = tuple.__new__, self.found()
        if not self.packets:
            return [Entry(lookup, raw, b"") for lookup, raw, _ in found]
        return [
            new(Entry, (lookup, raw, packet, False))
            for (lookup, raw, _), packet in zip(found, self.split(), strict=True)
        ]


Part: TypeAlias = Entry | RunSlice
"A message, or several of a run."
Parts: TypeAlias = Sequence[Part]


def expanded(parts: Parts) -> list[Entry]:
    """All messages one by one."""
    if not has_slices(parts):
        return cast(list[Entry], list(parts))
    found: list[Entry] = []
    for part in parts:
        if isinstance(part, RunSlice):
            found += part.entries()
        else:
            found.append(part)
    return found


def delivered(parts: Parts, *, takes_slices: bool) -> tuple[Parts, bool]:
    """What a reader gets, and whether some of it is in slices, which not all readers take."""
    if not has_slices(parts):
        return parts, False
    return (parts, True) if takes_slices else (expanded(parts), False)


def has_slices(parts: Parts) -> bool:
    """Whether some messages are in slices."""
    return any([isinstance(part, RunSlice) for part in parts])


def count_of(parts: Parts) -> int:
    """How many messages there are."""
    return sum([len(part) if isinstance(part, RunSlice) else 1 for part in parts])


def lookups_of(parts: Parts) -> list[int]:
    """The lookup identifiers of all messages."""
    found: list[int] = []
    for part in parts:
        if isinstance(part, RunSlice):
            found += range(part.first, part.end)
        else:
            found.append(part.lookup)
    return found


def is_worth_it(part: RunSlice) -> bool:
    """Whether there are enough messages that keeping them together takes less."""
    return len(part) >= runs.COUNT_MIN
