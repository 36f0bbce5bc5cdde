"""Messages packed together."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.samples import SOURCE

from openmsmq.limits import PACKET_SIZE_MAX
from openmsmq.names.direct import DirectName
from openmsmq.packet.columns import numbered_packets
from openmsmq.properties.message import Acknowledge
from openmsmq.types.message import Message
from openmsmq.types.pack import Packer
from openmsmq.types.packed_run import COUNT_MIN, are_plain
from openmsmq.types.received import ReceivedMessage

QUEUE = DirectName.from_wire("OS:.\\private$\\orders")
PACKER = Packer(SOURCE, computer="here")
plain_messages = st.builds(
    Message,
    st.binary(max_size=9),
    label=st.text(max_size=4),
    correlation_id=st.sampled_from((b"", bytes(range(20)))),
    app_specific=st.integers(0, 0xFFFFFFFF),
    extension=st.binary(max_size=5),
    body_type=st.integers(0, 0xFFFFFFFF),
)


groups = st.lists(plain_messages, min_size=COUNT_MIN, max_size=8)


@given(groups | plain_messages.map(lambda message: [message] * 5))
def test_they_are_the_packets_that_would_be_written_one_by_one(messages: list[Message]) -> None:
    run = PACKER.pack_run(messages, QUEUE)
    assert run is not None
    expected = PACKER.pack_many(messages, QUEUE, first_id=7, sent_time=99)
    assert run.sizes == list(map(len, expected))
    numbered = numbered_packets(run.packets, run.sizes, first_id=7, sent_time=99)
    assert numbered == b"".join(expected)


@pytest.mark.parametrize("size", [1, 4, 1000])
def test_bodies_of_one_size_are_joined(size: int) -> None:
    messages = [Message(bytes([n]) * size, label="order", priority=6) for n in range(9)]
    run = PACKER.pack_run(messages, QUEUE)
    assert run is not None
    assert (run.priority, len(set(run.sizes))) == (6, 1)
    expected = PACKER.pack_many(messages, QUEUE, first_id=1, sent_time=2)
    assert numbered_packets(run.packets, run.sizes, first_id=1, sent_time=2) == b"".join(expected)


def test_queues_for_replies_are_named() -> None:
    names = {"response_queue": r".\private$\r", "admin_queue": r"DIRECT=OS:far\private$\a"}
    messages = [Message(b"x", **names) for _ in range(4)]  # type: ignore[arg-type]
    run = PACKER.pack_run(messages, QUEUE)
    assert run is not None
    expected = PACKER.pack_many(messages, QUEUE, first_id=1, sent_time=2)
    assert numbered_packets(run.packets, run.sizes, first_id=1, sent_time=2) == b"".join(expected)


@pytest.mark.parametrize(
    "special",
    [
        {"recoverable": False},
        {"journal": True},
        {"dead_letter": True},
        {"dead_letter_queue": r".\private$\d"},
        {"acknowledge": Acknowledge.POS_RECEIVE},
        {"time_to_be_received": 5},
        {"time_to_reach_queue": 5},
        {"trace": True},
        {"encrypt": True},
        {"priority": 7},
        {"response_queue": r".\private$\r"},
        {"admin_queue": r".\private$\r"},
    ],
    ids=lambda special: next(iter(special)),
)
def test_a_message_that_is_not_like_the_others_is_not_packed_with_them(
    special: dict[str, Any],
) -> None:
    messages = [Message(b"x")] * 5
    assert are_plain(messages)
    assert not are_plain([*messages, Message(b"x", **special)])
    assert not are_plain([Message(b"x", **special), *messages])


def test_few_messages_and_received_ones_go_one_by_one() -> None:
    packet = PACKER.pack(Message(b"x"), QUEUE, message_id=1, sent_time=1)
    assert not are_plain([Message(b"x")] * (COUNT_MIN - 1))
    assert not are_plain([*[Message(b"x")] * 4, ReceivedMessage(packet)])
    assert not are_plain([])


def test_what_does_not_fit_is_for_others_to_refuse() -> None:
    large = Message(bytes(PACKET_SIZE_MAX))
    assert PACKER.pack_run([large] * 4, QUEUE) is None
    assert PACKER.pack_run([*[Message(b"x")] * 4, large], QUEUE) is None
