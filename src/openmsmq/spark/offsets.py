"""Offsets of streams: whose they are, through which subscription, and how far each queue was read.

    {"owner": "0b9c...", "subscription": "spark-0b9c...", "positions": {"MANAGER/QUEUE": 12}}

Managers and queues go by their GUIDs, since an address can be written in many ways. The owner is
drawn at random for the first batch of a checkpoint and stays in its offsets: it tells this stream
from all others. Where a first batch begins has no owner yet.

`since` has the arrival number of each queue up to which messages are left out, or under `time` the
second before which they are: what `startingPosition` says.

`begin` has the positions that a batch begins behind where these are not those that the batch
before it ended with: after a loss that `failOnDataLoss=false` accepts.

Before offsets named subscriptions, a stream without one had `spark`. Before there were owners an
offset was `{"HOST:PORT PATH": 12}`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Self

from openmsmq.errors import InvalidParameter, SubscriptionTaken

OWNER: Final = "owner"
POSITIONS: Final = "positions"
SUBSCRIPTION: Final = "subscription"
BEGIN: Final = "begin"
SINCE: Final = "since"
BETWEEN: Final = "/"
BEFORE_NAMES: Final = "spark"
"The subscription of streams that named none, before each had one of its own."
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
    subscription: str = ""
    "The name of the subscription; empty where nothing was read yet, and in older offsets."
    begin: Mapping[str, int] = field(default_factory=dict)
    "Where the batch that ends here begins, for queues that do not go on where they were."
    since: Mapping[str, int] = field(default_factory=dict)
    "What a stream leaves out that did not begin with all: see `subscribed`."
    is_adopted: bool = False
    "It was written before there were owners."

    @classmethod
    def of(cls, written: Mapping[str, Any], places: Mapping[str, QueueAddress]) -> Self:
        """What Spark has of an offset; one of the older form goes by the names of its queues."""
        positions = written.get(POSITIONS)
        if isinstance(positions, dict):
            name, begin = str(written.get(SUBSCRIPTION, "")), written.get(BEGIN, {})
            since = written.get(SINCE, {})
            return cls(str(written.get(OWNER, "")), positions, name, begin, since)
        found = {_key(name, places): int(position) for name, position in written.items()}
        return cls("", found, is_adopted=bool(found))

    def written(self) -> dict[str, Any]:
        """What Spark writes down."""
        found: dict[str, Any] = {OWNER: self.owner, POSITIONS: dict(self.positions)}
        if self.subscription:
            found[SUBSCRIPTION] = self.subscription
        if self.begin:
            found[BEGIN] = dict(self.begin)
        if self.since:
            found[SINCE] = dict(self.since)
        return found


def key(manager: str, queue: str) -> str:
    """What a queue of a manager is called in offsets: both by what they are always known by."""
    return f"{manager}{BETWEEN}{queue}"


def manager_of(name: str) -> str:
    """The manager of a queue in offsets."""
    return name.partition(BETWEEN)[0]


def own_name(owner: str) -> str:
    """The subscription of a stream that names none."""
    return f"{BEFORE_NAMES}-{owner[:12]}"


def subscription_of(offset: Offset, wanted: str) -> str:
    """The name of the subscription that a stream reads through; empty for one that begins.

    `InvalidParameter` if the checkpoint is about another one than the option names.
    """
    has = offset.subscription
    if wanted and has and wanted.lower() != has.lower():
        raise InvalidParameter(
            f"option subscription is {wanted!r}, and the checkpoint is about {has!r}: a checkpoint"
            " belongs to one subscription. Leave the name as it was, or give the stream with the"
            " other name a checkpoint of its own"
        )
    is_older = bool(offset.owner) or offset.is_adopted
    return has or wanted or (BEFORE_NAMES if is_older else "")


def _key(name: str, places: Mapping[str, QueueAddress]) -> str:
    """What a queue of an older offset is called now; itself, if that cannot be determined.

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


def copied(subscription: str, queue: str, position: int, read: int) -> SubscriptionTaken:
    """What a stream is refused with whose checkpoint is a copy that another stream has used."""
    return SubscriptionTaken(
        f"option subscription: messages {position + 1} to {read} of {subscription!r} of {queue}"
        f" were read by another run, and this checkpoint ends at {position}: it is a copy, or an"
        " older state, of a checkpoint that was used since. Go on with the one that was used last,"
        " or let a new checkpoint take over with option resume=true: rows that were read and not"
        " committed come again then"
    )


def lost(what: str) -> InvalidParameter:
    """What a stream is refused with that would go on behind messages that it has not had."""
    return InvalidParameter(
        f"{what}. Option failOnDataLoss=false goes on with what is there: messages may be missing"
        " from the output, or come again"
    )
