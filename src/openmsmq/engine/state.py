"""The state that all parts of the engine share: identity, settings, time, numbers and sizes.

It also takes what the next commit is asked to do (`submit`). The parts know this state and the
parts below them; `Core` builds them, and nothing here knows them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from math import inf
from uuid import UUID

from openmsmq.engine.commit.batch import Batch
from openmsmq.engine.commit.number_reservation import reserve_message_ids
from openmsmq.engine.commit.numbers import Numbers
from openmsmq.engine.commit.operation import Operation, Operations
from openmsmq.engine.commit.statistics import Statistics
from openmsmq.engine.commit.timeline import Timeline
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.engine.storage.history import Event, History, pack_event
from openmsmq.engine.storage.limits import PENDING_MAX
from openmsmq.engine.storage.tables import Snapshot, Store
from openmsmq.limits import U32_MAX
from openmsmq.types.settings import Settings


class EngineState:
    """What every part of the engine may read, count and ask for."""

    def __init__(
        self,
        store: Store,
        *,
        identity: UUID,
        numbers: Numbers,
        settings: Settings,
        history: History,
        statistics: Statistics,
        timeline: Timeline,
    ) -> None:
        self.store = store
        self.snapshot: Snapshot = store.snapshot
        "What the last finished commit left."
        self.identity = identity
        self.numbers = numbers
        self.settings = settings
        self.history = history
        self.statistics = statistics
        self.timeline = timeline
        self.is_hardened = settings.hardened
        "Hardened mode, as it was at the start (HardenedSecurity, [MS-MQDMPR] 3.1.1.1)."
        self.is_stopping = False
        "Emptying of queues and sweeps go no further; the next start takes them up."
        self.is_throttled = False
        "Flow control: nothing new is accepted (Throttled, [MS-MQDMPR] 3.1.1.1)."
        self.express_size = 0
        "Bytes of express messages in all queues."
        self.stored_size = 0
        "Bytes of messages in the store."
        self.reserved_size = 0
        "Bytes that were accepted but are not in the store yet, or not any longer."
        self.earliest = -inf
        "Nothing is due before this, in seconds as lifetimes count them."
        self.is_rescheduled = True
        "`Core.next_deadline` may be sooner than when its driver asked last."
        self.operations = Operations()
        self.batch: Batch | None = None
        "That of the commit under way."

    @property
    def is_committing(self) -> bool:
        """A commit is under way."""
        return self.batch is not None

    @property
    def total_size(self) -> int:
        """The bytes of all messages, as quotas count them."""
        return self.stored_size + self.reserved_size + self.express_size

    def reserve(self, queue: ManagedQueue, size: int) -> None:
        """Count bytes that were accepted but are not in the store yet, or not any longer."""
        queue.reserved += size
        self.reserved_size += size

    def reschedule(self) -> None:
        """Something is due sooner than it was."""
        self.earliest = -inf
        self.is_rescheduled = True

    def submit(
        self,
        apply: Callable[[Batch], None],
        committed: Callable[[], None],
        failed: Callable[[BaseException], None],
        *,
        grows: bool = False,
        commutes: bool = False,
    ) -> None:
        """Ask for something to be committed (`Operations.add`)."""
        self.operations.add(Operation(apply, committed, failed, grows), commutes=commutes)

    @contextmanager
    def together(self) -> Iterator[None]:
        """What is submitted meanwhile is written by one commit, or all of it fails."""
        start = len(self.operations.waiting)
        self.operations.turn += 1  # nothing of it joins what was asked for before
        try:
            yield
        finally:
            self.operations.join(start)

    def next_message_id(self) -> int:
        """The identifier of a message that the manager itself writes."""
        self.take_message_ids(1)
        return self.numbers.message_id & U32_MAX

    def take_message_ids(self, count: int) -> None:
        """Identifiers have been given to messages; more are reserved before they run out."""
        self.numbers.message_id += count
        reserve_message_ids(self.numbers, self.submit)

    def note(
        self,
        event: Event,
        queue: ManagedQueue,
        lookups: Sequence[int],
        ids: bytes,
        by: str,
        extra: str = "",
    ) -> None:
        """Keep an event of messages that no commit is about, and write it before there are many."""
        before = self.history.pending_size
        pieces = pack_event(event, queue.number, lookups, ids, by, extra)
        self.history.note(self.timeline.wall, pieces)
        if before <= PENDING_MAX < self.history.pending_size:
            self.submit(lambda batch: None, lambda: None, lambda error: None, grows=True)
