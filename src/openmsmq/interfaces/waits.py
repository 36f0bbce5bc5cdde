"""Reads that wait, by the time at which their wait is over ([MS-MQQP] 3.1.2, [MS-MQMP] 3.1.5.3)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from sortedcontainers import SortedDict

from openmsmq.engine.commit.future import Future
from openmsmq.engine.handle import QueueHandle
from openmsmq.engine.queues.entry import Entry
from openmsmq.errors import MQError
from openmsmq.interfaces.driver import EngineDriver

Q = TypeVar("Q")


@dataclass(slots=True, eq=False)
class WaitingRead:
    """RemoteReadEntry: a read that waits ([MS-MQQP] 3.1.1.2)."""

    read: Future[list[Entry]] | None = None
    due: tuple[float, int] | None = None
    "When the wait is over: its place among all."

    def give_up(self, driver: EngineDriver, handle: QueueHandle, error: MQError) -> bool:
        """End the read with an error; False if it has not begun to wait."""
        read = self.read
        if read is None:
            return False
        driver.call(lambda: handle.cancel(read, error))
        return True


class Waits(Generic[Q]):
    """The call timers of all reads of an interface, each with its queue."""

    def __init__(self) -> None:
        self._due: SortedDict[tuple[float, int], tuple[Q, WaitingRead]] = SortedDict()
        self._next = 0

    def __len__(self) -> int:
        return len(self._due)

    @property
    def next_deadline(self) -> float | None:
        """When the first wait is over."""
        return self._due.keys()[0][0] if self._due else None

    def add(self, queue: Q, waiting: WaitingRead, at: float) -> None:
        """A read waits until then."""
        self._next += 1
        waiting.due = at, self._next
        self._due[waiting.due] = queue, waiting

    def clear(self, waiting: WaitingRead) -> None:
        """A read does not wait any more."""
        if waiting.due is not None:
            del self._due[waiting.due]
            waiting.due = None

    def take_due(self, now: float) -> Iterator[tuple[Q, WaitingRead]]:
        """Those whose wait is over."""
        while self._due and self._due.keys()[0][0] <= now:
            queue, waiting = self._due.peekitem(0)[1]
            self.clear(waiting)
            yield queue, waiting
