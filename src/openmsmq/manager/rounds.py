"""What the door for programs sees to although nobody asks: tokens that are over.

All of it is looked at once in a while, so that nothing in the way of a request has to pay for it.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Final

from openmsmq.errors import StorageError
from openmsmq.manager.logs import log_event

if TYPE_CHECKING:
    from openmsmq.manager.door import AppDoor

EVERY: Final = 1.0
"Seconds from one round to the next."
_WORDS: Final = {"revoked": "the token was revoked", "expired": "the token has expired"}
_log: Final = logging.getLogger(__name__)


class Rounds:
    """Goes round by round through all programs that are in."""

    def __init__(self, door: AppDoor) -> None:
        self._door = door
        self._timer: asyncio.TimerHandle | None = None
        self._cannot_read = False
        "The tokens could not be read the last time."

    def start(self) -> None:
        """Go round from now on."""
        self._timer = asyncio.get_running_loop().call_later(EVERY, self._next)

    def stop(self) -> None:
        """Go round no more."""
        if self._timer is not None:
            self._timer.cancel()

    def _next(self) -> None:
        self.start()
        self.go()

    def go(self) -> None:
        """Go round once."""
        self._end_tokens()

    def _end_tokens(self) -> None:
        """End the connections of those whose token was taken back, or whose time is over."""
        door = self._door
        shown = [session for session in door.sessions if session.grant and session.grant.token]
        if not shown:
            return
        try:
            door.tokens.refresh()
        except StorageError as error:
            if not self._cannot_read:  # whoever is in stays in until there is something to read
                log_event(_log, "tokens cannot be read", level=logging.ERROR, error=error)
            self._cannot_read = True
            return
        self._cannot_read = False
        for session in shown:
            assert session.grant is not None
            ending = door.tokens.ending(session.grant)
            if ending and not session.is_over:
                log_event(_log, f"token {ending}", token=session.grant.token, client=session.by)
                door.metrics.refused(f"token {ending}")
                session.close(_WORDS[ending])
