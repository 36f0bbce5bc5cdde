"""Spans: consecutive messages that have one holder, without an entry for each."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import Generic, NamedTuple, TypeVar

from openmsmq.engine.queues.slices import RunSlice

H = TypeVar("H")


class Span(NamedTuple, Generic[H]):
    """Messages of a run with one holder."""

    first: int
    end: int
    "The lookup identifier behind the last."
    holder: H
    read: RunSlice
    "The messages as they were read, without their packets."

    def part(self, first: int, end: int) -> Span[H]:
        """What of it lies between two lookup identifiers."""
        first, end = max(first, self.first), min(end, self.end)
        return self._replace(first=first, end=end, read=self.read.part(first, end))


class Spans(Generic[H]):
    """Spans that do not overlap, in order."""

    __slots__ = ("_firsts", "_spans", "count")

    def __init__(self) -> None:
        self._spans: list[Span[H]] = []
        self._firsts: list[int] = []
        "Where each begins, to be searched."
        self.count = 0
        "Messages in all of them."

    def __iter__(self) -> Iterator[Span[H]]:
        return iter(self._spans)

    def at(self, lookup: int) -> Span[H] | None:
        """The span that a message is in."""
        place = bisect_right(self._firsts, lookup) - 1
        if place >= 0 and lookup < self._spans[place].end:
            return self._spans[place]
        return None

    def add(self, span: Span[H]) -> None:
        """Add a span of messages that are in none."""
        place = bisect_left(self._firsts, span.first)
        self._spans.insert(place, span)
        self._firsts.insert(place, span.first)
        self.count += span.end - span.first

    def within(self, first: int, end: int) -> list[Span[H]]:
        """The spans with messages from one lookup identifier to before another."""
        return self._spans[slice(*self._places(first, end))]

    def take(self, first: int, end: int) -> list[Span[H]]:
        """Take messages out; what was taken. Spans that reach beyond are cut."""
        low, high = self._places(first, end)
        found = self._spans[low:high]
        if not found:
            return found
        left = []
        if found[0].first < first:
            left.append(found[0].part(found[0].first, first))
        if found[-1].end > end:
            left.append(found[-1].part(end, found[-1].end))
        self._spans[low:high] = left
        self._firsts[low:high] = [span.first for span in left]
        taken = [span.part(first, end) for span in found]
        self.count -= sum(span.end - span.first for span in taken)
        return taken

    def _places(self, first: int, end: int) -> tuple[int, int]:
        """Which spans have messages from one lookup identifier to before another."""
        low = bisect_right(self._firsts, first) - 1
        if low < 0 or self._spans[low].end <= first:
            low += 1
        return low, bisect_left(self._firsts, end, low)
