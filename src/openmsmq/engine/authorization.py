"""Who may do what: the one place that decides, for every protocol and the console.

Two things must allow an operation: the role of the caller's token, certificate or user with its
patterns of names, and the permissions of the queue or of the manager (a security descriptor).
Without a list of permissions a queue is open: then the role decides alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from openmsmq.engine.queues.ownership import OPEN_TO_ALL, owner_of, without_owner
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.engine.queues.system import (
    DEAD_LETTER,
    JOURNAL,
    TRANSACTIONAL_DEAD_LETTER,
)
from openmsmq.engine.transactions.transaction import ManagedTransaction
from openmsmq.errors import AccessDenied
from openmsmq.security.access import CARE, ManagerRights, NetworkRights, QueueRights
from openmsmq.security.access_check import is_granted
from openmsmq.security.permissions import format_rights
from openmsmq.security.sid import ADMINISTRATORS
from openmsmq.types.access import Access
from openmsmq.types.caller import INTERNAL, Caller, Right
from openmsmq.types.queues import VISIBLE, QueueKind

_CONTROL: Final = tuple(
    int(right)
    for right in (
        QueueRights.GET_QUEUE_PROPERTIES,
        QueueRights.SET_QUEUE_PROPERTIES,
        QueueRights.GET_QUEUE_PERMISSIONS,
        QueueRights.CHANGE_QUEUE_PERMISSIONS,
        QueueRights.TAKE_QUEUE_OWNERSHIP,
    )
)
"What can be done with an open queue besides sending, peeking and receiving."
_QUEUE_ACCESS: Final[Mapping[Access, QueueRights]] = {
    Access.RECEIVE: QueueRights.RECEIVE_MESSAGE,
    Access.PEEK: QueueRights.PEEK_MESSAGE,
    Access.SEND: QueueRights.WRITE_MESSAGE,
}
_JOURNAL_ACCESS: Final[Mapping[Access, QueueRights]] = {
    Access.RECEIVE: QueueRights.RECEIVE_JOURNAL_MESSAGE,
    Access.PEEK: QueueRights.PEEK_MESSAGE,
}
_LETTER_ACCESS: Final[Mapping[Access, ManagerRights]] = {
    Access.RECEIVE: ManagerRights.RECEIVE_DEADLETTER_MESSAGE,
    Access.PEEK: ManagerRights.PEEK_DEADLETTER_MESSAGE,
}
_SYSTEM_ACCESS: Final[Mapping[int, Mapping[Access, ManagerRights]]] = {
    DEAD_LETTER: _LETTER_ACCESS,
    TRANSACTIONAL_DEAD_LETTER: _LETTER_ACCESS,
    JOURNAL: {
        Access.RECEIVE: ManagerRights.RECEIVE_JOURNAL_QUEUE_MESSAGE,
        Access.PEEK: ManagerRights.PEEK_JOURNAL_QUEUE_MESSAGE,
    },
}


_CONNECTOR_ACCESS: Final[Mapping[Access, NetworkRights]] = {
    Access.RECEIVE: NetworkRights.OPEN_CONNECTOR,
    Access.PEEK: NetworkRights.OPEN_CONNECTOR,
}
"MQSEC_CN_OPEN_CONNECTOR ([MS-MQMQ] 2.2.27)."
_ROLES: Final[Mapping[Access, Right]] = {
    Access.RECEIVE: "read",
    Access.PEEK: "peek",
    Access.SEND: "send",
    Access.OPERATE: "operate",
}
"The rights of a token that each access needs."


def is_allowed(caller: Caller, right: Right, *queues: str) -> bool:
    r"""Whether a caller has a right on all of these queues, `.\private$\orders`.

    See `Grant.allows`.
    """
    return caller.grant.allows(right, *queues)


def authorize(caller: Caller, right: Right, *queues: str) -> None:
    """Refuse a caller that does not have a right on all of these queues, or on the manager."""
    for queue in queues or (None,):
        if not is_allowed(caller, right, *(() if queue is None else (queue,))):
            raise _denied(caller, right, queue or "the manager")


def authorize_any(caller: Caller, right: Right) -> None:
    """Refuse a caller that does not have a right on any queue."""
    if not caller.grant.has(right):
        raise _denied(caller, right, "any queue")


def authorize_access(caller: Caller, asked: Access, *queues: str) -> Access:
    """The access with which a caller may open queues; to ask for all is to ask for what it has.

    Who may only watch has none: it sees properties, and no messages.
    """
    allowed = Access(0)
    if is_allowed(caller, "read", *queues):
        allowed |= Access.RECEIVE | Access.PEEK
    elif is_allowed(caller, "peek", *queues):
        allowed |= Access.PEEK
    if is_allowed(caller, "send", *queues):
        allowed |= Access.SEND
    if is_allowed(caller, "operate", *queues):
        allowed |= Access.OPERATE
    is_for_all = Access.ALL in asked
    if is_for_all and not asked & allowed and is_allowed(caller, "watch", *queues):
        return Access(0)
    if not asked & allowed or (not is_for_all and asked & ~allowed):
        for access, right in _ROLES.items():
            if access in asked:
                authorize(caller, right, *queues)
    return asked & allowed


def permitted_access(caller: Caller, queue: ManagedQueue, manager: str) -> Access:
    """The access that permissions give a caller to a queue ([MS-MQMQ] 2.2.23, 2.2.24).

    `manager` are the permissions of the manager, which its own queues go by. A queue elsewhere is
    for its own manager to guard. A journal or a subqueue has the permissions of its queue, a
    connector queue those of its site, which are not in the way of administrators here.
    """
    rights: Mapping[Access, QueueRights | ManagerRights | NetworkRights]
    if queue.kind is QueueKind.SYSTEM:
        permissions, rights = manager, _SYSTEM_ACCESS.get(queue.number, {})
    elif queue.kind is QueueKind.CONNECTOR:
        permissions, rights = queue.properties.permissions, _CONNECTOR_ACCESS
        if ADMINISTRATORS in caller.grant.sids:
            permissions = ""
    else:
        permissions = queue.properties.permissions
        rights = _JOURNAL_ACCESS if queue.kind is QueueKind.JOURNAL else _QUEUE_ACCESS
    if not permissions or caller is INTERNAL or not rights:
        return Access.ALL | Access.OPERATE
    sids, found = caller.grant.sids, Access(0)
    for access, right in rights.items():
        if is_granted(permissions, sids, int(right)):
            found |= access
    # To move messages is to receive them here or to send them there.
    return found | Access.OPERATE if found & (Access.RECEIVE | Access.SEND) else found


def may_control(caller: Caller, queue: ManagedQueue, asked: Access) -> bool:
    """Whether permissions give a caller a right to a queue that needs no message of it.

    Who may only see or change properties and permissions opens the queue for that alone: it asks
    for all, or for nothing. Other queues than those that people make have their counts.
    """
    if queue.kind not in VISIBLE:
        return not asked
    if asked and Access.ALL not in asked:
        return False
    permissions, sids = queue.properties.permissions, caller.grant.sids
    return ADMINISTRATORS in sids or any(is_granted(permissions, sids, right) for right in _CONTROL)


def authorize_queue(caller: Caller, right: QueueRights, queue: ManagedQueue) -> None:
    """Refuse a caller to whom the permissions of a queue do not give a right.

    Administrators may always read and change permissions and take ownership.
    """
    permissions, sids = queue.properties.permissions, caller.grant.sids
    if not permissions or caller is INTERNAL or is_granted(permissions, sids, int(right)):
        return
    if ADMINISTRATORS not in sids or right & ~CARE:
        raise AccessDenied(
            f"the permissions of {queue.name} do not allow {format_rights(right, QueueRights)!r};"
            " openmsmq queue permissions show prints them"
        )


def authorize_permissions(caller: Caller, queue: ManagedQueue, after: str) -> None:
    """Refuse a caller that may not give a queue these permissions, or another owner."""
    before = queue.properties.permissions or OPEN_TO_ALL
    if owner_of(after) != owner_of(before):
        authorize_queue(caller, QueueRights.TAKE_QUEUE_OWNERSHIP, queue)
    if without_owner(after) != without_owner(before):
        authorize_queue(caller, QueueRights.CHANGE_QUEUE_PERMISSIONS, queue)


def authorize_manager(caller: Caller, right: ManagerRights, permissions: str) -> None:
    """Refuse a caller to whom the permissions of the manager do not give a right."""
    if caller is INTERNAL or is_granted(permissions, caller.grant.sids, int(right)):
        return
    if ADMINISTRATORS not in caller.grant.sids or int(right) & ~int(CARE):
        raise AccessDenied(
            f"the permissions of the manager do not allow {format_rights(right, ManagerRights)!r}"
        )


def authorize_manager_permissions(caller: Caller, before: str, after: str) -> None:
    """Refuse a caller that may not give the manager these permissions, or another owner."""
    if owner_of(after or OPEN_TO_ALL) != owner_of(before or OPEN_TO_ALL):
        authorize_manager(caller, ManagerRights.TAKE_MACHINE_OWNERSHIP, before)
    if without_owner(after or OPEN_TO_ALL) != without_owner(before or OPEN_TO_ALL):
        authorize_manager(caller, ManagerRights.CHANGE_MACHINE_PERMISSIONS, before)


def may_end(caller: Caller, transaction: ManagedTransaction) -> bool:
    """Whether a prepared transaction is one of the caller's own, or it may end any."""
    return is_allowed(caller, "admin") or transaction.token == caller.grant.holder


def _denied(caller: Caller, right: Right, place: str) -> AccessDenied:
    return AccessDenied(f"the role {caller.grant.role} does not allow {right!r} on {place}")
