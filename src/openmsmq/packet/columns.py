"""Packets one after the other, numbered and compared by columns instead of one by one.

The packets of a run mostly have the same size. Then a field of all of them is a column: every
n-th number of the whole, which is compared or written in one step.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from contextlib import suppress
from itertools import accumulate
from struct import Struct
from struct import error as StructError
from typing import Final, overload

from openmsmq.errors.peer import Malformed
from openmsmq.limits import U32_MAX
from openmsmq.packet.headers.base import BaseHeader
from openmsmq.packet.headers.user import UserHeaderStart
from openmsmq.packet.walk import FLAGS, USER, after_names, numbered, u32

SIZE: Final = BaseHeader.offset_of("PacketSize")
SENT: Final = USER + UserHeaderStart.offset_of("SentTime")
"What is followed by the MessageID."
_WORD: Final = 4
_write_sent: Final = Struct("<II").pack_into


def split_packets(packets: bytes, count: int) -> list[bytes]:
    """The packets; `Malformed` if their number is another."""
    found: list[bytes] = []
    add, size = found.append, u32
    end = 0
    with suppress(StructError):
        for _ in range(count):
            start = end
            end += size(packets, start + SIZE)[0] or len(packets) + 1
            add(packets[start:end])
    if len(found) != count or end != len(packets):
        raise Malformed("packets", 0, f"are not {count}, one after the other")
    return found


class JoinedPackets(Sequence[bytes]):
    """Packets one after the other, which are taken apart when they are asked for."""

    __slots__ = ("_count", "_split", "joined")

    def __init__(self, joined: bytes, count: int) -> None:
        self.joined = joined
        self._count = count
        self._split: list[bytes] | None = None

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, place: int) -> bytes: ...

    @overload
    def __getitem__(self, place: slice) -> Sequence[bytes]: ...

    def __getitem__(self, place: int | slice) -> bytes | Sequence[bytes]:
        if self._split is None:
            self._split = split_packets(self.joined, self._count)
        return self._split[place]


class PacketColumns:
    """Packets of one size, which is a multiple of 4, as numbers of 32 bits."""

    __slots__ = ("_count", "_step", "_words")

    def __init__(self, packets: bytes, count: int) -> None:
        self._words = array("I", packets)
        self._count = count
        self._step = len(self._words) // count

    def equal(self, start: int, written: bytes) -> bool:
        """Whether all packets have these bytes there, both at multiples of 4."""
        words, step, count = self._words, self._step, self._count
        first = start // _WORD
        return all(
            words[first + place :: step] == array("I", (word,)) * count
            for place, word in enumerate(array("I", written))
        )

    def zero(self, offset: int) -> bool:
        """Whether all have two zero bytes there, at an even place."""
        halves = memoryview(self._words).cast("B").cast("H")
        return halves[offset // 2 :: self._step * 2].tobytes() == bytes(2 * self._count)

    def write(self, start: int, written: bytes) -> None:
        """Let all have these bytes there."""
        first, step = start // _WORD, self._step
        for place, word in enumerate(array("I", written)):
            self._words[first + place :: step] = array("I", (word,)) * self._count

    def number(self, first_id: int, sent_time: int) -> None:
        """Let identifiers count up, and all be sent at one time."""
        at, step = SENT // _WORD, self._step
        self._words[at::step] = array("I", (sent_time,)) * self._count
        self._words[at + 1 :: step] = array("I", range(first_id, first_id + self._count))

    def place(self, start: int, fixed: Sequence[int], *counted: Sequence[int]) -> None:
        """Let all have the same numbers there, and others behind them."""
        at, step, count = start // _WORD, self._step, self._count
        columns = [array("I", (number,)) * count for number in fixed]
        columns += [array("I", numbers) for numbers in counted]
        for offset, column in enumerate(columns, at):
            self._words[offset::step] = column

    def packets(self) -> bytes:
        """The packets as they are now."""
        return self._words.tobytes()


def numbered_run(
    packets: bytes,
    sizes: Sequence[int],
    ordinal: int,
    time_stamp: int,
    numbers: Sequence[int],
    previous: Sequence[int],
) -> bytes:
    """Messages one after the other with their places in a sequence (`walk.numbered`)."""
    end = after_names(packets, u32(packets, FLAGS)[0])
    if sizes.count(sizes[0]) == len(sizes) and not sizes[0] % _WORD and not end % _WORD:
        columns = PacketColumns(packets, len(sizes))
        if columns.equal(FLAGS, packets[FLAGS:end]):
            columns.place(end + _WORD, (ordinal, time_stamp), numbers, previous)
            return columns.packets()
    each = split_packets(packets, len(sizes))
    return b"".join(numbered(each, ordinal, time_stamp, numbers, previous))


def numbered_packets(
    packets: bytes, sizes: Sequence[int], *, first_id: int, sent_time: int
) -> bytes:
    """Packets of these sizes with identifiers that count up, and the time they are sent."""
    assert first_id + len(sizes) <= U32_MAX, "identifiers that begin anew"
    stride = sizes[0]
    if sizes.count(stride) == len(sizes) and not stride % _WORD:
        columns = PacketColumns(packets, len(sizes))
        columns.number(first_id, sent_time)
        return columns.packets()
    whole = bytearray(packets)
    starts = accumulate(sizes[:-1], initial=SENT)
    for number, start in enumerate(starts, first_id):
        _write_sent(whole, start, sent_time, number)
    return bytes(whole)
