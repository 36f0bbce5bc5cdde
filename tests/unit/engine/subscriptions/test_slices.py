"""Reserved messages in slices are the same messages as one by one."""

from __future__ import annotations

from typing import cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.engine.runs import fill
from tests.unit.engine.world import World, commit_all, letter

from openmsmq.app_protocol.slices import QueuedSlice
from openmsmq.engine.manager import QueueManager
from openmsmq.engine.queues.entry import Entry
from openmsmq.engine.storage.layout import local_facts
from openmsmq.engine.subscriptions import info
from openmsmq.engine.subscriptions.reservations import Reservations
from openmsmq.engine.subscriptions.slices import ReservedSlice, read_slices
from openmsmq.engine.subscriptions.subscription import DurableSubscription, SubscriptionMode
from openmsmq.errors import InvalidParameter

ALL = 1 << 20


def given_all(world: World, way: SubscriptionMode) -> tuple[Reservations, DurableSubscription]:
    reservations = Reservations(world.core)
    lake = world.done(reservations.open("lake", world.find(), way))
    world.done(reservations.reserve(lake, 0, 99, ALL))
    commit_all(world.core)
    return reservations, lake


def known(entries: list[Entry]) -> list[tuple[object, ...]]:
    return [(one.lookup, *local_facts(one.record), one.packet) for one in entries]


def apart(slices: list[ReservedSlice]) -> list[tuple[object, ...]]:
    """The messages of slices, as a client takes them apart."""
    return [
        (one.lookup + place, *one[1:5], packet)
        for one in slices
        for place, packet in enumerate(QueuedSlice(*one).split())
    ]


@pytest.mark.parametrize("way", SubscriptionMode)
def test_a_run_is_one_slice(way: SubscriptionMode) -> None:
    world = World()
    fill(world, world.queue())
    reservations, lake = given_all(world, way)
    [found] = read_slices(world.core.snapshot, lake, 0, 8, ALL)
    assert found.messages == 8
    assert apart([found]) == known(reservations.read(lake, 0, 8, ALL))
    with pytest.raises(InvalidParameter):
        read_slices(world.core.snapshot, lake, 0, 9, ALL)


def test_slices_leave_room_in_a_frame_for_what_each_says_more_than_a_message(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = World()
    fill(world, world.queue())
    _, lake = given_all(world, SubscriptionMode.TAKE)
    packet = len(letter("a", number=1).packet)
    monkeypatch.setattr(info, "COUNT_MAX", 100)
    monkeypatch.setattr(info, "READ_SIZE_MAX", 3 * packet + 400)
    [found] = info.read_reserved_slices(cast("QueueManager", world.core), lake, 0, 8, "")
    assert found.messages == 3


@given(
    kinds=st.lists(
        st.tuples(st.integers(0, 1), st.sampled_from([1, 5, 5000]), st.booleans(), st.booleans()),
        min_size=1,
        max_size=12,
    ),
    way=st.sampled_from(SubscriptionMode),
    bounds=st.tuples(st.integers(0, 11), st.integers(0, 11)),
    size_max=st.sampled_from([1, 700, ALL]),
)
def test_slices_are_the_messages_that_are_read(
    kinds: list[tuple[int, int, bool, bool]],
    way: SubscriptionMode,
    bounds: tuple[int, int],
    size_max: int,
) -> None:
    world = World()
    queue = world.queue()
    for number, (priority, size, express, waits) in enumerate(kinds, 1):
        text = "x" * size
        world.send(queue, letter(text, number=number, priority=priority, express=express))
        if waits:
            world.tick(1)
    reservations, lake = given_all(world, way)
    after, last = sorted(min(bound, len(kinds)) for bound in bounds)
    entries = reservations.read(lake, after, last, size_max)
    assert apart(read_slices(world.core.snapshot, lake, after, last, size_max)) == known(entries)
