"""The security descriptor of a queue whose creator gives none, or only part of one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal, NamedTuple

from openmsmq.security.access import QueueRights
from openmsmq.security.descriptor import (
    Ace,
    AceType,
    Acl,
    Control,
    SecurityDescriptor,
    check_rights,
)
from openmsmq.security.sddl import format_sddl
from openmsmq.security.sid import (
    ADMINISTRATORS,
    ANONYMOUS,
    AUTHENTICATED_USERS,
    EVERYONE,
    Sid,
)

NewQueues = Literal["open", "spec", "restricted", "recommended"]
"""What a queue allows whose creator does not say.

    open         no list: roles decide alone, and every queue manager in reach may send
    spec         [MS-MQDMPR] 3.1.7.1.3.1: in no domain everyone may do everything, in one everyone
                 may look and send, and its creator do the rest
    restricted   everyone and other managers may send, its creator and administrators do the rest
    recommended  who has logged on may send, its creator and administrators do the rest
"""


class OwnDomain(NamedTuple):
    """The domain that a manager belongs to."""

    machine: Sid | None
    "The identifier of its computer, if the directory was asked already."


GUEST: Final = 501
"The last part of the identifier of every domain's guest ([MS-SAMR] 2.2.1.14)."
_LOOK: Final = QueueRights.GET_QUEUE_PROPERTIES | QueueRights.GET_QUEUE_PERMISSIONS
_NOTHING: Final = QueueRights(0)


def queue_descriptor(
    *,
    caller: Sid,
    is_domain_user: Callable[[Sid], bool],
    supplied: SecurityDescriptor | None = None,
    machine: Sid | None = None,
    over_http: bool = False,
) -> SecurityDescriptor:
    """Create Default Queue Security Descriptor ([MS-MQDMPR] 3.1.7.1.3.1).

    `supplied` is what the creator of the queue gives, `machine` the identifier of its computer if
    a directory knows one, `over_http` whether messages can be sent to it by SRMP.
    """
    supplied = supplied or SecurityDescriptor()
    check_rights(supplied, QueueRights)
    owner = supplied.owner or caller
    if not is_domain_user(owner):
        owner = ANONYMOUS
    dacl = supplied.dacl
    if dacl is None:
        dacl = _default_list(owner, machine, over_http=over_http)
    # The group is left open, which the flag must then say ([MS-DTYP] 2.4.6).
    return SecurityDescriptor(owner, None, supplied.sacl, dacl, Control.GROUP_DEFAULTED)


def default_permissions(kind: NewQueues, creator: Sid, domain: OwnDomain | None = None) -> str:
    """The permissions of a new queue in SDDL, without an owner (MSEC-A21, MSEC-A41, MSEC-A43).

    In a domain all who have logged on are its users to `spec`; else no one is.
    """
    if kind == "open":
        return ""
    if kind == "spec":
        acl = queue_descriptor(
            caller=creator,
            is_domain_user=lambda _: domain is not None,
            machine=None if domain is None else domain.machine,
            over_http=True,
        ).dacl
    else:
        send = QueueRights.WRITE_MESSAGE
        others: tuple[tuple[Sid, QueueRights], ...] = ((AUTHENTICATED_USERS, _LOOK | send),)
        if kind == "restricted":
            others = ((EVERYONE, _LOOK | send), (ANONYMOUS, send))
        full = dict.fromkeys((creator, ADMINISTRATORS), QueueRights.GENERIC_ALL)
        granted = (*others, *full.items())
        acl = Acl(tuple(Ace(AceType.ALLOWED, mask, sid) for sid, mask in granted))
    return format_sddl(SecurityDescriptor(dacl=acl))


def _default_list(owner: Sid, machine: Sid | None, *, over_http: bool) -> Acl:
    """What a queue allows unless its creator says otherwise ([MS-MQDMPR] 3.1.7.1.3.1, step 10)."""
    is_unknown = owner == ANONYMOUS or _is_guest(owner)
    posting = QueueRights.WRITE_MESSAGE if over_http else _NOTHING
    world = QueueRights.GENERIC_ALL if is_unknown else _LOOK
    granted = (
        (EVERYONE, world | posting),
        (ANONYMOUS, posting),
        (machine, _LOOK if machine is not None else _NOTHING),
        (owner, _NOTHING if is_unknown else QueueRights.GENERIC_ALL),
    )
    return Acl(tuple(Ace(AceType.ALLOWED, mask, sid) for sid, mask in granted if mask))


def _is_guest(sid: Sid) -> bool:
    return (
        sid.authority == 5 and sid.subauthorities[:1] == (21,) and sid.subauthorities[-1] == GUEST
    )
