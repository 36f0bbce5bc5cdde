"""The life of a message in words."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from struct import error as StructError
from struct import pack
from typing import Final
from uuid import UUID

from openmsmq.engine.core import Core
from openmsmq.engine.storage.history import Event, Happened, Occurrence
from openmsmq.engine.storage.layout import DELAYED_BIT, JOURNAL_BIT
from openmsmq.errors import InvalidParameter, QueueNotFound
from openmsmq.names.parse import parse_name
from openmsmq.names.path import PathName, shown
from openmsmq.types.history import HistoryEvent, QueueEvent, QueueHistory
from openmsmq.types.queues import QueueKind

_TEXTS: Final[Mapping[int, Callable[[Happened, str], str]]] = {
    Event.ARRIVED: lambda e, q: f"arrived in {q}",
    Event.ARRIVED_EXPRESS: lambda e, q: f"arrived in {q}, as an express message: in memory only",
    Event.RECEIVED: lambda e, q: f"was received from {q}",
    Event.ABORTED: lambda e, q: (
        f"is back in {q}: the transaction that had taken it was aborted ({_times(e.extra)} so far)"
    ),
    Event.MOVED: lambda e, q: f"was moved from {_shown(e.extra)} to {q}",
    Event.EXPIRED: lambda e, q: f"expired in {q}: {e.extra}",
    Event.JOURNALED: lambda e, q: f"a copy went to the journal {q}",
    Event.DEAD_LETTERED: lambda e, q: f"went to {q} as a dead letter: {e.extra}",
    Event.PURGED: lambda e, q: f"was removed when {q} was purged",
    Event.QUEUE_DELETED: lambda e, q: f"was removed when {q} was deleted",
    Event.PUT_BACK: lambda e, q: f"is back in {q}: its receiver disconnected before the answer",
    Event.DISCARDED: lambda e, q: f"a copy for {q} was discarded: {e.extra}",
    Event.DELIVERED: lambda e, q: f"was delivered to {e.extra or q}",
    Event.HANDED_OVER: lambda e, q: (
        f"was handed over to the queue manager of {e.extra or q}, which may still refuse it"
    ),
    Event.REFUSED: lambda e, q: f"is kept in {q}: {e.extra}",
    Event.REFUSED_THERE: lambda e, q: f"was refused by {e.by}: {e.extra}",
    Event.REJECTED: lambda e, q: f"was not accepted: {e.extra}",
    Event.RETURNED: lambda e, q: f"is back in {q}: the subscription {e.extra} has ended",
    Event.RESERVED: lambda e, q: f"was reserved for the subscription {e.extra} of {q}",
    Event.DELAYED: lambda e, q: f"waits for {q} until {e.extra}",
    Event.DUE: lambda e, q: f"can be read again in {q}",
    Event.POISONED: lambda e, q: f"went to {q} as poison: it was aborted {_times(e.extra)}",
    Event.REDIRECTED: lambda e, q: f"was sent again from {q} as {e.extra}",
    Event.SENT_AGAIN: lambda e, q: f"was sent to {q} in place of {e.extra}",
    Event.REACHED: lambda e, q: f"reached {e.extra or q}; waiting for the receive acknowledgement",
}
_ARRIVED: Final = (Event.ARRIVED, Event.ARRIVED_EXPRESS)
_REMAINS: Final = (Event.ARRIVED_EXPRESS, Event.MOVED, Event.PUT_BACK)
"After these a message is in its queue."
_PLURALS: Final = {"was": "were", "is": "are", "waits": "wait", "a copy": "a copy of each"}
"How a sentence about a message begins if it is about several."
_SENT_ON: Final = "waits to be sent to {}"


def explain(core: Core, message_id: str) -> list[HistoryEvent]:
    """All that is known of a message, oldest first; nothing if its history is not kept any more."""
    happened = _believed(core.history.of(core.snapshot, parse_id(message_id)))
    emptied = {item.queue: item.extra for item in happened if item.event in _ARRIVED and item.extra}
    missing = {item.queue for item in happened if core.queues.get(item.queue) is None}
    gone = core.history.gone(core.snapshot, missing) if missing - emptied.keys() else {}
    events = [_event(core, item, emptied, gone) for item in happened]
    lost = _lost(core, happened)
    return [*events, lost] if lost is not None else events


def queue_history(core: Core, name: str, before: int, count: int) -> QueueHistory:
    """What happened in a queue before a place (0: until now), the newest first."""
    parsed = parse_name(name)
    local = core.queues.resolver.local(parsed)
    if local is not None:
        queue = core.queues.find(local)
    elif isinstance(parsed, PathName) or (found := core.queues.find_outgoing(parsed)) is None:
        raise QueueNotFound(name)
    else:
        queue = found
    history = core.history
    some, following = history.newest(core.snapshot, queue.number, queue.name, before, count)
    return QueueHistory([_of_many(core, one) for one in some], following)


def _of_many(core: Core, one: Occurrence) -> QueueEvent:
    """An event of several messages in words."""
    known = _event(core, one.first, {}, {})
    text = known.text
    begins = next((word for word in _PLURALS if text.startswith(f"{word} ")), "")
    if one.messages > 1 and begins:
        text = _PLURALS[begins] + text.removeprefix(begins)
    guid, number = UUID(bytes_le=one.identifier[:16]), int.from_bytes(one.identifier[16:], "little")
    message_id = f"{guid}\\{number}"
    return QueueEvent(
        known.time, known.event, one.messages, text, known.by, message_id, known.lookup_id
    )


def parse_id(text: str) -> bytes:
    r"""The 20 bytes of an identifier written `guid\number`."""
    guid, _, number = text.strip().replace("{", "").replace("}", "").partition("\\")
    try:
        return UUID(guid).bytes_le + pack("<I", int(number))
    except (ValueError, StructError):
        raise InvalidParameter(f"{text!r}: a message id is written guid\\number") from None


def _believed(happened: list[Happened]) -> list[Happened]:
    """The history without what managers say of messages that were not handed over to them.

    What one says may come before the acknowledgement with which it takes a message.
    """
    takers = {item.by for item in happened if item.event == Event.HANDED_OVER}
    refused = [item for item in happened if item.event == Event.REFUSED_THERE]
    others = [item for item in happened if item.event != Event.REFUSED_THERE]
    return [*others, *[item for item in refused if item.by in takers]]


def _event(
    core: Core, item: Happened, emptied: Mapping[int, str], gone: Mapping[int, str]
) -> HistoryEvent:
    """An event in words.

    `emptied` has the names of outgoing queues, which come and go, `gone` those of deleted ones.
    """
    queue = core.queues.get(item.queue)
    if queue is not None and queue.kind in (QueueKind.UNCONFIRMED, QueueKind.DELAYED):
        queue = queue.main
    sent_to = emptied.get(item.queue & ~(JOURNAL_BIT | DELAYED_BIT), "")
    deleted = _shown(gone[item.queue]) if item.queue in gone else ""
    known = sent_to or deleted if queue is None else _shown(queue.name)
    name = known or "a queue that was deleted"
    is_outgoing = bool(sent_to) if queue is None else queue.kind is QueueKind.OUTGOING
    text = (
        _SENT_ON.format(name)
        if is_outgoing and item.event in _ARRIVED
        else _TEXTS[item.event](item, name)
    )
    return HistoryEvent(
        datetime.fromtimestamp(item.time, UTC),
        Event(item.event).word,
        known,
        text,
        item.lookup,
        item.by,
    )


def _lost(core: Core, happened: list[Happened]) -> HistoryEvent | None:
    """An express message does not outlive the process: it may have ended with it."""
    express = [item.lookup for item in happened if item.event == Event.ARRIVED_EXPRESS]
    last = {item.lookup: item for item in happened}
    for item in (last[lookup] for lookup in express):
        queue = core.queues.get(item.queue)
        starts = [start for start in core.starts if start >= item.time]
        is_gone = queue is None or item.lookup not in queue.express
        if item.event in _REMAINS and is_gone and starts:
            later = (start for start in starts if start > item.time)
            return HistoryEvent(
                datetime.fromtimestamp(next(later, item.time), UTC),
                "lost",
                "" if queue is None else _shown(queue.name),
                "was lost: it was an express message, and the manager was stopped and started",
                item.lookup,
                "",
            )
    return None


def _shown(name: str) -> str:
    return name if "=" in name else shown(name)


def _times(count: str) -> str:
    return "once" if count == "1" else f"{count} times"
