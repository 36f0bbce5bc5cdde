"""A commit's work with messages of one session."""

from __future__ import annotations

from tests.unit.model.world import World

from openmsmq.model.arrival import Origin, Work
from openmsmq.model.committing import Batch


def test_a_commit_begins_with_nothing() -> None:
    core = World().core
    batch = Batch(core.store.begin(), core.numbers, 0, core.history, core.statistics)
    origin = Origin("192.0.2.9", "somebody")
    work = Work(batch, origin)
    assert work.batch is batch
    assert work.origin is origin
    found = [work.new, work.sizes, work.keys, work.sequences, work.orders, work.after]
    assert not any(found)
    assert work.size == 0
    core.store.abort()


def test_a_session_takes_messages_until_one_is_refused() -> None:
    assert not Origin("192.0.2.9", "somebody").is_refused


def test_what_waits_for_a_commit_is_ahead_until_that_begins() -> None:
    origin = Origin("192.0.2.9", "somebody")
    origin.waiting.append([b"packet"])
    origin.ahead.add(World().queue("q"))
    origin.applied()
    assert not origin.waiting
    assert not origin.ahead
