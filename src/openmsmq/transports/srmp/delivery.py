"""One destination of outgoing messages: when to post, what became of it, when to try again.

A machine without sockets and clock: it is given what happened and when, and says what is to be done
and when it wants to hear again.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, auto
from math import inf
from typing import Final

from openmsmq.engine.outgoing.transport import ResendStatus
from openmsmq.transports.srmp.exchange import verdict_of
from openmsmq.transports.srmp.outcomes import Verdict
from openmsmq.types.outgoing import TransferState

RETRY_FIRST_S: Final = 0.25
"Until the first attempt after a failure; twice that the next time, and so on."
RESEND_S: Final = (30.0,) * 3 + (300.0,) * 3 + (1800.0,) * 3 + (21600.0,)
"ResendTimerTable ([MC-MQSRM] 3.1.3.1); the place in it grows with time-outs in a row (HTTP-13)."


@dataclass(frozen=True, slots=True)
class SrmpTiming:
    """The durations of a destination's timers, in seconds."""

    retransmission: float = 20.0
    "Retransmission Timer ([MC-MQSRM] 3.1.2.1, note 25): the longest wait between attempts."
    clean_up: float = 300.0
    "Session Cleanup Timer ([MC-MQSRM] 3.1.2.4, note 19): connections unused so long are closed."
    resend: tuple[float, ...] = RESEND_S
    "Stream Receipt Wait Timer ([MC-MQSRM] 3.1.2.2)."


class Fate(Enum):
    """What is to be done with a message whose request was answered."""

    REMOVE = auto()
    "It was taken over: removed, with a copy in the journal if it asks for one."
    AWAIT = auto()
    "It is kept until a receipt says that it arrived in order."
    DEAD_LETTER = auto()
    "It is removed, and kept as a dead letter if it asks for that."
    KEEP = auto()
    "It stays in its queue and is posted again."


class Todo(Enum):
    """What a deadline asks for."""

    POST = auto()
    "Messages may be posted again."
    RESEND = auto()
    "All stream messages without receipt are to be posted again ([MC-MQSRM] 3.1.6.2)."
    CLOSE = auto()
    "Idle connections are to be closed ([MC-MQSRM] 3.1.6.4)."


@dataclass(slots=True)
class Delivery:
    """The state of one destination ([MC-MQSRM] 3.1.1.1.2; HTTP-15: a new one posts at once)."""

    timing: SrmpTiming = field(default_factory=SrmpTiming)
    state: TransferState = TransferState.INACTIVE
    under_way: int = 0
    "Requests that were not answered yet."
    failures: int = 0
    "Attempts in a row that failed."
    resends: int = 0
    "Time-outs in a row without progress (EodResendCount)."
    _retry_at: float = inf
    _resend_at: float = inf
    _close_at: float = inf

    @property
    def may_post(self) -> bool:
        """Whether a message can be posted now."""
        return self.state is not TransferState.ON_HOLD and self._retry_at == inf

    @property
    def next_deadline(self) -> float | None:
        """When `tick` is to be called, at the earliest; None for never."""
        at = min(self._retry_at, self._resend_at, self._close_at)
        return None if at == inf else at

    @property
    def retry_at(self) -> float | None:
        """When the next attempt is made after a failure."""
        return None if self._retry_at == inf else self._retry_at

    def posted(self, now: float, *, is_stream: bool) -> None:
        """A request was started ([MC-MQSRM] 3.1.7.9, 3.1.7.2.3)."""
        assert self.may_post, "nothing is posted before its time"
        self.under_way += 1
        if self.state is not TransferState.CONNECTED:
            self.state = TransferState.WAITING
        if is_stream and self._resend_at == inf:
            self._resend_at = now + self._resend_interval

    def answered(self, status: int | None, now: float, *, is_stream: bool) -> Fate:
        """A request was answered, or failed (None) ([MC-MQSRM] 3.1.7.2.5)."""
        assert self.under_way, "an answer belongs to a request"
        self.under_way -= 1
        verdict = verdict_of(status)
        if verdict is Verdict.RETRY:
            self._fail(now)
            return Fate.KEEP
        if self.state is not TransferState.ON_HOLD:
            self.state = TransferState.CONNECTED
            self.failures = 0
            self._retry_at = inf
            self._close_at = now + self.timing.clean_up
        if verdict is Verdict.REFUSED:
            return Fate.DEAD_LETTER
        return Fate.AWAIT if is_stream else Fate.REMOVE

    def _fail(self, now: float) -> None:
        """The connection is closed, the queue is Inactive, and the timer tries again (HTTP-15)."""
        self._close_at = inf
        if self.state is TransferState.ON_HOLD:
            return
        self.state = TransferState.INACTIVE
        wait = RETRY_FIRST_S * 2 ** min(self.failures, 12)
        if self._retry_at == inf:  # of several requests that failed together, one counts
            self.failures += 1
            self._retry_at = now + min(wait, self.timing.retransmission)

    def receipted(self, now: float, *, is_waiting: bool) -> None:
        """A stream receipt acknowledged messages; `is_waiting` if others still wait for one."""
        self.resends = 0
        self._resend_at = now + self._resend_interval if is_waiting else inf

    def pause(self) -> None:
        """Pause Queue ([MC-MQSRM] 3.1.7.4): no timer runs, connections are closed."""
        self.state = TransferState.ON_HOLD
        self._retry_at = self._resend_at = self._close_at = inf

    def resume(self) -> None:
        """Resume Queue ([MC-MQSRM] 3.1.7.5)."""
        if self.state is TransferState.ON_HOLD:
            self.state = TransferState.INACTIVE
            self.failures = 0

    def retry(self) -> None:
        """An operator wants the next attempt now."""
        self._retry_at = inf

    def resend(self, now: float) -> bool:
        """Send again now, as if it were time to (MG-39); False if no receipt is awaited."""
        if self._resend_at == inf:
            return False
        self._resend_at = now + self._resend_interval
        self.resends += 1
        return True

    def resend_status(self, now: float) -> ResendStatus:
        """When that is due by itself."""
        if self._resend_at == inf:
            return ResendStatus()
        return ResendStatus(max(0.0, self._resend_at - now), self._resend_interval)

    @property
    def is_over(self) -> bool:
        """Nothing is under way, and no timer runs."""
        return not self.under_way and self.next_deadline is None

    def tick(self, now: float) -> list[Todo]:
        """What is to be done now; streams wait anew for their receipts ([MC-MQSRM] 3.1.6.2)."""
        todo = []
        if self._retry_at <= now:
            self._retry_at = inf
            todo.append(Todo.POST)
        if self._resend_at <= now:
            self.resends += 1
            self._resend_at = now + self._resend_interval
            todo.append(Todo.RESEND)
        if self._close_at <= now:
            self._close_at = inf
            if not self.under_way:
                self.state = TransferState.DISCONNECTED
                todo.append(Todo.CLOSE)
        return todo

    @property
    def _resend_interval(self) -> float:
        """EodResendInterval ([MC-MQSRM] 3.1.5.1.8.2)."""
        schedule = self.timing.resend
        return schedule[min(self.resends, len(schedule) - 1)]
