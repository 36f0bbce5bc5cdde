"""Rows as messages."""

from __future__ import annotations

import pyarrow as pa
import pytest

from openmsmq import Message
from openmsmq.errors import IllegalPropertyValue, MQError
from openmsmq.spark.rows import messages


def test_a_column_of_bodies() -> None:
    batch = pa.RecordBatch.from_pydict({"body": [b"a", None]})
    assert list(messages(batch, "q")) == [("q", [Message(b"a"), Message(b"")])]


def test_nulls_are_left_out() -> None:
    columns = {"value": ["x", None], "label": ["l", None], "priority": [7, None]}
    expected = [Message("x", label="l", priority=7), Message()]
    assert list(messages(pa.RecordBatch.from_pydict(columns), "q")) == [("q", expected)]


def test_rows_name_their_queue_in_order() -> None:
    columns = {"body": [b"1", b"2", b"3", b"4"], "queue": ["a", "a", None, "a"]}
    found = list(messages(pa.RecordBatch.from_pydict(columns), "q"))
    assert [(name, [m.body for m in rows]) for name, rows in found] == [
        ("a", [b"1", b"2"]),
        ("q", [b"3"]),
        ("a", [b"4"]),
    ]


def test_a_value_that_no_message_can_have_is_refused() -> None:
    batch = pa.RecordBatch.from_pydict({"body": [b""], "priority": [8]})
    with pytest.raises(MQError) as caught:
        list(messages(batch, "q"))
    assert isinstance(caught.value, IllegalPropertyValue)
