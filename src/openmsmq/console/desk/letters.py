"""Dead letters in groups: what went wrong, with which messages, and where each is returned to.

Letters are in the dead-letter queues, in `Refused$`, in `;poison` subqueues, and in the `error`
queues of NServiceBus, whose messages say themselves where they failed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from openmsmq.bodies.headers import decode_headers
from openmsmq.client._async.manager import Manager, Queue
from openmsmq.console.desk.kinds import REFUSED, is_error_queue, is_letter_queue
from openmsmq.console.desk.models import LetterGroup, LettersView
from openmsmq.console.filters import label_shape
from openmsmq.console.limits import GROUPS_MAX, LETTERS_MAX, REASON_MAX
from openmsmq.console.pace import Pace
from openmsmq.console.views import reason_of
from openmsmq.errors import AccessDenied, QueueNotFound
from openmsmq.types.access import Access
from openmsmq.types.queues import QueueInfo
from openmsmq.types.received import ReceivedMessage

FAILED_IN: Final = "NServiceBus.FailedQ"
"Where a message of an error queue failed."
FAILED_WITH: Final = ("NServiceBus.ExceptionInfo.ExceptionType", "rbs2-error-details")
"Why it did."
_ADDRESS: Final = re.compile(r"([^@\\;/]{1,124})@([A-Za-z0-9._-]{1,255})")
"`queue@machine`, as NServiceBus writes it."
TYPED_BY: Final = ("NServiceBus.EnclosedMessageTypes", "rbs2-msg-type")
"What a message of a service bus is."
THEN: Final = ("labels", "sender", "type")
"What else the messages of a group have in common, beside queue, reason and destination."
TREND_HOURS: Final = 24

_Groups = dict[tuple[str, str], LetterGroup]
"By queue, and by the filter that finds them."


def failed_queue(message: ReceivedMessage) -> str:
    """The queue that a message of a service bus failed in; empty if it does not say so."""
    if not message.extension:
        return ""
    address = decode_headers(message.extension).values.get(FAILED_IN, "")
    found = _ADDRESS.fullmatch(address.strip())
    return "" if found is None else f"DIRECT=OS:{found[2]}\\private$\\{found[1]}"


@dataclass(frozen=True, slots=True)
class LettersWanted:
    """Which dead letters, and what is one group beside queue, reason and destination."""

    now: datetime
    then: str = "labels"
    "One of `THEN`."
    since: datetime | None = None


async def letters_of(manager: Manager, wanted: LettersWanted) -> LettersView:
    """The dead letters of a manager that the login may look at."""
    groups: _Groups = {}
    total, complete = 0, True
    denied: list[AccessDenied] = []
    for info in await manager.queues(everything=True):
        if not is_letter_queue(info) or not info.messages:
            continue
        total += info.messages
        try:
            async with await manager.open_queue(info.name, access=Access.PEEK) as queue:
                complete &= await _group(queue, info, wanted, groups)
        except AccessDenied as error:
            denied.append(error)
        except QueueNotFound:
            pass  # it is gone
    if denied and not groups:
        raise denied[0]
    found = sorted(groups.values(), key=lambda group: -group.count)
    if wanted.since is not None:
        total = sum(group.count for group in found)
    return LettersView(found[:GROUPS_MAX], total, complete and len(found) <= GROUPS_MAX)


async def _group(queue: Queue, info: QueueInfo, wanted: LettersWanted, groups: _Groups) -> bool:
    """Count the messages of a queue by kind; False if there are too many to look at."""
    after = looked_at = 0
    pace = Pace()
    while batch := await queue.peek_many(pace.size, timeout=0, after=after):
        with pace.turn(batch):
            for message in batch:
                _count(message, info, wanted, groups)
        after = batch[-1].lookup_id
        looked_at += len(batch)
        if looked_at >= LETTERS_MAX or len(groups) > GROUPS_MAX:
            return False
    return True


def _count(
    message: ReceivedMessage, info: QueueInfo, wanted: LettersWanted, groups: _Groups
) -> None:
    at = message.arrived_time
    if wanted.since is not None and at < wanted.since:
        return
    headers = decode_headers(message.extension).values if message.extension else {}
    found = _filter(message, headers, wanted, is_bus=is_error_queue(info))
    group = groups.get((info.name, found))
    if group is None:
        group = groups[info.name, found] = LetterGroup(
            queue=info.name,
            reason=_reason(message, info, headers),
            message_class=message.message_class,
            destination=failed_queue(message) or str(message.destination_queue or ""),
            labels=label_shape(message.label) if wanted.then == "labels" else "",
            count=0,
            first=at,
            last=at,
            sample=str(message.lookup_id),
            filter=found,
            sender=str(message.source_manager) if wanted.then == "sender" else "",
            type=_said(TYPED_BY, headers) if wanted.then == "type" else "",
            trend=[0] * TREND_HOURS,
        )
    group.count += 1
    hours = int((wanted.now - at).total_seconds() // 3600)
    if 0 <= hours < TREND_HOURS:
        group.trend[-1 - hours] += 1
    group.recent += hours < 1
    group.first, group.last = min(group.first, at), max(group.last, at)


def _reason(message: ReceivedMessage, info: QueueInfo, headers: Mapping[str, str]) -> str:
    """What went wrong, in words."""
    if known := reason_of(message.message_class):
        return known
    if info.name == REFUSED:
        return "another manager sent it, and it was not accepted"
    if is_error_queue(info):
        said = _said(FAILED_WITH, headers)
        return f"its handler failed: {said}" if said else "its handler failed"
    return "aborted too often"


def _said(names: Sequence[str], headers: Mapping[str, str]) -> str:
    """What the first of some headers says."""
    return next((headers[name] for name in names if name in headers), "")[:REASON_MAX]


def _first(names: Sequence[str], headers: Mapping[str, str]) -> Iterator[str]:
    """Conditions for what `_said` says: the first of some headers, and none before it."""
    for name in names:
        if name in headers:
            yield _header(name, headers[name])
            return
        yield f'-header.{name}:"*"'


def _filter(
    message: ReceivedMessage, headers: Mapping[str, str], wanted: LettersWanted, *, is_bus: bool
) -> str:
    """What finds the messages of a group, and no others: messages with the same are one group."""
    words = [f"class:{message.message_class}"]
    if FAILED_IN in headers:
        words.append(_header(FAILED_IN, headers[FAILED_IN]))
    else:
        words.append(f"to:{_beginning(str(message.destination_queue or ''))}")
        if is_bus:
            words.append(f'-header.{FAILED_IN}:"*"')
    if is_bus:
        words += _first(FAILED_WITH, headers)
    if wanted.then == "labels":
        words.append(f"shape:{quoted(label_shape(message.label))}")
    elif wanted.then == "sender":
        words.append(f"from:{message.source_manager}")
    else:
        words += _first(TYPED_BY, headers)
    if wanted.since is not None:
        words.append(f"arrived:>={wanted.since:%Y-%m-%dT%H:%M:%SZ}")
    return " ".join(words)


def _header(name: str, value: str) -> str:
    return f"header.{name}:{_beginning(value)}"


def _beginning(text: str) -> str:
    """A text, quoted; only how it begins, if it is too long for a filter."""
    return quoted(text if len(text) <= REASON_MAX else f"{text[:REASON_MAX]}*")


def quoted(text: str) -> str:
    """A value of a filter."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
