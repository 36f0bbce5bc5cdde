"""What is known about a queue, as a value."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import pytest
from tests.unit.engine.world import NOW, World

from openmsmq.engine.queues.holds import Holder
from openmsmq.engine.queues.info import BEFORE_ALL, path_name, queue_info, queue_infos, queue_page
from openmsmq.engine.queues.queue import ManagedQueue, journal_of
from openmsmq.engine.subscriptions.reservations import Reservations
from openmsmq.engine.subscriptions.subscription import SubscriptionMode
from openmsmq.names.format import parse_format_name
from openmsmq.types.access import Mode
from openmsmq.types.queues import QueueInfo, QueueKind, by_name

ELSEWHERE = "DIRECT=OS:other\\private$\\orders"


def info(world: World, queue: ManagedQueue) -> QueueInfo:
    return queue_info(queue, world.core)


def test_properties_are_shown_as_callers_give_them() -> None:
    world = World()
    queue = world.queue("private$\\orders", transactional=True, journal=True, quota=5, label="x")
    shown = info(world, queue)
    assert shown.name == ".\\private$\\orders"
    assert shown.id == queue.properties.id
    assert (shown.transactional, shown.journal, shown.quota, shown.label) == (True, True, 5, "x")
    assert (shown.created, shown.modified) == (NOW, NOW)
    assert shown.format_name == f"PRIVATE={world.core.identity}\\{queue.number:08x}"


def test_queues_of_the_system_are_named_as_programs_reach_them() -> None:
    world = World()
    shown = info(world, world.core.queues.dead_letter)
    assert shown.format_name == "DIRECT=OS:.\\SYSTEM$;DEADLETTER"


def test_no_quota_is_none() -> None:
    world = World()
    assert info(world, world.queue("a")).quota is None
    assert info(world, world.queue("b", quota=0, journal_quota=7)).quota == 0
    assert info(world, world.queue("c", journal_quota=7)).journal_quota == 7


def test_messages_of_every_kind_count_until_they_are_gone() -> None:
    """Those that readers hold too, but not those of open transactions."""
    world = World()
    queue = world.queue()
    world.send(queue, "abc")
    world.send(queue, "de", express=True)
    world.receive(queue, holder=Holder())
    assert (info(world, queue).messages, info(world, queue).bytes) == (2, 5)
    ledger = world.queue("ledger", transactional=True)
    world.send(ledger, "x", transaction=world.transactions.begin())
    assert (info(world, ledger).messages, info(world, ledger).bytes) == (0, 0)


def test_it_is_a_value_of_one_moment() -> None:
    world = World()
    queue = world.queue()
    before = info(world, queue)
    assert before == info(world, queue)
    world.send(queue, "a")
    assert before.messages == 0
    assert before != info(world, queue)
    with pytest.raises(FrozenInstanceError):
        before.label = "x"  # type: ignore[misc]  # that it is refused is the point


def test_a_queue_is_active_while_it_is_open() -> None:
    """DMPR-040."""
    world = World()
    queue = world.queue()
    assert info(world, queue).state == "inactive"
    world.core.queues.open(queue, Mode())
    assert info(world, queue).state == "active"
    world.core.queues.close(queue, Mode(), object())
    assert info(world, queue).state == "inactive"


def test_the_state_of_an_outgoing_queue_is_that_of_its_transfer() -> None:
    world = World()
    queue = world.core.queues.outgoing(parse_format_name(ELSEWHERE))
    assert queue.transfer is not None
    assert info(world, queue).state == "inactive"
    queue.transfer.pause()
    assert info(world, queue).state == "on hold"
    assert info(world, queue).format_name == info(world, queue).name == ELSEWHERE


def test_the_age_is_that_of_the_oldest_message_whatever_its_priority() -> None:
    world = World()
    queue = world.queue()
    assert info(world, queue).oldest_age is None
    world.send(queue, "old", priority=0)
    world.core.advance(NOW + 60, 60)
    world.send(queue, "new", priority=7)
    world.send(queue, "newer", priority=7, express=True)
    assert info(world, queue).oldest_age == 60
    world.core.advance(NOW - 60, 60)
    assert info(world, queue).oldest_age == 0, "a clock that was put back makes none from tomorrow"


def test_what_is_in_the_journal_is_reported_with_its_queue() -> None:
    world = World()
    queue = world.queue(journal=True)
    world.send(queue, "abc")
    world.receive(queue)
    shown = info(world, queue)
    assert (shown.messages, shown.journal_messages, shown.journal_bytes) == (0, 1, 3)


def test_everything_is_all_but_the_hidden_queues_and_empty_journals() -> None:
    world = World()
    queue = world.queue("private$\\a", journal=True)
    quiet = world.queue("private$\\b")
    journal_of(quiet)
    world.send(queue, "x")
    world.receive(queue)
    world.core.queues.open(world.core.queues.subqueue(queue, "retry"), Mode())
    names = [shown.name for shown in queue_infos(world.core, everything=True)]
    assert names == [
        ".\\private$\\a",
        ".\\private$\\b",
        ".\\DeadLetter$",
        ".\\Journal$",
        ".\\Refused$",
        ".\\XactDeadLetter$",
        ".\\private$\\a;retry",
        ".\\private$\\a\\Journal$",
    ]
    assert len(queue_infos(world.core, everything=False)) == 2


def test_messages_that_reached_their_queue_are_not_reported_as_a_queue_of_their_own() -> None:
    """They belong to the outgoing queue that they left through."""
    world = World()
    journal_of(world.core.queues.outgoing(parse_format_name(ELSEWHERE))).messages = 1
    shown = queue_infos(world.core, everything=True)
    assert [(one.name, one.journal_messages) for one in shown if one.kind == "outgoing"] == [
        (ELSEWHERE, 1)
    ]
    assert "unconfirmed" not in [one.kind for one in shown]


def test_what_a_subscription_was_given_is_not_reported_as_a_queue() -> None:
    world = World()
    queue = world.queue("private$\\a")
    world.done(Reservations(world.core).open("lake", queue, SubscriptionMode.TAKE))
    assert "reserved" not in [one.kind for one in queue_infos(world.core, everything=True)]


@pytest.mark.parametrize("count", [1, 2, 3, 100])
def test_pages_together_have_all_of_them_once(count: int) -> None:
    world = World()
    for number in range(7):
        queue = world.queue(f"private$\\q{6 - number}", journal=True)
    world.send(queue, "x")
    world.receive(queue)
    world.done(world.core.queue_lifecycle.delete(world.core.queues.find("private$\\q3")))
    for everything in (False, True):
        found: list[QueueInfo] = []
        after: int | None = BEFORE_ALL
        while after is not None:
            page, after = queue_page(world.core, everything=everything, after=after, count=count)
            assert len(page) <= 2 * count, "a queue and its journal"
            found += page
        assert by_name(found) == queue_infos(world.core, everything=everything)
        assert len({info.name for info in found}) == len(found) == (11 if everything else 6)


def test_what_comes_and_goes_between_pages_moves_nothing_else() -> None:
    world = World()
    for name in "abcd":
        world.queue(name)
    first, after = queue_page(world.core, everything=False, after=BEFORE_ALL, count=6)
    assert after is not None
    world.done(world.core.queue_lifecycle.delete(world.core.queues.find("a")))
    world.queue("0")
    rest, end = queue_page(world.core, everything=False, after=after, count=100)
    names = [info.name for info in first + rest]
    assert end is None
    assert sorted(set(names) - {".\\a"}) == [".\\0", ".\\b", ".\\c", ".\\d"]
    assert len(names) == len(set(names))


def test_several_destinations_are_called_by_their_format_name() -> None:
    world = World()
    queue = world.queue()
    name = f"{ELSEWHERE},DIRECT=OS:.\\private$\\q"
    several = ManagedQueue(0, queue.properties.changed(NOW, name=name, kind=QueueKind.MULTIPLE))
    assert path_name(several) == info(world, several).format_name == name
