"""Clients of remote calls that lie, each held to what its own login allows."""

from __future__ import annotations

import tracemalloc
from uuid import UUID

import pytest
from tests.strategies.remote_reader import ORDERS, Reader, RemoteWorld, open_arguments
from tests.strategies.rpc import WAIT, Data, Pair, TestWire, data, make_channel, make_server

from openmsmq.interfaces.remote_read import stubs
from openmsmq.interfaces.remote_read.server import RECEIVE_ACCESS
from openmsmq.interfaces.remote_read.stubs import REMOTE_READ, ReadOpnum
from openmsmq.rpc.auth.context import AuthLevel, AuthType
from openmsmq.rpc.limits import (
    CONNECTIONS_MAX,
    CONTEXTS_MAX,
    REQUEST_STUB_MAX,
    TOKEN_SIZE_MAX,
    UNREAD_MAX,
)
from openmsmq.rpc.pdu import (
    WHOLE,
    Bind,
    BindAck,
    ContextAnswer,
    ContextElement,
    PduFlags,
    PduType,
    Verifier,
    encode_call,
    encode_header,
    encode_pdu,
    read_fault,
)
from openmsmq.rpc.server import RpcServer, ServerConnection
from openmsmq.rpc.status import RpcStatus
from openmsmq.rpc.syntax import NDR
from openmsmq.types.caller import Caller, Grant

ECHO = 0


def serves(server: RpcServer) -> bool:
    """Whether the next client gets its answer."""
    pair = Pair(server, make_channel(AuthLevel.PRIVACY))
    pair.call(ECHO, data(5))
    return pair.run() == [data(5)]


def serves_readers(world: RemoteWorld) -> bool:
    """Whether the next reader gets the first message."""
    reader = world.connect()
    world.send("next")
    return reader.peek(reader.open(peek=True)) == 0


class Alice(Reader):
    """A reader that has logged on."""

    def __init__(self, world: RemoteWorld, level: int, group: int = 0) -> None:
        self.pair = Pair(world.rpc, make_channel(level), group, syntax=REMOTE_READ)
        self.pair.run()


@pytest.mark.parametrize("level", [AuthLevel.NONE, AuthLevel.CONNECT])
def test_a_handle_of_one_user_is_refused_to_another_of_the_same_association(level: int) -> None:
    world = RemoteWorld()
    world.send("secret")
    alice = Alice(world, AuthLevel.PRIVACY)
    handle = alice.open()
    stranger = world.connect(alice.group) if level == AuthLevel.NONE else world.connect()
    arguments = stubs.QueueContextArgument(handle)
    refused = RpcStatus.ACCESS_DENIED if level == AuthLevel.NONE else RpcStatus.CONTEXT_MISMATCH
    assert stranger.fault(ReadOpnum.PURGE_QUEUE, arguments) == refused
    assert stranger.fault(ReadOpnum.CLOSE_QUEUE, arguments) == refused
    assert alice.peek(handle) == 0
    assert serves_readers(world)


def test_a_guessed_handle_is_refused() -> None:
    world = RemoteWorld()
    reader = world.connect()
    reader.open()
    for number in range(1000):
        arguments = stubs.QueueContextArgument(UUID(int=number))
        assert reader.fault(ReadOpnum.PURGE_QUEUE, arguments) == RpcStatus.CONTEXT_MISMATCH
    assert serves_readers(world)


@pytest.mark.parametrize("level", [AuthLevel.INTEGRITY, AuthLevel.PRIVACY])
def test_a_request_that_is_replayed_is_refused(level: int) -> None:
    server, offered = make_server(level)
    pair = Pair(server, make_channel(level))
    pair.run()
    pair.call(ECHO, data(5))
    sent = pair.client_wire.take()
    pair.server.receive_data(sent, 0)
    pair.server_wire.take()
    pair.server.receive_data(sent, 0)
    assert read_fault(pair.server_wire.pdus()[0]) == RpcStatus.ACCESS_DENIED
    assert pair.server_wire.is_closed
    assert len(offered.callers) == 1
    assert server.refusals["signature"] == 1
    assert serves(server)


@pytest.mark.parametrize("cut", [1, 8, 15])
def test_a_truncated_signature_is_refused(cut: int) -> None:
    server, offered = make_server(AuthLevel.INTEGRITY)
    pair = Pair(server, make_channel(AuthLevel.INTEGRITY))
    pair.run()
    pair.call(ECHO, data(5))
    sent = bytearray(pair.client_wire.take()[:-cut])
    sent[8:10] = len(sent).to_bytes(2, "little")
    sent[10:12] = (16 - cut).to_bytes(2, "little")
    pair.server.receive_data(bytes(sent), 0)
    assert pair.server_wire.is_closed
    assert not offered.callers
    assert serves(server)


@pytest.mark.parametrize("size", [16, 1000, 0xFFFF])
def test_a_trailer_that_says_it_is_longer_than_its_fragment_is_refused(size: int) -> None:
    server, _ = make_server()
    pair = Pair(server)
    pair.run()
    body = encode_call(4, 0, ECHO) + bytes(4)
    header = encode_header(PduType.REQUEST, WHOLE, 9, 16 + len(body), size)
    pair.server.receive_data(header + body, 0)
    assert pair.server_wire.is_closed
    assert server.refusals["malformed PDU"] == 1
    assert serves(server)


def test_a_token_that_is_too_long_is_refused() -> None:
    server, _ = make_server()
    wire = TestWire()
    machine = ServerConnection(server, wire, 2103, 0)
    body = Bind(5840, 5840, 0, ()).encode()
    verifier = Verifier(AuthType.NTLM, AuthLevel.PRIVACY, 0, bytes(TOKEN_SIZE_MAX + 1))
    machine.receive_data(encode_pdu(PduType.BIND, WHOLE, 1, body, verifier), 0)
    assert wire.is_closed
    assert serves(server)


def test_a_bind_with_255_contexts_is_answered_and_their_number_is_bounded() -> None:
    server, offered = make_server()
    wire = TestWire()
    machine = ServerConnection(server, wire, 2103, 0)
    for call_id in range(1, 5):
        kind = PduType.BIND if call_id == 1 else PduType.ALTER_CONTEXT
        elements = tuple(
            ContextElement(255 * call_id + number, offered.interface.syntax, (NDR,))
            for number in range(255)
        )
        machine.receive_data(
            encode_pdu(kind, WHOLE, call_id, Bind(5840, 5840, 0, elements).encode()), 0
        )
    answers = [one.result for pdu in wire.pdus() for one in BindAck.read(pdu).results]
    assert len(answers) == 4 * 255
    assert answers.count(ContextAnswer.ACCEPTANCE) == CONTEXTS_MAX
    assert not wire.is_closed
    assert serves(server)


def test_a_flood_of_fragments_is_cut_at_the_bound_of_a_request() -> None:
    server, _ = make_server()
    pair = Pair(server)
    pair.run()
    piece = bytes(5000)
    for number in range(REQUEST_STUB_MAX // len(piece) + 100):
        flags = PduFlags.FIRST_FRAG if number == 0 else 0
        body = encode_call(0xFFFFFFFF, 0, ECHO) + piece  # alloc_hint lies, too
        pair.server.receive_data(
            encode_header(PduType.REQUEST, flags, 9, 16 + len(body), 0) + body, 0
        )
        assert pair.server.pending <= REQUEST_STUB_MAX
    assert server.refusals["request too large"] == 1
    assert pair.server.pending == 0
    assert serves(server)


@pytest.mark.parametrize("alloc_hint", [0, 1, 0x7FFFFFFF, 0xFFFFFFFF])
def test_an_alloc_hint_that_lies_costs_nothing_and_changes_nothing(alloc_hint: int) -> None:
    """Only bytes that have come take memory, in one fragment or in two."""
    server, _ = make_server()
    pair = Pair(server)
    pair.run()
    stub = data(3000)
    tracemalloc.start()
    for call_id, flags, piece in (
        (9, PduFlags.FIRST_FRAG | PduFlags.LAST_FRAG, stub),
        (10, PduFlags.FIRST_FRAG, stub[:1000]),
        (10, PduFlags.LAST_FRAG, stub[1000:]),
    ):
        body = encode_call(alloc_hint, 0, ECHO) + piece
        header = encode_header(PduType.REQUEST, flags, call_id, 16 + len(body), 0)
        pair.server.receive_data(header + body, 0)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1 << 20
    answers = pair.server_wire.pdus()
    assert [one.kind for one in answers] == [PduType.RESPONSE] * 2
    assert all(stub in one.data for one in answers)
    assert serves(server)


def test_a_storm_of_binds_leaves_nothing_behind() -> None:
    world = RemoteWorld()
    for _ in range(500):
        reader = world.connect()
        reader.open()
        reader.lose()
    assert len(world.rpc.associations) == 0
    queue = world.manager.find_queue("orders")
    assert not queue.modes
    assert serves_readers(world)


def test_a_storm_of_binds_that_say_nothing_more_does_not_keep_out_the_next_client() -> None:
    server, offered = make_server()
    element = ContextElement(0, offered.interface.syntax, (NDR,))
    bind = encode_pdu(PduType.BIND, WHOLE, 1, Bind(5840, 5840, 0, (element,)).encode())
    silent = []
    for _ in range(500):
        wire = TestWire()
        silent.append(ServerConnection(server, wire, 2103, 0))
        silent[-1].receive_data(bind, 0)
        [answer] = wire.pdus()
        assert BindAck.read(answer).results[0].result == ContextAnswer.ACCEPTANCE
    assert serves(server)
    for connection in silent:
        connection.lost()
    assert len(server.associations) == 1, "that of the client that was served"


def test_a_second_bind_ends_its_connection_and_no_other() -> None:
    server, offered = make_server()
    element = ContextElement(0, offered.interface.syntax, (NDR,))
    wire = TestWire()
    machine = ServerConnection(server, wire, 2103, 0)
    for call_id in (1, 2):
        body = Bind(5840, 5840, 0, (element,)).encode()
        machine.receive_data(encode_pdu(PduType.BIND, WHOLE, call_id, body), 0)
    assert wire.is_closed
    assert serves(server)


def test_one_association_cannot_take_all_connections() -> None:
    world = RemoteWorld()
    first = world.connect()
    joined = [world.connect(first.group) for _ in range(100)]
    assert sum(one.pair.client.is_ready for one in joined) == CONNECTIONS_MAX - 1
    assert serves_readers(world)


def test_what_a_user_may_not_read_is_refused_like_what_is_not_there() -> None:
    world = RemoteWorld(Caller("bob", Grant("read", ("private$\\invoices",))))
    reader = world.connect()
    for name in (ORDERS, "DIRECT=OS:HOST\\private$\\missing"):
        status = reader.fault(ReadOpnum.OPEN_QUEUE, open_arguments(name, RECEIVE_ACCESS))
        assert status == 0xC00E0025


def test_a_hundred_clients_with_half_a_pdu_are_bounded_and_closed_in_time() -> None:
    """Each may keep back what one fragment can have, and not for long."""
    server, _ = make_server()
    body = encode_call(0, 0, ECHO) + bytes(5000)
    request = encode_header(PduType.REQUEST, WHOLE, 9, 16 + len(body), 0) + body
    half = request[: len(request) // 2]
    pairs = [Pair(server) for _ in range(100)]
    for pair in pairs:
        pair.run()
        pair.server.receive_data(half, 0)
    kept = [pair.server.pending for pair in pairs]
    assert max(kept) <= len(half)
    for pair in pairs:
        assert pair.server.next_deadline is not None, "half a PDU is not waited for without end"
        pair.server.tick(pair.server.next_deadline)
        assert pair.server.is_closed
    silent = []
    for _ in range(100):
        wire = TestWire()
        connection = ServerConnection(server, wire, 2103, 0)
        connection.receive_data(half[:10], 0)
        silent.append((wire, connection))
    for wire, connection in silent:
        assert connection.next_deadline is not None
        connection.tick(connection.next_deadline)
        assert wire.is_closed
    assert serves(server)


class SlowWire(TestWire):
    """Is full with the first answer, until it is read."""

    @property
    def write_buffer_full(self) -> bool:  # type: ignore[override]
        return len(self.out) > 1000


def test_requests_of_a_client_that_does_not_read_are_not_taken() -> None:
    """Or a packet of small requests would be answered with all of memory."""
    server, offered = make_server()
    pair = Pair(server)
    pair.server_wire = SlowWire()
    pair.server = ServerConnection(server, pair.server_wire, 2103, 0)
    pair.run()
    for _ in range(200):
        pair.call(ECHO, data(5000))
    pair.server.receive_data(pair.client_wire.take(), 0)
    assert len(offered.callers) == 1
    assert pair.server.is_full
    assert pair.server.next_deadline is None, "it is not the one that keeps something back"
    for read in range(2, 201):
        pair.client.receive_data(pair.server_wire.take(), 0)
        pair.server.resume(0)
        assert len(offered.callers) == read
    pair.client.receive_data(pair.server_wire.take(), 0)
    assert len(pair.answers) == 200


def test_answers_that_become_ready_for_a_client_that_does_not_read_are_bounded() -> None:
    server, offered = make_server()
    pair = Pair(server)
    pair.run()
    for _ in range(100):
        pair.call(WAIT, data(4))
    pair.run()
    assert len(offered.waiting) == 100
    large = Data(1 << 20, bytes(1 << 20))
    pair.server_wire.write_buffer_full = True
    for call in offered.waiting:
        call.respond(large)
    assert pair.server_wire.is_closed
    assert len(pair.server_wire.out) <= UNREAD_MAX + (1 << 20)
    assert server.refusals["does not read"] == 1
