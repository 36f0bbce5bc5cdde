"""A connection of an event loop and the machine that speaks on it."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import inspect
import socket
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any
from weakref import ref

import pytest

from openmsmq.net import connection as module
from openmsmq.net.connection import MUCH, WRITE_BUFFER, Connection
from openmsmq.net.keep_alive import KEEP_ALIVE

PATIENCE = 20.0


class Echo:
    """A machine that writes down what it gets and gives back what it is given."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.is_full = False
        self.next_deadline: float | None = None
        self.got: list[bytes] = []
        self.ticks: list[float] = []
        self.ticked = asyncio.Event()
        self.rooms = asyncio.Semaphore(0)
        self.is_lost = 0

    def receive_data(self, data: bytes, now: float) -> None:
        self.got.append(data)

    def resume(self, now: float) -> None:
        self.rooms.release()

    def tick(self, now: float) -> None:
        self.ticks.append(now)
        self.ticked.set()
        if self.next_deadline is not None and self.next_deadline <= now:
            self.next_deadline = None

    def lost(self) -> None:
        self.is_lost += 1


class Line(asyncio.Transport):
    """A transport that writes down what is done to it, and takes what it is given if it may."""

    def __init__(self, peer: object = ("10.0.0.1", 1811)) -> None:
        super().__init__({"peername": peer})
        self.log: list[str] = []
        self.sent: list[bytes] = []
        self.protocol: asyncio.BaseProtocol | None = None
        self.takes = True
        self.aborted = asyncio.Event()
        self._ends = False

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        self.log.append(f"at most {high}")

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.sent.append(bytes(data))
        if not self.takes:
            assert self.protocol is not None
            self.protocol.pause_writing()

    def pause_reading(self) -> None:
        self.log.append("pause")

    def resume_reading(self) -> None:
        self.log.append("resume")

    def is_closing(self) -> bool:
        return self._ends

    def close(self) -> None:
        self.log.append("close")
        self._ends = True

    def abort(self) -> None:
        self.log.append("abort")
        self.aborted.set()
        self._ends = True


class Call:
    """A connection over such a transport."""

    def __init__(self, **given: Any) -> None:
        self.line = Line(**given)
        self.machines: list[Echo] = []
        self.connection = Connection(self._make)
        self.line.protocol = self.connection
        self.connection.connection_made(self.line)
        self.line.log.clear()

    def _make(self, connection: Connection) -> Echo:
        self.machines.append(Echo(connection))
        return self.machines[-1]

    @property
    def rooms(self) -> int:
        """How often there was room again."""
        return self.machine.rooms._value

    @property
    def machine(self) -> Echo:
        return self.machines[0]


async def turn() -> None:
    """Let the event loop do what is to be done at this moment."""
    await asyncio.sleep(0)
    await asyncio.sleep(0)


def looped(test: Callable[..., Coroutine[Any, Any, None]]) -> Any:
    """A test that runs in an event loop."""

    def run(**given: Any) -> None:
        asyncio.run(asyncio.wait_for(test(**given), PATIENCE))

    run.__name__, run.__doc__, run.__module__ = test.__name__, test.__doc__, test.__module__
    run.__signature__ = inspect.signature(test)  # type: ignore[attr-defined]
    return run


@looped
async def test_the_machine_gets_what_comes() -> None:
    call = Call()
    call.connection.data_received(b"a")
    call.connection.data_received(b"b")
    assert call.machine.got == [b"a", b"b"]
    assert len(call.machines) == 1


@looped
async def test_what_is_written_at_one_moment_is_sent_at_once() -> None:
    call = Call()
    for part in (b"one ", b"two ", b"three"):
        call.connection.write(part)
    assert call.line.sent == []
    await turn()
    call.connection.write(b"later")
    await turn()
    assert call.line.sent == [b"one two three", b"later"]


@looped
async def test_who_sends_much_gets_its_answer_before_more_is_read() -> None:
    """An event loop may go on reading before anything else gets a turn."""
    call = Call()
    call.connection.write(b"an answer")
    call.connection.data_received(bytes(MUCH - 1))
    assert call.line.sent == []
    call.connection.data_received(bytes(MUCH))
    assert call.line.sent == [b"an answer"]
    await turn()
    assert call.line.sent == [b"an answer"]


@looped
async def test_closed_it_sends_what_is_to_be_sent_and_hears_nothing_more() -> None:
    call = Call()
    call.connection.write(b"farewell")
    call.connection.close()
    call.connection.close()
    call.connection.data_received(b"too late")
    await turn()
    assert call.line.sent == [b"farewell"]
    assert call.line.log == ["close"]
    assert call.machine.got == []
    call.connection.write(b"too late")
    await turn()
    assert call.line.sent == [b"farewell"]


@looped
async def test_who_does_not_take_the_farewell_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LINGER", 0.001)
    call = Call()
    call.connection.close()
    await call.line.aborted.wait()
    assert call.line.log == ["close", "abort"]


@looped
async def test_who_takes_it_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LINGER", 0.001)
    call = Call()
    call.connection.close()
    await turn()
    call.connection.connection_lost(None)
    await asyncio.sleep(0.01)
    assert call.line.log == ["close"]
    assert call.machine.is_lost == 1


@looped
async def test_to_close_what_is_lost_does_nothing() -> None:
    call = Call()
    call.connection.write(b"a")
    call.connection.connection_lost(None)
    call.connection.close()
    call.connection.abort()
    call.connection.update()
    await turn()
    assert call.line.log == []
    assert call.line.sent == []


@looped
async def test_nothing_of_what_is_lost_waits_for_the_garbage_collector() -> None:
    """Thousands of connections at a time held up everybody when it found them."""
    connection = Connection(Echo)
    connection.connection_made(Line())
    connection.on_eof = connection.finish
    connection.tap = connection.data_received
    gc.disable()
    try:
        connection.connection_lost(None)
        found = ref(connection)
        del connection
        assert found() is None
    finally:
        gc.enable()


@looped
async def test_lost_between_the_wish_to_close_and_the_deed() -> None:
    call = Call()
    call.connection.close()
    call.connection.connection_lost(None)
    await turn()
    assert call.line.log == []


@looped
async def test_aborted_it_ends_at_once() -> None:
    call = Call()
    call.connection.write(b"never sent")
    call.connection.abort()
    assert call.line.log == ["abort"]
    call.connection.data_received(b"too late")
    await turn()
    assert call.machine.got == []
    assert call.line.sent == []


@looped
async def test_when_the_other_side_ends_it_gets_what_was_written_before() -> None:
    call = Call()
    call.connection.write(b"answer")
    call.connection.eof_received()
    assert call.line.sent == [b"answer"]
    await turn()
    assert call.line.log == ["close"]


@looped
async def test_nothing_is_read_while_the_machine_is_full() -> None:
    call = Call()
    call.machine.is_full = True
    call.connection.data_received(b"a")
    call.connection.data_received(b"b")
    assert call.line.log == ["pause"]
    call.machine.is_full = False
    call.connection.update()
    call.connection.update()
    assert call.line.log == ["pause", "resume"]


@looped
async def test_nothing_is_read_while_the_other_side_does_not_take_what_is_sent() -> None:
    call = Call()
    call.connection.pause_writing()
    assert call.connection.write_buffer_full
    assert call.line.log == ["pause"]
    assert call.rooms == 0
    call.connection.resume_writing()
    assert not call.connection.write_buffer_full
    assert call.line.log == ["pause", "resume"]
    assert call.rooms == 1


@looped
async def test_much_written_at_one_moment_counts_until_it_is_sent() -> None:
    """Answers come faster than the event loop sends them."""
    call = Call()
    call.connection.write(bytes(WRITE_BUFFER))
    assert not call.connection.write_buffer_full
    call.connection.write(b"1")
    assert call.connection.write_buffer_full
    await turn()
    assert not call.connection.write_buffer_full
    assert call.rooms == 1


@looped
async def test_it_counts_further_if_the_other_side_does_not_take_it() -> None:
    call = Call()
    call.line.takes = False
    call.connection.write(bytes(WRITE_BUFFER + 1))
    await turn()
    assert call.connection.write_buffer_full
    assert call.rooms == 0
    call.connection.write(bytes(WRITE_BUFFER + 1))
    call.connection.resume_writing()
    assert call.connection.write_buffer_full
    assert call.rooms == 0


@looped
async def test_the_end_of_a_connection_reports_no_room() -> None:
    call = Call()
    call.connection.write(bytes(WRITE_BUFFER + 1))
    call.connection.close()
    await turn()
    assert len(call.line.sent) == 1
    assert call.rooms == 0


@looped
async def test_reading_is_not_paused_once_the_connection_closes() -> None:
    call = Call()
    call.machine.is_full = True
    call.line.close()
    call.connection.update()
    assert call.line.log == ["close"]


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        (("10.0.0.1", 1811), "10.0.0.1:1811"),
        (("::1", 1811, 0, 0), "[::1]:1811"),
        ("", "a local socket"),
        (None, "a local socket"),
    ],
    ids=["IPv4", "IPv6", "Unix", "unknown"],
)
@looped
async def test_the_other_side_has_a_name_for_people(name: object, shown: str) -> None:
    assert Call(peer=name).connection.peer == shown


@contextlib.asynccontextmanager
async def connected(port: bool) -> AsyncIterator[tuple[Connection, socket.socket]]:
    """A connection over a real socket, and its other end."""
    if port:
        server = socket.create_server(("127.0.0.1", 0))
        near = socket.create_connection(server.getsockname())
        far, _ = server.accept()
        server.close()
    else:
        near, far = socket.socketpair()
    loop = asyncio.get_running_loop()
    _, connection = await loop.create_connection(lambda: Connection(Echo), sock=near)
    far.setblocking(False)
    try:
        yield connection, far
    finally:
        connection.abort()
        far.close()
        await turn()


@looped
async def test_a_computer_that_is_gone_is_found_out() -> None:
    async with connected(port=True) as (connection, _):
        assert connection._transport is not None
        near = connection._transport.get_extra_info("socket")
        assert near.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        if hasattr(socket, "TCP_KEEPIDLE"):
            found = near.getsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE)
            assert found == KEEP_ALIVE["TCP_KEEPIDLE"]


@looped
async def test_what_the_other_side_does_not_read_waits_here_until_it_does() -> None:
    """The bytes arrive whole and in order."""
    loop = asyncio.get_running_loop()
    async with connected(port=False) as (connection, far):
        machine = connection._machine
        assert isinstance(machine, Echo)
        sent = b"".join(number.to_bytes(4, "big") for number in range(1 << 20))
        connection.write(sent)
        await turn()
        assert connection.write_buffer_full
        got = bytearray()
        while len(got) < len(sent):
            got += await loop.sock_recv(far, 1 << 18)
        assert bytes(got) == sent
        await machine.rooms.acquire()
        assert not connection.write_buffer_full


@pytest.mark.parametrize("port", [False, True], ids=["unix", "tcp"])
@looped
async def test_who_leaves_while_nothing_is_read_can_be_found_out(port: bool) -> None:
    async with connected(port) as (connection, far):
        machine = connection._machine
        assert isinstance(machine, Echo)
        assert not connection.peer_gone, "it will be notified"
        machine.is_full = True
        connection.update()
        far.send(b"not read any more")
        assert not connection.peer_gone
        far.close()
        await turn()
        assert connection.peer_gone
        assert not machine.is_lost
    assert not connection.peer_gone, "it has been notified"


# Deadlines


@looped
async def test_the_machine_is_called_at_its_deadline_and_not_before() -> None:
    call = Call()
    loop = asyncio.get_running_loop()
    call.machine.next_deadline = deadline = loop.time() + 0.02
    call.connection.update()
    await turn()
    assert call.machine.ticks == []
    await call.machine.ticked.wait()
    assert call.machine.ticks[0] >= deadline - 0.001
    await asyncio.sleep(0.01)
    assert call.machine.next_deadline is None


@looped
async def test_a_timer_is_set_again_only_for_an_earlier_deadline() -> None:
    call = Call()
    start = asyncio.get_running_loop().time()
    for seconds in (100, 200, 150):
        call.machine.next_deadline = start + seconds
        call.connection.update()
        assert call.connection._timer_at == start + 100
    first = call.connection._timer
    call.machine.next_deadline = start + 50
    call.connection.update()
    assert call.connection._timer_at == start + 50
    assert first is not None
    assert first.cancelled()


@looped
async def test_a_deadline_that_has_passed_waits_for_the_next_round_of_the_loop() -> None:
    call = Call()
    call.machine.next_deadline = 0.0
    call.connection.update()
    call.connection.update()
    assert call.machine.ticks == []
    await turn()
    assert len(call.machine.ticks) == 1


@looped
async def test_the_deadlines_of_a_machine_are_in_the_time_of_its_clock() -> None:
    line, times = Line(), iter(range(100, 200))
    connection = Connection(Echo, lambda: float(next(times)))
    connection.connection_made(line)
    machine = connection._machine
    assert isinstance(machine, Echo)
    machine.next_deadline = 100.0
    connection.update()
    await turn()
    assert machine.ticks == [101.0]
    connection.connection_lost(None)


@looped
async def test_a_machine_is_not_called_at_its_deadline_once_the_connection_closes() -> None:
    call = Call()
    call.machine.next_deadline = 0.0
    call.connection.update()
    call.connection.abort()
    await turn()
    assert call.machine.ticks == []
    lost = Call()
    lost.machine.next_deadline = asyncio.get_running_loop().time() + 0.001
    lost.connection.update()
    lost.connection.connection_lost(None)
    await asyncio.sleep(0.005)
    assert lost.machine.ticks == []


@looped
async def test_with_reads_always_it_reads_although_the_write_buffer_is_full() -> None:
    line = Line()
    connection = Connection(Echo, reads_always=True)
    connection.connection_made(line)
    line.log.clear()
    connection.pause_writing()
    assert connection.write_buffer_full
    assert line.log == []
