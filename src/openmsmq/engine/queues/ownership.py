"""Permissions of a queue and its owner, as the queue keeps them."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from openmsmq.security.access import QueueRights
from openmsmq.security.defaults import NewQueues, OwnDomain, default_permissions
from openmsmq.security.permissions import normal_permissions
from openmsmq.security.sddl import format_sddl, parse_sddl
from openmsmq.security.sid import ADMINISTRATORS, ANONYMOUS, Sid
from openmsmq.types.caller import INTERNAL, Caller

OPEN_TO_ALL: Final = "O:BA"
"No list: everything is allowed to everybody whose role allows it; administrators own it."


def owned_by(
    caller: Caller, sddl: str, kind: NewQueues = "open", domain: OwnDomain | None = None
) -> str:
    """The permissions of a new queue: what its creator gives, and the creator as its owner.

    Without any they are those that `kind` stands for, in a domain or without one.

    The manager itself, a program without a login and one that works with the directory make queues
    that belong to administrators: an owner that is anonymous could be anyone (MSEC-A41).
    """
    owner = creator_sid(caller)
    if not sddl:
        sddl = "" if caller is INTERNAL else default_permissions(kind, owner, domain)
    if not sddl and owner == ADMINISTRATORS:
        return ""
    return with_owner(sddl, f"O:{owner}")


def creator_sid(caller: Caller) -> Sid:
    """Who owns what a caller creates."""
    sid = caller.grant.sid
    return ADMINISTRATORS if caller is INTERNAL or sid == ANONYMOUS else sid


def with_owner(sddl: str, before: str) -> str:
    """Permissions as a queue keeps them; without an owner it stays the one from `before`."""
    given = parse_sddl(sddl)
    if given.owner is None:
        given = replace(given, owner=owner_of(before))
    return normal_permissions(format_sddl(given), QueueRights)


def owner_of(sddl: str) -> Sid | None:
    """Who owns a queue with these permissions."""
    return parse_sddl(sddl).owner


def is_restricted(sddl: str) -> bool:
    """Whether there is a list, so that not everything is allowed."""
    return bool(sddl) and parse_sddl(sddl).dacl is not None


def without_owner(sddl: str) -> str:
    """The rest of permissions."""
    return format_sddl(replace(parse_sddl(sddl), owner=None))
