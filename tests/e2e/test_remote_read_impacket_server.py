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
LOOKUPS = {0x40000010: 0, 0x40000011: 1, 0x40000012: -1, 0x40000020: 0}
"Where the message of a lookup is: at, behind or before the one that is named."
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
        self.moved: list[int] = []
        self.rejected: list[tuple[int, int]] = []
        self.enlisted = DTC_CONNECT
        "What R_QMEnlistRemoteTransaction answers."
        answers = {
            2: self.open_queue,
            3: lambda _: bytes(20) + struct.pack("<I", 0),
            4: lambda _: struct.pack("<II", 5, 0),
            5: lambda _: struct.pack("<I", 0),
            6: self.purge,
            7: self.start_receive,
            9: self.end_receive,
            8: lambda _: struct.pack("<I", 0),
            10: self.move,
            11: lambda stub: struct.pack("<Q", 77) + self.open_queue(stub),
            12: lambda _: struct.pack("<I", self.enlisted),
            13: self.start_transactional_receive,
            14: self.set_class,
            15: self.end_receive,
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
        assert kind == tag
        assert kind in (3, 8), "a direct name, or one of a subqueue"
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
        assert context == CONTEXT
        assert (lookup != 0) == (action in LOOKUPS)
        assert cursor in (0, 5)
        if not self.bodies:
            return struct.pack("<I4xQIII", 0, 0, 0, 0, TIMEOUT)
        place = 0
        if lookup:
            place = next(n for n, body in enumerate(self.bodies) if _lookup_id(body) == lookup)
            place += LOOKUPS[action]
        body = self.bodies[place]
        if action in (0, 0x40000020):
            self.held[request] = self.bodies.pop(place)
        builder = PacketBuilder(uuid4(), parse_format_name(NAME))
        packet = message_packet(builder.build(body, label="from impacket", message_id=1))
        head = struct.pack("<I4xQII", 1_700_000_000, len(body), 1, 0x20000)
        section = struct.pack("<IHxxIII", 1, 0, len(packet), len(packet), 0x20004)
        rest = struct.pack("<I", len(packet)) + packet + bytes(-len(packet) % 4)
        return head + section + rest + struct.pack("<I", 0)

    def start_transactional_receive(self, stub: bytes) -> bytes:
        """R_StartTransactionalReceive: R_StartReceive, and the transaction."""
        assert len(stub) == 56 + 16
        assert stub[56:] != bytes(16)
        return self.start_receive(stub[:56])

    def move(self, stub: bytes) -> bytes:
        """R_MoveMessage: the context, 4 bytes to align, the other one, and the message."""
        context, target, lookup, transaction = struct.unpack("<20s4xQQ16s", stub)
        assert (context, target, transaction) == (CONTEXT, 77, bytes(16))
        self.moved.append(lookup)
        return struct.pack("<I", 0)

    def set_class(self, stub: bytes) -> bytes:
        """R_SetUserAcknowledgementClass: the context, 4 bytes to align, message and class."""
        context, lookup, code = struct.unpack("<20s4xQH", stub)
        assert context == CONTEXT
        self.rejected.append((lookup, code))
        return struct.pack("<I", 0)

    def end_receive(self, stub: bytes) -> bytes:
        """R_EndReceive: 1 returns the message, 2 removes it."""
        context, acknowledge, request = struct.unpack("<20sII", stub)
        assert context == CONTEXT
        body = self.held.pop(request)
        if acknowledge == 1:
            self.bodies.insert(0, body)
        return struct.pack("<I", 0)


def _lookup_id(body: bytes) -> int:
    """What our client makes of the sequence number and the priority of a message."""
    return 7 - 3 << 56 | len(body)


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


def test_messages_are_found_by_their_lookup_identifiers(
    manager: ImpacketManager, orders: Queue
) -> None:
    first = orders.peek(timeout=0)
    behind = orders.peek_by_lookup_id(first.lookup_id, "next")
    assert len(behind.body) == SIZE
    assert orders.peek_by_lookup_id(behind.lookup_id, "previous").body == b"first"
    assert len(orders.receive_by_lookup_id(behind.lookup_id).body) == SIZE
    assert manager.bodies == [b"first"]


def test_a_message_is_moved_to_a_subqueue(manager: ImpacketManager, orders: Queue) -> None:
    lookup_id = orders.peek(timeout=0).lookup_id
    orders.move(lookup_id, "retry")
    assert manager.moved == [lookup_id]
    plain = NAME.removeprefix("DIRECT=")
    assert manager.names == [plain, f"{plain};retry"]
    assert manager.opnums[-3:] == [11, 10, 3]


def test_a_message_is_received_in_a_transaction_and_rejected(
    manager: ImpacketManager, orders: Queue
) -> None:
    manager.enlisted = 0
    transaction = Transaction(orders._backend, "")
    message = orders.receive(timeout=0, transaction=transaction)
    orders.reject(message.lookup_id, transaction=transaction)
    assert manager.rejected == [(message.lookup_id, 0xC004)]
    assert manager.opnums[-4:] == [12, 13, 15, 14]
