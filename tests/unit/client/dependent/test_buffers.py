"""Messages in transfer buffers, as a dependent client writes and reads them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from openmsmq.client.dependent.buffers import (
    FIRST_SIZES,
    empty_buffer,
    larger,
    message_in,
    sent_buffer,
)
from openmsmq.errors import Malformed, UnsupportedOperation
from openmsmq.interfaces.supporting_server.sent_message import message_of
from openmsmq.names.format import parse_format_name
from openmsmq.properties.message import EncryptionAlgorithm
from openmsmq.types.message import Message

NAME = parse_format_name("DIRECT=OS:HOST\\private$\\orders")
NOW = 1_700_000_000


@pytest.mark.parametrize(
    "message",
    [
        Message(b""),
        Message(b"body", label="label", priority=7, recoverable=False, body_type=8),
        Message("text", journal=True, dead_letter=True, trace=True, app_specific=77),
        Message(b"x", correlation_id=bytes(range(20)), extension=b"more", acknowledge=0x0F),
        Message(
            b"x",
            admin_queue="DIRECT=OS:HOST\\private$\\reports",
            response_queue="DIRECT=OS:HOST\\private$\\answers",
            time_to_be_received=60,
            time_to_reach_queue=30,
        ),
    ],
)
def test_a_message_is_what_the_server_reads(message: Message) -> None:
    """MQMP-421, MQMP-519: sizes are 0 where there is nothing."""
    buffer = sent_buffer(message, None)
    again = type(buffer).decode(buffer.encode())
    assert message_of(again, NAME, NOW) == message
    assert (buffer.title_size == 0) is (buffer.title is None)
    assert (buffer.extension_size == 0) is (buffer.extension is None)


def test_room_for_a_message_has_sizes_beside_what_is_there_and_nowhere_else() -> None:
    """MQMP-421: nothing is wanted of the certificate, the signature, and the ordering queue."""
    buffer = empty_buffer(0, 0, 0, None, dict(FIRST_SIZES))
    wanted = {"body", "extension", "title", "sender"}
    for holder, tail in ((buffer, ""), (buffer.part, "_name")):
        fields = holder.__dataclass_fields__
        for field in (name for name in fields if name.endswith("_size")):
            name = field.removesuffix("_size")
            place, size = getattr(holder, name + tail), getattr(holder, field)
            assert (size > 0) is (place is not None), field
            assert not tail or (size > 0) is (name != "ordering"), field
            assert tail or (size > 0) is (name in wanted), field
            if place is not None:
                assert len(place) == size == getattr(holder, f"{name}_needed"), field
    assert type(buffer).decode(buffer.encode()) == buffer


def test_what_the_protocol_cannot_carry_is_refused() -> None:
    with pytest.raises(UnsupportedOperation):
        sent_buffer(Message(b"x", dead_letter_queue=".\\private$\\d"), None)


def test_the_server_is_asked_to_encrypt() -> None:
    """MQMP-365: with the algorithm that goes with the level; the body is clear."""
    buffer = sent_buffer(Message(b"x", encrypt=True), None)
    assert (buffer.privacy, buffer.encryption_algorithm) == (2, EncryptionAlgorithm.RC4)
    assert (buffer.body, buffer.is_encrypted, buffer.keys) == (b"x", 0, None)
    plain = sent_buffer(Message(b"x"), None)
    assert (plain.privacy, plain.encryption_algorithm) == (None, None)


def test_an_answer_that_is_no_message_is_refused() -> None:
    """A server may answer anything: another kind of buffer, or one without what was asked for."""
    asked = empty_buffer(0, 0, 0, None, dict(FIRST_SIZES))
    assert len(message_in(asked).body) == FIRST_SIZES["body"]
    other = sent_buffer(Message(b"x"), None)
    for check in (message_in, lambda answered: larger(FIRST_SIZES, answered)):
        with pytest.raises(Malformed):
            check(other)
    for name in ("body", "message_id", "priority", "correlation_id", "title", "sender"):
        with pytest.raises(Malformed, match=name):
            message_in(replace(asked, **{name: None}))
    with pytest.raises(Malformed, match="sender of type"):
        message_in(replace(asked, sender_type=1 << 16))


def test_an_empty_buffer_has_room() -> None:
    """MQMP-410, MQMP-411, MQMP-422: as much of it as is said."""
    sizes = dict(FIRST_SIZES)
    buffer = empty_buffer(0, 5000, 7, bytes(16), sizes)
    assert (buffer.part.timeout, buffer.part.cursor, buffer.unit) == (5000, 7, bytes(16))
    for name in ("response", "admin", "destination"):
        found = [getattr(buffer.part, f"{name}_{what}") for what in ("size", "needed")]
        assert found == [64, 64]
    assert (buffer.part.ordering_size, buffer.part.ordering_name) == (0, None)
    assert (buffer.body_size, buffer.body_allocated, len(buffer.body)) == (4096,) * 3
    assert type(buffer).decode(buffer.encode()) == buffer


def test_more_room_is_what_is_needed_within_bounds() -> None:
    """MQMP-410, MQMP-411, MQMP-422"""
    buffer: Any = empty_buffer(0, 0, 0, None, FIRST_SIZES)
    object.__setattr__(buffer, "body_needed", 5000)
    object.__setattr__(buffer, "title_needed", 9999)
    object.__setattr__(buffer.part, "admin_needed", 9999)
    found = larger(FIRST_SIZES, buffer)
    assert (found["body"], found["title"], found["admin"]) == (5000, 250, 1024)
    assert found["response"] == 64


def test_a_server_that_wants_more_without_saying_what_is_refused() -> None:
    with pytest.raises(Malformed):
        larger(FIRST_SIZES, empty_buffer(0, 0, 0, None, FIRST_SIZES))
