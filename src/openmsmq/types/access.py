"""How a queue is opened ([MS-MQDMPR] 3.1.1.17)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, Flag, auto

from openmsmq.errors import AccessDenied


class Access(Flag):
    """What a handle may do ([MS-MQDMPR] 3.1.1.17); several at once, unlike in MSMQ."""

    RECEIVE = auto()
    "Receive, peek and purge."
    SEND = auto()
    PEEK = auto()
    OPERATE = auto()
    """Move messages to other queues and back to where they were sent, without a look at them;
    pause, resume and retry a transfer.
    """
    ALL = RECEIVE | SEND | PEEK
    "What programs do with messages."


class Share(Enum):
    """What others may do meanwhile ([MS-MQDMPR] 3.1.1.17)."""

    DENY_NONE = auto()
    DENY_RECEIVE = auto()


@dataclass(frozen=True, slots=True)
class Mode:
    """How a handle was opened."""

    access: Access = Access.ALL
    share: Share = Share.DENY_NONE

    def require(self, needed: Access, queue: str = "the queue") -> None:
        """Refuse what the handle was not opened for."""
        if needed in self.access:  # the usual case first: to combine flags takes longer
            return
        if needed is not Access.PEEK or Access.RECEIVE not in self.access:
            name = (needed.name or "").lower()
            raise AccessDenied(
                f"{queue} is not open for {name}: its kind or the role of the token does not allow"
                " that, or access= left it out"
            )
