"""Ranges of messages in tasks."""

from __future__ import annotations

from openmsmq.spark.tasks import RANGE_COST, Range, packed, size_of_tasks, split


def test_small_ranges_of_a_manager_share_a_task() -> None:
    ranges = [Range(f"q{n}", ((0, 1),), 1) for n in range(1000)]
    tasks = list(packed("m", ranges, 50_000))
    assert len(tasks) == 1000 * RANGE_COST // 50_000
    assert [one for task in tasks for one in task.ranges] == ranges
    assert {task.manager for task in tasks} == {"m"}


def test_large_ranges_are_split_and_stay_alone() -> None:
    parts = list(split("q", 10, 35, 10))
    assert [part.spans for part in parts] == [((10, 20),), ((20, 30),), ((30, 35),)]
    assert [len(task.ranges) for task in packed("m", parts, 10)] == [1, 1, 1]


def test_more_tasks_than_messages_need() -> None:
    assert size_of_tasks(3, 50_000, 1) == 50_000
    assert size_of_tasks(1000, 50_000, 4) == 250
    assert size_of_tasks(1000, 100, 4) == 100
    assert size_of_tasks(0, 100, 4) == 1
