"""What needs attention in a manager, from what it tells about its queues."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf
from typing import Final, Literal

from openmsmq.console.models import FindingView
from openmsmq.store.limits import RESERVE
from openmsmq.types.outgoing import OutgoingInfo, TransferState
from openmsmq.types.queues import POISON_SUBQUEUE, VISIBLE, QueueInfo, QueueKind

OLD_S: Final = 3600
"A message that waits so long in a queue is worth a look."
FULL: Final = 0.9
"The part of a quota from which on a queue is worth a look."
PREPARED_S: Final = 600
FAILURES: Final = 3
FORECAST_FROM_S: Final = 6 * 3600
"How far back the disk is looked at to say when it is full."
FORECAST_POINTS: Final = 10
"Minutes that have to be known for that."
FORECAST_S: Final = 48 * 3600
"A disk that is full sooner is worth a look."
FORECAST_SOON_S: Final = 6 * 3600
LOW: Final = 1 << 30
"Free bytes below which it is worth a look in any case."
KINDS: Final = (
    *("dead letters", "poison", "old", "quota"),
    *("outgoing", "paused", "transaction", "disk"),
)
"What findings are about."
_ROOM: Final = "see which queues and journals take it, and free disk space"
_KIB: Final = 1024
_MIB: Final = 1 << 20
_GIB: Final = 1 << 30
_HOUR: Final = 3600
_MINUTE: Final = 60


def findings_of(
    queues: Sequence[QueueInfo], outgoing: Sequence[OutgoingInfo], prepared: dict[str, int]
) -> list[FindingView]:
    """All that needs attention, the worst first."""
    found = [
        *(finding for one in queues for finding in _of_queue(one)),
        *(finding for one in outgoing for finding in _of_outgoing(one)),
        *(
            FindingView(
                "warning",
                "transaction",
                f"transaction {xid} is prepared for {age_text(age)} and holds its messages",
                "commit or abort it, once its coordinator has decided",
            )
            for xid, age in prepared.items()
            if age >= PREPARED_S
        ),
    ]
    return sorted(found, key=lambda one: (one.level != "problem", one.queue))


def disk_findings(series: Mapping[str, Sequence[float]]) -> list[FindingView]:
    """Whether the disk is full or will be, as free bytes of the last hours tell."""
    times, free = series["time"], series["free"]
    if not times:
        return []
    left, room = free[-1] - RESERVE, _size(free[-1])
    if left <= 0:
        text = f"{room} are free on the disk: no message is taken any more"
        return [FindingView("problem", "disk", text, _ROOM)]
    seconds = left / rate if (rate := -slope(times, free)) > 0 else inf
    if len(times) >= FORECAST_POINTS and seconds < FORECAST_S:
        span = age_text(int(times[-1] - times[0]))
        text = f"{room} are free on the disk: at the rate of the last {span}"
        text += f" it is full in {age_text(int(seconds))}"
        level: Literal["problem", "warning"]
        level = "problem" if seconds < FORECAST_SOON_S else "warning"
        return [FindingView(level, "disk", text, _ROOM)]
    if left < LOW:
        return [FindingView("warning", "disk", f"only {room} are free on the disk", _ROOM)]
    return []


def slope(times: Sequence[float], values: Sequence[float]) -> float:
    """By how much values change in a second: the line that lies nearest to them."""
    middle, height = sum(times) / len(times), sum(values) / len(values)
    spread = sum((at - middle) ** 2 for at in times)
    rising = sum((at - middle) * (one - height) for at, one in zip(times, values, strict=True))
    return rising / spread if spread else 0.0


def _size(free: float) -> str:
    return f"{free / _GIB:,.1f} GiB" if free >= _GIB else f"{free / _MIB:,.0f} MiB"


def _of_queue(one: QueueInfo) -> list[FindingView]:
    found = []
    if one.messages and one.name in (r".\DeadLetter$", r".\XactDeadLetter$"):
        found.append(
            FindingView(
                "problem",
                "dead letters",
                f"{_count(one.messages, 'dead letter')} in {one.name}",
                "see why at the dead-letter desk; return them to their queues or delete them",
                one.name,
            )
        )
    if one.messages and one.kind == QueueKind.SUBQUEUE and one.name.endswith(POISON_SUBQUEUE):
        found.append(
            FindingView(
                "problem",
                "poison",
                f"{_count(one.messages, 'message')} in {one.name}: aborted too often",
                "look at one, mend its reader, and return them",
                one.name,
            )
        )
    if one.kind not in VISIBLE:
        return found
    if one.messages and one.oldest_age is not None and one.oldest_age >= OLD_S:
        is_idle = one.state == "inactive"
        found.append(
            FindingView(
                "problem" if is_idle else "warning",
                "old",
                f"the oldest message of {one.name} waits for {age_text(one.oldest_age)}"
                + (", and no program has the queue open" if is_idle else ""),
                "is its reader running?",
                one.name,
            )
        )
    if one.quota is not None and one.bytes >= one.quota * _KIB * FULL:
        found.append(
            FindingView(
                "problem",
                "quota",
                f"{one.name} takes {one.bytes / _KIB:,.0f} of {one.quota:,} KiB",
                "receive or delete messages, or raise the quota",
                one.name,
            )
        )
    return found


def _of_outgoing(one: OutgoingInfo) -> list[FindingView]:
    waiting = one.messages + one.unacknowledged
    if not waiting:
        return []
    if one.state == TransferState.ON_HOLD:
        return [
            FindingView(
                "warning",
                "paused",
                f"{_count(waiting, 'message')} to {one.name}: the queue is paused",
                "resume it",
                one.name,
            )
        ]
    if one.failures >= FAILURES:
        return [
            FindingView(
                "problem",
                "outgoing",
                f"{_count(waiting, 'message')} to {one.name}: {one.failures} attempts failed,"
                f" {one.last_error}",
                "is the other manager running, and its name right?",
                one.name,
            )
        ]
    return []


def _count(number: int, what: str) -> str:
    """A count with its noun."""
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def age_text(seconds: int) -> str:
    """A span of time in words."""
    if seconds >= 48 * _HOUR:
        return f"{seconds // (24 * _HOUR)} days"
    if seconds >= _HOUR:
        return f"{seconds // _HOUR} h {seconds % _HOUR // _MINUTE} min"
    return f"{seconds // _MINUTE} min" if seconds >= _MINUTE else f"{seconds} s"
