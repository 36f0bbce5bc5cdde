"""Opening a queue: what a handle may do, and who may hold one beside it."""

from __future__ import annotations

from collections.abc import Iterable

from openmsmq.errors import SharingViolation, UnsupportedAccessMode
from openmsmq.types.access import Access, Mode, Share
from openmsmq.types.queues import QueueKind


def possible_access(kind: QueueKind) -> Access:
    """What a queue of a kind can be opened for at most ([MS-MQDMPR] 3.1.7.1.5).

    A queue elsewhere can only be sent to, what the manager itself keeps can only be read.
    """
    if kind in (QueueKind.OUTGOING, QueueKind.MULTIPLE):
        return Access.SEND | Access.OPERATE
    sendable = kind in (QueueKind.PRIVATE, QueueKind.PUBLIC)
    return (Access.ALL if sendable else Access.ALL & ~Access.SEND) | Access.OPERATE


def check_sharing(opened: Iterable[Mode], wanted: Mode) -> None:
    """Refuse a handle that those already open do not allow ([MS-MQDMPR] 3.1.7.1.5, step 8).

    A send is never blocked; to ask for exclusive sending is refused (A-25).
    """
    if wanted.access == Access.SEND:
        if wanted.share is Share.DENY_RECEIVE:
            raise UnsupportedAccessMode("a queue opened to send cannot be denied to others")
        return
    for mode in opened:
        if _excludes(mode, wanted):
            raise SharingViolation("another handle on this queue excludes it")


def _excludes(mode: Mode, wanted: Mode) -> bool:
    receives = Access.RECEIVE in wanted.access
    exclusive = wanted.share is Share.DENY_RECEIVE
    if mode.share is Share.DENY_RECEIVE:
        if Access.RECEIVE in mode.access:
            return exclusive or receives
        return Access.PEEK in mode.access and receives
    return Access.RECEIVE in mode.access and exclusive
