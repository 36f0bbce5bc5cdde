"""Both machines of the remote-call runtime, joined without a network, and an interface to call."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from itertools import count
from typing import Annotated
from uuid import UUID

from openmsmq.rpc.auth.channel import SecureChannel
from openmsmq.rpc.auth.context import AuthLevel, AuthType, SecurityContext
from openmsmq.rpc.auth.ntlm import NtlmAcceptor, NtlmCredentials, NtlmInitiator, NtlmTarget
from openmsmq.rpc.auth.spnego import SpnegoAcceptor, SpnegoInitiator
from openmsmq.rpc.client import ClientConnection
from openmsmq.rpc.interface import RpcCall, RpcInterface, RpcMethod
from openmsmq.rpc.ndr.kinds import ByteArray
from openmsmq.rpc.ndr.structure import ContextHandle, Structure, structure
from openmsmq.rpc.pdu import Pdu, PduFramer
from openmsmq.rpc.server import RpcServer, ServerConnection
from openmsmq.rpc.syntax import SyntaxId
from openmsmq.security.nt_hash import nt_hash
from openmsmq.wire.fixed import U32

known_hash = cache(nt_hash)
SYNTAX = SyntaxId.of("5d6c1a0e-0f5b-4c39-9c4e-3a4a0b7b6f10", 1, 2)
LOCAL = "127.0.0.1"
ECHO, WAIT, OPEN, USE, THROW = range(5)


@structure
class Data(Structure):
    """Bytes of any number."""

    size: U32
    data: Annotated[bytes, ByteArray(most=1 << 23, size_is="size")]


@structure
class Handle(Structure):
    """A context handle."""

    handle: ContextHandle


@structure
class Number(Structure):
    """One number."""

    number: U32


def data(size: int) -> bytes:
    """A stub of this many bytes."""
    return Data(size, bytes(at & 0xFF for at in range(size))).encode()


class Thing:
    """What the handles of the test interface stand for."""

    def __init__(self) -> None:
        self.run_downs = 0

    def run_down(self) -> None:
        """Count it."""
        self.run_downs += 1


class TestInterface:
    """Operations to test the runtime with."""

    __test__ = False

    def __init__(self) -> None:
        self.waiting: list[RpcCall] = []
        self.things: list[Thing] = []
        self.callers: list[str] = []
        self.interface = RpcInterface(
            "test",
            SYNTAX,
            {
                ECHO: RpcMethod("Echo", Data, self._echo),
                WAIT: RpcMethod("Wait", Data, self._wait),
                OPEN: RpcMethod("Open", Data, self._open),
                USE: RpcMethod("Use", Handle, self._use),
                THROW: RpcMethod("Throw", Number, self._throw, needs_authentication=False),
            },
        )

    def _echo(self, call: RpcCall) -> None:
        self.callers.append(call.client.principal)
        call.respond(call.args(Data))

    def _wait(self, call: RpcCall) -> None:
        self.waiting.append(call)
        call.on_cancel = lambda: call.respond(Data(4, b"gone"))

    def _open(self, call: RpcCall) -> None:
        self.things.append(Thing())
        call.respond(Handle(call.association.add(self.things[-1])))

    def _use(self, call: RpcCall) -> None:
        handle: UUID = call.args(Handle).handle
        call.respond(Number(self.things.index(call.association.find(handle, Thing))))

    def _throw(self, call: RpcCall) -> None:
        call.fault(call.args(Number).number)


class TestWire:
    """Keeps what was sent."""

    __test__ = False

    def __init__(self, address: str = LOCAL) -> None:
        self.address = address
        self.out = bytearray()
        self.is_closed = False

    def write(self, data: bytes) -> None:
        """Keep it."""
        assert not self.is_closed, "sent after the end"
        self.out += data

    write_buffer_full = False

    def update(self) -> None:
        """No one waits."""

    def close(self) -> None:
        """Nothing more."""
        self.is_closed = True

    def take(self) -> bytes:
        """What was sent since the last time."""
        taken, self.out = bytes(self.out), bytearray()
        return taken

    def pdus(self) -> list[Pdu]:
        """What was sent since the last time, as PDUs."""
        return list(PduFramer().feed(self.take()))


def numbers() -> Callable[[int], bytes]:
    """Different bytes with every call."""
    counter = count(1)
    return lambda size: next(counter).to_bytes(size, "little")


def make_acceptor(auth_type: int) -> SecurityContext | None:
    """An acceptor that knows alice, whose password is `secret`."""

    def find_account(domain: str, user: str) -> bytes | None:
        return known_hash("secret") if user == "alice" else None

    ntlm = NtlmAcceptor(find_account, NtlmTarget("MQ1", "WORK"), b"chalenge", 0)
    contexts: dict[int, SecurityContext] = {
        AuthType.NTLM: ntlm,
        AuthType.SPNEGO: SpnegoAcceptor(ntlm),
    }
    return contexts.get(auth_type)


def make_channel(
    level: int, auth_type: int = AuthType.NTLM, password: str = "secret"
) -> SecureChannel:
    """How alice authenticates herself."""
    if level == AuthLevel.NONE:
        return SecureChannel()
    credentials = NtlmCredentials("alice", known_hash(password), "WORK")
    ntlm = NtlmInitiator(credentials, b"clientch", b"sessionkeysessio", 0)
    context = SpnegoInitiator(ntlm) if auth_type == AuthType.SPNEGO else ntlm
    return SecureChannel(level, auth_type, 79, context)


def make_server(level: int = AuthLevel.NONE) -> tuple[RpcServer, TestInterface]:
    """A server that asks for a level."""
    offered = TestInterface()
    return RpcServer([offered.interface], numbers(), make_acceptor, lambda _: level), offered


class Pair:
    """A client and a server, joined."""

    def __init__(
        self,
        server: RpcServer,
        channel: SecureChannel | None = None,
        group: int = 0,
        address: str = LOCAL,
        syntax: SyntaxId = SYNTAX,
    ) -> None:
        self.client_wire, self.server_wire = TestWire(), TestWire(address)
        self.server = ServerConnection(server, self.server_wire, 2103, 0)
        self.client = ClientConnection(self.client_wire, syntax, 0, channel=channel, group=group)
        self.answers: list[bytes | Exception] = []

    def call(self, opnum: int, stub: bytes, deadline: float | None = None) -> int:
        """Make a call; the answer goes to `answers`."""
        return self.client.call(opnum, stub, self.answers.append, deadline)

    def run(self) -> list[bytes | Exception]:
        """Carry everything to the other side until there is nothing more; all answers so far."""
        while (sent := self.client_wire.take()) or self.server_wire.out:
            self.server.receive_data(sent, 0)
            self.client.receive_data(self.server_wire.take(), 0)
        return self.answers
