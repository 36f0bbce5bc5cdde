"""The identifiers of messages that were sent together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import overload
from uuid import UUID

from openmsmq.limits import U32_MAX


class SentId(str):
    r"""The identifier of a message that was sent, `guid\number`."""

    __slots__ = ()
    duplicate = False
    "Whether a message with the same deduplication id was sent before; this one was discarded."


class DuplicateId(SentId):
    """The identifier of the earlier message with the same deduplication id."""

    __slots__ = ()
    duplicate = True


class MessageIds(Sequence[SentId]):
    r"""Identifiers `guid\number` that count up; each is formatted on access."""

    __slots__ = ("_source", "first", "size")

    def __init__(self, source: UUID, first: int, size: int) -> None:
        self._source = source
        self.first = first
        "The number of the first one."
        self.size = size

    def __len__(self) -> int:
        return self.size

    @overload
    def __getitem__(self, index: int) -> SentId: ...
    @overload
    def __getitem__(self, index: slice) -> list[SentId]: ...
    def __getitem__(self, index: int | slice) -> SentId | list[SentId]:
        numbers = range(self.first, self.first + self.size)
        if isinstance(index, slice):
            return [self._written(number) for number in numbers[index]]
        return self._written(numbers[index])

    def __iter__(self) -> Iterator[SentId]:
        return map(self._written, range(self.first, self.first + self.size))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    def __hash__(self) -> int:
        return hash((self._source, self.first, self.size))

    def __repr__(self) -> str:
        return repr(list(self))

    def _written(self, number: int) -> SentId:
        return sent_id(self._source, number)


def sent_id(source: UUID, number: int, *, duplicate: bool = False) -> SentId:
    """The identifier of a message; `duplicate` if an earlier one has its deduplication id."""
    kind = DuplicateId if duplicate else SentId
    return kind(f"{_written(source)}\\{number & U32_MAX}")


@lru_cache(maxsize=64)
def _written(source: UUID) -> str:
    return str(source)
