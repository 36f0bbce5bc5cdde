"""Offsets of streams: whose they are, and how far each queue was read.

    {"owner": "0b9c...", "positions": {"MANAGER/QUEUE": 12}}

Managers and queues go by their GUIDs, since an address can be written in many ways. The owner is
drawn at random for the first batch of a checkpoint and stays in its offsets: it tells this stream
from all others with the same subscription. Where a first batch begins has no owner yet.

Before there were owners an offset was `{"HOST:PORT PATH": 12}`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Self

from openmsmq.errors import InvalidParameter, SubscriptionTaken

OWNER: Final = "owner"
POSITIONS: Final = "positions"
BETWEEN: Final = "/"
_BEFORE: Final = " "
"Between address and queue, before there were owners."


@dataclass(frozen=True, slots=True)
class QueueAddress:
    """A queue as options name it."""

    address: str
    queue: str
    "Its path name."


@dataclass(frozen=True, slots=True)
class Offset:
    """How far a stream has come."""

    owner: str = ""
    positions: Mapping[str, int] = field(default_factory=dict)
    is_adopted: bool = False
    "It was written before there were owners."

    @classmethod
    def of(cls, written: Mapping[str, Any], places: Mapping[str, QueueAddress]) -> Self:
        """What Spark has of an offset; one of the older form goes by the names of its queues."""
        positions = written.get(POSITIONS)
        if isinstance(positions, dict):
            return cls(str(written.get(OWNER, "")), positions)
        found = {_key(name, places): int(position) for name, position in written.items()}
        return cls("", found, is_adopted=True)

    def written(self) -> dict[str, Any]:
        """What Spark writes down."""
        return {OWNER: self.owner, POSITIONS: dict(self.positions)}


def key(manager: str, queue: str) -> str:
    """What a queue of a manager is called in offsets: both by what they are always known by."""
    return f"{manager}{BETWEEN}{queue}"


def manager_of(name: str) -> str:
    """The manager of a queue in offsets."""
    return name.partition(BETWEEN)[0]


def _key(name: str, places: Mapping[str, QueueAddress]) -> str:
    """What a queue of an older offset is called now; itself, if that is not to be told.

    If its address is written in another way than it was, the queue is found by its name.
    """
    address, _, queue = name.partition(_BEFORE)
    named = [key for key, place in places.items() if place.queue == queue]
    same = [key for key in named if places[key].address == address]
    if len(named) > 1 and not same:
        raise InvalidParameter(
            f"option managers: the checkpoint is about {queue} of {address}, and it is unclear"
            " which of these managers that is: write its address as before for one run"
        )
    return (same or named or [name])[0]


def refusal(subscription: str, queue: str, owner: str) -> SubscriptionTaken:
    """What a stream is refused with that reads through the subscription of another one."""
    by = f" (owner {owner})" if owner else ""
    return SubscriptionTaken(
        f"option subscription: {subscription!r} of {queue} belongs to another stream{by}, which has"
        " read through it. If this is that stream, it was started without the checkpoint that it"
        " had: bring that back, or let a new checkpoint take over what is reserved with option"
        " resume=true. If two streams read this queue, give each its own name with option"
        " subscription. If the other one is over, openmsmq subscription drop"
        f" '{subscription}' '{queue}' gives its messages back"
    )
