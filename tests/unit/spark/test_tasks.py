"""Ranges of messages in tasks."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Iterator

import pytest

from openmsmq.spark.tasks import RANGE_COST, Range, one_ahead, packed, size_of_tasks, split


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


# One ahead


def test_all_items_come_in_their_order() -> None:
    assert list(one_ahead(iter(range(1, 5)))) == [1, 2, 3, 4]
    assert list(one_ahead(iter([]))) == []


def test_the_next_item_is_made_while_one_is_used() -> None:
    made = [threading.Event() for _ in range(3)]

    def items() -> Iterator[int]:
        for number, event in enumerate(made):
            event.set()
            yield number

    found = one_ahead(items())
    assert next(found) == 0
    assert made[1].wait(10)
    assert not made[2].is_set(), "no more than that"
    assert list(found) == [1, 2]


def test_what_goes_wrong_is_found_in_its_place() -> None:
    def items() -> Iterator[int]:
        yield 1
        raise ValueError("broken")

    found = one_ahead(items())
    assert next(found) == 1
    with pytest.raises(ValueError, match="broken"):
        next(found)


def test_what_is_loaded_is_left_out_of_collections_once() -> None:
    code = "import gc; from openmsmq.spark.tasks import keep_loaded as keep; keep()"
    code += "; first = gc.get_freeze_count(); kept = [[] for _ in range(999)]; keep()"
    code += "; print(first > 0, gc.get_freeze_count() == first)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    assert done.stdout.split() == ["True", "True"]
