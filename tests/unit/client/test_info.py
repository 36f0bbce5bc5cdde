"""What is known about a queue, as a value."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import pytest
from tests.unit.model.world import NOW, World

from openmsmq.client.info import QueueInfo
from openmsmq.model.reading import Holder


def test_properties_are_shown_as_callers_give_them() -> None:
    queue = World().queue("private$\\orders", transactional=True, journal=True, quota=5, label="x")
    info = QueueInfo.of(queue)
    assert info.name == ".\\private$\\orders"
    assert info.id == queue.properties.id
    assert (info.transactional, info.journal, info.quota, info.label) == (True, True, 5, "x")
    assert (info.created, info.modified) == (NOW, NOW)


def test_no_quota_is_none() -> None:
    assert QueueInfo.of(World().queue()).quota is None
    assert QueueInfo.of(World().queue(quota=0)).quota == 0


def test_messages_of_every_kind_count_until_they_are_gone() -> None:
    """Those that readers hold too, but not those of open transactions."""
    world = World()
    queue = world.queue()
    world.send(queue, "abc")
    world.send(queue, "de", express=True)
    world.receive(queue, holder=Holder())
    assert (QueueInfo.of(queue).messages, QueueInfo.of(queue).bytes) == (2, 5)
    ledger = world.queue("ledger", transactional=True)
    world.send(ledger, "x", transaction=world.transacting.begin())
    assert (QueueInfo.of(ledger).messages, QueueInfo.of(ledger).bytes) == (0, 0)


def test_it_is_a_value_of_one_moment() -> None:
    world = World()
    queue = world.queue()
    before = QueueInfo.of(queue)
    assert before == QueueInfo.of(queue)
    world.send(queue, "a")
    assert before.messages == 0
    assert before != QueueInfo.of(queue)
    with pytest.raises(FrozenInstanceError):
        before.label = "x"  # type: ignore[misc]  # that it is refused is the point
