"""RPC over real sockets of this computer: impacket, another implementation, is the client."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from functools import wraps
from ipaddress import IPv4Address
from typing import Any, TypeVar

import pytest
from tests.strategies.remote_reader import ORDERS, open_arguments
from tests.unit.engine.world import HandClock

from openmsmq.engine.manager import QueueManager
from openmsmq.interfaces.deadlines import Deadlines
from openmsmq.interfaces.endpoint_mapper.mapper import EndpointMapper, Registration
from openmsmq.interfaces.levels import LevelPolicy
from openmsmq.interfaces.listener import RpcListener
from openmsmq.interfaces.remote_read import stubs
from openmsmq.interfaces.remote_read.sections import joined
from openmsmq.interfaces.remote_read.server import RemoteReadServer
from openmsmq.interfaces.remote_read.stubs import REMOTE_READ, ReadOpnum
from openmsmq.rpc.auth.context import AuthLevel, AuthType
from openmsmq.rpc.auth.ntlm import NtlmAcceptor, NtlmTarget
from openmsmq.rpc.server import RpcServer
from openmsmq.runtime.drivers import LoopDriver
from openmsmq.security.nt_hash import nt_hash
from openmsmq.store.memory import MemoryStore
from openmsmq.types.access import Mode
from openmsmq.types.caller import Caller
from openmsmq.types.message import Message

transport = pytest.importorskip("impacket.dcerpc.v5.transport")
epm = pytest.importorskip("impacket.dcerpc.v5.epm")
impacket_uuid = pytest.importorskip("impacket.uuid")
rpcrt = pytest.importorskip("impacket.dcerpc.v5.rpcrt")

T = TypeVar("T")
INTERFACE = impacket_uuid.uuidtup_to_bin((str(REMOTE_READ.uuid), "1.0"))
LEVELS = [AuthLevel.NONE, AuthLevel.CONNECT, AuthLevel.INTEGRITY, AuthLevel.PRIVACY]


def in_loop(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Run a test in an event loop of its own."""

    @wraps(test)
    def run(**given: Any) -> None:
        asyncio.run(test(**given))

    return run


@dataclass
class Service:
    """A manager whose queues are read over a socket."""

    manager: QueueManager
    driver: LoopDriver
    listener: RpcListener
    rpc: RpcServer
    port: int

    async def send(self, *bodies: bytes) -> None:
        """Messages for the queue."""
        handle = self.driver.call(lambda: self.manager.open_queue("orders", Mode()))
        messages = [Message(body) for body in bodies]
        done = asyncio.Event()
        self.driver.begin(lambda: handle.send(messages), lambda _: done.set())
        await done.wait()
        self.driver.call(handle.close)


@asynccontextmanager
async def service(level: int, **bounds: int) -> AsyncIterator[Service]:
    """A service that knows alice and asks for a level."""
    manager = QueueManager(MemoryStore(), HandClock(), name="HOST")
    driver = LoopDriver(manager, manager.clock)

    def find_account(domain: str, user: str) -> bytes | None:
        return nt_hash("secret") if user.lower() == "alice" else None

    def make_context(auth_type: int) -> NtlmAcceptor | None:
        target = NtlmTarget("HOST", "WORKGROUP")
        known = auth_type == AuthType.NTLM
        return NtlmAcceptor(find_account, target, os.urandom(8), 0) if known else None

    reading = RemoteReadServer(
        manager,
        driver,
        port=2103,
        now=asyncio.get_running_loop().time,
        random_bytes=os.urandom,
        caller_of=lambda client: Caller(client.principal or client.address),
        policy=LevelPolicy(allow_unauthenticated=True),
    )
    place = Registration(REMOTE_READ, "RemoteRead", IPv4Address("127.0.0.1"), 2103)
    interfaces = [reading.interface, EndpointMapper([place]).interface]
    rpc = RpcServer(interfaces, os.urandom, make_context, lambda _: level)
    listener = RpcListener(rpc, **bounds)
    deadlines = Deadlines(reading.reads)
    reading.reads.on_deadline = deadlines.changed
    _, port = await listener.start(0)
    created = asyncio.Event()
    driver.begin(lambda: manager.create_queue("orders"), lambda _: created.set())
    await created.wait()
    try:
        yield Service(manager, driver, listener, rpc, port)
    finally:
        await listener.stop()
        deadlines.stop()
        await driver.close()


def connect(port: int, level: int = AuthLevel.NONE, password: str = "secret") -> Any:
    """An impacket client that is bound to RemoteRead."""
    way = transport.DCERPCTransportFactory(f"ncacn_ip_tcp:127.0.0.1[{port}]")
    if level > AuthLevel.NONE:
        way.set_credentials("alice", password, "WORKGROUP")
    client = way.get_dce_rpc()
    if level > AuthLevel.NONE:
        client.set_auth_type(rpcrt.RPC_C_AUTHN_WINNT)
        client.set_auth_level(level)
    client.connect()
    try:
        client.bind(INTERFACE)
    except Exception:
        client.disconnect()
        raise
    return client


def call(client: Any, opnum: int, arguments: Any) -> bytes:
    """Make a call; the stub of its answer."""
    client.call(opnum, arguments.encode())
    answer: bytes = client.recv()
    return answer


async def in_thread(work: Callable[[], T]) -> T:
    """impacket blocks."""
    return await asyncio.to_thread(work)


async def until(is_so: Callable[[], bool]) -> None:
    """Wait for something that happens soon."""
    async with asyncio.timeout(30):
        while not is_so():  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def gone(writer: asyncio.StreamWriter) -> None:
    """The connection is closed on this side, too."""
    with suppress(ConnectionError):
        await writer.wait_closed()


@pytest.mark.parametrize("level", LEVELS)
@in_loop
async def test_impacket_receives_a_message_at_every_level(level: int) -> None:
    """MQRR-001, MQRR-003, MQRR-004, MQRR-006, MQRR-032, MQRR-421"""
    body = bytes(range(256)) * 400

    def receive() -> bytes:
        client = connect(running.port, level)
        arguments = open_arguments(ORDERS, 1)
        opened = stubs.QueueContextArgument.decode(call(client, ReadOpnum.OPEN_QUEUE, arguments))
        limits = (stubs.INFINITE_MS, stubs.INFINITE_MS)
        start = stubs.StartReceive(opened.context, 0, 0, 0, 5000, 1, *limits)
        results = stubs.ReceiveResults.decode(call(client, ReadOpnum.START_RECEIVE, start))
        end = stubs.EndReceive(opened.context, stubs.ACK, 1)
        assert call(client, ReadOpnum.END_RECEIVE, end) == bytes(4)
        closing = call(client, ReadOpnum.CLOSE_QUEUE, stubs.QueueContextArgument(opened.context))
        assert closing == bytes(24)
        client.disconnect()
        return joined(results.sections or ()).message.properties.body

    async with service(level) as running:
        await running.send(body)
        assert await in_thread(receive) == body


@pytest.mark.parametrize(
    ("level", "password"), [(AuthLevel.PRIVACY, "wrong"), (AuthLevel.CONNECT, "secret")]
)
@in_loop
async def test_impacket_is_refused_with_a_wrong_password_or_level(
    level: int, password: str
) -> None:
    """MQRR-036, MQRR-419"""

    def receive() -> None:
        client = connect(running.port, level, password)
        try:
            call(client, ReadOpnum.OPEN_QUEUE, open_arguments(ORDERS, 1))
        finally:
            client.disconnect()

    async with service(AuthLevel.PRIVACY) as running:
        with pytest.raises(rpcrt.DCERPCException, match="access_denied"):
            await in_thread(receive)
        assert sum(running.rpc.refusals.values()) == 1


@in_loop
async def test_impacket_waits_for_a_message_and_for_the_end_of_a_wait() -> None:
    """MQRR-174, MQRR-177"""

    def receive(timeout_ms: int) -> int:
        client = connect(running.port)
        arguments = open_arguments(ORDERS, 1)
        opened = stubs.QueueContextArgument.decode(call(client, ReadOpnum.OPEN_QUEUE, arguments))
        start = stubs.StartReceive(opened.context, 0, 0, 0, timeout_ms, 1, 0, 0)
        results = stubs.ReceiveResults.decode(call(client, ReadOpnum.START_RECEIVE, start))
        client.disconnect()
        return results.result

    async with service(AuthLevel.NONE) as running:
        assert await in_thread(lambda: receive(50)) == 0xC00E001B
        waiting = asyncio.create_task(in_thread(lambda: receive(60_000)))
        await until(lambda: running.listener.connections > 0)
        await running.send(b"late")
        assert await waiting == 0


@in_loop
async def test_impacket_finds_the_port_by_the_endpoint_mapper() -> None:
    """MQRR-005, MQRR-438, MQRR-439"""

    def ask(work: Callable[[Any], Any]) -> Any:
        way = transport.DCERPCTransportFactory(f"ncacn_ip_tcp:127.0.0.1[{running.port}]")
        client = way.get_dce_rpc()
        client.connect()
        try:
            return work(client)
        finally:
            client.disconnect()

    def find() -> tuple[Any, int]:
        tcp = "ncacn_ip_tcp"
        binding = ask(lambda dce: epm.hept_map("127.0.0.1", INTERFACE, protocol=tcp, dce=dce))
        return binding, len(ask(lambda dce: epm.hept_lookup("127.0.0.1", dce=dce)))

    async with service(AuthLevel.PRIVACY) as running:
        assert await in_thread(find) == ("ncacn_ip_tcp:127.0.0.1[2103]", 1)


@in_loop
async def test_a_message_is_back_when_its_reader_disconnects() -> None:
    """MQRR-286, MQRR-288"""

    def start() -> tuple[Any, stubs.ReceiveResults]:
        client = connect(running.port)
        arguments = open_arguments(ORDERS, 1)
        opened = stubs.QueueContextArgument.decode(call(client, ReadOpnum.OPEN_QUEUE, arguments))
        start = stubs.StartReceive(opened.context, 0, 0, 0, 0, 1, 0, 0)
        return client, stubs.ReceiveResults.decode(call(client, ReadOpnum.START_RECEIVE, start))

    async with service(AuthLevel.NONE) as running:
        await running.send(b"only")
        client, results = await in_thread(start)
        assert results.result == 0
        await in_thread(client.disconnect)
        await until(lambda: not running.listener.connections)
        client, results = await in_thread(start)
        await in_thread(client.disconnect)
        assert results.result == 0


@in_loop
async def test_connections_that_bind_nothing_give_way() -> None:
    async with service(AuthLevel.NONE, connections_max=2) as running:
        silent = [await asyncio.open_connection("127.0.0.1", running.port) for _ in range(3)]
        assert await silent[0][0].read() == b""
        assert running.listener.connections == 2
        for _, writer in silent:
            writer.close()
            await gone(writer)


@in_loop
async def test_unfinished_requests_of_all_clients_are_bounded_together() -> None:
    """100 clients that each send half a PDU cost no more than the bound."""
    async with service(AuthLevel.NONE, pending_bytes_max=1000) as running:
        half = b"\x05\0\x0b\x03\x10\0\0\0\xff\xff\0\0\x01\0\0\0" + bytes(84)
        pairs = [await asyncio.open_connection("127.0.0.1", running.port) for _ in range(20)]
        for _, writer in pairs:
            writer.write(half)
        await until(lambda: running.listener.connections <= 10)
        assert running.rpc.refusals["too much unfinished"] >= 10
        for _, writer in pairs:
            writer.close()
            await gone(writer)


@in_loop
async def test_garbage_is_counted_and_closed() -> None:
    async with service(AuthLevel.NONE) as running:
        reader, writer = await asyncio.open_connection("127.0.0.1", running.port)
        writer.write(b"GET / HTTP/1.1\r\nHost: mq\r\n\r\n")
        assert await reader.read() == b""
        assert running.rpc.refusals["malformed PDU"] == 1
        writer.close()
        await gone(writer)
