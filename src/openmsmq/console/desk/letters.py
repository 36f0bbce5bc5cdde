"""Dead letters in groups: what went wrong, with which messages, and where each is returned to.

Letters are in the dead-letter queues, in `Refused$`, in `;poison` subqueues, and in the `error`
queues of NServiceBus, whose messages say themselves where they failed.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final

from openmsmq.bodies.headers import decode_headers
from openmsmq.client._async.manager import Manager, Queue
from openmsmq.console.desk.kinds import REFUSED, is_error_queue, is_letter_queue
from openmsmq.console.desk.models import LetterGroup, LettersView
from openmsmq.console.limits import GROUPS_MAX, LETTERS_MAX, REASON_MAX, SCAN_BATCH
from openmsmq.console.views import label_shape, reason_of
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
_RECENT: Final = timedelta(hours=1)

_Groups = dict[tuple[str, str, int, str, str], LetterGroup]


def failed_queue(message: ReceivedMessage) -> str:
    """The queue that a message of a service bus failed in; empty if it does not say so."""
    if not message.extension:
        return ""
    address = decode_headers(message.extension).values.get(FAILED_IN, "")
    found = _ADDRESS.fullmatch(address.strip())
    return "" if found is None else f"DIRECT=OS:{found[2]}\\private$\\{found[1]}"


async def letters_of(manager: Manager) -> LettersView:
    """All dead letters of a manager that the login may look at."""
    groups: _Groups = {}
    total, complete = 0, True
    denied: list[AccessDenied] = []
    for info in await manager.queues(everything=True):
        if not is_letter_queue(info) or not info.messages:
            continue
        total += info.messages
        try:
            async with await manager.open_queue(info.name, access=Access.PEEK) as queue:
                complete &= await _group(queue, info, groups)
        except AccessDenied as error:
            denied.append(error)
        except QueueNotFound:
            pass  # it is gone
    if denied and not groups:
        raise denied[0]
    found = sorted(groups.values(), key=lambda group: -group.count)
    return LettersView(found[:GROUPS_MAX], total, complete and len(found) <= GROUPS_MAX)


async def _group(queue: Queue, info: QueueInfo, groups: _Groups) -> bool:
    """Count the messages of a queue by kind; False if there are too many to look at."""
    after = looked_at = 0
    recent = datetime.now(UTC) - _RECENT
    while batch := await queue.peek_many(SCAN_BATCH, timeout=0, after=after):
        for message in batch:
            _count(message, info, groups, recent)
        after = batch[-1].lookup_id
        looked_at += len(batch)
        if looked_at >= LETTERS_MAX or len(groups) > GROUPS_MAX:
            return False
    return True


def _count(message: ReceivedMessage, info: QueueInfo, groups: _Groups, recent: datetime) -> None:
    headers = decode_headers(message.extension).values if message.extension else {}
    destination = failed_queue(message) or str(message.destination_queue or "")
    shape = label_shape(message.label)
    reason = _reason(message, info, headers)
    key = info.name, reason, message.message_class, destination, shape
    group = groups.get(key)
    at = message.arrived_time
    if group is None:
        group = groups[key] = LetterGroup(
            queue=info.name,
            reason=reason,
            message_class=message.message_class,
            destination=destination,
            labels=shape,
            count=0,
            first=at,
            last=at,
            sample=str(message.lookup_id),
            filter=_filter(message, headers),
        )
    group.count += 1
    group.recent += at >= recent
    group.first, group.last = min(group.first, at), max(group.last, at)


def _reason(message: ReceivedMessage, info: QueueInfo, headers: object) -> str:
    """What went wrong, in words."""
    if known := reason_of(message.message_class):
        return known
    if info.name == REFUSED:
        return "another manager sent it, and it was not accepted"
    if is_error_queue(info):
        values = headers if isinstance(headers, dict) else {}
        said = next((values[name] for name in FAILED_WITH if name in values), "")
        return f"its handler failed: {said[:REASON_MAX]}" if said else "its handler failed"
    return "aborted too often"


def _filter(message: ReceivedMessage, headers: object) -> str:
    """What finds the messages of a group."""
    values = headers if isinstance(headers, dict) else {}
    if FAILED_IN in values:
        wanted = f"header.{FAILED_IN}:{quoted(values[FAILED_IN])}"
        name = next((name for name in FAILED_WITH if name in values), "")
        return f"{wanted} header.{name}:{quoted(values[name])}" if name else wanted
    return f"class:{message.message_class} to:{quoted(str(message.destination_queue or ''))}"


def quoted(text: str) -> str:
    """A value of a filter."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
