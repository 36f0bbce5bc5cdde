"""Messages on their way into a queue that have ids of their own or are not due yet."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from openmsmq.engine.commit.batch import Batch, NewMessage
from openmsmq.engine.messages.dedup import find_duplicate, remember
from openmsmq.engine.messages.disposition import Dispositions
from openmsmq.engine.queues.queue import ManagedQueue, outgoing_name
from openmsmq.engine.state import EngineState
from openmsmq.engine.storage.history import Event
from openmsmq.engine.storage.layout import Owed, Record
from openmsmq.packet.view import PacketView


class Admission:
    """Puts messages into queues: now, delayed, or not at all if they are duplicates."""

    def __init__(self, state: EngineState, dispositions: Dispositions) -> None:
        self._state = state
        self._dispositions = dispositions

    def put(
        self, batch: Batch, queue: ManagedQueue, messages: Sequence[NewMessage], by: str
    ) -> list[int]:
        """Put messages into a queue; returns their numbers.

        A duplicate gets the number of the first message with its deduplication id.
        """
        numbers = self._known(batch, messages)
        fresh = [message for message, known in zip(messages, numbers, strict=True) if known is None]
        now = self._state.timeline.millis
        at_once = [message for message in fresh if message.due <= now]
        if at_once:
            batch.insert_many(queue, at_once, by)
            self._dispositions.arrived(batch, queue, at_once)
        for message in fresh:
            if message.due > now:
                number, size = batch.store_packet(message.packet), len(message.packet)
                record = Record(number, size, batch.now, message.expires, flags=message.flags)
                lookup = batch.delay_new(queue, message.priority, record, message.due)
                self.note_delayed(batch, queue, lookup, _identifier(message), message.due, by)
        return [
            PacketView(message.packet).message_id if known is None else known
            for message, known in zip(messages, numbers, strict=True)
        ]

    def _known(self, batch: Batch, messages: Sequence[NewMessage]) -> list[int | None]:
        """The number of the original of each duplicate; the ids of the others are stored."""
        new: dict[bytes, int] = {}
        found: list[int | None] = []
        for message in messages:
            dedup_key, known = message.dedup_key, None
            if dedup_key:
                known = new.get(dedup_key)
                if known is None:
                    known = find_duplicate(batch.writer, dedup_key)
                if known is None:
                    new[dedup_key] = PacketView(message.packet).message_id
                else:
                    batch.count("repeated sends")
            found.append(known)
        if new:
            state = self._state
            remember(batch.writer, list(new.items()), state.timeline.now, state.settings)
        return found

    def is_known(self, batch: Batch, dedup_key: bytes, number: int) -> bool:
        """The same for one message, which the store has already."""
        if not dedup_key:
            return False
        if find_duplicate(batch.writer, dedup_key) is not None:
            batch.count("repeated sends")
            return True
        remember(
            batch.writer, [(dedup_key, number)], self._state.timeline.now, self._state.settings
        )
        return False

    def put_stored(
        self,
        batch: Batch,
        queue: ManagedQueue,
        priority: int,
        record: Record,
        identifier: bytes,
        by: str,
        *,
        due: int = 0,
    ) -> int:
        """Put a message into a queue that the store has already; its lookup identifier."""
        if due > self._state.timeline.millis:
            lookup = batch.delay_new(queue, priority, record, due)
            self.note_delayed(batch, queue, lookup, identifier, due, by)
            return lookup
        lookup = batch.insert_stored(queue, priority, record)
        batch.count(Event.ARRIVED.word)
        batch.note(Event.ARRIVED, queue, [lookup], identifier, by, outgoing_name(queue))
        if record.flags & (Owed.JOURNAL | Owed.ACK_ARRIVAL):
            packet = batch.packet(record.pack())
            new = NewMessage(packet, priority, record.expires, False, record.flags)
            self._dispositions.arrived(batch, queue, [new])
        return lookup

    def note_delayed(
        self, batch: Batch, queue: ManagedQueue, lookup: int, identifier: bytes, due: int, by: str
    ) -> None:
        """Keep in a message's history until when it waits."""
        until = datetime.fromtimestamp(due // 1000 + self._state.timeline.shift, UTC)
        batch.note(Event.DELAYED, queue, [lookup], identifier, by, f"{until:%Y-%m-%d %H:%M:%S} UTC")
        batch.count(Event.DELAYED.word)


def _identifier(message: NewMessage) -> bytes:
    return PacketView(message.packet).identifier
