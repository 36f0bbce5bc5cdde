"""Columns of Arrow say what a received message says, for packets of every shape."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.samples import DIRECT, SENT, SOURCE
from tests.strategies.messages import carried_names, messages
from tests.strategies.packets import user_messages

from openmsmq.app_protocol.payloads import QueuedMessage
from openmsmq.app_protocol.slices import QueuedSlice
from openmsmq.bodies.decode import body_format
from openmsmq.bodies.headers import decode_headers
from openmsmq.client.payloads import received
from openmsmq.names.base import FormatName
from openmsmq.packet.message import UserMessage
from openmsmq.spark.arrow import TYPES, Columns
from openmsmq.spark.block import Block
from openmsmq.spark.columns import READ
from openmsmq.types.message import Message
from openmsmq.types.pack import Packer
from openmsmq.types.received import ReceivedMessage

PACKER = Packer(SOURCE)


def clean(text: str) -> str:
    """Text as UTF-8 can have it."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def name(queue: FormatName | None) -> str | None:
    return None if queue is None else clean(str(queue))


def row(message: ReceivedMessage) -> dict[str, Any]:
    """The columns of a message, by way of its properties."""
    body_type = message.body_type
    same = {
        *("lookup_id", "arrival", "priority", "message_class", "transactional", "app_specific"),
        *("sent_time", "arrived_time", "time_to_reach_queue", "time_to_be_received", "sender_id"),
        *("extension", "journal", "dead_letter", "trace", "abort_count", "move_count", "body"),
        "packet",
    }
    return {key: getattr(message, key) for key in same} | {
        "message_id": message.id,
        "label": clean(message.label),
        "body_type": body_type - (1 << 32) if body_type >> 31 else body_type,
        "body_text": message.decoded.text,
        "body_format": body_format(message.body, body_type),
        "delivery": "recoverable" if message.recoverable else "express",
        "correlation_id": message.correlation_id or None,
        "destination_queue": name(message.destination_queue),
        "response_queue": name(message.response_queue),
        "admin_queue": name(message.admin_queue),
        "dead_letter_queue": name(message.dead_letter_queue),
        "source_manager": str(message.source_manager),
        "headers": list(decode_headers(message.extension).values.items()) or None,
        "acknowledge": int(message.acknowledge),
        "from_queue": "q",
        "from_manager": "m",
    }


def check(queued: list[QueuedMessage]) -> None:
    """All columns of messages as a frame brings them."""
    block = Block.of_slices([QueuedSlice(*one[:5], 1, one.packet) for one in queued])
    batch = Columns(block, queues=[("q", len(block))], manager="m").batch(READ)
    expected = [row(message) for message in received(queued)]
    for column, kind in READ.items():
        found = batch.column(column)
        found.validate(full=True)
        assert found.type == TYPES[kind], column
        assert found.to_pylist() == [one[column] for one in expected], column


def queued_messages(packets: st.SearchStrategy[bytes]) -> st.SearchStrategy[QueuedMessage]:
    lookup, count = st.integers(0, (8 << 56) - 1), st.integers(0, (1 << 31) - 1)
    arrived, reason = st.integers(0, (1 << 32) - 1), st.integers(0, 0xFFFF)
    return st.builds(QueuedMessage, lookup, arrived, count, count, reason, packets)


@given(st.lists(queued_messages(user_messages().map(UserMessage.encode)), max_size=6))
def test_packets_of_every_shape_are_decoded_as_one_by_one(queued: list[QueuedMessage]) -> None:
    check(queued)


def packed(message: Message, destination: FormatName, transactional: bool) -> bytes:
    """A message as we write it ourselves."""
    return PACKER.pack(
        message, destination, message_id=1, sent_time=SENT, transactional=transactional
    )


OWN = st.builds(packed, messages(), carried_names(), st.booleans())


@given(st.lists(queued_messages(OWN), max_size=6))
def test_messages_of_our_own_are_decoded_as_one_by_one(queued: list[QueuedMessage]) -> None:
    check(queued)


LABELS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=9)
ALIKE = st.builds(Message, st.binary(max_size=9), label=LABELS)
"Messages with the same headers."


@given(
    st.lists(ALIKE, min_size=1, max_size=6),
    carried_names(),
    st.booleans(),
    st.integers(1, 1000),
)
def test_messages_of_one_sender_are_decoded_together(
    sent: list[Message], destination: FormatName, transactional: bool, first: int
) -> None:
    packets = PACKER.pack_many(
        sent, destination, first_id=first, sent_time=SENT, transactional=transactional
    )
    assert Block.of_packets(packets).front is not None
    check([QueuedMessage(first + at, SENT, 0, 0, 0, one) for at, one in enumerate(packets)])


@given(st.lists(OWN, max_size=6))
def test_packets_alone_have_the_columns_of_packets(packets: list[bytes]) -> None:
    batch = Columns(Block.of_packets(packets)).batch(["label", "packet"])
    assert batch.column("packet").to_pylist() == packets
    assert batch.column("label").to_pylist() == [clean(ReceivedMessage(p).label) for p in packets]


def test_the_destination_is_the_one_sent_to() -> None:
    packet = packed(Message(b"x"), DIRECT, False)
    found = Columns(Block.of_packets([packet] * 3)).column("destination_queue").to_pylist()
    assert found == [str(DIRECT)] * 3
