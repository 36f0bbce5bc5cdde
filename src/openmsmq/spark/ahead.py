"""Work for the next step beside that for this one: a manager and a task need not take turns."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


def one_ahead(items: Iterator[T]) -> Iterator[T]:
    """The items, of which the next is made by another thread while one is used."""
    with ThreadPoolExecutor(1, "openmsmq-ahead") as beside:
        coming = beside.submit(next, items, None)
        while (item := coming.result()) is not None:
            coming = beside.submit(next, items, None)
            yield item
