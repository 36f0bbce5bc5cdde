"""Packets that a receiver has to ask for: one state for each number (RFC 3208, 6.3)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum, auto
from heapq import heapify, heappop, heappush

from openmsmq.transports.pgm.serials import distance, is_before
from openmsmq.transports.pgm.timers import PgmTiming


class RepairState(Enum):
    """What a receiver waits for."""

    BACK_OFF = auto()
    "Another receiver may ask first."
    WAIT_NCF = auto()
    WAIT_DATA = auto()


@dataclass(slots=True)
class MissingPacket:
    """A number that was not received."""

    state: RepairState
    at: float
    "When the wait is over."
    unconfirmed: int = 0
    unserved: int = 0


class MissingPackets:
    """All numbers that a session waits for."""

    def __init__(self, timing: PgmTiming, draw: Callable[[], float]) -> None:
        """`draw` gives the random wait before a NAK."""
        self._timing = timing
        self._draw = draw
        self._numbers: dict[int, MissingPacket] = {}
        self._waits: list[tuple[float, int]] = []

    def __len__(self) -> int:
        return len(self._numbers)

    def __contains__(self, number: int) -> bool:
        return number in self._numbers

    def add(self, number: int, now: float) -> None:
        """A gap was found."""
        wait = MissingPacket(RepairState.BACK_OFF, now + self._draw())
        self._numbers[number] = wait
        heappush(self._waits, (wait.at, number))

    def arrived(self, number: int) -> None:
        """A number was received, in whatever state (RFC 3208, 6.3)."""
        self._numbers.pop(number, None)

    def clear(self) -> None:
        """Wait for nothing any more."""
        self._numbers.clear()
        self._waits.clear()

    def before(self, trail: int, start: int) -> list[int]:
        """The numbers that the source no longer repairs, the oldest first."""
        found = [number for number in self._numbers if is_before(number, trail)]
        return sorted(found, key=lambda number: distance(start, number))

    def confirmed(self, numbers: Iterable[int], now: float) -> None:
        """An NCF: the repair is on its way (RFC 3208, 6.3)."""
        for number in numbers:
            wait = self._numbers.get(number)
            if wait is not None:
                self._wait(number, wait, RepairState.WAIT_DATA, now + self._timing.repair_wait_s)

    def requested(self, numbers: Iterable[int], now: float) -> None:
        """Another receiver asked for them (RFC 3208, 6.3)."""
        for number in numbers:
            wait = self._numbers.get(number)
            if wait is None:
                continue
            if wait.state is RepairState.WAIT_DATA:
                self._wait(number, wait, RepairState.WAIT_DATA, now + self._timing.repair_wait_s)
            else:
                self._wait(number, wait, RepairState.WAIT_NCF, now + self._timing.confirmation_s)

    @property
    def next_deadline(self) -> float | None:
        """When the next wait is over."""
        waits = self._waits
        while waits:
            at, number = waits[0]
            wait = self._numbers.get(number)
            if wait is not None and wait.at == at:
                return at
            heappop(waits)
        return None

    def due(self, now: float, start: int) -> list[tuple[int, MissingPacket]]:
        """The numbers whose wait is over, the oldest first."""
        found = []
        while (at := self.next_deadline) is not None and at <= now + 1e-9:
            number = heappop(self._waits)[1]
            found.append((number, self._numbers[number]))
        if len(self._waits) > 4 * len(self._numbers) + 64:
            self._waits = [(wait.at, number) for number, wait in self._numbers.items()]
            heapify(self._waits)
        return sorted(found, key=lambda pair: distance(start, pair[0]))

    def back_off(self, number: int, wait: MissingPacket, now: float, delay: float = 0.0) -> None:
        """Ask for a number soon, unless another receiver does."""
        self._wait(number, wait, RepairState.BACK_OFF, now + delay + self._draw())

    def asked(self, number: int, wait: MissingPacket, now: float) -> None:
        """A NAK was sent."""
        self._wait(number, wait, RepairState.WAIT_NCF, now + self._timing.confirmation_s)

    def _wait(self, number: int, wait: MissingPacket, state: RepairState, until: float) -> None:
        wait.state = state
        wait.at = until
        heappush(self._waits, (until, number))
