"""A manager whose queues are read through RemoteRead, without a network."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar
from uuid import UUID

from openmsmq.engine.manager import QueueManager
from openmsmq.interfaces.levels import LevelPolicy
from openmsmq.interfaces.queue_format import QueueFormatArgument
from openmsmq.interfaces.remote_read import stubs
from openmsmq.interfaces.remote_read.actions import ReadAction
from openmsmq.interfaces.remote_read.sections import joined
from openmsmq.interfaces.remote_read.server import PEEK_ACCESS, RECEIVE_ACCESS, RemoteReadServer
from openmsmq.names.format import parse_format_name
from openmsmq.rpc.auth.context import AuthLevel
from openmsmq.rpc.ndr.structure import Structure
from openmsmq.rpc.server import RpcServer
from openmsmq.rpc.status import RpcFault
from openmsmq.rpc.syntax import SyntaxId
from openmsmq.store.memory import MemoryStore
from openmsmq.types.access import Mode
from openmsmq.types.caller import Caller
from openmsmq.types.message import Message
from tests.strategies.rpc import Pair, make_acceptor, numbers
from tests.unit.app_server.machines import InstantDriver
from tests.unit.engine.world import HandClock

StructureT = TypeVar("StructureT", bound=Structure)
ORDERS = "DIRECT=OS:HOST\\private$\\orders"
CLIENT_ID = UUID(int=77)


class RemoteWorld:
    """A manager, and the server of its queues."""

    def __init__(self, caller: Caller | None = None) -> None:
        self.clock = HandClock()
        self.store = MemoryStore()
        self.manager = QueueManager(self.store, self.clock, name="HOST")
        self.driver = InstantDriver(self.manager)
        self.server = RemoteReadServer(
            self.manager,
            self.driver,
            port=2103,
            now=self.clock.elapsed,
            random_bytes=numbers(),
            caller_of=lambda client: caller or Caller(client.principal or client.address),
            policy=LevelPolicy(allow_unauthenticated=True),
        )
        self.rpc = RpcServer(
            [self.server.interface, self.server.transactions.interface],
            numbers(),
            make_acceptor,
            lambda _: AuthLevel.NONE,
        )
        self.create("orders")

    def create(self, name: str, *, transactional: bool = False) -> None:
        """A new queue."""
        self.driver.call(lambda: self.manager.create_queue(name, transactional=transactional))

    def send(self, *bodies: str, queue: str = "orders", priority: int = 3) -> None:
        """Messages for a queue."""
        handle = self.driver.call(lambda: self.manager.open_queue(queue, Mode()))
        messages = [Message(body.encode(), priority=priority) for body in bodies]
        self.driver.call(lambda: handle.send(messages))
        self.driver.call(handle.close)

    def wait(self, seconds: float) -> None:
        """Let time pass; the server is called at its deadlines."""
        end = self.clock.elapsed() + seconds
        reads = self.server.reads
        while (at := reads.next_deadline) is not None and at <= end:
            self.clock.wait(max(0.0, at - self.clock.elapsed()))
            reads.tick(self.clock.elapsed())
        self.clock.wait(end - self.clock.elapsed())

    def connect(self, group: int = 0) -> Reader:
        """A client."""
        return Reader(self, group)


class Reader:
    """A remote client; every call returns its answer, or a function that does when it is there."""

    def __init__(
        self, world: RemoteWorld, group: int = 0, syntax: SyntaxId = stubs.REMOTE_READ
    ) -> None:
        self.pair = Pair(world.rpc, group=group, syntax=syntax)
        self.pair.run()

    @property
    def group(self) -> int:
        """Its association."""
        return self.pair.client.group

    def lose(self) -> None:
        """The connection is cut."""
        self.pair.server.lost()

    def later(
        self, opnum: int, arguments: Structure, kind: type[StructureT]
    ) -> Callable[[], StructureT | None]:
        """Make a call; a function that has its answer, or None as long as there is none."""
        answers: list[bytes | Exception] = []
        self.pair.client.call(opnum, arguments.encode(), answers.append)

        def answer() -> StructureT | None:
            self.pair.run()
            if not answers:
                return None
            [found] = answers
            if isinstance(found, Exception):
                raise found
            return kind.decode(found)

        self.pair.run()
        return answer

    def call(self, opnum: int, arguments: Structure, kind: type[StructureT]) -> StructureT:
        """Make a call that is answered at once."""
        found = self.later(opnum, arguments, kind)()
        assert found is not None, "it waits"
        return found

    def fault(self, opnum: int, arguments: Structure) -> int:
        """Make a call that ends in a fault; its status."""
        try:
            found = self.call(opnum, arguments, stubs.Status32)
        except RpcFault as fault:
            return fault.status
        raise AssertionError(f"no fault: {found}")

    def open(self, name: str = ORDERS, *, peek: bool = False, share: int = 0) -> UUID:
        """R_OpenQueue."""
        access = PEEK_ACCESS if peek else RECEIVE_ACCESS
        arguments = open_arguments(name, access, share)
        opened = self.call(stubs.ReadOpnum.OPEN_QUEUE, arguments, stubs.QueueContextArgument)
        return opened.context

    def close(self, handle: UUID) -> stubs.ClosedContext:
        """R_CloseQueue."""
        argument = stubs.QueueContextArgument(handle)
        return self.call(stubs.ReadOpnum.CLOSE_QUEUE, argument, stubs.ClosedContext)

    def cursor(self, handle: UUID) -> int:
        """R_CreateCursor."""
        argument = stubs.QueueContextArgument(handle)
        made = self.call(stubs.ReadOpnum.CREATE_CURSOR, argument, stubs.CreatedCursor)
        assert made.result == 0
        return made.cursor

    def start_later(
        self,
        handle: UUID,
        request_id: int = 1,
        action: int = ReadAction.RECEIVE,
        *,
        lookup_id: int = 0,
        cursor: int = 0,
        timeout_ms: int = 0,
        max_body_size: int = stubs.INFINITE_MS,
    ) -> Callable[[], stubs.ReceiveResults | None]:
        """R_StartReceive, which may wait."""
        arguments = stubs.StartReceive(
            handle, lookup_id, cursor, action, timeout_ms, request_id, max_body_size, 0xFFFFFFFF
        )
        return self.later(stubs.ReadOpnum.START_RECEIVE, arguments, stubs.ReceiveResults)

    def start(
        self, handle: UUID, request_id: int = 1, action: int = 0, **given: int
    ) -> stubs.ReceiveResults:
        """R_StartReceive, which is answered at once."""
        found = self.start_later(handle, request_id, action, **given)()
        assert found is not None, "it waits"
        return found

    def end(self, handle: UUID, request_id: int = 1, acknowledge: int = stubs.ACK) -> int:
        """R_EndReceive."""
        arguments = stubs.EndReceive(handle, acknowledge, request_id)
        return self.call(stubs.ReadOpnum.END_RECEIVE, arguments, stubs.Status32).result

    def cancel(self, handle: UUID, request_id: int = 1) -> int:
        """R_CancelReceive."""
        arguments = stubs.CancelReceive(handle, request_id)
        return self.call(stubs.ReadOpnum.CANCEL_RECEIVE, arguments, stubs.Status32).result

    def peek(self, handle: UUID) -> int:
        """The result of a look at the first message."""
        return self.start(handle, 99, ReadAction.PEEK_CURRENT).result


def open_arguments(name: str, access: int, share: int = 0) -> stubs.OpenArguments:
    """The arguments of R_OpenQueue."""
    queue_format = QueueFormatArgument.of(parse_format_name(name))
    return stubs.OpenArguments(queue_format, access, share, CLIENT_ID, 1, 6, 1, 0x1DB1, 1)


def body_of(results: stubs.ReceiveResults) -> bytes:
    """The body of a message that came whole."""
    assert results.result == 0, hex(results.result)
    return joined(results.sections or ()).message.properties.body
