"""A TCP stream put together from captured segments."""

from __future__ import annotations

from heapq import heappop, heappush
from typing import Final

from openmsmq.capture.limits import HELD_BYTES_MAX, HELD_SEGMENTS_MAX

_NUMBERS: Final = 1 << 32


class TcpStream:
    """One direction of a connection: bytes in order, whatever was repeated or came too early."""

    def __init__(self) -> None:
        self.position = 0
        "Bytes that have come, or were skipped, since the stream began or was first seen."
        self.held = 0
        "Bytes that came too early."
        self._origin: int | None = None
        "The sequence number of the first byte."
        self._early: list[tuple[int, bytes]] = []

    @property
    def has_begun(self) -> bool:
        """Whether it is known where the stream stands."""
        return self._origin is not None

    @property
    def is_stuck(self) -> bool:
        """Too much came early: what is missing will not come any more."""
        return self.held > HELD_BYTES_MAX or len(self._early) > HELD_SEGMENTS_MAX

    def begin(self, sequence: int) -> None:
        """Say which number the first byte has; otherwise the first segment tells."""
        if self._origin is None:
            self._origin = sequence

    def add(self, sequence: int, data: bytes) -> list[bytes]:
        """Take a segment; the pieces that are in order now."""
        self.begin(sequence)
        assert self._origin is not None
        ahead = (sequence - self._origin - self.position) % _NUMBERS
        if ahead >= _NUMBERS // 2:
            ahead -= _NUMBERS
        if data:
            heappush(self._early, (self.position + ahead, data))
            self.held += len(data)
        return self._in_order()

    def skip(self) -> tuple[int, list[bytes]]:
        """Give up what is missing: how many bytes, and the pieces that come after them."""
        assert self._early, "nothing is known to be missing"
        missing = self._early[0][0] - self.position
        self.position += missing
        return missing, self._in_order()

    def _in_order(self) -> list[bytes]:
        pieces = []
        while self._early and self._early[0][0] <= self.position:
            place, data = heappop(self._early)
            self.held -= len(data)
            if new := data[self.position - place :]:
                pieces.append(new)
                self.position += len(new)
        return pieces
