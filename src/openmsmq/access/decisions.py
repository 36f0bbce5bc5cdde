"""Who may do what with a queue, and why: its list of permissions and the roles of who asks."""

from __future__ import annotations

from typing import Final, NamedTuple

from openmsmq.security.access import CARE, QueueRights
from openmsmq.security.access_check import Decision, Token, check_access
from openmsmq.security.descriptor import Ace, AceType, SecurityDescriptor
from openmsmq.security.permissions import format_rights
from openmsmq.security.principals import (
    ANONYMOUS_TOKEN,
    EVERYONE_TOKEN,
    authenticated_token,
    format_principal,
    parse_principal,
)
from openmsmq.security.sid import ADMINISTRATORS, ANONYMOUS, EVERYONE
from openmsmq.types.caller import Grant, Right

_NEEDED: Final[tuple[tuple[QueueRights, Right], ...]] = (
    (QueueRights.WRITE_MESSAGE, "send"),
    (QueueRights.PEEK_MESSAGE, "peek"),
    (QueueRights.DELETE_MESSAGE, "read"),
    (QueueRights.DELETE_JOURNAL_MESSAGE, "read"),
    (QueueRights.GET_QUEUE_PROPERTIES, "watch"),
    (QueueRights.GET_QUEUE_PERMISSIONS, "watch"),
)
_WITHOUT_ADMIN: Final = sum(int(right) for right, _ in _NEEDED)
_WORDS: Final = {AceType.ALLOWED: "allow", AceType.DENIED: "deny", AceType.AUDIT: "audit"}


class AccessVerdict(NamedTuple):
    """Whether someone may do something, and why."""

    allowed: bool
    entry: int | None
    "The entry that decides, counted from 1; None if none does."
    reason: str


class PermissionLine(NamedTuple):
    """An entry of a list of permissions in words."""

    type: str
    who: str
    rights: str


def entries_of(descriptor: SecurityDescriptor) -> list[PermissionLine] | None:
    """The list of permissions; None for a queue without one, which is open."""
    return None if descriptor.dacl is None else list(map(_entry, descriptor.dacl.aces))


def decide(
    descriptor: SecurityDescriptor, who: str, wanted: QueueRights, queue: str, grant: Grant | None
) -> AccessVerdict:
    """Whether someone may do all of this: the list must allow it, and the role, if it is known."""
    token = _token(who, grant)
    decision = check_access(descriptor, token, wanted)
    allowed, reason = decision.is_granted, _reason(descriptor, decision)
    if not allowed and ADMINISTRATORS in token and not wanted & ~CARE:
        allowed, reason = True, "administrators may always do that, whatever the list says"
    entry = None if decision.place is None else decision.place + 1
    if allowed and grant is not None and not _role_allows(grant, wanted, queue):
        return AccessVerdict(False, entry, f"the role {grant.role} of {who} does not allow it here")
    return AccessVerdict(allowed, entry, reason)


def _token(who: str, grant: Grant | None) -> Token:
    """Who someone is to the access check."""
    sid = parse_principal(who)
    if sid == ANONYMOUS:
        return ANONYMOUS_TOKEN
    if sid == EVERYONE:
        return EVERYONE_TOKEN
    return authenticated_token(sid) if grant is None else grant.sids


def _role_allows(grant: Grant, wanted: QueueRights, queue: str) -> bool:
    """Whether a role allows all of these rights on a queue."""
    needed: set[Right] = {role for right, role in _NEEDED if wanted & right}
    needed |= {"admin"} if wanted & ~_WITHOUT_ADMIN else set()
    return all(grant.allows(right, queue) for right in needed)


def _reason(descriptor: SecurityDescriptor, decision: Decision) -> str:
    if decision.reason == "no list":
        return "the queue has no list of permissions, so that it is open"
    if decision.reason == "owner":
        return "the owner of a queue may read and change its permissions"
    if decision.place is None:
        missing = format_rights(decision.missing, QueueRights)
        return f"no entry allows {missing}"
    assert descriptor.dacl is not None
    words = " ".join(_entry(descriptor.dacl.aces[decision.place]))
    return f"entry {decision.place + 1} decides: {words}"


def _entry(ace: Ace) -> PermissionLine:
    kind = _WORDS.get(ace.type, str(ace.type))  # type: ignore[call-overload]
    who = "" if ace.sid is None else format_principal(ace.sid)
    return PermissionLine(kind, who, format_rights(ace.mask, QueueRights))
