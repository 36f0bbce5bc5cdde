"""Which messages a read of older remote read is about ([MS-MQQP] 3.1.4.1, 3.1.4.11)."""

from __future__ import annotations

from typing import Final

from openmsmq.errors import InvalidParameter
from openmsmq.interfaces.remote_read.actions import ReadAction
from openmsmq.limits import U64_MAX
from openmsmq.types.read import Seek

PLAIN_ACTIONS: Final = (ReadAction.RECEIVE, ReadAction.PEEK_CURRENT, ReadAction.PEEK_NEXT)
"Those that go without a lookup identifier."


def action_of(code: int, lookup_id: int | None) -> tuple[ReadAction, Seek | None]:
    """The action, if it goes with the call ([MS-MQQP] 3.1.4.1, 3.1.4.11; SS-37)."""
    try:
        action = ReadAction(code)
    except ValueError:
        raise InvalidParameter(f"there is no action 0x{code:08X}") from None
    if (action in PLAIN_ACTIONS) is not (lookup_id is None):
        raise InvalidParameter(f"{action.name} does not go with this call")
    seek = action.seek
    if lookup_id == 0:
        if seek is not Seek.NEXT:
            raise InvalidParameter(f"{action.name} wants a lookup identifier")
        seek = Seek.FIRST
    elif lookup_id == U64_MAX and seek is Seek.PREVIOUS:
        seek = Seek.LAST
    return action, seek
