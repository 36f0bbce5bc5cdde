"""A manager that takes remote calls, in a thread of its own, for clients under test."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from tests.unit.interfaces.test_service import Refusals

from openmsmq.access.users import Users
from openmsmq.clock import SystemClock
from openmsmq.engine.commit.future import Future
from openmsmq.engine.manager import QueueManager
from openmsmq.interfaces.levels import LevelPolicy
from openmsmq.interfaces.remote_read.server import DEFAULT_POLICY
from openmsmq.interfaces.remote_read.stubs import REMOTE_READ
from openmsmq.interfaces.service import ALTERNATE, MAPPER, READ, RpcService, RpcSettings
from openmsmq.runtime.drivers import LoopDriver
from openmsmq.service.read_proxy import ManagersElsewhere
from openmsmq.service.supported_queues import SupportedQueues
from openmsmq.service.values import RemoteManagerEntry
from openmsmq.store.memory import MemoryStore
from openmsmq.types.access import Mode
from openmsmq.types.message import Message

T = TypeVar("T")
LOGIN: dict[str, Any] = {"user": "alice", "password": "secret", "computer": "HOST"}


class RemoteManager:
    """Queues, users and the port; everything here may be called from any thread."""

    def __init__(
        self,
        directory: Path,
        *,
        is_mapped: bool = False,
        is_old: bool = False,
        role: str = "read",
        supporting_clients: int = 0,
        managers: Mapping[str, RemoteManagerEntry] | None = None,
        policy: LevelPolicy = DEFAULT_POLICY,
    ) -> None:
        """`is_mapped`: it has two ports, and an endpoint mapper that names the first.

        `is_old`: it has older remote read only. `supporting_clients` can do without a manager, and
        it reads the queues of `managers` for them.
        """
        self.managers = ManagersElsewhere(managers or {}, directory)
        self._is_old = is_old
        self._supporting_clients = supporting_clients
        self._policy = policy
        self.users = Users(directory)
        self.users.add("alice", "secret", role)
        self.loop = asyncio.new_event_loop()
        self.manager = QueueManager(MemoryStore(), SystemClock(), name="HOST")
        self.port = 0
        self.alternate_port = self.mapper_port = 0 if is_mapped else None
        self._started = threading.Event()
        self._stop = asyncio.Event()
        self._thread = threading.Thread(target=self.loop.run_until_complete, args=(self._run(),))
        self._thread.start()
        assert self._started.wait(10)
        self.create("orders")
        self.create("billing", transactional=True)

    async def _run(self) -> None:
        self.driver = LoopDriver(self.manager, self.manager.clock)
        settings = RpcSettings(
            "127.0.0.1",
            self.port,
            self.alternate_port,
            self.mapper_port,
            policy=self._policy,
            supporting_clients_max=self._supporting_clients,
        )
        self.service = RpcService(
            self.manager,
            self.driver,
            self.users,
            SystemClock(),
            settings,
            Refusals(),
            SupportedQueues(self.managers, self.manager.identity),
        )
        listeners = self.service.listeners()
        ports = {name: (await one.start())[1] for name, one in listeners.items()}
        if self._is_old:
            del self.service.server.interfaces[REMOTE_READ.uuid]
            known = self.service._mapper.registrations
            known[:] = [one for one in known if one.interface != REMOTE_READ]
        self.port = ports[READ]
        self.alternate_port, self.mapper_port = ports.get(ALTERNATE), ports.get(MAPPER)
        self._started.set()
        await self._stop.wait()
        for listener in listeners.values():
            await listener.stop("test")
        await self.driver.close()

    def stop(self) -> None:
        """Close all connections and stop."""
        self.loop.call_soon_threadsafe(self._stop.set)
        self._thread.join(10)
        self.loop.close()

    def do(self, make: Callable[[], Future[T]]) -> T:
        """Have the manager do something."""

        async def run() -> T:
            done = asyncio.get_running_loop().create_future()
            self.driver.begin(make, done.set_result)
            pending: Future[T] = await done
            return pending.result()

        return asyncio.run_coroutine_threadsafe(run(), self.loop).result(10)

    def create(self, name: str, *, transactional: bool = False) -> None:
        """A new queue."""
        self.do(lambda: self.manager.create_queue(name, transactional=transactional))

    def send(self, *bodies: str, queue: str = "orders", priority: int = 3) -> None:
        """Messages for a queue."""

        def begin() -> Future[Any]:
            handle = self.manager.open_queue(queue, Mode())
            messages = [Message(body.encode(), priority=priority) for body in bodies]
            if not handle.queue.properties.transactional:
                return handle.send(messages)
            transaction = self.manager.begin()
            handle.send([Message(body.encode()) for body in bodies], transaction)
            return self.manager.commit(transaction)

        self.do(begin)

    def count(self, queue: str = "orders") -> int:
        """How many messages a queue has."""

        async def run() -> int:
            found = self.manager.find_queue(queue)
            return found.messages + len(found.express)

        return asyncio.run_coroutine_threadsafe(run(), self.loop).result(10)

    def waiting(self, queue: str = "orders") -> int:
        """How many reads wait for a message."""

        async def run() -> int:
            return len(self.manager.find_queue(queue).waiters)

        return asyncio.run_coroutine_threadsafe(run(), self.loop).result(10)

    def connections(self) -> list[int]:
        """How many there are at each port, in the order of the listeners."""
        return [listener.connections for listener in self.service.connected]

    def cut(self) -> None:
        """Cut every connection."""

        async def run() -> None:
            for listener in self.service.connected:
                listener.close_users({"ALICE", "alice"})

        asyncio.run_coroutine_threadsafe(run(), self.loop).result(10)


@contextmanager
def remote_manager(
    directory: Path, *, is_mapped: bool = False, is_old: bool = False
) -> Iterator[RemoteManager]:
    """A manager that takes remote calls of alice."""
    made = RemoteManager(directory, is_mapped=is_mapped, is_old=is_old)
    try:
        yield made
    finally:
        made.stop()


def wait_until(is_true: Callable[[], bool]) -> None:
    """Wait for something that happens in another thread."""
    limit = time.monotonic() + 10
    while not is_true():
        assert time.monotonic() < limit
        time.sleep(0.005)
