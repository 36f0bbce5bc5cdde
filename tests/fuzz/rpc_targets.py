"""What is fuzzed of remote calls: PDUs for both machines, stubs, and tokens."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from openmsmq.errors import Malformed
from openmsmq.rpc.auth.context import AuthenticationFailed, AuthLevel, AuthType
from openmsmq.rpc.client import Disconnected
from openmsmq.rpc.ndr.stream import NdrReader, Order
from openmsmq.rpc.ndr.structure import Structure
from tests.strategies.rpc import (
    ECHO,
    Data,
    Handle,
    Number,
    Pair,
    data,
    make_acceptor,
    make_channel,
    make_server,
)
from tests.strategies.rpc_stubs import Everything

STRUCTURES: tuple[type[Structure], ...] = (Data, Handle, Number, Everything)


def rpc_server(stream: bytes) -> None:
    """A server that is sent anything, before or after a bind: it answers or closes.

    In one piece and in two it does the same, and it keeps no more than what came.
    """
    start, cut = (stream[0], 16 * stream[1]) if len(stream) > 1 else (0, 0)
    rest = stream[2:]
    assert _server(start, [rest]) == _server(start, [rest[:cut], rest[cut:]])


def _server(start: int, chunks: list[bytes]) -> tuple[bytes, bool]:
    level = (AuthLevel.NONE, AuthLevel.CONNECT)[start >> 1 & 1]
    server, offered = make_server(level)
    pair = Pair(server, make_channel(level))
    if start & 1:
        pair.run()
    for chunk in chunks:
        pair.server.receive_data(chunk, 0)
    assert pair.server.pending <= sum(map(len, chunks))
    for call in offered.waiting:
        call.respond(call.arguments)
    if (deadline := pair.server.next_deadline) is not None and not pair.server_wire.is_closed:
        pair.server.tick(deadline)
        assert pair.server_wire.is_closed
    pair.server.lost()
    assert all(thing.run_downs == 1 for thing in offered.things)
    return pair.server_wire.take(), pair.server_wire.is_closed


def rpc_client(stream: bytes) -> None:
    """A client that is answered with anything: every call ends once."""
    start, rest = (stream[0], stream[1:]) if stream else (0, b"")
    level = (AuthLevel.NONE, AuthLevel.PRIVACY)[start >> 1 & 1]
    pair = Pair(make_server()[0], make_channel(level))
    if start & 1:
        pair.run()
    for _ in range(3):
        pair.call(ECHO, data(3))
    pair.client.receive_data(rest, 0)
    pair.client.lost()
    assert len(pair.answers) == 3
    for answer in pair.answers:
        assert isinstance(answer, bytes) or str(answer) or isinstance(answer, Disconnected)


def rpc_stub(stub: bytes) -> None:
    """Arguments in either byte order: a value that is written and read again, or `Malformed`."""
    for kind in STRUCTURES:
        for order in ("<", ">"):
            _stub(kind, stub, "<" if order == "<" else ">")


def _stub(kind: type[Structure], stub: bytes, order: Order) -> None:
    with suppress(Malformed):
        reader = NdrReader(stub, order)
        value = kind.decode_from(reader)
        assert reader.offset <= len(stub)
        assert kind.decode(value.encode()) == value


def rpc_token(token: bytes) -> None:
    """Tokens of both protocols for both sides: an answer or `AuthenticationFailed`."""
    for auth_type in (AuthType.NTLM, AuthType.SPNEGO):
        for is_second in (False, True):
            client = make_channel(AuthLevel.PRIVACY, auth_type).context
            server = make_acceptor(auth_type)
            assert client is not None
            assert server is not None
            first = client.step(b"")
            if is_second:
                server.step(first)
            with suppress(AuthenticationFailed):
                client.step(token)
            with suppress(AuthenticationFailed):
                server.step(token)
            assert server.is_complete == (server.principal == "WORK\\alice")


RPC_TARGETS: dict[str, Callable[[bytes], None]] = {
    target.__name__: target for target in (rpc_server, rpc_client, rpc_stub, rpc_token)
}
