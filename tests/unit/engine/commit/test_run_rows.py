"""Runs in queues: what happens to some of their messages happens to these only."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.engine.office import Manager
from tests.unit.engine.runs import BODIES, check, fill, history, letters, rows, runs, take_at
from tests.unit.engine.world import NOW, OWNER, PARTNER, World, commit, commit_all, letter

from openmsmq.engine.commit.batch import Batch, NewMessage
from openmsmq.engine.commit.run_rows import RunRows, may_be_run
from openmsmq.engine.queues.entry import Entry
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.engine.queues.slices import RunSlice
from openmsmq.engine.storage import runs as storage_runs
from openmsmq.engine.storage.history import Event
from openmsmq.engine.storage.layout import RUN_BIT, Owed, split_expiry_key
from openmsmq.engine.storage.runs import COUNT_MIN, MessageRun
from openmsmq.engine.storage.tables import Table
from openmsmq.errors import StorageFailed
from openmsmq.limits import U32_MAX
from openmsmq.names.format import parse_format_name
from openmsmq.packet.view import PacketView
from openmsmq.properties.message import MessageClass
from openmsmq.types.message import Message
from openmsmq.types.queues import Poison


@pytest.fixture
def world() -> World:
    return World()


def test_messages_that_come_together_are_one_row_and_one_blob(world: World) -> None:
    queue = world.queue()
    fill(world, queue)
    assert world.bodies(queue) == BODIES
    assert len(world.rows(Table.PACKETS)) == 1
    assert (queue.messages, queue.size) == (8, len(next(iter(world.rows(Table.PACKETS).values()))))
    check(world)


@pytest.mark.parametrize(
    "change",
    [
        {"flags": Owed.JOURNAL},
        {"flags": Owed.ACK_RECEIVE | Owed.DEAD_LETTER},
        {"flags": Owed.FINAL_ACK},
        {"flags": Owed.OWN_LETTERS},
    ],
)
def test_messages_that_are_owed_something_have_rows_of_their_own(
    world: World, change: dict[str, Any]
) -> None:
    queue = world.queue()
    world.send(queue, *(sent._replace(**change) for sent in letters()))
    assert not runs(world)
    assert len(rows(world, queue)) == 8


def test_so_have_those_whose_identifiers_do_not_count_up(world: World) -> None:
    queue = world.queue()
    world.send(queue, *reversed(letters()))
    assert not runs(world)


def test_so_have_those_of_a_queue_with_a_journal(world: World) -> None:
    queue = world.queue(journal=True)
    world.send(queue, *letters())
    assert not runs(world)


def test_one_that_is_left_over_has_a_row(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(storage_runs, "RUN_COUNT_MAX", 7)
    queue = world.queue()
    world.send(queue, *letters())
    assert len(runs(world)) == 1
    assert len(rows(world, queue)) == 1


def test_priorities_divide_runs(world: World) -> None:
    queue = world.queue()
    urgent = [message._replace(priority=7) for message in letters(first=9)]
    world.send(queue, *letters(), *urgent)
    assert len(runs(world)) == 2
    assert world.bodies(queue) == BODIES * 2
    assert world.lookups(queue)[0] < 1 << 56
    check(world)


def test_what_is_received_leaves_the_run_and_the_last_takes_the_blob_along(world: World) -> None:
    queue = world.queue()
    fill(world, queue)
    assert world.take(queue, 3)
    assert [run.left for run in runs(world)] == [5]
    take_at(world, queue, world.lookups(queue)[2])
    assert world.bodies(queue) == ["d", "e", "g", "h"]
    check(world)
    world = world.restart()
    queue = world.find()
    assert world.bodies(queue) == ["d", "e", "g", "h"]
    world.take(queue, 9)
    assert not world.rows(Table.RUNS)
    assert not world.rows(Table.PACKETS)
    assert (queue.messages, queue.size) == (0, 0)


def test_a_receive_that_the_disk_refuses_leaves_the_run_whole(world: World) -> None:
    queue = world.queue()
    fill(world, queue)
    world.receiver.receive(queue, 3, OWNER, wait=False)
    world.commit(StorageFailed("broken"))
    assert world.bodies(queue) == BODIES
    check(world)


def test_what_is_aborted_gets_a_row_of_its_own_and_keeps_its_place(world: World) -> None:
    queue = world.queue(transactional=True)
    fill(world, queue)
    lookups = world.lookups(queue)
    for transaction in (world.transactions.begin(), world.transactions.begin()):
        world.take(queue, 2, transaction)
        world.done(world.transactions.abort(transaction))
    assert world.bodies(queue) == BODIES
    assert world.lookups(queue) == lookups
    counts = [record.abort_count for record in world.records(queue)]
    assert counts == [2, 2, 0, 0, 0, 0, 0, 0]
    assert rows(world, queue) == lookups[:2]
    check(world)


@pytest.mark.parametrize("poison", list(Poison))
def test_poison_leaves_its_run(world: World, poison: Poison) -> None:
    queue = world.queue(transactional=True, abort_limit=1, poison=poison)
    sent = fill(world, queue)
    transaction = world.transactions.begin()
    world.take(queue, 1, transaction)
    world.done(world.transactions.abort(transaction))
    assert world.bodies(queue) == BODIES[1:]
    assert Event.POISONED in history(world, sent[0])
    check(world)


def test_a_retry_delay_takes_a_message_out_of_its_run_for_a_while(world: World) -> None:
    queue = world.queue(transactional=True, retry_delay=5)
    fill(world, queue)
    transaction = world.transactions.begin()
    world.take(queue, 2, transaction)
    world.done(world.transactions.abort(transaction))
    assert world.bodies(queue) == BODIES[2:]
    check(world)
    world.tick(6)
    assert world.bodies(queue) == BODIES
    check(world)


@pytest.mark.parametrize("commits", [True, False])
def test_a_prepared_transaction_holds_messages_of_a_run_through_a_crash(
    world: World, *, commits: bool
) -> None:
    queue = world.queue(transactional=True)
    fill(world, queue)
    transaction = world.transactions.begin("x1")
    world.take(queue, 3, transaction)
    world.done(world.transactions.prepare(transaction))
    world = world.restart()
    queue = world.find()
    assert world.bodies(queue) == BODIES[3:]
    if commits:
        world.done(world.transactions.commit_prepared("x1"))
    else:
        world.done(world.transactions.abort_prepared("x1"))
    assert world.bodies(queue) == BODIES[3:] if commits else BODIES
    check(world)


def test_a_message_of_a_run_can_be_moved_and_moved_back(world: World) -> None:
    queue = world.queue()
    sent = fill(world, queue)
    retry = world.subqueue(queue)
    lookup = world.lookups(queue)[3]
    world.move(queue, lookup, retry)
    assert world.bodies(queue) == [body for body in BODIES if body != "d"]
    assert world.bodies(retry) == ["d"]
    check(world)
    world.move(retry, lookup, queue)
    assert world.bodies(queue) == BODIES
    assert [record.move_count for record in world.records(queue)][3] == 2
    assert history(world, sent[3]) == [Event.ARRIVED, *[Event.MOVED] * 2]
    check(world)


def test_a_journal_that_is_kept_from_now_on_gets_messages_of_older_runs(world: World) -> None:
    queue = world.queue()
    fill(world, queue)
    world.done(world.core.queue_lifecycle.change(queue, NOW, {"journal": True}))
    world.take(queue, 2)
    assert queue.journal is not None
    assert world.bodies(queue.journal) == BODIES[:2]
    assert world.bodies(queue) == BODIES[2:]
    check(world)


def test_what_is_put_back_is_where_it_was(world: World) -> None:
    queue = world.queue()
    fill(world, queue)
    lookups = world.lookups(queue)
    taken = world.take(queue, 3)
    world.receiver.put_back(queue, taken)
    world.commit()
    assert world.bodies(queue) == BODIES
    assert world.lookups(queue) == lookups
    check(world)


def test_a_purge_spares_what_is_held_and_takes_it_when_it_is_returned(world: World) -> None:
    queue = world.queue(transactional=True)
    fill(world, queue)
    transaction = world.transactions.begin()
    world.take(queue, 2, transaction)
    assert world.done(world.core.queue_lifecycle.purge(queue)) == 6
    assert [run.left for run in runs(world)] == [2]
    world.done(world.transactions.abort(transaction))
    assert not runs(world)
    assert not world.rows(Table.PACKETS)
    check(world)


def test_two_purges_of_one_commit_count_a_message_once(world: World) -> None:
    queue = world.queue()
    fill(world, queue)
    first, second = (
        world.core.queue_lifecycle.purge(queue),
        world.core.queue_lifecycle.purge(queue),
    )
    assert world.done(first) == 8
    assert world.done(second) == 0


def test_a_deleted_queue_takes_its_runs_along(world: World) -> None:
    queue = world.queue()
    fill(world, queue)
    world.done(world.core.queue_lifecycle.delete(queue))
    assert not world.rows(Table.RUNS)
    assert not world.rows(Table.PACKETS)
    check(world)


def test_each_message_of_a_run_has_its_own_history(world: World) -> None:
    queue = world.queue()
    sent = fill(world, queue)
    world.take(queue, 2)
    take_at(world, queue, world.lookups(queue)[3])
    found = [history(world, message) for message in sent]
    received, waiting = [Event.ARRIVED, Event.RECEIVED], [Event.ARRIVED]
    assert found == [received, received, waiting, waiting, waiting, received, waiting, waiting]
    assert history(world, letter("x", number=9)) == []
    happened = world.core.history.of(world.core.snapshot, _identifier(sent[5]))
    assert len({item.lookup for item in happened}) == 1


def _identifier(message: NewMessage) -> bytes:
    return message.packet[16:32] + message.packet[56:60]


def test_a_slice_of_which_some_have_left_the_run_is_removed_one_by_one(world: World) -> None:
    """What was read as a slice may have rows of its own when its removal is committed."""
    queue = world.queue()
    fill(world, queue)
    (run,) = runs(world)
    held = RunSlice(run, run.first + 1, run.first + 6)

    def explode_and_remove(batch: Batch) -> None:
        lookup = run.first + 3
        raw = run.member(lookup)
        assert raw is not None
        batch.explode(queue, lookup, raw)
        assert not batch.remove_slice(queue, held)
        world.core.dispositions.removed_parts(
            batch, queue, [held], MessageClass.ACK_RECEIVE, "reader"
        )

    world.core.submit(explode_and_remove, lambda: None, lambda error: pytest.fail(str(error)))
    world.commit()
    assert world.bodies(queue) == ["a", "g", "h"]
    assert queue.messages == 3
    check(world)


def test_bytes_are_counted_over_several_runs_and_single_messages(world: World) -> None:
    queue = world.queue()
    world.send(queue, *letters())
    world.send(queue, *letters(first=20))
    world.send(queue, letter("x", number=40))
    entries = world.done(world.receiver.peek(queue, 100, OWNER, wait=False))
    sizes = [len(entry.packet) for entry in entries]
    assert len(sizes) == world.count("arrived") == 17
    for count in range(1, 18):
        for spare in (0, sizes[0] - 1):
            limit = sum(sizes[:count]) + (spare if count < 17 else 0)
            found = world.receiver.peek(queue, 100, OWNER, wait=False, size_max=limit)
            assert world.done(found) == entries[:count]
    assert world.done(world.receiver.peek(queue, 9, OWNER, wait=False)) == entries[:9]
    assert world.done(world.receiver.peek(queue, 9, OWNER, wait=False, size_max=1)) == entries[:1]


@pytest.mark.parametrize(("first", "fits"), [(U32_MAX - 8, True), (U32_MAX - 7, False)])
def test_identifiers_of_a_run_do_not_begin_again(world: World, *, first: int, fits: bool) -> None:
    queue = world.queue()
    packets = [message.packet for message in letters()]
    numbers = ((first + n & U32_MAX).to_bytes(4, "little") for n in range(8))
    packets = [p[:56] + number + p[60:] for p, number in zip(packets, numbers, strict=True)]
    assert may_be_run(queue, packets, 0) is fits
    assert may_be_run(queue, packets, Owed.TRANSACTIONAL) is fits
    assert not may_be_run(queue, packets, Owed.JOURNAL)


def test_messages_of_other_sources_are_no_run(world: World) -> None:
    queue = world.queue()
    packets = [message.packet for message in letters()]
    assert may_be_run(queue, packets, 0)
    others = [*packets[:-1], packets[-1][:16] + bytes(16) + packets[-1][32:]]
    assert not may_be_run(queue, others, 0)


@pytest.fixture
def several(world: World) -> tuple[World, int, list[int], int]:
    """Two runs of eight messages and one alone: their queue and lookups, and the size of each."""
    queue = world.queue()
    world.send(queue, *letters())
    world.send(queue, *letters(first=20))
    world.send(queue, letter("x", number=40))
    sizes = {len(message.packet) for message in letters()}
    assert [run.left for run in runs(world)] == [8, 8]
    return world, queue.number, world.lookups(queue), sizes.pop()


def test_messages_are_taken_out_of_all_their_runs_at_once(
    several: tuple[World, int, list[int], int],
) -> None:
    world, queue, lookups, size = several
    changed = RunRows(world.core.store.begin())
    asked = [lookups[place] for place in (9, 16, 0, 7, 8)]
    assert changed.missing(queue, asked) == [lookups[16]]
    assert changed.remove(queue, asked) == (4, 4 * size, [lookups[16]])
    assert changed.missing(queue, asked) == sorted(asked)
    assert changed.remove(queue, asked) == (0, 0, sorted(asked))
    left = [changed.member(queue, lookup) is not None for lookup in lookups[6:11]]
    assert left == [True, *[False] * 3, True]
    world.core.store.abort()


def test_consecutive_messages_are_taken_out_of_one_run_together_or_not_at_all(
    several: tuple[World, int, list[int], int],
) -> None:
    world, queue, lookups, size = several
    changed = RunRows(world.core.store.begin())
    end = lookups[7] + 1
    assert changed.remove_all(queue, lookups[5], end + 1) == 0, "one is in the next run"
    assert changed.remove_all(queue, lookups[16], lookups[16] + 1) == 0, "it is in none"
    assert changed.missing(queue, lookups[:16]) == []
    assert changed.remove_all(queue, lookups[5], end) == 3 * size
    assert changed.remove_all(queue, lookups[4], lookups[5] + 1) == 0, "one is gone"
    assert changed.missing(queue, lookups[:16]) == lookups[5:8]
    world.core.store.abort()


# Messages to other managers

THERE = r"DIRECT=OS:there\private$\q"
LIFETIME = 300
MESSAGES = [Message(b"x" * n, time_to_reach_queue=LIFETIME, recoverable=True) for n in range(8)]


class Office(Manager):
    """A manager with an outgoing queue."""

    @property
    def out(self) -> ManagedQueue:
        return self.open(THERE)

    @property
    def runs(self) -> list[MessageRun]:
        rows = self.local.snapshot.scan(Table.RUNS, b"", b"\xff" * 12)
        return [MessageRun.unpack(key, row) for key, row in rows]

    def rows(self, table: Table) -> list[bytes]:
        return [key for key, _ in self.local.snapshot.scan(table, b"", b"\xff" * 17)]

    def take(self, count: int) -> list[Entry]:
        return self.local.dispatcher.take(self.out, count, 1 << 20, PARTNER)

    def events(self, identifier: str) -> list[str]:
        return [event.event for event in self.local.explain(identifier)]


@pytest.fixture
def office() -> Office:
    """A manager without messages."""
    return Office()


def send_in(office: Office, *messages: Message) -> list[str]:
    return office.send_in(office.out, *messages)


@pytest.mark.parametrize("in_transaction", [False, True])
@pytest.mark.parametrize("lifetime", [LIFETIME, None])
def test_they_have_one_row_and_one_lifetime(
    office: Office, *, in_transaction: bool, lifetime: int | None
) -> None:
    messages = [Message(message.body, time_to_reach_queue=lifetime) for message in MESSAGES]
    send = office.send_in if in_transaction else office.send
    send(office.out, *messages)
    [run] = office.runs
    assert run.count == 8
    assert not office.rows(Table.INDEX)
    [key] = office.rows(Table.EXPIRY)
    assert key == run.expiry_key
    assert split_expiry_key(key)[2] == run.first | RUN_BIT
    packets = [entry.packet for entry in office.take(100)]
    reach = office.local.settings.time_to_reach_queue if lifetime is None else lifetime
    assert [PacketView(packet).time_to_reach_queue for packet in packets] == [reach] * 8


def test_those_in_a_transaction_have_numbers_in_a_sequence(office: Office) -> None:
    send_in(office, *MESSAGES[:5])
    send_in(office, *MESSAGES)
    [sequence] = office.out.sequences.all
    numbers = [PacketView(entry.packet).message().transaction for entry in office.take(100)]
    places = [(one.tx_sequence_number, one.previous_tx_sequence_number) for one in numbers if one]
    assert places == [(n, n - 1) for n in range(1, 14)]
    assert {one.tx_sequence_id for one in numbers if one} == {sequence.identifier}


def test_what_is_acknowledged_leaves_and_the_sequence_ends_with_the_last(office: Office) -> None:
    ids = send_in(office, *MESSAGES)
    office.take(100)
    [sequence] = office.out.sequences.all
    office.local.confirmations.acknowledged(office.out, sequence, 5)
    commit_all(office.local)
    assert [run.left for run in office.runs] == [3]
    assert office.out.sequences.all == [sequence]
    assert office.events(ids[4])[-1] == Event.DELIVERED.word
    assert office.events(ids[5])[-1] == Event.ARRIVED.word
    office.local.confirmations.acknowledged(office.out, sequence, 8)
    commit_all(office.local)
    assert not office.runs
    assert not office.rows(Table.EXPIRY)
    assert not office.rows(Table.PACKETS)
    assert not office.out.sequences.all


def test_all_of_them_expire_together_but_for_those_that_are_sent(office: Office) -> None:
    ids = office.send(office.out, *MESSAGES)
    entries = office.take(3)
    office.tick(LIFETIME + 1)
    assert [run.left for run in office.runs] == [3]
    assert office.rows(Table.EXPIRY) == [run.expiry_key for run in office.runs]
    assert [office.events(one)[-1] for one in ids[2:4]] == [Event.ARRIVED.word, Event.EXPIRED.word]
    office.done(office.local.dispatcher.delivered(office.out, entries[:2]))
    assert [run.left for run in office.runs] == [1]
    office.local.dispatcher.take_back(office.out)
    office.tick()
    assert not office.runs
    assert not office.rows(Table.EXPIRY)
    assert office.events(ids[2])[-1] == Event.EXPIRED.word


def test_many_runs_expire_in_several_steps(office: Office) -> None:
    for _ in range(3):
        office.send(office.out, *MESSAGES[:4] * 200)
    assert [run.left for run in office.runs] == [800] * 3
    office.clock.wait(LIFETIME + 1)
    office.local.advance(office.local.clock.now(), office.local.clock.elapsed())
    left = []
    while office.local.wants_commit:
        commit(office.local)
        left.append(office.out.messages)
    assert left == [1600, 800, 0]
    assert not office.rows(Table.EXPIRY)


def test_a_run_of_which_little_is_left_keeps_the_lifetime_of_that(office: Office) -> None:
    office.send(office.out, *MESSAGES)
    office.done(office.local.dispatcher.delivered(office.out, office.take(7)))
    office.tick(100)
    assert not office.runs
    [key] = office.rows(Table.EXPIRY)
    assert not split_expiry_key(key)[2] & RUN_BIT
    office.tick(LIFETIME)
    assert office.out.messages == 0
    assert not office.rows(Table.EXPIRY)


@pytest.mark.parametrize(
    "name", ["DIRECT=HTTP://there/msmq/private$/q", "MULTICAST=234.1.1.1:8001"]
)
def test_what_leaves_one_by_one_is_not_a_run(office: Office, name: str) -> None:
    queue = office.local.queues.outgoing(parse_format_name(name))
    office.send(queue, *MESSAGES)
    assert not office.runs
    assert len(office.rows(Table.EXPIRY)) == 8


def test_they_are_there_after_a_restart_and_purged(office: Office) -> None:
    send_in(office, *MESSAGES)
    office.take(3)
    again = Office(office.store.committed, now=office.clock.time + 1)
    [run] = again.runs
    assert [entry.lookup for entry in again.take(3)] == list(range(run.first, run.first + 3))
    again.local.dispatcher.take_back(again.out)
    again.done(again.local.queue_lifecycle.purge(again.out))
    assert not again.runs
    assert not again.rows(Table.EXPIRY)
    assert not again.rows(Table.PACKETS)


@pytest.mark.parametrize("count", [COUNT_MIN - 1, COUNT_MIN])
def test_few_messages_have_rows_of_their_own(world: World, count: int) -> None:
    queue = world.queue()
    world.send(queue, *letters()[:count])
    assert len(runs(world)) == (count == COUNT_MIN)
    assert world.bodies(queue) == BODIES[:count]
