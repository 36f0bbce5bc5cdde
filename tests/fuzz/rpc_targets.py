"""What is fuzzed of remote calls: PDUs for both machines, stubs, and tokens."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import ModuleType
from typing import Final, TypeVar

from openmsmq.errors import Malformed
from openmsmq.interfaces.endpoint_mapper import stubs as mapper_stubs
from openmsmq.interfaces.management import stubs as management_stubs
from openmsmq.interfaces.qm2qm import stubs as old_stubs
from openmsmq.interfaces.queue_format import QueueFormatArgument
from openmsmq.interfaces.remote_read import stubs
from openmsmq.interfaces.remote_read.coordinator import OWN_TOKEN, TransactionArgument
from openmsmq.interfaces.remote_read.stubs import ReadOpnum
from openmsmq.interfaces.supporting_server import stubs as supporting_stubs
from openmsmq.interfaces.supporting_server.stubs import MessageOpnum
from openmsmq.names.format import parse_format_name
from openmsmq.rpc import management
from openmsmq.rpc.auth.context import AuthenticationFailed, AuthLevel, AuthType
from openmsmq.rpc.client import Disconnected
from openmsmq.rpc.ndr.stream import NdrReader, Order
from openmsmq.rpc.ndr.structure import Structure
from tests.strategies.dependent import Dependent, SupportingWorld
from tests.strategies.managed import Administrator
from tests.strategies.remote_reader import ORDERS, RemoteWorld
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


def _structures(*modules: ModuleType) -> tuple[type[Structure], ...]:
    return tuple(
        kind
        for module in modules
        for kind in vars(module).values()
        if isinstance(kind, type) and issubclass(kind, Structure) and kind is not Structure
    )


SUPPORTING: Final = _structures(supporting_stubs, old_stubs)
"Arguments and results of qmcomm, qmcomm2 and qm2qm."
ARGUMENTS: Final[tuple[type[Structure], ...]] = (
    TransactionArgument,
    *_structures(stubs, mapper_stubs, management, management_stubs, old_stubs, supporting_stubs),
)
"Arguments and results of every interface that is offered."
UNIT = bytes(range(16))
"The transaction that is enlisted before anything else."
ANY_QUEUE = QueueFormatArgument.of(parse_format_name(ORDERS))
CALLS_MAX = 20
INPUTS_MAX: Final = 100
"What a manager is used for: hours pass in it with each, and names that were asked for are known."
WorldT = TypeVar("WorldT", bound=RemoteWorld)
_idle: dict[Callable[[], RemoteWorld], tuple[RemoteWorld, int, int]] = {}
"Managers in which nothing was written since they were made, with their writes and their inputs."


@contextmanager
def used_again(make: Callable[[], WorldT]) -> Iterator[WorldT]:
    """A manager for one input; one that is as it was made is there for the next input, too.

    Most inputs change nothing, and to make a manager takes longer than to look at them.
    """
    known = _idle.pop(make, None)
    world, writes, inputs = known or (make(), -1, 0)
    if known is None:
        writes = world.store.writes
    yield world  # type: ignore[misc]
    manager = world.manager
    if world.store.writes == writes and not manager.express_size and inputs < INPUTS_MAX:
        _idle[make] = world, writes, inputs + 1


def _reading_world() -> RemoteWorld:
    world = RemoteWorld()
    world.create("ledger", transactional=True)
    world.send("one", "two", "three")
    return world


def _managed_world() -> RemoteWorld:
    world = RemoteWorld()
    world.send("one", "two")
    return world


def _supporting_world() -> SupportingWorld:
    world = SupportingWorld()
    world.send("one", "two")
    return world


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


def rpc_arguments(stub: bytes) -> None:
    """Arguments and results of the real interfaces, the first byte says which."""
    _one_of(ARGUMENTS, stub)


def rpc_supporting(stub: bytes) -> None:
    """The same of the interfaces for clients without a queue manager and for old readers."""
    _one_of(SUPPORTING, stub)


def _one_of(kinds: tuple[type[Structure], ...], stub: bytes) -> None:
    if stub:
        kind = kinds[stub[0] % len(kinds)]
        _stub(kind, stub[1:], "<" if stub[0] & 0x80 else ">")


def remote_read(stream: bytes) -> None:
    """Calls of RemoteRead with any arguments: each is answered, and nothing is left behind.

    A call is its number, the number of bytes that follow, and these. The number's high bit puts
    an open queue before them.
    """
    with used_again(_reading_world) as world:
        _read(world, stream)


def _read(world: RemoteWorld, stream: bytes) -> None:
    reader = world.connect()
    handles = reader.open(), reader.open("DIRECT=OS:HOST\\private$\\ledger")
    token = stubs.EnlistRemoteTransaction(UNIT, len(OWN_TOKEN), OWN_TOKEN, ANY_QUEUE)
    reader.call(ReadOpnum.ENLIST_REMOTE_TRANSACTION, token, stubs.Status32)
    made = 0
    while len(stream) > 2 and made < CALLS_MAX and not reader.pair.server_wire.is_closed:
        opnum, size, arguments = stream[0], stream[1], stream[2 : 2 + stream[1]]
        stream, made = stream[2 + size :], made + 1
        if opnum & 0x80:
            arguments = bytes(4) + handles[opnum >> 6 & 1].bytes_le + arguments
        reader.pair.call(opnum & 0x1F, arguments)
        reader.pair.run()
    world.wait(400)
    reader.pair.run()
    assert len(reader.pair.answers) + reader.pair.server.open_calls == made
    reader.lose()
    queue = world.manager.find_queue("orders")
    assert not queue.modes, "a queue is open"
    assert not queue.holds, "a message is held"
    assert not len(world.server.transactions), "a transaction is open"
    assert world.server.reads.next_deadline is None, "a deadline is left"
    assert len(world.rpc.associations) == 0


def remote_management(stream: bytes) -> None:
    """Calls of qmmgmt with any arguments: each is answered, and no message is lost."""
    with used_again(_managed_world) as world:
        _manage(world, stream)


def _manage(world: RemoteWorld, stream: bytes) -> None:
    admin = Administrator(world.manager)
    made = 0
    while len(stream) > 2 and made < CALLS_MAX and not admin.pair.server_wire.is_closed:
        opnum, size, arguments = stream[0] & 3, stream[1], stream[2 : 2 + stream[1]]
        stream, made = stream[2 + size :], made + 1
        admin.pair.call(opnum, arguments)
        admin.pair.run()
    assert len(admin.pair.answers) == made
    queue = world.manager.find_queue("orders")
    assert (queue.messages, queue.modes) == (2, [])
    admin.pair.server.lost()
    assert len(admin.rpc.associations) == 0


def supporting_server(stream: bytes) -> None:
    """Calls of qmcomm and qmcomm2 with any arguments: each is answered, and nothing is left behind.

    A call is its number, a quarter of the number of bytes that follow, and these. The number's high
    bit puts a handle before them, the next one the number of a queue; 40 and above is qmcomm2.
    """
    with used_again(_supporting_world) as world:
        _support(world, stream)


def _support(world: SupportingWorld, stream: bytes) -> None:
    client = Dependent(world)
    queue, sending, unit = client.opened(), client.opened(access=2), client.begin()
    handles = queue.handle, sending.handle, unit.handle
    waiting: list[list[bytes | Exception]] = []
    while len(stream) > 2 and len(waiting) < CALLS_MAX:
        opnum, size = stream[0], 4 * stream[1]
        arguments = stream[2 : 2 + size]
        stream = stream[2 + size :]
        if opnum & 0x80:
            arguments = bytes(4) + handles[len(waiting) % 3].bytes_le + arguments
        elif opnum & 0x40:
            arguments = queue.context.to_bytes(4, "little") + arguments
        number = opnum & 0x3F
        waiting.append(
            client.later(MessageOpnum(number & 3) if number >= 40 else number, arguments)
        )
    world.pass_time(10**7)
    client.lose()
    found = world.manager.find_queue("orders") if "orders" in world.names() else None
    assert found is None or (not found.modes and not found.holds), "something is left open"
    supporting = world.supporting
    assert not len(supporting.queues) + len(supporting.units) + len(supporting.clients)
    assert supporting.messages.next_deadline is None, "a deadline is left"
    assert len(world.rpc.associations) == 0


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
    target.__name__: target
    for target in (
        rpc_server,
        rpc_client,
        rpc_stub,
        rpc_arguments,
        rpc_supporting,
        remote_read,
        remote_management,
        supporting_server,
        rpc_token,
    )
}
