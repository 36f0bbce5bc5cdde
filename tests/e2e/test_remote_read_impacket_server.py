"""Our client reads a manager that is written with impacket: its runtime, and stubs made by hand."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest

import openmsmq
from openmsmq import Queue, Transaction
from openmsmq.errors import DtcConnect, ReceiveTimeout
from openmsmq.interfaces.remote_read.sections import message_packet
from openmsmq.names.format import parse_format_name
from openmsmq.packet.builder import PacketBuilder

rpcrt: Any = pytest.importorskip("impacket.dcerpc.v5.rpcrt")

pytestmark = pytest.mark.slow
CONTEXT = bytes(4) + bytes(range(16))
TIMEOUT, DTC_CONNECT = 0xC00E001B, 0xC00E004C
NAME = r"DIRECT=OS:shop\private$\orders"
SIZE, FRAGMENT = 10_000, 4000
"Bytes of a body: an answer takes several fragments."


class ImpacketManager(rpcrt.DCERPCServer):  # type: ignore[misc]
    """A queue that is read remotely, over one connection."""

    def __init__(self, *bodies: bytes) -> None:
        super().__init__()
        self.daemon = True
        self.bodies = list(bodies)
        self.held: dict[int, bytes] = {}
        self.opnums: list[int] = []
        self.names: list[str] = []
        answers = {
            2: self.open_queue,
            3: lambda _: bytes(20) + struct.pack("<I", 0),
            4: lambda _: struct.pack("<II", 5, 0),
            5: lambda _: struct.pack("<I", 0),
            6: self.purge,
            7: self.start_receive,
            9: self.end_receive,
            12: lambda _: struct.pack("<I", DTC_CONNECT),
        }
        noted = {opnum: self._noted(opnum, answer) for opnum, answer in answers.items()}
        self.addCallbacks(("1A9134DD-7B39-45BA-AD88-44D01CA47F28", "1.0"), "135", noted)

    def _noted(self, opnum: int, answer: Any) -> Any:
        def call(stub: bytes) -> bytes:
            self.opnums.append(opnum)
            found: bytes = answer(stub)
            return found

        return call

    def run(self) -> None:
        """Serve one connection."""
        self._clientSock, _ = self._sock.accept()
        while (data := self.recv()) is not None:
            answer = self.processRequest(data)
            if answer is not None:  # that of a bind is sent already
                self.send(answer)
        self._clientSock.close()
        self._sock.close()

    def send(self, data: Any) -> None:
        """Send an answer in fragments; impacket's own have the size of the whole."""
        stub = data["pduData"]
        for at in range(0, len(stub), FRAGMENT):
            data["pduData"] = stub[at : at + FRAGMENT]
            is_last = at + FRAGMENT >= len(stub)
            data["flags"] = (0 if at else 1) | (2 if is_last else 0)
            data["frag_len"] = len(data.getData())
            self._clientSock.sendall(data.getData())

    def open_queue(self, stub: bytes) -> bytes:
        """R_OpenQueue: m_qft, the union's tag, a pointer, and the name."""
        kind, _, _, tag = struct.unpack_from("<BBHBxxx", stub)
        assert (kind, tag) == (3, 3)
        _, _, count = struct.unpack_from("<III", stub, 12)
        self.names.append(stub[24 : 24 + 2 * count].decode("utf-16-le").rstrip("\0"))
        return CONTEXT

    def purge(self, stub: bytes) -> bytes:
        """R_PurgeQueue."""
        assert stub == CONTEXT
        self.bodies.clear()
        return struct.pack("<I", 0)

    def start_receive(self, stub: bytes) -> bytes:
        """R_StartReceive: the context, 4 bytes to align, and the rest."""
        context, lookup, cursor, action, _, request = struct.unpack_from("<20s4xQIIII", stub)
        assert (context, lookup) == (CONTEXT, 0)
        assert cursor in (0, 5)
        if not self.bodies:
            return struct.pack("<I4xQIII", 0, 0, 0, 0, TIMEOUT)
        body = self.bodies[0]
        if action == 0:
            self.held[request] = self.bodies.pop(0)
        builder = PacketBuilder(uuid4(), parse_format_name(NAME))
        packet = message_packet(builder.build(body, label="from impacket", message_id=1))
        head = struct.pack("<I4xQII", 1_700_000_000, len(body), 1, 0x20000)
        section = struct.pack("<IHxxIII", 1, 0, len(packet), len(packet), 0x20004)
        rest = struct.pack("<I", len(packet)) + packet + bytes(-len(packet) % 4)
        return head + section + rest + struct.pack("<I", 0)

    def end_receive(self, stub: bytes) -> bytes:
        """R_EndReceive: 1 returns the message, 2 removes it."""
        context, acknowledge, request = struct.unpack("<20sII", stub)
        assert context == CONTEXT
        body = self.held.pop(request)
        if acknowledge == 1:
            self.bodies.insert(0, body)
        return struct.pack("<I", 0)


@pytest.fixture
def manager() -> Iterator[ImpacketManager]:
    made = ImpacketManager(b"first", b"x" * SIZE)
    made._sock.listen(1)
    made.start()
    yield made
    made.join(10)
    assert not made.is_alive()


@pytest.fixture
def orders(manager: ImpacketManager) -> Iterator[Queue]:
    place = {"port": manager.getListenPort(), "computer": "shop", "level": "none"}
    with openmsmq.connect_remote("127.0.0.1", **place) as connected:
        yield connected.open_queue("orders")


def test_messages_are_peeked_at_and_received(manager: ImpacketManager, orders: Queue) -> None:
    assert manager.names == [r"OS:shop\private$\orders"]
    assert orders.peek(timeout=0).body == b"first"
    message = orders.receive(timeout=0)
    assert (message.body, message.label) == (b"first", "from impacket")
    assert message.arrived_time.timestamp() == 1_700_000_000
    assert orders.receive(timeout=0).body == b"x" * SIZE
    with pytest.raises(ReceiveTimeout):
        orders.receive(timeout=0)
    assert (manager.bodies, manager.held) == ([], {})
    assert manager.opnums == [2, 7, 7, 9, 7, 9, 7]


def test_a_stream_returns_what_was_not_reached(manager: ImpacketManager, orders: Queue) -> None:
    with orders.stream(timeout=0, explicit=True) as stream:
        assert next(iter(stream)).body == b"first"
    assert sorted(manager.bodies) == [b"first", b"x" * SIZE]
    assert manager.held == {}


def test_a_cursor_and_a_purge(manager: ImpacketManager, orders: Queue) -> None:
    with orders.cursor() as cursor:
        assert cursor.peek(timeout=0).body == b"first"
    orders.purge()
    assert manager.bodies == []
    assert manager.opnums == [2, 4, 7, 5, 6]


def test_a_manager_without_our_coordinator_refuses_transactions(
    manager: ImpacketManager, orders: Queue
) -> None:
    backend = orders._backend
    with pytest.raises(DtcConnect):
        orders.receive(timeout=0, transaction=Transaction(backend, ""))
    assert manager.bodies[0] == b"first"
