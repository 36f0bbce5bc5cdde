"""Whole runs that a subscription is given are the same messages as one by one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.engine.runs import BODIES, check, fill, history, letters, rows, runs, take_at
from tests.unit.engine.subscriptions.test_slices import apart, known
from tests.unit.engine.world import NOW, World, commit_all, letter

from openmsmq.engine.messages import sparse_runs
from openmsmq.engine.queues.slices import RunSlice
from openmsmq.engine.storage.history import Event
from openmsmq.engine.subscriptions import parts
from openmsmq.engine.subscriptions.owners import bind, mark_read
from openmsmq.engine.subscriptions.parts import last_of, one_by_one, reserved_parts, takeable
from openmsmq.engine.subscriptions.reservations import Reservations
from openmsmq.engine.subscriptions.slices import read_slices
from openmsmq.engine.subscriptions.subscription import DurableSubscription, SubscriptionMode
from openmsmq.packet.view import PacketView

ALL = 1 << 20


class Lake:
    """A subscription of a queue, in a world of its own."""

    def __init__(self, *, journal: bool = False) -> None:
        self.world = world = World()
        world.done(world.core.configure(history=1))
        self.queue = world.queue("q", journal=journal)
        self.number = 1
        self.reservations = Reservations(world.core)
        self.lake = self._open()

    def _open(self) -> DurableSubscription:
        return self.world.done(self.reservations.open("lake", self.queue, SubscriptionMode.TAKE))

    def send(self, count: int) -> None:
        new = [letter(f"{n}", number=n) for n in range(self.number, self.number + count)]
        self.number += count
        self.world.send(self.queue, *new)

    def reserve(self, after: int, count: int = 99, size: int = ALL) -> int:
        found = self.world.done(self.reservations.reserve(self.lake, after, count, size))
        commit_all(self.world.core)
        return found

    def commit(self, position: int) -> None:
        self.world.done(self.reservations.commit(self.lake, position))
        commit_all(self.world.core)

    def restart(self) -> None:
        self.world = self.world.restart()
        self.queue = self.world.find()
        self.reservations = Reservations(self.world.core)
        self.lake = self._open()

    def read(self) -> list[str]:
        lake = self.lake
        after, last = lake.committed, lake.reserved
        if after == last:
            return []
        entries = self.reservations.read(lake, after, last, ALL)
        assert apart(read_slices(self.world.core.snapshot, lake, after, last, ALL)) == known(
            entries
        )
        return [PacketView(entry.packet).body.decode() for entry in entries]


def test_a_whole_run_only_changes_its_place() -> None:
    one = Lake()
    sent = fill(one.world, one.queue)
    [before] = runs(one.world)
    assert one.reserve(0) == 8
    [run] = runs(one.world)
    assert (run.queue, run.first, run.stood) == (one.lake.store.number, 1, before.first)
    assert run.record == before.record
    assert one.queue.messages == 0
    assert one.lake.store.messages == 8
    assert one.read() == BODIES
    check(one.world)
    one.restart()
    one.commit(3)
    one.restart()
    assert one.read() == BODIES[3:]
    check(one.world)
    one.commit(8)
    assert not runs(one.world)
    check(one.world)
    assert history(one.world, sent[4])[-2:] == [Event.RESERVED, Event.RECEIVED]
    assert one.world.count("received") == 8


def test_what_is_dropped_is_back_where_it_stood() -> None:
    one = Lake()
    fill(one.world, one.queue)
    lookups = one.world.lookups(one.queue)
    one.reserve(0)
    one.commit(2)
    one.world.done(one.reservations.drop(one.lake))
    commit_all(one.world.core)
    assert one.world.lookups(one.queue) == lookups[2:]
    assert one.world.bodies(one.queue) == BODIES[2:]
    check(one.world)


def test_a_run_that_is_not_whole_is_given_one_by_one() -> None:
    one = Lake()
    fill(one.world, one.queue)
    take_at(one.world, one.queue, one.world.lookups(one.queue)[3])
    assert one.reserve(0) == 7
    assert not runs(one.world)
    assert rows(one.world, one.lake.store) == list(range(1, 8))
    check(one.world)


def test_a_run_leaves_with_its_journal_one_by_one() -> None:
    one = Lake()
    fill(one.world, one.queue)
    one.reserve(0)
    one.world.done(one.world.core.queue_lifecycle.change(one.queue, NOW, {"journal": True}))
    one.commit(8)
    assert one.queue.journal is not None
    assert one.world.bodies(one.queue.journal) == BODIES
    check(one.world)


def test_what_its_owner_has_not_read_stays() -> None:
    one = Lake()
    fill(one.world, one.queue)
    one.reserve(0)
    world, lake = one.world, one.lake
    world.done(bind(world.core, lake, "me", take_over=False, read=0, run="", begins=True))
    world.done(mark_read(world.core, lake, "me", 0, 5))
    world.done(one.reservations.commit(lake, 8, owner="me"))
    commit_all(world.core)
    assert (lake.committed, lake.unread) == (8, 3)
    check(world)
    assert world.done(one.reservations.give_back(lake)) == 3
    assert world.bodies(one.queue) == BODIES[5:]
    check(world)


def test_a_run_with_few_messages_left_is_taken_apart_in_its_subscription() -> None:
    one = Lake()
    fill(one.world, one.queue)
    one.reserve(0)
    one.commit(7)
    one.world.tick(sparse_runs.PATIENCE + 1)
    commit_all(one.world.core)
    assert not runs(one.world)
    assert one.read() == BODIES[7:]
    one.commit(8)
    check(one.world)


def test_a_commit_has_whole_runs_up_to_its_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    one = Lake()
    for first in (1, 9, 17):
        one.world.send(one.queue, *letters(first=first))
    size = runs(one.world)[0].record.size
    monkeypatch.setattr(parts, "STEP_SIZE", 2 * size + 9)

    def found(count: int, size_max: int, *, is_first: bool) -> list[int]:
        snapshot = one.world.core.snapshot
        some = takeable(snapshot, one.queue, count, size_max, 0, is_first=is_first)
        return [len(part) if isinstance(part, RunSlice) else 1 for part in some]

    assert found(99, ALL, is_first=True) == [8, 8]
    assert found(8, ALL, is_first=True) == [8]
    assert found(10, ALL, is_first=True) == [8, 1, 1]
    assert found(99, size + size // 8, is_first=True) == [8, 1]
    assert found(99, 1, is_first=True) == [1]
    assert found(99, 1, is_first=False) == []
    assert one.reserve(0) == 24
    assert one.reserve(0, size=size + size // 8) == 9
    assert one.reserve(4, count=5) == 9
    assert one.reserve(4, size=1) == 5
    found_there = list(reserved_parts(one.world.core.snapshot, one.lake.store, 3, 9))
    assert [place for place, _ in one_by_one(found_there)] == list(range(4, 10))
    assert last_of(found_there) == 9


def test_whole_runs_leave_with_a_commit_up_to_its_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    one = Lake()
    for first in (1, 9, 17):
        one.world.send(one.queue, *letters(first=first))
    size = runs(one.world)[0].record.size
    assert one.reserve(0) == 24
    monkeypatch.setattr(parts, "STEP_SIZE", 2 * size)
    found = parts.reserved_step(one.world.core.snapshot, one.lake.store, 0, 24)
    assert [len(part) for part in found if isinstance(part, RunSlice)] == [8, 8]
    one.commit(24)
    assert one.lake.committed == 24


@contextmanager
def one_by_one_always() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parts, "is_whole", lambda part: False)
        yield


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("send"), st.sampled_from([1, 4, 5, 9])),
        st.tuples(st.just("receive"), st.integers(1, 3)),
        st.tuples(st.just("reserve"), st.sampled_from([1, 3, 7, 99])),
        st.tuples(st.just("fit"), st.sampled_from([1, 700, 1500])),
        st.tuples(st.just("commit"), st.integers(0, 12)),
        st.tuples(st.just("drop"), st.just(0)),
        st.tuples(st.just("restart"), st.just(0)),
    ),
    max_size=15,
)


@given(steps=STEPS)
def test_runs_are_given_as_their_messages_are(steps: list[tuple[str, int]]) -> None:
    """The reference gives all messages one by one."""
    ours, reference = Lake(), Lake()
    for what, number in [("send", 6), *steps]:
        found = done(ours, what, number)
        with one_by_one_always():
            assert done(reference, what, number) == found
    check(ours.world)


def done(one: Lake, what: str, number: int) -> tuple[object, ...]:
    """Do something; what can be seen then."""
    lake, answer = one.lake, 0
    if what == "send":
        one.send(number)
    elif what == "receive":
        take = min(number, one.queue.messages)
        answer = len(one.world.take(one.queue, take)) if take else 0
        commit_all(one.world.core)
    elif what == "reserve":
        answer = one.reserve(lake.reserved, number)
        answer += one.reserve(lake.committed, number)
    elif what == "fit":
        answer = one.reserve(lake.reserved, size=number)
        answer += one.reserve(lake.committed, size=number)
    elif what == "commit":
        one.commit(min(lake.committed + number, lake.reserved))
    elif what == "drop":
        answer = one.world.done(one.reservations.drop(lake))
        commit_all(one.world.core)
        one.lake = one._open()
    else:
        one.restart()
    queue, lake, world = one.queue, one.lake, one.world
    seen = [world.reported(letter(f"{n}", number=n)) for n in range(1, one.number)]
    counts = (lake.store.messages, lake.store.size, queue.messages, queue.size)
    places = world.lookups(queue), world.bodies(queue), lake.committed, lake.reserved
    return answer, one.read(), *counts, *places, seen, list(queue.totals)
