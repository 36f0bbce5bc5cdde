"""The sweeper: checks that the application server makes once a second, unasked.

It closes connections whose token or certificate is no longer valid, finds programs that are gone
although nothing is read from them, and aborts transactions that are idle or abandoned. It looks
once a second, so that no request has to pay for it.
"""

from __future__ import annotations

import logging
from typing import Final

from openmsmq.app_server.server import AppServer
from openmsmq.app_server.session import AppSession
from openmsmq.engine.commit.future import Future
from openmsmq.errors import StorageError
from openmsmq.runtime.logs import log_event
from openmsmq.types.caller import Caller

INTERVAL_S: Final = 1.0
_WORDS: Final = {"revoked": "the token was revoked", "expired": "the token has expired"}
_IDLE_LIMIT: Final = Caller("app.idle_transaction_limit")
_ABANDON_RULE: Final = Caller("app.abandon_prepared_after")
_log: Final = logging.getLogger(__name__)


class SessionSweeper:
    """Looks at all sessions of a server, again and again."""

    def __init__(self, server: AppServer) -> None:
        self._server = server
        self.next_deadline = 0.0
        self._cannot_read = False
        "The tokens could not be read the last time."

    def tick(self, now: float) -> None:
        """Look at all sessions once."""
        self.next_deadline = now + INTERVAL_S
        self._end_certificates()
        self._end_tokens()
        for session in self._server.sessions:
            if session.wire.peer_gone:
                session.abort()
        if not self._server.driver.is_closed:
            self._abort_idle(now)
            self._abort_prepared()

    def _end_certificates(self) -> None:
        """Close connections whose certificate has other rights now, or none."""
        server = self._server
        for session in server.sessions:
            grant = session.grant
            if not grant or not grant.certificate or session.is_over:
                continue
            name = grant.certificate
            if not server.certificates.has(grant):
                log_event(_log, "certificate revoked", certificate=name, client=session.caller.name)
                server.metrics.refused("certificate revoked")
                session.close_unauthorized(f"the entry of {name} in tls.clients was changed")

    def _end_tokens(self) -> None:
        """Close connections whose token was revoked or has expired."""
        server = self._server
        shown = [session for session in server.sessions if session.grant and session.grant.token]
        if not shown:
            return
        try:
            server.tokens.refresh()
        except StorageError as error:
            if not self._cannot_read:  # connections stay until the file can be read again
                log_event(_log, "tokens cannot be read", level=logging.ERROR, error=error)
            self._cannot_read = True
            return
        self._cannot_read = False
        for session in shown:
            assert session.grant is not None
            ending = server.tokens.ending(session.grant)
            if ending and not session.is_over:
                log_event(
                    _log, f"token {ending}", token=session.grant.token, client=session.caller.name
                )
                server.metrics.refused(f"token {ending}")
                session.close_unauthorized(_WORDS[ending])

    def _abort_idle(self, now: float) -> None:
        """Abort transactions that their programs do not use."""
        limit = self._server.config.idle_transaction_limit
        if limit is None:
            return
        for session in self._server.sessions:
            for number in session.idle_transactions(now, limit):
                self._abort(session, number, limit)

    def _abort(self, session: AppSession, number: int, limit: int) -> None:
        transaction = session.transactions.pop(number)
        session.timed_out.append(number)
        session.abandon(transaction, _IDLE_LIMIT)
        self._server.metrics.transactions -= 1
        self._aborted("idle", transaction.xid, limit, session.caller.name)

    def _abort_prepared(self) -> None:
        """Abort prepared transactions that were not decided for too long."""
        server, limit = self._server, self._server.config.abandon_prepared_after
        if limit is not None:
            for xid, age in server.driver.call(lambda: server.local.abandoned(limit)).items():
                self._abandon(xid, age)

    def _abandon(self, xid: str, age: int) -> None:
        server = self._server

        def answered(pending: Future[None]) -> None:
            if pending.error is None:  # else the next tick tries again
                self._aborted("abandoned", xid, age)

        server.driver.begin(lambda: server.local.abort_prepared(xid, _ABANDON_RULE), answered)

    def _aborted(self, why: str, xid: str, seconds: int, client: str = "") -> None:
        self._server.metrics.transaction_aborted(why)
        log_event(
            _log,
            "transaction aborted",
            level=logging.WARNING,
            reason=why,
            seconds=seconds,
            name=xid,
            client=client,
        )
