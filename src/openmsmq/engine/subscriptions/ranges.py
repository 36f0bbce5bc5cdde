"""Sets of positions that are mostly contiguous, as ranges that neither overlap nor touch."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from itertools import chain
from struct import iter_unpack, pack
from typing import Self


@dataclass(frozen=True, slots=True)
class Ranges:
    """Positions behind the first number of each pair, up to the second, in ascending order."""

    pairs: tuple[tuple[int, int], ...] = ()

    def __len__(self) -> int:
        return len(self.pairs)

    def __contains__(self, position: int) -> bool:
        place = bisect_left(self.pairs, position, key=lambda pair: pair[1])
        return place < len(self.pairs) and self.pairs[place][0] < position

    def has_all(self, after: int, last: int) -> bool:
        """Whether all positions behind `after` up to `last` are among them."""
        place = bisect_left(self.pairs, last, key=lambda pair: pair[1])
        return place < len(self.pairs) and self.pairs[place][0] <= after

    def add(self, after: int, last: int) -> Self:
        """The same with the positions behind `after` up to `last`."""
        if after >= last:
            return self
        first = bisect_left(self.pairs, after, key=lambda pair: pair[1])
        end = first
        while end < len(self.pairs) and self.pairs[end][0] <= last:
            after, last = min(after, self.pairs[end][0]), max(last, self.pairs[end][1])
            end += 1
        return type(self)((*self.pairs[:first], (after, last), *self.pairs[end:]))

    def behind(self, position: int) -> Self:
        """The same without the positions up to this one."""
        kept = ((max(after, position), last) for after, last in self.pairs if last > position)
        return type(self)(tuple(kept))

    def pack(self) -> bytes:
        """The bytes to store."""
        return pack(f"<{2 * len(self)}Q", *chain.from_iterable(self.pairs))

    @classmethod
    def unpack(cls, raw: bytes) -> Self:
        """The reverse of `pack`."""
        return cls(tuple(iter_unpack("<QQ", raw)))
