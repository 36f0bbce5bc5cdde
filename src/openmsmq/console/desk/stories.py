"""The life of a message on several managers, whose clocks may not agree.

No manager tells its clock. But a message arrives nowhere before it is sent, and its sender does not
hear of that before it has happened: where times say otherwise, a clock is wrong by so much or more.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from openmsmq.console.desk.models import MessageTaker, StoryEvent

HEARD: Final = ("reached", "delivered", "handed_over")
"What a sender writes down when another manager has the message."
READ: Final = {
    "received": "received it",
    "reserved": "reserved it for a subscription",
    "returned": "gave it back: its subscription ended",
    "aborted": "gave it back: its transaction was aborted",
    "put_back": "gave it back: it disconnected before the answer",
    "redirected": "sent it again",
    "moved": "moved it",
    "purged": "purged it",
}
"What a manager writes down when someone has a message, in words."
_TICK: Final = 1.0
"Times are whole seconds."


def clock_differences(sender: str, events: Sequence[StoryEvent]) -> dict[str, float]:
    """By how many seconds, or more, clocks are ahead of that of the sender, or behind it if < 0."""
    first: dict[str, StoryEvent] = {}
    for one in sorted(events, key=lambda event: event.time):
        first.setdefault(one.manager, one)
    if sender not in first:
        return {}
    heard = [one.time for one in events if one.manager == sender and one.event in HEARD]
    found = {}
    for name, one in first.items():
        behind = (first[sender].time - one.time).total_seconds()
        ahead = (one.time - min(heard)).total_seconds() if heard else 0.0
        if name != sender and max(behind, ahead) > _TICK:
            found[name] = ahead if ahead > _TICK else -behind
    return found


def readers_of(events: Sequence[StoryEvent], looks: Sequence[MessageTaker]) -> list[MessageTaker]:
    """Who took a message, gave it back or looked at it, in this order of time."""
    taken = [
        MessageTaker(one.time, one.manager, one.by, READ[one.event], one.queue)
        for one in events
        if one.event in READ
    ]
    return sorted([*taken, *looks], key=lambda one: one.time)


def in_order(events: Sequence[StoryEvent], clocks: dict[str, float]) -> list[StoryEvent]:
    """Events as they happened, as far as clocks are known to be wrong."""
    return sorted(
        events, key=lambda one: one.time - timedelta(seconds=clocks.get(one.manager, 0.0))
    )
