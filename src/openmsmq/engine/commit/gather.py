"""Single sends to one queue that wait for the same commit: gathered, they are put there together.

Programs that send one message at a time cost a commit little more than one that sends them in one
call: the messages of a group are one insert, and one event of the history for each program.
"""

from __future__ import annotations

from typing import Any

from openmsmq.engine.commit.batch import Batch, NewMessage
from openmsmq.engine.commit.future import Future
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.engine.state import EngineState
from openmsmq.errors import QueueNotAvailable, StorageError


class SendGroup:
    """Messages of one queue that are committed by one operation, each with an answer of its own."""

    __slots__ = ("_answers", "_by", "_messages", "_queue", "_size", "_state")

    def __init__(self, state: EngineState, queue: ManagedQueue) -> None:
        self._state = state
        self._queue = queue
        self._messages: list[NewMessage] = []
        self._by: list[str] = []
        "Who has sent each."
        self._answers: list[tuple[Future[Any], Any]] = []
        self._size = 0

    def add(self, message: NewMessage, by: str, result: object) -> Future[Any]:
        """One more message; the answer is `result`."""
        pending: Future[Any] = Future()
        self._messages.append(message)
        self._by.append(by)
        self._answers.append((pending, result))
        size = len(message.packet)
        self._size += size
        self._state.reserve(self._queue, size)
        return pending

    def apply(self, batch: Batch) -> None:
        """Put the messages into the queue: those of each program in their order."""
        queue = self._queue
        if queue.deleted:
            return
        names = dict.fromkeys(self._by)
        if len(names) == 1:
            batch.insert_many(queue, self._messages, self._by[0])
            return
        for name in names:
            sent = zip(self._messages, self._by, strict=True)
            batch.insert_many(queue, [message for message, by in sent if by == name], name)

    def committed(self) -> None:
        """They are on disk."""
        self._state.reserve(self._queue, -self._size)
        self._size = 0
        deleted = self._queue.deleted
        for pending, result in self._answers:
            if deleted:
                pending.fail(QueueNotAvailable(self._queue.name))
            else:
                pending.succeed(result)

    def failed(self, error: BaseException) -> None:
        """They are not: if that may be due to one of them, each is tried alone."""
        if len(self._messages) > 1 and not isinstance(error, StorageError):
            for part in self._alone():
                part.submit()
            return
        self._state.reserve(self._queue, -self._size)
        self._size = 0
        for pending, _ in self._answers:
            if not pending.done:
                pending.fail(error)

    def _alone(self) -> list[SendGroup]:
        parts = []
        for message, by, answer in zip(self._messages, self._by, self._answers, strict=True):
            part = SendGroup(self._state, self._queue)
            part._messages, part._by, part._answers = [message], [by], [answer]
            part._size = len(message.packet)
            parts.append(part)
        return parts

    def submit(self) -> None:
        """Ask for them to be committed, with those that are added until then."""
        self._state.submit(self.apply, self.committed, self.failed, grows=True, commutes=True)


class Gathering:
    """The groups that further messages may join."""

    def __init__(self, state: EngineState) -> None:
        self._state = state
        self._groups: dict[ManagedQueue, SendGroup] = {}
        self._turn = 0
        "Of the operations when the first of these groups was made."

    def send(
        self, queue: ManagedQueue, message: NewMessage, by: str, result: object
    ) -> Future[Any]:
        """Send a plain message that may be sent; the answer is `result`.

        A group is closed by its commit, and by whatever else is asked for that must stay behind
        the messages before it and before those that follow.
        """
        turn = self._state.operations.turn
        if turn != self._turn:
            self._turn = turn
            self._groups.clear()
        group = self._groups.get(queue)
        if group is None:
            self._groups[queue] = group = SendGroup(self._state, queue)
            group.submit()
        else:
            self._state.operations.gathered += 1
        return group.add(message, by, result)
