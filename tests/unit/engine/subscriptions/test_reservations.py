"""Messages that subscriptions were given."""

from __future__ import annotations

import pytest
from tests.unit.engine.world import NOW, World, letter

from openmsmq.engine.queues.holds import Holder
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.engine.storage.tables import Table
from openmsmq.engine.subscriptions import giver, parts, reservations, subscription
from openmsmq.engine.subscriptions.reservations import Reservations
from openmsmq.engine.subscriptions.subscription import DurableSubscription, SubscriptionMode
from openmsmq.errors import (
    InvalidParameter,
    QueueNotAvailable,
    QueueNotFound,
    StorageFailed,
)
from openmsmq.packet.view import PacketView

MANY = 1 << 30


class Reader:
    """Reads a queue through a subscription."""

    def __init__(self, world: World, way: SubscriptionMode = SubscriptionMode.TAKE) -> None:
        self.world = world
        self.way = way
        self.reservations = Reservations(world.core)
        self.queue: ManagedQueue = world.core.queues.find("q")
        self.subscription: DurableSubscription = world.done(
            self.reservations.open("lake", self.queue, way)
        )

    def restart(self) -> Reader:
        """The same after the manager was stopped."""
        return Reader(self.world.restart(), self.way)

    def reserve(self, after: int | None = None, count: int = 100, size_max: int = MANY) -> int:
        """Up to which position there is something to read."""
        start = self.subscription.reserved if after is None else after
        return self.world.done(self.reservations.reserve(self.subscription, start, count, size_max))

    def read(self, after: int, last: int, size_max: int = MANY) -> str:
        """The bodies of messages that were given."""
        found = self.reservations.read(self.subscription, after, last, size_max)
        return "".join(PacketView(item.packet).body.decode() for item in found)

    def finish(self, position: int, target: ManagedQueue | None = None) -> None:
        """All up to a position is done."""
        self.world.done(self.reservations.commit(self.subscription, position, target))


def send(world: World, *bodies: str, **given: object) -> None:
    """Put messages into the queue."""
    queue = world.core.queues.find("q")
    world.send(queue, *(letter(body, **given) for body in bodies))  # type: ignore[arg-type]


@pytest.fixture(params=list(SubscriptionMode))
def reader(request: pytest.FixtureRequest) -> Reader:
    world = World()
    world.queue("q")
    return Reader(world, request.param)


@pytest.fixture
def taker() -> Reader:
    world = World()
    world.queue("q")
    return Reader(world)


@pytest.fixture
def copier() -> Reader:
    world = World()
    world.queue("q")
    return Reader(world, SubscriptionMode.COPY)


def test_positions_count_what_was_given(reader: Reader) -> None:
    assert reader.reserve() == 0
    send(reader.world, "a", "b", "c")
    assert reader.reserve() == 3
    assert reader.read(0, 3) == "abc"
    send(reader.world, "d")
    assert reader.reserve() == 4
    assert reader.read(3, 4) == "d"
    assert reader.read(1, 3) == "bc"


def test_when_it_was_last_done_with_something_is_known(reader: Reader) -> None:
    send(reader.world, "a", "b")
    assert reader.subscription.finished == NOW
    reader.world.tick(100)
    reader.reserve(0, 2)
    assert reader.subscription.finished == NOW
    reader.finish(1)
    assert reader.subscription.finished == NOW + 100
    assert reader.restart().subscription.finished == NOW + 100


def test_what_a_subscription_keeps_is_no_queue_that_people_see(reader: Reader) -> None:
    queues = reader.world.core.queues
    reader.world.done(reader.reservations.open("other", reader.queue, reader.way))
    assert [queue.name for queue in queues] == ["q"]
    again = reader.world.restart().core.queues
    assert [queue.name for queue in again] == ["q"]
    assert len(again.by_number) == len(queues.by_number)


def test_what_was_given_is_given_again_until_it_is_done(reader: Reader) -> None:
    send(reader.world, "a", "b", "c")
    assert reader.reserve(count=2) == 2
    assert reader.reserve(after=0, count=1) == 1
    assert reader.reserve(after=0) == 2
    again = reader.restart()
    assert again.reserve(after=0) == 2
    assert again.read(0, 2) == "ab"
    assert again.reserve(after=2) == 3
    again.finish(2)
    with pytest.raises(InvalidParameter):
        again.reserve(after=1)
    with pytest.raises(InvalidParameter):
        again.read(1, 3)
    assert again.read(2, 3) == "c"


def test_so_many_and_so_large_as_is_asked_for(reader: Reader) -> None:
    send(reader.world, "a", "b", "c", "d")
    assert reader.reserve(count=3) == 3
    assert reader.reserve(after=0, size_max=1) == 1, "at least one"
    assert reader.read(0, 3, size_max=1) == "a"
    assert reader.reserve(after=3, size_max=1) == 4
    size = len(letter("a").packet)
    assert reader.reserve(after=0, size_max=2 * size) == 2
    assert reader.reserve(after=0, size_max=2 * size - 1) == 1


def test_a_message_that_is_more_urgent_moves_nothing(reader: Reader) -> None:
    send(reader.world, "a", "b")
    assert reader.reserve(count=1) == 1
    send(reader.world, "u", priority=7)
    assert reader.reserve(after=0) == 1
    assert reader.read(0, 1) == "a"
    assert reader.reserve(after=1) == 3
    assert reader.read(1, 3) == "ub"


def test_what_is_taken_is_out_of_the_queue_and_received_when_it_is_done(taker: Reader) -> None:
    world = taker.world
    send(world, "a", "b")
    taker.reserve(count=1)
    assert world.bodies(taker.queue) == ["b"]
    assert taker.queue.messages == 1
    taker.finish(1)
    assert world.count("received") == 1
    assert taker.subscription.store.messages == 0


def test_a_copy_is_given_once_and_leaves_the_message_where_it_is(copier: Reader) -> None:
    world = copier.world
    send(world, "a", "b")
    assert copier.reserve() == 2
    assert world.bodies(copier.queue) == ["a", "b"]
    copier.finish(2)
    assert copier.reserve() == 2
    assert copier.restart().reserve(after=2) == 2
    assert copier.world.count("received") == 0


def test_others_may_take_what_was_copied(copier: Reader) -> None:
    world = copier.world
    send(world, "a", "b")
    copier.reserve()
    world.take(copier.queue)
    assert copier.read(0, 2) == "ab"


def test_what_someone_held_is_given_when_it_comes_back(copier: Reader) -> None:
    """It was passed over, and lies below what was given."""
    world = copier.world
    send(world, "a", "b", "c")
    other = Holder()
    taken = [entry.lookup for entry in world.take(copier.queue, holder=other)]
    assert copier.reserve() == 2
    assert copier.read(0, 2) == "bc"
    again = copier
    world.core.removal.release(copier.queue, taken)
    assert again.reserve() == 3
    assert again.read(2, 3) == "a"
    assert again.reserve() == 3


def test_what_is_held_is_not_taken(taker: Reader) -> None:
    world = taker.world
    send(world, "a", "b")
    other = Holder()
    taken = [entry.lookup for entry in world.take(taker.queue, holder=other)]
    assert taker.reserve() == 1
    assert taker.read(0, 1) == "b"
    world.core.removal.release(taker.queue, taken)
    assert taker.reserve() == 2
    assert taker.read(1, 2) == "a"


def test_what_was_given_does_not_expire(taker: Reader) -> None:
    world = taker.world
    send(world, "a", expires=NOW + 10)
    taker.reserve()
    world.tick(20)
    assert taker.read(0, 1) == "a"
    assert world.count("expired") == 0


def test_express_messages_last_when_they_were_given(taker: Reader) -> None:
    send(taker.world, "a", express=True)
    assert taker.reserve() == 1
    assert not taker.queue.express
    again = taker.restart()
    assert again.read(0, 1) == "a"


def test_what_is_done_can_be_moved_to_a_subqueue(taker: Reader) -> None:
    world = taker.world
    send(world, "a", expires=NOW + 100)
    before = world.lookups(taker.queue)
    taker.reserve()
    archive = world.core.queues.subqueue(taker.queue, "archive")
    taker.finish(1, archive)
    assert world.bodies(archive) == ["a"]
    assert world.lookups(archive) == before
    world.tick(200)
    assert world.count("expired") == 1


def steps_of(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    """Let a commit have at most this many single messages."""
    for module in (giver, reservations, parts):
        monkeypatch.setattr(module, "STEP", count)


def test_many_leave_step_by_step(taker: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    steps_of(monkeypatch, 10)
    send(taker.world, *"x" * 25)
    taker.reserve()
    pending = taker.reservations.commit(taker.subscription, 25)
    steps = 0
    while taker.world.core.wants_commit:
        taker.world.commit()
        steps += 1
    pending.result()
    assert steps == 3
    taker.finish(25)


def test_what_was_not_given_cannot_be_done(reader: Reader) -> None:
    with pytest.raises(InvalidParameter):
        reader.finish(1)


def test_when_the_subscription_ends_the_rest_is_back_in_its_place(taker: Reader) -> None:
    world = taker.world
    send(world, "a", "b", "c", expires=NOW + 100)
    before = world.lookups(taker.queue)
    taker.reserve()
    taker.finish(1)
    assert world.done(taker.reservations.drop(taker.subscription)) == 2
    assert world.lookups(taker.queue) == before[1:]
    with pytest.raises(QueueNotFound):
        taker.reservations.find("lake", "q")
    again = taker.restart()
    assert (again.subscription.committed, again.subscription.reserved) == (0, 0)
    again.world.tick(200)
    assert again.world.count("expired") == 2


def test_copies_are_gone_when_the_subscription_ends(copier: Reader) -> None:
    world = copier.world
    send(world, "a")
    copier.reserve()
    world.done(copier.reservations.drop(copier.subscription))
    assert world.bodies(copier.queue) == ["a"]


def test_when_the_commit_fails_nothing_was_given(reader: Reader) -> None:
    send(reader.world, "a")
    pending = reader.reservations.reserve(reader.subscription, 0, 1, MANY)
    reader.world.commit(StorageFailed("disk"))
    with pytest.raises(StorageFailed):
        pending.result()
    assert reader.world.bodies(reader.queue) == ["a"]
    assert reader.reserve() == 1


def test_a_subscription_keeps_its_way(taker: Reader) -> None:
    with pytest.raises(InvalidParameter):
        taker.reservations.open("lake", taker.queue, SubscriptionMode.COPY)
    again = taker.world.done(taker.reservations.open("LAKE", taker.queue, SubscriptionMode.TAKE))
    assert again is taker.subscription


@pytest.mark.parametrize("name", ["", "a|b", "x" * 201, "a\n"])
def test_a_name_that_cannot_be(taker: Reader, name: str) -> None:
    with pytest.raises(InvalidParameter):
        taker.reservations.open(name, taker.queue, SubscriptionMode.TAKE)


def test_what_is_asked_for_at_once_is_done_in_turn(reader: Reader) -> None:
    """A reader that asks again before it was answered gets the same, and nothing is forgotten."""
    send(reader.world, *"abcd")
    reader.reserve(count=2)
    found, made = reader.subscription, reader.reservations
    answers = [
        made.reserve(found, 2, 1, MANY),
        made.reserve(found, 2, 2, MANY),
        made.reserve(found, 3, 9, MANY),
    ]
    finished = made.commit(found, 2)
    reader.world.done(finished)
    assert [answer.result() for answer in answers] == [3, 3, 4]
    again = reader.restart()
    assert (again.subscription.committed, again.subscription.reserved) == (2, 4)
    assert again.read(2, 4) == "cd"


def test_many_are_given_step_by_step(reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    steps_of(monkeypatch, 10)
    monkeypatch.setattr(subscription, "LOOK_MAX", 4)
    send(reader.world, *"x" * 25)
    assert reader.reserve(count=22) == 22
    assert reader.reserve() == 25
    size = len(reader.reservations.read(reader.subscription, 0, 1, 1)[0].packet)
    send(reader.world, *"y" * 25)
    assert reader.reserve(size_max=12 * size) == 37
    assert reader.reserve(size_max=1) == 38


def test_what_was_copied_and_moved_away_is_not_given_again(copier: Reader) -> None:
    world, queue = copier.world, copier.queue
    send(world, "a", "b")
    send(world, "c", express=True)
    first, _, third = world.lookups(queue)
    retry = world.subqueue(queue)
    world.move(queue, first, retry)
    assert copier.reserve() == 2
    world.move(queue, third, retry)
    for lookup in (first, third):
        world.move(retry, lookup, queue)
    assert copier.reserve() == 3
    assert copier.read(2, 3) == "a"


def test_messages_only_move_to_subqueues_of_their_queue(taker: Reader, copier: Reader) -> None:
    with pytest.raises(InvalidParameter):
        taker.finish(0, taker.queue)
    with pytest.raises(InvalidParameter):
        copier.finish(0, copier.world.subqueue(copier.queue))


def test_the_subqueue_stays_until_the_messages_are_there(taker: Reader) -> None:
    world = taker.world
    send(world, "a")
    taker.reserve()
    pending = taker.reservations.commit(
        taker.subscription, 1, world.core.queues.subqueue(taker.queue, "done")
    )
    world.core.queues.tidy()
    world.done(pending)
    assert world.bodies(world.subqueue(taker.queue, "done")) == ["a"]
    assert not world.subqueue(taker.queue, "done").pins, "nothing else is under way to it"


def test_what_was_given_outlives_the_queue(taker: Reader) -> None:
    world = taker.world
    send(world, "a", "b", "c")
    taker.reserve(count=2)
    world.done(world.core.queue_lifecycle.delete(taker.queue))
    with pytest.raises(QueueNotAvailable):
        taker.reserve()
    world.queue("q")
    again = Reservations(world.restart().core)
    found = again.find("LAKE", "Q")
    assert len(again.read(found, 0, 2, MANY)) == 2
    assert found.source.deleted


def test_one_of_a_queue_that_is_there_is_found_first(taker: Reader) -> None:
    world = taker.world
    world.done(world.core.queue_lifecycle.delete(taker.queue))
    other = world.queue("q")
    assert taker.reservations.find("lake", "q") is taker.subscription
    made = world.done(taker.reservations.open("lake", other, SubscriptionMode.TAKE))
    assert taker.reservations.find("lake", "q") is made


def test_a_queue_that_is_deleted_meanwhile_gives_no_more(
    reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps_of(monkeypatch, 2)
    send(reader.world, *"abcd")
    pending = reader.reservations.reserve(reader.subscription, 0, 4, MANY)
    reader.world.core.queue_lifecycle.delete(reader.queue)
    assert reader.world.done(pending) == 2
    assert reader.read(0, 2) == "ab"


def test_what_is_received_of_a_deleted_queue_goes_to_no_journal() -> None:
    world = World()
    queue = world.queue("q", journal=True)
    taker = Reader(world)
    send(world, "a", "b")
    taker.reserve()
    taker.finish(1)
    assert world.core.queues.find("q;JOURNAL").messages == 1
    world.done(world.core.queue_lifecycle.delete(queue))
    taker.finish(2)
    world.done(taker.reservations.drop(taker.subscription))
    assert world.rows(Table.PACKETS) == {}
    assert world.rows(Table.QUEUES) == {}


def test_a_subscription_that_could_not_begin_is_not_there(taker: Reader) -> None:
    world = taker.world
    before = len(world.core.queues.everything)
    pending = taker.reservations.open("other", taker.queue, SubscriptionMode.COPY)
    world.commit(StorageFailed("disk"))
    with pytest.raises(StorageFailed):
        pending.result()
    assert len(world.core.queues.everything) == before
    assert taker.queue.followers == []


def test_no_one_subscribes_to_what_comes_and_goes(taker: Reader) -> None:
    with pytest.raises(InvalidParameter):
        taker.reservations.open("x", taker.world.subqueue(taker.queue), SubscriptionMode.TAKE)


def test_nothing_can_be_asked_of_a_subscription_that_was_dropped(reader: Reader) -> None:
    reader.world.done(reader.reservations.drop(reader.subscription))
    for call in (reader.reserve, lambda: reader.finish(0), lambda: reader.read(0, 0)):
        with pytest.raises(QueueNotFound):
            call()


def test_what_is_purged_while_it_is_copied_is_gone(copier: Reader) -> None:
    world = copier.world
    send(world, "a")
    pending = copier.reservations.reserve(copier.subscription, 0, 1, MANY)
    purging = world.core.queue_lifecycle.purge(copier.queue)
    assert world.done(pending) == 1
    purging.result()
    assert world.bodies(copier.queue) == []
    assert copier.read(0, 1) == "a"


def test_what_is_given_counts_against_the_quota_of_the_manager(taker: Reader) -> None:
    world = taker.world
    send(world, "a")
    send(world, "b", express=True)
    before = world.core.total_size
    taker.reserve()
    assert world.core.total_size == before
    taker.finish(2)
    assert world.core.total_size == 0


def test_what_was_given_before_a_start_is_passed_over_in_steps(
    copier: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    send(copier.world, *"abcdefg")
    copier.reserve()
    monkeypatch.setattr(subscription, "LOOK_MAX", 2)
    again = copier.restart()
    send(again.world, "h")
    assert again.reserve() == 8
    assert again.read(7, 8) == "h"
    assert again.restart().reserve() == 8
