"""The client's machine."""

from __future__ import annotations

import pytest
from tests.strategies.rpc import ECHO, SYNTAX, WAIT, Pair, TestWire, data, make_channel, make_server

from openmsmq.rpc.auth.context import AuthLevel
from openmsmq.rpc.client import ClientConnection, Disconnected
from openmsmq.rpc.limits import AUTHENTICATE_WITHIN, FRAGMENT_SIZE, RESPONSE_STUB_MAX
from openmsmq.rpc.pdu import (
    WHOLE,
    BindAck,
    ContextAnswer,
    ContextResult,
    NakReason,
    PduFlags,
    PduType,
    RejectReason,
    encode_bind_nak,
    encode_call,
    encode_fault,
    encode_pdu,
)
from openmsmq.rpc.status import RpcFault
from openmsmq.rpc.syntax import NDR, NO_SYNTAX, SyntaxId


class Bare:
    """A client's machine without a server's."""

    def __init__(self) -> None:
        self.wire = TestWire()
        self.machine = ClientConnection(self.wire, SYNTAX, 0)
        self.answers: list[bytes | Exception] = []

    def receive(self, kind: PduType, body: bytes, call_id: int = 1, flags: int = WHOLE) -> None:
        self.machine.receive_data(encode_pdu(kind, flags, call_id, body), 0)

    def bind(self, flags: int = WHOLE) -> None:
        """Let the server accept."""
        results = (ContextResult(ContextAnswer.ACCEPTANCE, 0, NDR),)
        body = BindAck(FRAGMENT_SIZE, FRAGMENT_SIZE, 0x53F0, "2103", results).encode()
        self.receive(PduType.BIND_ACK, body, flags=flags)
        self.wire.take()

    def call(self, deadline: float | None = None) -> int:
        return self.machine.call(ECHO, data(1), self.answers.append, deadline)


def test_calls_wait_for_the_bind() -> None:
    bare = Bare()
    bare.wire.take()
    bare.call()
    assert bare.wire.take() == b""
    assert not bare.machine.is_ready
    assert bare.machine.group == 0
    bare.bind()
    assert bare.machine.is_ready
    assert bare.machine.group == 0x53F0


def test_without_multiplexing_a_call_waits_for_the_whole_answer_of_the_one_before() -> None:
    """MQRR-437"""
    bare = Bare()
    bare.bind()
    first = bare.call()
    bare.call()
    assert len(bare.wire.pdus()) == 1
    bare.receive(PduType.RESPONSE, encode_call(0, 0, 0) + b"a", first, PduFlags.FIRST_FRAG)
    assert bare.wire.pdus() == []
    bare.receive(PduType.RESPONSE, encode_call(0, 0, 0) + b"b", first, PduFlags.LAST_FRAG)
    assert bare.answers == [b"ab"]
    assert len(bare.wire.pdus()) == 1


def test_answers_may_come_in_any_order_and_their_fragments_mixed() -> None:
    bare = Bare()
    bare.bind(WHOLE | PduFlags.CONC_MPX)
    first, second = bare.call(), bare.call()
    assert len(bare.wire.pdus()) == 2
    call = encode_call(0, 0, 0)
    bare.receive(PduType.RESPONSE, call + b"a", first, PduFlags.FIRST_FRAG)
    bare.receive(PduType.RESPONSE, call + b"x", second, WHOLE)
    bare.receive(PduType.RESPONSE, call + b"b", first, PduFlags.LAST_FRAG)
    assert bare.answers == [b"x", b"ab"]


def test_an_interface_that_is_not_accepted_fails_the_calls() -> None:
    """MQRR-414"""
    bare = Bare()
    bare.call()
    reason = RejectReason.ABSTRACT_SYNTAX_NOT_SUPPORTED
    results = (ContextResult(ContextAnswer.PROVIDER_REJECTION, reason, NO_SYNTAX),)
    body = BindAck(FRAGMENT_SIZE, FRAGMENT_SIZE, 1, "", results).encode()
    bare.receive(PduType.BIND_ACK, body)
    [error] = bare.answers
    assert isinstance(error, Disconnected)
    assert "does not accept" in str(error)
    assert bare.wire.is_closed


def test_a_refused_bind_fails_the_calls() -> None:
    bare = Bare()
    bare.call()
    bare.receive(PduType.BIND_NAK, encode_bind_nak(NakReason.LOCAL_LIMIT_EXCEEDED))
    [error] = bare.answers
    assert "reason 2" in str(error)


def test_a_bind_without_an_answer_is_given_up() -> None:
    bare = Bare()
    bare.call()
    assert bare.machine.next_deadline == AUTHENTICATE_WITHIN
    bare.machine.tick(AUTHENTICATE_WITHIN)
    assert isinstance(bare.answers[0], Disconnected)
    assert bare.machine.next_deadline is None


def test_a_fault_is_the_answer_of_one_call() -> None:
    bare = Bare()
    bare.bind()
    call_id = bare.call()
    bare.receive(PduType.FAULT, encode_fault(0, 0xC00E0003), call_id)
    [fault] = bare.answers
    assert isinstance(fault, RpcFault)
    assert fault.status == 0xC00E0003
    assert not bare.machine.is_closed


def test_a_call_whose_time_is_over_is_abandoned() -> None:
    bare = Bare()
    bare.bind()
    call_id = bare.call(deadline=5)
    bare.call(deadline=6)
    bare.wire.take()
    assert bare.machine.next_deadline == 5
    bare.machine.tick(5)
    assert isinstance(bare.answers[0], TimeoutError)
    assert [pdu.kind for pdu in bare.wire.pdus()] == [PduType.ORPHANED, PduType.REQUEST]
    bare.receive(PduType.RESPONSE, encode_call(0, 0, 0) + b"late", call_id)
    assert len(bare.answers) == 1


def test_a_queued_call_whose_time_is_over_is_never_sent() -> None:
    bare = Bare()
    bare.bind()
    bare.call()
    bare.call(deadline=5)
    bare.wire.take()
    bare.machine.tick(5)
    assert isinstance(bare.answers[0], TimeoutError)
    assert bare.wire.take() == b""


def test_calls_under_way_fail_when_the_connection_is_lost() -> None:
    bare = Bare()
    bare.bind()
    bare.call()
    bare.call()
    bare.machine.lost()
    assert [type(answer) for answer in bare.answers] == [Disconnected] * 2
    bare.call()
    assert len(bare.answers) == 3


def test_a_shutdown_ends_the_connection() -> None:
    bare = Bare()
    bare.bind()
    bare.receive(PduType.SHUTDOWN, b"")
    assert bare.machine.is_closed


def test_closing_fails_calls_once() -> None:
    bare = Bare()
    bare.bind()
    bare.call()
    bare.machine.close()
    bare.machine.close()
    assert len(bare.answers) == 1


def test_a_response_that_is_too_large_ends_the_connection() -> None:
    bare = Bare()
    bare.bind()
    call_id = bare.call()
    piece = encode_call(0, 0, 0) + bytes(60_000)
    for _ in range(RESPONSE_STUB_MAX // 60_000 + 1):
        bare.receive(PduType.RESPONSE, piece, call_id, 0)
    assert isinstance(bare.answers[0], Disconnected)


@pytest.mark.parametrize("kind", [PduType.BIND, PduType.REQUEST, PduType.BIND_ACK])
def test_what_a_server_does_not_send_ends_the_connection(kind: PduType) -> None:
    bare = Bare()
    bare.bind()
    bare.receive(kind, bytes(16))
    assert bare.machine.is_closed


def test_garbage_ends_the_connection() -> None:
    bare = Bare()
    bare.machine.receive_data(bytes(100), 0)
    assert bare.machine.is_closed


def test_a_server_that_does_not_authenticate_is_left() -> None:
    wire = TestWire()
    machine = ClientConnection(wire, SYNTAX, 0, channel=make_channel(AuthLevel.PRIVACY))
    results = (ContextResult(ContextAnswer.ACCEPTANCE, 0, NDR),)
    body = BindAck(FRAGMENT_SIZE, FRAGMENT_SIZE, 1, "", results).encode()
    machine.receive_data(encode_pdu(PduType.BIND_ACK, WHOLE, 1, body), 0)
    assert machine.is_closed


def test_a_changed_response_ends_the_connection() -> None:
    """MQRR-424"""
    pair = Pair(make_server(AuthLevel.PRIVACY)[0], make_channel(AuthLevel.PRIVACY))
    pair.run()
    pair.call(ECHO, data(5))
    pair.server.receive_data(pair.client_wire.take(), 0)
    answer = bytearray(pair.server_wire.take())
    answer[30] ^= 1
    pair.client.receive_data(bytes(answer), 0)
    assert isinstance(pair.answers[0], Disconnected)


def test_an_unknown_interface_fails_at_the_server() -> None:
    """MQRR-414"""
    unknown = SyntaxId.of("00000000-0000-0000-0000-000000000001", 1)
    pair = Pair(make_server()[0], syntax=unknown)
    pair.call(WAIT, data(1))
    assert isinstance(pair.run()[0], Disconnected)
