"""Connections are accepted, and never more than there is room for."""

from __future__ import annotations

import asyncio
import errno
import gc
import socket
import ssl
from asyncio.sslproto import SSLProtocol
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from tests.certificates import make_certificates

from openmsmq.runtime import listener as module
from openmsmq.runtime.listener import FAILED, UNFINISHED, Listener, bind

PATIENCE = 30.0


class Echo(asyncio.Protocol):
    """Says what it hears."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._transport.write(data)


class Home:
    """Whom connections are for."""

    def __init__(self, *, room: bool = True) -> None:
        self.room = room
        self.reasons: Counter[str] = Counter()
        self.errors: list[OSError] = []

    def has_room(self) -> bool:
        return self.room

    def refused(self, reason: str) -> None:
        self.reasons[reason] += 1

    def exhausted(self, error: OSError) -> None:
        self.errors.append(error)


def run(test: Callable[[], Awaitable[None]]) -> None:
    async def limited() -> None:
        async with asyncio.timeout(3 * PATIENCE):
            await test()

    asyncio.run(limited())


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(PATIENCE):
        while not condition():  # noqa: ASYNC110 # no one else tells
            await asyncio.sleep(0.005)


@asynccontextmanager
async def listening(
    home: Home, tls: ssl.SSLContext | None = None, host: str = "127.0.0.1"
) -> AsyncIterator[tuple[Listener, int]]:
    """A listener, and its port."""
    made = Listener(Echo, home, tls=tls)
    where = made.start(await bind(host, 0))
    assert where[0] == host
    try:
        yield made, where[1]
    finally:
        await made.close()


async def echoes(port: int, tls: ssl.SSLContext | None = None, host: str = "127.0.0.1") -> bool:
    """Whether someone answers there."""
    reader, writer = await asyncio.open_connection(host, port, ssl=tls)
    writer.write(b"there?")
    answer = await reader.read(6)
    writer.close()
    return answer == b"there?"


async def is_cut(reader: asyncio.StreamReader) -> bool:
    """Whether the other side ends a connection without a word."""
    try:
        return await asyncio.wait_for(reader.read(), PATIENCE) == b""
    except ConnectionError:
        return True


@pytest.fixture(scope="module")
def contexts(tmp_path_factory: pytest.TempPathFactory) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    """For the listener and for those who come."""
    folder = tmp_path_factory.mktemp("certificates")
    make_certificates(folder)
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(folder / "server.pem", folder / "server.key")
    return server, ssl.create_default_context(cafile=folder / "ca.pem")


@pytest.mark.parametrize("host", ["127.0.0.1", "::1"])
def test_who_comes_is_let_in(host: str) -> None:
    async def test() -> None:
        async with listening(Home(), host=host) as (made, port):
            for _ in range(3):
                assert await echoes(port, host=host)
            assert made.arriving == 0

    run(test)


def test_a_name_may_have_several_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    async def test() -> None:
        loop = asyncio.get_running_loop()
        places = [
            (socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, 0))
            for address in ("127.0.0.1", "127.0.0.2", "127.0.0.1")
        ]

        async def resolved(*_: object, **__: object) -> object:
            return places

        monkeypatch.setattr(loop, "getaddrinfo", resolved)
        bound = await bind("shop01", 0)
        assert [one.getsockname()[0] for one in bound] == ["127.0.0.1", "127.0.0.2"]
        for one in bound:
            one.close()

    run(test)


def test_a_socket_of_this_computer_will_do(tmp_path: Path) -> None:
    async def test() -> None:
        bound = socket.socket(socket.AF_UNIX)
        bound.bind(str(tmp_path / "s"))
        made = Listener(Echo, Home())
        made.start([bound])
        reader, writer = await asyncio.open_unix_connection(tmp_path / "s")
        writer.write(b"there?")
        assert await reader.read(6) == b"there?"
        writer.close()
        await made.close()

    run(test)


def test_an_address_that_is_taken_is_an_error() -> None:
    async def test() -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            with pytest.raises(OSError, match="in use") as caught:
                await bind("127.0.0.1", taken.getsockname()[1])
            assert caught.value.errno == errno.EADDRINUSE

    run(test)


def test_without_room_a_connection_is_closed_at_once() -> None:
    async def test() -> None:
        home = Home(room=False)
        async with listening(home) as (made, port):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            assert await is_cut(reader)
            writer.close()
            home.room = True
            assert await echoes(port)
            assert not made.displace(), "without TLS no handshake can hang"

    run(test)


def test_silent_handshakes_give_way_to_others(
    contexts: tuple[ssl.SSLContext, ssl.SSLContext], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "HANDSHAKES_MAX", 3)

    async def test() -> None:
        home = Home()
        async with listening(home, contexts[0]) as (made, port):
            silent = [await asyncio.open_connection("127.0.0.1", port) for _ in range(10)]
            await until(lambda: home.reasons[UNFINISHED] == 7)
            assert made.arriving == 3
            assert [await is_cut(reader) for reader, _ in silent[:7]] == [True] * 7
            assert await echoes(port, contexts[1], host="localhost")
            assert home.reasons == {UNFINISHED: 8}
            for _, writer in silent:
                writer.close()

    run(test)


def test_a_handshake_does_not_take_for_ever(
    contexts: tuple[ssl.SSLContext, ssl.SSLContext], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "HANDSHAKE_WITHIN_S", 0.05)

    async def test() -> None:
        home = Home()
        async with listening(home, contexts[0]) as (made, port):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            assert await is_cut(reader)
            writer.close()
            await until(lambda: not made.arriving)
            assert home.reasons == {UNFINISHED: 1}

    run(test)


def test_what_is_no_tls_is_counted(contexts: tuple[ssl.SSLContext, ssl.SSLContext]) -> None:
    async def test() -> None:
        home = Home()
        async with listening(home, contexts[0]) as (_, port):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"GET / HTTP/1.0\r\n\r\n")
            await asyncio.wait_for(reader.read(), PATIENCE)
            writer.close()
            await until(lambda: home.reasons == {FAILED: 1})

    run(test)


def test_a_failed_handshake_leaves_nothing_for_the_garbage_collector(
    contexts: tuple[ssl.SSLContext, ssl.SSLContext],
) -> None:
    """TLS has buffers of a quarter of a megabyte, and the collector comes seldom."""

    async def test() -> None:
        home = Home()
        async with listening(home, contexts[0]) as (_, port):
            for _ in range(5):
                reader, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.write(bytes(64))
                await asyncio.wait_for(reader.read(), PATIENCE)
                writer.close()
            await until(lambda: home.reasons == {FAILED: 5})
            await asyncio.sleep(0)
            left = [one for one in gc.get_objects() if type(one) is SSLProtocol]
            assert left == []

    gc.collect()
    gc.disable()
    try:
        run(test)
    finally:
        gc.enable()


def test_where_the_system_has_none_to_give_it_is_asked_less_often(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "RETRY_DELAY_S", 0.01)

    async def test() -> None:
        home = Home()
        loop = asyncio.get_running_loop()
        real = loop.sock_accept
        faults: list[OSError] = [
            OSError(errno.EMFILE, "Too many open files"),
            ConnectionAbortedError(),
            OSError(errno.ENFILE, "Too many open files in system"),
        ]

        async def accept(bound: socket.socket) -> object:
            if faults:
                raise faults.pop(0)
            return await real(bound)

        monkeypatch.setattr(loop, "sock_accept", accept)
        async with listening(home) as (_, port):
            assert await echoes(port)
        assert [error.errno for error in home.errors] == [errno.EMFILE, errno.ENFILE]

    run(test)


def test_closed_it_lets_no_one_in_and_gives_up_handshakes(
    contexts: tuple[ssl.SSLContext, ssl.SSLContext],
) -> None:
    async def test() -> None:
        async with listening(Home(), contexts[0]) as (made, port):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            await until(lambda: made.arriving)
            await made.close()
            assert made.arriving == 0
            assert await is_cut(reader)
            writer.close()
            with pytest.raises(ConnectionRefusedError):
                await asyncio.open_connection("127.0.0.1", port)

    run(test)
