"""A durable subscription: its positions, and the messages it has not been given yet.

Which subscriptions have a copy of a message is stored in the message's record, so that it stays
true when the message is moved away and back. In memory are the position up to which the queue was
scanned and the messages that appeared before it since; after a restart the scan begins again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import chain, islice
from struct import Struct, pack, unpack
from typing import Final, TypeVar

from openmsmq.engine.commit.future import Future
from openmsmq.engine.messages.scan import oldest, readable
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.engine.storage.layout import RECORD_SIZE, local_facts
from openmsmq.engine.storage.runs import Found
from openmsmq.engine.storage.tables import Snapshot
from openmsmq.engine.subscriptions.limits import AGAIN_MAX, LOOK_MAX
from openmsmq.engine.subscriptions.ranges import Ranges
from openmsmq.errors import MQError, QueueNotFound
from openmsmq.properties.message import PRIORITY_MAX
from openmsmq.types.lookup import ARRIVAL_BITS, ARRIVAL_MASK


class SubscriptionMode(StrEnum):
    """Whether reserved messages leave their queue."""

    TAKE = "take"
    COPY = "copy"


T = TypeVar("T")
_state = Struct("<BQQI")
_WAYS: Final = {0: SubscriptionMode.TAKE, 1: SubscriptionMode.COPY}
_PRIORITIES: Final = PRIORITY_MAX + 1


@dataclass(slots=True, eq=False)
class DurableSubscription:
    """The state of one subscription of one queue."""

    name: str
    source: ManagedQueue
    store: ManagedQueue
    "Holds the reserved messages."
    way: SubscriptionMode
    committed: int = 0
    "The last committed position."
    reserved: int = 0
    "The last reserved position."
    finished: int = 0
    "The time of the last commit, or of its creation, in seconds since 1970 UTC."
    owner: str = ""
    "The only reader that may read and commit; empty for any reader."
    past: tuple[str, ...] = ()
    "Owners that it was taken from, the last one first."
    read: Ranges = field(default_factory=Ranges)
    "What its owner has read and not committed."
    run: str = ""
    "The run of its owner that began last; only known since the manager started."
    is_changing: bool = False
    "It is being bound to another owner, or it ends."
    _turns: deque[Callable[[], None]] = field(default_factory=deque)
    "What is to be done next; one thing after the other."
    _is_busy: bool = False
    "Something is being done."
    _marks: list[int] = field(default_factory=lambda: [0] * _PRIORITIES)
    "Copies: the arrival number up to which all was looked at, by place of priority."
    _again: set[int] = field(default_factory=set)
    "Messages below that which are to be looked at nevertheless."

    @property
    def is_over(self) -> bool:
        """It was dropped."""
        return self.store.deleted

    @property
    def unread(self) -> int:
        """Messages that were committed without having been read."""
        return self.store.messages - (self.reserved - self.committed)

    @property
    def marked(self) -> int:
        """The last position that its owner has marked as read, or the last committed one."""
        pairs = self.read.pairs
        return max(self.committed, pairs[-1][1] if pairs else 0)

    def pack(self, *, committed: int, reserved: int, owners: tuple[str, ...]) -> bytes:
        """The bytes to store for these positions, with its owner and former owners."""
        code = next(code for code, way in _WAYS.items() if way is self.way)
        return _state.pack(code, committed, reserved, self.finished) + "\n".join(owners).encode()

    def load(self, raw: bytes, read: bytes) -> None:
        """The reverse of `pack`; `read` is what its owner has read, as it is stored."""
        self.way, self.committed, self.reserved, self.finished, owners = read_state(raw)
        self.owner, *past = owners
        self.past = tuple(past)
        self.read = Ranges.unpack(read).behind(self.committed)

    def in_turn(self, work: Callable[[Future[T]], None]) -> Future[T]:
        """Do something when all is done that was asked for before: each builds on the last."""
        answer: Future[T] = Future()

        def begin() -> None:
            doing: Future[T] = Future()

            def over() -> None:
                self._is_busy = False
                doing.then(answer, lambda value: value)

            def over_later() -> None:
                over()
                self._go_on()

            self._is_busy = True
            try:
                if self.is_over:
                    raise QueueNotFound(f"the subscription {self.name} was dropped")
                work(doing)
            except MQError as error:
                doing.fail(error)
            if doing.done:
                over()
            else:
                doing.on_done = over_later

        self._turns.append(begin)
        self._go_on()
        return answer

    def _go_on(self) -> None:
        """Do what is to be done next, unless something is being done."""
        while self._turns and not self._is_busy:
            self._turns.popleft()()

    # Copies

    def came(self, lookups: Iterable[int]) -> None:
        """Messages can be read that are new, or that could not be read for a while."""
        marks = self._marks
        self._again.update(
            lookup for lookup in lookups if lookup & ARRIVAL_MASK <= marks[lookup >> ARRIVAL_BITS]
        )
        if len(self._again) > AGAIN_MAX:
            self.look_again()

    def has_copied(self, lookups: Iterable[int]) -> None:
        """It has copies of these messages, and need not look at them any more."""
        self._again.difference_update(lookups)

    def look_again(self) -> None:
        """Look at all messages from the first one on."""
        self._marks = [0] * _PRIORITIES
        self._again.clear()

    def candidates(self, snapshot: Snapshot, overdue: int, count: int) -> tuple[list[Found], bool]:
        """Up to `count` messages without a copy, and whether all were looked at to find them.

        They are not found again, unless `came` says so.
        """
        found: list[Found] = []
        for lookup in sorted(self._again)[:LOOK_MAX]:
            if len(found) == count:
                break
            self._again.discard(lookup)
            found += [
                item for item in self._at(snapshot, lookup, overdue) if not self._has(item[1])
            ]
        is_all = not self._again
        wanted = count
        for looked, item in enumerate(self._ahead(snapshot, overdue)):
            if not wanted or looked == LOOK_MAX:
                return self._first(found, count), False
            self._marks[item[0] >> ARRIVAL_BITS] = item[0] & ARRIVAL_MASK
            if not self._has(item[1]):
                wanted -= 1
                found.append(item)
        return self._first(found, count), is_all

    def _at(self, snapshot: Snapshot, lookup: int, overdue: int) -> list[Found]:
        """The message at one place, if it can be read."""
        next_one = islice(readable(snapshot, self.source, lookup - 1, overdue), 1)
        return [item for item in next_one if item[0] == lookup]

    def _ahead(self, snapshot: Snapshot, overdue: int) -> Iterator[Found]:
        """Messages that were not looked at, by priority."""
        for place in range(_PRIORITIES):
            last = place << ARRIVAL_BITS | ARRIVAL_MASK
            first = place << ARRIVAL_BITS | self._marks[place]
            for item in readable(snapshot, self.source, first, overdue):
                if item[0] > last:
                    break
                yield item

    def _first(self, found: list[Found], count: int) -> list[Found]:
        """The first ones along the queue; the others wait."""
        found.sort(key=lambda item: item[0])
        self._again.update(item[0] for item in found[count:])
        return found[:count]

    def _has(self, record: bytes) -> bool:
        """Whether it has a copy of the message with this record."""
        return len(record) > RECORD_SIZE and self.store.number in _readers(record)

    # Lag

    def lag(self, snapshot: Snapshot, overdue: int, look: int = 0) -> tuple[int, int | None]:
        """How many messages are not reserved for it yet, and when the first of them arrived.

        Of those that it may have copies of only `look` are looked at, since others wait meanwhile;
        if there are more, the count is a lower bound.
        """
        look = look or LOOK_MAX
        source = self.source
        messages = source.messages + len(source.express)
        if self.way is SubscriptionMode.TAKE:
            return messages, oldest(snapshot, source)
        again = sorted(self._again)[:look]
        came = (item for lookup in again for item in self._at(snapshot, lookup, overdue))
        looked = list(islice(chain(came, self._ahead(snapshot, overdue)), look))
        found = [local_facts(item[1])[0] for item in looked if not self._has(item[1])]
        is_part = look in (len(again), len(looked))
        least = messages - self.reserved if is_part else 0
        return max(len(found), least), min(found, default=None)


def read_state(raw: bytes) -> tuple[SubscriptionMode, int, int, int, tuple[str, ...]]:
    """Mode, committed and reserved positions, time of the last commit, owners."""
    if len(raw) == _state.size - 4:  # the last field was not written at first
        raw += bytes(4)
    way, committed, reserved, finished = _state.unpack_from(raw)
    return _WAYS[way], committed, reserved, finished, tuple(raw[_state.size :].decode().split("\n"))


def with_reader(record: bytes, reader: int, known: Collection[int]) -> bytes:
    """The record of a message that `reader` has a copy of; others that are gone are left out."""
    if len(record) == RECORD_SIZE:
        return record + reader.to_bytes(4, "little")
    kept = [number for number in _readers(record) if number in known]
    return record[:RECORD_SIZE] + pack(f"<{len(kept) + 1}I", *kept, reader)


def _readers(record: bytes) -> tuple[int, ...]:
    """The stores of the subscriptions that have a copy of a message."""
    return unpack(f"<{(len(record) - RECORD_SIZE) // 4}I", record[RECORD_SIZE:])
