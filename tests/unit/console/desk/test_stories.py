"""Clocks that cannot be right."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from openmsmq.console.desk.models import MessageTaker, StoryEvent
from openmsmq.console.desk.stories import clock_differences, in_order, readers_of

AT = datetime(2026, 7, 1, tzinfo=UTC)


def event(manager: str, second: float, what: str = "arrived") -> StoryEvent:
    return StoryEvent(AT + timedelta(seconds=second), manager, what, "q", what, "", "1")


@pytest.mark.parametrize(
    ("arrived", "heard", "found"),
    [
        (5, 6, {}),
        (-20, 6, {"b": -20.0}),
        (60, 6, {"b": 54.0}),
        (60, None, {}),
        (-1, 6, {}),
    ],
)
def test_nothing_arrives_before_it_is_sent_nor_is_heard_of_before(
    arrived: float, heard: float | None, found: dict[str, float]
) -> None:
    events = [event("b", arrived), event("a", 0), event("b", arrived + 1, "received")]
    events += [event("a", heard, "reached")] if heard is not None else []
    assert clock_differences("a", events) == found


def test_who_took_a_message_or_looked_at_it_is_known_in_order() -> None:
    events = [event("a", 0), event("a", 9, "received"), event("b", 3, "aborted")]
    look = MessageTaker(AT + timedelta(seconds=5), "a", "ann", "looked at it", "q")
    found = readers_of(events, [look])
    assert [(one.manager, one.who, one.how.partition(":")[0]) for one in found] == [
        ("b", "", "gave it back"),
        ("a", "ann", "looked at it"),
        ("a", "", "received it"),
    ]
    assert readers_of(events[:1], []) == []


def test_without_the_sender_nothing_is_known() -> None:
    assert clock_differences("", [event("b", 0), event("c", 9)]) == {}
    assert clock_differences("a", [event("b", 0)]) == {}


def test_events_are_in_the_order_in_which_they_must_have_happened() -> None:
    events = [event("a", 0), event("b", -20), event("a", 3, "reached")]
    clocks = clock_differences("a", events)
    assert [(one.manager, one.event) for one in in_order(events, clocks)] == [
        ("a", "arrived"),
        ("b", "arrived"),
        ("a", "reached"),
    ]
    assert in_order(events, {})[0].manager == "b"
