"""The door for programs: sockets on which the application protocol is spoken."""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
from collections.abc import Mapping
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from openmsmq.access.certificates import Certificates, certificate_names
from openmsmq.access.tokens import Tokens
from openmsmq.app_server.calls import Calls
from openmsmq.app_server.housekeeping import Rounds
from openmsmq.app_server.session import AppSession
from openmsmq.engine.manager import LocalManager
from openmsmq.net.connection import Connection
from openmsmq.net.wire import Machine
from openmsmq.runtime.drivers import LoopDriver
from openmsmq.runtime.listener import Listener, bind
from openmsmq.runtime.logs import log_event
from openmsmq.service.configuration import Config
from openmsmq.service.metrics.samples import EXHAUSTED, TOO_MANY, Load, ServiceMetrics
from openmsmq.types.caller import EVERYTHING, Grant

PATIENCE: Final = 1.0
"Seconds that somebody with a wrong token waits to hear so."
HELLO_WITHIN: Final = 30.0
"Seconds that somebody has to say hello."
FAREWELL: Final = 2.0
"Seconds that programs get to take what was sent to them when the door closes."
REFUSALS_MAX: Final = 16
"Connections beyond the limit that are told so; even more are just closed."
_log: Final = logging.getLogger(__name__)


class AppDoor:
    """Lets programs in."""

    def __init__(
        self,
        local: LocalManager,
        driver: LoopDriver,
        config: Config,
        tokens: Tokens,
        *,
        metrics: ServiceMetrics,
        certificates: Certificates | None = None,
        tls: ssl.SSLContext | None = None,
        patience: float = PATIENCE,
        hello_within: float = HELLO_WITHIN,
    ) -> None:
        self.local = local
        self.driver = driver
        self.config = config
        self.metrics = metrics
        metrics.load = self._load
        self.calls = Calls()
        self.server = f"openmsmq {version('openmsmq')}"
        self.patience = patience
        self.hello_within = hello_within
        self.tokens = tokens
        self.certificates = certificates or Certificates(config.tls_clients)
        self._tls = tls
        self._listeners: list[Listener] = []
        self._socket: Path | None = None
        "The Unix socket that is open."
        self._sessions: dict[AppSession, None] = {}
        "Those who are in, the first to come first."
        self.rounds = Rounds(self)
        self._reason = ""
        "Why it is closed."

    @property
    def clients(self) -> int:
        """How many are in."""
        return len(self._sessions)

    @property
    def sessions(self) -> list[AppSession]:
        """Those who are in."""
        return list(self._sessions)

    def _load(self) -> Load:
        held_up = sum(session.is_held_up for session in self._sessions)
        return Load(held_up, sum(session.request_bytes for session in self._sessions))

    async def start(self) -> tuple[str, int] | str:
        """Let programs in; where they find the door."""
        config = self.config
        address: tuple[str, int] | str = ""
        if config.app_socket is not None:
            self._listen([self._bind(config.app_socket)], None, is_trusted=True)
            address = str(config.app_socket)
        if config.app_port is not None:
            bound = await bind(config.bind, config.app_port)
            address = self._listen(bound, self._tls, is_trusted=self._trusts_port)
        self.rounds.start()
        return address

    def _listen(
        self, bound: list[socket.socket], tls: ssl.SSLContext | None, *, is_trusted: bool
    ) -> tuple[str, int]:
        listener = Listener(partial(self._connection, is_trusted=is_trusted), self, tls=tls)
        self._listeners.append(listener)
        return listener.start(bound)

    # For the listeners

    def has_room(self) -> bool:
        """Whether one more connection may come: for a program, or to be told that it may not.

        A TLS handshake gives way to it, or else a program that has not said hello yet, the one that
        takes longest: silent connections do not keep others out.
        """
        limit = self.config.clients_max
        used = len(self._sessions) + sum(listener.arriving for listener in self._listeners)
        if used < limit or any(listener.displace() for listener in self._listeners):
            return True
        silent = next((one for one in self._sessions if one.is_silent), None)
        if silent is not None:
            self.metrics.refused(TOO_MANY)
            silent.connection.abort()
            return True
        if used < limit + REFUSALS_MAX:
            return True
        self.metrics.refused(TOO_MANY)
        return False

    def refused(self, reason: str) -> None:
        """A connection was not made."""
        self.metrics.refused(reason)

    def exhausted(self, error: OSError) -> None:
        """The system has no connection to give."""
        self.metrics.refused(EXHAUSTED)
        log_event(_log, "cannot accept connections", level=logging.ERROR, error=error, door="app")

    def _bind(self, path: Path) -> socket.socket:
        """A Unix socket that nobody else can reach, from its first moment on."""
        if path.is_socket():
            path.unlink()  # of one who was killed: the store is ours
        bound = socket.socket(socket.AF_UNIX)
        try:
            bound.bind(str(path))
            self._socket = path
            path.chmod(0o600)
        except OSError:
            bound.close()
            raise
        return bound

    @property
    def _trusts_port(self) -> bool:
        """Whether programs need neither token nor certificate at the port.

        Who asks for certificates wants to know who comes in, from this computer, too.
        """
        config = self.config
        return config.tls_client_ca is None and (config.is_local or config.allow_insecure)

    def _connection(self, *, is_trusted: bool) -> Connection:
        return Connection(partial(self._session, is_trusted=is_trusted))

    def _session(self, connection: Connection, *, is_trusted: bool) -> Machine:
        session = AppSession(self, connection, is_trusted=is_trusted)
        self._sessions[session] = None
        self.metrics.client_connected()
        if self._reason:
            session.close(self._reason)  # it was on its way in
        elif len(self._sessions) > self.config.clients_max:
            self.metrics.refused(TOO_MANY)
            session.close("too many programs are connected")
        return session

    def admit(
        self, token: str, peer: str, certificate: Mapping[str, Any], *, is_trusted: bool
    ) -> Grant | None:
        """What a program may do that shows a token, or else a certificate; None if nothing.

        A token counts alone, whatever the certificate.
        """
        if not token and is_trusted:
            return EVERYTHING
        if token:
            grant = self.tokens.check(token)
        else:
            grant = self.certificates.check(certificate_names(certificate))
        if grant is None:
            self.metrics.login_refused()
            log_event(_log, "login refused", level=logging.WARNING, peer=peer)
        return grant

    def left(self, session: AppSession) -> None:
        """Somebody is gone."""
        del self._sessions[session]
        self.metrics.client_disconnected()

    async def stop(self, reason: str) -> None:
        """Let nobody in any longer, and see out those who are in."""
        self._reason = reason
        self.rounds.stop()
        for listener in self._listeners:
            await listener.close()
        for session in list(self._sessions):
            session.close(reason)
        end = asyncio.get_running_loop().time() + FAREWELL
        while self._sessions and asyncio.get_running_loop().time() < end:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        for session in self._sessions:
            session.connection.abort()
        await asyncio.sleep(0)  # they learn of it
        if self._socket is not None:
            self._socket.unlink(missing_ok=True)
