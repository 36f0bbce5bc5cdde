"""The receiver of a group address: one session for each source (RFC 3208, 6)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from ipaddress import IPv4Address
from typing import NamedTuple

from openmsmq.transports.pgm.limits import SESSIONS_MAX, SESSIONS_PER_ADDRESS_MAX
from openmsmq.transports.pgm.messages import MessageReader, MulticastMessage
from openmsmq.transports.pgm.packets import (
    AnyPacket,
    Nak,
    Ncf,
    OptionType,
    PgmData,
    Spm,
    SpmRequest,
    Tsi,
)
from openmsmq.transports.pgm.session import (
    Delivered,
    Ended,
    HeldBytes,
    Joined,
    PgmEvent,
    PgmSession,
    ReceptionState,
)
from openmsmq.transports.pgm.timers import PgmTiming


class SharedLimits:
    """What the receivers of a process share."""

    def __init__(self, sessions_max: int = SESSIONS_MAX) -> None:
        self.sessions_max = sessions_max
        self.sessions = 0
        self.held = HeldBytes()


class MulticastArrival(NamedTuple):
    """A message, and where it came from."""

    message: MulticastMessage
    source: IPv4Address
    tsi: Tsi


class NakToSend(NamedTuple):
    """A request for repairs, and the address that it goes to."""

    packet: Nak
    to: IPv4Address


class _Reception:
    def __init__(self, session: PgmSession) -> None:
        self.session = session
        self.reader = MessageReader()


class PgmReceiver:
    """Receives what is sent to one address and port."""

    def __init__(
        self,
        group: IPv4Address,
        port: int,
        *,
        draw: Callable[[], float],
        timing: PgmTiming | None = None,
        limits: SharedLimits | None = None,
        may_relay: bool = False,
        sessions_max: int = SESSIONS_PER_ADDRESS_MAX,
    ) -> None:
        """`draw` gives the random wait before a NAK."""
        self.group = group
        self.port = port
        self.counts: Counter[str] = Counter()
        "Packets that no session took, by reason; and what sessions counted that are forgotten."
        self._draw = draw
        self._timing = timing or PgmTiming()
        self._limits = limits or SharedLimits()
        self._may_relay = may_relay
        self._sessions_max = sessions_max
        self._receptions: dict[Tsi, _Reception] = {}

    @property
    def sessions(self) -> Iterator[PgmSession]:
        """The sources that are known."""
        return (reception.session for reception in self._receptions.values())

    def receive(self, packet: AnyPacket, source: IPv4Address, now: float) -> list[MulticastArrival]:
        """A packet that came to the group; the messages that are complete with it."""
        if packet.port != self.port:
            self.counts["other port"] += 1
            return []
        reception = self._receptions.get(packet.tsi)
        if isinstance(packet, Nak | Ncf | SpmRequest):
            if reception is not None and not isinstance(packet, SpmRequest):
                self._note(reception.session, packet, now)
            return []
        if reception is None:
            reception = self._add(packet, source, now)
            if reception is None:
                return []
        return self._take(reception, reception.session.receive(packet, source, now))

    def _note(self, session: PgmSession, packet: Nak | Ncf, now: float) -> None:
        """A receiver requests a repair, or the source confirms that it comes (6.3)."""
        if packet.group != self.group:
            return
        if isinstance(packet, Ncf):
            session.confirmed(packet, now)
        else:
            session.requested(packet, now)

    def tick(self, now: float) -> tuple[list[MulticastArrival], list[NakToSend]]:
        """Let time pass: NAKs that are due, sessions that are over."""
        naks: list[NakToSend] = []
        messages: list[MulticastArrival] = []
        for tsi, reception in list(self._receptions.items()):
            session = reception.session
            if session.is_over(now):
                self._forget(tsi)
                continue
            events, requests = session.tick(now)
            messages += self._take(reception, events)
            naks += (NakToSend(nak, to) for nak, to in requests)
        return messages, naks

    @property
    def next_deadline(self) -> float | None:
        """When `tick` is to be called."""
        return min((session.next_deadline for session in self.sessions), default=None)

    def close(self) -> None:
        """Forget all sessions."""
        for tsi in list(self._receptions):
            self._forget(tsi)

    def _take(self, reception: _Reception, events: list[PgmEvent]) -> list[MulticastArrival]:
        messages: list[MulticastArrival] = []
        session, reader = reception.session, reception.reader
        for event in events:
            if isinstance(event, Delivered):
                for message in reader.add(event.packet):
                    messages.append(MulticastArrival(message, session.source, session.tsi))
            elif isinstance(event, Ended | Joined):
                reader.restart()
        return messages

    def _add(self, packet: Spm | PgmData, source: IPv4Address, now: float) -> _Reception | None:
        """A session for a source that is new; None if it has ended, or there are too many."""
        ends = (OptionType.FIN, OptionType.RST)
        if isinstance(packet, Spm) and any(packet.option(kind) is not None for kind in ends):
            return None
        is_full = len(self._receptions) >= self._sessions_max
        if (is_full or self._limits.sessions >= self._limits.sessions_max) and not self._displace():
            self.counts["too many sources"] += 1
            return None
        session = PgmSession(
            packet.tsi,
            self.group,
            self.port,
            source,
            now,
            timing=self._timing,
            draw=self._draw,
            held_bytes=self._limits.held,
            may_relay=self._may_relay,
        )
        self._limits.sessions += 1
        reception = self._receptions[packet.tsi] = _Reception(session)
        return reception

    def _displace(self) -> bool:
        """Forget the session that ended first; whether there was one."""
        ended = [s for s in self.sessions if s.state is ReceptionState.ENDED]
        if not ended:
            return False
        self._forget(min(ended, key=lambda session: session.ended_at).tsi)
        return True

    def _forget(self, tsi: Tsi) -> None:
        reception = self._receptions.pop(tsi)
        reception.session.discard()
        self.counts.update(reception.session.counts)
        self.counts.update(reception.reader.counts)
        self._limits.sessions -= 1
