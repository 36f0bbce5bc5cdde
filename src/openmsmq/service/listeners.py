"""The listeners of a service, and who may connect to them.

The console, remote calls and messages over HTTP are imported where the configuration asks for them:
they make up half of the time that a service needs to start.
"""

from __future__ import annotations

import logging
import ssl
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from openmsmq.access.certificates import Certificates
from openmsmq.access.tokens import Tokens
from openmsmq.app_server.listener import AppListener
from openmsmq.app_server.server import AppServer
from openmsmq.capture.recorder import Recorder
from openmsmq.clock import SystemClock
from openmsmq.engine.authorization import is_allowed
from openmsmq.engine.manager import QueueManager
from openmsmq.runtime.drivers import LoopDriver
from openmsmq.runtime.logs import log_event
from openmsmq.service.configuration import Config, ConfigError
from openmsmq.service.descriptors import needed, shares
from openmsmq.service.metrics.samples import ServiceMetrics
from openmsmq.service.options import OPTIONS
from openmsmq.service.service import ServiceListener
from openmsmq.transports.mqqb.listener import BinaryListener
from openmsmq.transports.mqqb.ping_listener import PingListener
from openmsmq.types.caller import Caller
from openmsmq.types.settings import ConfigurationEntry

if TYPE_CHECKING:
    from aiohttp import web

    from openmsmq.directory.service import DirectoryService
    from openmsmq.interfaces.service import RpcService
    from openmsmq.service.http import ConsoleListener
    from openmsmq.service.read_proxy import ManagersElsewhere
    from openmsmq.transports.pgm.service import MulticastService
    from openmsmq.transports.srmp.client import ClientSettings
    from openmsmq.transports.srmp.service import SrmpService

_log: Final = logging.getLogger(__name__)


class ConsolePages(Protocol):
    """The pages of the web console, which are a part of a higher layer."""

    def add_to(self, app: web.Application, tokens: Tokens) -> None:
        """Answer on the console port."""
        ...

    def opened(
        self,
        local: QueueManager,
        driver: LoopDriver,
        address: Callable[[], tuple[str, int] | str],
    ) -> None:
        """The manager is there; programs find it at `address`."""
        ...

    def announce(self, address: tuple[str, int]) -> None:
        """Tell people where the console is."""
        ...


class StandardListeners:
    """The console, which is there from the first moment on, and the listeners of all protocols."""

    def __init__(
        self,
        config: Config,
        descriptors: int | None = None,
        pages: ConsolePages | None = None,
        *,
        reload: Callable[[], Config] | None = None,
    ) -> None:
        """`ConfigError` if there is something wrong with the certificates.

        `descriptors` is how many files and connections this process may have open, if that counts.
        `pages` are what people see at the console port. `reload` gives the configuration as it
        would be at a start now.
        """
        self._reload = reload
        self._config = config
        self._pages = pages
        self._shares = shares(config, needed(config) if descriptors is None else descriptors)
        clients, sessions, _ = self._shares
        if (clients, sessions) != (config.clients_max, config.sessions_max):
            log_event(
                _log,
                "fewer connections than configured: raise the limit of open files",
                clients_max=clients,
                sessions_max=sessions,
                descriptors=descriptors,
            )
        self._metrics = ServiceMetrics(config.data)
        self._certificates = Certificates(config.tls_clients)
        self._console: ConsoleListener | None = None
        # Monitoring presents tokens; a health check needs no certificate.
        self._console_tls = server_tls(config)
        self._app_tls = server_tls(config, ask_clients=True)
        self._srmp_tls = server_tls(config, ask_clients=True)
        self._client_tls: list[ssl.SSLContext] = []
        self._srmp: SrmpService | None = None
        self._server: AppServer | None = None

    def _entries(self) -> list[ConfigurationEntry]:
        """How the service is configured; `ConfigError` if its file is wrong now."""
        from openmsmq.service.entries import configuration_entries

        filed = self._config if self._reload is None else self._reload()
        return configuration_entries(self._config, filed)

    def early(self, config: Config, tokens: Tokens) -> Mapping[str, ServiceListener]:
        """The console."""
        if config.console_port is None:
            return {}
        from openmsmq.service.http import ConsoleListener

        def admits(text: str) -> bool:
            grant = tokens.check(text)
            return grant is not None and is_allowed(Caller("metrics", grant), "watch")

        self._console = ConsoleListener(
            self._metrics,
            host=config.bind,
            port=config.console_port,
            tls=self._console_tls,
            admits=None if config.is_local or config.allow_insecure else admits,
            allow_insecure=config.allow_insecure,
            connections_max=self._shares.console,
        )
        if self._pages is not None:
            self._pages.add_to(self._console.app, tokens)
        return {"console": self._console}

    def late(
        self, local: QueueManager, driver: LoopDriver, config: Config, tokens: Tokens
    ) -> Mapping[str, ServiceListener]:
        """The listeners for programs and other managers, all of one manager ([MS-MQDMPR] 3.1.1).

        In hardened mode there is neither RPC nor a transfer but over HTTP (HardenedSecurity).
        """
        clients, sessions, _ = self._shares
        config = replace(config, clients_max=clients, sessions_max=sessions)
        driver.observer = self._metrics.committed
        if self._console is not None:
            self._console.manager = local
        listeners: dict[str, ServiceListener] = {}
        directory = self._directory(local, driver, config)
        if directory is not None:
            listeners["directory"] = directory
        listeners.update(self._app(local, driver, config, tokens, directory))
        binary = None
        if local.is_hardened:
            log_event(_log, "hardened mode: transfer over HTTP only, and no remote calls")
            return {**listeners, **self._srmp_listener(local, driver, config)}
        if config.binary_port is not None:
            listeners["binary"] = binary = BinaryListener(local, driver, config, SystemClock())
            if self._server is not None:
                self._server.control = binary.control
            if binary.tls_listener is not None:
                listeners["binary_tls"] = binary.tls_listener
        if config.takes_remote_calls:
            listeners.update(self._rpc(local, driver, config, directory).listeners())
        listeners.update(self._srmp_listener(local, driver, config))
        if config.multicast != "off":
            listeners["multicast"] = self._multicast(local, driver, config)
        if config.ping_port is not None:
            listeners["ping"] = _ping_listener(local, config, config.ping_port, binary)
        return listeners

    def _app(
        self,
        local: QueueManager,
        driver: LoopDriver,
        config: Config,
        tokens: Tokens,
        directory: DirectoryService | None,
    ) -> Mapping[str, ServiceListener]:
        """The listener for programs, if it is on."""
        if config.app_port is None and config.app_socket is None:
            return {}
        if config.app_port is not None:
            _require_safe(config, tokens)
        server = AppServer(
            local,
            driver,
            config,
            tokens,
            metrics=self._metrics,
            certificates=self._certificates,
            read_proxy=None if local.is_hardened else self._read_proxy(config),
            directory=directory,
            configured=self._entries,
        )
        self._server = server
        listener = AppListener(server, self._app_tls)
        self._introduce(local, driver, listener)
        return {"app": listener}

    def _directory(
        self, local: QueueManager, driver: LoopDriver, config: Config
    ) -> DirectoryService | None:
        """The directory that this manager belongs to, if there is one."""
        if not config.directory:
            return None
        from openmsmq.directory.credentials import machine_signer, own_keys
        from openmsmq.directory.ldap.client import open_directory_tree, tls_context
        from openmsmq.directory.ldap.controller import parse_place
        from openmsmq.directory.ldap.login import LdapLogin
        from openmsmq.directory.service import DirectoryService

        if config.directory_auth == "ntlm":
            _require_cipher("directory.auth ntlm")
        password, file = "", config.directory_password_file
        if file is not None:
            try:
                password = file.read_text().strip("\r\n")
            except OSError as error:
                raise ConfigError(f"directory.password_file: {file}: {error.strerror}") from error
        login = LdapLogin(
            config.directory_auth, config.directory_user or "", password, config.directory_keytab
        )
        places = [parse_place(one) for one in config.directory]
        context, site = tls_context(config.directory_ca), config.directory_site or ""
        tree = open_directory_tree(places, login, context, site)
        found = DirectoryService(local, driver, tree, site=site)
        found.keys = partial(own_keys, config.data)
        found.elsewhere.signer = machine_signer(config.data)
        return found

    def _introduce(self, local: QueueManager, driver: LoopDriver, listener: AppListener) -> None:
        """Let the console, if there is one, know the manager and where it is."""
        if self._pages is not None and self._console is not None:
            self._pages.opened(local, driver, lambda: listener.address)
            self._pages.announce(self._console.address)

    def _srmp_listener(
        self, local: QueueManager, driver: LoopDriver, config: Config
    ) -> Mapping[str, ServiceListener]:
        """Messages over HTTP, if they are on."""
        if config.srmp_port is None:
            return {}
        from openmsmq.service.signatures import load_signatures
        from openmsmq.transports.srmp.delivery import SrmpTiming
        from openmsmq.transports.srmp.redirection import Redirections
        from openmsmq.transports.srmp.service import SrmpService

        self._srmp = SrmpService(
            local,
            driver,
            SystemClock(),
            host=config.srmp_bind or config.peer_bind,
            port=config.srmp_port,
            url=config.srmp_url or "",
            tls=self._srmp_tls,
            settings=self._srmp_settings(config),
            redirections=Redirections(
                tuple(config.srmp_redirect_outgoing.items()),
                config.srmp_redirect_except,
                tuple(config.srmp_redirect_incoming.items()),
                tuple(config.srmp_receipt_urls.items()),
                config.srmp_forward,
            ),
            timing=SrmpTiming(
                config.srmp_retry_after, config.srmp_disconnect_after, config.srmp_resend_after
            ),
            signatures=load_signatures(config),
        )
        return {"srmp": self._srmp}

    def _multicast(
        self, local: QueueManager, driver: LoopDriver, config: Config
    ) -> MulticastService:
        """Messages to groups."""
        from openmsmq.service.signatures import load_signatures
        from openmsmq.transports.pgm.network import MulticastNetwork, default_interface
        from openmsmq.transports.pgm.service import MulticastService
        from openmsmq.transports.pgm.timers import PgmTiming
        from openmsmq.transports.pgm.transport import SourceSettings

        def network() -> MulticastNetwork:
            given = config.multicast_interface
            interface = default_interface() if given is None else IPv4Address(given)
            try:
                return MulticastNetwork(
                    interface,
                    udp_port=config.multicast_udp_port if config.multicast == "udp" else None,
                    ttl=config.multicast_ttl,
                    is_alert=config.multicast_router_alert,
                )
            except PermissionError as error:
                raise ConfigError(
                    "multicast.mode raw needs CAP_NET_RAW (systemd: AmbientCapabilities="
                    "CAP_NET_RAW); udp needs no privilege, but MSMQ does not speak it"
                ) from error

        signatures = load_signatures(config)
        timing = PgmTiming(rate=config.multicast_rate * 1024, window_s=config.multicast_window)
        return MulticastService(
            local,
            driver,
            SystemClock(),
            network,
            settings=SourceSettings(timing, signer=signatures.signer),
            senders=signatures.senders,
            may_relay=config.multicast_relays,
            allowed=tuple(map(IPv4Network, config.multicast_sources)),
        )

    def _read_proxy(self, config: Config) -> ManagersElsewhere | None:
        """Queues of other managers that programs read through this one, if any is configured."""
        if not config.rpc_managers:
            return None
        from openmsmq.service.read_proxy import ManagersElsewhere

        _require_cipher("rpc.managers")
        return ManagersElsewhere(config.rpc_managers, config.data)

    def _rpc(
        self,
        local: QueueManager,
        driver: LoopDriver,
        config: Config,
        directory: DirectoryService | None,
    ) -> RpcService:
        """Remote calls."""
        from openmsmq.access.users import Users
        from openmsmq.interfaces.levels import LevelPolicy
        from openmsmq.interfaces.limits import TRANSACTION_IDLE_AFTER
        from openmsmq.interfaces.service import RpcService, RpcSettings

        _require_cipher("remote calls (--rpc-port)")
        policy = LevelPolicy(
            config.rpc_allow_unauthenticated,
            config.rpc_deny_workgroup_clients,
            config.rpc_allow_anonymous,
            config.rpc_accept_integrity,
        )
        settings = RpcSettings(
            config.rpc_host,
            config.rpc_port,
            config.rpc_alternate_port,
            config.endpoint_mapper_port,
            policy,
            config.rpc_connections_max,
            config.idle_transaction_limit or TRANSACTION_IDLE_AFTER,
            config.rpc_keytab,
            config.supporting_clients_max if config.supporting_server else 0,
        )
        users, managers, elsewhere = Users(config.data), self._read_proxy(config), None
        if config.supporting_server and managers is not None and not local.is_hardened:
            from openmsmq.service.supported_queues import SupportedQueues

            elsewhere = SupportedQueues(managers, local.identity)
        made = RpcService(
            local, driver, users, SystemClock(), settings, self._metrics, elsewhere, directory
        )
        if self._server is not None and config.supporting_server:
            self._server.dependents = made.dependents
        return made

    def _srmp_settings(self, config: Config) -> ClientSettings:
        """How messages are posted to other hosts."""
        from openmsmq.transports.srmp.client import ClientSettings, DestinationSettings

        own = DestinationSettings(config.srmp_proxy, None, config.srmp_posts_max)
        self._client_tls = [_client_tls(config, config.srmp_ca)]
        by_host = {}
        for host, entry in config.srmp_destinations.items():
            tls = self._client_tls[0]
            if entry.ca is not None:
                tls = _client_tls(config, entry.ca)
                self._client_tls.append(tls)
            by_host[host] = DestinationSettings(
                entry.proxy or own.proxy, tls, entry.posts_max or own.posts_max
            )
        return ClientSettings(own._replace(tls=self._client_tls[0]), by_host)

    def renew(self, config: Config) -> None:
        """Show the certificate that is in its file now to those who come from now on.

        What others may do with theirs counts at once.
        """
        live = {name: getattr(config, name) for name, one in OPTIONS.items() if one.live}
        self._config = replace(self._config, **live)
        self._certificates.entries = config.tls_clients
        if self._srmp is not None:
            from openmsmq.service.signatures import load_signatures

            self._srmp.listener.senders = load_signatures(config).senders
        contexts = (self._console_tls, self._app_tls, self._srmp_tls, *self._client_tls)
        for context in contexts:
            if context is not None and self._config.tls_cert is not None:
                _load_certificate(context, self._config)


def _ping_listener(
    local: QueueManager, config: Config, port: int, binary: BinaryListener | None
) -> PingListener:
    """Answers managers that ask whether this one is there."""
    recorder = None if config.record is None else Recorder(config.record)
    if binary is not None:
        recorder = binary.recorder  # two would give their files the same numbers
    return PingListener(
        local.identity,
        config.peer_bind,
        port,
        refuses=lambda: binary is None or binary.transport.refuses_sessions,
        recorder=recorder,
    )


def _require_cipher(what: str) -> None:
    """NTLM needs a cipher that the extra `rpc` brings."""
    if find_spec("cryptography") is None:
        raise ConfigError(f"{what}: needs the package cryptography: pip install 'openmsmq[rpc]'")


def _require_safe(config: Config, tokens: Tokens) -> None:
    """Refuse to listen for other computers without TLS and a login."""
    is_safe = config.tls_cert is not None and (bool(config.tls_clients) or bool(tokens))
    if not (config.is_local or config.allow_insecure or is_safe):
        raise ConfigError(
            f"app on {config.bind}: other computers can reach it, so it needs --tls-cert and"
            " --tls-key, and a token (openmsmq token create) or --tls-client-ca with an entry in"
            " tls.clients: a certificate alone gives no rights"
        )


def server_tls(config: Config, *, ask_clients: bool = False) -> ssl.SSLContext | None:
    """How a listener speaks TLS; None if there is no certificate.

    `ask_clients` lets only those in who have a certificate themselves, if `tls.client_ca` is given.
    """
    if config.tls_cert is None:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    _load_certificate(context, config)
    if ask_clients and config.tls_client_ca is not None:
        try:
            context.load_verify_locations(config.tls_client_ca)
        except OSError as error:
            raise ConfigError(f"tls.client_ca: {config.tls_client_ca}: {error}") from error
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def _client_tls(config: Config, ca: Path | None) -> ssl.SSLContext:
    """How messages are posted over HTTPS: whom to trust, and what to show to those who ask."""
    context = ssl.create_default_context()
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if ca is not None:
        try:
            context.load_verify_locations(ca)
        except OSError as error:
            raise ConfigError(f"srmp: certificates of {ca}: {error}") from error
    if config.tls_cert is not None:
        _load_certificate(context, config)
    return context


def _load_certificate(context: ssl.SSLContext, config: Config) -> None:
    assert config.tls_cert is not None
    assert config.tls_key is not None
    try:
        # There is no terminal to ask for a password: a key that needs one cannot be read.
        context.load_cert_chain(config.tls_cert, config.tls_key, password=str)
    except OSError as error:  # errors of TLS are among them
        raise ConfigError(
            f"tls.cert {config.tls_cert}, tls.key {config.tls_key}: {error}"
        ) from error
