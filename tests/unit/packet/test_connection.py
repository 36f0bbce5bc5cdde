"""EstablishConnection, ConnectionParameters and SessionAck packets."""

from __future__ import annotations

from dataclasses import replace
from struct import pack

import pytest
from tests.samples import SESSION, SOURCE, TARGET, patch, refusal

from openmsmq.packet.connection import (
    ConnectionParameters,
    EstablishConnection,
    InternalPacket,
    SessionAck,
)
from openmsmq.packet.headers.base import BaseFlags
from openmsmq.packet.headers.connection_parameters import ConnectionParametersHeader
from openmsmq.packet.headers.establish_connection import EstablishConnectionHeader
from openmsmq.packet.headers.internal import InternalFlags, InternalHeader
from openmsmq.packet.packet import decode_packet, read_packet
from openmsmq.wire.reader import Reader

ESTABLISH = EstablishConnection(EstablishConnectionHeader(SOURCE, TARGET, 1))
PARAMETERS = ConnectionParameters(ConnectionParametersHeader(500, 20_000))
ACK = SessionAck(SESSION)
PACKETS = (ESTABLISH, PARAMETERS, ACK)


@pytest.mark.parametrize(
    ("packet", "size", "flags", "kind"),
    [(ESTABLISH, 572, 0x0B, 2), (PARAMETERS, 32, 0x0B, 3), (ACK, 36, 0x1B, 1)],
    ids=lambda value: type(value).__name__,
)
def test_sizes_flags_and_types(packet: InternalPacket, size: int, flags: int, kind: int) -> None:
    """MQQB-005, MQQB-007, MQQB-020, MQQB-030, MQQB-031, MQQB-106: AMB-1 for the SessionAck."""
    data = packet.encode()
    assert len(data) == size
    assert data[:20] == pack("<BBHIIIHH", 0x10, 0, flags, 0x524F494C, size, 0xFFFFFFFF, 0, kind)


@pytest.mark.parametrize("packet", PACKETS, ids=lambda packet: type(packet).__name__)
def test_a_packet_comes_back(packet: InternalPacket) -> None:
    assert decode_packet(packet.encode()) == packet


@pytest.mark.parametrize("packet", PACKETS, ids=lambda packet: type(packet).__name__)
def test_only_what_is_defined_is_set_when_sending(packet: InternalPacket) -> None:
    """MQQB-017, MQQB-022, MQQB-023, MQQB-025, MQQB-026, MQQB-028, MQQB-029."""
    assert packet.base.flags & ~BaseFlags.SH == BaseFlags.IN | 3
    assert packet.base.time_to_reach_queue == 0xFFFFFFFF
    assert packet.internal.reserved == 0
    assert not packet.internal.flags & ~InternalFlags.PT


@pytest.mark.parametrize("packet", PACKETS, ids=lambda packet: type(packet).__name__)
def test_reserved_fields_and_bits_are_kept_and_tell_nothing(packet: InternalPacket) -> None:
    """MQQB-016, MQQB-018, MQQB-026, MQQB-029, MQQB-036, MQQB-038, MQQB-113."""
    data = packet.encode()
    flags = packet.internal.flags | InternalFlags.X5_X15
    changed = patch(patch(data, 1, b"\x5a"), 16, pack("<HH", 0xABCD, flags))
    changed = patch(changed, 2, pack("<H", packet.base.flags | 0xFEC0))
    found = decode_packet(changed)
    assert type(found) is type(packet)
    assert found.encode() == changed


@pytest.mark.parametrize("packet", [ESTABLISH, PARAMETERS], ids=lambda p: type(p).__name__)
def test_a_refusal_is_one_bit(packet: EstablishConnection | ConnectionParameters) -> None:
    """MQQB-028."""
    refused = replace(packet, internal=InternalHeader(flags=packet.internal.flags | 0x10))
    assert not packet.refused
    assert refused.refused
    assert decode_packet(refused.encode()) == refused


@pytest.mark.parametrize("kind", [0, 4, 8, 15])
def test_another_type_is_refused(kind: int) -> None:
    """MQQB-027."""
    data = b"--" + patch(ACK.encode(), 18, bytes([kind]))
    assert refusal(read_packet, data, start=2) == ("InternalHeader.Flags", 20)


@pytest.mark.parametrize("packet", PACKETS, ids=lambda packet: type(packet).__name__)
@pytest.mark.parametrize("difference", [-1, 1, 16])
def test_another_size_is_refused(packet: InternalPacket, difference: int) -> None:
    """MQQB-005, MQQB-007, MQQB-030, MQQB-031."""
    size = packet.base.packet_size + difference
    data = b"--" + patch(packet.encode(), 8, pack("<I", size)) + bytes(16)
    assert refusal(read_packet, data, start=2) == ("BaseHeader.PacketSize", 10)


def test_a_session_ack_without_sh_is_read_by_its_type() -> None:
    """MQQB-106: PT says what follows."""
    data = patch(ACK.encode(), 2, pack("<H", BaseFlags.IN))
    assert isinstance(decode_packet(data), SessionAck)


@pytest.mark.parametrize(
    ("packet", "size", "field", "offset"),
    [
        (ACK, 19, "InternalHeader.Flags", 18),
        (ACK, 35, "SessionHeader.Reserved", 34),
        (PARAMETERS, 31, "ConnectionParametersHeader.WindowSize", 30),
        (ESTABLISH, 571, "EstablishConnectionHeader.Padding", 60),
    ],
)
def test_a_packet_cut_short_is_refused(
    packet: InternalPacket, size: int, field: str, offset: int
) -> None:
    """MQQB-010."""
    assert refusal(read_packet, packet.encode()[:size]) == (field, offset)


def test_a_packet_is_read_where_it_stands() -> None:
    reader = Reader(ACK.encode() + PARAMETERS.encode() + b"rest")
    assert read_packet(reader) == ACK
    assert read_packet(reader) == PARAMETERS
    assert reader.remaining == 4
