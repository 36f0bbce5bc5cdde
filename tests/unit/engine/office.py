"""A local manager on a store in memory, driven by hand, with a clock that is set by hand."""

from __future__ import annotations

from typing import Any, TypeVar

from tests.unit.engine import handles
from tests.unit.engine.world import NOW, OWNER, HandClock, commit_all

from openmsmq.engine.commit.future import Future
from openmsmq.engine.manager import QueueManager, received
from openmsmq.engine.queues.holds import REMOVING, Holder
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.engine.transactions.transaction import ManagedTransaction
from openmsmq.store.memory import Disk, MemoryStore
from openmsmq.transports.receipts import RECEIPTS
from openmsmq.types.access import Access, Mode
from openmsmq.types.caller import Caller
from openmsmq.types.message import Message
from openmsmq.types.received import ReceivedMessage

T = TypeVar("T")


class Manager:
    """A local manager, with commits made as they are needed."""

    caller = Caller("me")
    "Who calls."

    def __init__(
        self, disk: Disk | None = None, name: str = "Server1", now: float = NOW + 0.75
    ) -> None:
        self.store = MemoryStore(disk)
        self.clock = HandClock(now)
        self.local = QueueManager(self.store, self.clock, name=name, receipts=RECEIPTS)

    def restart(self, seconds: float = 0) -> Manager:
        """The next process, some time later."""
        return Manager(self.store.committed, now=self.clock.time + seconds)

    def stop(self) -> None:
        """End as a driver ends it, in good order."""
        self.local.stop()
        commit_all(self.local)

    def tick(self, seconds: float = 0) -> None:
        """Let time pass and have done what is due then."""
        self.clock.wait(seconds)
        self.local.advance(self.local.clock.now(), self.local.clock.elapsed())
        commit_all(self.local)

    def done(self, pending: Future[T]) -> T:
        """The answer, after all commits it takes."""
        commit_all(self.local)
        return pending.result()

    def create(self, name: str = "orders", **given: Any) -> ManagedQueue:
        """A new queue."""
        return self.done(self.local.create_queue(name, **given))

    def open(self, name: str, access: Access = Access.ALL) -> ManagedQueue:
        """A queue, opened."""
        return self.local.open_queue(name, Mode(access)).queue

    def send(
        self, queue: ManagedQueue, *messages: Message, transaction: ManagedTransaction | None = None
    ) -> list[str]:
        """Send messages; their identifiers."""
        ids = self.done(handles.send(self.local, queue, messages, transaction, caller=self.caller))
        return list(ids)

    def send_in(self, queue: ManagedQueue, *messages: Message) -> list[str]:
        """Send messages in a transaction of their own."""
        transaction = self.local.begin()
        sent = self.send(queue, *messages, transaction=transaction)
        self.done(self.local.commit(transaction, caller=self.caller))
        return sent

    def peek(self, queue: ManagedQueue) -> list[ReceivedMessage]:
        """What can be read in a queue."""
        found = self.local.receiver.peek(queue, 100, OWNER, wait=False)
        return [] if found.error else received(found.result())

    def receive(self, queue: ManagedQueue, holder: Holder = REMOVING) -> ReceivedMessage:
        """Take the first message."""
        pending = self.local.receiver.receive(
            queue, 1, OWNER, wait=False, holder=holder, caller=self.caller
        )
        entries = self.done(pending)
        return received(entries)[0]

    def bodies(self, queue: ManagedQueue) -> list[bytes]:
        """The bodies of what can be read in a queue."""
        return [message.body for message in self.peek(queue)]
