"""How messages are sent later or once, as callers say it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from openmsmq.errors import IllegalPropertyValue, InvalidParameter
from openmsmq.limits import DEDUP_ID_MAX, U32_MAX
from openmsmq.types.delivery import DeliveryOptions, RedirectOptions


def test_nothing_special_is_nothing() -> None:
    assert DeliveryOptions.of(None, None, 3) is None
    assert DeliveryOptions.of(None, [], 0) is None


def test_a_time_is_the_same_in_every_zone() -> None:
    moment = datetime(2030, 1, 2, 3, 4, 5, 500_100, UTC)
    there = moment.astimezone(timezone(timedelta(hours=5)))
    found = DeliveryOptions.of(moment, None, 1)
    assert found == DeliveryOptions.of(there, None, 1) == DeliveryOptions(at=1_893_553_445_501)


def test_a_time_that_is_over_is_over() -> None:
    assert DeliveryOptions.of(datetime(1960, 1, 1, tzinfo=UTC), None, 1) == DeliveryOptions()


def test_a_time_without_a_zone_is_refused() -> None:
    with pytest.raises(IllegalPropertyValue, match="time zone"):
        DeliveryOptions.of(datetime(2030, 1, 1), None, 1)  # noqa: DTZ001 # that is the point


@pytest.mark.parametrize(("seconds", "millis"), [(0, 0), (1.5, 1500), (0.0001, 1), (7, 7000)])
def test_seconds_count_from_now(seconds: float, millis: int) -> None:
    assert DeliveryOptions.of(seconds, None, 1) == DeliveryOptions(after=millis)


@pytest.mark.parametrize("wrong", [-1, float("nan"), float("inf"), 1 << 32, True, "soon"])
def test_other_spans_are_refused(wrong: float) -> None:
    with pytest.raises(IllegalPropertyValue, match="deliver_at"):
        DeliveryOptions.of(wrong, None, 1)


def test_the_far_future_is_refused() -> None:
    with pytest.raises(IllegalPropertyValue, match="2106"):
        DeliveryOptions.of(datetime(2200, 1, 1, tzinfo=UTC), None, 1)


def test_each_message_has_an_id() -> None:
    assert DeliveryOptions.of(None, ["a", "b"], 2) == DeliveryOptions(dedup_ids=("a", "b"))
    with pytest.raises(InvalidParameter, match="1 ids for 2 messages"):
        DeliveryOptions.of(None, ["a"], 2)
    with pytest.raises(InvalidParameter, match="must be a list"):
        DeliveryOptions.of(None, "ab", 2)


@pytest.mark.parametrize("wrong", ["", "x" * (DEDUP_ID_MAX + 1), "\ud800", 7, None])
def test_an_id_is_a_text_that_can_be_written(wrong: str) -> None:
    with pytest.raises(InvalidParameter, match="dedup_id"):
        DeliveryOptions.of(None, [wrong], 1)


@pytest.mark.parametrize("seconds", [-1, U32_MAX])
def test_new_messages_live_for_a_time_that_there_is(seconds: int) -> None:
    with pytest.raises(IllegalPropertyValue, match=f"time_to_be_received {seconds}"):
        RedirectOptions(time_to_be_received=seconds)
    assert RedirectOptions(time_to_be_received=0).time_to_be_received == 0
