"""Opening a queue: what a handle may do, and who may hold one beside it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum, Flag, auto

from openmsmq.errors import AccessDenied, SharingViolation, UnsupportedAccessMode


class Access(Flag):
    """What a handle may do ([MS-MQDMPR] 3.1.1.17); several at once, unlike in MSMQ."""

    RECEIVE = auto()
    "Receive, peek and purge."
    SEND = auto()
    PEEK = auto()
    ALL = RECEIVE | SEND | PEEK


class Share(Enum):
    """What others may do meanwhile ([MS-MQDMPR] 3.1.1.17)."""

    DENY_NONE = auto()
    DENY_RECEIVE = auto()


@dataclass(frozen=True, slots=True)
class Mode:
    """How a handle was opened."""

    access: Access = Access.ALL
    share: Share = Share.DENY_NONE

    def require(self, needed: Access) -> None:
        """Refuse what the handle was not opened for."""
        if needed in self.access:  # the usual case first: to combine flags takes longer
            return
        if needed is not Access.PEEK or Access.RECEIVE not in self.access:
            name = (needed.name or "").lower()
            raise AccessDenied(f"the queue was not opened to {name}")


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
