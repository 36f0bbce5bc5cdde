"""Express messages: kept in memory, in the same order as those in the store."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from openmsmq.engine.commit.batch import NewMessage
from openmsmq.engine.messages.expiry import Expiry
from openmsmq.engine.queues.entry import Entry
from openmsmq.engine.queues.queue import ManagedQueue, outgoing_name
from openmsmq.engine.state import EngineState
from openmsmq.engine.storage.history import Event, identifiers
from openmsmq.engine.storage.layout import Total, lookup_id, pack_record
from openmsmq.properties.message import describe_class


class ExpressStore:
    """Puts express messages into queues and takes them out again."""

    def __init__(self, state: EngineState, expiry: Expiry) -> None:
        self._state = state
        self._expiry = expiry

    def insert(
        self,
        queue: ManagedQueue,
        messages: Sequence[NewMessage],
        arrivals: Sequence[int] = (),
        *,
        by: str = "",
        message_class: int = 0,
        event: Event = Event.ARRIVED_EXPRESS,
    ) -> list[int]:
        """Put messages into a queue that need not outlive the process; their lookup identifiers.

        `by` is who sent them, for the history.
        """
        state = self._state
        now, entries = state.timeline.wall, []
        arrivals = arrivals or state.numbers.arrivals(len(messages))
        records: dict[tuple[int, int, int], bytes] = {}
        for arrival, (packet, priority, expires, _, flags, *_) in zip(
            arrivals, messages, strict=True
        ):
            size = len(packet)
            record = records.get((size, expires, flags))
            if record is None:
                record = pack_record(0, size, now, expires, 0, 0, 0, message_class, flags)
                records[size, expires, flags] = record
            entries.append(Entry(lookup_id(priority, arrival), record, packet, True))
        self.add(queue, entries)
        lookups = [entry.lookup for entry in entries]
        if state.history.limit:
            ids = identifiers([message.packet for message in messages])
            why = describe_class(message_class) if message_class else outgoing_name(queue)
            state.note(event, queue, lookups, ids, by, why)
        queue.totals[Total.ARRIVED] += len(messages)
        if event is Event.ARRIVED_EXPRESS:
            state.statistics.count(Event.ARRIVED.word, len(messages))
        return lookups

    def add(self, queue: ManagedQueue, entries: Sequence[Entry]) -> None:
        """Put messages into a queue at the places they have."""
        before = queue.express.size
        queue.express.add(entries)
        queue.came(entry.lookup for entry in entries)
        self._state.express_size += queue.express.size - before
        self._expiry.add_express(queue, entries)

    def drop(self, queue: ManagedQueue, lookups: Iterable[int]) -> None:
        """Take express messages out of a queue."""
        before = queue.express.size
        for lookup in lookups:
            queue.express.remove(lookup)
        self._state.express_size -= before - queue.express.size
