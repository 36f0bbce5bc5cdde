"""What follows in the model when messages arrive or leave: copies and acknowledgements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from openmsmq.engine.queues.system import DEAD_LETTER, JOURNAL, TRANSACTIONAL_DEAD_LETTER
from openmsmq.properties.message import Acknowledge, MessageClass
from tests.strategies.model.commits import Commits, Outset
from tests.strategies.model.parts import (
    KIB,
    NEVER,
    NOTHING,
    REMOVING,
    Answer,
    Kind,
    Position,
    Queue,
    hold,
)

REACHED: Final = MessageClass.ACK_REACH_QUEUE
RECEIVED: Final = MessageClass.ACK_RECEIVE
EXPIRED: Final = MessageClass.NACK_RECEIVE_TIMEOUT
PURGED: Final = MessageClass.NACK_Q_PURGED
DELETED: Final = MessageClass.NACK_Q_DELETED
REJECTED: Final = MessageClass.NACK_RECEIVE_REJECTED

EVENTS: Final[Mapping[MessageClass, str]] = {
    RECEIVED: "received",
    EXPIRED: "expired",
    PURGED: "purged",
    DELETED: "queue_deleted",
}
ASKED: Final[Mapping[MessageClass, Acknowledge]] = {
    REACHED: Acknowledge.POS_ARRIVAL,
    RECEIVED: Acknowledge.POS_RECEIVE,
    EXPIRED: Acknowledge.NEG_RECEIVE,
    PURGED: Acknowledge.NEG_RECEIVE,
    DELETED: Acknowledge.NEG_RECEIVE,
    REJECTED: Acknowledge.NEG_RECEIVE,
}


class Dispositions(Commits):
    """The ends of messages; what an express message leaves behind is express too."""

    def __init__(self, outset: Outset) -> None:
        super().__init__(outset)
        self.sent_journal = Queue(JOURNAL, Kind.SYSTEM)
        self.dead_letters = Queue(DEAD_LETTER, Kind.SYSTEM)
        self.transactional_dead_letters = Queue(
            TRANSACTIONAL_DEAD_LETTER, Kind.SYSTEM, transactional=True
        )
        self.named: dict[int, Queue] = {}
        "The queues that can be found, by the numbers in their names."

    def arrived(self, positions: Sequence[Position]) -> None:
        """Messages have reached their queue, which is their delivery ([MS-MQDMPR] 3.1.1.12)."""
        self.count("arrived", positions)
        for position in positions:
            if position.wishes.journal:
                self.keep(self.sent_journal, position)
            self.acknowledge(position, REACHED)

    def left(self, positions: Sequence[Position], reason: MessageClass) -> None:
        """Messages leave their queue (Message Position Deleted, [MS-MQDMPR] 3.1.7.2.1)."""
        self.count(EVENTS[reason], positions)
        self.take(positions)
        for position in positions:
            self.acknowledge(position, reason)
        for position in positions:
            queue = position.queue
            if reason is RECEIVED and queue.is_journaled:
                assert queue.main.journal is not None
                self.keep(queue.main.journal, position)
            elif reason is EXPIRED and position.wishes.dead_letter:
                transactional = queue.transactional
                self.keep(
                    self.transactional_dead_letters if transactional else self.dead_letters,
                    position,
                    reason,
                )

    def keep(self, target: Queue, position: Position, reason: int = 0) -> None:
        """A copy lives on in a journal or as a dead letter; without room it is discarded (A-39)."""
        size = target.size
        if not position.express:
            size += sum(p.size for p in self.flying.get(target, []))
            size -= sum(p.size for p in self.leaving if p.queue is target)
        if target.quota is not None and size + position.size > target.quota * KIB:
            self.count("discarded", [position])
            return
        self.put(
            position.copy(
                target,
                wishes=NOTHING,
                expires=NEVER,
                message_class=reason or position.message_class,
                aborts=0,
                moves=0,
            )
        )
        self.count("dead_lettered" if reason else "journaled", [position])

    def acknowledge(self, position: Position, reason: MessageClass) -> None:
        """Tell the administration queue, if there is one ([MS-MQQB] 3.1.7.2.1)."""
        if not position.wishes.acknowledge & ASKED[reason]:
            return
        admin = self.named.get(position.wishes.admin)
        if admin is None or admin.deleted or admin.transactional:
            self.count("acknowledgements without a queue", [position])
            return
        body = position.body if reason in (EXPIRED, PURGED, DELETED, REJECTED) else b""
        ack = Position(
            admin,
            body,
            self.outset.ack_size(position, len(body)),
            3,
            position.express,
            position.number,
            message_class=reason,
        )
        self.put(ack)
        self.count("arrived", [ack])
        self.count("acknowledged", [ack])

    # Given back

    def release(self, queue: Queue, positions: Sequence[Position]) -> Answer:
        """Held messages are free again; those that were purged meanwhile go (PurgePending)."""
        hold(positions, None)
        purged = [p for p in positions if p.purges]
        gone = Answer().succeed() if queue.deleted else self.remove_purged(queue, purged)
        if back := [p for p in positions if p not in purged]:
            self.fresh.append((queue, back))
        return gone

    def remove_purged(self, queue: Queue, positions: Sequence[Position]) -> Answer:
        """Answered when they are gone from the disk."""
        answer = Answer()
        self.left([p for p in positions if p.express], PURGED)
        stored = [p for p in positions if not p.express]
        hold(stored, REMOVING)

        def start() -> None:
            if not queue.deleted:
                self.left(stored, PURGED)
                self.note_purged(queue)

        def finish() -> None:
            hold(stored, None)
            answer.succeed()

        if not stored:
            return answer.succeed()
        self.submit(finish, answer.fail, start, grows=False)
        return answer

    def note_purged(self, queue: Queue) -> None:
        """Remember beyond a crash what goes as soon as no one holds it, or is about to go."""
        self.noting[queue] = {
            p
            for p in queue.positions
            if p.purges and p.holder is not None and p not in self.leaving
        }
