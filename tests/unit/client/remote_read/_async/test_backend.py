"""Queues of a manager elsewhere, read by tasks; what both halves do is tested with threads."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any
from uuid import UUID

import pytest
from tests.strategies.remote_reader import RemoteWorld
from tests.unit.client.remote_read.managers import LOGIN, RemoteManager, wait_until

from openmsmq import Access, ReceiveTimeout, Share, aio
from openmsmq.client.remote_read._async.backend import RpcBackend
from openmsmq.client.remote_read.place import RemotePlace
from openmsmq.errors import ConnectionLost, Malformed, MQError
from openmsmq.interfaces.remote_read import stubs
from openmsmq.interfaces.remote_read.actions import ReadAction
from openmsmq.interfaces.remote_read.coordinator import OWN_TOKEN
from openmsmq.interfaces.remote_read.stubs import REMOTE_READ
from openmsmq.names.queue_format import QueueFormatType


async def until(is_true: Callable[[], bool]) -> None:
    await asyncio.to_thread(wait_until, is_true)


def test_a_task_receives(elsewhere: RemoteManager) -> None:
    async def run() -> None:
        async with aio.connect_remote("127.0.0.1", port=elsewhere.port, **LOGIN) as manager:
            queue = await manager.open_queue("orders")
            assert (await queue.receive(timeout=0)).body == b"hello"
            with pytest.raises(ReceiveTimeout):
                await queue.receive(timeout=0.01)

    elsewhere.send("hello")
    asyncio.run(run())


def test_a_cancelled_receive_takes_no_message(elsewhere: RemoteManager) -> None:
    """MQRR-183, MQRR-404"""

    async def run() -> None:
        async with aio.connect_remote("127.0.0.1", port=elsewhere.port, **LOGIN) as manager:
            queue = await manager.open_queue("orders")
            waiting = asyncio.create_task(queue.receive())
            await until(lambda: elsewhere.waiting() == 1)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            await until(lambda: elsewhere.waiting() == 0)
            await asyncio.to_thread(elsewhere.send, "later")
            assert (await queue.receive(timeout=5)).body == b"later"

    asyncio.run(run())


def test_a_cancelled_receive_loses_no_cursor(elsewhere: RemoteManager) -> None:
    """MQRR-183, MQRR-404: its connection is the only one, and handles are lost with the last."""

    async def run() -> None:
        async with aio.connect_remote("127.0.0.1", port=elsewhere.port, **LOGIN) as manager:
            queue = await manager.open_queue("orders")
            cursor = queue.cursor()
            assert (await cursor.peek(timeout=5)).body == b"a"
            assert (await cursor.next(timeout=5)).body == b"b"
            empty = await manager.open_queue("empty")
            waiting = asyncio.create_task(empty.receive())
            await until(lambda: elsewhere.waiting("empty") == 1)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            assert (await cursor.peek(timeout=5)).body == b"b"

    elsewhere.create("empty")
    elsewhere.send("a", "b")
    asyncio.run(run())


def test_many_tasks_wait_at_the_same_time(elsewhere: RemoteManager) -> None:
    async def run() -> None:
        async with aio.connect_remote("127.0.0.1", port=elsewhere.port, **LOGIN) as manager:
            queue = await manager.open_queue("orders")
            waiting = [asyncio.create_task(queue.receive(timeout=20)) for _ in range(20)]
            await until(lambda: elsewhere.waiting() == 20)
            await asyncio.to_thread(elsewhere.send, *map(str, range(20)))
            found = await asyncio.gather(*waiting)
            assert sorted(int(message.body) for message in found) == list(range(20))

    asyncio.run(run())
    assert elsewhere.count() == 0


# The calls of each sequence, with a manager that answers as it is asked to


class Script:
    """Notes the calls of a backend, and answers them."""

    generation = 0

    def __init__(self, world: RemoteWorld) -> None:
        self.calls: list[tuple[int, Any]] = []
        self.results: dict[int, int] = {}
        "The HRESULT of an operation; success if there is none."
        self.broken = False
        "Messages come with a packet that cannot be read."
        self.lost: set[int] = set()
        "Operations that are not answered."
        self.waiting: set[int] = set()
        "Operations that never end."
        self.waits = asyncio.Event()
        "One of them began."
        world.send("hello")
        reader = world.connect()
        self._message = reader.start(reader.open())

    async def call(
        self,
        opnum: int,
        arguments: Any,
        kind: Any,
        *,
        wait: Any = 0,
        syntax: Any = REMOTE_READ,
        abandoned: Any = None,
    ) -> Any:
        code = opnum if syntax == REMOTE_READ else 100 + opnum
        self.calls.append((code, arguments))
        if code in self.lost:
            raise ConnectionLost("cut")
        if code in self.waiting:
            self.waits.set()
            await asyncio.Event().wait()
        result = self.results.get(code, 0)
        if kind is stubs.QueueContextArgument:
            return stubs.QueueContextArgument(HANDLE)
        if kind is stubs.MoveContext:
            return stubs.MoveContext(77, TARGET)
        if kind is stubs.CreatedCursor:
            return stubs.CreatedCursor(0 if result else 5, result)
        if kind is stubs.ReceiveResults:
            return self._read(result)
        if kind is stubs.ClosedContext:
            return stubs.ClosedContext(UUID(int=0), result)
        return stubs.Status32(result)

    def _read(self, result: int) -> stubs.ReceiveResults:
        if result:
            return stubs.ReceiveResults(9, 9, 0, None, result)
        if self.broken:
            section = stubs.SectionBuffer(0, 3, 3, b"bad")
            return stubs.ReceiveResults(9, 9, 1, (section,), 0)
        return self._message

    def opnums(self) -> list[int]:
        return [opnum for opnum, _ in self.calls]


HANDLE, TARGET = UUID(int=1), UUID(int=2)
OP = stubs.ReadOpnum
MOST = stubs.INFINITE_MS


@pytest.fixture
def script() -> Script:
    return Script(RemoteWorld())


def run(script: Script, work: Callable[[aio.Manager], Coroutine[Any, Any, None]]) -> list[Any]:
    """Have a program work with the script; the arguments of its calls."""
    backend = RpcBackend(RemotePlace.of("shop", user="alice", password="secret"))
    backend._calls = script  # type: ignore[assignment]
    asyncio.run(work(aio.Manager(backend)))
    return [arguments for _, arguments in script.calls]


def test_a_queue_is_opened_and_closed_with_what_the_program_says(script: Script) -> None:
    """MQRR-016, MQRR-042, MQRR-043, MQRR-052, MQRR-064, MQRR-067, MQRR-068, MQRR-070, MQRR-072,
    MQRR-074, MQRR-089, MQRR-378, MQRR-379, MQRR-409
    """

    async def work(manager: aio.Manager) -> None:
        for access, share in ((Access.RECEIVE, Share.DENY_RECEIVE), (Access.PEEK, Share.DENY_NONE)):
            queue = await manager.open_queue("orders", access=access, share=share)
            await queue.close()

    first, closed, second, _ = run(script, work)
    assert script.opnums() == [OP.OPEN_QUEUE, OP.CLOSE_QUEUE] * 2
    assert str(first.queue_format.queue_format().name()) == r"DIRECT=OS:shop\private$\orders"
    assert (first.access, first.share_mode) == (0x01, 1)
    assert (second.access, second.share_mode) == (0x20, 0)
    assert first.client_id == second.client_id != UUID(int=0)
    assert (first.non_routing_server, first.workgroup) == (1, 1)
    assert (first.major, first.minor, first.build) == (6, 1, 0x1DB1)
    assert closed.context == HANDLE


def test_peeks_and_receives_say_what_is_wanted_and_are_ended(script: Script) -> None:
    """MQRR-128, MQRR-139, MQRR-140, MQRR-142, MQRR-144, MQRR-172, MQRR-266, MQRR-267, MQRR-268,
    MQRR-381, MQRR-383, MQRR-384, MQRR-386
    """

    async def work(manager: aio.Manager) -> None:
        queue = await manager.open_queue("orders")
        await queue.peek(timeout=1.5)
        await queue.receive(timeout=None)
        await queue.receive_by_lookup_id(33)

    _, peek, receive, ended, lookup, again = run(script, work)
    assert peek == stubs.StartReceive(HANDLE, 0, 0, ReadAction.PEEK_CURRENT, 1500, 1, MOST, MOST)
    assert receive == stubs.StartReceive(HANDLE, 0, 0, ReadAction.RECEIVE, MOST, 2, MOST, MOST)
    assert ended == stubs.EndReceive(HANDLE, stubs.ACK, 2)
    current = ReadAction.LOOKUP_RECEIVE_CURRENT
    assert lookup == stubs.StartReceive(HANDLE, 33, 0, current, 0, 3, MOST, MOST)
    assert again == stubs.EndReceive(HANDLE, stubs.ACK, 3)


def test_a_transaction_is_enlisted_before_its_receives(script: Script) -> None:
    """MQRR-296, MQRR-297, MQRR-298, MQRR-299, MQRR-305, MQRR-318, MQRR-320, MQRR-380, MQRR-389,
    MQRR-390, MQRR-399, MQRR-402
    """

    async def work(manager: aio.Manager) -> None:
        queue = await manager.open_queue("orders")
        for _ in range(2):
            async with manager.transaction() as transaction:
                await queue.receive(timeout=0, transaction=transaction)
                await queue.cursor().receive(timeout=0, transaction=transaction)

    run(script, work)
    start, end = OP.START_TRANSACTIONAL_RECEIVE, OP.END_TRANSACTIONAL_RECEIVE
    one = [OP.ENLIST_REMOTE_TRANSACTION, start, end, OP.CREATE_CURSOR, start, end, 100]
    assert script.opnums() == [OP.OPEN_QUEUE, *one, *one]
    units = [getattr(arguments, "transaction_id", None) for _, arguments in script.calls]
    assert len({unit for unit in units if unit}) == 2
    assert units[1] == units[2] == units[5] == units[7] != bytes(16)
    enlisted = script.calls[1][1]
    assert (enlisted.token_size, enlisted.token) == (len(OWN_TOKEN), OWN_TOKEN)
    assert enlisted.queue_format == script.calls[0][1].queue_format
    assert script.calls[5][1].cursor == 5


def test_a_message_whose_end_is_not_answered_is_delivered(script: Script) -> None:
    """MQRR-388: it comes twice rather than never; in a transaction it is the other way round."""
    script.lost = {OP.END_RECEIVE, OP.END_TRANSACTIONAL_RECEIVE}

    async def work(manager: aio.Manager) -> None:
        queue = await manager.open_queue("orders")
        assert (await queue.receive(timeout=0)).body == b"hello"
        with pytest.raises(ConnectionLost):
            await queue.receive(timeout=0, transaction=manager.transaction())

    run(script, work)


def test_a_transaction_in_which_nothing_is_read_makes_no_calls(script: Script) -> None:
    async def work(manager: aio.Manager) -> None:
        async with manager.transaction():
            pass
        await manager.transaction().abort()

    assert run(script, work) == []


def test_a_packet_that_cannot_be_read_is_not_acknowledged(script: Script) -> None:
    """MQRR-385, MQRR-391"""
    script.broken = True

    async def work(manager: aio.Manager) -> None:
        queue = await manager.open_queue("orders")
        with pytest.raises(Malformed):
            await queue.receive(timeout=0)
        transaction = manager.transaction()
        with pytest.raises(Malformed):
            await queue.receive(timeout=0, transaction=transaction)

    run(script, work)
    ends = {opnum: one for opnum, one in script.calls if opnum in (OP.END_RECEIVE, 15)}
    assert ends == {
        OP.END_RECEIVE: stubs.EndReceive(HANDLE, stubs.NACK, 1),
        OP.END_TRANSACTIONAL_RECEIVE: stubs.EndReceive(HANDLE, stubs.NACK, 2),
    }


def test_a_cursor_is_created_used_and_closed(script: Script) -> None:
    """MQRR-099, MQRR-104, MQRR-105, MQRR-106, MQRR-376, MQRR-396, MQRR-397, MQRR-400, MQRR-406"""

    async def work(manager: aio.Manager) -> None:
        queue = await manager.open_queue("orders")
        async with queue.cursor() as cursor:
            await cursor.peek(timeout=0)
            await cursor.next(timeout=0)
            await cursor.receive(timeout=0)

    _, made, peek, following, receive, ended, closed = run(script, work)
    assert made.context == HANDLE
    assert (peek.cursor, peek.lookup_id, peek.action) == (5, 0, ReadAction.PEEK_CURRENT)
    assert (following.cursor, following.action) == (5, ReadAction.PEEK_NEXT)
    assert (receive.cursor, receive.action) == (5, ReadAction.RECEIVE)
    assert ended == stubs.EndReceive(HANDLE, stubs.ACK, receive.request_id)
    assert closed == stubs.CursorContext(HANDLE, 5)


def test_a_close_is_not_preceded_by_cancels_and_closed_cursors(script: Script) -> None:
    """MQRR-405, MQRR-407, MQRR-408: the manager ends the reads that wait for them."""
    script.waiting.add(OP.START_RECEIVE)

    async def work(manager: aio.Manager) -> None:
        queue = await manager.open_queue("orders")
        cursor = queue.cursor()
        waiting = asyncio.create_task(cursor.receive())
        await script.waits.wait()
        await cursor.close()
        await queue.close()
        calls = [*script.opnums()]
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert calls == [
            OP.OPEN_QUEUE,
            OP.CREATE_CURSOR,
            OP.START_RECEIVE,
            OP.CLOSE_CURSOR,
            OP.CLOSE_QUEUE,
        ]

    run(script, work)


def test_a_move_opens_the_target_to_be_moved_to(script: Script) -> None:
    """MQRR-340, MQRR-341, MQRR-342, MQRR-343, MQRR-360, MQRR-361, MQRR-362, MQRR-394"""

    async def work(manager: aio.Manager) -> None:
        queue = await manager.open_queue("orders")
        await queue.move(33, "retry")
        transaction = manager.transaction()
        await queue.move(34, "retry", transaction=transaction)

    opened, target, moved, closed, enlisted, _, again, _ = run(script, work)
    assert (target.access, target.share_mode) == (0x04, 0)
    assert target.queue_format.format_type == QueueFormatType.SUBQUEUE
    assert target.client_id == opened.client_id
    assert moved == stubs.MoveMessage(HANDLE, 77, 33, bytes(16))
    assert closed.context == TARGET
    assert again == stubs.MoveMessage(HANDLE, 77, 34, enlisted.transaction_id)


def test_a_queue_is_purged_through_its_handle(script: Script) -> None:
    """MQRR-121, MQRR-395"""

    async def work(manager: aio.Manager) -> None:
        await (await manager.open_queue("orders")).purge()

    assert run(script, work)[1] == stubs.QueueContextArgument(HANDLE)


@pytest.mark.parametrize("code", [0, 0xC00E0088, 0xC00E0051, 0xC0000022, 0x80004005])
def test_a_close_or_cancel_that_fails_is_like_one_that_does_not(script: Script, code: int) -> None:
    """MQRR-098, MQRR-193: whatever the code is."""
    script.results = {OP.CLOSE_QUEUE: code, OP.CANCEL_RECEIVE: code}
    script.waiting.add(OP.START_RECEIVE)

    async def work(manager: aio.Manager) -> None:
        queue = await manager.open_queue("orders")
        task = asyncio.create_task(queue.receive())
        await script.waits.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await queue.close()

    run(script, work)
    assert script.opnums() == [
        OP.OPEN_QUEUE,
        OP.START_RECEIVE,
        OP.CANCEL_RECEIVE,
        OP.END_RECEIVE,
        OP.CLOSE_QUEUE,
    ]


@pytest.mark.parametrize("code", [0xC00E0088, 0xC00E0051, 0xC0000022, 0x80004005])
@pytest.mark.parametrize("opnum", [4, 6, 7, 9, 10, 12, 13, 15, 100])
def test_every_failure_is_reported_with_any_code(script: Script, opnum: int, code: int) -> None:
    """MQRR-084, MQRR-085, MQRR-103, MQRR-171, MQRR-279, MQRR-319, MQRR-350, MQRR-370, MQRR-392,
    MQRR-403
    """
    script.results[opnum] = code

    async def work(manager: aio.Manager) -> None:
        queue = await manager.open_queue("orders")
        transaction = manager.transaction()
        calls: dict[int, Callable[[], Coroutine[Any, Any, object]]] = {
            4: lambda: queue.cursor().peek(timeout=0),
            6: queue.purge,
            7: lambda: queue.peek(timeout=0),
            9: lambda: queue.receive(timeout=0),
            10: lambda: queue.move(1, "retry"),
            12: lambda: queue.receive(timeout=0, transaction=transaction),
            13: lambda: queue.receive(timeout=0, transaction=transaction),
            15: lambda: queue.receive(timeout=0, transaction=transaction),
            100: transaction.commit,
        }
        if opnum == 100:
            await queue.receive(timeout=0, transaction=transaction)
        with pytest.raises(MQError) as raised:
            await calls[opnum]()
        assert raised.value.hresult == code

    run(script, work)
