"""A source of PGM: numbers what is sent, announces it, and repairs what was lost (RFC 3208, 5).

A machine without sockets: messages, packets and the time go in; packets that are due come out.
"""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass
from enum import Enum, auto
from heapq import heappop, heappush
from ipaddress import IPv4Address
from math import inf
from typing import Final, NamedTuple

from openmsmq.transports.pgm.limits import (
    APDU_SIZE_MAX,
    BATCH_MAX,
    CONFIRMATION_DEBT_S,
    QUEUED_PACKETS_MAX,
    REPAIR_INTERVAL_S,
    SPM_REQUEST_S,
)
from openmsmq.transports.pgm.packets import (
    FIN,
    RESET_NO_REPAIRS,
    ApduFragment,
    Ncf,
    OptionType,
    PacketOption,
    PgmData,
    ReceiverPacket,
    Spm,
    SpmRequest,
    Tsi,
    nak_list,
)
from openmsmq.transports.pgm.serials import distance, following
from openmsmq.transports.pgm.timers import PgmTiming, TokenBucket
from openmsmq.types.peers import MulticastInfo

IP_OVERHEAD: Final = 24
"The header of IP with Router Alert, which a repair has."
DATA_OVERHEAD: Final = 24 + 20
"The header of a data packet, and OPT_LENGTH with OPT_FRAGMENT."
FIRST_NUMBER: Final = 1


class SourceState(Enum):
    """States of a source."""

    OPENING = auto()
    "SPMs before the first data."
    OPEN = auto()
    CLOSING = auto()
    "What was sent is still repaired."
    ABORTED = auto()
    CLOSED = auto()


class DataSegment(NamedTuple):
    """What one data packet carries."""

    number: int
    data: bytes
    fragment: ApduFragment | None = None

    @property
    def is_first(self) -> bool:
        """Whether a message begins with it."""
        return self.fragment is None or self.fragment.offset == 0


class SentSegment(NamedTuple):
    """A segment that can be repaired."""

    segment: DataSegment
    at: float


@dataclass(frozen=True, slots=True)
class Transmission:
    """A packet to send."""

    data: bytes
    is_alert: bool = True
    "With Router Alert: SPM, NCF and RDATA (RFC 3208, 8)."


def tsdu_size(mtu: int) -> int:
    """Bytes of a message that one packet takes (RFC 3208, 9.2)."""
    return mtu - IP_OVERHEAD - DATA_OVERHEAD


def repair_delay(number: int, trail: int, lead: int, longest: float) -> float:
    """How long a repair waits, in whole milliseconds ([MC-MQSRM] 2.1.3.1)."""
    span = distance(trail, lead) + 1
    return distance(trail, number) * round(longest * 1000) // span / 1000


class PgmSource:
    """One session of a source: everything that is sent to one group address."""

    def __init__(
        self,
        tsi: Tsi,
        address: IPv4Address,
        group: IPv4Address,
        port: int,
        now: float,
        *,
        mtu: int = 1500,
        timing: PgmTiming | None = None,
        first: int = FIRST_NUMBER,
    ) -> None:
        """`address` is where NAKs are to be sent: the way back to the source."""
        self.tsi = tsi
        self.group = group
        self.port = port
        self.state = SourceState.OPENING
        self.counts: Counter[str] = Counter()
        "Packets and bytes by kind."
        self._address = address
        self._timing = timing = timing or PgmTiming()
        self._tsdu = tsdu_size(mtu)
        self._bucket = TokenBucket(timing.rate, timing.rate * timing.bucket_s, now)
        self._queued: deque[DataSegment] = deque()
        self._window: deque[SentSegment] = deque()
        self._window_bytes = 0
        self._trail = first
        self._lead = following(first, -1)
        self._next = first
        self._spm_number = 0
        self._confirmations: deque[Ncf] = deque()
        self._repairs: list[tuple[float, int]] = []
        self._pending: set[int] = set()
        self._repaired: dict[int, float] = {}
        self._was_repair = False
        self._opening = 2
        "SPMs that are to be sent before data."
        self._spm_at: float | None = now
        "When an SPM is due that is neither ambient nor a heartbeat."
        self._ambient_at: float | None = None
        self._since_ambient = 0
        self._heartbeat = timing.heartbeat_s
        self._heartbeat_at = now + timing.heartbeat_s
        self._advance_at = now + timing.advance_s
        self._requested_at = -inf
        self._over_at = 0.0

    def info(self) -> MulticastInfo:
        """How it stands, for people."""
        counts = self.counts
        return MulticastInfo(
            direction="outgoing",
            group=f"{self.group}:{self.port}",
            source=str(self._address),
            session=str(self.tsi),
            state=self.state.name.lower(),
            packets=counts["packets"],
            repairs=counts["repairs"],
            requests=counts["naks"],
            lost=0,
        )

    # What is asked of it

    def submit(self, message: bytes) -> bool:
        """Send a message; False if there is no room for it now.

        It is one APDU: cut into packets with consecutive numbers (RFC 3208, 9.2).
        """
        assert len(message) <= APDU_SIZE_MAX, "the caller refuses what is larger"
        assert self.state in (SourceState.OPENING, SourceState.OPEN), (
            "a closed source sends nothing"
        )
        count = -(-len(message) // self._tsdu) or 1
        room = self._timing.window_bytes - self._window_bytes
        if len(self._queued) + count > QUEUED_PACKETS_MAX or room < len(message):
            return False
        first = self._next
        self._window_bytes += len(message)
        for offset in range(0, len(message) or 1, self._tsdu):
            part = message[offset : offset + self._tsdu]
            fragment = ApduFragment(first, offset, len(message)) if count > 1 else None
            self._queued.append(DataSegment(self._next, part, fragment))
            self._next = following(self._next)
        return True

    def close(self, now: float) -> None:
        """End the session once all is sent; what was lost is still repaired (RFC 3208, 9.7.2)."""
        if self.state in (SourceState.OPENING, SourceState.OPEN):
            self.state = SourceState.CLOSING
            self._over_at = now + min(self._timing.linger_s, self._timing.window_s)
            self._spm_at = now

    def abort(self, now: float) -> None:
        """Cancel what is not sent, and repair nothing any more (RFC 3208, 9.8.2)."""
        if self.state not in (SourceState.ABORTED, SourceState.CLOSED):
            self.state = SourceState.ABORTED
            self._over_at = now + self._timing.reset_s
            self._queued.clear()
            self._confirmations.clear()
            self._repairs.clear()
            self._pending.clear()
            self._opening = 0
            self._spm_at = now
            self._beat(now)

    def receive(self, packet: ReceiverPacket, now: float) -> None:
        """A packet that a receiver sent (RFC 3208, 5.2 and 5.3)."""
        if packet.tsi != self.tsi or packet.port != self.port:
            return
        if isinstance(packet, SpmRequest):
            if now - self._requested_at >= SPM_REQUEST_S:
                self._requested_at = now
                self._spm_at = now
            return
        is_ours = packet.group == self.group and packet.source == self._address
        is_repairing = self.state in (SourceState.OPEN, SourceState.CLOSING)
        if not is_ours or not is_repairing:
            return
        if self._bucket.debt_s(now) > CONFIRMATION_DEBT_S:
            self.counts["naks_ignored"] += 1
            return
        self.counts["naks"] += 1
        options = nak_list(packet.numbers)
        confirmed = (packet.numbers, self._address, self.group)
        self._confirmations.append(Ncf(self.tsi, self.port, options, *confirmed))
        self._bucket.take(
            36
        )  # so that a flood of requests is held to the rate before it is answered
        for number in packet.numbers:
            self._repair(number, now)

    def _repair(self, number: int, now: float) -> None:
        if distance(self._trail, number) >= len(self._window) or number in self._pending:
            return
        if now - self._repaired.get(number, -inf) < REPAIR_INTERVAL_S:
            return
        self._pending.add(number)
        delay = repair_delay(number, self._trail, self._lead, self._timing.repair_s)
        heappush(self._repairs, (now + delay, number))

    # What it sends

    @property
    def is_over(self) -> bool:
        """Whether nothing is left to do."""
        return self.state is SourceState.CLOSED

    @property
    def has_room(self) -> bool:
        """Whether one more message of any size can be submitted."""
        is_free = self._timing.window_bytes - self._window_bytes >= APDU_SIZE_MAX
        return is_free and len(self._queued) * self._tsdu + APDU_SIZE_MAX < (
            QUEUED_PACKETS_MAX * self._tsdu
        )

    @property
    def is_idle(self) -> bool:
        """Whether all that was submitted has been sent."""
        return not self._queued

    def transmit(self, now: float) -> list[Transmission]:
        """The packets that are due: NCFs, SPMs, then data (RFC 3208, 5.1.3)."""
        self._pass_time(now)
        sent: list[Transmission] = []
        while self._confirmations:
            sent.append(Transmission(self._confirmations.popleft().pack()))
            self.counts["ncfs"] += 1
        if self.state is SourceState.CLOSED:
            return sent
        while len(sent) < BATCH_MAX:
            if self._spm_due <= now:
                if not self._bucket.is_ready(now):
                    break
                sent.append(self._announce(now))
            elif not self._has_data(now) or not self._bucket.is_ready(now):
                break
            else:
                sent.append(self._send_data(now))
        return sent

    @property
    def next_deadline(self) -> float | None:
        """When `transmit` is to be called again."""
        if self.state is SourceState.CLOSED:
            return None
        if self._confirmations:
            return 0.0
        times = [max(self._spm_due, self._bucket.ready_at), self._advance_at]
        if self._is_ending:
            times.append(self._over_at)
        if self._repairs:
            times.append(max(self._repairs[0][0], self._bucket.ready_at))
        if self._queued and not self._opening:
            times.append(self._bucket.ready_at)
        return min(times)

    @property
    def _is_ending(self) -> bool:
        """Whether only time is left to pass."""
        is_closed = self.state in (SourceState.CLOSING, SourceState.ABORTED)
        return is_closed and not self._repairs and not self._queued

    @property
    def _spm_due(self) -> float:
        times = (self._spm_at, self._ambient_at, self._heartbeat_at)
        return min(at for at in times if at is not None)

    def _has_data(self, now: float) -> bool:
        if self._opening:
            return False
        return bool(self._queued) or bool(self._repairs and self._repairs[0][0] <= now)

    def _pass_time(self, now: float) -> None:
        if self._advance_at <= now:
            self._advance(now)
            self._advance_at = now + self._timing.advance_s
        if self._is_ending and self._over_at <= now:
            self.state = SourceState.CLOSED

    def _announce(self, now: float) -> Transmission:
        """An SPM, and when the next one is due (RFC 3208, 5.1.5)."""
        options: tuple[PacketOption, ...] = ()
        if self.state is SourceState.ABORTED:
            options = (PacketOption(OptionType.RST, specific=RESET_NO_REPAIRS),)
        elif self.state is SourceState.CLOSING and not self._queued:
            options = (FIN,)
        edges = (self._spm_number, self._trail, self._lead, self._address)
        data = Spm(self.tsi, self.port, options, *edges).pack()
        self._spm_number = following(self._spm_number)
        self._bucket.take(len(data))
        self.counts["spms"] += 1
        self._spm_at = None
        if self._opening:
            self._opening -= 1
            self._spm_at = now + self._timing.opening_s if self._opening else None
            self._beat(now)
            if not self._opening and self.state is SourceState.OPENING:
                self.state = SourceState.OPEN
            return Transmission(data)
        if self._ambient_at is not None and self._ambient_at <= now:
            self._ambient_at = None
            self._since_ambient = 0
        if self._heartbeat_at <= now:
            self._heartbeat = min(2 * self._heartbeat, self._timing.heartbeat_max_s)
            self._heartbeat_at = now + self._heartbeat
        return Transmission(data)

    def _beat(self, now: float) -> None:
        """Heartbeats are counted from now on (RFC 3208, 5.1.5)."""
        self._heartbeat = self._timing.heartbeat_s
        self._heartbeat_at = now + self._heartbeat

    def _send_data(self, now: float) -> Transmission:
        """A repair that is due, or the next packet; they take turns (RFC 3208, 5.1.3)."""
        has_repair = bool(self._repairs) and self._repairs[0][0] <= now
        is_repair = has_repair and not (self._was_repair and self._queued)
        self._was_repair = is_repair
        if is_repair:
            number = heappop(self._repairs)[1]
            self._pending.discard(number)
            self._repaired[number] = now
            segment = self._window[distance(self._trail, number)].segment
            self.counts["repairs"] += 1
        else:
            segment = self._queued.popleft()
            self._lead = segment.number
            self._window.append(SentSegment(segment, now))
            self.counts["packets"] += 1
            self._beat(now)
            self._plan_ambient(now)
        number, part, fragment = segment
        options = () if fragment is None else (fragment.option(),)
        edges = (number, self._trail, part, fragment, is_repair)
        data = PgmData(self.tsi, self.port, options, *edges).pack()
        self.counts["bytes"] += len(data)
        self._bucket.take(len(data))
        return Transmission(data, is_alert=is_repair)

    def _plan_ambient(self, now: float) -> None:
        """An SPM follows a number of packets or a time, while data is sent ([MC-MQSRM] 2.1.3.1)."""
        self._since_ambient += 1
        if self._ambient_at is None:
            self._ambient_at = now + self._timing.ambient_s
        if self._since_ambient >= self._timing.ambient_packets:
            self._ambient_at = now
        if self.state is SourceState.CLOSING and not self._queued:
            self._spm_at = now
            self._over_at = now + min(self._timing.linger_s, self._timing.window_s)

    def _advance(self, now: float) -> None:
        """Drop packets that are too old to be repaired ([MC-MQSRM] 2.1.3.1).

        Not past a repair that is due, and not into the middle of a message.
        """
        kept_from = now - self._timing.window_s
        count = 0
        for index, (segment, at) in enumerate(self._window):
            if segment.is_first:
                count = index
            if at > kept_from or segment.number in self._pending:
                break
        else:
            is_cut = bool(self._queued) and not self._queued[0].is_first
            count = count if is_cut else len(self._window)
        for _ in range(count):
            segment = self._window.popleft().segment
            self._window_bytes -= len(segment.data)
            self._repaired.pop(segment.number, None)
        self._trail = following(self._trail, count)
