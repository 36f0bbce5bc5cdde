"""A session between two queue managers ([MS-MQQB] 3.1): bytes and the time in, events out.

The caller gives it what the connection brings (`receive_data`), messages to send (`send`) and the
time (`tick`, when `next_deadline` has come), writes what `data_to_send` gives, and acts on the
events. A message that arrived is acknowledged only after the caller has said that it is on disk
(`stored`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Final
from uuid import UUID

from openmsmq import limits
from openmsmq.errors.peer import Malformed
from openmsmq.limits import U32_MAX
from openmsmq.packet.columns import split_packets
from openmsmq.packet.connection import (
    SESSION_ACK_START,
    ConnectionParameters,
    EstablishConnection,
    InternalPacket,
    SessionAck,
)
from openmsmq.packet.framing import PacketFramer
from openmsmq.packet.group import PacketGroup
from openmsmq.packet.headers.base import BaseFlags
from openmsmq.packet.headers.connection_parameters import ConnectionParametersHeader
from openmsmq.packet.headers.establish_connection import EstablishConnectionHeader, OperatingSystem
from openmsmq.packet.headers.internal import InternalFlags, InternalHeader, InternalType
from openmsmq.packet.headers.session import SessionHeader
from openmsmq.packet.headers.user import NO_GUID, UserFlags
from openmsmq.packet.packet import decode_packet
from openmsmq.packet.view import PacketView
from openmsmq.packet.walk import FLAGS, PlainRun, check_delivery, u16, u32
from openmsmq.transports.mqqb.events import (
    Acknowledged,
    Arrived,
    Closed,
    Event,
    GroupArrived,
    Opened,
    Outgoing,
    SessionEnd,
)
from openmsmq.transports.mqqb.inbound import HEADER_AT, Inbound
from openmsmq.transports.mqqb.outbound import FLAG_BITS, Outbound, Token
from openmsmq.transports.mqqb.states import MOVES, PacketKind, SessionAction, SessionState
from openmsmq.transports.mqqb.timers import SessionTimers, recoverable_ack_ms

_SESSION: Final = BaseFlags.SH
_CLEAR_SESSION: Final = 0xFFFF ^ BaseFlags.SH
_RESERVED: Final = 0x0010
_UNUSUAL: Final = UserFlags.TH | 0x40
"Flags of messages whose delivery mode may be none: a TransactionHeader, or DM above 1."
_MS: Final = 1000
_is_recoverable: Final = itemgetter(2)
"Of an `Outgoing`."
_KINDS: Final = {
    EstablishConnection: PacketKind.ESTABLISH_CONNECTION,
    ConnectionParameters: PacketKind.CONNECTION_PARAMETERS,
    SessionAck: PacketKind.SESSION_ACK,
}


class Session:
    """One session, from either side."""

    def __init__(
        self,
        own: UUID,
        *,
        now: float,
        is_initiator: bool,
        peer: UUID = NO_GUID,
        is_direct: bool = True,
        timing: SessionTimers | None = None,
        answers_early: bool = True,
        refuses: bool = False,
    ) -> None:
        """Begin a session on a connection that is there.

        `peer` is the manager that an initiator wants, nil for any; `answers_early` lets
        a sender that skips the greetings know that a manager is here, as MSMQ does; `refuses` lets
        an acceptor that has too many sessions say so.
        """
        self.own = own
        self.peer = peer
        self.is_initiator = is_initiator
        self.timing = timing or SessionTimers()
        self.state = SessionState.WAITING_ECR if is_initiator else SessionState.WAITING_EC
        self.ack_wait = self.timing.ack_wait
        self.recoverable_ack = limits.RECOVERABLE_ACK_TIMEOUT_MS[1] / _MS
        self.inbound = Inbound(self.timing.window)
        self.outbound = Outbound(self.timing.window)
        self._is_direct = is_direct
        self._answers_early = answers_early
        self._refuses = refuses
        self._framer = PacketFramer()
        self._run = PlainRun()
        self._out: list[bytes] = []
        self._events: list[Event] = []
        self._is_active = False
        "SessionActive: something was sent or came since the clean-up timer started."
        self._heard = False
        "ReceivedAck: anything came since the ack wait timer last ran out."
        self._establish_by: float | None = now + self.timing.establish
        self._clean_up_at: float | None = now + self.timing.clean_up
        self._give_up_at: float | None = None
        "Session Ack Wait Timer ([MS-MQQB] 3.1.2.4)."
        self._ack_at: float | None = None
        "Session Ack Send Timer (3.1.2.5)."
        self._ack_started = now
        self._is_ack_soon = False
        "Express messages are to be acknowledged as soon as they are taken, and not refused."
        self._heard_at = now
        if is_initiator:
            self._send_establish(now)

    # For the caller

    @property
    def is_open(self) -> bool:
        """Messages can be sent."""
        return self.state is SessionState.OPEN

    @property
    def is_over(self) -> bool:
        """It is closed for good."""
        return self.state is SessionState.CLOSED

    @property
    def room(self) -> int:
        """How many messages may be sent now."""
        return self.outbound.room if self.state is SessionState.OPEN else 0

    @property
    def pending(self) -> int:
        """Bytes of a packet whose rest has not come."""
        return self._framer.pending

    @property
    def next_deadline(self) -> float | None:
        """When `tick` is to be called; None for never."""
        if self.state is SessionState.CLOSED:
            return None
        first = self._establish_by
        for at in (self._clean_up_at, self._give_up_at, self._ack_at, self.outbound.widens_at):
            if at is not None and (first is None or at < first):
                first = at
        return first

    def data_to_send(self) -> bytes:
        """What is to be written to the connection, when the events were dealt with."""
        if self._is_ack_soon and self.state is SessionState.OPEN:
            self._send_acks(self._heard_at)
        out, self._out = self._out, []
        return out[0] if len(out) == 1 else b"".join(out)

    def take_events(self) -> list[Event]:
        """What happened since the last call."""
        events, self._events = self._events, []
        return events

    def receive_data(self, data: bytes, now: float) -> None:
        """Take what the connection brings ([MS-MQQB] 3.1.5.1); nothing once it is over."""
        if self.is_over:
            return
        self._framer.receive_data(data)
        self._heard = True
        try:
            for part in self._framer.parts():
                if self.state is SessionState.CLOSED:
                    return
                if isinstance(part, PacketGroup):
                    self._on_group(part, now)
                else:
                    self._receive(part, now)
        except Malformed as error:
            self._end(SessionEnd.BAD_PACKET, str(error))

    def send(self, messages: Iterable[Outgoing], now: float) -> None:
        """Send messages, not more than there is room for ([MS-MQQB] 3.1.7.1)."""
        for recoverable, alike in groupby(messages, key=_is_recoverable):
            packets, tokens, _ = zip(*alike, strict=True)
            self.send_alike(packets, tokens, now, recoverable=recoverable)

    def send_alike(
        self, packets: Sequence[bytes], tokens: Sequence[Token], now: float, *, recoverable: bool
    ) -> None:
        """The same for messages all of which are recoverable, or none is."""
        sent = 0
        if self._has_ack_to_take(now):
            flagged = [bool(u16(packet, 2)[0]) for packet in packets]
            if True in flagged:
                sent = flagged.index(True) + 1
                self.outbound.add(tokens[:sent], recoverable=recoverable)
                carrier = _with_header(packets[sent - 1], self._take_header())
                self._out += [*packets[: sent - 1], carrier]
        self.outbound.add(tokens[sent:], recoverable=recoverable)
        self._sent(packets[sent:], now)

    def send_run(
        self, packets: bytes, sizes: Sequence[int], tokens: Sequence[Token], now: float
    ) -> None:
        """The same for recoverable messages one after the other."""
        if self._has_ack_to_take(now):
            each = split_packets(packets, len(sizes))
            self.send_alike(each, tokens, now, recoverable=True)
            return
        self.outbound.add(tokens, recoverable=True)
        self._sent([packets], now)

    def _sent(self, packets: Sequence[bytes], now: float) -> None:
        self._out += packets
        self._is_active = True
        if self._give_up_at is None and self.outbound.is_waiting:
            self._give_up_at = now + self._patience

    def stored(self, number: int, now: float) -> None:
        """The messages up to this number are on disk, or refused for good ([MS-MQQB] 3.1.5.8.7)."""
        inbound = self.inbound
        inbound.stored = max(inbound.stored, number)
        if self.state is not SessionState.OPEN:
            return
        if inbound.to_confirm >= FLAG_BITS or inbound.unacked >= self._ack_after:
            self._send_acks(now)
        elif inbound.to_confirm:
            self._ack_within(min(self.recoverable_ack, self.ack_wait / 2), now)

    def pause(self) -> None:
        """Tell the peer to send one message at a time ([MS-MQQB] 3.1.7.13)."""
        if self.state is SessionState.OPEN:
            header = self.inbound.header(self.outbound, window=1)
            self._out.append(SessionAck(header).encode())
            self._ack_at = None
            self._is_active = False

    def close(self, reason: SessionEnd, detail: str = "") -> None:
        """End it from this side ([MS-MQQB] 3.1.5.9)."""
        self._end(reason, detail)

    def tick(self, now: float) -> None:
        """Do what is due."""
        if self.state is SessionState.CLOSED:
            return
        if _is_due(self._establish_by, now):
            self._end(SessionEnd.SLOW)
        elif _is_due(self._clean_up_at, now):
            self._clean_up(now)
        if _is_due(self._give_up_at, now):
            self._check_acknowledged(now)
        if _is_due(self._ack_at, now) and self.state is SessionState.OPEN:
            self._send_acks(now)
        self.outbound.widen(now)

    # Timers

    @property
    def _patience(self) -> float:
        """Session Ack Wait Timer ([MS-MQQB] 3.1.2.4), at least the minimum (AMB-26)."""
        least = limits.ACK_TIMEOUT_MS[0] / _MS
        wait = max(self.ack_wait, least) if self.timing.ack_wait >= least else self.ack_wait
        return wait * (self.timing.direct_factor if self._is_direct else 1)

    def _ack_within(self, seconds: float, now: float) -> None:
        """Session Ack Send Timer ([MS-MQQB] 3.1.2.5): never put off, or the peer might give up."""
        if self._ack_at is None or now + seconds < self._ack_at:
            self._ack_started = now
            self._ack_at = now + seconds

    def _clean_up(self, now: float) -> None:
        """Session Cleanup Timer ([MS-MQQB] 3.1.6.2)."""
        if self._is_active or self.outbound.is_waiting:
            self._is_active = False
            self._clean_up_at = now + self.timing.clean_up
        else:
            self._end(SessionEnd.IDLE)

    def _check_acknowledged(self, now: float) -> None:
        """Session Ack Wait Timer ([MS-MQQB] 3.1.6.3); it runs while something is waited for."""
        if self._heard:
            self._give_up_at = now + self._patience
        else:
            self._end(SessionEnd.SILENT)
        self._heard = False

    # Establishing ([MS-MQQB] 3.1.5.2 to 3.1.5.4)

    def _send_establish(self, now: float) -> None:
        """EstablishConnection ([MS-MQQB] 3.1.5.2.3); no ping was sent before (AMB-55)."""
        header = EstablishConnectionHeader(
            client_guid=self.own,
            server_guid=self.peer,
            time_stamp=int(now * _MS) & U32_MAX,
            operating_system=_RESERVED | OperatingSystem.SE | OperatingSystem.OS,
        )
        self._out.append(EstablishConnection(header).encode())

    def _answer_establish(self, packet: EstablishConnection) -> None:
        """Accept a peer that means this manager, refuse others ([MS-MQQB] 3.1.5.3.1, AMB-24)."""
        asked = packet.header
        is_meant = asked.server_guid in (self.own, NO_GUID)
        header = EstablishConnectionHeader(
            client_guid=asked.client_guid,
            server_guid=self.own,
            time_stamp=asked.time_stamp,
            operating_system=asked.operating_system,
        )
        is_refused = self._refuses or not is_meant
        flags = InternalType.ESTABLISH_CONNECTION | (InternalFlags.CS if is_refused else 0)
        answer = EstablishConnection(header, InternalHeader(flags=flags))
        self._out.append(answer.encode())
        if not is_meant:
            self._end(SessionEnd.NOT_HERE, str(asked.server_guid))
        elif is_refused:
            self._end(SessionEnd.TOO_MANY)
        else:
            self.peer = asked.client_guid
            self.state = SessionState.WAITING_CP

    def _on_established(self, packet: EstablishConnection, now: float) -> None:
        """The answer of the acceptor ([MS-MQQB] 3.1.5.3.2, AMB-25)."""
        header = packet.header
        if packet.refused:
            self._end(SessionEnd.REFUSED, f"by {header.server_guid}")
            return
        if header.client_guid != self.own or self.peer not in (NO_GUID, header.server_guid):
            self._end(SessionEnd.UNEXPECTED, f"an answer of {header.server_guid}")
            return
        self.peer = header.server_guid
        round_trip = (int(now * _MS) - header.time_stamp & U32_MAX) / _MS
        recoverable = recoverable_ack_ms(round_trip)
        self.recoverable_ack = recoverable / _MS
        parameters = ConnectionParametersHeader(
            recoverable_ack_timeout_ms=recoverable,
            ack_timeout_ms=round(self.ack_wait * _MS),
            window_size=self.timing.window,
        )
        self._out.append(ConnectionParameters(parameters).encode())
        self.state = SessionState.WAITING_CPR

    def _answer_parameters(self, packet: ConnectionParameters, now: float) -> None:
        """The initiator's parameters, which the acceptor answers ([MS-MQQB] 3.1.5.4.1)."""
        self._accept_parameters(packet.header)
        self._open(packet.header, now)

    def _on_accepted_parameters(self, packet: ConnectionParameters, now: float) -> None:
        """The acceptor's answer to the parameters ([MS-MQQB] 3.1.5.4.2)."""
        if packet.refused:
            self._end(SessionEnd.REFUSED, "the parameters")
        else:
            self._open(packet.header, now)

    def _open(self, header: ConnectionParametersHeader, now: float) -> None:
        self.outbound.agree(header.window_size)
        self._establish_by = None
        self.state = SessionState.OPEN
        self._clean_up_at = now + self.timing.clean_up
        self._events.append(Opened(self.peer))

    def _accept_parameters(self, header: ConnectionParametersHeader) -> None:
        """The initiator's time-outs count, each as far as it makes sense ([MS-MQQB] 3.1.5.4.1).

        They are echoed as they came (AMB-26).
        """
        self.ack_wait = min(header.ack_timeout_ms, limits.ACK_TIMEOUT_MS[1]) / _MS
        most = limits.RECOVERABLE_ACK_TIMEOUT_MS[1]
        self.recoverable_ack = min(header.recoverable_ack_timeout_ms, most) / _MS
        answer = ConnectionParametersHeader(
            recoverable_ack_timeout_ms=header.recoverable_ack_timeout_ms,
            ack_timeout_ms=header.ack_timeout_ms,
            window_size=self.timing.window,
        )
        self._out.append(ConnectionParameters(answer).encode())

    # Packets

    def _receive(self, packet: bytes, now: float) -> None:
        flags = u16(packet, 2)[0]
        if not flags & BaseFlags.IN:
            self._on_message(packet, flags, now)
            return
        if self.state is SessionState.OPEN and packet.startswith(SESSION_ACK_START):
            self._on_header(SessionHeader.unpack(packet[len(SESSION_ACK_START) :]), now)
            return  # what `MOVES` says, by the shortest way
        internal: InternalPacket = decode_packet(packet)  # type: ignore[assignment] # IN is set
        kind = _KINDS[type(internal)]
        match MOVES[self.state][kind].action, internal:
            case SessionAction.ANSWER_ESTABLISH, EstablishConnection() as asked:
                self._answer_establish(asked)
            case SessionAction.SEND_PARAMETERS, EstablishConnection() as answer:
                self._on_established(answer, now)
            case SessionAction.ANSWER_PARAMETERS, ConnectionParameters() as offered:
                self._answer_parameters(offered, now)
            case SessionAction.OPEN, ConnectionParameters() as agreed:
                self._on_accepted_parameters(agreed, now)
            case SessionAction.ACKNOWLEDGE, SessionAck() as ack:
                self._on_header(ack.header, now)
            case _:
                self._end(SessionEnd.UNEXPECTED, kind.value)

    def _on_message(self, packet: bytes, flags: int, now: float) -> None:
        """A UserMessage ([MS-MQQB] 3.1.5.8): count it, take its SessionHeader, pass it on."""
        header = None
        if flags & _SESSION:
            packet, header = _split(packet, flags)
        if not self._run.fits(packet):
            PacketView.parse(packet)
        message_flags = u32(packet, FLAGS)[0]
        if message_flags & _UNUSUAL:
            check_delivery(packet, message_flags)
        if self.state is not SessionState.OPEN:  # the one state that delivers (`states.MOVES`)
            self._answer_early()
            return
        number = self._count(message_flags, 1, now)
        self._events.append(Arrived(packet, number))
        if header is not None:
            self._on_header(header, now)
        if not number:
            self._acknowledge_soon(now)

    def _on_group(self, group: PacketGroup, now: float) -> None:
        """UserMessages that differ in little, none of which has a SessionHeader: the same."""
        if self.state is not SessionState.OPEN:
            self._answer_early()
            return
        number = self._count(u32(group.packets, FLAGS)[0], len(group.sizes), now)
        self._events.append(GroupArrived(group, number))
        if not number:
            self._acknowledge_soon(now)

    def _count(self, flags: int, messages: int, now: float) -> int:
        """Count messages that came; the last one's number, 0 for express messages."""
        recoverable = bool(flags & UserFlags.DM)
        number = self.inbound.count(recoverable=recoverable, messages=messages)
        self._is_active = True
        self._ack_within(self.ack_wait / 2, now)
        return number

    def _acknowledge_soon(self, now: float) -> None:
        """Express messages came: the peer never waits for a timer (AMB-29)."""
        if self.inbound.unacked >= self._ack_after:
            self._is_ack_soon = True
            self._heard_at = now

    @property
    def _ack_after(self) -> int:
        """Half of what the peer may have under way: it never waits for a timer (AMB-29)."""
        return max(1, self.outbound.window // 2)

    def _answer_early(self) -> None:
        """A message before the session is open: say that a manager is here, and no more."""
        if self._answers_early and self.state is SessionState.WAITING_EC:
            self._out.append(SessionAck(SessionHeader(window_size=self.timing.window)).encode())
        self._end(SessionEnd.UNEXPECTED, "a message before the session was open")

    # Acknowledgements

    def _on_header(self, header: SessionHeader, now: float) -> None:
        """What the peer has, and what it has sent ([MS-MQQB] 3.1.5.5, 3.1.6.3)."""
        tokens = self.outbound.acknowledge(header)
        self.outbound.narrow(header.window_size, now)
        if tokens:
            self._events.append(Acknowledged(tokens))
        if not self.inbound.matches(header):
            self._end(SessionEnd.MISMATCH, f"{header}")
        else:
            self._give_up_at = now + self._patience if self.outbound.is_waiting else None

    def _has_ack_to_take(self, now: float) -> bool:
        """Whether the next message takes an acknowledgement along ([MS-MQQB] 3.1.7.11).

        An OrderAck or FinalAck has no flags in its BaseHeader, and must not (AMB-54).
        """
        if self._ack_at is None:
            return False
        return now - self._ack_started > HEADER_AT * (self._ack_at - self._ack_started)

    def _take_header(self) -> SessionHeader:
        self._ack_at = None
        return self.inbound.header(self.outbound)

    def _send_acks(self, now: float) -> None:
        """SessionAcks, as many as it takes ([MS-MQQB] 3.1.6.4)."""
        while self.inbound.is_ack_due:
            self._out.append(SessionAck(self.inbound.header(self.outbound)).encode())
        self._ack_at = None
        self._ack_started = now
        self._is_ack_soon = False

    def _end(self, reason: SessionEnd, detail: str = "") -> None:
        if self.state is not SessionState.CLOSED:
            self.state = SessionState.CLOSED
            self._framer.clear()  # not when the garbage is collected: it may be megabytes
            self._events.append(Closed(reason, detail))


def _with_header(packet: bytes, header: SessionHeader) -> bytes:
    """A message with a SessionHeader, which its PacketSize does not count ([MS-MQMQ] 2.2.20.4)."""
    flags = (u16(packet, 2)[0] | _SESSION).to_bytes(2, "little")
    return b"".join((packet[:2], flags, packet[4:], header.pack()))


def _split(packet: bytes, flags: int) -> tuple[bytes, SessionHeader]:
    """A message and the SessionHeader behind it, or inside as some write it (AMB-1).

    What goes on is the message alone ([MS-MQMQ] 2.2.20.4).
    """
    size = u32(packet, 8)[0]
    inside = size == len(packet)
    header = SessionHeader.unpack(packet[-SessionHeader.SIZE :])
    length = len(packet) - SessionHeader.SIZE
    cleared = (flags & _CLEAR_SESSION).to_bytes(2, "little")
    size_bytes = length.to_bytes(4, "little") if inside else packet[8:12]
    start = (packet[:2], cleared, packet[4:8], size_bytes)
    return b"".join((*start, packet[12:length])), header


def _is_due(at: float | None, now: float) -> bool:
    return at is not None and now >= at
