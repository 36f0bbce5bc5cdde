"""impacket and Samba's client read a queue the older way, with every operation of qm2qm."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest

import openmsmq
from openmsmq.access.users import Users
from openmsmq.interfaces.qm2qm import stubs
from openmsmq.interfaces.qm2qm.stubs import QM2QM, QMCOMM, Qm2qmOpnum, QmcommOpnum
from openmsmq.interfaces.queue_format import QueueFormatArgument
from openmsmq.interfaces.remote_read.actions import ReadAction
from openmsmq.names.format import parse_format_name
from openmsmq.packet.view import PacketView
from openmsmq.rpc.ndr.structure import NULL_HANDLE, Structure
from tests.e2e.managers import ManagerProcess
from tests.e2e.rpc_clients import (
    PASSWORD,
    TSHARK,
    USER,
    Call,
    RecordingRelay,
    impacket_call,
    impacket_client,
    rpcrt,
    samba_client,
)

pytestmark = pytest.mark.slow

LEVELS = ("integrity", "privacy")
ALL_ONES = (1 << 64) - 1
EMPTY_BUFFER = bytes(228)


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ManagerProcess]:
    made = ManagerProcess(tmp_path_factory.mktemp("shop"), "shop", options=("--rpc-port", "0"))
    Users(made.folder / "data").add(USER, PASSWORD, "read")
    made.start()
    yield made
    made.kill()


def every_operation(  # noqa: PLR0915  # one session
    shop: ManagerProcess, opening: Call, reading: Call
) -> set[int]:
    """Open with qmcomm, read with qm2qm, and look what became of the messages."""
    called: set[int] = set()

    def ask(opnum: Qm2qmOpnum, arguments: Structure | bytes, kind: Any) -> Any:
        called.add(opnum)
        stub = arguments if isinstance(arguments, bytes) else arguments.encode()
        return kind.decode(reading(opnum, stub))

    def described(action: ReadAction, request: int, **given: Any) -> stubs.ReadDescription:
        number = opened.queue
        values = {"cursor": 0, "timeout_ms": 0} | given
        return stubs.ReadDescription(
            number,
            values["cursor"],
            action,
            values["timeout_ms"],
            0,
            number,
            request,
            0,
            0,
            0,
            None,
        )

    def start(action: ReadAction, request: int, **given: Any) -> Any:
        asked = stubs.StartRead2(stubs.ReadDescription2(described(action, request, **given), 0))
        return ask(Qm2qmOpnum.START_RECEIVE_2, asked, stubs.StartRead2Result)

    def end(found: Any, acknowledge: int) -> None:
        asked = stubs.EndRead(found.handle, acknowledge)
        assert ask(Qm2qmOpnum.END_RECEIVE, asked, stubs.HandleResult).result == 0

    name = f"q{uuid4().hex}"
    with openmsmq.connect(shop.app) as manager:
        queue = manager.create_queue(name)
        queue.send_many([b"a", b"b", b"c", b"d"])
        format_name = parse_format_name(rf"DIRECT=OS:shop\private$\{name}")
        asked = stubs.OpenRemoteQueue(
            QueueFormatArgument.of(format_name), 7, 1, 0, UUID(int=1), 0x400
        )
        answer = opening(QmcommOpnum.OPEN_REMOTE_QUEUE, asked.encode())
        opened = stubs.OpenedRemoteQueue.decode(answer)
        assert opened.result == 0
        session = stubs.OpenSession(UUID(int=9), 0, opened.queue, opened.pointer, opened.context)
        entered = ask(Qm2qmOpnum.OPEN_QUEUE, session, stubs.HandleResult)
        assert entered.result == 0
        port = ask(Qm2qmOpnum.GET_SERVER_PORT, stubs.PortType(0), stubs.OneNumber).number
        assert port == shop.ready["rpc"][1]
        assert ask(Qm2qmOpnum.GET_VERSION, b"", stubs.VersionResult).major == 6
        stub = EMPTY_BUFFER + opened.queue.to_bytes(4, "little")
        made = stubs.TwoNumbers.decode(opening(QmcommOpnum.CREATE_REMOTE_CURSOR, stub))
        assert made.second == 0
        assert body_of(start(ReadAction.PEEK_CURRENT, 1, cursor=made.first)) == b"a"
        closing = stubs.TwoNumbers(opened.queue, made.first)
        assert ask(Qm2qmOpnum.CLOSE_CURSOR, closing, stubs.OneNumber).number == 0
        first = start(ReadAction.RECEIVE, 2)
        assert body_of(first) == b"a"
        end(first, 1)
        assert queue.info().messages == 4, "it was not taken"
        older = stubs.StartRead(described(ReadAction.RECEIVE, 3))
        second = ask(Qm2qmOpnum.START_RECEIVE, older, stubs.StartReadResult)
        assert body_of(second) == b"a"
        end(second, 2)
        assert queue.info().messages == 3
        last = stubs.StartReadByLookup(
            ALL_ONES, stubs.ReadDescription2(described(ReadAction.LOOKUP_PEEK_PREV, 4), 0)
        )
        opnum = Qm2qmOpnum.START_RECEIVE_BY_LOOKUP_ID
        assert body_of(ask(opnum, last, stubs.StartRead2Result)) == b"d"
        cancel = stubs.CancelRead(opened.queue, opened.pointer, 99)
        assert ask(Qm2qmOpnum.CANCEL_RECEIVE, cancel, stubs.OneNumber).number != 0
        number = stubs.OneNumber(opened.queue)
        assert ask(Qm2qmOpnum.PURGE_QUEUE, number, stubs.OneNumber).number == 0
        assert queue.info().messages == 0
        gone = stubs.HandleArgument(entered.handle)
        assert ask(Qm2qmOpnum.CLOSE_QUEUE, gone, stubs.HandleResult).handle == NULL_HANDLE
        closed = stubs.HandleArgument(opened.handle).encode()
        opening(QmcommOpnum.CLOSE_REMOTE_QUEUE_CONTEXT, closed)
    return called


def body_of(found: Any) -> bytes:
    """The body of a message that was read."""
    assert found.result == 0, hex(found.result)
    described = found.description
    if isinstance(described, stubs.ReadDescription2):
        described = described.description
    return bytes(PacketView(described.data).body)


@contextmanager
def impacket(port: int, level: str, reading: int | None = None) -> Iterator[tuple[Call, Call]]:
    """Calls of qmcomm and of qm2qm, on two connections."""
    clients = [
        impacket_client(port, level, QMCOMM),
        impacket_client(reading or port, level, QM2QM),
    ]
    yield impacket_call(clients[0]), impacket_call(clients[1])
    for client in clients:
        client.disconnect()


@pytest.mark.parametrize("level", LEVELS)
def test_impacket_calls_every_operation(shop: ManagerProcess, level: str) -> None:
    with impacket(shop.ready["rpc"][1], level) as calls:
        assert every_operation(shop, *calls) == set(Qm2qmOpnum)


@pytest.mark.parametrize("level", LEVELS)
def test_samba_calls_every_operation(shop: ManagerProcess, level: str) -> None:
    with samba_client(shop.ready["rpc"][1], level) as samba:
        called = every_operation(shop, samba.call(QMCOMM), samba.call(QM2QM))
        assert called == set(Qm2qmOpnum)


def test_impacket_is_refused_with_wrong_arguments_and_served_again(shop: ManagerProcess) -> None:
    """Cut, empty and over-long arguments of every operation: a fault or a failure."""
    port = shop.ready["rpc"][1]
    with impacket(port, "privacy") as (_, reading):
        for opnum in set(Qm2qmOpnum) - {Qm2qmOpnum.GET_VERSION}:
            for stub in (b"", b"\xff" * 3, b"\xff" * 400):
                try:
                    answer = reading(opnum, stub)
                except rpcrt.DCERPCException:
                    continue
                assert int.from_bytes(answer[-4:], "little") & 0x80000000, opnum
    with impacket(port, "privacy") as (_, reading):
        assert stubs.VersionResult.decode(reading(Qm2qmOpnum.GET_VERSION, b"")).major == 6


@pytest.mark.skipif(TSHARK is None, reason="tshark is not installed")
def test_tshark_understands_every_pdu(shop: ManagerProcess, tmp_path: Path) -> None:
    """Sealed calls, with the password."""
    relay = RecordingRelay(tmp_path, shop.ready["rpc"][1])
    with impacket(shop.ready["rpc"][1], "privacy", relay.port) as calls:
        every_operation(shop, *calls)
    assert relay.opnums() == set(Qm2qmOpnum)
