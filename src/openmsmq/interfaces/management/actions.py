"""The words of R_QMMgmtAction ([MS-MQMR] 3.1.4.2)."""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from openmsmq.errors import InvalidParameter
from openmsmq.interfaces.management.stubs import ObjectType


class ManagementAction(StrEnum):
    """What can be done to a manager, and to an outgoing queue ([MS-MQMR] 3.1.4.2)."""

    CONNECT = "CONNECT"
    DISCONNECT = "DISCONNECT"
    TIDY = "TIDY"
    PAUSE = "PAUSE"
    RESUME = "RESUME"
    RESEND = "EOD_RESEND"


OF_MACHINE: Final = frozenset(
    {ManagementAction.CONNECT, ManagementAction.DISCONNECT, ManagementAction.TIDY}
)


def checked_action(object_type: int, word: str) -> ManagementAction:
    """The action, if the word is one for the object ([MS-MQMR] 3.1.4.2; MG-36).

    Letter case does not count, blanks do.
    """
    try:
        action = ManagementAction(word.upper() if word.isascii() else word)
    except ValueError:
        words = ", ".join(ManagementAction)
        raise InvalidParameter(f"there is no action {word!r}: {words}") from None
    needed = ObjectType.MACHINE if action in OF_MACHINE else ObjectType.QUEUE
    if object_type != needed:
        raise InvalidParameter(f"{action} is for a {needed.name.lower()}")
    return action
