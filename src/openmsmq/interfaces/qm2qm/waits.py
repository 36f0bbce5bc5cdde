"""Reads that wait, by the time at which their wait is over ([MS-MQQP] 3.1.2)."""

from __future__ import annotations

from collections.abc import Iterator

from sortedcontainers import SortedDict

from openmsmq.interfaces.qm2qm.hosted_queue import HostedQueue, WaitingRead


class Waits:
    """The call timers of all reads."""

    def __init__(self) -> None:
        self._due: SortedDict[tuple[float, int], tuple[HostedQueue, WaitingRead]] = SortedDict()
        self._next = 0

    @property
    def next_deadline(self) -> float | None:
        """When the first wait is over."""
        return self._due.keys()[0][0] if self._due else None

    def add(self, queue: HostedQueue, waiting: WaitingRead, at: float) -> None:
        """A read waits until then."""
        self._next += 1
        waiting.due = at, self._next
        self._due[waiting.due] = queue, waiting

    def clear(self, waiting: WaitingRead) -> None:
        """A read does not wait any more."""
        if waiting.due is not None:
            del self._due[waiting.due]
            waiting.due = None

    def take_due(self, now: float) -> Iterator[tuple[HostedQueue, WaitingRead]]:
        """Those whose wait is over."""
        while self._due and self._due.keys()[0][0] <= now:
            queue, waiting = self._due.peekitem(0)[1]
            self.clear(waiting)
            yield queue, waiting
