"""When transactional messages without an acknowledgement are sent again ([MS-MQQB] 3.1.6.5)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from openmsmq.engine.outgoing.dispatch import Dispatcher
from openmsmq.engine.outgoing.transport import ResendStatus
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.transports.timer import Timer, Timers

SCHEDULE: Final = (30.0,) * 3 + (300.0,) * 3 + (1800.0,) * 3 + (21600.0,)
"ResendTimerTable ([MS-MQQB] 3.1.3.1), in seconds: it grows with time-outs in a row (AMB-34)."


class _Waiting:
    """A queue with messages that are to be acknowledged in order."""

    __slots__ = ("count", "due", "place", "timer")

    def __init__(self, timer: Timer, due: float) -> None:
        self.timer = timer
        self.due = due
        "When they are sent again."
        self.place = 0
        "In the schedule."
        self.count = 0
        "How often they were sent again."


class ResendTimers:
    """Transactional Ack Wait Timers, one for each outgoing queue ([MS-MQQB] 3.1.2.6)."""

    def __init__(self, dispatcher: Dispatcher, timers: Timers, now: Callable[[], float]) -> None:
        self._dispatcher = dispatcher
        self._timers = timers
        self._now = now
        self._waiting: dict[ManagedQueue, _Waiting] = {}

    def sent(self, queue: ManagedQueue) -> None:
        """Messages were sent; the timer starts unless it runs (AMB-34)."""
        if queue not in self._waiting:
            self._waiting[queue] = _Waiting(self._start(queue, 0), self._now() + SCHEDULE[0])

    def progress(self, queue: ManagedQueue) -> None:
        """Some were acknowledged: the others get their time anew."""
        self.stop(queue)
        if self._dispatcher.in_transit(queue):
            self.sent(queue)

    def stop(self, queue: ManagedQueue) -> None:
        """The session is over: everything is sent again anyway."""
        waiting = self._waiting.pop(queue, None)
        if waiting is not None:
            waiting.timer.cancel()

    def stop_all(self) -> None:
        """Nothing is sent any more."""
        for queue in list(self._waiting):
            self.stop(queue)

    def count(self, queue: ManagedQueue) -> int:
        """How often in a row no answer came (EodResendCount)."""
        waiting = self._waiting.get(queue)
        return 0 if waiting is None else waiting.count

    def status(self, queue: ManagedQueue) -> ResendStatus:
        """When they are sent again (EodResendTime, EodResendInterval)."""
        waiting = self._waiting.get(queue)
        if waiting is None:
            return ResendStatus()
        return ResendStatus(max(0.0, waiting.due - self._now()), SCHEDULE[waiting.place])

    def resend(self, queue: ManagedQueue) -> None:
        """Send again now, as if the time were over; the interval stays (MG-39)."""
        waiting = self._waiting.get(queue)
        if waiting is not None and self._dispatcher.in_transit(queue):
            waiting.timer.cancel()
            self._restart(queue, waiting)

    def _start(self, queue: ManagedQueue, place: int) -> Timer:
        return self._timers.call_later(SCHEDULE[place], lambda: self._again(queue))

    def _again(self, queue: ManagedQueue) -> None:
        if not self._dispatcher.in_transit(queue):
            self.stop(queue)  # all of them were acknowledged meanwhile
            return
        waiting = self._waiting[queue]
        waiting.place = min(waiting.place + 1, len(SCHEDULE) - 1)
        self._restart(queue, waiting)

    def _restart(self, queue: ManagedQueue, waiting: _Waiting) -> None:
        waiting.count += 1
        waiting.timer = self._start(queue, waiting.place)
        waiting.due = self._now() + SCHEDULE[waiting.place]
        self._dispatcher.take_back_transactional(queue)
