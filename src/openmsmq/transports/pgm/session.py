"""What a receiver knows of one source: order, gaps, repairs (RFC 3208, 6).

A machine without sockets: packets and the time go in, events and NAKs come out. Data is delivered
in the order in which it was sent, without gaps; a packet that is lost for good ends the reception,
which starts anew with the next message.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from enum import Enum, auto
from ipaddress import IPv4Address
from math import inf
from typing import Final, NamedTuple

from openmsmq.transports.pgm.gaps import MissingPacket, MissingPackets, RepairState
from openmsmq.transports.pgm.limits import (
    HELD_BYTES_ALL_MAX,
    HELD_BYTES_MAX,
    HELD_PACKETS_MAX,
    NAK_NUMBERS_MAX,
    NAKS_PER_SECOND_MAX,
    RESYNC_S,
)
from openmsmq.transports.pgm.packets import (
    Nak,
    Ncf,
    OptionType,
    PgmData,
    Spm,
    Tsi,
    nak_list,
)
from openmsmq.transports.pgm.serials import HALF, distance, following, is_before
from openmsmq.transports.pgm.timers import PgmTiming, TokenBucket
from openmsmq.types.peers import MulticastInfo


class ReceptionState(Enum):
    """How the reception of a source stands."""

    ACTIVE = auto()
    RESYNC = auto()
    "The next packet starts it anew."
    ENDED = auto()
    "The source has closed it; its packets are ignored."


class Joined(NamedTuple):
    """Reception begins with a number."""

    number: int


class Delivered(NamedTuple):
    """The next packet, in order."""

    packet: PgmData


class Discarded(NamedTuple):
    """A packet changed nothing."""

    reason: str


class Lost(NamedTuple):
    """Packets will never come; what follows them is not delivered."""

    numbers: tuple[int, ...]
    reason: str


class Ended(NamedTuple):
    """The session is over: nothing of it is delivered any more."""

    reason: str


PgmEvent = Joined | Delivered | Discarded | Lost | Ended
DUPLICATE: Final = "duplicate or before the window"
OLD_SPM: Final = "old SPM"
FAR_AHEAD: Final = "too far ahead"
UNCONFIRMED: Final = "not confirmed"
UNSERVED: Final = "confirmed and not repaired"
OUTSIDE_WINDOW: Final = "no longer repaired"


class HeldBytes:
    """Bytes that all sessions hold; shared by them."""

    def __init__(self, limit: int = HELD_BYTES_ALL_MAX) -> None:
        self.limit = limit
        self.size = 0


class PgmSession:
    """The reception of one source."""

    def __init__(
        self,
        tsi: Tsi,
        group: IPv4Address,
        port: int,
        source: IPv4Address,
        now: float,
        *,
        timing: PgmTiming,
        draw: Callable[[], float],
        held_bytes: HeldBytes,
        may_relay: bool = False,
    ) -> None:
        """`source` is the address that its first packet came from.

        `may_relay` lets NAKs be sent to other addresses than that of the source.
        """
        self.tsi = tsi
        self.source = source
        self.state = ReceptionState.RESYNC
        self.heard_at = now
        self.ended_at = 0.0
        self.counts: Counter[str] = Counter()
        "Packets by what became of them."
        self._group = group
        self._port = port
        self._timing = timing
        self._may_relay = may_relay
        self._memory = held_bytes
        self._missing = MissingPackets(timing, draw)
        self._held: dict[int, PgmData] = {}
        self._held_size = 0
        self._next = 0
        self._lead = 0
        self._trail = 0
        self._last: int | None = None
        "The number of the last packet, once the source has said that it sends no more."
        self._spm_number: int | None = None
        self._path: IPv4Address | None = None
        self._resynced_at = -inf
        self._naks = TokenBucket(NAKS_PER_SECOND_MAX, NAKS_PER_SECOND_MAX / 10, now)

    def info(self) -> MulticastInfo:
        """How it stands, for people."""
        counts = self.counts
        return MulticastInfo(
            direction="incoming",
            group=f"{self._group}:{self._port}",
            source=str(self.source),
            session=str(self.tsi),
            state=self.state.name.lower(),
            packets=counts["packets"],
            repairs=counts["repairs"],
            requests=counts["naks"],
            lost=counts["lost"],
        )

    # Packets

    def receive(self, packet: Spm | PgmData, source: IPv4Address, now: float) -> list[PgmEvent]:
        """A packet of the source."""
        if self.state is ReceptionState.ENDED:
            return []
        self.heard_at = now
        if isinstance(packet, PgmData):
            return self._receive_data(packet, source, now)
        return self._receive_spm(packet, source, now)

    def confirmed(self, packet: Ncf, now: float) -> None:
        """An NCF of the source."""
        self._missing.confirmed(packet.numbers, now)

    def requested(self, packet: Nak, now: float) -> None:
        """A NAK of another receiver, or our own that comes back: which changes nothing."""
        self._missing.requested(packet.numbers, now)

    def _receive_spm(self, packet: Spm, source: IPv4Address, now: float) -> list[PgmEvent]:
        """The way to the source, and its end (RFC 3208, 6.2 and 9.8.1)."""
        if self._spm_number is not None and not is_before(self._spm_number, packet.number):
            return [self._discard(OLD_SPM)]
        if packet.has_window and distance(packet.trail, following(packet.lead)) >= HALF:
            return [self._discard("edges that contradict each other")]
        self._spm_number = packet.number
        if not packet.path.is_multicast and (self._may_relay or packet.path == source):
            self._path = packet.path
        if source == self.source and packet.option(OptionType.RST):
            return self._end("reset by the source", now)
        return self._receive_edges(packet, source, now) if packet.has_window else []

    def _receive_edges(self, packet: Spm, source: IPv4Address, now: float) -> list[PgmEvent]:
        """What was sent and what can be repaired (RFC 3208, 6.2 and 6.3)."""
        has_ended = source == self.source and packet.option(OptionType.FIN) is not None
        if self.state is ReceptionState.RESYNC:
            may_join = self._may_join(now) and not has_ended
            return [self._join(following(packet.lead), packet.trail)] if may_join else []
        events = self._move_window(packet.trail, now)
        if self.state is not ReceptionState.ACTIVE:
            return events
        if is_before(self._lead, packet.lead):
            if distance(self._next, packet.lead) >= HELD_PACKETS_MAX:
                return [*events, *self._resync(FAR_AHEAD, now)]
            self._expect(packet.lead, now)
        if has_ended:
            self._last = packet.lead
        return [*events, *self._finish(now)]

    def _receive_data(self, packet: PgmData, source: IPv4Address, now: float) -> list[PgmEvent]:
        """Data, in order or not (RFC 3208, 6.1)."""
        events = self._enter(packet, now)
        number = packet.number
        if self.state is not ReceptionState.ACTIVE:
            return events
        if is_before(number, self._next) or number in self._held:
            return [*events, self._discard(DUPLICATE)]
        if packet.is_repair:
            self.counts["repairs"] += 1
        if packet.options and source == self.source and packet.option(OptionType.FIN):
            self._last = number
        if number == self._next and not self._held:  # what mostly comes
            self._missing.arrived(number)
            self._next = following(number)
            if is_before(self._lead, number):
                self._lead = number
            self.counts["packets"] += 1
            events.append(Delivered(packet))
            return events if self._last is None else [*events, *self._finish(now)]
        if not self._has_room(packet):
            return [*events, *self._resync(FAR_AHEAD, now)]
        if is_before(self._lead, number):
            self._expect(number, now)
        self._missing.arrived(number)
        self._hold(packet)
        return [*events, *self._deliver(), *self._finish(now)]

    def _enter(self, packet: PgmData, now: float) -> list[PgmEvent]:
        """Begin reception with a packet, or take its trailing edge."""
        if self.state is ReceptionState.RESYNC:
            if not self._may_join(now):
                return [self._discard(FAR_AHEAD)]
            if self.counts["joins"] and is_before(packet.number, self._next):
                return [self._discard(DUPLICATE)]  # a repair of what was delivered, or given up
            return [self._join(packet.number, packet.trail)]
        return [] if self._trail == packet.trail else self._move_window(packet.trail, now)

    # Window

    def _may_join(self, now: float) -> bool:
        return now - self._resynced_at >= RESYNC_S

    def _join(self, number: int, trail: int) -> Joined:
        """Begin with a number; what was before it is not asked for (RFC 3208, 6.1)."""
        self.state = ReceptionState.ACTIVE
        self._next = number
        self._lead = following(number, -1)
        self._trail = trail
        self._last = None
        self.counts["joins"] += 1
        return Joined(number)

    def _move_window(self, trail: int, now: float) -> list[PgmEvent]:
        """The trailing edge: what is missing before it is lost (RFC 3208, 6.2)."""
        if is_before(self._trail, trail):
            self._trail = trail
        if not self._missing:
            return []
        lost = self._missing.before(self._trail, self._next)
        return self._lose(lost, OUTSIDE_WINDOW, now) if lost else []

    def _expect(self, lead: int, now: float) -> None:
        """Numbers up to one were sent: those not received are missing (RFC 3208, 6.3)."""
        for step in range(1, distance(self._lead, lead) + 1):
            self._missing.add(following(self._lead, step), now)
        self._lead = lead

    def _has_room(self, packet: PgmData) -> bool:
        size = len(packet.data)
        return (
            distance(self._next, packet.number) < HELD_PACKETS_MAX
            and self._held_size + size <= HELD_BYTES_MAX
            and self._memory.size + size <= self._memory.limit
        )

    def _hold(self, packet: PgmData) -> None:
        self._held[packet.number] = packet
        self._held_size += len(packet.data)
        self._memory.size += len(packet.data)

    def _deliver(self) -> list[PgmEvent]:
        """All that follows without a gap (RFC 3208, 6.1)."""
        events: list[PgmEvent] = []
        while (packet := self._held.pop(self._next, None)) is not None:
            self._held_size -= len(packet.data)
            self._memory.size -= len(packet.data)
            self._next = following(self._next)
            self.counts["packets"] += 1
            events.append(Delivered(packet))
        return events

    # Ends

    def _lose(self, numbers: list[int], reason: str, now: float) -> list[PgmEvent]:
        """Packets will never come: data behind the gap is not delivered from this session."""
        self.counts["lost"] += len(numbers)
        return [Lost(tuple(numbers), reason), *self._resync("unrecoverable loss", now)]

    def _resync(self, reason: str, now: float) -> list[PgmEvent]:
        self._resynced_at = now if reason == FAR_AHEAD else -inf
        self.counts["resyncs"] += 1
        self.discard()
        self.state = ReceptionState.RESYNC
        return [Ended(reason)]

    def _finish(self, now: float) -> list[PgmEvent]:
        """After FIN: over once all was delivered (RFC 3208, 9.7.1)."""
        if self._last is None or is_before(self._lead, self._last) or self._missing:
            return []
        return self._end("closed by the source", now)

    def _end(self, reason: str, now: float) -> list[PgmEvent]:
        self.discard()
        self.state = ReceptionState.ENDED
        self.ended_at = now
        return [Ended(reason)]

    def discard(self) -> None:
        """Forget what is held and what is missing."""
        self._memory.size -= self._held_size
        self._held_size = 0
        self._held.clear()
        self._missing.clear()

    def _discard(self, reason: str) -> Discarded:
        self.counts[reason] += 1
        return Discarded(reason)

    # Time

    @property
    def next_deadline(self) -> float:
        """When `tick` is to be called."""
        if self.state is ReceptionState.ENDED:
            return self.ended_at + self._timing.window_s
        silent = self.heard_at + self._timing.silence_s
        at = self._missing.next_deadline
        return silent if at is None else min(at, silent)

    def is_over(self, now: float) -> bool:
        """Whether the session can be forgotten: silent, or ended long ago."""
        if self.state is ReceptionState.ENDED:
            return now >= self.ended_at + self._timing.window_s
        return now >= self.heard_at + self._timing.silence_s

    def tick(self, now: float) -> tuple[list[PgmEvent], list[tuple[Nak, IPv4Address]]]:
        """Events, and NAKs with the address that they go to (RFC 3208, 6.3).

        A copy of each NAK goes to the group, not beyond the network ([MC-MQSRM] note 3).
        """
        asked: list[int] = []
        for number, wait in self._missing.due(now, self._next):
            reason = self._repeat(number, wait, now, asked)
            if reason:
                return self._lose([number], reason, now), []
        naks = []
        for start in range(0, len(asked), NAK_NUMBERS_MAX):
            numbers = tuple(asked[start : start + NAK_NUMBERS_MAX])
            assert self._path is not None, "numbers are asked for where there is a way"
            nak = Nak(self.tsi, self._port, nak_list(numbers), numbers, self.source, self._group)
            naks.append((nak, self._path))
            self._naks.take(1)
            self.counts["naks"] += 1
        return [], naks

    def _repeat(self, number: int, wait: MissingPacket, now: float, asked: list[int]) -> str:
        """A wait is over: ask for a number, or give it up; why, if so."""
        if wait.state is RepairState.BACK_OFF:
            if self._path is None or not self._naks.is_ready(now):
                self._missing.back_off(number, wait, now, self._naks.debt_s(now))
            else:
                asked.append(number)
                self._missing.asked(number, wait, now)
            return ""
        if wait.state is RepairState.WAIT_NCF:
            wait.unconfirmed += 1
            if wait.unconfirmed > self._timing.confirmation_retries:
                return UNCONFIRMED
        else:
            wait.unserved += 1
            if wait.unserved > self._timing.repair_retries:
                return UNSERVED
        self._missing.back_off(number, wait, now)
        return ""
