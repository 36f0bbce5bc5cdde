"""A supporting server without a network, and the clients that use it."""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from typing import Any
from uuid import UUID

from openmsmq.errors import ReceiveTimeout
from openmsmq.interfaces.levels import LevelPolicy
from openmsmq.interfaces.management.stubs import GetInfoResults
from openmsmq.interfaces.qm2qm.server import OldReadServer
from openmsmq.interfaces.qm2qm.stubs import QMCOMM, HandleArgument, HandleResult, OneNumber
from openmsmq.interfaces.qm2qm.transfer_buffer import receive_buffer, send_buffer
from openmsmq.interfaces.queue_format import ObjectId, QueueFormatArgument
from openmsmq.interfaces.supporting_server import stubs
from openmsmq.interfaces.supporting_server.queue_proxies import QueuesElsewhere
from openmsmq.interfaces.supporting_server.server import SupportingServer
from openmsmq.interfaces.supporting_server.stubs import QMCOMM2, MessageOpnum, Opnum
from openmsmq.interfaces.variants import NULL, VariantArgument
from openmsmq.names.format import parse_format_name
from openmsmq.packet.view import PacketView
from openmsmq.properties.propid import Q
from openmsmq.properties.variant import PropVariant
from openmsmq.rpc.auth.context import AuthLevel
from openmsmq.rpc.ndr.structure import Structure
from openmsmq.rpc.server import RpcServer
from openmsmq.rpc.status import RpcFault
from openmsmq.rpc.syntax import SyntaxId
from openmsmq.types.access import Access, Mode
from openmsmq.types.caller import Caller
from openmsmq.types.message import Message
from tests.strategies.remote_reader import ORDERS, RemoteWorld
from tests.strategies.rpc import Pair, make_acceptor, numbers

RECEIVE, PEEK, PEEK_NEXT = 0, 0x80000000, 0x80000001
FOR_EVER = 0xFFFFFFFF
NO_ID = ObjectId(UUID(int=0), 0)
UNIT = bytes(range(1, 17))
NO_NAME = stubs.NamePlace(None)


class SupportingWorld(RemoteWorld):
    """A manager that is a supporting server."""

    def __init__(
        self,
        caller: Caller | None = None,
        *,
        clients_max: int = 100,
        elsewhere: QueuesElsewhere | None = None,
    ) -> None:
        super().__init__(caller)
        policy = LevelPolicy(allow_unauthenticated=True)
        self.callers: dict[str, Caller] = {}
        self.old = OldReadServer(
            self.server, self.driver, now=self.clock.elapsed, random_bytes=numbers()
        )
        self.supporting = SupportingServer(
            self.manager,
            self.driver,
            caller_of=lambda client: caller or Caller(client.principal or client.address),
            policy=policy,
            clients_max=clients_max,
            now=self.clock.elapsed,
            random_bytes=numbers(),
            opening=self.old.opening,
            elsewhere=elsewhere,
        )
        offered = [
            self.supporting.interface,
            self.supporting.message_interface,
            self.old.interface,
            self.server.interface,
        ]
        self.rpc = RpcServer(offered, numbers(), make_acceptor, lambda _: AuthLevel.NONE)

    def pass_time(self, seconds: float) -> None:
        """Let time pass; waits end at their deadlines."""
        self.clock.wait(seconds)
        self.supporting.messages.tick(self.clock.elapsed())

    def send_in_transaction(self, *bodies: str, queue: str) -> None:
        """Messages for a transactional queue."""
        handle = self.driver.call(lambda: self.manager.open_queue(queue, Mode()))
        transaction = self.driver.call(self.manager.begin)
        messages = [Message(body.encode()) for body in bodies]
        self.driver.call(lambda: handle.send(messages, transaction))
        self.driver.call(lambda: self.manager.commit(transaction))
        self.driver.call(handle.close)

    def names(self) -> list[str]:
        """What the queues are called."""
        return [queue.name.rpartition("\\")[2] for queue in self.manager.queues]

    def bodies(self, queue: str = "orders") -> list[str]:
        """The bodies of all messages in a queue."""
        mode = Mode(Access.PEEK)
        handle = self.driver.call(lambda: self.manager.open_queue(queue, mode))
        try:
            found = self.driver.call(lambda: handle.peek(100, wait=False))
        except ReceiveTimeout:
            return []
        finally:
            self.driver.call(handle.close)
        if found.error is not None:
            return []
        return [PacketView(entry.packet).body.decode() for entry in found.result()]


class Dependent:
    """A client without a queue manager: two connections of one association."""

    def __init__(self, world: SupportingWorld) -> None:
        self.world = world
        self._queues = Pair(world.rpc, syntax=QMCOMM)
        self._queues.run()
        group = self._queues.client.group
        self._messages = Pair(world.rpc, syntax=QMCOMM2, group=group)
        self._messages.run()

    def lose(self) -> None:
        """Both connections are cut."""
        self._queues.server.lost()
        self._messages.server.lost()

    def connect(self, syntax: SyntaxId) -> Pair:
        """One more connection of the same client."""
        pair = Pair(self.world.rpc, syntax=syntax, group=self._queues.client.group)
        pair.run()
        return pair

    def later(self, opnum: int, arguments: Structure | bytes) -> list[bytes | Exception]:
        """A call, which may wait; the place of its answer."""
        pair = self._messages if isinstance(opnum, MessageOpnum) else self._queues
        answers: list[bytes | Exception] = []
        stub = arguments if isinstance(arguments, bytes) else arguments.encode()
        pair.client.call(int(opnum), stub, answers.append)
        pair.run()
        return answers

    def answer(self, answers: list[bytes | Exception], kind: Any) -> Any:
        """What a call was answered with: its results, or the status of a fault."""
        self._messages.run()
        self._queues.run()
        [found] = answers
        if isinstance(found, RpcFault):
            return found.status
        assert isinstance(found, bytes), found
        return kind.decode(found)

    def call(self, opnum: int, arguments: Structure | bytes, kind: Any = stubs.Status) -> Any:
        """A call that is answered at once."""
        return self.answer(self.later(opnum, arguments), kind)

    def result(self, opnum: int, arguments: Structure | bytes) -> int:
        """The HRESULT, or the status of the fault, of a call that answers nothing else."""
        found = self.call(opnum, arguments)
        return found if isinstance(found, int) else int(found.result)

    # qmcomm

    def open(
        self,
        name: str | QueueFormatArgument = ORDERS,
        access: int = 1,
        share: int = 0,
        remote: tuple[int, int, int] = (0, 0, 0),
        place: stubs.NamePlace | None = NO_NAME,
    ) -> Any:
        """rpc_QMOpenQueueInternal."""
        if isinstance(name, str):
            name = QueueFormatArgument.of(parse_format_name(name))
        queue, pointer, context = remote
        asked = stubs.OpenInternal(
            name, access, share, queue, place, pointer, UUID(int=3), "CLIENT", 0, context
        )
        return self.call(Opnum.OPEN_QUEUE, asked, stubs.OpenedQueue)

    def opened(self, name: str = ORDERS, access: int = 1) -> Any:
        """A queue that is open."""
        found = self.open(name, access)
        assert found.result == 0, hex(found.result)
        return found

    def close(self, handle: UUID) -> Any:
        """rpc_ACCloseHandle."""
        return self.call(Opnum.CLOSE_HANDLE, HandleArgument(handle), HandleResult)

    def begin(self, unit: bytes = UNIT) -> Any:
        """R_QMEnlistInternalTransaction."""
        return self.call(Opnum.ENLIST_INTERNAL, stubs.EnlistInternal(unit), HandleResult)

    def commit(self, handle: UUID) -> Any:
        """R_QMCommitTransaction."""
        return self.call(Opnum.COMMIT, HandleArgument(handle), HandleResult)

    def abort(self, handle: UUID) -> Any:
        """R_QMAbortTransaction."""
        return self.call(Opnum.ABORT, HandleArgument(handle), HandleResult)

    def registry(self, kind: int) -> Any:
        """R_QMQueryQMRegistryInternal."""
        return self.call(Opnum.QUERY_REGISTRY, OneNumber(kind), stubs.RegistryResult)

    def create(
        self,
        path: str = ".\\private$\\new",
        properties: Mapping[Any, VariantArgument] | None = None,
        descriptor: bytes | None = None,
        **given: Any,
    ) -> int:
        """R_QMCreateObjectInternal."""
        items = properties or {Q.PATHNAME: text(path)}
        size = len(descriptor or b"")
        asked = stubs.CreateObject(
            given.get("kind", 1),
            path,
            given.get("size", size),
            descriptor,
            len(items),
            propids(items),
            tuple(items.values()),
        )
        return self.result(Opnum.CREATE_OBJECT, asked)

    def delete(self, name: str) -> int:
        """R_QMDeleteObject."""
        return self.result(Opnum.DELETE_OBJECT, stubs.Target(target(name)))

    def properties(self, name: str, *items: Q | int, places: Any = None) -> Any:
        """R_QMGetObjectProperties."""
        numbered = tuple(item.value if isinstance(item, Q) else item for item in items)
        given = places or (NULL,) * len(items)
        asked = stubs.GetProperties(target(name), len(items), numbered, given)
        return self.call(Opnum.GET_OBJECT_PROPERTIES, asked, GetInfoResults)

    def change(self, name: str, properties: Mapping[Any, VariantArgument]) -> int:
        """R_QMSetObjectProperties."""
        values = tuple(properties.values())
        asked = stubs.SetProperties(target(name), len(values), propids(properties), values)
        return self.result(Opnum.SET_OBJECT_PROPERTIES, asked)

    def security(self, name: str, information: int, size: int = 4096) -> Any:
        """R_QMGetObjectSecurityInternal."""
        asked = stubs.GetSecurity(target(name), information, size)
        return self.call(Opnum.GET_OBJECT_SECURITY, asked, stubs.SizedBytes)

    # qmcomm2

    def send(
        self, handle: UUID, body: bytes | None = b"hello", message_id: Any = NO_ID, **given: Any
    ) -> Any:
        """rpc_ACSendMessageEx."""
        size = len(body or b"")
        given = {"body": body, "body_size": size, "body_allocated": size} | given
        buffer = given.pop("buffer", None) or send_buffer(**given)
        return self.call(
            MessageOpnum.SEND, stubs.SendMessage(handle, buffer, message_id), stubs.SentBuffer
        )

    def receive_later(
        self, context: int, action: int = RECEIVE, timeout: int = 0, cursor: int = 0, **given: Any
    ) -> list[bytes | Exception]:
        """rpc_ACReceiveMessageEx, which may wait."""
        part = {"timeout": timeout, "action": action, "cursor": cursor} | given.pop("part", {})
        buffer = given.pop("buffer", None) or receive_buffer(part, **(wanted() | given))
        return self.later(MessageOpnum.RECEIVE, stubs.ReceiveMessage(context, buffer))

    def receive(self, context: int, action: int = RECEIVE, **given: Any) -> Any:
        """rpc_ACReceiveMessageEx, which is answered at once."""
        answers = self.receive_later(context, action, **given)
        return self.answer(answers, stubs.ReceivedBuffer)

    def cursor(self, handle: UUID) -> Any:
        """rpc_ACCreateCursorEx."""
        asked = stubs.CreateCursor(handle, 7, 8, 9)
        return self.call(MessageOpnum.CREATE_CURSOR, asked, stubs.CursorNumbers)


def wanted(size: int = 64) -> dict[str, Any]:
    """Room for a body."""
    return {"body": bytes(size), "body_size": size, "body_allocated": size, "body_needed": 0}


def body_of(found: Any) -> str:
    """The body of what was received."""
    assert found.result == 0, hex(found.result)
    body: bytes = found.buffer.body[: found.buffer.body_needed]
    return body.decode()


def target(name: str) -> stubs.ObjectFormat:
    """OBJECT_FORMAT of a queue."""
    return stubs.ObjectFormat(1, QueueFormatArgument.of(parse_format_name(name)))


def propids(items: Mapping[Any, VariantArgument]) -> tuple[int, ...]:
    """The numbers of properties."""
    return tuple(item.value if isinstance(item, Q) else item for item in items)


def value(item: Q, found: Any) -> VariantArgument:
    """The argument for a property."""
    return VariantArgument.of(PropVariant(item.vartype, found))


def text(found: str) -> VariantArgument:
    """A text as an argument."""
    return value(Q.PATHNAME, found)


def units(found: str) -> tuple[int, ...]:
    """A text as it lies in a transfer buffer, with its null."""
    return tuple(array("H", (found + "\0").encode("utf-16-le")))


def text_of(found: tuple[int, ...]) -> str:
    """The text in a transfer buffer."""
    return array("H", found).tobytes().decode("utf-16-le").rstrip("\0")
