"""What needs attention in a manager, from what it tells about its queues."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from openmsmq.console.models import FindingView
from openmsmq.types.outgoing import OutgoingInfo, TransferState
from openmsmq.types.queues import POISON_SUBQUEUE, VISIBLE, QueueInfo, QueueKind

OLD_S: Final = 3600
"A message that waits so long in a queue is worth a look."
FULL: Final = 0.9
"The part of a quota from which on a queue is worth a look."
PREPARED_S: Final = 600
FAILURES: Final = 3
_KIB: Final = 1024
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
