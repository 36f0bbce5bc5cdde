"""The listener for other managers: sockets on which the binary protocol is spoken."""

from __future__ import annotations

import asyncio
import gc
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Self
from weakref import ref

import pytest
from tests.unit.engine import handles
from tests.unit.service.stores import PATIENCE
from tests.unit.transports.mqqb.joined import PEER, establish, parameters

from openmsmq.capture import recorder as recorder_module
from openmsmq.capture.capture import read_frames
from openmsmq.capture.packets import captured_packets
from openmsmq.clock import SystemClock
from openmsmq.engine.manager import QueueManager, received
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.errors import MQError
from openmsmq.limits import PACKET_SIZE_MAX
from openmsmq.net.connection import Connection
from openmsmq.net.wire import Wire
from openmsmq.packet.connection import EstablishConnection
from openmsmq.packet.headers.base import BaseHeader
from openmsmq.packet.packet import decode_packet
from openmsmq.runtime import turns as turns_module
from openmsmq.runtime import unfinished as unfinished_module
from openmsmq.runtime.drivers import LoopDriver
from openmsmq.service.configuration import Config
from openmsmq.service.values import PeerEntry
from openmsmq.store.memory import MemoryStore
from openmsmq.transports.mqqb import listener as module
from openmsmq.transports.mqqb.events import SessionEnd
from openmsmq.transports.mqqb.link import Link
from openmsmq.transports.mqqb.listener import BinaryListener
from openmsmq.transports.receipts import RECEIPTS
from openmsmq.types.access import Mode
from openmsmq.types.message import Message
from openmsmq.types.outgoing import ConnectionStatus

Place = tuple[str, int]


class House:
    """A manager whose listener is open."""

    def __init__(self, folder: Path, name: str, **options: object) -> None:
        config = Config(data=folder, binary_port=0)
        self.config = replace(config, **options)  # type: ignore[arg-type] # as the tests give them
        clock = SystemClock()
        self.local = QueueManager(MemoryStore(), clock, name=name, receipts=RECEIPTS)
        self.driver = LoopDriver(self.local, self.local.clock)
        self.listener = BinaryListener(self.local, self.driver, self.config, clock)
        self.transport = self.listener.transport

    async def create(self, name: str = "q") -> ManagedQueue:
        return await self.driver.wait(lambda: self.local.create_queue(name))

    async def send(self, name: str, *texts: str) -> ManagedQueue:
        """Send messages somewhere."""
        queue = self.driver.call(lambda: self.local.open_queue(name, Mode()).queue)
        messages = [Message(text.encode()) for text in texts]
        await self.driver.wait(lambda: handles.send(self.local, queue, messages, None))
        return queue

    async def receive(self, queue: ManagedQueue, count: int = 1) -> list[str]:
        """Take messages out of a queue, when they have come."""
        found: list[str] = []
        while len(found) < count:
            taken = await self.driver.wait(
                lambda: self.local.receiver.receive(queue, count, self, wait=True), PATIENCE
            )
            found += [message.body.decode() for message in received(taken)]
        return found


@asynccontextmanager
async def at(folder: Path, name: str, **options: object) -> AsyncIterator[tuple[House, Place]]:
    """A manager, and where its listener is."""
    house = House(folder, name, **options)
    place = await house.listener.start()
    try:
        yield house, place
    finally:
        await house.listener.stop("enough")
        await house.driver.close()


async def until(condition: Callable[[], object]) -> None:
    """Wait for something."""
    async with asyncio.timeout(PATIENCE):
        while not condition():  # noqa: ASYNC110 # no one else tells
            await asyncio.sleep(0.005)


def run(test: Callable[[], Awaitable[None]]) -> None:
    async def limited() -> None:
        async with asyncio.timeout(3 * PATIENCE):
            await test()

    asyncio.run(limited())


def status(queue: ManagedQueue) -> list[ConnectionStatus]:
    assert queue.transfer is not None
    return [attempt.status for attempt in queue.transfer.attempts]


class Quiet:
    """A machine that does nothing."""

    is_full = is_open = is_known = False
    next_deadline = None
    pending = singles = 0

    def __init__(self, wire: Wire) -> None:
        self.wire = wire

    def close(self, reason: SessionEnd, detail: str = "") -> None:
        """Nothing."""

    def receive_data(self, data: bytes, now: float) -> None:
        """Nothing."""

    def resume(self, now: float) -> None:
        """Nothing."""

    def tick(self, now: float) -> None:
        """Nothing."""

    def lost(self) -> None:
        """Nothing."""


def test_messages_go_from_one_manager_to_another_over_a_socket(tmp_path: Path) -> None:
    """MQQB-002, MQQB-003: the initiator's own port does not matter."""

    async def test() -> None:
        async with at(tmp_path, "b") as (b, (host, port)):
            queue = await b.create()
            async with at(tmp_path, "a", peers={"b": PeerEntry(f"{host}:{port}")}) as (a, _):
                await a.send(r"DIRECT=OS:b\private$\q", "1", "2")
                assert sorted(await b.receive(queue, 2)) == ["1", "2"]
                (link,) = a.transport.links
                assert link.address == host
                assert link.place == (host, port)

    run(test)


def test_more_than_a_socket_takes_at_once_arrives(tmp_path: Path) -> None:
    """Sending goes on when there is room."""

    async def test() -> None:
        async with at(tmp_path, "b") as (b, (host, port)):
            queue = await b.create()
            async with at(tmp_path, "a", peers={"b": PeerEntry(f"{host}:{port}")}) as (a, _):
                texts = [f"{n} {'x' * 400_000}" for n in range(40)]
                await a.send(r"DIRECT=OS:b\private$\q", *texts)
                assert await b.receive(queue, len(texts)) == texts

    run(test)


def test_sending_goes_on_when_a_slow_reader_has_caught_up(tmp_path: Path) -> None:
    """Though it acknowledges nothing yet."""
    count, size = 30, 400_000

    async def test() -> None:
        read = asyncio.Event()

        async def slow(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            asked = decode_packet(await reader.readexactly(572))
            assert isinstance(asked, EstablishConnection)
            writer.write(establish(asked.header.client_guid, PEER) + parameters(window=64))
            await reader.readexactly(32)
            await until(lambda: any(a.transport.carried_by(link) for link in a.transport.links))
            await asyncio.sleep(0.2)
            await reader.readexactly(count * size)
            read.set()
            writer.close()

        server = await asyncio.start_server(slow, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        async with server, at(tmp_path, "a", peers={"b": PeerEntry(f"127.0.0.1:{port}")}) as (a, _):
            await a.send(r"DIRECT=OS:b\private$\q", *["x" * size] * count)
            await asyncio.wait_for(read.wait(), PATIENCE)

    run(test)


def test_someone_who_connects_is_answered(tmp_path: Path) -> None:
    """MQQB-185, MQQB-187."""

    async def test() -> None:
        async with at(tmp_path, "a") as (a, (host, port)):
            reader, writer = await asyncio.open_connection(host, port)
            writer.write(establish(PEER))
            answer = decode_packet(await reader.readexactly(572))
            assert isinstance(answer, EstablishConnection)
            assert answer.header.server_guid == a.local.identity
            writer.write(parameters())
            assert len(await reader.readexactly(32)) == 32
            await until(lambda: [link.is_open for link in a.transport.links] == [True])
            writer.close()
            await until(lambda: not a.transport.links)
            assert a.transport.ended_by[SessionEnd.LOST] == 1

    run(test)


def test_the_listener_can_be_at_another_address_than_the_others(tmp_path: Path) -> None:
    async def test() -> None:
        async with at(tmp_path, "a", bind="127.0.0.1", binary_bind="127.0.0.2") as (_, place):
            assert place[0] == "127.0.0.2"

    run(test)


def test_no_one_at_the_address_is_a_failure_to_connect(tmp_path: Path) -> None:
    """MQQB-182."""

    async def test() -> None:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))  # and no one listens
            port = taken.getsockname()[1]
            async with at(tmp_path, "a", peers={"b": PeerEntry(f"127.0.0.1:{port}")}) as (a, _):
                queue = await a.send(r"DIRECT=OS:b\private$\q", "1")
                await until(lambda: len(status(queue)) > 2)
                assert status(queue)[1] is ConnectionStatus.SOCKET_CONNECT_FAILURE
                assert "refused" in a.transport.peers["B"].last_error.lower()

    run(test)


@pytest.mark.parametrize(
    "host", ["no-such-host.invalid", "a..b", "x" * 64], ids=["unknown", "empty label", "too long"]
)
def test_a_name_that_no_one_has_is_a_failure_of_dns(tmp_path: Path, host: str) -> None:
    """MQQB-182: also one that cannot be asked for; it is tried again all the same."""

    async def test() -> None:
        async with at(tmp_path, "a") as (a, _):
            queue = await a.send(rf"DIRECT=OS:{host}\private$\q", "1")
            await until(lambda: len(status(queue)) > 2)
            assert status(queue)[1] is ConnectionStatus.DNS_FAILURE
            assert next(iter(a.transport.peers.values())).last_error

    run(test)


def test_a_computer_that_does_not_answer_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """MQQB-182."""
    monkeypatch.setattr(module, "CONNECT_WITHIN", 0.01)

    async def test() -> None:
        async with at(tmp_path, "a") as (a, _):
            loop = asyncio.get_running_loop()

            async def never(*_: object, **__: object) -> None:
                await asyncio.sleep(PATIENCE)

            monkeypatch.setattr(loop, "create_connection", never)
            queue = await a.send(r"DIRECT=OS:b\private$\q", "1")
            await until(lambda: len(status(queue)) >= 2)
            assert status(queue)[1] is ConnectionStatus.SOCKET_CONNECT_FAILURE
            assert "in time" in next(iter(a.transport.peers.values())).last_error

    run(test)


def test_stopping_ends_all_connections_and_attempts(tmp_path: Path) -> None:
    """MQQB-348."""

    async def test() -> None:
        async with at(tmp_path, "a") as (a, (host, port)):
            reader, writer = await asyncio.open_connection(host, port)
            await until(lambda: a.transport.links)
            await a.send(r"DIRECT=TCP:192.0.2.1\private$\q", "1")
            await a.listener.stop("enough")
            assert await reader.read() == b""
            writer.close()
            assert not a.transport.links
            with pytest.raises(OSError, match=r".*"):
                await asyncio.open_connection(host, port)

    run(test)


def test_what_comes_after_the_manager_is_closed_is_left_alone(tmp_path: Path) -> None:
    async def test() -> None:
        house = House(tmp_path, "a")
        host, port = await house.listener.start()
        _, writer = await asyncio.open_connection(host, port)
        await until(lambda: house.transport.links)
        called: list[str] = []
        house.listener.call_later(0, lambda: called.append("late"))
        house.listener.connect(
            "127.0.0.1", 1, lambda wire: Quiet(wire), lambda status, why: called.append(why)
        )
        await house.driver.close()
        writer.write(establish(PEER))
        await asyncio.sleep(0.1)
        writer.close()
        assert called == []
        with pytest.raises(MQError):
            await house.listener.stop("enough")

    run(test)


def test_all_that_is_said_can_be_recorded(tmp_path: Path) -> None:
    async def test() -> None:
        async with at(tmp_path, "b", record=tmp_path / "record") as (b, (host, port)):
            queue = await b.create()
            async with at(tmp_path, "a", peers={"b": PeerEntry(f"{host}:{port}")}) as (a, _):
                await a.send(r"DIRECT=OS:b\private$\q", "recorded text")
                await b.receive(queue)
        found = b"".join(path.read_bytes() for path in (tmp_path / "record").iterdir())
        assert b"recorded text" in found

    run(test)


@pytest.mark.parametrize("seconds", [0.01, 3600.0])
def test_a_record_is_written_though_nothing_more_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds: float
) -> None:
    """After a second, and at the end: a session that goes on does not close its file."""
    monkeypatch.setattr(module, "FLUSH_AFTER", seconds)
    monkeypatch.setattr(recorder_module, "FLUSH_AFTER", 3600.0)
    folder = tmp_path / "record"

    def recorded() -> bytes:
        return b"".join(path.read_bytes() for path in folder.iterdir())

    async def test() -> None:
        async with at(tmp_path, "b", record=folder) as (b, place):
            assert b.listener.recorder is not None
            b.listener.recorder.flush(b.listener.clock.now())
            monkeypatch.setattr(b.listener.transport, "stop", lambda: None)
            monkeypatch.setattr(module, "FAREWELL", 0.0)
            _, writer = await asyncio.open_connection(*place)
            writer.write(establish(PEER))
            await until(lambda: b.transport.links)
            if seconds < 1:
                await until(lambda: establish(PEER) in recorded())
        assert establish(PEER) in recorded()
        writer.close()

    run(test)


def test_a_session_is_seen_recorded_from_its_middle_and_ended(tmp_path: Path) -> None:
    """What is recorded can be decoded, though packets were half-way when it began."""

    async def test() -> None:
        async with at(tmp_path, "b") as (b, (host, port)):
            queue = await b.create()
            async with at(tmp_path, "a", peers={"b": PeerEntry(f"{host}:{port}")}) as (a, _):
                name = r"DIRECT=OS:b\private$\q"
                await a.send(name, "before")
                await b.receive(queue)
                begun = b.listener.control.start_recording(60, "127.0.0.1", "me")
                await a.send(name, "recorded text", "and more")
                await b.receive(queue, 2)
                ((seen,), (other,)) = b.listener.control.sessions(), a.listener.control.sessions()
                assert (seen.incoming, other.incoming) == (True, False)
                assert seen.is_open
                assert seen.received > 0
                assert seen.sent > 0
                assert seen.name == str(a.local.identity)
                shown = b.listener.control.details(int(seen.id[1:]))
                assert shown is not None
                assert (shown.state, shown.session.id) == ("open", seen.id)
                kinds = [(one.kind, one.is_sent) for one in shown.packets]
                assert ("recoverable message", False) in kinds
                assert ("EstablishConnection", True) in kinds
                b.listener.control.stop_recording(begun.id)
                await a.send(name, "after")
                await b.receive(queue)
                assert not b.listener.control.end_session(99)
                assert b.listener.control.end_session(int(seen.id[1:]))
                assert b.listener.control.sessions() == []
                await until(lambda: b.transport.ended_by[SessionEnd.ENDED] == 1)
                await a.send(name, "on another session")
                await b.receive(queue)
        (info,) = b.listener.control.recordings.all()
        chunks = [b.listener.control.recordings.read(info.id, info.files[0].name, 0, 1 << 20)]
        assert b"before" not in chunks[0]
        assert b"after" not in chunks[0]
        found = [one.description.kind for one in captured_packets(read_frames(chunks), port)]
        assert len([kind for kind in found if kind == "UserMessage"]) == 2, found

    run(test)


def test_a_recording_ends_with_its_time(tmp_path: Path) -> None:
    async def test() -> None:
        async with at(tmp_path, "b") as (b, place):
            b.listener.control.start_recording(1, "", "me")
            _, writer = await asyncio.open_connection(*place)
            await until(lambda: b.listener.control.sessions())
            await until(lambda: b.listener.control.recordings.running is None)
            writer.close()
        (info,) = b.listener.control.recordings.all()
        assert info.state == "done"

    run(test)


# Who takes more than there is

PART = BaseHeader(packet_size=PACKET_SIZE_MAX).pack() + bytes(3 << 20)
"Most of a packet of 4 MiB, whose rest never comes."


class Crowd:
    """Connections that stay until the end of a test."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._writers: list[asyncio.StreamWriter] = []

    async def connect(self, data: bytes = b"") -> asyncio.StreamReader:
        """One more, on which something is said; who reads hears of the end."""
        reader, writer = await asyncio.open_connection(*self._place)
        self._writers.append(writer)
        writer.write(data)
        with suppress(ConnectionError):
            await writer.drain()
        return reader

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        for writer in self._writers:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()


def test_unfinished_packets_have_one_budget(tmp_path: Path) -> None:
    """A hundred of them held 405 MB, for as long as they liked."""

    async def test() -> None:
        house = at(tmp_path, "a", pending_bytes_max=16 << 20)
        async with house as (a, place), Crowd(place) as crowd:
            unfinished = a.listener._unfinished
            for _ in range(20):
                await crowd.connect(PART)
            links, ended = a.transport.links, a.transport.ended_by
            await until(lambda: ended[SessionEnd.PENDING] + len(links) == 20)
            await until(lambda: all(link.pending == len(PART) for link in links))
            assert unfinished.total == len(links) * len(PART)
            assert 12 << 20 <= unfinished.total <= 16 << 20
            assert ended == {SessionEnd.PENDING: 20 - len(links)}

    run(test)


def test_strangers_go_before_those_whom_the_manager_knows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def test() -> None:
        house = at(tmp_path, "a", pending_bytes_max=8 << 20)
        async with house as (a, place), Crowd(place) as crowd:
            await crowd.connect(PART)
            await until(lambda: a.listener._unfinished.total == len(PART))
            (known,) = a.transport.links
            monkeypatch.setattr(Link, "is_known", property(lambda link: link is known))
            for n in range(1, 5):
                await crowd.connect(PART)
                await until(lambda: a.listener._unfinished.total == 2 * len(PART))
                if n > 1:
                    await until(lambda: a.transport.ended_by[SessionEnd.PENDING] == n - 1)  # noqa: B023
            assert known in a.transport.links

    run(test)


def test_a_packet_that_comes_too_slowly_ends_the_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "RATES_EVERY", 0.01)
    monkeypatch.setattr(unfinished_module, "RATE_WINDOW", 0.05)

    async def test() -> None:
        async with at(tmp_path, "a") as (a, place), Crowd(place) as crowd:
            reader = await crowd.connect(PART[:10])
            with suppress(ConnectionError):
                assert await reader.read() == b""
            assert a.transport.ended_by[SessionEnd.TOO_SLOW] == 1
            assert a.listener._unfinished.total == 0

    run(test)


def test_silent_connections_do_not_keep_other_managers_out(tmp_path: Path) -> None:
    async def test() -> None:
        async with at(tmp_path, "b", sessions_max=3) as (b, place), Crowd(place) as crowd:
            queue = await b.create()
            for _ in range(10):
                await crowd.connect()
            await until(lambda: b.transport.ended_by[SessionEnd.TOO_MANY] == 7)
            host, port = place
            async with at(tmp_path, "a", peers={"b": PeerEntry(f"{host}:{port}")}) as (a, _):
                await a.send(r"DIRECT=OS:b\private$\q", "1")
                assert await b.receive(queue) == ["1"]

    run(test)


def test_silent_connections_give_way_and_sessions_do_not(tmp_path: Path) -> None:
    async def test() -> None:
        async with at(tmp_path, "b", sessions_max=2) as (b, place), Crowd(place) as crowd:
            queue = await b.create()
            host, port = place
            async with at(tmp_path, "a", peers={"b": PeerEntry(f"{host}:{port}")}) as (a, _):
                await a.send(r"DIRECT=OS:b\private$\q", "1")
                assert await b.receive(queue) == ["1"]
                for _ in range(5):
                    await crowd.connect()
                await until(lambda: b.transport.ended_by[SessionEnd.TOO_MANY] == 4)
                assert [link.is_open for link in a.transport.links] == [True]

    run(test)


def test_beyond_all_limits_a_connection_is_just_closed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first two have sessions; the next are notified that there are too many."""
    monkeypatch.setattr(module, "REFUSALS_MAX", 1)
    monkeypatch.setattr(module.Spoken, "is_silent", False)

    async def test() -> None:
        async with at(tmp_path, "a", sessions_max=2) as (a, place), Crowd(place) as crowd:
            for _ in range(6):
                await crowd.connect()
            await until(lambda: a.transport.ended_by[SessionEnd.TOO_MANY] == 3)
            assert len(a.transport.links) == 3

    run(test)


def test_what_the_system_cannot_give_is_counted_and_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async def test() -> None:
        async with at(tmp_path, "a") as (a, _):
            a.listener.exhausted(OSError(24, "Too many open files"))
            assert a.transport.ended_by[SessionEnd.TOO_MANY] == 1
            assert "cannot accept connections" in caplog.text

    run(test)


def test_nothing_of_a_session_that_is_over_waits_for_the_garbage_collector(tmp_path: Path) -> None:
    """It left 38 objects, and to free those of many sessions at once took 20 ms."""

    async def test() -> None:
        async with at(tmp_path, "a") as (a, place):
            gc.collect()
            gc.disable()
            try:
                reader, writer = await asyncio.open_connection(*place)
                writer.write(establish(PEER) + bytes(32))
                await until(lambda: a.transport.links)
                [link] = [ref(link) for link in a.transport.links]
                [spoken] = [ref(spoken) for spoken in a.listener._accepted]
                await reader.read()
                writer.close()
                await until(lambda: a.transport.ended_by[SessionEnd.BAD_PACKET])
                await until(lambda: spoken() is None and link() is None)
            finally:
                gc.enable()

    run(test)


def test_what_a_stranger_sends_is_handled_in_turns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not more is read from it meanwhile; all of it counts, also after it has hung up."""
    monkeypatch.setattr(module, "PIECE", 50)
    monkeypatch.setattr(module, "PIECES_MAX", 1)
    taken: list[bytes] = []
    ended: list[str] = []
    rounds = 0

    class Listening(Quiet):
        def receive_data(self, data: bytes, now: float) -> None:
            taken.append(data)

        def lost(self) -> None:
            ended.append("lost")

    async def test() -> None:
        nonlocal rounds
        async with at(tmp_path, "a") as (house, place):
            monkeypatch.setattr(turns_module, "SHARE_S", 1e-9)
            monkeypatch.setattr(house.transport, "accept", Listening)
            _, writer = await asyncio.open_connection(*place)
            writer.write(bytes(1000))
            writer.close()
            while not ended:
                rounds += 1
                await asyncio.sleep(0)

    run(test)
    assert b"".join(taken) == bytes(1000)
    assert max(map(len, taken)) == 50
    assert rounds >= 20


def test_a_fault_in_a_turn_ends_that_connection(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What else it has sent is not looked at."""
    monkeypatch.setattr(module, "PIECE", 50)
    monkeypatch.setattr(module, "PIECES_MAX", 1)
    monkeypatch.setattr(turns_module, "SHARE_S", 1e-9)
    taken: list[bytes] = []
    faults: list[object] = []

    class Faulty(Quiet):
        def receive_data(self, data: bytes, now: float) -> None:
            taken.append(data)
            if len(taken) == 3:
                raise RuntimeError("a fault")

    async def test() -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, found: faults.append(found["exception"]))
        async with at(tmp_path, "a") as (house, place):
            monkeypatch.setattr(house.transport, "accept", Faulty)
            reader, writer = await asyncio.open_connection(*place)
            writer.write(bytes(1000))
            with suppress(ConnectionResetError):
                assert await asyncio.wait_for(reader.read(), PATIENCE) == b""
            writer.close()

    run(test)
    assert list(map(len, taken)) == [50] * 3
    assert [str(fault) for fault in faults] == ["a fault"]


def test_connections_that_end_at_one_moment_are_closed_in_turns(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To close one takes the event loop longer than the turns in which that is decided."""
    monkeypatch.setattr(turns_module, "SHARE_S", 100.0)
    monkeypatch.setattr(module, "CLOSE_S", 25.0)
    closed: list[Connection] = []
    most = 0
    monkeypatch.setattr(Connection, "finish", lambda connection: closed.append(connection))

    async def test() -> None:
        nonlocal most
        async with at(tmp_path, "a") as (house, place), Crowd(place) as crowd:
            for _ in range(40):
                await crowd.connect()
            await until(lambda: len(house.listener._accepted) == 40)
            for spoken in list(house.listener._accepted):
                spoken._connection.eof_received()
            while len(closed) < 40:
                before = len(closed)
                await asyncio.sleep(0)
                most = max(most, len(closed) - before)

    run(test)
    assert most == 4


def test_what_costs_little_is_handled_in_larger_pieces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are shorter again as soon as one takes long."""
    monkeypatch.setattr(module, "PIECE", 50)
    monkeypatch.setattr(module, "PIECES_MAX", 8)
    worked = 0.0
    taken: list[int] = []

    class Listening(Quiet):
        def receive_data(self, data: bytes, now: float) -> None:
            nonlocal worked
            taken.append(len(data))
            worked += 1.0 if len(taken) == 6 else 0.0

    async def test() -> None:
        async with at(tmp_path, "a") as (house, place):
            monkeypatch.setattr(module, "time", SimpleNamespace(perf_counter=lambda: worked))
            monkeypatch.setattr(house.transport, "accept", Listening)
            _, writer = await asyncio.open_connection(*place)
            writer.write(bytes(3000))
            await until(lambda: sum(taken) == 3000)
            writer.close()

    run(test)
    assert taken[:9] == [50, 100, 200, 400, 400, 400, 200, 400, 400]


def test_what_a_commit_takes_long_for_is_handled_in_small_pieces(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Though it is read quickly: messages that are stored one by one."""
    monkeypatch.setattr(module, "PIECE", 50)
    monkeypatch.setattr(module, "PIECES_MAX", 8)
    taken: list[int] = []
    charged: list[float] = []

    class Listening(Quiet):
        def receive_data(self, data: bytes, now: float) -> None:
            taken.append(len(data))
            self.singles += 10

    async def test() -> None:
        async with at(tmp_path, "a") as (house, place):
            monkeypatch.setattr(module, "time", SimpleNamespace(perf_counter=lambda: 0.0))
            monkeypatch.setattr(house.transport, "accept", Listening)
            monkeypatch.setattr(house.listener.turns, "charge", charged.append)
            _, writer = await asyncio.open_connection(*place)
            writer.write(bytes(300))
            await until(lambda: sum(taken) == 300)
            writer.close()

    run(test)
    assert taken == [50] * 6
    assert charged == [10 * module.SINGLE_S] * 6


@pytest.mark.parametrize(("address", "at_once"), [("127.0.0.2", True), ("10.0.0.2", False)])
def test_what_comes_from_a_configured_address_is_handled_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str, at_once: bool
) -> None:
    """It may be long before this manager has a message for that one, dials it and so knows it."""
    monkeypatch.setattr(module, "PIECE", 50)
    monkeypatch.setattr(module, "PIECES_MAX", 1)
    taken: list[bytes] = []

    class Listening(Quiet):
        def receive_data(self, data: bytes, now: float) -> None:
            taken.append(data)

    async def test() -> None:
        peers = {"b": PeerEntry(address)}
        async with at(tmp_path, "a", peers=peers) as (house, place):
            monkeypatch.setattr(house.transport, "accept", Listening)
            _, writer = await asyncio.open_connection(*place)
            writer.write(bytes(1000))
            await until(lambda: sum(map(len, taken)) == 1000)
            writer.close()

    run(test)
    assert (max(map(len, taken)) > 50) is at_once


def test_what_a_known_manager_sends_is_handled_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PIECE", 50)
    taken: list[bytes] = []

    class Known(Quiet):
        is_known = True

        def receive_data(self, data: bytes, now: float) -> None:
            taken.append(data)

    async def test() -> None:
        async with at(tmp_path, "a") as (house, place):
            monkeypatch.setattr(house.transport, "accept", Known)
            _, writer = await asyncio.open_connection(*place)
            writer.write(bytes(1000))
            await until(lambda: sum(map(len, taken)) == 1000)
            writer.close()

    run(test)
    assert max(map(len, taken)) > 50
