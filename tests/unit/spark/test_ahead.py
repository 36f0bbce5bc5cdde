"""One step ahead."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from openmsmq.spark.ahead import one_ahead


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
