"""SessionHeader."""

from __future__ import annotations

from struct import pack

import pytest
from tests.samples import refusal

from openmsmq.packet.headers.session import SessionHeader
from openmsmq.wire.reader import Reader


def test_every_field_stands_at_its_place() -> None:
    """MQQB-107 to MQQB-113: six numbers; Reserved may be anything."""
    data = pack("<HHIHHHH", 1, 2, 0x80000003, 4, 5, 6, 0xABCD)
    header = SessionHeader.read(Reader(b"--" + data, 2))
    assert header.ack_sequence_number == 1
    assert header.recoverable_msg_ack_seq_number == 2
    assert header.recoverable_msg_ack_flags == 0x80000003
    assert header.user_msg_sequence_number == 4
    assert header.recoverable_msg_seq_number == 5
    assert header.window_size == 6
    assert header.pack() == data


def test_a_new_header_acknowledges_nothing_with_the_usual_window() -> None:
    """MQQB-108, MQQB-111, MQQB-112."""
    assert SessionHeader().pack() == bytes(12) + b"\x40\0\0\0"


@pytest.mark.parametrize(
    ("size", "field", "offset"),
    [(0, "AckSequenceNumber", 0), (5, "RecoverableMsgAckFlags", 4), (15, "Reserved", 14)],
)
def test_a_header_cut_short_is_refused(size: int, field: str, offset: int) -> None:
    """MQQB-010."""
    assert refusal(SessionHeader.read, bytes(size)) == (f"SessionHeader.{field}", offset)
