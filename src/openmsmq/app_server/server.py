"""The application server: the sessions of all connected programs, without their sockets.

`listener.py` gives it connections of an event loop, a simulation gives it others.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any, Final

from openmsmq import __version__
from openmsmq.access.certificates import Certificates, certificate_names
from openmsmq.access.tokens import Tokens
from openmsmq.app_protocol.calls import Call
from openmsmq.app_server.calls import Calls
from openmsmq.app_server.context import Driver
from openmsmq.app_server.proxy import EnterpriseDirectory, ReadProxy
from openmsmq.app_server.session import AppSession, DependentClients
from openmsmq.app_server.wire import ProgramWire
from openmsmq.engine.manager import QueueManager
from openmsmq.runtime.logs import log_event
from openmsmq.service.configuration import Config
from openmsmq.service.metrics.samples import TOO_MANY, Load, ServiceMetrics
from openmsmq.transports.peers.control import SessionControl
from openmsmq.types.caller import ANONYMOUS, EVERYTHING, Grant
from openmsmq.types.settings import ConfigurationEntry

REFUSAL_DELAY_S: Final = 1.0
"Before a wrong token is answered, so that guessing is slow."
HELLO_TIMEOUT_S: Final = 30.0
_log: Final = logging.getLogger(__name__)


class AppServer:
    """Serves programs over the application protocol."""

    def __init__(
        self,
        local: QueueManager,
        driver: Driver,
        config: Config,
        tokens: Tokens,
        *,
        metrics: ServiceMetrics,
        certificates: Certificates | None = None,
        refusal_delay_s: float = REFUSAL_DELAY_S,
        hello_timeout_s: float = HELLO_TIMEOUT_S,
        read_proxy: ReadProxy | None = None,
        directory: EnterpriseDirectory | None = None,
        configured: Callable[[], list[ConfigurationEntry]] = list,
    ) -> None:
        """With a proxy, programs read queues of other managers through this one.

        With a directory, public queues are found and made in it. `configured` tells how the service
        is configured.
        """
        self.local = local
        self.driver = driver
        self.config = config
        self.metrics = metrics
        metrics.load = self._load
        self.tokens = tokens
        self.certificates = certificates or Certificates(config.tls_clients)
        self._calls = Calls()
        self.name = f"openmsmq {__version__}"
        self.refusal_delay_s = refusal_delay_s
        self.hello_timeout_s = hello_timeout_s
        self.read_proxy = read_proxy
        self.directory = directory
        self.configured = configured
        self._sessions: dict[AppSession, None] = {}
        "The oldest first."
        self._closed_because = ""
        self._serial = 0
        self.control: SessionControl | None = None
        "The sessions of other managers; None before there is a listener for them."
        self.dependents: DependentClients | None = None
        "The dependent clients of the manager; None if it is no supporting server."

    @property
    def clients(self) -> int:
        """How many programs are connected."""
        return len(self._sessions)

    @property
    def sessions(self) -> list[AppSession]:
        """The sessions of the programs that are connected."""
        return list(self._sessions)

    def _load(self) -> Load:
        throttled = sum(session.is_throttled for session in self._sessions)
        return Load(throttled, sum(session.request_bytes for session in self._sessions))

    # Connections

    def accept(self, wire: ProgramWire, now: float, *, is_trusted: bool) -> AppSession:
        """A program has connected; one that is trusted needs neither token nor certificate."""
        session = AppSession(self, wire, now, is_trusted=is_trusted)
        self._serial += 1
        session.serial = self._serial
        self._sessions[session] = None
        self.metrics.client_connected()
        if self._closed_because:
            session.close(self._closed_because)  # it connected in the last moment
        elif len(self._sessions) > self.config.clients_max:
            self.metrics.refused(TOO_MANY)
            session.close("too many programs are connected")
        return session

    def displace(self) -> bool:
        """Disconnect the program that has owed its HELLO longest; whether there was one."""
        silent = next((one for one in self._sessions if one.awaits_hello), None)
        if silent is None:
            return False
        self.metrics.refused(TOO_MANY)
        silent.abort()
        return True

    def admit(
        self,
        token: str,
        peer: str,
        certificate: Mapping[str, Any],
        *,
        is_trusted: bool,
        unix: tuple[int, ...] = (),
    ) -> Grant | None:
        """The grant of a program that shows a token, or else a certificate; None for no access.

        A token counts alone, whatever the certificate. Another user of this computer, by a Unix
        socket that is open to it, reads and sends where permissions allow that (MSEC-A20).
        """
        if not token and is_trusted:
            return Grant("admin", unix=unix) if unix else EVERYTHING
        if not token and unix:
            return Grant("read+send", unix=unix)
        if not token and self._admits_anonymous:
            return ANONYMOUS
        if token:
            grant = self.tokens.check(token)
        else:
            grant = self.certificates.check(certificate_names(certificate))
        if grant is None:
            self.metrics.login_refused()
            log_event(_log, "login refused", level=logging.WARNING, peer=peer)
            shown = "a token" if token else "a certificate" if certificate else "nothing"
            why = f"{shown} was shown that does not allow it"
            audit = self.local.audit
            self.driver.call(lambda: audit.denied_to("anonymous", "log on", "", why, peer))
        return grant

    @property
    def _admits_anonymous(self) -> bool:
        """Whether programs of this computer come in without a token, and without trust."""
        config = self.config
        is_asked_for = config.tls_client_ca is not None
        return config.loopback == "anonymous" and config.is_local and not is_asked_for

    def call(self, session: AppSession, number: int, call: Call) -> None:
        """Begin a CALL; the session answers it when it is done."""
        self._calls.call(session, number, call)

    def remove(self, session: AppSession) -> None:
        """A program has disconnected."""
        del self._sessions[session]
        self.metrics.client_disconnected()

    def close(self, reason: str) -> None:
        """End all sessions; programs that connect from now on get the reason."""
        self._closed_because = reason
        for session in self.sessions:
            session.close(reason)

    def abort(self) -> None:
        """Disconnect the programs that have not read the end of their session."""
        for session in self.sessions:
            session.abort()
