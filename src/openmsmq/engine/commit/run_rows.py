"""The runs that a commit changes: each is written once, however many messages it loses."""

from __future__ import annotations

from array import array
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise
from typing import Final, NamedTuple

from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.engine.storage import runs
from openmsmq.engine.storage.layout import NEVER, Owed
from openmsmq.engine.storage.runs import MessageRun, find_run
from openmsmq.engine.storage.tables import Table, Writer
from openmsmq.limits import U32_MAX
from openmsmq.packet.walk import marked
from openmsmq.types.queues import QueueKind

_TRANSACTIONAL: Final = Owed.TRANSACTIONAL.value
_PRIVATE: Final = Owed.PRIVATE.value
_DEAD_LETTER: Final = Owed.DEAD_LETTER.value
_KINDS: Final = (QueueKind.PRIVATE, QueueKind.PUBLIC, QueueKind.OUTGOING)
_SOURCE: Final = slice(16, 32)
_MESSAGE_ID: Final = slice(56, 60)


def keeps_runs(queue: ManagedQueue, count: int) -> bool:
    """Whether this many messages to a queue may be stored as runs.

    What goes to a journal or to the copies of a subscription has a row of its own there. So has
    what leaves by HTTP or multicast, which take messages one by one.
    """
    way = queue.transfer
    return (
        count >= runs.COUNT_MIN
        and queue.kind in _KINDS
        and not queue.properties.journal
        and not queue.followers
        and (way is None or not (way.is_http or way.is_multicast))
    )


def flags_of_runs(kind: QueueKind) -> int:
    """What the flags of runs may say: nothing that has to be done when a message is received.

    That its body is to be encrypted is looked at on the way out; in a queue here, one that fails
    may become a dead letter.
    """
    return _TRANSACTIONAL | (_PRIVATE if kind is QueueKind.OUTGOING else _DEAD_LETTER)


def may_be_run(queue: ManagedQueue, packets: Sequence[bytes], flags: int) -> bool:
    """Whether messages that expire together and have equal flags can be runs of a queue.

    Nothing follows when they leave, and their identifiers count up.
    """
    if len(packets) < runs.COUNT_MIN or flags & ~flags_of_runs(queue.kind):
        return False
    source, start = packets[0][_SOURCE], int.from_bytes(packets[0][_MESSAGE_ID], "little")
    if start + len(packets) > U32_MAX:
        return False
    ids = array("I", range(start, start + len(packets))).tobytes()
    return ids == b"".join([packet[_MESSAGE_ID] for packet in packets]) and all(
        [packet.startswith(source, _SOURCE.start) for packet in packets]
    )


def with_marks(whole: bytes, start: int, end: int, marks: int) -> bytes:
    """Packets, the one between two places with more bits in its TransactionHeader."""
    return b"".join((whole[:start], marked(whole[start:end], marks), whole[end:]))


class NewRun(NamedTuple):
    """Plain messages ready to be put in a queue, one after the other.

    They are recoverable, nothing is owed for them when they are received, and their identifiers
    count up.
    """

    packets: bytes
    sizes: Sequence[int]
    priority: int
    flags: int = 0
    "See `flags_of_runs`."
    expires: int = NEVER
    "When all of them expire."

    def pieces(self) -> Iterator[NewRun]:
        """The same in parts that are runs, or single messages."""
        at = start = 0
        for count in runs.sizes_of_runs(self.sizes):
            sizes = self.sizes[at : at + (count or 1)]
            end = start + sum(sizes)
            yield self._replace(packets=self.packets[start:end], sizes=sizes)
            at, start = at + len(sizes), end

    def marked(self, place: int, marks: int) -> NewRun:
        """The same with bits set in the TransactionHeader of one of the messages."""
        start = sum(self.sizes[:place])
        end = start + self.sizes[place]
        return self._replace(packets=with_marks(self.packets, start, end, marks))

    def split(self) -> list[bytes]:
        """The packets."""
        ends = [0, *accumulate(self.sizes)]
        return [self.packets[start:end] for start, end in pairwise(ends)]


class StoredRun(NamedTuple):
    """The same whose blob is stored already."""

    number: int
    "Of the blob."
    sizes: Sequence[int]
    priority: int
    flags: int
    identifier: bytes
    "Of the first message."
    expires: int = NEVER

    @property
    def size(self) -> int:
        """The bytes of all."""
        return sum(self.sizes)


class RunRows:
    """Changed runs of one commit."""

    __slots__ = ("_changed", "_last", "_rows", "_writer")

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._changed: dict[bytes, MessageRun] = {}
        "By the keys of their rows."
        self._last: MessageRun | None = None
        self._rows: list[tuple[bytes, bytes]] = []
        "Those of new runs."

    def add(self, run: MessageRun) -> None:
        """Store a new run, which nothing can be taken out of before the next commit.

        Its blob is stored by the caller.
        """
        self._rows.append((run.key, run.pack()))

    def find(self, queue: int, lookup: int) -> MessageRun | None:
        """The run with this lookup identifier among its own, as this commit leaves it so far."""
        last = self._last
        if last is not None and last.queue == queue and last.first <= lookup < last.end:
            return last
        run = find_run(self._writer, queue, lookup)
        if run is not None:
            self._last = run = self._changed.setdefault(run.key, run)
        return run

    def member(self, queue: int, lookup: int) -> bytes | None:
        """The record of a message that is in a run, as this commit leaves it so far."""
        run = self.find(queue, lookup)
        return None if run is None else run.member(lookup)

    def missing(self, queue: int, lookups: Sequence[int]) -> list[int]:
        """Which messages are in no run, or not any longer."""
        ordered = sorted(lookups)
        at = 0
        found: list[int] = []
        while at < len(ordered):
            run = self.find(queue, ordered[at])
            end = at + 1 if run is None else bisect_left(ordered, run.end, at)
            part = ordered[at:end]
            found += part if run is None else run.missing(part)
            at = end
        return found

    def remove(self, queue: int, lookups: Sequence[int]) -> tuple[int, int, list[int]]:
        """Take messages out of their runs: how many, their bytes, and those that are in none."""
        ordered = sorted(lookups)
        count = size = at = 0
        others: list[int] = []
        while at < len(ordered):
            run = self.find(queue, ordered[at])
            if run is None:
                others.append(ordered[at])
                at += 1
                continue
            end = bisect_left(ordered, run.end, at)
            taken, taken_size, before = run.remove(ordered[at:end])
            count, size, at = count + taken, size + taken_size, end
            others += before
        return count, size, others

    def remove_all(self, queue: int, first: int, end: int) -> int:
        """Take consecutive messages out of their run; their bytes.

        0, and nothing is changed, if some are not in it.
        """
        run = self.find(queue, first)
        lookups = range(first, end)
        if run is None or end > run.end or run.missing(lookups):
            return 0
        return run.remove(lookups)[1]

    def whole(self, run: MessageRun) -> MessageRun | None:
        """A run as this commit leaves it so far; None if it is not whole any longer."""
        found = self.find(run.queue, run.first)
        is_whole = found is not None and found.first == run.first and not found.gone
        return found if is_whole else None

    def replace(self, run: MessageRun, given: MessageRun) -> bool:
        """Let a run be another one with the same messages, in another queue.

        False, and nothing is changed, if it is not whole any longer.
        """
        found = self.whole(run)
        if found is None:
            return False
        del self._changed[found.key]
        self._last = None
        self._writer.delete(Table.RUNS, found.key)
        if found.expiry_key is not None:
            self._writer.delete(Table.EXPIRY, found.expiry_key)
        self._writer.put(Table.RUNS, given.key, given.pack())
        return True

    @property
    def sparse(self) -> list[MessageRun]:
        """The runs that this commit leaves with few messages."""
        return [run for run in self._changed.values() if run.left and run.is_sparse]

    def add_to(
        self, put: dict[Table, list[tuple[bytes, bytes]]], delete: dict[Table, list[bytes]]
    ) -> None:
        """Have new runs written, and what is left of those that have changed."""
        put[Table.RUNS] = self._rows
        for key, run in self._changed.items():
            if run.left:
                put[Table.RUNS].append((key, run.pack()))
            else:
                delete.setdefault(Table.RUNS, []).append(key)
                delete[Table.PACKETS] += run.packet_keys
                if run.expiry_key is not None:
                    delete[Table.EXPIRY].append(run.expiry_key)
