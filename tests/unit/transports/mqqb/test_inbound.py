"""What came, and what of it the peer has been notified."""

from __future__ import annotations

import pytest

from openmsmq.packet.headers.session import SessionHeader
from openmsmq.transports.mqqb.inbound import Inbound
from openmsmq.transports.mqqb.outbound import Outbound


def inbound(kinds: str = "", *, stored: int = 0) -> Inbound:
    """One to which express (e) and recoverable (r) messages came."""
    made = Inbound(64)
    for kind in kinds:
        made.count(recoverable=kind == "r")
    made.stored = stored
    return made


def reported(made: Inbound) -> tuple[int, int, int]:
    """AckSequenceNumber, RecoverableMsgAckSeqNumber and -Flags of the next header."""
    header = made.header(Outbound(64))
    return (
        header.ack_sequence_number,
        header.recoverable_msg_ack_seq_number,
        header.recoverable_msg_ack_flags,
    )


def test_nothing_came_at_first() -> None:
    """MQQB-192."""
    made = inbound()
    assert not made.is_ack_due
    assert reported(made) == (0, 0, 0)
    assert made.matches(SessionHeader())


def test_every_message_counts_and_recoverable_ones_have_numbers_of_their_own() -> None:
    """MQQB-114, MQQB-227: from 1; an express one has 0."""
    made = inbound()
    assert [made.count(recoverable=kind == "r") for kind in "erre"] == [0, 1, 2, 0]
    assert (made.received, made.unacked) == (4, 4)


def test_an_acknowledgement_tells_how_many_came() -> None:
    """MQQB-107, MQQB-208: and then nothing is to be reported until more comes."""
    made = inbound("eee")
    assert made.is_ack_due
    assert reported(made) == (3, 0, 0)
    assert not made.is_ack_due
    assert made.unacked == 0


def test_recoverable_messages_are_reported_only_when_they_are_on_disk() -> None:
    """MQQB-108, MQQB-109, MQQB-212."""
    made = inbound("rrr")
    assert reported(made) == (3, 0, 0)
    assert not made.is_ack_due
    made.stored = 2
    assert made.is_ack_due
    assert made.to_confirm == 2
    assert reported(made) == (3, 1, 0b11)
    assert not made.is_ack_due
    made.stored = 3
    assert reported(made) == (3, 3, 0b1)


def test_one_acknowledgement_tells_of_32_recoverable_messages() -> None:
    """MQQB-109, MQQB-211: the rest is for the next ones."""
    made = inbound("r" * 70, stored=70)
    assert reported(made) == (70, 1, 0xFFFFFFFF)
    assert made.is_ack_due
    assert reported(made) == (70, 33, 0xFFFFFFFF)
    assert reported(made) == (70, 65, 0b111111)
    assert not made.is_ack_due


def test_an_acknowledgement_tells_what_was_sent_and_the_window() -> None:
    """MQQB-110, MQQB-111, MQQB-112."""
    outbound = Outbound(64)
    for recoverable in (False, True, True):
        outbound.add([None], recoverable=recoverable)
    assert inbound().header(outbound) == SessionHeader(0, 0, 0, 3, 2, 64)
    assert inbound().header(outbound, window=1) == SessionHeader(0, 0, 0, 3, 2, 1)


@pytest.mark.parametrize(
    ("sent", "recoverable", "expected"),
    [(3, 2, True), (2, 2, False), (4, 2, False), (3, 1, False), (3, 3, False), (0, 0, False)],
)
def test_both_counts_of_the_peer_must_match(sent: int, recoverable: int, expected: bool) -> None:
    """MQQB-221."""
    header = SessionHeader(user_msg_sequence_number=sent, recoverable_msg_seq_number=recoverable)
    assert inbound("rer").matches(header) is expected


def test_numbers_wrap_on_the_wire() -> None:
    """MQQB-107, MQQB-114, AMB-32: zero is a number like others."""
    made = inbound()
    for _ in range(0x10000):
        number = made.count(recoverable=True)
    assert number == 0x10000
    made.stored = made.acked = 0xFFFF
    made.stored = 0x10000
    assert reported(made) == (0, 0, 1)
    made.count(recoverable=True)
    made.stored += 1
    assert reported(made) == (1, 1, 1)
    header = SessionHeader(user_msg_sequence_number=1, recoverable_msg_seq_number=1)
    assert made.matches(header)
