"""Ranges of messages, put together into tasks of about the same size.

A task of Spark costs tens of milliseconds before it reads anything. So small ranges of the same
manager share a task, and large ones are split.
"""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from typing import Final, TypeVar

from pyspark.sql.datasource import InputPartition

T = TypeVar("T")
RANGE_COST: Final = 250
"What it costs to open a queue, as messages that are read in the same time."
Span = tuple[int, int]
"Behind one number, up to another: lookup identifiers or positions."


@dataclass(frozen=True, slots=True)
class Range:
    """Messages of a queue."""

    queue: str
    spans: tuple[Span, ...]
    messages: int
    "About how many there are."


@dataclass(frozen=True)
class Task(InputPartition):
    """Ranges of one manager that a task reads, one after the other."""

    manager: str
    ranges: tuple[Range, ...]


def size_of_tasks(total: int, most: int, least_tasks: int) -> int:
    """Messages for a task: `most`, or fewer so that there are at least `least_tasks` tasks."""
    needed = -(-total // most)
    return most if needed >= least_tasks else max(1, -(-total // least_tasks))


def split(queue: str, first: int, last: int, most: int) -> Iterator[Range]:
    """Positions behind `first` up to `last`, in parts of `most` messages."""
    for after in range(first, last, most):
        end = min(after + most, last)
        yield Range(queue, ((after, end),), end - after)


def packed(manager: str, ranges: Iterable[Range], most: int) -> Iterator[Task]:
    """Ranges in tasks of about `most` messages; small ones count by what it costs to open them."""
    cost = min(RANGE_COST, most)
    group: list[Range] = []
    size = 0
    for one in ranges:
        own = max(one.messages, cost)
        if group and size + own > most:
            yield Task(manager, tuple(group))
            group, size = [], 0
        group.append(one)
        size += own
    if group:
        yield Task(manager, tuple(group))


def one_ahead(items: Iterator[T]) -> Iterator[T]:
    """The items, of which the next is made by another thread while one is used.

    A manager and a task need not take turns.
    """
    with ThreadPoolExecutor(1, "openmsmq-ahead") as beside:
        coming = beside.submit(next, items, None)
        while (item := coming.result()) is not None:
            coming = beside.submit(next, items, None)
            yield item


@cache
def keep_loaded() -> None:
    """In a worker: leave what is loaded out of garbage collections, once.

    Spark makes a full collection after every task, which took longer than to read its messages.
    """
    gc.freeze()
