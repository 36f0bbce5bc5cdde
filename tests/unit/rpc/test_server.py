"""The server's machine: what it accepts, what it refuses, and what it costs."""

from __future__ import annotations

import pytest
from tests.strategies.rpc import (
    ECHO,
    OPEN,
    SYNTAX,
    THROW,
    USE,
    WAIT,
    Handle,
    Number,
    Pair,
    TestWire,
    data,
    make_channel,
    make_server,
)

from openmsmq.rpc.auth.channel import SecureChannel
from openmsmq.rpc.auth.context import AuthLevel, AuthType
from openmsmq.rpc.limits import (
    AUTHENTICATE_WITHIN,
    CALLS_MAX,
    CONTEXTS_MAX,
    FRAGMENT_SIZE,
    IDLE_CALL_WITHIN,
    REQUEST_STUB_MAX,
)
from openmsmq.rpc.pdu import (
    WHOLE,
    Bind,
    BindAck,
    ContextAnswer,
    ContextElement,
    NakReason,
    PduFlags,
    PduType,
    RejectReason,
    Verifier,
    encode_call,
    encode_pdu,
    read_bind_nak,
    read_fault,
)
from openmsmq.rpc.server import RpcServer, ServerConnection
from openmsmq.rpc.status import UNSENDABLE, RpcFault, RpcStatus
from openmsmq.rpc.syntax import NDR, NDR64, NO_SYNTAX, SyntaxId
from openmsmq.rpc.verification import SIGNATURE

FEATURES = SyntaxId.of("6cb71c2c-9812-4540-0300-000000000000", 1)
LEVELS = [
    (AuthLevel.NONE, 0),
    *((level, AuthType.NTLM) for level in (2, 3, 4, 5, 6)),
    *((level, AuthType.SPNEGO) for level in (2, 5, 6)),
]


class Bare:
    """A server's machine without a client's: what it is sent is written by hand."""

    def __init__(self, server: RpcServer | None = None, address: str = "127.0.0.1") -> None:
        self.wire = TestWire(address)
        self.server = server or make_server()[0]
        self.machine = ServerConnection(self.server, self.wire, 2103, 0)

    def send(self, kind: int, body: bytes = b"", call_id: int = 1, flags: int = WHOLE) -> None:
        self.machine.receive_data(encode_pdu(PduType(kind), flags, call_id, body), 0)

    def bind(
        self, *elements: ContextElement, group: int = 0, kind: PduType = PduType.BIND
    ) -> BindAck:
        proposed = elements or (ContextElement(0, SYNTAX, (NDR,)),)
        self.send(kind, Bind(FRAGMENT_SIZE, FRAGMENT_SIZE, group, proposed).encode())
        [answer] = self.wire.pdus()
        return BindAck.read(answer)

    def request(
        self, stub: bytes, call_id: int = 2, flags: int = WHOLE, opnum: int = ECHO, context: int = 0
    ) -> None:
        body = encode_call(0, context, opnum) + stub
        self.send(PduType.REQUEST, body, call_id, flags)

    def fault(self) -> int:
        """The status of the fault that was answered."""
        [pdu] = self.wire.pdus()
        assert pdu.kind == PduType.FAULT
        return read_fault(pdu)


# Binding


def test_there_is_a_result_for_each_proposal_in_their_order() -> None:
    """MQRR-018, MQRR-019, MQRR-411, MQRR-412, MQRR-413, MQRR-415"""
    unknown = SyntaxId.of("00000000-0000-0000-0000-000000000001", 1)
    ack = Bare().bind(
        ContextElement(0, SYNTAX, (NDR,)),
        ContextElement(1, SYNTAX, (NDR64,)),
        ContextElement(2, SYNTAX, (FEATURES,)),
        ContextElement(3, unknown, (NDR,)),
    )
    assert [(one.result, one.reason, one.transfer) for one in ack.results] == [
        (ContextAnswer.ACCEPTANCE, 0, NDR),
        (ContextAnswer.PROVIDER_REJECTION, RejectReason.TRANSFER_SYNTAXES_NOT_SUPPORTED, NO_SYNTAX),
        (ContextAnswer.NEGOTIATE_ACK, 0, NO_SYNTAX),
        (ContextAnswer.PROVIDER_REJECTION, RejectReason.ABSTRACT_SYNTAX_NOT_SUPPORTED, NO_SYNTAX),
    ]
    assert ack.secondary_address == "2103"


@pytest.mark.parametrize(
    ("version", "result"), [((1, 0), 0), ((1, 2), 0), ((1, 3), 2), ((2, 0), 2)]
)
def test_an_older_minor_version_is_served(version: tuple[int, int], result: int) -> None:
    asked = SyntaxId.of(str(SYNTAX.uuid), *version)
    assert Bare().bind(ContextElement(0, asked, (NDR,))).results[0].result == result


@pytest.mark.parametrize("kind", [PduType.BIND, PduType.REQUEST])
def test_only_version_5_0_is_spoken(kind: PduType) -> None:
    """MQRR-410"""
    bare = Bare()
    pdu = encode_pdu(kind, WHOLE, 1, Bind(5840, 5840, 0, ()).encode())
    bare.machine.receive_data(pdu[:1] + b"\x01" + pdu[2:], 0)
    [answer] = bare.wire.pdus()
    if kind == PduType.BIND:
        assert read_bind_nak(answer) == NakReason.PROTOCOL_VERSION_NOT_SUPPORTED
    else:
        assert read_fault(answer) == RpcStatus.PROTO_ERROR
    assert bare.wire.is_closed


def test_calls_may_overlap_if_the_client_asks_for_it() -> None:
    bare = Bare()
    body = Bind(FRAGMENT_SIZE, FRAGMENT_SIZE, 0, (ContextElement(0, SYNTAX, (NDR,)),)).encode()
    bare.send(PduType.BIND, body, flags=WHOLE | PduFlags.CONC_MPX)
    assert bare.wire.pdus()[0].flags == WHOLE | PduFlags.CONC_MPX


@pytest.mark.parametrize("flag", [0, PduFlags.SUPPORT_HEADER_SIGN])
def test_the_offer_to_sign_headers_is_answered_as_it_was_made(flag: int) -> None:
    """MQRR-422"""
    bare = Bare()
    bare.send(PduType.BIND, Bind(FRAGMENT_SIZE, FRAGMENT_SIZE, 0, ()).encode(), flags=WHOLE | flag)
    assert bare.wire.pdus()[0].flags & PduFlags.SUPPORT_HEADER_SIGN == flag


def test_fragments_that_are_too_small_are_no_offer() -> None:
    bare = Bare()
    bare.send(PduType.BIND, Bind(1000, 1431, 0, ()).encode())
    assert bare.wire.pdus()[0].kind == PduType.BIND_NAK
    assert bare.wire.is_closed


def test_contexts_are_bounded() -> None:
    bare = Bare()
    first = [ContextElement(at, SYNTAX, (NDR,)) for at in range(255)]
    assert {one.result for one in bare.bind(*first).results} == {0}
    more = [ContextElement(at, SYNTAX, (NDR,)) for at in range(250, CONTEXTS_MAX + 5)]
    ack = bare.bind(*more, kind=PduType.ALTER_CONTEXT)
    reasons = [(one.result, one.reason) for one in ack.results]
    assert reasons.count((0, 0)) == CONTEXTS_MAX - 250
    assert reasons[-1] == (2, RejectReason.LOCAL_LIMIT_EXCEEDED)


def test_a_second_bind_is_an_error_of_the_protocol() -> None:
    """MQRR-432"""
    bare = Bare()
    bare.bind()
    bare.send(PduType.BIND, Bind(5840, 5840, 0, ()).encode())
    assert bare.fault() == RpcStatus.PROTO_ERROR
    assert bare.wire.is_closed


@pytest.mark.parametrize("kind", [PduType.REQUEST, PduType.AUTH3, PduType.ALTER_CONTEXT, 99])
def test_nothing_comes_before_a_bind(kind: int) -> None:
    bare = Bare()
    pdu = bytearray(encode_pdu(PduType.REQUEST, WHOLE, 1, bytes(16)))
    pdu[2] = kind
    bare.machine.receive_data(bytes(pdu), 0)
    assert bare.fault() == RpcStatus.PROTO_ERROR
    assert bare.wire.is_closed


@pytest.mark.parametrize("address", ["127.0.0.1", "192.0.2.9"])
def test_only_the_same_computer_joins_an_association(address: str) -> None:
    """MQRR-416, MQRR-417"""
    first = Bare()
    group = first.bind().group
    second = Bare(first.server, address)
    body = Bind(5840, 5840, group, (ContextElement(0, SYNTAX, (NDR,)),)).encode()
    second.send(PduType.BIND, body)
    [answer] = second.wire.pdus()
    if address == "127.0.0.1":
        assert BindAck.read(answer).group == group
    else:
        assert read_bind_nak(answer) == NakReason.LOCAL_LIMIT_EXCEEDED


# Calls


@pytest.mark.parametrize(("level", "auth_type"), LEVELS)
@pytest.mark.parametrize("size", [0, 5, 5800, 300_000])
def test_calls_are_answered_at_every_level(level: int, auth_type: int, size: int) -> None:
    """MQRR-032, MQRR-421"""
    server, offered = make_server(level)
    pair = Pair(server, make_channel(level, auth_type))
    pair.call(ECHO, data(size))
    pair.call(ECHO, data(1))
    assert pair.run() == [data(size), data(1)]
    assert offered.callers == (["WORK\\alice"] * 2 if level > AuthLevel.NONE else ["", ""])


@pytest.mark.parametrize("cut", [1, 7, 100, 1000])
def test_the_stream_may_be_cut_anywhere(cut: int) -> None:
    server, _ = make_server(AuthLevel.PRIVACY)
    pair = Pair(server, make_channel(AuthLevel.PRIVACY))
    pair.call(ECHO, data(3000))
    while sent := pair.client_wire.take():
        for at in range(0, len(sent), cut):
            pair.server.receive_data(sent[at : at + cut], 0)
        pair.client.receive_data(pair.server_wire.take(), 0)
    assert pair.answers == [data(3000)]


@pytest.mark.parametrize("opnum", [5, 0xFFFF])
def test_an_unknown_operation_is_refused(opnum: int) -> None:
    pair = Pair(make_server()[0])
    pair.call(opnum, b"")
    [fault] = pair.run()
    assert isinstance(fault, RpcFault)
    assert fault.status == RpcStatus.OP_RNG_ERROR


def test_arguments_that_do_not_fit_are_refused_and_the_connection_stays() -> None:
    """MQRR-025"""
    pair = Pair(make_server()[0])
    pair.call(ECHO, data(5)[:-1])
    pair.call(ECHO, data(5))
    fault, answer = pair.run()
    assert isinstance(fault, RpcFault)
    assert fault.status == RpcStatus.BAD_STUB_DATA
    assert answer == data(5)


@pytest.mark.parametrize("level", [AuthLevel.NONE, AuthLevel.CONNECT, AuthLevel.INTEGRITY])
def test_a_level_below_the_least_is_refused(level: int) -> None:
    """MQRR-036"""
    server, _ = make_server(AuthLevel.PRIVACY)
    pair = Pair(server, make_channel(level))
    pair.call(ECHO, data(5))
    [fault] = pair.run()
    assert isinstance(fault, RpcFault)
    assert fault.status == RpcStatus.ACCESS_DENIED
    assert server.refusals["authentication level"] == 1


def test_an_operation_may_need_no_authentication() -> None:
    pair = Pair(make_server(AuthLevel.PRIVACY)[0])
    pair.call(THROW, Number(0xC00E0003).encode())
    [fault] = pair.run()
    assert isinstance(fault, RpcFault)
    assert fault.status == 0xC00E0003


@pytest.mark.parametrize("status", sorted(UNSENDABLE))
def test_statuses_that_no_fault_may_carry_are_not_sent(status: int) -> None:
    """MQRR-433"""
    pair = Pair(make_server()[0])
    pair.call(THROW, Number(status).encode())
    [fault] = pair.run()
    assert isinstance(fault, RpcFault)
    assert fault.status == RpcStatus.ACCESS_DENIED


@pytest.mark.parametrize("auth_type", [AuthType.NTLM, AuthType.SPNEGO])
def test_a_wrong_password_shows_as_a_fault(auth_type: int) -> None:
    """MQRR-418, MQRR-419"""
    server, offered = make_server(AuthLevel.PRIVACY)
    pair = Pair(server, make_channel(AuthLevel.PRIVACY, auth_type, "wrong"))
    pair.call(ECHO, data(5))
    [answer] = pair.run()
    assert isinstance(answer, Exception)
    assert "ACCESS_DENIED" in str(answer)
    assert server.refusals["authentication"] == 1
    assert offered.callers == []


def test_an_unknown_authentication_type_is_refused() -> None:
    """MQRR-420"""
    bare = Bare()
    body = Bind(5840, 5840, 0, ()).encode()
    verifier = Verifier(0x44, 6, 0, b"token")
    bare.machine.receive_data(encode_pdu(PduType.BIND, WHOLE, 1, body, verifier), 0)
    [answer] = bare.wire.pdus()
    assert read_bind_nak(answer) == NakReason.AUTHENTICATION_TYPE_NOT_RECOGNIZED
    assert bare.wire.is_closed


def test_a_first_token_that_is_no_token_is_refused() -> None:
    bare = Bare()
    body = Bind(5840, 5840, 0, ()).encode()
    verifier = Verifier(AuthType.NTLM, 6, 0, b"token")
    bare.machine.receive_data(encode_pdu(PduType.BIND, WHOLE, 1, body, verifier), 0)
    assert read_bind_nak(bare.wire.pdus()[0]) == NakReason.INVALID_CHECKSUM


def test_a_changed_request_is_refused_and_the_connection_closed() -> None:
    """MQRR-424"""
    server, offered = make_server(AuthLevel.PRIVACY)
    pair = Pair(server, make_channel(AuthLevel.PRIVACY))
    pair.call(ECHO, data(5))
    pair.run()
    pair.call(ECHO, data(5))
    sent = bytearray(pair.client_wire.take())
    sent[30] ^= 1
    pair.server.receive_data(bytes(sent), 0)
    assert read_fault(pair.server_wire.pdus()[0]) == RpcStatus.ACCESS_DENIED
    assert pair.server_wire.is_closed
    assert len(offered.callers) == 1
    assert server.refusals["signature"] == 1


def test_a_request_before_the_last_token_is_refused() -> None:
    server, offered = make_server(AuthLevel.CONNECT)
    pair = Pair(server, make_channel(AuthLevel.CONNECT))
    pair.server.receive_data(pair.client_wire.take(), 0)
    pair.server_wire.take()
    [fragment] = SecureChannel().fragments(PduType.REQUEST, 2, 0, ECHO, data(5), FRAGMENT_SIZE)
    pair.server.receive_data(fragment, 0)
    assert read_fault(pair.server_wire.pdus()[0]) == RpcStatus.ACCESS_DENIED
    assert offered.callers == []


def test_a_request_that_contradicts_its_trailer_is_refused() -> None:
    pair = Pair(make_server()[0])
    trailer = SIGNATURE + (0x4002).to_bytes(2, "little") + (40).to_bytes(2, "little") + bytes(40)
    pair.call(ECHO, data(4) + trailer)
    [fault] = pair.run()
    assert isinstance(fault, RpcFault)
    assert fault.status == RpcStatus.ACCESS_DENIED


# Fragments


def test_call_numbers_rise() -> None:
    """MQRR-431, MQRR-432"""
    bare = Bare()
    bare.bind()
    bare.request(data(1), 7)
    bare.wire.take()
    bare.request(data(1), 7)
    assert bare.fault() == RpcStatus.PROTO_ERROR
    assert bare.wire.is_closed


def test_a_call_that_begins_inside_of_another_is_an_error() -> None:
    bare = Bare()
    bare.bind()
    bare.request(data(1), 2, PduFlags.FIRST_FRAG)
    bare.request(data(1), 3, WHOLE)
    assert bare.fault() == RpcStatus.PROTO_ERROR


@pytest.mark.parametrize("other", [{"opnum": USE}, {"context": 1}, {"call_id": 3}])
def test_a_fragment_that_does_not_belong_to_its_call_is_an_error(other: dict[str, int]) -> None:
    """MQRR-431"""
    bare = Bare()
    bare.bind()
    bare.request(data(1), 2, PduFlags.FIRST_FRAG)
    bare.request(data(1), **{"call_id": 2, "flags": PduFlags.LAST_FRAG, **other})
    assert bare.fault() == RpcStatus.PROTO_ERROR


def test_a_stray_fragment_of_a_recent_call_is_ignored_and_of_an_old_one_an_error() -> None:
    bare = Bare()
    bare.bind()
    bare.request(data(1), 1000)
    bare.wire.take()
    bare.request(data(1), 900, PduFlags.LAST_FRAG)
    assert bare.wire.take() == b""
    bare.request(data(1), 850, PduFlags.LAST_FRAG)
    assert bare.fault() == RpcStatus.PROTO_ERROR


def test_a_request_that_is_too_large_is_refused_as_soon_as_that_is_known() -> None:
    """MQRR-429"""
    server, _ = make_server()
    pair = Pair(server)
    pair.call(ECHO, data(REQUEST_STUB_MAX + 10_000))
    pair.call(ECHO, data(1))
    fault, answer = pair.run()
    assert isinstance(fault, RpcFault)
    assert fault.status == RpcStatus.ACCESS_DENIED
    assert answer == data(1)
    assert pair.server.pending == 0


def test_a_hint_of_any_size_reserves_nothing() -> None:
    """MQRR-430"""
    bare = Bare()
    bare.bind()
    body = encode_call(0xFFFFFFFF, 0, ECHO) + data(1)
    bare.send(PduType.REQUEST, body[:20], 2, PduFlags.FIRST_FRAG)
    assert bare.machine.pending < 100


def test_an_unknown_context_is_refused_and_the_rest_of_the_call_ignored() -> None:
    bare = Bare()
    bare.bind()
    bare.request(data(1), 2, PduFlags.FIRST_FRAG, context=9)
    assert bare.fault() == RpcStatus.INVALID_PRES_CONTEXT_ID
    bare.request(data(1), 2, PduFlags.LAST_FRAG, context=9)
    assert bare.wire.take() == b""
    assert not bare.wire.is_closed


def test_garbage_closes_the_connection() -> None:
    bare = Bare()
    bare.machine.receive_data(bytes(100), 0)
    assert bare.wire.is_closed
    assert bare.server.refusals["malformed PDU"] == 1
    bare.machine.receive_data(b"more", 0)


# Calls that wait


def test_a_call_that_waits_does_not_hold_up_others() -> None:
    """MQRR-436"""
    server, offered = make_server()
    pair = Pair(server)
    pair.call(WAIT, data(1))
    pair.call(ECHO, data(2))
    assert pair.run() == [data(2)]
    offered.waiting[0].respond(offered.waiting[0].arguments)
    assert pair.run() == [data(2), data(1)]


def test_a_call_that_is_cancelled_is_answered_at_once() -> None:
    server, _ = make_server()
    pair = Pair(server)
    call_id = pair.call(WAIT, data(1))
    pair.run()
    pair.client.cancel(call_id)
    [answer] = pair.run()
    assert isinstance(answer, bytes)
    assert b"gone" in answer


def test_an_orphaned_call_is_abandoned() -> None:
    server, offered = make_server()
    pair = Pair(server)
    pair.call(WAIT, data(1), deadline=5)
    pair.run()
    pair.client.tick(5)
    assert isinstance(pair.run()[0], TimeoutError)
    assert not offered.waiting[0].is_open
    assert pair.server.open_calls == 0


def test_the_rest_of_an_orphaned_request_is_ignored() -> None:
    bare = Bare()
    bare.bind()
    bare.request(data(1), 2, PduFlags.FIRST_FRAG)
    bare.send(PduType.ORPHANED, b"", 2)
    assert bare.machine.pending == 0
    bare.request(data(1), 2, PduFlags.LAST_FRAG)
    assert bare.wire.take() == b""


def test_unanswered_calls_are_bounded() -> None:
    server, _ = make_server()
    pair = Pair(server)
    for _ in range(CALLS_MAX + 1):
        pair.call(WAIT, data(1))
    [fault] = pair.run()
    assert isinstance(fault, RpcFault)
    assert fault.status == RpcStatus.SERVER_TOO_BUSY
    assert pair.server.open_calls == CALLS_MAX


def test_waiting_calls_are_abandoned_with_their_connection() -> None:
    server, offered = make_server()
    pair = Pair(server)
    pair.call(WAIT, data(1))
    pair.run()
    pair.server.lost()
    assert not offered.waiting[0].is_open
    offered.waiting[0].respond(offered.waiting[0].arguments)
    assert pair.server_wire.out == b""


# Context handles


def test_a_handle_is_good_on_all_connections_of_its_association() -> None:
    """MQRR-049, MQRR-050"""
    server, offered = make_server()
    pair = Pair(server)
    pair.call(OPEN, data(0))
    [handle] = pair.run()
    assert isinstance(handle, bytes)
    second = Pair(server, group=pair.client.group)
    second.call(USE, handle)
    assert second.run() == [Number(0).encode()]
    stranger = Pair(server)
    stranger.call(USE, handle)
    [fault] = stranger.run()
    assert isinstance(fault, RpcFault)
    assert fault.status == RpcStatus.CONTEXT_MISMATCH
    assert offered.things[0].run_downs == 0


def test_handles_are_run_down_when_the_last_connection_is_gone() -> None:
    """MQRR-291"""
    server, offered = make_server()
    pair = Pair(server)
    pair.call(OPEN, data(0))
    pair.run()
    second = Pair(server, group=pair.client.group)
    second.run()
    pair.server.lost()
    assert offered.things[0].run_downs == 0
    second.server.lost()
    second.server.lost()
    assert offered.things[0].run_downs == 1


def test_a_null_handle_is_refused() -> None:
    pair = Pair(make_server()[0])
    pair.call(USE, bytes(20))
    [fault] = pair.run()
    assert isinstance(fault, RpcFault)
    assert Handle.decode(bytes(20)).handle.int == 0


# Time


def test_a_client_that_does_not_bind_in_time_is_closed() -> None:
    bare = Bare()
    assert bare.machine.next_deadline == AUTHENTICATE_WITHIN
    bare.machine.tick(AUTHENTICATE_WITHIN - 1)
    assert not bare.wire.is_closed
    bare.machine.tick(AUTHENTICATE_WITHIN)
    assert bare.wire.is_closed
    assert bare.server.refusals["too slow"] == 1


def test_a_client_that_keeps_its_last_token_back_is_closed() -> None:
    server, _ = make_server(AuthLevel.PRIVACY)
    pair = Pair(server, make_channel(AuthLevel.PRIVACY))
    pair.server.receive_data(pair.client_wire.take(), 0)
    assert pair.server.next_deadline == AUTHENTICATE_WITHIN
    pair.server.tick(AUTHENTICATE_WITHIN)
    assert pair.server_wire.is_closed


def test_a_client_that_is_bound_may_be_silent() -> None:
    bare = Bare()
    bare.bind()
    assert bare.machine.next_deadline is None


def test_a_client_that_keeps_a_fragment_back_is_closed() -> None:
    bare = Bare()
    bare.bind()
    bare.request(data(1), 2, PduFlags.FIRST_FRAG)
    assert bare.machine.next_deadline == IDLE_CALL_WITHIN
    bare.request(b"", 2, 0)
    assert bare.machine.next_deadline == IDLE_CALL_WITHIN  # a drop now and then is not enough
    bare.machine.tick(IDLE_CALL_WITHIN)
    assert bare.wire.is_closed
