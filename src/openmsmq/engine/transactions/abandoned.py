"""Transactions whose owners are gone: they are aborted, however often the disk refuses that.

To abort may need room on the disk, and a commit that was under way when the owner went may fail.
No one else would try again, and what was received would be locked until the next start.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import inf
from typing import Final

from openmsmq.engine.commit.future import Future
from openmsmq.engine.state import EngineState
from openmsmq.engine.transactions.transaction import ManagedTransaction, TransactionState
from openmsmq.errors import MQError

RETRY_S: Final = 5
"Seconds after which it is tried again."
_OVER: Final = (TransactionState.ENDED, TransactionState.PREPARED)
"Nothing is left to abort; what is prepared outlives its owner."
Abort = Callable[[], Future[None]]


class AbandonedTransactions:
    """Aborts transactions until they are; one for each transaction that was open at most."""

    def __init__(self, state: EngineState) -> None:
        self._state = state
        self._aborts: dict[ManagedTransaction, Abort] = {}
        self.next: float = inf
        "When it is tried again, in seconds as lifetimes count them."

    def __len__(self) -> int:
        return len(self._aborts)

    def add(self, transaction: ManagedTransaction, abort: Abort) -> None:
        """Have a transaction aborted: now, or as soon as that is possible."""
        if transaction.is_undecided:
            try:
                pending = abort()
            except MQError:
                self._later(transaction, abort)
                return
            if pending.done:
                self._answered(transaction, abort, pending)
            else:
                pending.on_done = partial(self._answered, transaction, abort, pending)
        elif transaction.state not in _OVER:
            self._later(transaction, abort)

    def retry(self) -> bool:
        """Try again; whether there was anything to abort."""
        waiting, self._aborts = self._aborts, {}
        self.next = inf
        for transaction, abort in waiting.items():
            self.add(transaction, abort)
        return bool(waiting)

    def _answered(
        self, transaction: ManagedTransaction, abort: Abort, pending: Future[None]
    ) -> None:
        if pending.error is not None:
            self._later(transaction, abort)

    def _later(self, transaction: ManagedTransaction, abort: Abort) -> None:
        self._aborts[transaction] = abort
        self.next = min(self.next, self._state.timeline.now + RETRY_S)
        self._state.reschedule()
