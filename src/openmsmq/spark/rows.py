"""Rows of a DataFrame as messages to send."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import itemgetter
from typing import Any

import pyarrow as pa

from openmsmq.messages.message import Message


def messages(batch: pa.RecordBatch, queue: str) -> Iterator[tuple[str, list[Message]]]:
    """The messages of a batch, in its order, by the queues that they go to; `queue` is for all
    rows that name none."""
    names = [{"value": "body"}.get(name, name) for name in batch.schema.names]
    columns = [column.to_pylist() for column in batch.columns]
    where = columns.pop(names.index("queue")) if "queue" in names else None
    names = [name for name in names if name != "queue"]
    made = _made(names, columns)
    if where is None:
        yield queue, list(made)
        return
    for target, rows in groupby(zip(where, made, strict=True), itemgetter(0)):
        yield target or queue, [message for _, message in rows]


def _made(names: list[str], columns: list[list[Any]]) -> Iterable[Message]:
    if names == ["body"]:
        return (Message(b"" if body is None else body) for body in columns[0])
    return (
        Message(
            **{name: value for name, value in zip(names, row, strict=True) if value is not None}
        )
        for row in zip(*columns, strict=True)
    )
