"""Mistakes about runs are found: what is stored together, cut, held, aborted in part, and read."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Sequence
from struct import pack
from typing import Any, TypeVar

import pytest

from openmsmq.engine.commit import batch as batches
from openmsmq.engine.commit.batch import Batch
from openmsmq.engine.commit.events import Events
from openmsmq.engine.commit.future import Future
from openmsmq.engine.commit.run_rows import NewRun, RunRows, may_be_run
from openmsmq.engine.messages import expiry_sweep, scan, send, stamper
from openmsmq.engine.messages.enqueue import Enqueuer
from openmsmq.engine.messages.expiry_sweep import ExpirySweep
from openmsmq.engine.messages.stamper import StampedRun, Stamper
from openmsmq.engine.queues.holds import Holder, Holds
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.engine.queues.slices import RunSlice
from openmsmq.engine.queues.spans import Span, Spans
from openmsmq.engine.storage import runs
from openmsmq.engine.storage.layout import NEVER, index_key, with_expiry
from openmsmq.engine.storage.runs import Found, MessageRun
from openmsmq.engine.storage.tables import Snapshot, Table
from openmsmq.packet.columns import SENT, PacketColumns, numbered_packets
from tests.simulation.mistakes import Plant, find
from tests.simulation.world import World, simulate

T = TypeVar("T")


# What is written


def holes_are_not_written(patch: pytest.MonkeyPatch) -> None:
    """Of the messages that are gone, only the first ones are noted in the row."""
    pack = MessageRun.pack

    def wrong(run: MessageRun) -> bytes:
        gone = run.gone
        run.gone = (1 << runs._trailing_ones(gone)) - 1
        row, run.gone = pack(run), gone
        return row

    patch.setattr(MessageRun, "pack", wrong)


def removal_takes_a_neighbour(patch: pytest.MonkeyPatch) -> None:
    """The message behind those that are received goes with them."""
    remove = MessageRun.remove

    def wrong(run: MessageRun, lookups: Sequence[int]) -> tuple[int, int, list[int]]:
        found = remove(run, lookups)
        run.gone |= 1 << min(lookups[-1] + 1 - run.first, run.count - 1)
        return found

    patch.setattr(MessageRun, "remove", wrong)


def exploded_messages_stay_in_their_run(patch: pytest.MonkeyPatch) -> None:
    """A message gets a row of its own and is left in the run."""
    explode = Batch.explode

    def wrong(batch: Batch, queue: ManagedQueue, lookup: int, raw: bytes) -> bytes | None:
        with pytest.MonkeyPatch.context() as inner:
            inner.setattr(RunRows, "remove", lambda *_: (1, 0, []))
            return explode(batch, queue, lookup, raw)

    patch.setattr(Batch, "explode", wrong)


def exploded_messages_get_no_row(patch: pytest.MonkeyPatch) -> None:
    """A message that is taken out of its run is not stored by itself."""
    explode = Batch.explode

    def wrong(batch: Batch, queue: ManagedQueue, lookup: int, raw: bytes) -> bytes | None:
        rows = len(batch._index_rows)
        found = explode(batch, queue, lookup, raw)
        del batch._index_rows[rows:]
        return found

    patch.setattr(Batch, "explode", wrong)


def empty_runs_stay(patch: pytest.MonkeyPatch) -> None:
    """The last message of a run leaves, and the blob stays."""
    add_to = RunRows.add_to

    def wrong(
        rows: RunRows, put: dict[Table, list[tuple[bytes, bytes]]], delete: dict[Table, list[bytes]]
    ) -> None:
        with pytest.MonkeyPatch.context() as inner:
            inner.setattr(MessageRun, "packet_keys", [])
            add_to(rows, put, delete)

    patch.setattr(RunRows, "add_to", wrong)


def runs_that_change_are_deleted(patch: pytest.MonkeyPatch) -> None:
    """When one message leaves, the others are lost."""
    add_to = RunRows.add_to

    def wrong(
        rows: RunRows, put: dict[Table, list[tuple[bytes, bytes]]], delete: dict[Table, list[bytes]]
    ) -> None:
        add_to(rows, put, delete)
        delete[Table.RUNS] = list(rows._changed)

    patch.setattr(RunRows, "add_to", wrong)


def counts_leave_slices_out(patch: pytest.MonkeyPatch) -> None:
    """The size of a queue does not shrink by what leaves as a slice."""
    remove_slice = Batch.remove_slice

    def wrong(batch: Batch, queue: ManagedQueue, part: RunSlice) -> bool:
        with pytest.MonkeyPatch.context() as inner:
            inner.setattr(Batch, "_count", lambda *_: None)
            return remove_slice(batch, queue, part)

    patch.setattr(Batch, "remove_slice", wrong)


def what_must_last_alone_is_a_run(patch: pytest.MonkeyPatch) -> None:
    """Messages that are owed something, or expire, are stored as runs, and forgotten so."""

    def wrong(queue: ManagedQueue, packets: Sequence[bytes], flags: int) -> bool:
        return may_be_run(queue, packets, 0)

    patch.setattr(batches, "may_be_run", wrong)


def sizes_are_taken_for_equal(patch: pytest.MonkeyPatch) -> None:
    """Where a message begins is reckoned with the size of the first one."""
    begin = MessageRun.__init__

    def wrong(run: MessageRun, *given: Any) -> None:
        begin(run, *given)
        if run._ends is not None:
            run._ends = array("I", [run._ends[0] * (n + 1) for n in range(run.count)])
            run._ends[-1] = run.record.size

    patch.setattr(MessageRun, "__init__", wrong)


# What expires


def _without_new_lifetimes(batch: Batch, call: Callable[[], T]) -> T:
    rows = len(batch._expiry_rows)
    found = call()
    del batch._expiry_rows[rows:]
    return found


def runs_here_never_expire(patch: pytest.MonkeyPatch) -> None:
    """Nothing says when the messages of a run expire."""
    place_run = Batch.place_run

    def wrong(batch: Batch, *given: Any) -> range:
        return _without_new_lifetimes(batch, lambda: place_run(batch, *given))

    patch.setattr(Batch, "place_run", wrong)


def exploded_messages_never_expire(patch: pytest.MonkeyPatch) -> None:
    """Messages of a run that was taken apart live for ever."""
    explode = Batch.explode

    def wrong(batch: Batch, *given: Any) -> bytes | None:
        return _without_new_lifetimes(batch, lambda: explode(batch, *given))

    patch.setattr(Batch, "explode", wrong)


def exploded_messages_forget_when_they_expire(patch: pytest.MonkeyPatch) -> None:
    """The same, and nothing in the store says that they should not."""

    def wrong(raw: bytes, number: int) -> bytes:
        return with_expiry(runs.plain_record(raw, number), NEVER)

    patch.setattr(batches, "plain_record", wrong)


def a_run_expires_although_some_is_held(patch: pytest.MonkeyPatch) -> None:
    """Messages of a run that readers hold are removed with the others."""

    def wrong(batch: Batch, queue: ManagedQueue, run: MessageRun) -> list[RunSlice]:
        with pytest.MonkeyPatch.context() as inner:
            inner.setattr(Holds, "held_bits", lambda *_: 0)
            return free(batch, queue, run)

    free = expiry_sweep._free
    patch.setattr(expiry_sweep, "_free", wrong)


def what_is_held_of_a_run_never_expires(patch: pytest.MonkeyPatch) -> None:
    """The row of the lifetime goes with the first messages that expire."""
    expire = ExpirySweep._expire

    def wrong(sweep: ExpirySweep, batch: Batch, keys: list[bytes], sent: Any) -> int:
        done = expire(sweep, batch, keys, sent)
        for key in keys[:done]:
            batch.writer.delete(Table.EXPIRY, key)
        return done

    patch.setattr(ExpirySweep, "_expire", wrong)


def parts_of_runs_are_buried_whole(patch: pytest.MonkeyPatch) -> None:
    """What was received of a run becomes dead letters with the rest."""
    pieces = MessageRun.pieces

    def wrong(batch: Batch, queue: ManagedQueue, run: MessageRun) -> list[RunSlice]:
        found = [RunSlice(run, run.first, run.end)] if list(pieces(run, 0, 0)) else []
        run.gone = 0
        return found

    patch.setattr(expiry_sweep, "_free", wrong)


def dead_letters_of_runs_expire_again(patch: pytest.MonkeyPatch) -> None:
    """A run becomes dead letters, and the row of its lifetime stays."""

    def wrong(rows: RunRows, run: MessageRun, given: MessageRun) -> bool:
        with pytest.MonkeyPatch.context() as inner:
            inner.setattr(MessageRun, "expiry_key", None)
            return replace_run(rows, run, given)

    replace_run = RunRows.replace
    patch.setattr(RunRows, "replace", wrong)


# What comes in one piece


def runs_are_answered_too_early(patch: pytest.MonkeyPatch) -> None:
    """A program hears that its messages are sent before they are on disk."""
    send_run = Enqueuer.send_run

    def wrong(sender: Enqueuer, queue: ManagedQueue, run: NewRun, *given: Any) -> Future[Any]:
        send_run(sender, queue, run, *given)
        answer: Future[Any] = Future()
        answer.succeed(given[-1])
        return answer

    patch.setattr(Enqueuer, "send_run", wrong)


def the_last_of_a_run_is_left_out(patch: pytest.MonkeyPatch) -> None:
    """All messages but one are stored."""
    insert_run = Batch.insert_run

    def wrong(batch: Batch, queue: ManagedQueue, run: NewRun, by: str) -> None:
        end = len(run.packets) - run.sizes[-1]
        fewer = run._replace(packets=run.packets[:end], sizes=run.sizes[:-1])
        insert_run(batch, queue, fewer, by)

    patch.setattr(Batch, "insert_run", wrong)


def runs_are_stored_twice(patch: pytest.MonkeyPatch) -> None:
    """What came in one piece is there two times."""
    insert_run = Batch.insert_run

    def wrong(batch: Batch, queue: ManagedQueue, run: NewRun, by: str) -> None:
        insert_run(batch, queue, run, by)
        insert_run(batch, queue, run, by)

    patch.setattr(Batch, "insert_run", wrong)


def a_column_beside_is_written(patch: pytest.MonkeyPatch) -> None:
    """Identifiers are written over what follows them."""

    def wrong(columns: PacketColumns, first_id: int, sent_time: int) -> None:
        columns.write(SENT + 4, pack("<II", first_id, first_id))

    patch.setattr(PacketColumns, "number", wrong)


def uneven_packets_are_numbered_as_if_they_were_equal(patch: pytest.MonkeyPatch) -> None:
    """The identifiers of messages of different sizes are written into others."""

    def wrong(packets: bytes, sizes: Sequence[int], **given: int) -> bytes:
        return numbered_packets(packets, [sizes[0]] * (len(packets) // sizes[0]), **given)

    patch.setattr(stamper, "numbered_packets", wrong)
    patch.setattr(send, "numbered_packets", wrong)


# What is held


def slices_hold_nothing(patch: pytest.MonkeyPatch) -> None:
    """Messages that one reader holds are given to the next one."""
    pieces = MessageRun.pieces

    def wrong(run: MessageRun, after: int, held: int) -> Iterator[tuple[int, int]]:
        return pieces(run, after, 0)

    patch.setattr(MessageRun, "pieces", wrong)


def spans_are_released_whole(patch: pytest.MonkeyPatch) -> None:
    """When a part of what a reader holds is ended, the rest is free."""
    take = Spans.take

    def wrong(spans: Spans[Holder], first: int, end: int) -> list[Span[Holder]]:
        found = spans.within(first, end)
        if found:
            first, end = min(first, found[0].first), max(end, found[-1].end)
        return take(spans, first, end)

    patch.setattr(Spans, "take", wrong)


def more_is_ended_than_was_asked_for(patch: pytest.MonkeyPatch) -> None:
    """With a part of a slice all of it is removed."""
    part = RunSlice.part

    def wrong(whole: RunSlice, first: int, end: int) -> RunSlice:
        return part(whole, whole.first, whole.end)

    patch.setattr(RunSlice, "part", wrong)


# What is read


def holes_are_read(patch: pytest.MonkeyPatch) -> None:
    """Messages that are gone are found in their run."""
    members = MessageRun.members

    def wrong(run: MessageRun, after: int) -> Iterator[Found]:
        gone, run.gone = run.gone, 0
        found = list(members(run, after))
        run.gone = gone
        return iter(found)

    patch.setattr(MessageRun, "members", wrong)


def readers_go_on_behind_a_run(patch: pytest.MonkeyPatch) -> None:
    """A reader that has got to the middle of a run leaves the rest of it out."""

    def wrong(snapshot: Snapshot, queue: int, after: int) -> Iterator[MessageRun]:
        rows = snapshot.scan(Table.RUNS, runs._behind(queue, after), index_key(queue + 1, 0))
        return (MessageRun.unpack(key, row) for key, row in rows)

    patch.setattr(runs, "runs_after", wrong)
    patch.setattr(scan, "runs_after", wrong)


def slices_keep_the_identifier_of_the_first(patch: pytest.MonkeyPatch) -> None:
    """What happens to a part of a slice is noted for its first messages."""
    part = RunSlice.part

    def wrong(whole: RunSlice, first: int, end: int) -> RunSlice:
        found = part(whole, first, end)
        found._number = whole._number
        return found

    patch.setattr(RunSlice, "part", wrong)


def one_event_is_one_message(patch: pytest.MonkeyPatch) -> None:
    """The history knows the first message of a run only."""
    note_run = Events.note_run

    def wrong(
        events: Events, event: Any, queue: ManagedQueue, lookup: int, _: int, *rest: Any
    ) -> None:
        note_run(events, event, queue, lookup, 1, *rest)

    patch.setattr(Events, "note_run", wrong)


MISTAKES = (
    holes_are_not_written,
    removal_takes_a_neighbour,
    exploded_messages_stay_in_their_run,
    exploded_messages_get_no_row,
    empty_runs_stay,
    runs_that_change_are_deleted,
    counts_leave_slices_out,
    what_must_last_alone_is_a_run,
    sizes_are_taken_for_equal,
    runs_here_never_expire,
    exploded_messages_never_expire,
    exploded_messages_forget_when_they_expire,
    a_run_expires_although_some_is_held,
    what_is_held_of_a_run_never_expires,
    parts_of_runs_are_buried_whole,
    dead_letters_of_runs_expire_again,
    runs_are_answered_too_early,
    the_last_of_a_run_is_left_out,
    runs_are_stored_twice,
    a_column_beside_is_written,
    uneven_packets_are_numbered_as_if_they_were_equal,
    slices_hold_nothing,
    spans_are_released_whole,
    more_is_ended_than_was_asked_for,
    holes_are_read,
    readers_go_on_behind_a_run,
    slices_keep_the_identifier_of_the_first,
    one_event_is_one_message,
)


@pytest.mark.slow
@pytest.mark.parametrize("plant", MISTAKES, ids=lambda plant: plant.__name__)
def test_a_mistake_is_found(plant: Plant, monkeypatch: pytest.MonkeyPatch) -> None:
    find(plant, monkeypatch, "groups")


def test_there_are_runs_to_make_mistakes_with(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs of several messages are made, parts of them are taken as slices, others leave alone."""
    made: list[int] = []
    cut: list[int] = []
    apart: list[int] = []
    whole: list[int] = []
    stamp_run = Stamper.stamp_run
    add, remove_all, explode = RunRows.add, RunRows.remove_all, Batch.explode

    def added(rows: RunRows, run: MessageRun) -> None:
        made.append(run.count)
        add(rows, run)

    def removed(rows: RunRows, queue: int, first: int, end: int) -> int:
        found = remove_all(rows, queue, first, end)
        run = rows.find(queue, first)
        cut.append(run.left if run is not None else 0)
        return found

    def exploded(batch: Batch, queue: ManagedQueue, lookup: int, raw: bytes) -> bytes | None:
        if runs.is_member(raw):
            apart.append(lookup)
        return explode(batch, queue, lookup, raw)

    def stamped(made: Stamper, packets: bytes, count: int, **given: int) -> StampedRun | None:
        found = stamp_run(made, packets, count, **given)
        whole.append(count if found is not None else 0)
        return found

    monkeypatch.setattr(Stamper, "stamp_run", stamped)
    monkeypatch.setattr(RunRows, "add", added)
    monkeypatch.setattr(RunRows, "remove_all", removed)
    monkeypatch.setattr(Batch, "explode", exploded)
    for seed in (4, 8):  # in the second, programs on connections send groups, too
        assert World(seed).groups
        simulate(seed)
    assert sum(count >= runs.COUNT_MIN for count in made) >= 3
    assert any(cut)
    assert apart
    assert sum(map(bool, whole)) >= 10, "messages that stay in the piece in which they came"
    assert all(whole), "groups of programs are such"
