"""Remote calls in a service, over real sockets: who may log on, and what follows."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any

import pytest
from tests.strategies.remote_reader import ORDERS, open_arguments
from tests.unit.interfaces.test_listener import call, connect, epm, in_thread, rpcrt, transport

from openmsmq.access.users import Users
from openmsmq.clock import SystemClock
from openmsmq.engine.manager import QueueManager
from openmsmq.interfaces.levels import LevelPolicy
from openmsmq.interfaces.remote_read import stubs
from openmsmq.interfaces.remote_read.server import RECEIVE_ACCESS
from openmsmq.interfaces.remote_read.stubs import ReadOpnum
from openmsmq.interfaces.service import MAPPER, OFFERED, RpcService, RpcSettings
from openmsmq.rpc.auth.context import AuthLevel
from openmsmq.runtime.drivers import LoopDriver
from openmsmq.store.memory import MemoryStore

STRICT = LevelPolicy()


class Refusals:
    """Counts what was refused."""

    def __init__(self) -> None:
        self.reasons: Counter[str] = Counter()
        self.logins = 0

    def refused(self, reason: str) -> None:
        self.reasons[reason] += 1

    def login_refused(self) -> None:
        self.logins += 1


@dataclass
class Running:
    """A service, where its listeners are, and its users."""

    service: RpcService
    ports: dict[str, int]
    users: Users
    refusals: Refusals


@asynccontextmanager
async def running(
    directory: Path, policy: LevelPolicy = STRICT, **ports: int | None
) -> AsyncIterator[Running]:
    manager = QueueManager(MemoryStore(), SystemClock(), name="HOST")
    driver = LoopDriver(manager, manager.clock)
    created = asyncio.Event()
    driver.begin(lambda: manager.create_queue("orders"), lambda _: created.set())
    await created.wait()
    refusals = Refusals()
    settings = RpcSettings("127.0.0.1", policy=policy, **{"port": 0, **ports})  # type: ignore[arg-type]
    service = RpcService(manager, driver, Users(directory), SystemClock(), settings, refusals)
    listeners = service.listeners()
    found = {name: (await one.start())[1] for name, one in listeners.items()}
    try:
        yield Running(service, found, Users(directory), refusals)
    finally:
        for one in listeners.values():
            await one.stop("test")
        await driver.close()


def in_loop(
    test: Callable[[Path], Coroutine[Any, Any, None]],
) -> Callable[[Path], None]:
    """Run a test in an event loop of its own."""

    @wraps(test)
    def run(tmp_path: Path) -> None:
        asyncio.run(asyncio.wait_for(test(tmp_path), 30))

    return run


def open_queue(client: Any) -> bytes:
    return call(client, ReadOpnum.OPEN_QUEUE, open_arguments(ORDERS, RECEIVE_ACCESS))


@in_loop
async def test_a_user_opens_the_queues_of_its_patterns_and_no_others(tmp_path: Path) -> None:
    async with running(tmp_path) as house:
        house.users.add("alice", "secret", "read", ("orders",))

        def read() -> None:
            client = connect(house.ports["rpc"], AuthLevel.PRIVACY)
            assert len(open_queue(client)) == 20
            other = open_arguments("DIRECT=OS:HOST\\private$\\invoices", RECEIVE_ACCESS)
            with pytest.raises(rpcrt.DCERPCException, match="c00e0025"):
                call(client, ReadOpnum.OPEN_QUEUE, other)
            client.disconnect()

        await in_thread(read)


@in_loop
async def test_a_user_without_the_role_to_read_opens_nothing(tmp_path: Path) -> None:
    async with running(tmp_path) as house:
        house.users.add("alice", "secret", "send")

        def read() -> None:
            client = connect(house.ports["rpc"], AuthLevel.CONNECT)
            with pytest.raises(rpcrt.DCERPCException, match="c00e0025"):
                open_queue(client)
            client.disconnect()

        await in_thread(read)


@in_loop
async def test_a_wrong_password_is_refused_counted_and_logged(tmp_path: Path) -> None:
    async with running(tmp_path) as house:
        house.users.add("alice", "other", "read")

        def read() -> None:
            client = connect(house.ports["rpc"], AuthLevel.PRIVACY)
            with pytest.raises(rpcrt.DCERPCException, match="rpc_s_access_denied"):
                open_queue(client)
            client.disconnect()

        await in_thread(read)
        assert house.refusals.logins == 1
        assert house.refusals.reasons["rpc: authentication"] == 1


@in_loop
async def test_without_a_login_no_queue_is_opened(tmp_path: Path) -> None:
    async with running(tmp_path) as house:
        house.users.add("anonymous", "", "read")

        def read() -> None:
            client = connect(house.ports["rpc"])
            with pytest.raises(rpcrt.DCERPCException, match="rpc_s_access_denied"):
                open_queue(client)
            client.disconnect()

        await in_thread(read)
        assert house.refusals.reasons["rpc: authentication level"] == 1


@in_loop
async def test_callers_without_a_login_have_the_role_of_the_anonymous_user(tmp_path: Path) -> None:
    async with running(tmp_path, LevelPolicy(allow_unauthenticated=True)) as house:

        def read(expected: str) -> None:
            client = connect(house.ports["rpc"])
            if expected:
                with pytest.raises(rpcrt.DCERPCException, match=expected):
                    open_queue(client)
            else:
                assert len(open_queue(client)) == 20
            client.disconnect()

        await in_thread(lambda: read("c00e0025"))
        house.users.add("anonymous", "", "read")
        await asyncio.sleep(1.2)  # the file is looked at every second
        await in_thread(lambda: read(""))


@in_loop
async def test_a_user_that_is_removed_loses_its_connections(tmp_path: Path) -> None:
    async with running(tmp_path) as house:
        house.users.add("alice", "secret", "read")
        await asyncio.sleep(1.2)
        client = await in_thread(lambda: connect(house.ports["rpc"], AuthLevel.CONNECT))
        await in_thread(lambda: open_queue(client))
        house.users.remove("alice")
        await asyncio.sleep(1.2)
        assert house.refusals.reasons["rpc: user removed or changed"] == 1
        client.disconnect()


@in_loop
async def test_the_endpoint_mapper_and_r_getserverport_name_the_ports_in_use(
    tmp_path: Path,
) -> None:
    """MQMR-002, MQMR-013: for every interface."""
    async with running(tmp_path, alternate_port=0, mapper_port=0) as house:
        rpc, alternate = house.ports["rpc"], house.ports["rpc_alternate"]

        def ask() -> None:
            client = connect(rpc)
            answer = call(client, ReadOpnum.GET_SERVER_PORT, stubs.NoArguments())
            assert stubs.Status32.decode(answer).result == alternate
            client.disconnect()
            way = transport.DCERPCTransportFactory(f"ncacn_ip_tcp:127.0.0.1[{house.ports[MAPPER]}]")
            mapper = way.get_dce_rpc()
            mapper.connect()
            entries = epm.hept_lookup(None, dce=mapper)
            found = [epm.PrintStringBinding(entry["tower"]["Floors"]) for entry in entries]
            places = [f"ncacn_ip_tcp:127.0.0.1[{port}]" for port in (rpc, alternate)]
            assert found == [place for place in places for _ in OFFERED]
            mapper.disconnect()

        await in_thread(ask)
