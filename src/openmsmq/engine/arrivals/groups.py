"""Messages of other managers that came together and differ in little: checked once, one run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate, groupby, repeat
from struct import Struct
from typing import Final

from openmsmq.engine.arrivals.arrival import Arrival, ArrivalGroup, ArrivalWork
from openmsmq.engine.arrivals.destinations import Destinations
from openmsmq.engine.arrivals.examination import Examination
from openmsmq.engine.arrivals.incoming import (
    Head,
    IncomingSequence,
    destination_text,
    head_of,
)
from openmsmq.engine.arrivals.protection import Guard
from openmsmq.engine.arrivals.transit import transit_group
from openmsmq.engine.commit.batch import Batch, NewMessage
from openmsmq.engine.commit.run_rows import NewRun
from openmsmq.engine.commit.timeline import expiry
from openmsmq.engine.core import Core
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.engine.queues.quota import within_quota
from openmsmq.engine.storage.layout import NEVER, Owed, owed_for
from openmsmq.packet.headers.base import BaseFlags
from openmsmq.packet.origin import all_with_origin, is_direct
from openmsmq.packet.view import PacketView
from openmsmq.packet.walk import SENT_TIME, u32
from openmsmq.properties.message import INFINITE
from openmsmq.types.queues import QueueKind

NOT_JOURNAL: Final = ~Owed.JOURNAL.value
"Their sender's journal is not ours."
NOT_TRANSACTIONAL: Final = ~Owed.TRANSACTIONAL.value
"What may have to be sent for a message, where it counts who brought it."
_TRANSACTIONAL: Final = Owed.TRANSACTIONAL.value
_key: Final = Struct("<16sI8s").pack
"See `Head.message_key`."


class Groups:
    """Takes groups of which every message is passed on, or accepted with nothing owed for any."""

    def __init__(
        self,
        core: Core,
        destinations: Destinations,
        guard: Guard,
        staged: set[bytes],
        has_room: Callable[[ArrivalWork, int], bool],
    ) -> None:
        """`staged` are messages that the commit being written brings.

        `has_room` tells whether this machine can take a number of bytes more.
        """
        self._core = core
        self._destinations = destinations
        self._guard = guard
        self._staged = staged
        self._has_room = has_room

    def singles(
        self, work: ArrivalWork, arrivals: Sequence[Arrival | ArrivalGroup]
    ) -> Iterator[Arrival]:
        """The messages that have to be looked at one by one; groups are taken on the way."""
        for item in arrivals:
            if work.origin.is_refused:
                return
            if not isinstance(item, ArrivalGroup):
                yield item
            elif not self.take(work, item):
                yield from item.arrivals()

    def express_singles(
        self, work: ArrivalWork, packets: Sequence[bytes | ArrivalGroup]
    ) -> Iterator[bytes]:
        """The same for express messages."""
        for item in packets:
            if not isinstance(item, ArrivalGroup):
                yield item
            elif item.position is not None or not self.take(work, item):
                yield from (packet for packet, _ in item.arrivals())

    def take(self, work: ArrivalWork, item: ArrivalGroup) -> bool:
        """Take messages that differ in little; False, and nothing is done, if one is unusual.

        The same is done as for each by itself (`Arrivals`): a property test holds both together.
        What is unusual is whatever makes one of them other than accepted, or something owed.
        """
        group, origin, position = item.group, work.origin, item.position
        head = head_of(group.packets)
        if not self._destinations.is_here(head):
            return self._pass_on(work, item, head)
        packets, sizes = (group.packets, group.sizes)
        if item.examined is not None:
            packets, sizes = item.examined.packets, item.examined.sizes
        queue = self._target_of(work, item, head, len(packets))
        if queue is None:
            return False
        scopes = origin.scopes(head.source)
        count, size = len(sizes), len(packets)
        if position is None:
            if not self._note_keys(work, head, scopes, count, head.destination):
                return False
        elif not self._advance(work, item, head, scopes):
            return False
        priority = 0 if position is not None else head.base_flags & BaseFlags.PR
        if is_direct(packets):
            packets = all_with_origin(packets, sizes, origin.packed)
        flags = 0 if position is None else _TRANSACTIONAL
        runs = self._by_lifetime(NewRun(packets, sizes, priority, flags), head)
        if work.batch is None:
            express = [
                NewMessage(packet, priority, run.expires, True)
                for run in runs
                for packet in run.split()
            ]
            work.add(queue, express, size)
        else:
            work.add(queue, runs, size)
        return True

    def _by_lifetime(self, run: NewRun, head: Head) -> list[NewRun]:
        """The same in parts that expire together: lifetimes count from when each was sent."""
        lifetime, shift = head.time_to_be_received, self._core.timeline.shift
        if lifetime == INFINITE:
            return [run]
        starts = list(accumulate(run.sizes, initial=0))
        moments = [u32(run.packets, start + SENT_TIME)[0] for start in starts[:-1]]
        found: list[NewRun] = []
        first = 0
        for moment, group in groupby(moments):
            end = first + len(list(group))
            expires = expiry(moment - shift, lifetime, NEVER)
            packets = run.packets[starts[first] : starts[end]]
            part = run._replace(packets=packets, sizes=run.sizes[first:end], expires=expires)
            found.append(part)
            first = end
        return found

    def _pass_on(self, work: ArrivalWork, item: ArrivalGroup, head: Head) -> bool:
        """Take messages for another manager; False, and nothing is done, if one is unusual.

        Transactional ones have no place here: their receiver drops what comes twice.
        """
        group, origin = item.group, work.origin
        oldest = head._replace(sent_time=group.oldest)
        find = self._destinations.find
        queue = find(work.found, group.first, oldest, origin.peer, origin.target)
        if not isinstance(queue, ManagedQueue) or queue.kind is not QueueKind.OUTGOING:
            return False
        size = len(group.packets)
        if not self._has_room(work, size):
            return False
        if item.position is None:
            scopes, count = origin.scopes(head.source), len(group.sizes)
            if not self._note_keys(work, head, scopes, count, head.transit_destination):
                return False
        messages = transit_group(self._core, group, head, is_known=origin.is_known)
        work.add(queue, messages, size)
        return True

    def _target_of(
        self, work: ArrivalWork, item: ArrivalGroup, head: Head, size: int
    ) -> ManagedQueue | None:
        """The queue that takes all of a group and owes nothing for it; None if there is none."""
        origin, group, position = work.origin, item.group, item.position
        if origin.transport:
            return None
        first = group.first
        owed = owed_for(head.flags, PacketView(first).acknowledge) & NOT_JOURNAL
        wants_receipt = position is not None and position.wants_receipt
        if owed & NOT_TRANSACTIONAL or wants_receipt:
            return None
        oldest = head._replace(sent_time=group.oldest)
        queue = self._destinations.find(work.found, first, oldest, origin.peer, origin.target)
        if not isinstance(queue, ManagedQueue):
            return None
        if item.examined is not None or queue.properties.is_guarded:
            found = Examination(first) if item.examined is None else item.examined.finding
            if self._guard.fault(origin, queue, found) is not None:
                return None
        is_fitting = within_quota(queue.properties.quota, work.used(queue), size)
        return queue if is_fitting and self._has_room(work, size) else None

    def _note_keys(
        self,
        work: ArrivalWork,
        head: Head,
        scopes: tuple[bytes, ...],
        count: int,
        destination: bytes,
    ) -> bool:
        """Remember messages outside transactions; False if one of them has come before."""
        duplicates, staged = self._core.duplicates, self._staged
        first = int.from_bytes(head.number, "little")
        numbers = range(first, first + count)
        own: list[bytes] = []
        for scope in scopes:
            keys = list(map(_key, repeat(scope), numbers, repeat(destination)))
            own = own or keys
            if duplicates.has_any(keys) or not staged.isdisjoint(keys):
                return False
        if not work.seen.keys().isdisjoint(own):
            return False
        if work.batch is None:
            work.seen.update(dict.fromkeys(own))
        else:
            staged.update(own)
            work.keys += own
        return True

    def _advance(
        self, work: ArrivalWork, item: ArrivalGroup, head: Head, scopes: tuple[bytes, ...]
    ) -> bool:
        """Let a sequence come further if a group begins with its next ([MS-MQQB] 3.1.5.8.6)."""
        core, origin, position = self._core, work.origin, item.position
        assert position is not None, "it is transactional"
        last = core.incoming.furthest(map(head.sequence_key, scopes))
        before_it = last or core.incoming.unknown
        place = position.stream, position.number, position.previous
        if origin.is_isolated or before_it.gap_before(*place) != 0:
            return False
        key, packet = head.sequence_key(scopes[0]), item.group.last
        found = IncomingSequence(
            position.stream,
            item.group.last_number,
            core.timeline.wall,
            0,
            origin.address,
            before_it.name or destination_text(packet),
            position.source or head.source,
            missing=before_it.missing,
            receipts_to=position.receipts_to or before_it.receipts_to,
        )
        core.incoming.stage(key, found)
        work.sequences.add(key)
        _, before = work.orders.get(key, (b"", 0))
        work.orders[key] = packet, before + len(item.group.sizes)
        return True


def insert_new(
    batch: Batch, queue: ManagedQueue, new: Iterable[NewMessage | NewRun], by: str
) -> list[NewMessage]:
    """Put messages into a queue, some in one piece; those for which something may be owed."""
    singles: list[NewMessage] = []
    for _, parts in groupby(new, key=type):
        messages: list[NewMessage] = []
        for part in parts:
            if isinstance(part, NewRun):
                batch.insert_run(queue, part, by)
            else:
                messages.append(part)
        if messages:
            batch.insert_many(queue, messages, by)
            singles += messages
    return singles
