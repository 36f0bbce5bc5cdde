"""The last packets of a session, without what is in them."""

from __future__ import annotations

from uuid import UUID

from tests.samples import MESSAGES
from tests.unit.engine.world import HandClock

from openmsmq.packet.connection import EstablishConnection, SessionAck
from openmsmq.packet.headers.establish_connection import EstablishConnectionHeader
from openmsmq.packet.headers.session import SessionHeader
from openmsmq.transports.limits import TRACE_PACKETS_MAX, TRACE_PIECES_MAX
from openmsmq.transports.peers.trace import MORE, PART, PacketTrace

ACK = SessionAck(SessionHeader(ack_sequence_number=7, window_size=64)).encode()
HELLO = EstablishConnection(EstablishConnectionHeader(UUID(int=1), UUID(int=2), 0)).encode()
MESSAGE = next(iter(MESSAGES.values())).encode()


def kinds(trace: PacketTrace) -> list[tuple[str, int]]:
    return [(packet.kind, packet.size) for packet in trace.packets()]


def test_packets_have_names_the_newest_first() -> None:
    clock = HandClock(1.5)
    trace = PacketTrace(clock)
    trace.note(HELLO, is_sent=True)
    clock.wait(0.5)
    trace.note(ACK + ACK, is_sent=False)
    ack = "SessionAck: 7 came, window 64", len(ACK)
    assert kinds(trace) == [ack, ack, ("EstablishConnection", len(HELLO))]
    assert [packet.millis for packet in trace.packets()] == [2000, 2000, 1500]
    assert [packet.is_sent for packet in trace.packets()] == [False, False, True]


def test_of_messages_the_kind_and_the_size_are_kept_and_no_content() -> None:
    trace = PacketTrace(HandClock())
    trace.note(MESSAGE, is_sent=True)
    ((kind, size),) = kinds(trace)
    assert (kind.endswith(" message"), size) == (True, len(MESSAGE))


def test_what_does_not_begin_with_a_packet_or_goes_on_is_counted() -> None:
    trace = PacketTrace(HandClock())
    trace.note(MESSAGE * 9, is_sent=False)
    assert sum(size for _, size in kinds(trace)) == 9 * len(MESSAGE)
    assert kinds(trace)[0][0] == MORE
    trace.note(MESSAGE[5:], is_sent=False, is_whole=False)
    trace.note(b"garbage", is_sent=False)
    assert kinds(trace)[:2] == [(PART, 7), (PART, len(MESSAGE) - 5)]


def test_a_trace_is_bounded() -> None:
    clock = HandClock(1.5)
    trace = PacketTrace(clock)
    for _ in range(3 * TRACE_PIECES_MAX):
        trace.note(ACK * 3, is_sent=True)
        clock.wait(1)
    assert len(trace.packets()) == TRACE_PACKETS_MAX
    assert trace.packets()[0].millis == 500 + 3 * TRACE_PIECES_MAX * 1000
