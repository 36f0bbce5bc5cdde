"""Programs read queues of other managers through this one, with the credentials it has for them.

Calls of [MS-MQRR] are made by tasks of the event loop; a session gets their answers as futures, as
it gets those of the engine.
"""

from __future__ import annotations

import asyncio
import stat
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from uuid import UUID

from openmsmq.client.remote_read._async.backend import RpcBackend, RpcWork
from openmsmq.client.remote_read._async.session_backend import SessionBackend
from openmsmq.client.remote_read.place import PORT, RemotePlace
from openmsmq.engine.commit.future import Future
from openmsmq.engine.handle import QueueHandle
from openmsmq.engine.transactions.transaction import ManagedTransaction
from openmsmq.errors import (
    InsufficientResources,
    InvalidHandle,
    Malformed,
    MQError,
    RemoteMachineNotAvailable,
    ServiceNotAvailable,
    TransactionSequence,
)
from openmsmq.names.direct import DirectName, Protocol
from openmsmq.names.parse import parse_name
from openmsmq.names.parts import host_key
from openmsmq.names.path import PathName
from openmsmq.service.limits import (
    PASSWORD_FILE_MAX,
    PROXIED_CONNECTIONS_MAX,
    PROXIED_MANAGERS_MAX,
)
from openmsmq.service.proxied_queue import ProxiedQueue
from openmsmq.service.values import RemoteManagerEntry, split_address
from openmsmq.types.access import Mode

T = TypeVar("T")


class ManagersElsewhere:
    """The managers that the configuration names, and those that programs read now."""

    def __init__(self, managers: Mapping[str, RemoteManagerEntry], data: Path) -> None:
        self._managers = managers
        self._data = data
        self.in_use = 0
        "Managers that programs read, each program counted by itself."

    def session(self) -> ProxiedReads:
        """For a program that has connected."""
        return ProxiedReads(self)

    def knows(self, computer: str) -> bool:
        """Whether the configuration names this computer."""
        return host_key(computer) in self._managers

    def connect(self, computer: str) -> RpcBackend:
        """A client of a manager."""
        return RpcBackend(self.place(computer), connections_max=PROXIED_CONNECTIONS_MAX)

    def place(self, computer: str) -> RemotePlace:
        """How one more client logs on at a manager; the password is read anew for each."""
        entry = self._managers[host_key(computer)]
        if self.in_use >= PROXIED_MANAGERS_MAX:
            raise InsufficientResources(f"{PROXIED_MANAGERS_MAX} managers are being read")
        password = ""
        if entry.password_file is not None:
            password = read_password(self._data / entry.password_file)
        host, port = split_address(entry.address or computer, PORT)
        place = RemotePlace.of(
            host,
            port=port,
            computer=computer,
            user=entry.user,
            password=password,
            level=entry.level,
        )
        self.in_use += 1
        return place


def read_password(path: Path) -> str:
    """The password in a file that only its owner can read."""
    try:
        with path.open("rb") as file:
            mode = stat.S_IMODE(path.stat().st_mode)
            data = file.read(PASSWORD_FILE_MAX + 1)
    except OSError as error:
        raise ServiceNotAvailable(f"password file {path}: {error.strerror}") from error
    if mode & 0o077:
        raise ServiceNotAvailable(
            f"password file {path} has mode {mode:04o}: others can read it; chmod 600 {path}"
        )
    if len(data) > PASSWORD_FILE_MAX:
        raise ServiceNotAvailable(f"password file {path}: more than {PASSWORD_FILE_MAX} bytes")
    return data.decode("utf-8", "replace").rstrip("\r\n")


class _Part(NamedTuple):
    """What a transaction has received elsewhere."""

    backend: RpcBackend
    work: RpcWork


class ProxiedReads:
    """What one program reads of other managers (`SessionProxy`)."""

    def __init__(self, reads: ManagersElsewhere) -> None:
        self._reads = reads
        self._backends: dict[str, RpcBackend] = {}
        self._parts: dict[ManagedTransaction, _Part] = {}
        self._enlisting = asyncio.Lock()
        self._tasks: dict[Future[Any], asyncio.Task[None]] = {}
        self._is_closed = False

    def serves(self, name: str) -> bool:
        """Whether the queue with this name, which is not one of ours, can be read."""
        computer = _computer(name)
        return computer is not None and self._reads.knows(computer)

    def connect(self, name: str) -> None:
        """Have a client for the manager of a queue."""
        computer = _computer(name)
        assert computer is not None, "see `serves`"
        key = host_key(computer)
        if key not in self._backends:
            self._backends[key] = self._reads.connect(computer)

    def connect_session(self, computer: str, identity: UUID) -> SessionBackend:
        """Have a client for one queue that someone else has opened."""
        place = self._reads.place(computer)
        backend = SessionBackend(place, identity, connections_max=PROXIED_CONNECTIONS_MAX)
        self._backends[host_key(computer)] = backend
        return backend

    def open_queue(self, name: str, mode: Mode, sender: QueueHandle | None) -> ProxiedQueue:
        """A queue of another manager, which is asked for it with the first read."""
        computer = _computer(name)
        assert computer is not None, "see `serves`"
        backend = self._backends[host_key(computer)]
        parsed = parse_name(name)
        direct = parsed.to_direct() if isinstance(parsed, PathName) else parsed
        return ProxiedQueue(self, backend, str(direct), mode, sender)

    # Transactions

    def has_part(self, transaction: ManagedTransaction) -> bool:
        """Whether messages of another manager were received in a transaction."""
        return transaction in self._parts

    async def enlist(self, backend: RpcBackend, transaction: ManagedTransaction) -> RpcWork:
        """Have a manager take part in a transaction, in which nothing else may take part.

        To commit at two managers atomically takes a coordinator of both.
        """
        async with self._enlisting:
            part = self._parts.get(transaction)
            if part is None:
                _require_alone(transaction)
                work = await backend.begin("", stage=False)
                part = self._parts[transaction] = _Part(backend, work)
        if part.backend is not backend:
            raise TransactionSequence("a transaction receives from one other manager only")
        return part.work

    def commit(self, transaction: ManagedTransaction) -> Future[None]:
        """Commit a transaction at the manager whose messages were received in it."""

        async def commit() -> None:
            _require_alone(transaction)
            part = self._parts[transaction]
            await part.backend.commit(part.work)
            self._parts.pop(transaction, None)

        return self.run(commit)

    def abort(self, transaction: ManagedTransaction) -> Future[None]:
        """Abort it; a manager that cannot be reached has done so."""

        part = self._parts.pop(transaction)

        async def abort() -> None:
            try:
                await part.backend.abort(part.work)
            except MQError:
                return

        return self.run(abort)

    # Tasks

    def run(
        self, work: Callable[[], Coroutine[Any, Any, T]], undo: Callable[[], None] = lambda: None
    ) -> Future[T]:
        """Make calls; `undo` is called if they are cancelled."""
        pending: Future[T] = Future()

        async def run() -> None:
            try:
                result = await work()
            except asyncio.CancelledError:
                undo()
                raise
            except Exception as error:
                if not pending.done:
                    pending.fail(_error_of(error))
            else:
                if pending.done:
                    undo()
                else:
                    pending.succeed(result)
            finally:
                self._tasks.pop(pending, None)

        if self._is_closed:
            pending.fail(InvalidHandle("the connection is over"))
        else:
            self._tasks[pending] = asyncio.ensure_future(run())
        return pending

    def cancel(self, pending: Future[Any], error: BaseException) -> bool:
        """Give up calls that were made; False if they are answered."""
        task = self._tasks.get(pending)
        if task is None or pending.done:
            return False
        task.cancel()
        pending.fail(error)
        return True

    def close(self) -> None:
        """The program is gone: connections are closed, so that managers return what it held."""
        self._is_closed = True
        for task in list(self._tasks.values()):
            task.cancel()
        backends = list(self._backends.values())
        self._backends.clear()
        self._parts.clear()
        self._reads.in_use -= len(backends)
        self._closing = [asyncio.ensure_future(backend.close()) for backend in backends]


def _computer(name: str) -> str | None:
    """The computer of a queue that can be read remotely."""
    parsed = parse_name(name)
    if isinstance(parsed, PathName):
        return parsed.computer
    if isinstance(parsed, DirectName) and parsed.protocol in (Protocol.OS, Protocol.TCP):
        return parsed.address
    return None


def _require_alone(transaction: ManagedTransaction) -> None:
    if not transaction.is_empty:
        raise TransactionSequence(
            "a transaction has messages of one manager only: receive from the other manager in one"
            " transaction, and work with queues of this one in another"
        )


def _error_of(error: Exception) -> MQError:
    """What a program learns of a failure; its own connection to this manager is good."""
    if isinstance(error, ServiceNotAvailable):
        return RemoteMachineNotAvailable(error.detail)
    if isinstance(error, Malformed) or not isinstance(error, MQError):
        return RemoteMachineNotAvailable(f"it sent what cannot be understood: {error}")
    return error
