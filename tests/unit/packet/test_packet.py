"""Any packet of a session."""

from __future__ import annotations

from struct import pack

import pytest
from tests.samples import MESSAGES, SESSION, patch

from openmsmq.errors import Malformed
from openmsmq.packet.connection import SessionAck
from openmsmq.packet.message import UserMessage
from openmsmq.packet.packet import decode_packet, read_packet
from openmsmq.wire.reader import Reader
from openmsmq.wire.trace import TracingReader

MESSAGE = MESSAGES["plain"].encode()


def test_one_bit_tells_internal_packets_from_messages() -> None:
    """MQQB-001, MQQB-020, MQQB-021."""
    assert isinstance(decode_packet(MESSAGE), UserMessage)
    assert isinstance(decode_packet(SessionAck(SESSION).encode()), SessionAck)


def test_a_message_with_the_bit_of_internal_packets_is_refused() -> None:
    """MQQB-021, MQQB-027: its next bytes are no InternalHeader."""
    with pytest.raises(Malformed):
        decode_packet(patch(MESSAGE, 2, pack("<H", 8)))


def test_bytes_after_the_packet_are_refused() -> None:
    """MQQB-005."""
    with pytest.raises(Malformed) as caught:
        decode_packet(MESSAGE + b"\0")
    assert (caught.value.field, caught.value.offset) == ("end", len(MESSAGE))


def test_packets_are_read_one_after_the_other() -> None:
    """MQQB-001."""
    reader = Reader(MESSAGE + SessionAck(SESSION).encode() + MESSAGE)
    found = [read_packet(reader) for _ in range(3)]
    assert [packet.encode() for packet in found] == [
        MESSAGE,
        SessionAck(SESSION).encode(),
        MESSAGE,
    ]
    assert reader.remaining == 0


def test_a_stored_message_is_read_with_its_overlay() -> None:
    """MQQB-163: another has none."""
    reader = TracingReader(MESSAGE)
    read_packet(reader, stored=True)
    assert reader.fields[7].path == "UserHeader.AddressLength"
    reader = TracingReader(MESSAGE)
    read_packet(reader)
    assert reader.fields[7].path == "UserHeader.QueueManagerAddress"
