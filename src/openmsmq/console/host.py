"""The console of a service: a part of its console port, for its own manager."""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from shutil import disk_usage
from typing import Final

from aiohttp import web

from openmsmq import aio
from openmsmq.access.tokens import Tokens
from openmsmq.client._async.manager import Manager
from openmsmq.client.embedded._async.embedded import Embedded
from openmsmq.console.application import ConsoleApplication
from openmsmq.console.desk.trash import TrashKeeper
from openmsmq.console.links import Connect, ManagerEntry, QueueTally
from openmsmq.console.managers import PATIENCE_S, ManagerPlace, connecting_to
from openmsmq.console.proxies import LoginProxy
from openmsmq.console.sessions import load_key, make_code, write_place
from openmsmq.console.state import ConsoleSettings, ConsoleState
from openmsmq.engine.manager import QueueManager
from openmsmq.engine.queues.info import path_name
from openmsmq.net.addresses import is_loopback
from openmsmq.runtime.drivers import LoopDriver
from openmsmq.runtime.logs import log_event
from openmsmq.service.configuration import Config, ConfigError
from openmsmq.service.values import ConsoleManagerEntry
from openmsmq.types.caller import EVERYTHING, Caller

LOOPBACK_NAMES: Final = ("localhost",)
_log: Final = logging.getLogger(__name__)


class ServicePages:
    """Adds the console to the listener of a service, and introduces the manager to it."""

    def __init__(self, config: Config) -> None:
        self._config = config
        # With certificates of clients, or open to others, everyone has to say who it is.
        is_open = config.is_local and config.tls_client_ca is None
        self.state = ConsoleState(
            ConsoleSettings(
                hosts=own_names(config),
                read_only=config.console_read_only,
                is_secure=config.tls_cert is not None,
                is_open=is_open,
                masks=config.console_masks,
                proxy=proxy_of(config),
                audit_reads=config.console_audit_reads,
                link_role="admin" if config.loopback == "admin" else "read+send",
            ),
            entries={},
        )

    def add_to(self, app: web.Application, tokens: Tokens) -> None:
        """Answer on the console port."""

        self.state.grant_of = tokens.check
        self._tokens = tokens
        ConsoleApplication(self.state).add_to(app)

    def opened(
        self,
        local: QueueManager,
        driver: LoopDriver,
        address: Callable[[], tuple[str, int] | str],
    ) -> None:
        """The manager is there; programs find it at `address`."""

        async def connect(token: str) -> Manager:
            return await aio.connect(
                _written(address()), token=token, tls=self._client_tls(), timeout=PATIENCE_S
            )

        def keep_audit(token: str, act: str, target: str, reason: str) -> None:
            grant = self._tokens.check(token) if token else EVERYTHING
            if grant is not None:
                local.audit.acted(Caller("console", grant), act, target, reason)

        self.state.entries[local.name] = ManagerEntry(
            local.name, connect, is_own=True, tallies=partial(tallies_of, local)
        )
        self.state.keep_in(self._config.data, local.name)
        self._add_others(local.name)
        self.state.keep_audit = keep_audit
        own = Manager(Embedded(local, driver))

        async def itself() -> Manager:
            return own

        keeper = TrashKeeper(own, time.time)
        self.state.keepers.append(asyncio.create_task(keeper.run()))
        self.state.keep_minutes(local.name, itself, partial(free_bytes, self._config.data))
        if self.state.settings.is_open:
            self.state.sessions.key = load_key(self._config.data)

    def _add_others(self, own: str) -> None:
        """Show the other managers of the configuration, too."""
        for name, entry in self._config.console_managers.items():
            if name.lower() == own.lower():
                what = f"console.managers.{name} is this manager itself, which is shown anyway"
                log_event(_log, "console", level=logging.WARNING, ignored=what)
                continue
            self.state.entries[name] = ManagerEntry(name, self._connecting(entry))
            if entry.token_file is not None and self._is_administrator(""):
                self.state.keep_minutes(name, self.state.by_link(name))

    def _connecting(self, entry: ConsoleManagerEntry) -> Connect:
        """Connects to another manager: an administrator of this one with the token in the file.

        Everyone else shows the own token, so that no one can do more there than with it.
        """
        data = self._config.data
        place = ManagerPlace(entry.address, tls=None if entry.ca is None else str(data / entry.ca))

        async def connect(token: str) -> Manager:
            if entry.token_file is not None and self._is_administrator(token):
                token = (data / entry.token_file).read_text().strip()
            return await connecting_to(place)(token)

        return connect

    def _is_administrator(self, token: str) -> bool:
        """Whether a login here may do everything with all queues."""
        if not token:
            return self.state.settings.link_role == EVERYTHING.role
        grant = self._tokens.check(token)
        return grant is not None and grant.role == EVERYTHING.role and not grant.patterns

    def announce(self, address: tuple[str, int]) -> None:
        """Tell people where the console is; on a terminal, with a link that logs them in."""
        place = place_of(self._config, address)
        write_place(self._config.data, address[1])
        key = self.state.sessions.key
        if key is not None and sys.stderr.isatty():
            log_event(_log, "console", link=f"{place}/login#{make_code(key, time.time())}")
        else:
            log_event(_log, "console", address=place, login="openmsmq console login --data DIR")

    def _client_tls(self) -> ssl.SSLContext | None:
        """How to talk to the own listener, whose certificate is for the names others use.

        Nothing is verified: the port belongs to this process, and nothing leaves the computer.
        """
        if self._config.tls_cert is None:
            return None
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
        return context


def tallies_of(local: QueueManager) -> dict[str, QueueTally]:
    """What is going on at the queues of a manager, as its metrics say it, too."""
    return {
        path_name(queue): QueueTally(len(queue.waiters), len(queue.holds))
        for queue in local.queues.by_number.values()
        if queue.waiters or queue.holds
    }


def free_bytes(directory: Path) -> int:
    """How much room the disk of a directory has."""
    return disk_usage(directory).free


def own_names(config: Config) -> frozenset[str]:
    """The names by which browsers may call the console."""
    names = [
        *LOOPBACK_NAMES,
        *(name for name in (config.name, *config.aliases, *config.console_hosts) if name),
        socket.gethostname(),
        socket.getfqdn(),
    ]
    if config.bind not in ("0.0.0.0", "::", ""):  # noqa: S104  # compared, not bound
        names.append(config.bind)
    return frozenset(name.lower() for name in names)


def proxy_of(config: Config) -> LoginProxy | None:
    """The proxy that logs people in; files are looked for beside the data."""
    entry = config.console_proxy
    if entry is None:
        return None
    secret = None
    if entry.secret_file is not None:
        secret = (config.data / entry.secret_file).read_bytes().strip()
        if not secret:
            raise ConfigError(f"console.proxy: {entry.secret_file} is empty")
    users = {name: config.data / file for name, file in entry.users.items()}
    return LoginProxy(frozenset(entry.addresses), entry.header, users, secret)


def place_of(config: Config, address: tuple[str, int]) -> str:
    """The address of the console, as a browser writes it."""
    scheme = "http" if config.tls_cert is None else "https"
    host, port = address
    if not is_loopback(host):
        host = socket.getfqdn()
    return f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}"


def _written(address: tuple[str, int] | str) -> str:
    if isinstance(address, str):
        return f"unix:{address}"
    host, port = address
    if host in ("0.0.0.0", "::"):  # noqa: S104  # all addresses, so this one, too
        host = "127.0.0.1" if host == "0.0.0.0" else "::1"  # noqa: S104
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
