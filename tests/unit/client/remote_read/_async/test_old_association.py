"""Queues of a manager that has older remote read only."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from tests.unit.client.remote_read.managers import (
    LOGIN,
    RemoteManager,
    remote_manager,
    wait_until,
)

import openmsmq
from openmsmq import Seek, aio
from openmsmq.errors import Malformed, UnsupportedOperation
from openmsmq.interfaces.qm2qm import server as old_server
from openmsmq.interfaces.qm2qm import stubs as old
from openmsmq.interfaces.qm2qm.server import OldReadServer
from openmsmq.interfaces.qm2qm.stubs import Qm2qmOpnum, VersionResult
from openmsmq.rpc.interface import RpcCall
from openmsmq.rpc.status import RpcFault, RpcStatus


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[RemoteManager]:
    with remote_manager(tmp_path, is_mapped=True, is_old=True) as made:
        yield made


@pytest.fixture
def manager(elsewhere: RemoteManager) -> Iterator[openmsmq.Manager]:
    with openmsmq.connect_remote("127.0.0.1", port=elsewhere.port, **LOGIN) as made:
        yield made


def test_a_manager_without_remote_read_is_read_the_older_way(
    elsewhere: RemoteManager, caplog: pytest.LogCaptureFixture
) -> None:
    """MQRR-015, MQQP-001, MQQP-003, MQQP-006, MQQP-010, MQQP-022, MQQP-078,
    MQQP-056, MQQP-057, MQQP-063, MQQP-064, MQQP-069, MQQP-137, MQQP-148,
    MQQP-193, MQQP-194, MQQP-195, MQQP-197, MQQP-208, MQQP-217: it says so; found by the mapper too.
    """
    elsewhere.send("one", "two")
    mapper = elsewhere.mapper_port
    assert mapper is not None
    with caplog.at_level("INFO"):
        place: dict[str, Any] = {"port": 0, "mapper_port": mapper}
        with openmsmq.connect_remote("127.0.0.1", **place, **LOGIN) as manager:
            queue = manager.open_queue("orders")
            assert queue.peek(timeout=0).body == b"one"
            message = queue.receive(timeout=0)
            assert (message.body, message.priority) == (b"one", 3)
            assert message.arrived_time is not None
            assert elsewhere.count() == 1
            queue.close()
    assert "HOST has no RemoteRead" in caplog.text
    assert len(elsewhere.service.old_reading) == 0


def test_reads_wait_and_are_cancelled(elsewhere: RemoteManager, manager: openmsmq.Manager) -> None:
    """MQQP-048, MQQP-054, MQQP-055, MQQP-173, MQQP-198, MQQP-211, MQQP-214: nothing is lost."""
    queue = manager.open_queue("orders")
    with pytest.raises(openmsmq.ReceiveTimeout):
        queue.receive(timeout=0.05)
    found: list[bytes] = []
    thread = threading.Thread(target=lambda: found.append(queue.receive(timeout=None).body))
    thread.start()
    wait_until(lambda: elsewhere.waiting() == 1)
    elsewhere.send("late")
    thread.join(10)
    assert found == [b"late"]

    async def run() -> None:
        async with aio.connect_remote("127.0.0.1", port=elsewhere.port, **LOGIN) as other:
            opened = await other.open_queue("orders")
            task = asyncio.create_task(opened.receive(timeout=None))
            await asyncio.to_thread(wait_until, lambda: elsewhere.waiting() == 1)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            elsewhere.send("kept")
            assert (await opened.receive(timeout=1)).body == b"kept"

    asyncio.run(run())


def test_cursors_lookups_and_purge_work(
    elsewhere: RemoteManager, manager: openmsmq.Manager
) -> None:
    """MQQP-103, MQQP-120, MQQP-160, MQQP-162, MQQP-175, MQQP-206, MQQP-207, MQQP-210, MQQP-212,
    MQQP-213, MQQP-216
    """
    elsewhere.send("a", "b", "c")
    queue = manager.open_queue("orders")
    with queue.cursor() as cursor:
        assert cursor.peek(timeout=0).body == b"a"
        assert cursor.next(timeout=0).body == b"b"
        [hosted] = elsewhere.service.old_reading._queues.values()
        assert len(hosted.cursors) == 1
    assert not hosted.cursors
    first = queue.peek(timeout=0)
    second = queue.peek_by_lookup_id(first.lookup_id, seek=Seek.NEXT)
    assert second.body == b"b"
    assert queue.receive_by_lookup_id(second.lookup_id).body == b"b"
    queue.purge()
    assert elsewhere.count() == 0


def test_there_are_no_moves_and_no_transactions(
    elsewhere: RemoteManager, manager: openmsmq.Manager
) -> None:
    """They are refused, and nothing is taken."""
    elsewhere.send("a", queue="billing")
    queue = manager.open_queue("billing")
    with pytest.raises(UnsupportedOperation), manager.transaction() as transaction:
        queue.receive(timeout=0, transaction=transaction)
    message = queue.peek(timeout=0)
    with pytest.raises(UnsupportedOperation):
        queue.move(message.lookup_id, "retry")
    assert elsewhere.count("billing") == 1


@pytest.mark.parametrize(
    ("version", "opnum"),
    [((4, 9, 9), 0), ((5, 0, 2195), 0), ((5, 1, 950), 0), ((5, 1, 951), 9), ((6, 1, 7600), 9)],
)
def test_the_version_decides_how_messages_are_read(
    elsewhere: RemoteManager,
    manager: openmsmq.Manager,
    monkeypatch: pytest.MonkeyPatch,
    version: tuple[int, int, int],
    opnum: int,
) -> None:
    """MQQP-199 to MQQP-203, MQQP-205: it is asked for once."""
    asked: list[int] = []
    methods = dict(elsewhere.service.old_reading.interface.methods)

    def noted(number: int) -> Any:
        def handle(call: RpcCall) -> None:
            asked.append(number)
            methods[number].handle(call)

        return handle

    found = elsewhere.service.old_reading.interface.methods
    for number in (0, 8, 9):
        changed = type(methods[number])(
            methods[number].name, methods[number].arguments, noted(number)
        )
        monkeypatch.setitem(found, number, changed)
    monkeypatch.setattr(old_server, "VERSION", VersionResult(*version))
    elsewhere.send("a", "b")
    queue = manager.open_queue("orders")
    assert [queue.receive(timeout=0).body for _ in range(2)] == [b"a", b"b"]
    assert asked == [8, opnum, opnum]


def test_the_oldest_managers_do_not_know_their_version(
    elsewhere: RemoteManager, manager: openmsmq.Manager, monkeypatch: pytest.MonkeyPatch
) -> None:
    """MQQP-204"""

    def unknown(server: OldReadServer, call: RpcCall) -> None:
        raise RpcFault(RpcStatus.OP_RNG_ERROR)

    methods = elsewhere.service.old_reading.interface.methods
    known = methods[8]
    changed = type(known)(known.name, known.arguments, lambda call: unknown(None, call))  # type: ignore[arg-type]
    monkeypatch.setitem(methods, 8, changed)
    elsewhere.send("a")
    assert manager.open_queue("orders").receive(timeout=0).body == b"a"


def test_failures_are_those_of_the_manager(
    elsewhere: RemoteManager, manager: openmsmq.Manager
) -> None:
    with pytest.raises(openmsmq.QueueNotFound):
        manager.open_queue("none")
    queue = manager.open_queue("orders")
    elsewhere.do(lambda: elsewhere.manager.delete_queue("orders"))
    with pytest.raises(openmsmq.MQError):
        queue.receive(timeout=0)
    with pytest.raises(openmsmq.MQError):
        queue.purge()


def answer(
    elsewhere: RemoteManager,
    monkeypatch: pytest.MonkeyPatch,
    opnum: int,
    handle: Callable[[RpcCall], None],
) -> None:
    """Have an operation answered in another way."""
    methods = elsewhere.service.old_reading.interface.methods
    changed = type(methods[opnum])(methods[opnum].name, methods[opnum].arguments, handle)
    monkeypatch.setitem(methods, opnum, changed)


def throw(call: RpcCall) -> None:
    raise RpcFault(0xC00E0002)


@pytest.mark.parametrize(
    "handle",
    [throw, lambda call: call.respond(old.OneNumber(0xC00E0002))],
    ids=["thrown", "returned"],
)
def test_a_purge_may_fail_in_two_ways(
    elsewhere: RemoteManager,
    manager: openmsmq.Manager,
    monkeypatch: pytest.MonkeyPatch,
    handle: Callable[[RpcCall], None],
) -> None:
    """MQQP-178"""
    answer(elsewhere, monkeypatch, Qm2qmOpnum.PURGE_QUEUE, handle)
    with pytest.raises(openmsmq.MQError) as refused:
        manager.open_queue("orders").purge()
    assert refused.value.hresult == 0xC00E0002


@pytest.mark.parametrize("code", [0xC00E0088, 0xC00E0051, 0x80004005])
def test_the_handle_of_a_read_that_failed_is_not_used(
    elsewhere: RemoteManager, manager: openmsmq.Manager, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    """MQQP-218, MQQP-219: whatever the code is."""
    ended: list[RpcCall] = []
    described = old.ReadDescription2(old.ReadDescription(*(0,) * 10, None), 0)
    result = old.StartRead2Result(UUID(int=7), described, code)
    answer(elsewhere, monkeypatch, Qm2qmOpnum.START_RECEIVE_2, lambda call: call.respond(result))
    answer(elsewhere, monkeypatch, Qm2qmOpnum.END_RECEIVE, ended.append)
    queue = manager.open_queue("orders")
    with pytest.raises(openmsmq.MQError) as refused:
        queue.receive(timeout=0)
    assert refused.value.hresult == code
    assert not ended


def test_an_answer_beyond_the_largest_size_is_refused(
    elsewhere: RemoteManager, manager: openmsmq.Manager, monkeypatch: pytest.MonkeyPatch
) -> None:
    """MQQP-037"""
    described = old.ReadDescription(*(0,) * 4, 0x420001, *(0,) * 5, None)
    result = old.StartRead2Result(UUID(int=7), old.ReadDescription2(described, 0), 0)
    answer(elsewhere, monkeypatch, Qm2qmOpnum.START_RECEIVE_2, lambda call: call.respond(result))
    with pytest.raises(Malformed):
        manager.open_queue("orders").receive(timeout=0)


def test_a_lost_connection_opens_the_queue_again(
    elsewhere: RemoteManager, manager: openmsmq.Manager
) -> None:
    elsewhere.send("a")
    queue = manager.open_queue("orders")
    elsewhere.cut()
    with pytest.raises(openmsmq.ServiceNotAvailable):
        queue.peek(timeout=0)
    assert queue.receive(timeout=0).body == b"a"


def test_the_port_that_is_known_is_used_for_everything(
    elsewhere: RemoteManager, manager: openmsmq.Manager, monkeypatch: pytest.MonkeyPatch
) -> None:
    """MQQP-192: R_RemoteQMGetQMQMServerPort is not called."""
    asked: list[RpcCall] = []
    answer(elsewhere, monkeypatch, Qm2qmOpnum.GET_SERVER_PORT, asked.append)
    elsewhere.send("a")
    assert manager.open_queue("orders").receive(timeout=0).body == b"a"
    assert not asked


def test_a_message_that_cannot_be_read_goes_back(
    elsewhere: RemoteManager, manager: openmsmq.Manager, monkeypatch: pytest.MonkeyPatch
) -> None:
    """MQQP-209: it is acknowledged with RR_NACK, and is there for the next reader."""
    ends: list[int] = []
    methods = elsewhere.service.old_reading.interface.methods
    known = methods[1]

    def noted(call: RpcCall) -> None:
        ends.append(call.args(old.EndRead).acknowledge)
        known.handle(call)

    monkeypatch.setitem(methods, 1, type(known)(known.name, known.arguments, noted))
    elsewhere.send("kept")
    queue = manager.open_queue("orders")
    with monkeypatch.context() as broken:
        broken.setattr(old_server, "without_origin", lambda packet: packet[:20])
        with pytest.raises(Malformed):
            queue.receive(timeout=0)
    assert (ends, elsewhere.count()) == ([1], 1)
    assert queue.receive(timeout=0).body == b"kept"
    assert (ends, elsewhere.count()) == ([1, 2], 0)
