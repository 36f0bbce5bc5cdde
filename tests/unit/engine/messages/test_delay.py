"""Messages that cannot be read yet: hidden to the moment, and in no one's way."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from tests.unit.engine.carriers import FakeTransport
from tests.unit.engine.world import NOW, World, letter

from openmsmq.engine.commit.batch import NewMessage
from openmsmq.engine.messages import delay as delaying
from openmsmq.engine.messages.delay import RETRY
from openmsmq.engine.outgoing.transport import AddressKind
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.engine.storage.history import Event
from openmsmq.engine.storage.tables import Table
from openmsmq.errors import QueueQuotaExceeded, ReceiveTimeout, StorageFailed
from openmsmq.names.format import parse_format_name
from openmsmq.packet.view import PacketView
from openmsmq.properties.message import Acknowledge


def later(world: World, seconds: float, body: str = "late", **given: object) -> NewMessage:
    """A message that can be read in this many seconds."""
    due = world.core.timeline.millis + int(seconds * 1000)
    return letter(body, **given)._replace(due=due)  # type: ignore[arg-type] # as letter takes them


def post(world: World, queue: ManagedQueue, *messages: NewMessage) -> None:
    world.done(world.enqueuer.post(queue, list(messages)))


def test_a_message_is_hidden_until_it_is_due(world: World, queue: ManagedQueue) -> None:
    post(world, queue, later(world, 2.5))
    assert world.bodies(queue) == []
    assert queue.messages == 0
    assert queue.delayed is not None
    assert queue.delayed.messages == 1
    world.tick(2.499)
    assert world.bodies(queue) == []
    world.tick(0.001)
    assert world.bodies(queue) == ["late"]
    assert queue.delayed.messages == queue.delayed.size == 0
    assert world.rows(Table.DELAYED) == {}
    assert world.count("delayed") == 1


def test_the_core_says_to_the_moment_when_it_wants_to_be_called(
    world: World, queue: ManagedQueue
) -> None:
    assert world.core.next_deadline is None
    post(world, queue, later(world, 70.25), later(world, 5.25))
    assert world.core.next_deadline == pytest.approx(5.25)
    world.tick(5)
    assert world.core.next_deadline == pytest.approx(0.25)
    world.tick(0.25)
    assert world.core.next_deadline == pytest.approx(65)
    world.tick(65)
    assert world.core.next_deadline is None


def test_a_lifetime_may_end_before(world: World, queue: ManagedQueue) -> None:
    post(world, queue, later(world, 70), later(world, 90, expires=NOW + 10))
    assert world.core.next_deadline == pytest.approx(11)
    world.tick(11)
    assert queue.delayed is not None
    assert queue.delayed.messages == 1
    assert world.count("expired") == 1
    assert len(world.rows(Table.DELAYED)) == 1


def test_it_arrives_when_it_is_due_behind_those_that_came_before(
    world: World, queue: ManagedQueue
) -> None:
    late = later(world, 3)
    post(world, queue, late)
    world.send(queue, letter("now"))
    world.tick(3)
    assert world.bodies(queue) == ["now", "late"]
    assert [record.arrived_time for record in world.records(queue)] == [NOW, NOW + 3]
    assert world.reported(late)[:1] == [(Event.DELAYED, "q")]
    first = world.core.history.of(world.core.snapshot, PacketView(late.packet).identifier)[0]
    assert first.extra == f"{datetime.fromtimestamp(NOW + 3, UTC):%Y-%m-%d %H:%M:%S} UTC"
    assert (Event.ARRIVED, "q") in world.reported(late)


def test_a_reader_that_waits_gets_it(world: World, queue: ManagedQueue) -> None:
    pending = world.wait_receive(queue)
    post(world, queue, later(world, 3))
    assert not pending.done
    world.tick(3)
    assert len(pending.result()) == 1


def test_acknowledgements_come_with_its_arrival(world: World, queue: ManagedQueue) -> None:
    admin = world.queue("admin")
    asks = Acknowledge.POS_ARRIVAL
    post(world, queue, later(world, 3, acknowledge=asks, admin="DIRECT=OS:here\\admin"))
    assert admin.messages == 0
    world.tick(3)
    assert admin.messages == 1


def test_it_survives_a_restart(world: World, queue: ManagedQueue) -> None:
    post(world, queue, later(world, 5))
    again = world.restart(2)
    found = again.find()
    assert again.bodies(found) == []
    assert found.delayed is not None
    assert found.delayed.messages == 1
    assert again.core.next_deadline == pytest.approx(3)
    again.tick(3)
    assert again.bodies(found) == ["late"]


def test_what_was_due_meanwhile_comes_at_the_start(world: World, queue: ManagedQueue) -> None:
    post(world, queue, later(world, 5))
    again = world.restart(50)
    again.tick()
    assert again.bodies(again.find()) == ["late"]


@pytest.mark.parametrize("jump", [-3600, 3600])
def test_a_jump_of_the_clock_changes_nothing(world: World, queue: ManagedQueue, jump: int) -> None:
    post(world, queue, later(world, 10))
    world.tick(4, jump=jump)
    world.tick(5)
    assert world.bodies(queue) == []
    world.tick(1)
    assert world.bodies(queue) == ["late"]


def test_it_counts_against_the_quota(world: World) -> None:
    queue = world.queue(quota=1)
    post(world, queue, later(world, 5, "x" * 700))
    with pytest.raises(QueueQuotaExceeded):
        world.enqueuer.send(queue, [letter("x" * 700)])
    assert queue.delayed is not None
    assert world.core.total_size == queue.delayed.size > 700


def test_a_purge_takes_it(world: World, queue: ManagedQueue) -> None:
    post(world, queue, later(world, 5), later(world, 6))
    world.send(queue, letter("now"))
    assert world.done(world.core.queue_lifecycle.purge(queue)) == 3
    world.tick(10)
    assert world.bodies(queue) == []
    assert world.rows(Table.DELAYED) == world.rows(Table.PACKETS) == {}


def test_a_purge_that_begins_while_it_is_on_its_way_takes_it(
    world: World, queue: ManagedQueue
) -> None:
    post(world, queue, later(world, 5))
    world.pass_time(5)
    world.core.start_commit(world.store.begin())
    purged = world.core.queue_lifecycle.purge(queue)
    world.store.commit()
    world.core.finish_commit()
    assert world.done(purged) == 1
    assert world.bodies(queue) == []


def test_it_is_gone_with_its_queue(world: World, queue: ManagedQueue) -> None:
    post(world, queue, *(later(world, 5) for _ in range(400)))
    world.done(world.core.queue_lifecycle.delete(queue))
    world.tick(10)
    for table in (Table.DELAYED, Table.INDEX, Table.PACKETS):
        assert world.rows(table) == {}
    assert world.core.total_size == 0


def test_a_queue_that_could_not_be_deleted_gets_it(world: World, queue: ManagedQueue) -> None:
    post(world, queue, later(world, 5))
    deleting = world.core.queue_lifecycle.delete(queue)
    world.pass_time(5)
    world.commit(StorageFailed("broken"))
    assert deleting.error is not None
    world.tick(RETRY)
    assert world.bodies(queue) == ["late"]


def test_many_come_some_with_each_commit(
    world: World, queue: ManagedQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delaying, "STEP", 3)
    post(world, queue, *(later(world, 1, str(number)) for number in range(8)))
    world.pass_time(1)
    world.commit()
    assert queue.messages == 3
    world.tick()
    assert world.bodies(queue) == [str(number) for number in range(8)]


def test_what_comes_meanwhile_is_not_forgotten(world: World, queue: ManagedQueue) -> None:
    post(world, queue, later(world, 1))
    world.pass_time(1)
    world.core.start_commit(world.store.begin())
    sent = world.enqueuer.post(queue, [later(world, 3, "next")])
    world.store.commit()
    world.core.finish_commit()
    world.done(sent)
    assert world.core.next_deadline == pytest.approx(3)


def test_a_disk_that_fails_is_tried_again(world: World, queue: ManagedQueue) -> None:
    post(world, queue, later(world, 1))
    world.pass_time(1)
    world.commit(StorageFailed("broken"))
    assert world.core.next_deadline == pytest.approx(RETRY)
    world.tick(RETRY)
    assert world.bodies(queue) == ["late"]


def test_a_message_for_another_manager_waits_before_it_leaves(world: World) -> None:
    name = parse_format_name("DIRECT=OS:there\\private$\\x")
    queue = world.core.queues.outgoing(name)
    post(world, queue, later(world, 5))
    again = world.restart(1)
    found = again.core.queues.outgoing(name)
    assert found.messages == 0
    assert found.delayed is not None
    transport = FakeTransport()
    again.core.transports.add([AddressKind.BINARY], transport)
    again.tick(4)
    assert transport.reported[-1:] == [("ready", found)]
    assert again.bodies(found) == ["late"]


def test_an_outgoing_queue_from_which_the_last_waiting_message_went_is_gone(world: World) -> None:
    name = parse_format_name("DIRECT=OS:there\\private$\\x")
    queue = world.core.queues.outgoing(name)
    post(world, queue, later(world, 5))
    assert world.done(world.core.queue_lifecycle.purge(queue)) == 1
    assert queue.deleted
    assert world.rows(Table.QUEUES) == {}


def test_what_is_due_is_delivered_at_once(world: World, queue: ManagedQueue) -> None:
    post(world, queue, later(world, 0))
    assert world.bodies(queue) == ["late"]
    assert queue.delayed is None


def test_a_transaction_delivers_later_what_it_sends(world: World) -> None:
    queue = world.queue(transactional=True)
    transaction = world.transactions.begin("x")
    late = later(world, 5, transactional=True)
    world.done(world.enqueuer.post(queue, [late], transaction))
    world.done(world.transactions.prepare(transaction))
    again = world.restart()
    found = again.find()
    again.done(again.transactions.commit_prepared("x"))
    assert again.bodies(found) == []
    again.tick(5)
    assert again.bodies(found) == ["late"]


def test_nothing_can_be_received_before(world: World, queue: ManagedQueue) -> None:
    post(world, queue, later(world, 5))
    with pytest.raises(ReceiveTimeout):
        world.receive(queue)
