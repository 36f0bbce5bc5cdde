"""What a subscription knows of the messages of its queue."""

from __future__ import annotations

import pytest
from tests.unit.engine.world import World, letter

from openmsmq.engine.commit.future import Future
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.engine.storage.layout import RECORD_SIZE
from openmsmq.engine.storage.runs import Found
from openmsmq.engine.subscriptions import subscription as module
from openmsmq.engine.subscriptions.ranges import Ranges
from openmsmq.engine.subscriptions.subscription import (
    DurableSubscription,
    SubscriptionMode,
    read_state,
    with_reader,
)
from openmsmq.errors import InvalidParameter, QueueNotFound


class Looker:
    """A subscription that looks at a queue."""

    def __init__(self) -> None:
        self.world = World()
        self.queue = self.world.queue()
        self.subscription = DurableSubscription("lake", self.queue, store(9), SubscriptionMode.COPY)

    def send(self, *bodies: str, priority: int = 3) -> None:
        self.world.send(self.queue, *(letter(body, priority=priority) for body in bodies))

    def look(self, count: int = 100) -> tuple[list[int], bool]:
        """Places along the queue of what is found, and whether all was looked at."""
        found, is_all = self.subscription.candidates(self.world.core.snapshot, 0, count)
        return [self.places.index(item[0]) for item in found], is_all

    def behind(self) -> tuple[int, int | None]:
        return self.subscription.lag(self.world.core.snapshot, 0)

    @property
    def places(self) -> list[int]:
        return self.world.lookups(self.queue)


def store(number: int) -> ManagedQueue:
    return ManagedQueue(number, World().queue().properties)


@pytest.fixture
def looker() -> Looker:
    return Looker()


def test_what_is_stored_is_read_again() -> None:
    made = DurableSubscription("lake", store(1), store(9), SubscriptionMode.COPY)
    made.finished = 1_700_000_000
    raw = made.pack(committed=3, reserved=7, owners=("",))
    assert read_state(raw) == (SubscriptionMode.COPY, 3, 7, 1_700_000_000, ("",))
    assert read_state(raw[:-4]) == (SubscriptionMode.COPY, 3, 7, 0, ("",)), (
        "as it was written at first"
    )
    other = DurableSubscription("lake", store(1), store(9), SubscriptionMode.TAKE)
    other.load(
        made.pack(committed=3, reserved=7, owners=("größe", "b", "a")), Ranges(((1, 5),)).pack()
    )
    assert (other.owner, other.past) == ("größe", ("b", "a"))
    assert other.read == Ranges(((3, 5),)), "what is done is forgotten"
    assert (other.way, other.committed, other.reserved) == (SubscriptionMode.COPY, 3, 7)
    assert other.finished == 1_700_000_000


def test_each_message_is_found_once(looker: Looker) -> None:
    looker.send("a", "b", "c")
    assert looker.look(2) == ([0, 1], False)
    assert looker.look(2) == ([2], True)
    assert looker.look() == ([], True)
    looker.send("d")
    looker.send("u", priority=7)
    assert looker.look() == ([0, 4], True)


def test_what_came_is_looked_at_again_along_the_queue(looker: Looker) -> None:
    looker.send("a", "b", "c", "d")
    looker.look(3)
    looker.subscription.came(looker.places[1:])
    assert looker.look(2) == ([1, 2], True)
    assert looker.look(2) == ([3], True)
    looker.subscription.came(looker.places)
    looker.subscription.has_copied(looker.places[1:])
    assert looker.look() == ([0], True)


def test_what_is_gone_is_not_found(looker: Looker) -> None:
    looker.send("a", "b")
    places = looker.places
    looker.look()
    looker.world.take(looker.queue)
    looker.subscription.came(places)
    assert looker.look() == ([0], True)


def test_many_are_looked_at_in_steps(looker: Looker, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LOOK_MAX", 2)
    looker.send(*"abcde")
    assert looker.look() == ([0, 1], False)
    looker.subscription.came(looker.places[:1])
    assert looker.look() == ([0, 2, 3], False)
    assert looker.look() == ([4], True)
    looker.subscription.came(looker.places[:3])
    assert looker.look() == ([0, 1], False)


def test_too_many_to_remember_are_all_looked_at(
    looker: Looker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "AGAIN_MAX", 1)
    looker.send(*"abc")
    looker.look()
    looker.subscription.came(looker.places[:2])
    assert looker.look() == ([0, 1, 2], True)


def test_a_message_tells_who_has_a_copy_of_it(looker: Looker) -> None:
    looker.send("a")
    record = looker.world.entries(looker.queue)[0].record
    both = with_reader(with_reader(record, 9, ()), 10, {9, 10})
    assert len(both) == RECORD_SIZE + 8
    assert both[:RECORD_SIZE] == record
    assert len(with_reader(both, 11, {9, 11})) == len(both)
    found: list[Found] = [(1, both, False)]
    assert looker.subscription._has(found[0][1])
    assert not looker.subscription._has(with_reader(record, 10, ()))


def test_what_it_was_not_given_is_counted(looker: Looker, monkeypatch: pytest.MonkeyPatch) -> None:
    assert looker.behind() == (0, None)
    looker.send("a", "b", "c", "d")
    first = looker.world.core.timeline.wall
    looker.look(1)
    assert looker.behind() == (3, first)
    looker.subscription.came(looker.places[:1])
    assert looker.behind() == (4, first)
    monkeypatch.setattr(module, "LOOK_MAX", 2)
    assert looker.behind() == (4, first), "nothing was given, so all of them are left"
    looker.subscription.reserved = 1
    assert looker.behind() == (3, first), "at least"
    looker.subscription.way = SubscriptionMode.TAKE
    assert looker.behind() == (4, first), "what is there"


def test_one_thing_is_done_after_the_other(looker: Looker) -> None:
    begun: list[Future[int]] = []
    subscription = looker.subscription

    def refuse(pending: Future[int]) -> None:
        raise InvalidParameter

    answers = [
        subscription.in_turn(begun.append),
        subscription.in_turn(refuse),
        subscription.in_turn(begun.append),
    ]
    assert len(begun) == 1
    begun[0].succeed(5)
    assert answers[0].result() == 5
    assert isinstance(answers[1].error, InvalidParameter)
    assert len(begun) == 2
    subscription.store.deleted = True
    last = subscription.in_turn(begun.append)
    begun[1].fail(InvalidParameter())
    assert isinstance(answers[2].error, InvalidParameter)
    assert isinstance(last.error, QueueNotFound)
    assert subscription.is_over


def test_many_that_are_done_at_once_may_wait(looker: Looker) -> None:
    begun: list[Future[int]] = []
    looker.subscription.in_turn(begun.append)

    def be_done(pending: Future[int]) -> None:
        pending.succeed(1)

    answers = [looker.subscription.in_turn(be_done) for _ in range(5000)]
    begun[0].succeed(0)
    assert {answer.result() for answer in answers} == {1}
