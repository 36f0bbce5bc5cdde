"""The queues of a manager: found, made, changed, deleted with all that belongs to them."""

from __future__ import annotations

import pytest
from tests.unit.engine.world import (
    HERE,
    ME,
    NOW,
    OWNER,
    READER,
    World,
    commit_all,
    letter,
    message,
)

from openmsmq.engine.core import Core
from openmsmq.engine.queues.queue import ManagedQueue, Purpose, journal_of
from openmsmq.engine.queues.system import NAMES
from openmsmq.engine.storage.layout import JOURNAL_BIT
from openmsmq.engine.storage.tables import Table
from openmsmq.errors import (
    QueueNotFound,
    QueueQuotaExceeded,
    SharingViolation,
    UnsupportedFormatNameOperation,
)
from openmsmq.names.format import parse_format_name
from openmsmq.store.memory import MemoryStore
from openmsmq.types.access import Access, Mode, Share
from openmsmq.types.lookup import ranges_of
from openmsmq.types.queues import QueueKind

THERE = parse_format_name("DIRECT=OS:there\\private$\\orders")


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def queue(world: World) -> ManagedQueue:
    return world.queue()


def names(world: World) -> list[str]:
    return [found.name for found in world.core.queues]


def kinds(world: World, kind: QueueKind) -> list[str]:
    return [found.name for found in world.core.queues.everything if found.kind is kind]


# Finding


def test_queues_are_found_by_name_and_number(world: World, queue: ManagedQueue) -> None:
    assert world.find("Q") is queue
    assert world.core.queues.get(queue.number) is queue
    assert world.core.queues.get(999) is None
    assert names(world) == ["q"]


def test_a_journal_is_found_through_its_queue(world: World, queue: ManagedQueue) -> None:
    """DMPR-117."""
    journal = world.find("q;journal")
    assert journal is journal_of(queue)
    assert (journal.kind, journal.parent) == (QueueKind.JOURNAL, queue)
    assert world.core.queues.get(queue.number | JOURNAL_BIT) is journal
    assert world.core.queues.get(999 | JOURNAL_BIT) is None
    assert names(world) == ["q"]
    assert kinds(world, QueueKind.JOURNAL) == ["q;JOURNAL"]


def test_a_subqueue_has_no_journal(world: World, queue: ManagedQueue) -> None:
    """DMPR-118."""
    world.core.queues.open(world.subqueue(queue), Mode())
    for name in ("q;retry;JOURNAL", "nowhere;JOURNAL", "SYSTEM$;DEADLETTER;JOURNAL"):
        with pytest.raises(QueueNotFound):
            world.find(name)


def test_the_queues_of_people_are_listed_and_no_others(world: World, queue: ManagedQueue) -> None:
    world.queue("b", kind=QueueKind.PUBLIC)
    world.subqueue(queue)
    world.core.queues.outgoing(THERE)
    journal_of(queue)
    assert names(world) == ["b", "q"]
    assert len(world.core.queues.everything) == len(NAMES) + 5


# Kinds


@pytest.mark.parametrize("kind", [QueueKind.PRIVATE, QueueKind.PUBLIC])
def test_the_kind_of_a_queue_survives_a_restart(world: World, kind: QueueKind) -> None:
    """DMPR-041."""
    world.queue(kind=kind)
    assert world.restart().find().kind is kind
    assert world.restart().find("SYSTEM$;JOURNAL").kind is QueueKind.SYSTEM


# Subqueues


def test_a_subqueue_appears_when_it_is_opened_and_goes_when_it_is_closed(
    world: World, queue: ManagedQueue
) -> None:
    """DMPR-403."""
    sub = world.subqueue(queue, "Retry")
    assert (sub.name, sub.kind, sub.main) == ("q;Retry", QueueKind.SUBQUEUE, queue)
    assert world.subqueue(queue, "RETRY") is sub
    world.core.queues.open(sub, Mode())
    commit_all(world.core)
    assert world.find("q;retry") is sub
    world.core.queues.close(sub, Mode(), OWNER)
    assert sub.deleted
    assert queue.subqueues == {}
    with pytest.raises(QueueNotFound):
        world.find("q;retry")
    assert not world.core.wants_commit
    again = world.subqueue(queue)
    assert again.number > sub.number


def test_a_subqueue_that_goes_does_not_take_its_namesake_with_it(
    world: World, queue: ManagedQueue
) -> None:
    old = world.subqueue(queue)
    queue.subqueues.clear()
    new = world.subqueue(queue)
    new.pins = 1
    world.core.queues.tidy()
    assert old.deleted
    assert list(queue.subqueues.values()) == [new]


def test_a_subqueue_with_messages_stays(world: World, queue: ManagedQueue) -> None:
    """Through a restart too, and goes with the last of them (DMPR-403)."""
    world.send(queue, "a", "b")
    for lookup in world.lookups(queue):
        world.move(queue, lookup, world.subqueue(queue))
    again = world.restart()
    queue = again.find()
    sub = again.find("q;retry")
    assert (list(queue.subqueues.values()), sub.parent) == ([sub], queue)
    assert (sub.messages, sub.kind) == (2, QueueKind.SUBQUEUE)
    assert again.receive(sub) == ["a"]
    assert not sub.deleted
    assert again.receive(sub) == ["b"]
    assert sub.deleted
    commit_all(again.core)
    assert not again.rows(Table.INDEX)
    assert list(again.restart().find().subqueues) == []


def test_a_subqueue_that_someone_reads_in_two_steps_stays(
    world: World, queue: ManagedQueue
) -> None:
    world.send(queue, "a")
    sub = world.subqueue(queue)
    world.move(queue, world.lookups(queue)[0], sub)
    (entry,) = world.take(sub, 1, READER)
    world.send(queue, "b")
    assert not sub.deleted
    world.done(world.receiver.end(sub, ranges_of([entry.lookup]), READER, delete=True))
    commit_all(world.core)
    assert sub.deleted


def test_a_subqueue_with_express_messages_stays_as_long_as_these(
    world: World, queue: ManagedQueue
) -> None:
    world.send(queue, "a", express=True)
    sub = world.subqueue(queue)
    world.move(queue, world.lookups(queue)[0], sub)
    world.send(queue, "b")
    assert world.receive(sub) == ["a"]
    world.send(queue, "c")
    assert sub.deleted
    assert list(world.restart().find().subqueues) == []


def test_it_has_the_properties_of_its_queue(world: World) -> None:
    """Now and later (A-05)."""
    queue = world.queue(transactional=True, label="x", base_priority=5)
    sub, journal = world.subqueue(queue), journal_of(queue)
    world.core.queues.open(sub, Mode())
    assert (sub.properties.transactional, sub.properties.label) == (True, "x")
    assert sub.properties.id != queue.properties.id
    world.done(
        world.core.queue_lifecycle.change(queue, NOW + 5, {"label": "y", "journal_quota": 7})
    )
    assert (sub.properties.label, sub.name, sub.kind) == ("y", "q;retry", QueueKind.SUBQUEUE)
    assert (journal.properties.quota, journal.name, journal.kind) == (
        7,
        "q;JOURNAL",
        QueueKind.JOURNAL,
    )


def test_its_messages_count_against_the_quota_of_its_queue(world: World) -> None:
    """DMPR-403."""
    queue = world.queue(quota=1)
    world.send(queue, message(b"x" * 600))
    world.move(queue, world.lookups(queue)[0], world.subqueue(queue))
    assert (queue.total_size, queue.quota_size) == (0, 600)
    with pytest.raises(QueueQuotaExceeded):
        world.enqueuer.send(queue, [message(b"y" * 500)])
    world.send(queue, message(b"y" * 400))


@pytest.mark.parametrize("kind", ["subqueue", "journal", "system", "outgoing"])
def test_only_queues_of_people_have_subqueues(world: World, queue: ManagedQueue, kind: str) -> None:
    parents = {
        "subqueue": world.subqueue(queue),
        "journal": journal_of(queue),
        "system": world.core.queues.dead_letter,
        "outgoing": world.core.queues.outgoing(THERE),
    }
    with pytest.raises(UnsupportedFormatNameOperation):
        world.subqueue(parents[kind])


# Outgoing queues


def test_there_is_one_outgoing_queue_for_each_destination(world: World) -> None:
    """Whatever the case of its name (DMPR-161, DMPR-171)."""
    queue = world.core.queues.outgoing(THERE)
    assert (queue.kind, queue.name, queue.properties.label) == (
        QueueKind.OUTGOING,
        str(THERE),
        queue.name,
    )
    assert queue.transfer is not None
    assert queue.transfer.next_hops == ()
    assert str(queue.transfer.state) == "inactive"
    same = parse_format_name("DIRECT=OS:THERE\\PRIVATE$\\ORDERS")
    assert world.core.queues.outgoing(same) is queue
    other = parse_format_name("DIRECT=OS:there\\private$\\others")
    assert world.core.queues.outgoing(other) is not queue


def test_it_survives_a_restart_with_its_messages(world: World) -> None:
    """DMPR-046, DMPR-171."""
    queue = world.core.queues.outgoing(THERE)
    world.send(queue, "a")
    world.send(queue, "b", express=True)
    again = world.restart()
    found = again.core.queues.outgoing(THERE)
    assert (found.number, found.name, found.properties.label) == (
        queue.number,
        str(THERE),
        str(THERE),
    )
    assert again.read(found) == ["a"]
    assert found.transfer is not None
    again.receive(found)
    commit_all(again.core)
    assert found.deleted
    assert kinds(again.restart(), QueueKind.OUTGOING) == []
    assert not again.rows(Table.QUEUES)


def test_its_number_is_not_given_again(world: World) -> None:
    queue = world.core.queues.outgoing(THERE)
    world.send(queue, "a")
    assert world.restart().queue().number > queue.number


def test_it_goes_when_no_one_uses_it(world: World) -> None:
    queue = world.core.queues.outgoing(THERE)
    world.core.queues.open(queue, Mode())
    commit_all(world.core)
    world.core.queues.close(queue, Mode(), OWNER)
    assert queue.deleted
    assert kinds(world, QueueKind.OUTGOING) == []


def test_a_long_name_has_a_shorter_label(world: World) -> None:
    name = parse_format_name("DIRECT=OS:there\\private$\\" + "x" * 120)
    assert world.core.queues.outgoing(name).properties.label == str(name)[:124]


def test_what_a_transaction_sends_keeps_it(world: World) -> None:
    """Until the outcome is known, and through a restart."""
    queue = world.core.queues.outgoing(THERE)
    transaction = world.transactions.begin("xid")
    world.send(queue, letter("a", transactional=True), transaction=transaction)
    world.queue()
    assert not queue.deleted
    world.done(world.transactions.prepare(transaction))
    again = world.restart()
    again.queue("other")
    again.done(again.transactions.commit(again.core.prepared["xid"]))
    assert len(again.views(again.core.queues.outgoing(THERE))) == 1
    world.done(world.transactions.abort(transaction))
    commit_all(world.core)
    assert queue.deleted
    assert kinds(world.restart(), QueueKind.OUTGOING) == []


def test_names_are_local_or_lead_elsewhere(world: World, queue: ManagedQueue) -> None:
    queues = world.core.queues
    assert queues.for_sending(parse_format_name(HERE + "q")) is queue
    assert queues.for_sending(THERE) is None
    assert queues.outgoing(THERE).kind is QueueKind.OUTGOING
    with pytest.raises(QueueNotFound):
        queues.for_sending(parse_format_name(HERE + "nowhere"))
    with pytest.raises(UnsupportedFormatNameOperation):
        queues.for_sending(parse_format_name(HERE + "q;JOURNAL"))


def test_without_a_naming_every_name_leads_elsewhere() -> None:
    fresh = Core(MemoryStore(), new_identity=ME)
    assert fresh.queues.for_sending(parse_format_name(HERE + "q")) is None


# Deleting


def full(world: World) -> tuple[ManagedQueue, ManagedQueue, ManagedQueue]:
    """A queue with messages, a subqueue with some, a journal with some."""
    queue = world.queue(journal=True)
    world.send(queue, letter("received"), letter("moved"), letter("left"))
    world.send(queue, letter("express", express=True))
    world.take(queue)
    sub = world.subqueue(queue)
    world.move(queue, world.lookups(queue)[0], sub)
    return queue, sub, journal_of(queue)


# Purging parts


def test_queues_are_listed_by_name_and_found_whatever_the_case(world: World) -> None:
    for name in ("b", "a", "C"):
        world.queue(name)
    assert names(world) == ["a", "b", "C"]
    assert world.core.queues.find("c").properties.name == "C"


def test_an_unknown_queue_is_not_found(world: World) -> None:
    """DMPR-156."""
    with pytest.raises(QueueNotFound) as info:
        world.core.queues.find("nowhere")
    assert info.value.hresult == 0xC00E0003


def test_handles_share_a_queue_as_they_were_opened(world: World) -> None:
    """DMPR-169, DMPR-170, DMPR-176."""
    queue = world.queue()
    lone = Mode(Access.RECEIVE, Share.DENY_RECEIVE)
    world.core.queues.open(queue, lone)
    with pytest.raises(SharingViolation):
        world.core.queues.open(queue, Mode())
    assert queue.modes == [lone]
    world.core.queues.open(queue, Mode(Access.SEND))
    world.core.queues.close(queue, lone, OWNER)
    assert queue.modes == [Mode(Access.SEND)]
    world.core.queues.open(queue, Mode())


def test_closing_the_handle_of_a_deleted_queue_is_harmless(world: World) -> None:
    """DMPR-172."""
    queue = world.queue()
    world.core.queues.open(queue, Mode())
    world.done(world.core.queue_lifecycle.delete(queue))
    world.core.queues.close(queue, Mode(), OWNER)
    assert not queue.modes


@pytest.mark.parametrize("is_sideways", [True, False])
def test_messages_of_others_have_outgoing_queues_of_their_own(
    world: World, *, is_sideways: bool
) -> None:
    own = world.core.queues.outgoing(THERE)
    found = world.core.queues.forwarding(THERE, is_sideways=is_sideways)
    assert found is not own
    assert found is world.core.queues.forwarding(THERE, is_sideways=is_sideways)
    expected = Purpose.FORWARD_NEARER if is_sideways else Purpose.FORWARD
    assert found.properties.purpose is expected
