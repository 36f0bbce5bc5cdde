"""Rights in a descriptor of the directory, which are others than those of queues and managers.

The bits of an MSMQ mask mean something else in nTSecurityDescriptor: 0x20 lets read properties
here and write them there. So they are never copied, but translated: rights about messages are nine
extended rights ([MS-ADTS] 6.1.1.2.7.10 to 6.1.1.2.7.18), the rest are rights of directory objects
(DS-19).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final
from uuid import UUID

from openmsmq.security.access import ManagerRights, NetworkRights, QueueRights
from openmsmq.security.descriptor import Ace, AceType, Acl, SecurityDescriptor
from openmsmq.security.permissions import normal_permissions
from openmsmq.security.sddl import format_sddl, parse_sddl
from openmsmq.security.sid import ADMINISTRATORS, ANONYMOUS, AUTHENTICATED_USERS, EVERYONE, Sid
from openmsmq.wire.reader import Reader

CREATE_CHILD: Final = 0x01
DELETE_CHILD: Final = 0x02
LIST: Final = 0x04
READ_PROPERTY: Final = 0x10
WRITE_PROPERTY: Final = 0x20
LIST_OBJECT: Final = 0x80
CONTROL_ACCESS: Final = 0x100
STANDARD: Final = 0xF0000
ALL: Final = 0xF01FF
"What stands for GENERIC_ALL."
QUEUE_CLASS: Final = UUID("9a0dc343-c100-11d1-bbc5-0080c76670c0")
"schemaIdGuid of mSMQQueue ([MS-ADSC] 2.166)."
_OBJECT_ALLOWED: Final = 0x05
_OBJECT_DENIED: Final = 0x06
_TYPE_PRESENT: Final = 0x1
_INHERITED_TYPE_PRESENT: Final = 0x2
_OBJECT_REVISION: Final = 4
_LOOK: Final = READ_PROPERTY | LIST | LIST_OBJECT

QUEUE_EXTENDED: Final[Mapping[UUID, int]] = {
    UUID("06bd3200-df3e-11d1-9c86-006008764d0e"): QueueRights.RECEIVE_MESSAGE,
    UUID("06bd3201-df3e-11d1-9c86-006008764d0e"): QueueRights.PEEK_MESSAGE,
    UUID("06bd3202-df3e-11d1-9c86-006008764d0e"): QueueRights.WRITE_MESSAGE,
    UUID("06bd3203-df3e-11d1-9c86-006008764d0e"): QueueRights.RECEIVE_JOURNAL_MESSAGE,
}
"msmq-Receive, msmq-Peek, msmq-Send and msmq-Receive-journal."
MANAGER_EXTENDED: Final[Mapping[UUID, int]] = {
    UUID("4b6e08c0-df3c-11d1-9c86-006008764d0e"): ManagerRights.RECEIVE_DEADLETTER_MESSAGE,
    UUID("4b6e08c1-df3c-11d1-9c86-006008764d0e"): ManagerRights.PEEK_DEADLETTER_MESSAGE,
    UUID("4b6e08c2-df3c-11d1-9c86-006008764d0e"): ManagerRights.RECEIVE_JOURNAL_QUEUE_MESSAGE,
    UUID("4b6e08c3-df3c-11d1-9c86-006008764d0e"): ManagerRights.PEEK_JOURNAL_QUEUE_MESSAGE,
}
SITE_EXTENDED: Final[Mapping[UUID, int]] = {
    UUID("b4e60130-df3f-11d1-9c86-006008764d0e"): NetworkRights.OPEN_CONNECTOR,
}
"msmq-Open-Connector, on the foreign site."
_ALL_MESSAGES: Final = (
    QueueRights.RECEIVE_MESSAGE | QueueRights.WRITE_MESSAGE | QueueRights.RECEIVE_JOURNAL_MESSAGE
)
_OPEN_LOOK: Final = QueueRights.GET_QUEUE_PROPERTIES | QueueRights.GET_QUEUE_PERMISSIONS
_ALL_OF_US: Final = (EVERYONE, ANONYMOUS)
_INHERITED: Final = 0x10
_INHERIT_ONLY: Final = 0x08
_NOT_ITS_OWN: Final = _INHERIT_ONLY | _INHERITED
"INHERIT_ONLY and INHERITED ([MS-DTYP] 2.4.4.1)."
NO_ONE: Final = format_sddl(SecurityDescriptor(ADMINISTRATORS, dacl=Acl(())))
"Permissions that give nothing to anyone."
_OF_PROGRAMS: Final = int(
    ManagerRights.CREATE_QUEUE
    | ManagerRights.RECEIVE_DEADLETTER_MESSAGE
    | ManagerRights.RECEIVE_JOURNAL_QUEUE_MESSAGE
)
"What programs do at a manager; the rest is about its object."
_GET, _SET = QueueRights.GET_QUEUE_PROPERTIES, QueueRights.SET_QUEUE_PROPERTIES


def to_directory(
    descriptor: SecurityDescriptor,
    extended: Mapping[UUID, int] = QUEUE_EXTENDED,
    kept: SecurityDescriptor | None = None,
) -> SecurityDescriptor:
    """A descriptor with rights of queues as one with rights of the directory (DS-19).

    ([MS-ADTS] 6.1.1.2.7.14) Entries of `kept` that are about other things stay
    ([MS-MQDSSM] 3.1.6.17).
    """
    aces: list[Ace] = []
    for ace in descriptor.dacl.aces if descriptor.dacl is not None else ():
        aces += _to_aces(ace, extended)
    if kept is not None and kept.dacl is not None:
        aces += [ace for ace in kept.dacl.aces if not _is_ours(ace, extended)]
    return replace(descriptor, dacl=_acl(aces))


def from_directory(
    descriptor: SecurityDescriptor, extended: Mapping[UUID, int] = QUEUE_EXTENDED
) -> SecurityDescriptor:
    """A descriptor of the directory as one with rights of queues ([MS-ADTS] 6.1.1.2.7.14).

    A control-access entry without a right in particular is for all of them ([MS-ADTS] 5.1.3).
    """
    aces: list[Ace] = []
    for ace in descriptor.dacl.aces if descriptor.dacl is not None else ():
        sid, right, about = _parts(ace)
        mask = _from_mask(ace.mask, right, about, extended)
        if sid is not None and mask:
            denied = ace.type in (AceType.DENIED, _OBJECT_DENIED)
            aces.append(Ace(AceType.DENIED if denied else AceType.ALLOWED, mask, sid, ace.flags))
    return replace(descriptor, dacl=Acl(tuple(aces)), sacl=None)


def with_kept(
    descriptor: SecurityDescriptor,
    before: SecurityDescriptor,
    extended: Mapping[UUID, int] = QUEUE_EXTENDED,
) -> SecurityDescriptor:
    """A descriptor of the directory with what another says of other things ([MS-MQDSSM] 3.1.6.17).

    What was inherited is inherited again.
    """
    assert descriptor.dacl is not None
    others = before.dacl.aces if before.dacl is not None else ()
    kept = [ace for ace in others if not _is_ours(ace, extended) and not ace.flags & _INHERITED]
    return replace(descriptor, dacl=_acl([*descriptor.dacl.aces, *kept]))


def _to_aces(ace: Ace, extended: Mapping[UUID, int]) -> list[Ace]:
    if ace.sid is None or ace.type not in (AceType.ALLOWED, AceType.DENIED):
        return []
    mask = ace.mask & STANDARD
    if ace.mask & _GET:
        mask |= _LOOK
    if ace.mask & _SET:
        mask |= WRITE_PROPERTY
    made = [Ace(ace.type, mask, ace.sid, ace.flags)] if mask else []
    for right, needed in extended.items():
        if ace.mask & needed == needed:
            made.append(object_ace(ace.sid, CONTROL_ACCESS, right, denied=ace.type == 1))
    if extended is MANAGER_EXTENDED and ace.mask & ManagerRights.CREATE_QUEUE:
        made.append(object_ace(ace.sid, CREATE_CHILD, QUEUE_CLASS, denied=ace.type == 1))
    return made


def _from_mask(mask: int, right: UUID | None, is_object: bool, extended: Mapping[UUID, int]) -> int:
    if is_object and right is not None:
        if right == QUEUE_CLASS and extended is MANAGER_EXTENDED and mask & CREATE_CHILD:
            return int(ManagerRights.CREATE_QUEUE)
        return int(extended.get(right, 0)) if mask & CONTROL_ACCESS else 0
    found = mask & STANDARD
    if mask & READ_PROPERTY:
        found |= _GET
    if mask & WRITE_PROPERTY:
        found |= _SET
    if mask & CONTROL_ACCESS:
        for granted in extended.values():
            found |= granted
    if extended is MANAGER_EXTENDED and mask & CREATE_CHILD:
        found |= ManagerRights.CREATE_QUEUE
    return int(found)


def object_ace(sid: Sid, mask: int, right: UUID, *, denied: bool = False) -> Ace:
    """An entry about one right or one class of children ([MS-DTYP] 2.4.4.3)."""
    kind = _OBJECT_DENIED if denied else _OBJECT_ALLOWED
    data = _TYPE_PRESENT.to_bytes(4, "little") + right.bytes_le + sid.encode()
    return Ace(kind, mask, None, 0, data)


def _parts(ace: Ace) -> tuple[Sid | None, UUID | None, bool]:
    """Whom an entry is about, the right or class it names, and whether it can name one."""
    if ace.type in (AceType.ALLOWED, AceType.DENIED):
        return ace.sid, None, False
    if ace.type not in (_OBJECT_ALLOWED, _OBJECT_DENIED) or len(ace.rest) < 4:
        return None, None, False
    reader = Reader(ace.rest)
    flags = reader.u32("Flags")
    right = reader.guid("ObjectType") if flags & _TYPE_PRESENT else None
    if flags & _INHERITED_TYPE_PRESENT:
        reader.guid("InheritedObjectType")
    return Sid.read(reader), right, right is not None


def _is_ours(ace: Ace, extended: Mapping[UUID, int]) -> bool:
    """Whether an entry says what a queue's or manager's own descriptor says."""
    sid, right, is_object = _parts(ace)
    if sid is None:
        return False
    return not is_object or right in extended or right == QUEUE_CLASS


def _acl(aces: Iterable[Ace]) -> Acl:
    found = tuple(aces)
    has_objects = any(ace.type in (_OBJECT_ALLOWED, _OBJECT_DENIED) for ace in found)
    return Acl(found, _OBJECT_REVISION if has_objects else 2)


def manager_descriptor(machine: Sid, *, foreign: bool = False) -> SecurityDescriptor:
    """The descriptor of a manager's object: all may read it, its computer may do everything.

    ([MS-MQDSSM] 3.1.6.1.1.8, in the terms of the directory) Of a foreign system everyone may
    create queues, as GENERIC_WRITE says.
    """
    aces = [
        Ace(AceType.ALLOWED, ALL, machine),
        Ace(AceType.ALLOWED, _LOOK | 0x20000, AUTHENTICATED_USERS),
    ]
    if foreign:
        aces.append(object_ace(EVERYONE, CREATE_CHILD, QUEUE_CLASS))
    return SecurityDescriptor(dacl=_acl(aces))


def queue_descriptor(machine: Sid, given: SecurityDescriptor | None = None) -> SecurityDescriptor:
    """The descriptor of a queue's object ([MS-MQDMPR] 3.1.7.1.3.1, in the directory's terms).

    What a creator gives, or else that all may look at it and send; the computer of the queue may
    change and delete it in any case, since it does so for its programs (DS-18).
    """
    if given is None:
        look = QueueRights.GET_QUEUE_PROPERTIES | QueueRights.GET_QUEUE_PERMISSIONS
        send = Ace(AceType.ALLOWED, look | QueueRights.WRITE_MESSAGE, EVERYONE)
        given = SecurityDescriptor(dacl=Acl((send,)))
    made = to_directory(given)
    assert made.dacl is not None
    return replace(
        made,
        owner=None,
        group=None,
        sacl=None,
        dacl=_acl([Ace(AceType.ALLOWED, ALL, machine), *made.dacl.aces]),
    )


def published_permissions(machine: Sid, permissions: str) -> SecurityDescriptor:
    """The descriptor of the object of a queue that has permissions here ([MS-MQDMPR] 3.1.1.2).

    Without a list everything is allowed to all: so it is there, as far as messages go.
    """
    given = parse_sddl(permissions) if permissions else SecurityDescriptor()
    if given.dacl is None:
        open_to = (Ace(AceType.ALLOWED, int(_ALL_MESSAGES | _OPEN_LOOK), sid) for sid in _ALL_OF_US)
        given = SecurityDescriptor(dacl=Acl(tuple(open_to)))
    return queue_descriptor(machine, given)


def local_permissions(raw: bytes, machine: Sid | None, before: str) -> str:
    """The permissions of a queue as its object has them, in SDDL ([MS-MQQB] 3.1.5.8.3).

    What is inherited there is about the administration of the directory and does not count, nor
    does what its own computer may do. The owner stays the one that it has here. `Malformed` if it
    is no descriptor, `MQError` if it has too many entries.
    """
    found = from_directory(SecurityDescriptor.decode(raw))
    given = found.dacl.aces if found.dacl is not None else ()
    merged: list[Ace] = []
    for ace in given:
        if ace.flags & _NOT_ITS_OWN or ace.sid == machine:
            continue
        last = merged[-1] if merged else None
        if last is not None and (last.sid, last.type) == (ace.sid, ace.type):
            merged[-1] = replace(last, mask=last.mask | ace.mask)
        else:
            merged.append(replace(ace, flags=0))
    owner = parse_sddl(before).owner if before else ADMINISTRATORS
    if _is_open(merged):
        return "" if owner in (None, ADMINISTRATORS) else format_sddl(SecurityDescriptor(owner))
    made = SecurityDescriptor(owner, dacl=Acl(tuple(merged)))
    return normal_permissions(format_sddl(made), QueueRights)


def machine_permissions(raw: bytes, machine: Sid | None) -> str | None:
    """The permissions of a manager as its object has them, in SDDL ([MS-MQCN] 3.2.5.2).

    None if it says of no one but its computer who may create queues or read dead letters and the
    journal: so it is after a join, and then the roles of programs decide (DS-35). Administrators of
    the manager may do everything. `Malformed` if it is no descriptor.
    """
    found = from_directory(SecurityDescriptor.decode(raw), MANAGER_EXTENDED) if raw else None
    given = found.dacl.aces if found is not None and found.dacl is not None else ()
    aces = [
        replace(ace, flags=0)
        for ace in given
        if not ace.flags & _NOT_ITS_OWN and ace.sid != machine
    ]
    if not any(ace.mask & _OF_PROGRAMS for ace in aces):
        return None
    aces.append(Ace(AceType.ALLOWED, int(ManagerRights.GENERIC_ALL), ADMINISTRATORS))
    made = SecurityDescriptor(ADMINISTRATORS, dacl=Acl(tuple(aces)))
    return normal_permissions(format_sddl(made), ManagerRights)


def site_permissions(raw: bytes) -> str:
    """Who may open the connector queues of a foreign site, in SDDL ([MS-ADTS] 6.1.1.2.7.18).

    Only msmq-Open-Connector counts here, not who may change the object. `Malformed` if it is
    no descriptor.
    """
    found = from_directory(SecurityDescriptor.decode(raw), SITE_EXTENDED) if raw else None
    given = () if found is None or found.dacl is None else found.dacl.aces
    opened = int(NetworkRights.OPEN_CONNECTOR)
    aces = tuple(
        Ace(ace.type, opened, ace.sid)
        for ace in given
        if ace.mask & opened and not ace.flags & _INHERIT_ONLY
    )
    return format_sddl(SecurityDescriptor(ADMINISTRATORS, dacl=Acl(aces)))


def _is_open(aces: Iterable[Ace]) -> bool:
    """Whether all may send, receive and peek, with and without a login, and none is denied it."""
    granted: dict[Sid | None, int] = {}
    for ace in aces:
        if ace.type != AceType.ALLOWED:
            return False
        granted[ace.sid] = granted.get(ace.sid, 0) | ace.mask
    return all(granted.get(sid, 0) & _ALL_MESSAGES == _ALL_MESSAGES for sid in _ALL_OF_US)
