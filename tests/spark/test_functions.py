"""Functions for bodies, headers and packets, in SQL and for DataFrames."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pyspark.sql import SparkSession

from openmsmq import Manager, Message
from openmsmq.spark import functions
from tests.e2e.managers import ManagerProcess

pytestmark = pytest.mark.slow


def test_messages_are_decoded_in_sql_and_frames(
    spark: SparkSession, service: ManagerProcess, manager: Manager, fresh: Callable[[str], str]
) -> None:
    queue = manager.create_queue(fresh("q"))
    extension = b'{"rbs2-msg-id":"1"}'
    queue.send(Message("text", label="l", extension=extension, response_queue="answers"))
    reader = spark.read.format("msmq").schema("body binary, body_type int, packet binary")
    frame = reader.option("manager", service.app).option("queue", fresh("q")).load()
    frame.createOrReplaceTempView("decoding")
    [row] = spark.sql(
        "select body_text(body, body_type) as text, body_json(body, body_type) as json,"
        " body_format(body, body_type) as format, from_packet(packet) as p,"
        " from_packet(body) as nothing from decoding"
    ).collect()
    assert (row.text, row.json, row.format) == ("text", '"text"', "activex:VT_LPWSTR")
    assert (row.p.label, row.p.headers, row.nothing) == ("l", {"rbs2-msg-id": "1"}, None)
    assert row.p.response_queue.endswith(r"private$\answers")
    named = frame.select(functions.body_json("body", "body_type"))
    assert named.columns == ["body_json(body, body_type)"]
    found = frame.select(
        functions.body_text("body", "body_type").alias("text"),
        functions.body_json("body", "body_type").alias("json"),
        functions.body_format("body", "body_type").alias("format"),
        functions.bus_headers(functions.from_packet("packet")["extension"]).alias("headers"),
    )
    assert [tuple(one) for one in found.collect()] == [
        ("text", '"text"', "activex:VT_LPWSTR", {"rbs2-msg-id": "1"})
    ]
