"""Starting on what an earlier process has left."""

from __future__ import annotations

from uuid import UUID

import pytest
from tests.unit.engine.world import MANY, NOW, OWNER, PARTNER, World, commit, letter, message

from openmsmq.engine.arrivals.incoming import INCOMING, RESTORED_KEY, IncomingSequence
from openmsmq.engine.commit.number_reservation import (
    ARRIVAL_BLOCK,
    MESSAGE_ID_BLOCK,
)
from openmsmq.engine.core import Core
from openmsmq.engine.outgoing.sequence_numbers import RESTORE_STEP
from openmsmq.engine.queues import purge as emptying
from openmsmq.engine.queues.holds import Holder
from openmsmq.engine.queues.system import FIRST_QUEUE_NUMBER, NAMES
from openmsmq.engine.storage import recovery
from openmsmq.engine.storage.layout import queue_key
from openmsmq.engine.storage.recovery import IDENTITY_KEY, RESTORING_KEY, load
from openmsmq.engine.storage.settings import SETTINGS_KEY, settings_row
from openmsmq.engine.storage.tables import Table
from openmsmq.engine.transactions.transaction import SPILL_SIZE
from openmsmq.errors import StorageFailed
from openmsmq.names.format import parse_format_name
from openmsmq.store.memory import Crash, MemoryStore
from openmsmq.types.lookup import ARRIVAL_MASK
from openmsmq.types.settings import Settings

ME, OTHER = UUID(int=1), UUID(int=2)


def test_a_new_store_gets_an_identity_that_stays() -> None:
    """DMPR-004."""
    store = MemoryStore()
    assert load(store, ME, NOW).identity == ME
    assert store.snapshot.get(Table.META, IDENTITY_KEY) == ME.bytes
    assert load(MemoryStore(store.committed), OTHER, NOW).identity == ME


def test_a_new_store_is_empty_and_its_numbers_begin() -> None:
    found = load(MemoryStore(), ME, NOW)
    assert found.queues.keys() == NAMES.keys()
    assert (found.prepared, found.emptying, found.starts) == ([], [], [NOW])
    assert (found.numbers.packet, found.numbers.arrival, found.numbers.message_id) == (1, 0, 0)
    assert (found.numbers.arrival_end, found.numbers.message_id_end) == (
        ARRIVAL_BLOCK,
        MESSAGE_ID_BLOCK,
    )


def test_messages_come_back_as_they_were() -> None:
    """DMPR-001, DMPR-061, DMPR-097, DMPR-391."""
    world = World()
    queue = world.queue("private$\\Orders", label="x", transactional=False)
    for number in range(20):
        world.send(queue, message(f"{number}" * 900, priority=number % 8, expires=NOW + number))
    world.receive(queue, 3)
    before = world.take(queue, MANY, Holder())
    again = World(world.store.committed)
    found = again.core.queues.find("PRIVATE$\\orders")
    assert again.take(found, MANY, Holder()) == before
    assert found.properties == queue.properties
    assert (found.number, found.messages, found.size) == (queue.number, queue.messages, queue.size)


def test_what_was_never_to_last_is_gone() -> None:
    """Express messages, handles, and reads that wait (DMPR-003, DMPR-114)."""
    world = World()
    queue = world.queue()
    world.send(queue, "a", express=True)
    world.receive(queue)
    world.wait_receive(queue)
    found = world.restart().core.queues.find("q")
    assert not found.waiters
    assert not found.modes
    assert (found.messages, found.total_size) == (0, 0)


def test_messages_that_a_dead_reader_had_locked_are_readable() -> None:
    """DMPR-392."""
    world = World()
    queue = world.queue(transactional=True)
    world.fill(queue, *"abc")
    world.receive(queue, 1, Holder())
    world.receive(queue, 1, world.transactions.begin())
    world.receiver.receive(queue, 1, object(), wait=False)
    again = world.restart()
    assert again.read(again.core.queues.find("q")) == list("abc")


def test_a_purge_of_messages_that_a_dead_reader_had_locked_is_finished() -> None:
    """DMPR-137."""
    world = World()
    queue = world.queue()
    world.send(queue, *"abc")
    world.take(queue, 2, Holder())
    assert world.done(world.core.queue_lifecycle.purge(queue)) == 1
    again = world.restart()
    found = again.core.queues.find("q")
    assert again.read(found) == []
    again.send(found, "d")
    assert (again.read(found), found.messages) == (["d"], 1)
    assert len(again.rows(Table.INDEX)) == 1
    assert len(again.rows(Table.QUEUES)) == 2


def test_transactions_that_were_not_prepared_are_aborted() -> None:
    """Named ones too; nothing of them is left in the store (DMPR-388)."""
    world = World()
    queue = world.queue(transactional=True)
    world.fill(queue, "a")
    for xid in ("", "named"):
        transaction = world.transactions.begin(xid)
        world.send(queue, "x" * (SPILL_SIZE + 1), transaction=transaction)
    assert world.rows(Table.TRANSACTIONS)
    again = world.restart()
    assert again.read(again.core.queues.find("q")) == ["a"]
    assert not again.rows(Table.TRANSACTIONS)
    assert len(again.rows(Table.PACKETS)) == 1


def test_no_number_is_used_twice_whatever_was_lost() -> None:
    """Express messages leave no trace, yet their numbers are not met again (DMPR-053, DMPR-393)."""
    world = World()
    seen: set[int] = set()
    ids: list[int] = []
    for _ in range(3):
        queue = world.find() if list(world.core.queues) else world.queue()
        before = set(world.lookups(queue))
        world.send(queue, "a", "b")
        world.send(queue, "c", express=True)
        new = {lookup & ARRIVAL_MASK for lookup in set(world.lookups(queue)) - before}
        assert not new & seen
        assert not seen or min(new) > max(seen)
        seen |= new
        ids.append(world.core.numbers.message_id + 1)
        world.core.take_message_ids(10)
        ids.append(world.core.numbers.message_id)
        world = world.restart()
    assert ids == sorted(set(ids))


def test_after_a_restore_no_number_is_used_that_was_given_out_since_the_backup() -> None:
    """AMB-39: receivers would drop a message with the number of one that they have seen."""
    store = MemoryStore()
    original = Core(store, new_identity=ME, now=NOW)
    seen = []
    for entropy in (b"1" * 16, b"2" * 16):
        copy = MemoryStore(store.committed)
        core = Core(copy, new_identity=ME, now=NOW, entropy=entropy, restored=True)
        seen.append(core.numbers.message_id & 0xFFFFFFFF)
        assert core.numbers.message_id_end > core.numbers.message_id
        assert core.numbers.arrival >= original.numbers.arrival_end + 1024 * ARRIVAL_BLOCK
        assert core.numbers.queue == original.numbers.queue + 1024
        again = Core(MemoryStore(copy.committed), new_identity=ME, now=NOW)
        assert again.numbers.message_id == core.numbers.message_id_end
        assert again.numbers.queue == core.numbers.queue
    assert len({*seen, original.numbers.message_id}) == 3


def test_rows_about_queues_that_this_version_does_not_know_are_left_alone() -> None:
    world = World()
    world.send(world.queue(), "a")
    disk = world.store.committed
    disk.tables[Table.QUEUES][queue_key(FIRST_QUEUE_NUMBER, 9)] = b"?"
    again = World(disk)
    assert again.read(again.core.queues.find("q")) == ["a"]


def test_a_history_that_is_not_wanted_any_more_is_gone_after_the_start() -> None:
    world = World()
    world.send(world.queue(), letter("a"))
    assert world.core.history.state.size
    world.store.begin().put(Table.META, SETTINGS_KEY, settings_row(Settings(history=0)))
    world.store.commit()
    again = World(world.store.committed)
    assert again.core.history.state.size == 0
    assert not again.rows(Table.HISTORY)


def test_a_start_that_fails_changes_nothing() -> None:
    """The one who started it is notified (DMPR-389)."""
    world = World()
    world.send(world.queue(), "a")
    disk = world.store.committed
    for write in range(1, 20):
        store = MemoryStore(disk)
        store.fail_at(write)
        try:
            load(store, OTHER, NOW)
        except Crash:
            assert store.committed == disk
        else:
            break
    else:
        pytest.fail("starting writes more than expected")
    assert write > 3


def test_queue_numbers_begin_above_those_of_built_in_queues_and_are_not_shared() -> None:
    """DMPR-035."""
    world = World()
    numbers = [world.queue(name).number for name in "abc"]
    assert numbers[0] == FIRST_QUEUE_NUMBER
    world = world.restart()
    numbers += [world.queue(name).number for name in "de"]
    assert len(set(numbers)) == 5


@pytest.mark.parametrize("commits", [0, 1, 2, 3, 4, 5])
def test_a_delete_that_a_crash_interrupted_is_finished(
    monkeypatch: pytest.MonkeyPatch, commits: int
) -> None:
    """DMPR-130, DMPR-132."""
    monkeypatch.setattr(emptying, "STEP", 2)
    world = World()
    queue, other = world.queue(), world.queue("other")
    world.send(queue, *"abcde")
    world.send(other, "o")
    world.core.queue_lifecycle.delete(queue)
    for _ in range(commits):
        if world.core.wants_commit:
            commit(world.core)
    again = world.restart()
    assert [known.properties.name for known in again.core.queues] == ["other"] + ["q"] * (
        not commits
    )
    new = again.queue("new")
    assert again.read(new) == []
    expected = 6 if not commits else 1
    assert len(again.rows(Table.INDEX)) == expected
    assert len(again.rows(Table.PACKETS)) == expected
    assert len(list(again.core.queues)) == (3 if not commits else 2)


def test_a_subqueue_that_a_disk_failed_to_release_does_not_outlive_its_queue() -> None:
    world = World()
    queue = world.queue()
    world.send(queue, "a")
    subqueue = world.subqueue(queue)
    world.move(queue, world.lookups(queue)[0], subqueue)
    world.receiver.receive(subqueue, 1, OWNER, wait=False)
    world.commit()
    assert subqueue.deleted
    world.commit(StorageFailed("broken"))  # which would have taken it off the disk
    world.done(world.core.queue_lifecycle.delete(queue))
    assert len(world.rows(Table.QUEUES)) == 2, "its properties and counters"
    again = world.restart()
    assert again.core.queues.get(subqueue.number) is None
    assert again.rows(Table.QUEUES) == {}


# After a restore


def test_after_a_restore_every_incoming_sequence_may_pass_over_a_gap_once() -> None:
    """Those that the backup does not know, too."""
    world = World()
    writer = world.store.begin()
    item = IncomingSequence(1, 7, NOW, 0, "192.0.2.9", "q", PARTNER.bytes_le)
    for at in range(3):
        writer.put(Table.TRANSFER, INCOMING + bytes([at]) * 24, item.pack())
    world.store.commit()
    core = World(world.store.committed, NOW + 9, restored=True).core
    assert [found.may_skip for found in core.incoming.items()] == [True] * 3
    assert all(found.place == (1, 7) for found in core.incoming.items())
    assert core.incoming.unknown.may_skip


def test_what_a_restore_allows_lasts_through_the_next_start() -> None:
    world = World(World().store.committed, NOW + 9, restored=True)
    again = world.restart()
    assert again.core.incoming.unknown.may_skip
    raw = again.store.snapshot.get(Table.META, RESTORED_KEY)
    assert raw is not None
    assert int.from_bytes(raw, "little") == NOW + 9


def test_a_store_that_was_put_back_from_a_backup_knows_it_at_its_next_start() -> None:
    """`openmsmq restore` leaves a mark, which is used up."""
    world = World()
    world.store.begin().put(Table.META, RESTORING_KEY, b"")
    world.store.commit()
    again = world.restart()
    assert again.core.incoming.unknown.may_skip
    assert again.store.snapshot.get(Table.META, RESTORING_KEY) is None
    assert again.store.snapshot.get(Table.META, RESTORED_KEY) is not None


def test_without_a_restore_nothing_may_be_passed_over() -> None:
    world = World().restart()
    assert not world.core.incoming.unknown.may_skip
    assert world.store.snapshot.get(Table.META, RESTORED_KEY) is None


@pytest.mark.parametrize("later", [-1000, 1000], ids=["clock behind", "clock ahead"])
def test_a_sender_that_was_restored_begins_streams_above_all_before(later: int) -> None:
    """AMB-20: else the receiver would refuse them for ever."""
    world = World()
    name = parse_format_name("DIRECT=OS:there\\q")
    world.send_in(world.core.queues.outgoing(name), letter("1", transactional=True))
    (old,) = world.core.queues.outgoing(name).sequences.all
    again = World(world.store.committed, NOW + later, restored=True)
    again.send_in(again.core.queues.outgoing(name), letter("2", transactional=True))
    first, second = again.core.queues.outgoing(name).sequences.all
    assert first.id == old.id
    behind = old.time_stamp + RESTORE_STEP + later + 1
    assert second.time_stamp == (behind if later < 0 else NOW + later)


def test_a_start_that_fails_leaves_the_store_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    """And open for the next one."""
    store = MemoryStore()
    load(store, ME, NOW)
    before = [dict(rows) for rows in store.committed.tables]

    def fail(*given: object) -> None:
        raise StorageFailed("gone")

    with monkeypatch.context() as patch:
        patch.setattr(recovery, "_drop_orphans", fail)
        with pytest.raises(StorageFailed):
            load(store, OTHER, NOW + 5)
    assert [dict(rows) for rows in store.committed.tables] == before
    assert load(store, OTHER, NOW + 9).starts == [NOW, NOW + 9]
