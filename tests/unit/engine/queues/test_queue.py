"""Properties of queues, and what is counted about a queue in memory."""

from __future__ import annotations

import json
from dataclasses import FrozenInstanceError, replace
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.engine.world import NOW, World, message, properties

from openmsmq.engine.outgoing.state import Transfer
from openmsmq.engine.queues.holds import Holder, Holds
from openmsmq.engine.queues.queue import NO_TYPE, ManagedQueue, QueueProperties, derive, journal_of
from openmsmq.engine.storage.layout import JOURNAL_BIT
from openmsmq.errors import IllegalPropertyValue
from openmsmq.limits import NO_QUOTA, QUEUE_LABEL_MAX
from openmsmq.types.access import Mode
from openmsmq.types.lookup import LOOKUP_MAX
from openmsmq.types.queues import QueueKind

TYPE = UUID("12345678-1234-4234-8234-123456789abc")
EVERYTHING = properties(
    "private$\\Grüße",
    transactional=True,
    journal=True,
    quota=17,
    journal_quota=0,
    label="Überweisungen",
    authenticate=True,
    privacy=2,
    base_priority=-5,
    type=TYPE,
)


def test_a_queue_has_the_defaults_of_the_specification() -> None:
    """DMPR-115."""
    made = properties()
    assert (made.label, made.type, made.journal) == ("", NO_TYPE, False)
    assert (made.quota, made.journal_quota) == (NO_QUOTA, NO_QUOTA) == (0xFFFFFFFF, 0xFFFFFFFF)
    assert (made.authenticate, made.privacy, made.transactional) == (False, 1, False)
    assert made.base_priority == 0


def test_properties_are_stored_and_read_back() -> None:
    """DMPR-001, DMPR-033."""
    assert QueueProperties.from_row(EVERYTHING.to_row()) == EVERYTHING
    assert QueueProperties.from_row(properties().to_row()) == properties()


def test_what_a_newer_version_added_to_a_row_is_left_out() -> None:
    row = json.loads(properties("a").to_row())
    row["color"] = "blue"
    assert QueueProperties.from_row(json.dumps(row).encode()) == properties("a")


def test_what_an_older_version_did_not_know_has_its_default() -> None:
    row = json.loads(EVERYTHING.to_row())
    del row["base_priority"], row["privacy"]
    expected = replace(EVERYTHING, base_priority=0, privacy=1)
    assert QueueProperties.from_row(json.dumps(row).encode()) == expected


def test_a_change_leaves_the_rest_and_sets_the_time() -> None:
    changed = EVERYTHING.changed(NOW + 5, label="new", quota=3)
    assert changed == replace(EVERYTHING, label="new", quota=3, modified=NOW + 5)
    assert EVERYTHING.label == "Überweisungen"


@pytest.mark.parametrize(
    "wrong",
    [
        {"label": "x" * (QUEUE_LABEL_MAX + 1)},
        {"label": "half \ud800 pair"},
        {"quota": -1},
        {"quota": NO_QUOTA + 1},
        {"journal_quota": -1},
        {"journal_quota": NO_QUOTA + 1},
        {"privacy": -1},
        {"privacy": 3},
        {"base_priority": -32769},
        {"base_priority": 32768},
    ],
    ids=ascii,
)
def test_values_outside_their_sets_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(IllegalPropertyValue) as info:
        properties(**wrong)
    assert info.value.hresult == 0xC00E0018
    with pytest.raises(IllegalPropertyValue):
        properties().changed(NOW, **wrong)


@pytest.mark.parametrize(
    "right",
    [
        {"label": "x" * QUEUE_LABEL_MAX},
        {"label": "whole \U0001f600 pair"},
        {"quota": 0},
        {"quota": NO_QUOTA},
        {"journal_quota": 0},
        {"privacy": 0},
        {"base_priority": -32768},
        {"base_priority": 32767},
    ],
    ids=str,
)
def test_the_last_values_of_each_set_are_taken(right: dict[str, Any]) -> None:
    made = properties(**right)
    assert {name: getattr(made, name) for name in right} == right


def test_properties_do_not_change() -> None:
    with pytest.raises(FrozenInstanceError):
        properties().label = "x"  # type: ignore[misc]  # that it is refused is the point


def test_all_bytes_of_a_queue_count_from_acceptance_to_removal() -> None:
    """On disk, in memory, or still on the way (A-04)."""
    world = World()
    queue = world.queue()
    world.send(queue, "abc")
    world.send(queue, "de", express=True)
    world.enqueuer.send(queue, [message("f")])
    assert queue.total_size == 6
    world.commit()
    assert queue.total_size == 6
    world.receive(queue, 3)
    assert queue.total_size == 0


def test_a_queue_is_in_use_while_someone_may_want_it() -> None:
    world = World()
    queue = ManagedQueue(16, properties())
    assert not queue.is_in_use
    holds = Holds()
    holds.hold([5], Holder())
    in_use = [
        ManagedQueue(16, properties(), messages=1),
        ManagedQueue(16, properties(), reserved=1),
        ManagedQueue(16, properties(), modes=[Mode()]),
        ManagedQueue(16, properties(), holds=holds),
        ManagedQueue(16, properties(), pins=1),
    ]
    assert all(one.is_in_use for one in in_use)
    express = world.queue()
    world.send(express, "a", express=True)
    assert express.is_in_use
    queue.transfer = Transfer()
    assert not queue.is_in_use
    queue.transfer.pause()
    assert (queue.is_paused, queue.is_in_use) == (True, True)


def test_journals_and_subqueues_belong_to_their_queue() -> None:
    """DMPR-117, DMPR-118."""
    queue = ManagedQueue(16, properties(journal_quota=5, quota=7))
    journal = journal_of(queue)
    assert journal_of(queue) is journal
    assert (journal.main, queue.main) == (queue, queue)
    assert (journal.name, journal.number) == ("q;JOURNAL", 16 | JOURNAL_BIT)
    assert journal.properties.quota == 5
    sub = ManagedQueue(17, properties("q;retry", kind=QueueKind.SUBQUEUE), parent=queue, size=3)
    queue.subqueues["RETRY"] = sub
    queue.properties = queue.properties.changed(NOW, transactional=True, journal_quota=6)
    derive(queue)
    assert (sub.properties.transactional, sub.name, sub.kind) == (
        True,
        "q;retry",
        QueueKind.SUBQUEUE,
    )
    assert (journal.properties.transactional, journal.properties.quota) == (True, 6)
    assert (queue.total_size, queue.quota_size) == (0, 3)


def test_what_was_purged_goes_when_it_is_given_back() -> None:
    queue = ManagedQueue(16, properties(), purge_mark=10, purge_pending={99}, spared={5})
    assert queue.is_purged(99)
    assert queue.is_purged(10)
    assert not queue.is_purged(11)
    assert not queue.is_purged(5)


@pytest.mark.parametrize("kind", list(QueueKind))
def test_a_kind_is_stored_and_read_back(kind: QueueKind) -> None:
    """DMPR-041."""
    assert QueueProperties.from_row(properties(kind=kind).to_row()).kind is kind


def test_reading_starts_again_before_a_message_that_became_readable() -> None:
    queue = ManagedQueue(16, properties(), start=50)
    queue.readable_again([51])
    assert queue.start == 50
    queue.readable_again([50])
    assert queue.start == 49
    queue.readable_again([7])
    assert queue.start == 6


def test_what_is_held_behind_a_message_that_became_readable_is_not_walked_again() -> None:
    queue = ManagedQueue(16, properties(), start=50)
    assert queue.parts_after(0) == [(50, LOOKUP_MAX)]
    queue.readable_again([7, 9, 60])
    assert queue.parts_after(0) == [(6, 9), (50, LOOKUP_MAX)]
    assert queue.parts_after(8) == [(8, 9), (50, LOOKUP_MAX)]
    assert queue.parts_after(70) == [(70, LOOKUP_MAX)]
    queue.start = 9
    assert queue.parts_after(0) == [(50, LOOKUP_MAX)]
    queue.readable_again([20])
    assert queue.parts_after(0) == [(9, 20), (50, LOOKUP_MAX)]
    queue.start = 60
    queue.readable_again([55])
    assert queue.parts_after(0) == [(54, 55), (60, LOOKUP_MAX)]


@given(st.data())
def test_no_readable_message_is_ever_left_out(data: st.DataObject) -> None:
    """Readers take from the start or from anywhere, and give back what they took."""
    queue = ManagedQueue(16, properties())
    known: set[int] = set()
    free: set[int] = set()
    for _ in range(data.draw(st.integers(1, 30))):
        action = data.draw(st.sampled_from(["came", "back", "take", "pick"]))
        if action == "came":
            new = data.draw(st.sets(st.integers(1, 40), min_size=1, max_size=3)) - known
            known |= new
            free |= new
            if new:
                queue.readable_again(sorted(new))
        elif action == "back" and known - free:
            back = data.draw(st.sets(st.sampled_from(sorted(known - free)), min_size=1))
            free |= back
            queue.readable_again(sorted(back))
        elif action == "take" and free:
            taken = sorted(free)[: data.draw(st.integers(1, 3))]
            free -= set(taken)
            queue.start = taken[-1]
        elif action == "pick" and free:
            free.discard(data.draw(st.sampled_from(sorted(free))))
        after = data.draw(st.integers(0, 40))
        parts = queue.parts_after(after)
        seen = {at for at in known for first, last in parts if first < at <= last}
        assert {at for at in free if at > after} <= seen


def test_queues_are_distinguished_by_identity() -> None:
    assert ManagedQueue(16, properties()) != ManagedQueue(16, properties())


@pytest.mark.parametrize("name", ["abort_limit", "retry_delay"])
@pytest.mark.parametrize("value", [-1, 0xFFFFFFFF, 1.5, "1"])
def test_the_limits_for_poison_messages_fit_32_bits(name: str, value: Any) -> None:
    wrong, right = {name: value}, {name: 0xFFFFFFFE}
    with pytest.raises(IllegalPropertyValue, match=f"{name} {value}: 0 to 4294967294 are possible"):
        EVERYTHING.changed(NOW, **wrong)
    assert getattr(EVERYTHING.changed(NOW, **right), name) == 0xFFFFFFFE


def test_a_quota_is_a_whole_number() -> None:
    with pytest.raises(IllegalPropertyValue, match=r"quota 5\.5"):
        properties(quota=5.5)
