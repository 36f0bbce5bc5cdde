"""The life of a queue manager that runs as a service: store, listeners, work, and shutdown.

Signals (`signals.py`) end it in good order, or have it read its configuration again.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import json
import logging
import os
import socket
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final, Protocol, TypeAlias

from openmsmq.access.changes import AccessChanges
from openmsmq.access.tokens import Tokens
from openmsmq.engine.manager import QueueManager
from openmsmq.errors import (
    MQError,
    ServiceNotAvailable,
    StorageFailed,
    StorageFull,
    StoreDenied,
    StoreInUse,
)
from openmsmq.runtime.drivers import LoopDriver
from openmsmq.runtime.logs import log_event, set_up_logs
from openmsmq.runtime.startup import open_directory
from openmsmq.service.backup import write_down
from openmsmq.service.configuration import Config, changes
from openmsmq.service.limits import STOP_WITHIN_S
from openmsmq.service.message_security import LOOK_EVERY, MessageSecurity
from openmsmq.service.options import OPTIONS
from openmsmq.service.signals import handle_signals
from openmsmq.transports.receipts import RECEIPTS
from openmsmq.types.caller import Caller
from openmsmq.types.manager_state import ManagerState

RETRY_AFTER: Final = (120.0, 900.0)
"Seconds until a start that failed is tried again, at first and later ([MS-MQSO] 6.4.4.1)."
LISTENERS: Final = (
    "binary",
    "binary_tls",
    "ping",
    "app",
    "rpc",
    "rpc_alternate",
    "endpoint_mapper",
    "srmp",
    "multicast",
    "console",
)
"All there will be; the ready file names each."
MAY_PASS: Final = (StoreInUse, StorageFailed, StorageFull)
"Why a store cannot be opened now and perhaps can be later; but see `StoreDenied`."
_log: Final = logging.getLogger(__name__)

Address: TypeAlias = tuple[str, int] | str
"Host and port, or the path of a Unix socket."


class ServiceListener(Protocol):
    """A way in."""

    async def start(self) -> Address:
        """Let others in; where they find it."""
        ...

    async def stop(self, reason: str) -> None:
        """Accept no connections, say why on those that are open, and drain them.

        Comes also if the start failed.
        """
        ...


class ListenerFactory(Protocol):
    """Which listeners there are, by name, in the order they are opened."""

    def early(self, config: Config, tokens: Tokens) -> Mapping[str, ServiceListener]:
        """Those that are there before the store is open."""
        ...

    def late(
        self, local: QueueManager, driver: LoopDriver, config: Config, tokens: Tokens
    ) -> Mapping[str, ServiceListener]:
        """Those that are opened then."""
        ...

    def renew(self, config: Config) -> None:
        """Use the certificates that are in their files now, and what changes at once."""
        ...


class CannotStart(ServiceNotAvailable):
    """The queue manager did not start."""


class Service:
    """A queue manager from its start to its end."""

    def __init__(
        self,
        config: Config,
        listeners: ListenerFactory,
        *,
        reload: Callable[[], Config],
        retry_after: tuple[float, float] = RETRY_AFTER,
    ) -> None:
        """`reload` gives the configuration as it would be at a start now."""
        self.config = config
        self.state = ManagerState.STOPPED
        self._listeners = listeners
        self._reload = reload
        self._retry_after = retry_after
        self._tokens = Tokens(config.data)
        self._local: QueueManager | None = None
        self._driver: LoopDriver | None = None
        self._open: dict[str, ServiceListener] = {}
        self._addresses: dict[str, Address] = {}
        self._reason = ""
        self._failure: MQError | None = None
        "Why it cannot go on."
        self._stop = asyncio.Event()
        self._security: MessageSecurity | None = None
        self._changes: AccessChanges | None = None

    def stop(self, reason: str) -> None:
        """End it in good order."""
        self._reason = self._reason or reason
        self._stop.set()

    def _begin_stop(self, reason: str) -> bool:
        """End it, from a signal handler; False if it is ending already."""
        if self._reason:
            return False
        self._reason = reason
        asyncio.get_running_loop().call_soon_threadsafe(self._stop.set)
        return True

    async def run(self) -> None:
        """Start, work until `stop`, and end in good order.

        (States and their order, [MS-MQSO] 5.1.1.1, 6.6.2.) An error that ends the start, or a store
        that fails later, is raised when all that had been opened is closed again.
        """
        self._remove_ready_file()  # a killed process may have left one
        with handle_signals(self._begin_stop, self.reload):
            try:
                await self._open_listeners(self._listeners.early(self.config, self._tokens))
                opened = await self._initialize()
                if opened is not None:
                    await self._open_listeners(
                        self._listeners.late(*opened, self.config, self._tokens)
                    )
                    if self._failure is None:
                        self._announce(opened[0])
                    await self._work()
            except MQError as error:
                self._reason = f"cannot start: {error}"
                log_event(_log, "cannot start", level=logging.ERROR, error=error)
                raise
            finally:
                await self._end()
        if self._failure is not None:
            raise self._failure

    async def _work(self) -> None:
        """Nothing but look at the files of keys, until it is to stop."""
        assert self._security is not None, "the store is open"
        watching = asyncio.create_task(self._security.watch())
        following = asyncio.create_task(self._follow())
        try:
            await self._stop.wait()
        finally:
            watching.cancel()
            following.cancel()

    async def _follow(self) -> None:
        """Take changes of tokens, users, certificates and keys into the audit log."""
        assert self._driver is not None, "the store is open"
        assert self._changes is not None, "the store is open"
        while True:
            self._driver.call(self._changes.refresh)
            await asyncio.sleep(LOOK_EVERY)

    def _break_off(self, error: MQError) -> None:
        """The store failed: stop serving, so that a supervisor starts it anew."""
        self._failure = error
        self._enter(ManagerState.STOPPING)
        self.stop(f"cannot go on: {error}")

    async def _initialize(self) -> tuple[QueueManager, LoopDriver] | None:
        """Open the store, again and again if it takes that; None if it is to stop before.

        (Initialization Retry Timer, [MS-MQSO] 6.4.4.1, 6.6.2.)
        """
        delay, later = self._retry_after
        while not self._stop.is_set():
            self._enter(ManagerState.INITIALIZING)
            try:
                return self._open_store()
            except MAY_PASS as error:
                self._enter(ManagerState.STOPPED)
                if isinstance(error, StoreDenied) or not self.config.retry:
                    raise
                log_event(
                    _log, "cannot start yet", level=logging.ERROR, error=error, retry_after=delay
                )
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._stop.wait(), delay)
            delay = later
        return None

    def _open_store(self) -> tuple[QueueManager, LoopDriver]:
        config = self.config
        self._tokens.refresh()
        local = open_directory(
            config.data, config.name, restored=config.restored, receipts=RECEIPTS
        )
        local.resolver.configure(
            [local.name, *config.aliases],
            config.own_addresses,
            host_names=(socket.gethostname(), socket.getfqdn()),
            takes_all=config.ignore_os_name_validation,
        )
        self._local, self._driver = local, LoopDriver(local, local.clock, inline=True)
        self._driver.on_broken = self._break_off
        self._security = MessageSecurity(config, local)
        self._changes = AccessChanges(config.data, local.audit)
        self._enter(ManagerState.INITIALIZING)
        return local, self._driver

    async def _open_listeners(self, listeners: Mapping[str, ServiceListener]) -> None:
        for name, listener in listeners.items():
            self._open[name] = listener  # a part of it may be open when the rest fails
            try:
                self._addresses[name] = await listener.start()
            except MQError:
                raise  # some are OSErrors, too
            except OSError as error:
                raise CannotStart(_why(name, error)) from error
            log_event(_log, "listening", listener=name, address=_shown(self._addresses[name]))

    def _announce(self, local: QueueManager) -> None:
        """Tell those who wait for it that the manager is ready."""
        self._enter(ManagerState.READY)
        self._write_down(local)
        identity = str(local.identity)
        if self.config.ready_file is not None:
            document = {"pid": os.getpid(), "id": identity, "name": local.name}
            places = {name: self._addresses.get(name) for name in LISTENERS}
            _write_at_once(self.config.ready_file, json.dumps({**document, **places}) + "\n")
        log_event(
            _log, "ready", name=local.name, id=identity, data=self.config.data, pid=os.getpid()
        )
        notify_systemd("READY=1")

    def _write_down(self, local: QueueManager) -> None:
        """Keep how the manager was started, for backups."""
        try:
            write_down(self.config, local.name)
        except OSError as error:  # a full disk: backups have what was written down before
            log_event(_log, "start not written down", level=logging.WARNING, error=error)

    async def _end(self) -> None:
        """Close everything, what was opened last first; commits that were begun are finished."""
        notify_systemd("STOPPING=1")
        self._enter(ManagerState.STOPPING)
        log_event(_log, "stopping", reason=self._reason)
        self._remove_ready_file()
        while self._open:
            name, listener = self._open.popitem()
            try:
                await asyncio.wait_for(listener.stop(self._reason), STOP_WITHIN_S)
            except (MQError, OSError) as error:  # a TimeoutError is an OSError
                log_event(
                    _log, "listener not closed", level=logging.ERROR, error=error, listener=name
                )
        if self._driver is not None:
            await self._driver.close()
        if self._security is not None:
            self._security.close()
        self._enter(ManagerState.STOPPED)
        log_event(_log, "stopped")

    def _enter(self, state: ManagerState) -> None:
        self.state = state
        if self._local is not None:
            self._local.state = state

    def _remove_ready_file(self) -> None:
        if self.config.ready_file is not None:
            with contextlib.suppress(OSError):
                self.config.ready_file.unlink(missing_ok=True)

    def reload(self) -> None:
        """Read the configuration again, and change what can change while it runs."""
        try:
            new = self._reload()
            self._tokens.refresh()
            self._listeners.renew(new)
            if self._security is not None:
                self._security.refresh(force=True)
        except MQError as error:
            log_event(_log, "not reloaded", level=logging.ERROR, error=error)
            return
        found = changes(self.config, new)
        live = [name for name in found if OPTIONS[name].live]
        self.config = replace(self.config, **{name: getattr(new, name) for name in live})
        set_up_logs(self.config.log_format, self.config.log_level, sys.stderr)
        needs_restart = _places(name for name in found if name not in live)
        log_event(_log, "reloaded", changed=_places(live), needs_restart=needs_restart)
        if self._local is not None and self._driver is not None and self._changes is not None:
            audit = self._local.audit
            words = f"changed: {_places(live)}; needs a restart: {needs_restart}"
            by = Caller("SIGHUP")
            self._driver.call(self._changes.refresh)
            self._driver.call(lambda: audit.acted(by, "reload configuration", "", words))


def notify_systemd(state: str) -> None:
    """Tell systemd, if it has started this process and wants to know (sd_notify)."""
    path = os.environ.get("NOTIFY_SOCKET")
    if not path:
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notifier:
        try:
            notifier.sendto(state.encode(), f"\0{path[1:]}" if path[0] == "@" else path)
        except OSError as error:
            log_event(_log, "systemd does not listen", level=logging.WARNING, error=error)


def _why(name: str, error: OSError) -> str:
    words = f"{name}: {error.strerror or error}"
    option = f"--{name.replace('_', '-')}-port"
    if error.errno == errno.EADDRINUSE:
        words += f". Is another queue manager running? {option} takes another port, 0 any"
    elif error.errno == errno.EACCES:
        words += f". Ports below 1024 need root or CAP_NET_BIND_SERVICE; see {option}"
    return words


def _shown(address: Address) -> str:
    if isinstance(address, str):
        return address
    host, port = address
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _places(names: Iterator[str] | list[str]) -> str:
    return ", ".join(OPTIONS[name].place for name in names) or "nothing"


def _write_at_once(path: Path, text: str) -> None:
    """A file that is there whole or not at all."""
    making = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        making.write_text(text)
        making.replace(path)
    except OSError as error:
        making.unlink(missing_ok=True)
        raise CannotStart(f"the ready file: {error}") from error
