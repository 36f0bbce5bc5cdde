"""Owners of subscriptions, and what they have read."""

from __future__ import annotations

import pytest
from tests.unit.engine.world import World, letter

from openmsmq.engine.commit.future import Future
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.engine.subscriptions import owners as owning
from openmsmq.engine.subscriptions.limits import OWNER_MAX, PAST_MAX
from openmsmq.engine.subscriptions.owners import bind, mark_read
from openmsmq.engine.subscriptions.ranges import Ranges
from openmsmq.engine.subscriptions.reservations import Reservations
from openmsmq.engine.subscriptions.subscription import DurableSubscription, SubscriptionMode
from openmsmq.errors import InvalidParameter, QueueNotFound, StorageFailed, SubscriptionTaken
from openmsmq.packet.view import PacketView
from openmsmq.store.check.check import check_tables

MANY = 1 << 30


class Reader:
    """Reads a queue of six messages through a subscription, of which it was given five."""

    def __init__(self, world: World, way: SubscriptionMode) -> None:
        self.world = world
        self.way = way
        self.reservations = Reservations(world.core)
        self.queue: ManagedQueue = world.core.queues.find("q")
        opened = self.reservations.open("lake", self.queue, way)
        self.subscription: DurableSubscription = world.done(opened)

    def restart(self) -> Reader:
        """The same after the manager was killed."""
        return Reader(self.world.restart(), self.way)

    def bind(self, owner: str, *, take_over: bool = False, read: int = 0) -> None:
        self.world.done(
            bind(self.world.core, self.subscription, owner, take_over=take_over, read=read)
        )

    def mark(self, owner: str, after: int, last: int) -> None:
        self.world.done(mark_read(self.world.core, self.subscription, owner, after, last))

    def finish(self, owner: str, position: int) -> None:
        self.world.done(self.reservations.commit(self.subscription, position, owner=owner))

    def read(self, owner: str, after: int, last: int) -> str:
        found = self.reservations.read(self.subscription, after, last, MANY, owner)
        return "".join(PacketView(item.packet).body.decode() for item in found)

    @property
    def left(self) -> list[int]:
        """Positions of messages that it still has."""
        return [at for at, _ in self.reservations._rows(self.subscription, 0, MANY)]

    def check(self) -> None:
        """The store fits together."""
        assert check_tables(self.world.store.snapshot, 0).findings == ()


@pytest.fixture(params=list(SubscriptionMode))
def reader(request: pytest.FixtureRequest) -> Reader:
    world = World()
    world.send(world.queue("q"), *map(letter, "abcdef"))
    made = Reader(world, request.param)
    world.done(made.reservations.reserve(made.subscription, 0, 5, MANY))
    return made


def test_only_its_owner_reads_and_is_done(reader: Reader) -> None:
    assert reader.read("", 0, 2) == "ab", "anyone may before there is an owner"
    with pytest.raises(SubscriptionTaken, match="no owner yet: bind it to me"):
        reader.read("me", 0, 2)
    reader.bind("me")
    reader.bind("me")
    for one in (reader, reader.restart()):
        assert one.read("me", 0, 2) == "ab"
        for other in ("you", ""):
            with pytest.raises(SubscriptionTaken, match="subscription lake of q belongs to me"):
                one.read(other, 0, 2)
            with pytest.raises(SubscriptionTaken):
                one.mark(other, 0, 2)
            with pytest.raises(SubscriptionTaken):
                one.finish(other, 2)
        with pytest.raises(SubscriptionTaken):
            one.bind("you")


def test_what_was_not_read_stays_when_it_is_done(reader: Reader) -> None:
    reader.bind("me")
    reader.mark("me", 3, 4)
    reader.mark("me", 0, 1)
    again = reader.restart()
    again.finish("me", 4)
    assert again.left == [2, 3, 5]
    assert (again.subscription.committed, again.subscription.unread) == (4, 2)
    again.check()
    later = again.restart()
    assert (later.left, later.subscription.unread) == ([2, 3, 5], 2)
    with pytest.raises(InvalidParameter):
        later.read("me", 1, 3)
    later.mark("me", 4, 5)
    later.finish("me", 5)
    assert later.left == [2, 3]
    later.check()


def test_what_was_not_read_can_be_given_back(reader: Reader) -> None:
    reader.bind("me")
    reader.mark("me", 1, 2)
    reader.finish("me", 3)
    world, give_back = reader.world, reader.reservations.give_back
    assert world.done(give_back(reader.subscription)) == 2
    assert world.done(give_back(reader.subscription)) == 0
    assert (reader.left, reader.subscription.owner) == ([4, 5], "me")
    taken = ["a", "c", "f"]
    assert world.bodies(reader.queue) == (
        taken if reader.way is SubscriptionMode.TAKE else list("abcdef")
    )
    reader.check()


def test_all_is_given_back_when_it_ends(reader: Reader) -> None:
    reader.bind("me")
    reader.finish("me", 3)
    world = reader.world
    assert world.done(reader.reservations.drop(reader.subscription)) == 5
    assert world.bodies(reader.queue) == list("abcdef")
    reader.check()
    with pytest.raises(QueueNotFound):
        reader.mark("me", 0, 5)
    new = Reader(world.restart(), reader.way)
    assert (new.subscription.owner, new.subscription.read) == ("", Ranges())


def test_another_takes_over_on_purpose_and_for_good(reader: Reader) -> None:
    reader.bind("me")
    reader.mark("me", 0, 3)
    reader.bind("you", take_over=True)
    again = reader.restart()
    with pytest.raises(SubscriptionTaken):
        again.bind("me", take_over=True)
    again.mark("you", 1, 2)
    again.finish("you", 3)
    assert again.left == [1, 3, 4, 5], "what others have read does not count"
    for number in range(PAST_MAX + 2):
        again.bind(f"o{number}", take_over=True)
    assert len(again.subscription.past) == PAST_MAX
    again.check()


def test_one_without_an_owner_is_adopted_with_what_was_read(reader: Reader) -> None:
    reader.finish("", 1)
    reader.bind("me", read=3)
    again = reader.restart()
    again.finish("me", 4)
    assert again.left == [4, 5]
    again.bind("you", take_over=True, read=5)
    again.finish("you", 5)
    assert again.left == [4, 5], "who takes over has read nothing yet"


def test_while_the_owner_changes_nothing_is_marked(reader: Reader) -> None:
    reader.bind("me")
    core, lake = reader.world.core, reader.subscription
    changing = bind(core, lake, "you", take_over=True)
    with pytest.raises(SubscriptionTaken, match="changes its owner"):
        mark_read(core, lake, "me", 0, 3)
    reader.world.commit(StorageFailed("disk"))
    with pytest.raises(StorageFailed):
        changing.result()
    reader.mark("me", 0, 3)
    ending: Future[int] = reader.reservations.drop(lake)
    while not lake.is_changing:
        reader.world.commit()
    with pytest.raises(SubscriptionTaken, match="or ends"):
        mark_read(core, lake, "me", 0, 3)
    reader.world.done(ending)
    reader.check()


def test_many_parts_are_marked_with_one_commit(reader: Reader) -> None:
    reader.bind("me")
    core, lake = reader.world.core, reader.subscription
    marks = [mark_read(core, lake, "me", at, at + 1) for at in (4, 0, 2, 1, 3)]
    reader.world.commit()
    assert all(mark.done for mark in marks)
    assert reader.restart().subscription.read == Ranges(((0, 5),))


def test_marks_and_owners_within_bounds(reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    for owner in ("", "x" * (OWNER_MAX + 1), "a\nb"):
        with pytest.raises(InvalidParameter, match="an owner has"):
            reader.bind(owner)
    core, lake = reader.world.core, reader.subscription
    reader.world.done(bind(core, lake, "x" * OWNER_MAX, run="r" * OWNER_MAX))
    with pytest.raises(InvalidParameter, match="a run has"):
        bind(core, lake, "x" * OWNER_MAX, run="r" * (OWNER_MAX + 1))
    reader.bind("me", take_over=True)
    for after, last in ((3, 6), (3, 2)):
        with pytest.raises(InvalidParameter, match="reserved up to 5"):
            reader.mark("me", after, last)
    monkeypatch.setattr(owning, "RANGES_MAX", 1)
    reader.mark("me", 0, 1)
    with pytest.raises(InvalidParameter, match="read in larger parts"):
        reader.mark("me", 2, 3)
    reader.mark("me", 1, 3)
    reader.finish("me", 2)
    reader.mark("me", 0, 2)  # by a part that runs again, too late
    assert reader.subscription.read == Ranges(((2, 3),))
