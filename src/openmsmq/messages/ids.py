"""The identifiers of messages that were sent together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import overload
from uuid import UUID

_MASK = 0xFFFFFFFF


class MessageIds(Sequence[str]):
    r"""Identifiers `guid\number` that count up; each is written out when somebody looks at it."""

    __slots__ = ("_first", "_size", "_source")

    def __init__(self, source: UUID, first: int, size: int) -> None:
        self._source = source
        self._first = first
        self._size = size

    @property
    def first(self) -> int:
        """The number of the first one."""
        return self._first

    def __len__(self) -> int:
        return self._size

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> list[str]: ...
    def __getitem__(self, index: int | slice) -> str | list[str]:
        numbers = range(self._first, self._first + self._size)
        if isinstance(index, slice):
            return [self._written(number) for number in numbers[index]]
        return self._written(numbers[index])

    def __iter__(self) -> Iterator[str]:
        return map(self._written, range(self._first, self._first + self._size))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    def __hash__(self) -> int:
        return hash((self._source, self._first, self._size))

    def __repr__(self) -> str:
        return repr(list(self))

    def _written(self, number: int) -> str:
        return f"{self._source}\\{number & _MASK}"
