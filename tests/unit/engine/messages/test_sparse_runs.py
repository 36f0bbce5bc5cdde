"""Runs with few messages left, which are taken apart."""

from __future__ import annotations

import pytest
from tests.unit.engine.runs import check, fill, letters, rows, runs
from tests.unit.engine.world import OWNER, World

from openmsmq.engine.messages import sparse_runs
from openmsmq.errors import StorageFailed


def test_a_run_with_few_messages_left_is_taken_apart_after_a_minute(world: World) -> None:
    queue = world.queue()
    fill(world, queue)
    world.take(queue, 7)
    lookups = world.lookups(queue)
    world.tick(sparse_runs.PATIENCE - 1)
    assert runs(world)
    world.tick(1)
    assert not runs(world)
    assert rows(world, queue) == lookups
    assert world.bodies(queue) == ["h"]
    assert world.core.next_deadline is None
    check(world)


def test_the_next_run_with_few_messages_left_is_taken_apart_too(world: World) -> None:
    for name in ("q", "r"):
        queue = world.queue(name)
        fill(world, queue)
        world.take(queue, 7)
        world.tick(sparse_runs.PATIENCE)
        assert not runs(world)


def test_a_run_with_a_quarter_left_stays(world: World) -> None:
    queue = world.queue()
    fill(world, queue)
    world.take(queue, 6)
    assert world.core.next_deadline is None
    world.tick(10 * sparse_runs.PATIENCE)
    assert [run.left for run in runs(world)] == [2]


def test_the_next_process_takes_it_apart(world: World) -> None:
    queue = world.queue()
    fill(world, queue)
    world.take(queue, 7)
    world = world.restart()
    world.tick(sparse_runs.PATIENCE)
    assert not runs(world)
    assert world.bodies(world.find()) == ["h"]


def test_a_run_stays_while_a_message_of_it_is_held(world: World) -> None:
    queue = world.queue(transactional=True)
    fill(world, queue)
    world.take(queue, 7)
    transaction = world.transactions.begin()
    world.take(queue, 1, transaction)
    world.tick(sparse_runs.PATIENCE)
    assert runs(world)
    world.done(world.transactions.abort(transaction))
    world.tick(sparse_runs.PATIENCE)
    assert not runs(world)
    assert world.bodies(queue) == ["h"]


def test_a_disk_that_refuses_is_tried_again_a_minute_later(world: World) -> None:
    queue = world.queue()
    fill(world, queue)
    world.take(queue, 7)
    assert world.pass_time(sparse_runs.PATIENCE)
    world.commit(StorageFailed("broken"))
    assert runs(world)
    world.tick(sparse_runs.PATIENCE)
    assert not runs(world)
    assert world.bodies(queue) == ["h"]


@pytest.mark.parametrize("outcome", ["removed", "committed", "aborted", "moved"])
def test_what_is_read_while_its_run_is_taken_apart_can_be_ended(world: World, outcome: str) -> None:
    queue = world.queue(transactional=True)
    fill(world, queue)
    world.take(queue, 7)
    assert world.pass_time(sparse_runs.PATIENCE)
    world.core.start_commit(world.store.begin())
    transaction = world.transactions.begin()
    target = world.subqueue(queue)
    target.pins += 1
    if outcome == "removed":
        world.receiver.receive(queue, 1, OWNER, wait=False)
    elif outcome == "moved":
        world.moves.move(queue, world.lookups(queue)[0], target, transaction)
    else:
        world.receiver.receive(queue, 1, OWNER, wait=False, holder=transaction)
    world.store.commit()
    world.core.finish_commit()
    end = world.transactions.abort if outcome == "aborted" else world.transactions.commit
    world.done(end(transaction))
    assert world.bodies(queue) == (["h"] if outcome == "aborted" else [])
    assert world.bodies(target) == (["h"] if outcome == "moved" else [])
    assert not runs(world)
    check(world)


def test_only_so_many_runs_are_watched(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sparse_runs, "SPARSE_RUNS_MAX", 2)
    for number in range(3):
        queue = world.queue(f"q{number}")
        world.send(queue, *letters())
        world.take(queue, 7)
    world.tick(sparse_runs.PATIENCE)
    assert len(runs(world)) == 1
