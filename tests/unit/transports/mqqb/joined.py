"""Sessions for tests: one with a scripted peer, or two joined to each other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final, TypeVar
from uuid import UUID

from tests.samples import one_by_one, patch, user_message

from openmsmq.packet.acks import (
    FinalAckBody,
    OrderAckBody,
    build_final_ack,
    build_order_ack,
    order_queue,
)
from openmsmq.packet.connection import (
    ConnectionParameters,
    EstablishConnection,
    SessionAck,
)
from openmsmq.packet.framing import PacketFramer
from openmsmq.packet.headers.connection_parameters import ConnectionParametersHeader
from openmsmq.packet.headers.establish_connection import EstablishConnectionHeader
from openmsmq.packet.headers.internal import InternalFlags, InternalHeader, InternalType
from openmsmq.packet.headers.session import SessionHeader
from openmsmq.packet.headers.transaction import TxSequenceID
from openmsmq.packet.headers.user import NO_GUID, UserHeaderStart
from openmsmq.packet.packet import Packet, decode_packet
from openmsmq.packet.walk import USER
from openmsmq.properties.message import MessageClass
from openmsmq.transports.mqqb.events import (
    Acknowledged,
    Arrived,
    Closed,
    Event,
    Outgoing,
    SessionEnd,
)
from openmsmq.transports.mqqb.session import Session
from openmsmq.transports.mqqb.states import SessionState
from openmsmq.transports.mqqb.timers import SessionTimers

OWN: Final = UUID("aaaaaaaa-bbbb-4ccc-8ddd-eeeeffff0000")
PEER: Final = UUID("11111111-2222-4333-8444-555566667777")
STRANGER: Final = UUID("01234567-89ab-4cde-8f01-23456789abcd")
RECOVERABLE: Final = 1 << 5
"UserHeader.Flags.DM of a recoverable message."
MESSAGE_ID: Final = USER + UserHeaderStart.offset_of("MessageID")
START: Final = 1000.0
"When sessions of tests begin."

EXPRESS_PACKET: Final = user_message().encode()
RECOVERABLE_PACKET: Final = user_message(flags=RECOVERABLE).encode()

ORDER_ACK: Final = build_order_ack(
    order_queue(OWN), OrderAckBody(TxSequenceID(1, 1), 1, 0), source=PEER, message_id=1, sent_time=0
)
FINAL_ACK: Final = build_final_ack(
    order_queue(OWN),
    FinalAckBody(TxSequenceID(1, 1), 1, 0, OWN, 1),
    MessageClass.ACK_RECEIVE,
    source=PEER,
    message_id=1,
    sent_time=0,
)

Kind = TypeVar("Kind", bound=Packet)


def message(number: int = 1, *, recoverable: bool = False) -> bytes:
    """A message distinguished by its identifier."""
    packet = RECOVERABLE_PACKET if recoverable else EXPRESS_PACKET
    return patch(packet, MESSAGE_ID, number.to_bytes(4, "little"))


def with_header(header: SessionHeader, *, recoverable: bool = False) -> bytes:
    """A message that takes an acknowledgement along."""
    flags = RECOVERABLE if recoverable else 0
    return user_message(flags=flags, session=header).encode()


def outgoing(count: int, *, recoverable: bool = False, first: int = 1) -> list[Outgoing]:
    """Messages to send, their numbers for tokens."""
    return [
        Outgoing(message(number, recoverable=recoverable), number, recoverable)
        for number in range(first, first + count)
    ]


def establish(
    client: UUID = PEER, server: UUID = NO_GUID, *, time_stamp: int = 0, refused: bool = False
) -> bytes:
    """EstablishConnection, as a request or as an answer."""
    flags = InternalType.ESTABLISH_CONNECTION | (InternalFlags.CS if refused else 0)
    header = EstablishConnectionHeader(client, server, time_stamp, 0x0310)
    return EstablishConnection(header, InternalHeader(flags=flags)).encode()


def parameters(
    recoverable_ack: int = 500, ack: int = 20_000, window: int = 64, *, refused: bool = False
) -> bytes:
    """ConnectionParameters, as a request or as an answer; milliseconds."""
    flags = InternalType.CONNECTION_PARAMETERS | (InternalFlags.CS if refused else 0)
    header = ConnectionParametersHeader(recoverable_ack, ack, window_size=window)
    return ConnectionParameters(header, InternalHeader(flags=flags)).encode()


def ack(
    number: int = 0,
    base: int = 0,
    flags: int = 0,
    *,
    sent: int = 0,
    recoverable_sent: int = 0,
    window: int = 64,
) -> bytes:
    """A SessionAck."""
    return SessionAck(SessionHeader(number, base, flags, sent, recoverable_sent, window)).encode()


def acceptor(*, answers_early: bool = True, timing: SessionTimers | None = None) -> Session:
    """A session on a connection that was accepted."""
    return Session(OWN, now=START, is_initiator=False, answers_early=answers_early, timing=timing)


def initiator(*, peer: UUID = NO_GUID, timing: SessionTimers | None = None) -> Session:
    """A session on a connection that was made; its first packet is taken."""
    session = Session(OWN, now=START, is_initiator=True, peer=peer, timing=timing)
    session.data_to_send()
    return session


def opened(
    *,
    window: int = 64,
    recoverable_ack: int = 500,
    ack_timeout: int = 20_000,
    timing: SessionTimers | None = None,
    is_direct: bool = True,
) -> Session:
    """A session that a peer has opened with these parameters, and nothing else."""
    session = Session(OWN, now=START, is_initiator=False, timing=timing, is_direct=is_direct)
    session.receive_data(establish(), START)
    session.receive_data(parameters(recoverable_ack, ack_timeout, window), START)
    session.data_to_send()
    session.take_events()
    return session


def session_in(state: SessionState) -> Session:
    """A session that has come to this state and no further."""
    if state in (SessionState.WAITING_ECR, SessionState.WAITING_CPR):
        session = initiator()
        if state is SessionState.WAITING_CPR:
            session.receive_data(establish(OWN, PEER), START)
    elif state is SessionState.OPEN:
        session = opened()
    else:
        session = acceptor()
        if state is SessionState.WAITING_CP:
            session.receive_data(establish(), START)
    if state is SessionState.CLOSED:
        session.close(SessionEnd.LOST)
        session.take_events()
    session.data_to_send()
    assert session.state is state
    return session


def packets(session: Session) -> list[Packet]:
    """What the session writes, decoded."""
    framer = PacketFramer()
    framer.receive_data(session.data_to_send())
    found = [decode_packet(packet) for packet in framer.packets()]
    assert not framer.pending
    return found


def only(session: Session, kind: type[Kind]) -> Kind:
    """The one packet that the session writes."""
    (packet,) = packets(session)
    assert isinstance(packet, kind)
    return packet


def acks(session: Session) -> list[SessionHeader]:
    """The SessionAcks that the session writes, and it writes nothing else."""
    found = packets(session)
    assert all(isinstance(packet, SessionAck) for packet in found)
    return [packet.header for packet in found if isinstance(packet, SessionAck)]


def reason(session: Session) -> SessionEnd | None:
    """Why the session has ended; None if it has not."""
    closed = [event for event in session.take_events() if isinstance(event, Closed)]
    assert len(closed) <= 1
    assert session.is_over == bool(closed)
    return closed[0].reason if closed else None


def acknowledged(session: Session) -> list[object]:
    """The tokens of the messages that the peer has."""
    events = session.take_events()
    return [t for event in events if isinstance(event, Acknowledged) for t in event.tokens]


def run_until(session: Session, end: float) -> None:
    """Tick whenever the session asks for it, up to a time."""
    while (at := session.next_deadline) is not None and at <= end:
        session.tick(at)
        assert session.next_deadline is None or session.next_deadline > at, "would tick for ever"


@dataclass
class Side:
    """One of two sessions, and what it reported."""

    session: Session
    events: list[Event] = field(default_factory=list)

    @property
    def arrived(self) -> list[int]:
        """The identifiers of the messages that came."""
        packets = [event.packet for event in self.events if isinstance(event, Arrived)]
        return [int.from_bytes(p[MESSAGE_ID : MESSAGE_ID + 4], "little") for p in packets]

    @property
    def acknowledged(self) -> list[object]:
        """The tokens acknowledged."""
        return [t for e in self.events if isinstance(e, Acknowledged) for t in e.tokens]


class Pair:
    """Two sessions whose connection loses no time."""

    def __init__(
        self, *, near: SessionTimers | None = None, far: SessionTimers | None = None
    ) -> None:
        self.now = START
        self.near = Side(Session(OWN, now=START, is_initiator=True, peer=PEER, timing=near))
        self.far = Side(Session(PEER, now=START, is_initiator=False, timing=far))
        self.carry()

    def __iter__(self) -> Iterator[Side]:
        yield self.near
        yield self.far

    def carry(self) -> None:
        """Bring all bytes over, until both have nothing to say."""
        while any([self._carry(self.near, self.far), self._carry(self.far, self.near)]):
            pass
        for side in self:
            side.events += one_by_one(side.session.take_events())

    def _carry(self, start: Side, end: Side) -> bool:
        data = start.session.data_to_send()
        if data:
            end.session.receive_data(data, self.now)
        return bool(data)

    def store(self, side: Side) -> None:
        """All that came is on disk."""
        for event in side.events:
            if isinstance(event, Arrived) and event.number:
                side.session.stored(event.number, self.now)

    def wait(self, seconds: float) -> None:
        """Let time pass, and everything happen that it brings."""
        end = self.now + seconds
        while (at := self.next_deadline) is not None and at <= end:
            self.now = at
            for side in self:
                side.session.tick(at)
            self.carry()
        self.now = end

    @property
    def next_deadline(self) -> float | None:
        """When one of them wants to be given the time."""
        found = [side.session.next_deadline for side in self]
        return min((at for at in found if at is not None), default=None)
