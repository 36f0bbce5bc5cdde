"""What the door for programs sees to although nobody asks.

Tokens that are over, programs that are gone while nothing was read from them, and transactions that
nobody ends. All of it is looked at once in a while, so that nothing in the way of a request has to
pay for it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from time import monotonic
from typing import TYPE_CHECKING, Final

from openmsmq.engine.transactions.transaction import State
from openmsmq.errors import StorageError
from openmsmq.runtime.logs import log_event
from openmsmq.types.caller import Caller
from openmsmq.types.units import decider_of

if TYPE_CHECKING:
    from openmsmq.app_server.listener import AppDoor
    from openmsmq.app_server.session import AppSession
    from openmsmq.engine.commit.pending import Pending

EVERY: Final = 1.0
"Seconds from one round to the next."
_WORDS: Final = {"revoked": "the token was revoked", "expired": "the token has expired"}
_IDLE_LIMIT: Final = Caller("app.idle_transaction_limit")
_ABANDON_RULE: Final = Caller("app.abandon_prepared_after")
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
        self._end_certificates()
        self._end_tokens()
        for session in self._door.sessions:
            if session.connection.peer_gone:
                session.connection.abort()
        if not self._door.driver.is_closed:
            self._abort_idle()
            self._abort_prepared()

    def _end_certificates(self) -> None:
        """End the connections of those whose certificate has other rights now, or none."""
        door = self._door
        for session in door.sessions:
            grant = session.grant
            if not grant or not grant.certificate or session.is_over:
                continue
            name = grant.certificate
            if not door.certificates.has(grant):
                log_event(_log, "certificate revoked", certificate=name, client=session.caller.name)
                door.metrics.refused("certificate revoked")
                session.close_refused(f"the entry of {name} in tls.clients was changed")

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
                log_event(
                    _log, f"token {ending}", token=session.grant.token, client=session.caller.name
                )
                door.metrics.refused(f"token {ending}")
                session.close_refused(_WORDS[ending])

    def _abort_idle(self) -> None:
        """Abort transactions with which their programs do nothing."""
        limit = self._door.config.idle_transaction_limit
        if limit is None:
            return
        since = monotonic() - limit
        for session in self._door.sessions:
            for number in session.idle_transactions(since):
                self._abort(session, number, limit)

    def _abort(self, session: AppSession, number: int, limit: int) -> None:
        door, transaction = self._door, session.transactions.pop(number)
        session.timed_out.append(number)

        def answered(pending: Pending[None]) -> None:
            if pending.error is not None and not session.is_over:
                with contextlib.suppress(ValueError):  # forgotten, among so many
                    session.timed_out.remove(number)
                session.transactions[number] = transaction  # the next round tries again
                return
            door.metrics.transaction_ended()
            if pending.error is not None:
                session.abandon(transaction)
            self._aborted("idle", transaction.xid, limit, session.caller.name)

        door.driver.begin(lambda: door.local.abort(transaction, _IDLE_LIMIT), answered)

    def _abort_prepared(self) -> None:
        """Abort prepared transactions that nobody has decided for too long."""
        door, limit = self._door, self._door.config.abandon_prepared_after
        prepared = door.local.core.prepared
        if limit is None or not prepared:
            return
        for xid, age in door.driver.call(door.local.prepared_ages).items():
            is_unit = decider_of(xid) is not None  # the manager that decides it knows the outcome
            if age >= limit and prepared[xid].state is State.PREPARED and not is_unit:
                self._abandon(xid, age)

    def _abandon(self, xid: str, age: int) -> None:
        door = self._door

        def answered(pending: Pending[None]) -> None:
            if pending.error is None:  # else the next round tries again
                self._aborted("abandoned", xid, age)

        door.driver.begin(lambda: door.local.abort_prepared(xid, _ABANDON_RULE), answered)

    def _aborted(self, why: str, xid: str, seconds: int, client: str = "") -> None:
        self._door.metrics.transaction_aborted(why)
        log_event(
            _log,
            "transaction aborted",
            level=logging.WARNING,
            reason=why,
            seconds=seconds,
            name=xid,
            client=client,
        )
