"""One queue, looked at closely, over REST: who may do what with it, and what happened in it."""

from __future__ import annotations

import time
from typing import Final

from openmsmq.access.decisions import decide, entries_of
from openmsmq.console.details import (
    PermissionEntry,
    PermissionsView,
    QueueEventView,
    QueueHistoryView,
    RightView,
    WhoMay,
)
from openmsmq.console.limits import ASKED_TOKENS_MAX, PAGE_MAX, SCAN_S
from openmsmq.console.rest.calls import ApiCall, ApiRoute
from openmsmq.errors import AccessDenied, UnsupportedOperation
from openmsmq.limits import U64_MAX
from openmsmq.security.access import QueueRights
from openmsmq.security.descriptor import SecurityDescriptor
from openmsmq.security.permissions import parse_rights
from openmsmq.security.principals import format_principal, parse_principal
from openmsmq.security.sddl import parse_sddl
from openmsmq.types.access import Access
from openmsmq.types.caller import Grant, TokenInfo

SHOWN_RIGHTS: Final = (
    "send",
    "peek",
    "receive",
    "receive-journal",
    "get-properties",
    "set-properties",
    "delete",
    "set-permissions",
)
"What people ask about; names as in `openmsmq queue permissions`."
ALWAYS: Final = ("everyone", "anonymous")
"Those who send messages over HTTP, and messages without a proven sender."


async def permissions(call: ApiCall) -> PermissionsView:
    """The list of permissions of a queue, and what those may do whom it names."""
    async with await call.queue(Access.PEEK) as queue:
        name, sddl = queue.name, await queue.permissions()
    descriptor = parse_sddl(sddl)
    asked = call.text("who")
    tokens = {f"token:{one.id}": one for one in await _tokens(call)}
    if asked:
        people = [format_principal(parse_principal(asked))]
    else:
        people = [*ALWAYS, *(one for one in _named(descriptor) if one not in ALWAYS)]
        people += [one for one in tokens if one not in people]
    entries = entries_of(descriptor)
    return PermissionsView(
        queue=name,
        owner="" if descriptor.owner is None else format_principal(descriptor.owner),
        entries=None
        if entries is None
        else [PermissionEntry(number, *one) for number, one in enumerate(entries, 1)],
        sddl=sddl,
        who=[_who_may(descriptor, name, one, tokens.get(one)) for one in people],
    )


async def _tokens(call: ApiCall) -> list[TokenInfo]:
    """The tokens of the manager; none for those who may not see them, or without a service."""
    try:
        found = await (await call.manager()).control.tokens()
    except (AccessDenied, UnsupportedOperation):
        return []
    return found[:ASKED_TOKENS_MAX]


def _named(descriptor: SecurityDescriptor) -> list[str]:
    """Those who own a queue, or are in its list."""
    aces = () if descriptor.dacl is None else descriptor.dacl.aces
    sids = [descriptor.owner, *(ace.sid for ace in aces)]
    return list(dict.fromkeys(format_principal(sid) for sid in sids if sid is not None))


def _who_may(
    descriptor: SecurityDescriptor, queue: str, who: str, token: TokenInfo | None
) -> WhoMay:
    grant = None
    if token is not None:
        grant = Grant(token.role, tuple(token.queues), token=token.id)
    found = []
    for right in SHOWN_RIGHTS:
        verdict = decide(descriptor, who, parse_rights(right, QueueRights), queue, grant)
        found.append(RightView(right, *verdict))
    role, label = ("", "") if token is None else (token.role, token.label)
    return WhoMay(who, role, label, found)


async def queue_history(call: ApiCall) -> QueueHistoryView:
    """What happened in a queue, the newest first; a request looks for half a second at most."""
    limit = call.number("limit", 100, 1, PAGE_MAX) or PAGE_MAX
    before = call.number("before", 0, 0, U64_MAX) or 0
    word, name = call.text("event", most=40), await call.queue_name()
    manager = await call.manager()
    until = time.monotonic() + SCAN_S
    found: list[QueueEventView] = []
    while True:
        page = await manager.queue_history(name, before=before, limit=limit - len(found))
        found += [
            QueueEventView(
                one.time,
                one.event,
                one.count,
                one.text,
                one.by,
                one.message_id,
                str(one.lookup_id),
            )
            for one in page.events
            if word in ("", one.event)
        ]
        before = page.next
        if not before or len(found) >= limit or time.monotonic() > until:
            return QueueHistoryView(found, str(before) if before else None)


_QUEUE: Final = "/managers/{manager}/queues/{queue}"
INSPECTION_ROUTES: Final = (
    ApiRoute(
        "GET",
        f"{_QUEUE}/permissions",
        "peek",
        "Who may do what with a queue, and which entry of its list decides",
        permissions,
        PermissionsView,
        query={"who": "only what this one may do: `user:anna`, `token:3f9a01c7`, `anonymous`, ..."},
    ),
    ApiRoute(
        "GET",
        f"{_QUEUE}/history",
        "watch",
        "What happened in a queue, the newest first, and who did it",
        queue_history,
        QueueHistoryView,
        query={
            "event": "only these: `received`, `arrived`, `expired`, ...",
            "before": "`next` of the page before",
            "limit": "events in the answer",
        },
    ),
)
