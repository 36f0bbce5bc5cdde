"""How messages are sent later or once, as callers say it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from openmsmq.errors import IllegalPropertyValue, InvalidParameter
from openmsmq.types.delivery import ID_MAX, Delivery


def test_nothing_special_is_nothing() -> None:
    assert Delivery.of(None, None, 3) is None
    assert Delivery.of(None, [], 0) is None


def test_a_time_is_the_same_in_every_zone() -> None:
    moment = datetime(2030, 1, 2, 3, 4, 5, 500_100, UTC)
    there = moment.astimezone(timezone(timedelta(hours=5)))
    found = Delivery.of(moment, None, 1)
    assert found == Delivery.of(there, None, 1) == Delivery(at=1_893_553_445_501)


def test_a_time_that_is_over_is_over() -> None:
    assert Delivery.of(datetime(1960, 1, 1, tzinfo=UTC), None, 1) == Delivery()


def test_a_time_without_a_zone_is_refused() -> None:
    with pytest.raises(IllegalPropertyValue, match="time zone"):
        Delivery.of(datetime(2030, 1, 1), None, 1)  # noqa: DTZ001 # that is the point


@pytest.mark.parametrize(("seconds", "millis"), [(0, 0), (1.5, 1500), (0.0001, 1), (7, 7000)])
def test_seconds_count_from_now(seconds: float, millis: int) -> None:
    assert Delivery.of(seconds, None, 1) == Delivery(after=millis)


@pytest.mark.parametrize("wrong", [-1, float("nan"), float("inf"), 1 << 32, True, "soon"])
def test_other_spans_are_refused(wrong: float) -> None:
    with pytest.raises(IllegalPropertyValue, match="deliver_at"):
        Delivery.of(wrong, None, 1)


def test_the_far_future_is_refused() -> None:
    with pytest.raises(IllegalPropertyValue, match="2106"):
        Delivery.of(datetime(2200, 1, 1, tzinfo=UTC), None, 1)


def test_each_message_has_an_id() -> None:
    assert Delivery.of(None, ["a", "b"], 2) == Delivery(once=("a", "b"))
    with pytest.raises(InvalidParameter, match="1 ids for 2 messages"):
        Delivery.of(None, ["a"], 2)
    with pytest.raises(InvalidParameter, match="a list is needed"):
        Delivery.of(None, "ab", 2)


@pytest.mark.parametrize("wrong", ["", "x" * (ID_MAX + 1), "\ud800", 7, None])
def test_an_id_is_a_text_that_can_be_written(wrong: str) -> None:
    with pytest.raises(InvalidParameter, match="once"):
        Delivery.of(None, [wrong], 1)
