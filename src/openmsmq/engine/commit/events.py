"""The events of messages that a commit keeps in their history."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.engine.queues.slices import RunSlice
from openmsmq.engine.storage.history import (
    Event,
    History,
    identifiers,
    pack_event,
    pack_range,
)
from openmsmq.engine.storage.runs import blob_of, is_member, is_part_of_run, split_members
from openmsmq.engine.storage.tables import Writer


class Events:
    """Events of one commit."""

    __slots__ = ("_history", "_now", "_pending", "_pieces", "_state", "state_rows")

    def __init__(self, history: History, now: int) -> None:
        self._history = history
        self._now = now
        self._state = history.state
        self._pending = 0
        "How many are written of those that no commit is about."
        self._pieces: list[bytes] = []
        self.state_rows: list[tuple[bytes, bytes]] = []
        "What says which pages there are, once `pages` was called, if that changes."

    @property
    def are_kept(self) -> bool:
        """Whether there is a history."""
        return self._history.is_on

    def note(
        self,
        event: Event,
        queue: ManagedQueue | None,
        lookups: Sequence[int],
        ids: bytes,
        by: str,
        extra: str = "",
    ) -> None:
        """Keep an event of the messages' history."""
        if self._history.limit:
            number = 0 if queue is None else queue.number
            self._pieces += pack_event(event, number, lookups, ids, by, extra)

    def note_many(
        self,
        event: Event,
        queue: ManagedQueue,
        messages: Sequence[tuple[int, bytes]],
        starts: Sequence[bytes],
        by: str,
        extra: str = "",
    ) -> None:
        """The same of messages with records and starts of packets; of a run in one piece."""
        if not self._history.limit or not messages:
            return
        if is_part_of_run(messages):
            self.note_run(
                event, queue, messages[0][0], len(messages), identifiers(starts[:1]), by, extra
            )
            return
        parts = [len(messages)]
        if split_members(messages)[0]:
            parts = [len(list(group)) for _, group in groupby(messages, key=_blob)]
        if len(parts) == 1:
            lookups = [lookup for lookup, _ in messages]
            self.note(event, queue, lookups, identifiers(starts), by, extra)
            return
        at = 0
        for count in parts:
            end = at + count
            self.note_many(event, queue, messages[at:end], starts[at:end], by, extra)
            at = end

    def note_run(
        self,
        event: Event,
        queue: ManagedQueue,
        lookup: int,
        count: int,
        identifier: bytes,
        by: str,
        extra: str = "",
    ) -> None:
        """The same of messages of a run, given the place and the identifier of the first."""
        if self._history.limit:
            piece = pack_range(event, queue.number, lookup, count, identifier, by, extra)
            self._pieces.append(piece)

    def note_slice(
        self, event: Event, queue: ManagedQueue, part: RunSlice, by: str, extra: str = ""
    ) -> None:
        """The same of a slice."""
        if self._history.limit:
            ids = part.identifier
            piece = pack_range(event, queue.number, part.first, len(part), ids, by, extra)
            self._pieces.append(piece)

    def pages(self, writer: Writer) -> list[tuple[bytes, bytes]]:
        """Rows to be appended to the history, with those that waited; the oldest are dropped."""
        history = self._history
        self._pending = len(history.pending)
        events = history.pending + [(self._now, piece) for piece in self._pieces]
        if events or (history.state.size and not history.limit):
            self._state, pages = history.pages(writer, events)
            self.state_rows = [self._state.to_row()]
            return pages
        return []

    def committed(self) -> None:
        """They are on disk."""
        self._history.committed(self._state, self._pending)


def _blob(message: tuple[int, bytes]) -> int:
    """The blob that a message is in; 0 for one that is in no run."""
    return blob_of(message[1]) if is_member(message[1]) else 0
