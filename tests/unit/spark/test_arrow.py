"""Columns of messages; `tests/property/test_arrow.py` compares them for packets of all shapes."""

from __future__ import annotations

import subprocess
import sys

from tests.samples import DIRECT, SENT, SOURCE

from openmsmq.app_protocol.slices import QueuedSlice
from openmsmq.bodies.headers import encode_nservicebus
from openmsmq.packet.view import PacketView
from openmsmq.spark.arrow import Columns
from openmsmq.spark.block import Block
from openmsmq.types.message import Message
from openmsmq.types.pack import Packer


def columns(*messages: Message) -> Columns:
    packets = Packer(SOURCE).pack_many(messages, DIRECT, first_id=7, sent_time=SENT)
    block = Block.of_slices(
        [QueuedSlice(3 << 56 | n, SENT, 1, 2, 0, 1, one) for n, one in enumerate(packets, 1)]
    )
    return Columns(block, queues=[(r".\private$\orders", len(block))], manager="shop01")


def test_only_what_is_asked_for_is_in_the_batch() -> None:
    batch = columns(Message(b"a", label="x"), Message(b"b")).batch(["label", "body"])
    assert batch.to_pydict() == {"label": ["x", ""], "body": [b"a", b"b"]}


def test_what_the_queue_knows() -> None:
    names = ["lookup_id", "arrival", "abort_count", "move_count", "from_queue", "from_manager"]
    (row,) = columns(Message(b"")).batch(names).to_pylist()
    assert list(row.values()) == [3 << 56 | 1, 1, 1, 2, r".\private$\orders", "shop01"]


def test_labels_that_are_not_ascii() -> None:
    labels = ["Grüße", "", "\N{PILE OF POO}", "plain"]
    found = columns(*(Message(b"", label=label) for label in labels)).column("label")
    assert found.to_pylist() == labels


def test_what_there_is_not_is_null() -> None:
    names = ["correlation_id", "time_to_be_received", "response_queue", "sender_id", "headers"]
    (row,) = columns(Message(b"")).batch(names).to_pylist()
    assert set(row.values()) == {None}


def test_headers_of_a_bus_are_a_map() -> None:
    extension = encode_nservicebus({"NServiceBus.MessageId": "1"})
    found = columns(Message(b"", extension=extension), Message(b"")).column("headers")
    assert found.to_pylist() == [[("NServiceBus.MessageId", "1")], None]


def test_the_meaning_of_bodies() -> None:
    batch = columns(Message("text"), Message(b"<a/>"), Message(b"\xff\0")).batch(
        ["body_text", "body_format"]
    )
    assert batch.column("body_text").to_pylist() == ["text", "<a/>", None]
    assert batch.column("body_format").to_pylist() == ["activex:VT_LPWSTR", "xml", "binary"]


def test_dead_letter_queues_of_their_own() -> None:
    """What stands behind a packet is no part of the column `packet`."""
    named = Message(b"b", dead_letter_queue=r".\private$\dead")
    found = columns(Message(b"a"), named).batch(["dead_letter_queue", "packet", "body"])
    assert found.column("dead_letter_queue").to_pylist() == [
        None,
        r"DIRECT=OS:.\private$\dead",
    ]
    assert found.column("body").to_pylist() == [b"a", b"b"]
    for packet in found.column("packet").to_pylist():
        PacketView.parse(packet)
    assert columns(Message(b"a")).column("dead_letter_queue").to_pylist() == [None]


def test_ordinary_columns_do_without_pandas() -> None:
    """It takes longer to load than a small batch to read, in every worker."""
    code = """
import sys
from tests.unit.spark.test_arrow import columns
from openmsmq.spark.columns import READ
from openmsmq.types.message import Message
names = [name for name in READ if name not in ("body_text", "body_format")]
columns(Message(b"a", label="x"), Message(b"b", recoverable=False)).batch(names)
print("pandas" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert done.stdout.split() == ["False"]
