"""Who may do what: the one place that decides, for every protocol and the console.

Today a caller is entitled by a token or a certificate, whose role and patterns of names decide.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Final

from openmsmq.engine.queues.system import NAMES, REFUSED
from openmsmq.engine.transactions.transaction import ManagedTransaction
from openmsmq.errors import AccessDenied
from openmsmq.names.parts import fold
from openmsmq.types.access import Access
from openmsmq.types.caller import Caller, Grant, Right

_HERE: Final = ".\\"
_REFUSED: Final = fold(_HERE + NAMES[REFUSED])


def is_allowed(caller: Caller, right: Right, *queues: str) -> bool:
    r"""Whether a caller has a right on all of these queues, `.\private$\orders`.

    Without a queue it is about the manager itself. Who may read a queue may read its subqueues.
    Settings, counters, and transactions of others belong to the manager: they are for those who
    are not limited to some queues.
    """
    grant = caller.grant
    if not grant.has(right):
        return False
    if not queues:
        return not grant.patterns
    return all(_covers(grant, queue) for queue in queues)


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
    """The access with which a caller may open queues; to ask for all is to ask for what it has."""
    allowed = Access(0)
    if is_allowed(caller, "read", *queues):
        allowed |= Access.RECEIVE | Access.PEEK
    if is_allowed(caller, "send", *queues):
        allowed |= Access.SEND
    if not allowed or (asked != Access.ALL and asked & ~allowed):
        authorize(caller, "send" if asked == Access.SEND else "read", *queues)
        authorize(caller, "send", *queues)
    return asked & allowed


def may_end(caller: Caller, transaction: ManagedTransaction) -> bool:
    """Whether a prepared transaction is one of the caller's own, or it may end any."""
    return is_allowed(caller, "admin") or transaction.token == caller.grant.holder


def _covers(grant: Grant, queue: str) -> bool:
    """Whether a grant is about a queue.

    What was refused may be secret, and not for this manager: it is for administrators.
    """
    if grant.role != "admin" and fold(queue) == _REFUSED:
        return False
    if not grant.patterns:
        return True
    name = fold(queue.removeprefix(_HERE))
    names = {name, name.partition(";")[0]}
    return any(fnmatchcase(name, fold(pattern)) for pattern in grant.patterns for name in names)


def _denied(caller: Caller, right: Right, place: str) -> AccessDenied:
    return AccessDenied(f"the role {caller.grant.role} does not allow {right!r} on {place}")
