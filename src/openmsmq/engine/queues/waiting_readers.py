"""Wakes readers that wait for messages, in the order in which they came, and cancels them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from openmsmq.engine.commit.future import Future
from openmsmq.engine.outgoing.transport import Transports
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.errors import MQError
from openmsmq.types.queues import QueueKind


class WaitingReaders:
    """The readers of all queues; transports are readers of outgoing ones."""

    def __init__(self, transports: Transports) -> None:
        self._transports = transports
        self._awake: list[tuple[ManagedQueue, list[int]]] = []
        "Queues with messages that have become readable, and these messages."
        self._is_busy = False
        "Readers are being woken, or will be as soon as the outcome of a commit is applied."

    def wake(self, queue: ManagedQueue, lookups: Iterable[int]) -> None:
        """Messages have become readable: let readers look again at the next `notify`.

        All effects of one outcome are applied before any reader is woken (A-55).
        """
        found = sorted(lookups)
        if found:
            queue.readable_again(found)
            for follower in queue.followers:
                follower.came(found)
            self._awake.append((queue, found))

    def wake_transport(self, queue: ManagedQueue) -> None:
        """Messages left an outgoing queue: others that waited for these may go now."""
        self._awake.append((queue, []))

    def pause(self) -> None:
        """The outcome of a commit is about to be applied: wake no reader before `resume`."""
        self._is_busy = True

    def resume(self) -> None:
        """The outcome of a commit is applied."""
        self._is_busy = False
        self.notify()

    def notify(self) -> None:
        """Message Position Available ([MS-MQDMPR] 3.1.7.2.2): waiting readers, oldest first.

        One that only looks leaves the message to the next ([MS-MQDMPR] 3.1.7.1.14).

        What readers make readable in turn is dealt with after them, never in their midst.
        """
        if self._is_busy:
            return
        self._is_busy = True
        try:
            while self._awake:
                queue, lookups = self._awake.pop(0)
                if queue.kind is QueueKind.OUTGOING:
                    self._transports.ready(queue)
                _attempt(queue, lookups)
        finally:
            self._is_busy = False

    def cancel(self, queue: ManagedQueue, pending: Future[Any], error: BaseException) -> bool:
        """Cancel Waiting Message Read Request ([MS-MQDMPR] 3.1.7.1.17); False if none waits."""
        for waiter in queue.waiters:
            if waiter.pending is pending:
                queue.waiters.remove(waiter)
                waiter.give_up()
                pending.fail(error)
                return True
        return False

    def cancel_all(self, queue: ManagedQueue, error: MQError, *, cursor: object = None) -> None:
        """Let every read that waits on a queue, or with one cursor, fail (A-29, A-51)."""
        for waiter in list(queue.waiters):
            if cursor is None or waiter.cursor is cursor:
                self.cancel(queue, waiter.pending, error)


def _attempt(queue: ManagedQueue, lookups: list[int]) -> None:
    """Let the readers that wait on a queue look again, but for those that cannot find anything.

    With a thousand of them, one message costs little more than with one.
    """
    is_empty = False
    for waiter in list(queue.waiters):
        if is_empty and waiter.from_head and not (waiter.is_over and waiter.is_over()):
            continue
        if waiter.attempt(lookups):
            queue.waiters.remove(waiter)
        else:
            is_empty = is_empty or waiter.from_head
