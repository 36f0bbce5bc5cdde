"""What R_StartReceive may be asked for ([MS-MQRR] 3.1.4.7, 3.1.4.13)."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Final

from openmsmq.errors import InvalidParameter
from openmsmq.types.read import Seek


class ReadAction(IntEnum):
    """ulAction ([MS-MQRR] 3.1.4.7)."""

    RECEIVE = 0x00000000
    PEEK_CURRENT = 0x80000000
    PEEK_NEXT = 0x80000001
    LOOKUP_PEEK_CURRENT = 0x40000010
    LOOKUP_PEEK_NEXT = 0x40000011
    LOOKUP_PEEK_PREV = 0x40000012
    LOOKUP_RECEIVE_CURRENT = 0x40000020
    LOOKUP_RECEIVE_NEXT = 0x40000021
    LOOKUP_RECEIVE_PREV = 0x40000022

    @property
    def is_receive(self) -> bool:
        """It takes the message, until it is ended."""
        return self is ReadAction.RECEIVE or bool(self & 0x20)

    @property
    def seek(self) -> Seek | None:
        """How it finds a message by its lookup identifier, if it does."""
        return SEEKS.get(self)


SEEKS: Final[Mapping[int, Seek]] = {
    ReadAction.LOOKUP_PEEK_CURRENT: Seek.CURRENT,
    ReadAction.LOOKUP_PEEK_NEXT: Seek.NEXT,
    ReadAction.LOOKUP_PEEK_PREV: Seek.PREVIOUS,
    ReadAction.LOOKUP_RECEIVE_CURRENT: Seek.CURRENT,
    ReadAction.LOOKUP_RECEIVE_NEXT: Seek.NEXT,
    ReadAction.LOOKUP_RECEIVE_PREV: Seek.PREVIOUS,
}


def checked_action(code: int, lookup_id: int, cursor: int, timeout_ms: int) -> ReadAction:
    """The action, if the other arguments go with it ([MS-MQRR] 3.1.4.7).

    Lookup identifiers go with lookups, all of them, and these neither wait nor have a cursor; the
    next message is one for a cursor.
    """
    try:
        action = ReadAction(code)
    except ValueError:
        raise InvalidParameter(f"there is no action 0x{code:08X}") from None
    if action.seek is not None:
        if not lookup_id or cursor or timeout_ms:
            raise InvalidParameter(f"{action.name} wants a lookup identifier and nothing else")
    elif lookup_id:
        raise InvalidParameter(f"{action.name} does not go with a lookup identifier")
    elif action is ReadAction.PEEK_NEXT and not cursor:
        raise InvalidParameter("PEEK_NEXT wants a cursor")
    return action
