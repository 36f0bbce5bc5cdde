"""Express messages: kept in memory, in the same order as those in the store."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Final

from openmsmq.engine.commit.batch import NewMessage
from openmsmq.engine.messages.expiry import Expiry
from openmsmq.engine.queues.entry import Entry
from openmsmq.engine.queues.queue import ManagedQueue, outgoing_name
from openmsmq.engine.state import EngineState
from openmsmq.engine.storage.history import Event, identifiers
from openmsmq.engine.storage.layout import Total, lookup_id, pack_record
from openmsmq.properties.message import describe_class

_way: Final = itemgetter(slice(1, 5))
"What messages that are alike have in common: priority, lifetime and flags."


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
        now = state.timeline.wall
        arrivals = arrivals or state.numbers.arrivals(len(messages))
        entries: list[Entry] = []
        for (priority, expires, _, flags), group in groupby(messages, key=_way):
            packets = [message.packet for message in group]
            records = {
                size: pack_record(0, size, now, expires, 0, 0, 0, message_class, flags)
                for size in set(map(len, packets))
            }
            first, places = lookup_id(priority, 0), arrivals[len(entries) :]
            entries += [
                Entry(first | arrival, records[len(packet)], packet, True)
                for arrival, packet in zip(places, packets, strict=False)
            ]
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
