"""Messages keep what a sender says: through packets, through JSON, and whatever is said."""

from __future__ import annotations

import contextlib
import copy
import json
import pickle
from dataclasses import replace
from typing import Any
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st
from tests.samples import DIRECT, SENT, SOURCE
from tests.strategies.messages import anything, carried_names, messages
from tests.strategies.names import guids, u32
from tests.strategies.packets import user_messages

from openmsmq.errors import MQError
from openmsmq.names.base import FormatName
from openmsmq.names.format import PublicName
from openmsmq.packet.message import UserMessage
from openmsmq.packet.view import PacketView
from openmsmq.types.json import FACTS, from_json, to_json
from openmsmq.types.message import FIELDS, Message
from openmsmq.types.pack import Packer
from openmsmq.types.received import ReceivedMessage

PACKER = Packer(SOURCE)


def received(message: Message, **arguments: Any) -> ReceivedMessage:
    """`message` after a trip in a packet that passes the check for bytes from outside."""
    packet = PACKER.pack(message, DIRECT, message_id=1, sent_time=SENT, **arguments)
    return ReceivedMessage(PacketView.parse(packet).data)


@given(messages(), carried_names(), guids(), u32, u32)
def test_a_message_is_received_as_it_was_sent(
    message: Message, destination: FormatName, manager: UUID, number: int, sent: int
) -> None:
    if not isinstance(destination, PublicName):
        manager = UUID(int=0)
    packet = PACKER.pack(
        message, destination, message_id=number, sent_time=sent, destination_manager=manager
    )
    found = ReceivedMessage(PacketView.parse(packet).data)
    for name in FIELDS:
        assert getattr(found, name) == getattr(message, name), name
    assert found.to_message() == message
    assert found.destination_queue == destination
    assert found.id == f"{SOURCE}\\{number}"
    assert found.sent_time.timestamp() == sent


@given(messages())
def test_a_transaction_changes_priority_and_delivery_only(message: Message) -> None:
    found = received(message, transactional=True)
    assert found.transactional
    assert found.to_message() == replace(message, priority=0, recoverable=True)


@given(messages())
def test_a_received_message_can_be_sent_again(message: Message) -> None:
    first = received(message)
    assert received(first).packet == first.packet


@given(st.lists(messages(), max_size=5), st.booleans())
def test_messages_packed_together_are_those_packed_alone(
    batch: list[Message], transactional: bool
) -> None:
    together = PACKER.pack_many(
        batch, DIRECT, first_id=7, sent_time=SENT, transactional=transactional
    )
    alone = [
        Packer(SOURCE).pack(
            message, DIRECT, message_id=number, sent_time=SENT, transactional=transactional
        )
        for number, message in enumerate(batch, 7)
    ]
    assert together == alone


@given(messages())
def test_json_loses_nothing(message: Message) -> None:
    assert from_json(json.loads(json.dumps(to_json(message)))) == message


@given(messages())
def test_json_of_a_received_message_can_be_sent_again(message: Message) -> None:
    assert from_json(json.loads(json.dumps(to_json(received(message))))) == message


@given(st.dictionaries(st.sampled_from(FIELDS), anything()))
def test_wrong_values_are_refused_as_errors_of_message_queuing(given_: dict[str, Any]) -> None:
    with contextlib.suppress(MQError):
        message = Message(**given_)
        assert replace(message) == message
        assert len(received(message).packet) % 4 == 0


@given(st.dictionaries(st.sampled_from((*FIELDS, *FACTS, "text", "other")), anything()))
def test_any_json_is_a_message_or_refused(data: dict[str, Any]) -> None:
    with contextlib.suppress(MQError):
        assert from_json(data).body is not None


@given(anything())
def test_what_is_no_json_object_is_refused(data: object) -> None:
    if data != {}:
        with contextlib.suppress(MQError):
            raise AssertionError(from_json(data))


@given(user_messages())
def test_whatever_a_peer_sent_can_be_read_and_sent_on(message: UserMessage) -> None:
    """Names that are none, odd labels, encrypted bodies, every header there is."""
    found = ReceivedMessage(PacketView.parse(message.encode()).data)
    data = to_json(found)
    assert set(data) - {"text"} == {*FIELDS, *FACTS} - {"signer"}
    assert from_json(data) == found.to_message()
    assert received(found).to_message() == found.to_message()
    assert len(repr(found)) < 2000


@given(messages())
def test_messages_are_values(message: Message) -> None:
    for value in (message, received(message)):
        for twin in (copy.copy(value), copy.deepcopy(value), pickle.loads(pickle.dumps(value))):
            assert twin == value
            assert hash(twin) == hash(value)
            assert repr(twin) == repr(value)
