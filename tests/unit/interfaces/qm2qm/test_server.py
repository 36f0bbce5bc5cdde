"""The server of older remote read: qm2qm, and the part of qmcomm that opens queues."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from tests.strategies.remote_reader import ORDERS, RemoteWorld
from tests.strategies.rpc import Pair, make_acceptor, numbers
from tests.unit.rpc.test_server import Bare

from openmsmq.interfaces.limits import GUESSES_MAX
from openmsmq.interfaces.qm2qm import stubs
from openmsmq.interfaces.qm2qm.hosted_queue import ReadSession
from openmsmq.interfaces.qm2qm.server import OldReadServer
from openmsmq.interfaces.qm2qm.stubs import QM2QM, QMCOMM, Qm2qmOpnum, QmcommOpnum
from openmsmq.interfaces.queue_format import DistributionListId, QueueFormatArgument
from openmsmq.interfaces.remote_read.actions import ReadAction
from openmsmq.interfaces.remote_read.stubs import NoArguments
from openmsmq.names.format import parse_format_name
from openmsmq.packet.view import PacketView
from openmsmq.rpc.association import Association
from openmsmq.rpc.auth.context import AuthLevel
from openmsmq.rpc.interface import RpcInterface
from openmsmq.rpc.ndr.structure import NULL_HANDLE, Structure
from openmsmq.rpc.pdu import ContextAnswer, ContextElement
from openmsmq.rpc.server import RpcServer
from openmsmq.rpc.status import RpcFault, RpcStatus
from openmsmq.rpc.syntax import NDR, NDR64, NO_SYNTAX, SyntaxId
from openmsmq.types.access import Mode
from openmsmq.types.caller import Caller, Grant

MQ_ERROR, INVALID_PARAMETER, INVALID_HANDLE = 0xC00E0001, 0xC00E0006, 0xC00E0007
TIMEOUT, ALREADY_RECEIVED, ILLEGAL_NAME = 0xC00E001B, 0xC00E001D, 0xC00E001E
UNSUPPORTED, ACCESS_DENIED, NOT_FOUND = 0xC00E0020, 0xC00E0025, 0xC00E0003
CURSOR_MOVED, BAD_PARAMETER, SHARING = 0xC00E001C, 0xC000000D, 0xC0000043
NO_MESSAGE, SEQUENCE, CANCELED = 0xC00E0088, 0xC00E0051, 0x400E03E9
ALL_ONES = (1 << 64) - 1
EMPTY_BUFFER = bytes(228)


class World(RemoteWorld):
    """A manager whose queues are read the old way."""

    def __init__(self, caller: Caller | None = None) -> None:
        super().__init__(caller)
        self.old = OldReadServer(
            self.server, self.driver, now=self.clock.elapsed, random_bytes=numbers()
        )
        offered = [self.old.interface, RpcInterface("qmcomm", QMCOMM, self.old.opening)]
        self.rpc = RpcServer(offered, numbers(), make_acceptor, lambda _: AuthLevel.NONE)

    def pass_time(self, seconds: float) -> None:
        """Let time pass; waits end at their deadlines."""
        self.clock.wait(seconds)
        self.old.tick(self.clock.elapsed())


class Client:
    """A connection to one of the two interfaces."""

    def __init__(self, world: World, syntax: SyntaxId, group: int = 0) -> None:
        self.pair = Pair(world.rpc, syntax=syntax, group=group)
        self.pair.run()

    def later(self, opnum: int, stub: bytes) -> list[bytes | Exception]:
        answers: list[bytes | Exception] = []
        self.pair.client.call(opnum, stub, answers.append)
        self.pair.run()
        return answers

    def call(self, opnum: int, arguments: Structure | bytes, kind: Any) -> Any:
        stub = arguments if isinstance(arguments, bytes) else arguments.encode()
        [found] = self.later(opnum, stub)
        if isinstance(found, RpcFault):
            return found.status
        assert isinstance(found, bytes), found
        return kind.decode(found)


class Opener(Client):
    """Who opens queues, with qmcomm."""

    def __init__(self, world: World, group: int = 0) -> None:
        super().__init__(world, QMCOMM, group)

    def ask(self, name: str | QueueFormatArgument | None, access: int = 1, share: int = 0) -> Any:
        if isinstance(name, str):
            name = QueueFormatArgument.of(parse_format_name(name))
        asked = stubs.OpenRemoteQueue(name, 4711, access, share, UUID(int=1), 0x400)
        return self.call(QmcommOpnum.OPEN_REMOTE_QUEUE, asked, stubs.OpenedRemoteQueue)

    def ask_as(self, process: int, licence: UUID, platform: int) -> Any:
        name = QueueFormatArgument.of(parse_format_name(ORDERS))
        asked = stubs.OpenRemoteQueue(name, process, 1, 0, licence, platform)
        return self.call(QmcommOpnum.OPEN_REMOTE_QUEUE, asked, stubs.OpenedRemoteQueue)

    def close(self, handle: UUID) -> Any:
        opnum = QmcommOpnum.CLOSE_REMOTE_QUEUE_CONTEXT
        return self.call(opnum, stubs.HandleArgument(handle), stubs.HandleArgument)

    def cursor(self, queue: int) -> tuple[int, int]:
        stub = EMPTY_BUFFER + queue.to_bytes(4, "little")
        made = self.call(QmcommOpnum.CREATE_REMOTE_CURSOR, stub, stubs.TwoNumbers)
        return made.first, made.second


class Reader(Client):
    """Who reads them, with qm2qm."""

    def __init__(self, world: World, group: int = 0) -> None:
        super().__init__(world, QM2QM, group)

    def session(self, number: int, pointer: int | None = None, platform: int = 0) -> Any:
        second = number if pointer is None else pointer
        asked = stubs.OpenSession(UUID(int=9), platform, 12345, second, number)
        return self.call(Qm2qmOpnum.OPEN_QUEUE, asked, stubs.HandleResult)

    def start_later(self, number: int, opnum: int = 9, **given: Any) -> list[bytes | Exception]:
        described = description(number, **given)
        arguments: Structure = stubs.StartRead(described)
        if opnum == 9:
            arguments = stubs.StartRead2(stubs.ReadDescription2(described, 0))
        return self.later(opnum, arguments.encode())

    def start(self, number: int, opnum: int = 9, **given: Any) -> Any:
        [found] = self.start_later(number, opnum, **given)
        assert isinstance(found, bytes), found
        kind: Any = stubs.StartRead2Result if opnum == 9 else stubs.StartReadResult
        return kind.decode(found)

    def lookup(self, number: int, action: int, lookup_id: int, **given: Any) -> Any:
        described = stubs.ReadDescription2(description(number, action=action, **given), 0)
        asked = stubs.StartReadByLookup(lookup_id, described)
        return self.call(10, asked, stubs.StartRead2Result)

    def end(self, handle: UUID, acknowledge: int = 2) -> Any:
        asked = handle_stub(handle) + acknowledge.to_bytes(4, "little")
        return self.call(Qm2qmOpnum.END_RECEIVE, asked, stubs.HandleResult)

    def cancel(self, number: int, request_id: int, pointer: int | None = None) -> int:
        asked = stubs.CancelRead(number, number if pointer is None else pointer, request_id)
        result: int = self.call(Qm2qmOpnum.CANCEL_RECEIVE, asked, stubs.OneNumber).number
        return result

    def close(self, handle: UUID) -> Any:
        return self.call(Qm2qmOpnum.CLOSE_QUEUE, stubs.HandleArgument(handle), stubs.HandleResult)


def handle_stub(handle: UUID) -> bytes:
    return bytes(4) + handle.bytes_le


def description(number: int, **given: Any) -> stubs.ReadDescription:
    plain = stubs.ReadDescription(number, 0, 0, 0, 0, number, 1, 0, 0, 0, None)
    return replace(plain, **given)


def body_of(found: stubs.StartRead2Result | stubs.StartReadResult) -> str:
    described = found.description
    if isinstance(described, stubs.ReadDescription2):
        assert described.description is not None
        described = described.description
    assert found.result == 0, hex(found.result)
    assert described.data is not None
    assert described.size == len(described.data) == PacketView(described.data).packet_size
    return PacketView(described.data).body.decode()


def result_of(answers: list[bytes | Exception]) -> int:
    [found] = answers
    assert isinstance(found, bytes)
    return stubs.StartRead2Result.decode(found).result


@pytest.fixture
def world() -> World:
    return World()


@pytest.fixture
def opener(world: World) -> Opener:
    return Opener(world)


@pytest.fixture
def reader(world: World) -> Reader:
    return Reader(world)


def opened(opener: Opener, reader: Reader, name: str = ORDERS, access: int = 1) -> int:
    """A queue that is open for reading, as old clients open one: its number."""
    found = opener.ask(name, access)
    assert found.result == 0, hex(found.result)
    assert reader.session(found.queue).result == 0
    assert opener.close(found.handle).handle == NULL_HANDLE
    number: int = found.queue
    return number


# Ports, version, and what there is not


def test_ports_and_version_are_answered_without_a_session(opener: Opener, reader: Reader) -> None:
    """MQQP-013, MQQP-014, MQQP-015, MQQP-016, MQQP-019, MQQP-021, MQQP-040, MQQP-181, MQQP-182,
    MQQP-183, MQQP-184, MQQP-185, MQMP-008, MQMP-009, MQMP-010, MQMP-011, MQMP-013, MQMP-018
    """
    for kind, port in ((0, 2103), (1, 2103), (2, 0), (3, 0)):
        for client, opnum in ((reader, 7), (opener, 31)):
            found = client.call(opnum, stubs.OneNumber(kind), stubs.OneNumber)
            assert found.number == port
    assert reader.call(7, stubs.OneNumber(4), stubs.OneNumber) == RpcStatus.BAD_STUB_DATA
    assert opener.call(31, stubs.OneNumber(4), stubs.OneNumber).number == 0
    version = reader.call(8, NoArguments(), stubs.VersionResult)
    assert (version.major, version.minor) == (6, 1)
    assert len(version.encode()) == 4


def test_there_are_no_other_operations(opener: Opener, reader: Reader) -> None:
    """MQQP-011, MQQP-012"""
    for opnum in (11, 12, 100):
        assert reader.call(opnum, b"", stubs.OneNumber) == RpcStatus.OP_RNG_ERROR
    for opnum in (0, 5, 13, 21, 24, 25, 29, 30, 32):
        assert opener.call(opnum, b"", stubs.OneNumber) == RpcStatus.OP_RNG_ERROR


# Opening


@pytest.mark.parametrize(
    ("name", "access", "share", "result"),
    [
        (None, 1, 0, INVALID_PARAMETER),
        (ORDERS, 0, 0, 0xC00E0045),
        (ORDERS, 2, 0, 0xC00E0045),
        (ORDERS, 0x21, 0, 0xC00E0045),
        ("DIRECT=OS:HOST\\private$\\none", 2, 0, 0xC00E0045),
        (ORDERS, 1, 2, INVALID_PARAMETER),
        (QueueFormatArgument(0, 0, 0, None), 1, 0, ILLEGAL_NAME),
        (QueueFormatArgument(3, 0, 0, "nonsense"), 1, 0, ILLEGAL_NAME),
        (
            QueueFormatArgument(6, 0, 0, DistributionListId(UUID(int=5), None)),
            1,
            0,
            UNSUPPORTED,
        ),
        ("MULTICAST=234.1.1.1:8001", 1, 0, UNSUPPORTED),
        ("DIRECT=http://HOST/msmq/private$/orders", 1, 0, UNSUPPORTED),
        ("DIRECT=OS:HOST\\private$\\none", 1, 0, NOT_FOUND),
        ("DIRECT=OS:elsewhere\\private$\\orders", 1, 0, NOT_FOUND),
    ],
)
def test_what_cannot_be_opened_is_refused(
    opener: Opener, name: Any, access: int, share: int, result: int
) -> None:
    """MQMP-098 to MQMP-105, MQMP-118, MQMP-126: access and names are looked at before the queue."""
    found = opener.ask(name, access, share)
    assert (found.result, found.handle, found.queue) == (result, NULL_HANDLE, 0)


def test_process_licence_and_platform_mean_nothing(opener: Opener) -> None:
    """MQMP-106, MQMP-108, MQMP-109"""
    for process, licence, platform in ((0, 0, 0), (1, 5, 0x100), (0xFFFFFFFF, 9, 0x7777)):
        assert opener.ask_as(process, UUID(int=licence), platform).result == 0


def test_over_long_names_get_a_fault_and_the_next_caller_is_served(world: World) -> None:
    """The shape of a public flaw of qmcomm."""
    opener = Opener(world)
    long = QueueFormatArgument(3, 0, 0, "OS:" + "a" * 2000)
    assert opener.ask(long) == RpcStatus.BAD_STUB_DATA
    assert Opener(world).ask(ORDERS).result == 0


def test_rights_and_share_modes_are_those_of_remote_read(world: World) -> None:
    """MQQP-023, MQMP-114, MQMP-115, MQMP-117, MQMP-133"""
    first = Opener(world)
    exclusive = first.ask(ORDERS, share=1)
    assert exclusive.result == 0
    assert Opener(world).ask(ORDERS).result == SHARING
    first.close(exclusive.handle)
    assert Opener(world).ask(ORDERS).result == 0
    assert Opener(world).ask(ORDERS, share=1).result == SHARING
    for grant in (Grant("send"), Grant("read", ("private$\\other",))):
        bob = Opener(World(Caller("bob", grant)))
        for name in (ORDERS, "DIRECT=OS:HOST\\private$\\none"):
            assert bob.ask(name).result == ACCESS_DENIED


def test_a_number_counts_once_and_cannot_be_guessed(world: World, opener: Opener) -> None:
    """MQQP-025, MQQP-028, MQQP-065 to MQQP-068, MQQP-071 to MQQP-075, MQQP-077,
    MQQP-039, MQMP-120 to MQMP-122, MQMP-124
    """
    found = opener.ask(ORDERS)
    assert found.queue == found.pointer == found.context != 0
    reader, other = Reader(world), Reader(world)
    for number, pointer in ((0, 0), (found.queue, 0), (0, found.queue), (found.queue, 7)):
        assert reader.session(number, pointer).result == INVALID_PARAMETER
    assert reader.session(found.queue ^ 1).result == INVALID_PARAMETER
    session = reader.session(found.queue)
    assert (session.result, session.handle != NULL_HANDLE) == (0, True)
    assert other.session(found.queue).result == INVALID_PARAMETER
    assert reader.session(found.queue).result == INVALID_PARAMETER
    assert other.start(found.queue).result == INVALID_PARAMETER
    assert other.cancel(found.queue, 1) == INVALID_HANDLE
    assert other.call(6, stubs.OneNumber(found.queue), stubs.OneNumber) == INVALID_HANDLE
    assert reader.session(found.queue, platform=17) == RpcStatus.BAD_STUB_DATA
    assert reader.start(found.queue).result == TIMEOUT, "it counts for the one that presented it"


def test_numbers_cannot_be_tried_out(world: World, opener: Opener) -> None:
    """MQQP-028: after too many wrong ones even the right one is refused, for a minute."""
    found, reader = opener.ask(ORDERS), Reader(world)
    for wrong in range(GUESSES_MAX):
        assert reader.session(0x70000000 + wrong).result == INVALID_PARAMETER
    assert reader.session(found.queue).result == INVALID_PARAMETER
    world.pass_time(60)
    assert reader.session(found.queue).result == 0


def test_the_opener_closes_what_no_session_has_taken(world: World, opener: Opener) -> None:
    """MQQP-076, MQMP-036, MQMP-119, MQMP-127 to MQMP-131, MQMP-491"""
    queue = world.manager.find_queue("orders")
    first = opener.ask(ORDERS)
    assert len(queue.modes) == 1
    opener.close(first.handle)
    assert not queue.modes
    reader = Reader(world)
    assert reader.session(first.queue).result == INVALID_PARAMETER
    number = opened(opener, reader)
    assert len(queue.modes) == 1
    assert reader.start(number).result == TIMEOUT
    assert opener.close(NULL_HANDLE).handle == NULL_HANDLE
    opener.ask(ORDERS)
    opener.pair.server.lost()
    assert len(queue.modes) == 1, "what the opener left behind is closed, the session's is not"


# Reading


def test_a_message_is_received_in_two_steps(world: World, opener: Opener, reader: Reader) -> None:
    """MQQP-029, MQQP-032, MQQP-033, MQQP-043, MQQP-045, MQQP-046, MQQP-047, MQQP-050 to MQQP-053,
    MQQP-092, MQQP-094, MQQP-098 to MQQP-102, MQQP-104, MQQP-111, MQQP-112, MQQP-138 to MQQP-140,
    MQQP-142, MQQP-143, MQQP-146, MQMP-112, MQMP-116
    """
    world.send("one", "two")
    number = opened(opener, reader)
    peeked = reader.start(number, action=ReadAction.PEEK_CURRENT, reserved=77, acknowledge=2)
    assert (body_of(peeked), peeked.handle) == ("one", NULL_HANDLE)
    for opnum in (0, 9):
        found = reader.start(number, opnum)
        assert body_of(found) == "one"
        assert found.handle != NULL_HANDLE
        described = found.description if opnum == 0 else found.description.description
        assert described.arrive_time == int(world.clock.now())
        if opnum == 9:
            [lookup] = world.manager.find_queue("orders").holds
            assert found.description.sequence_id == lookup & ((1 << 56) - 1)
        other = reader.start(number, request_id=2)
        assert body_of(other) == "two", "what is held is not there for others"
        assert reader.end(other.handle, 1).result == 0
        ended = reader.end(found.handle, 1)
        assert (ended.result, ended.handle) == (0, NULL_HANDLE)
    found = reader.start(number)
    assert reader.end(found.handle).result == 0
    assert world.manager.find_queue("orders").messages == 1
    assert body_of(reader.start(number)) == "two"
    assert reader.end(NULL_HANDLE).result == INVALID_HANDLE
    assert reader.end(found.handle) == RpcStatus.CONTEXT_MISMATCH
    assert reader.start(number).result == TIMEOUT


@pytest.mark.parametrize("opnum", [0, 9])
def test_reads_are_checked_in_their_order(
    world: World, opener: Opener, reader: Reader, opnum: int
) -> None:
    """MQQP-080 to MQQP-083, MQQP-085 to MQQP-091, MQQP-101"""
    world.send("one")
    number = opened(opener, reader)
    other = opened(opener, reader)
    lookups = ReadAction.LOOKUP_PEEK_NEXT, ReadAction.LOOKUP_RECEIVE_CURRENT
    cases: list[tuple[int, dict[str, Any], int]] = [
        (number, {"own_queue": 0, "action": 7}, INVALID_PARAMETER),
        (number, {"own_queue": number + 1, "action": 0x80000001}, INVALID_PARAMETER),
        (number, {"action": 0x80000001}, BAD_PARAMETER),
        (99, {"action": 0x80000001}, BAD_PARAMETER),
        (number, {"action": 7}, INVALID_PARAMETER),
        *((number, {"action": int(action)}, INVALID_PARAMETER) for action in lookups),
        (99, {}, INVALID_PARAMETER),
        (number, {"cursor": 5}, BAD_PARAMETER),
    ]
    for asked, given, result in cases:
        found = reader.start(asked, opnum, **given)
        assert (found.result, found.handle) == (result, NULL_HANDLE), given
    assert not world.manager.find_queue("orders").holds
    assert body_of(reader.start(number, opnum)) == "one"
    waiting = reader.start_later(number, 9, request_id=7, timeout_ms=5000)
    assert reader.start(number, opnum, request_id=7).result == INVALID_PARAMETER
    assert reader.start(other, opnum, request_id=7).result == TIMEOUT
    assert waiting == []


def test_a_description_that_is_missing_is_refused(reader: Reader) -> None:
    """MQQP-079, MQQP-114"""
    nothing = stubs.ReadDescription2(None, 0)
    found = reader.call(9, stubs.StartRead2(nothing), stubs.StartRead2Result)
    assert found.result == INVALID_HANDLE
    asked = stubs.StartReadByLookup(5, nothing)
    assert reader.call(10, asked, stubs.StartRead2Result).result == INVALID_HANDLE


def test_sizes_and_acknowledgements_out_of_range_get_a_fault(reader: Reader) -> None:
    """MQQP-036, MQQP-038: a lying size, too."""
    stub = stubs.StartRead(description(5)).encode()
    for size in (0x420001, 0xFFFFFFFF):
        lying = stub[:16] + size.to_bytes(4, "little") + stub[20:]
        assert reader.call(0, lying, stubs.StartReadResult) == RpcStatus.BAD_STUB_DATA
    assert reader.start(5, 0).result == INVALID_PARAMETER, "there is no such queue"
    for code in (0, 3, 0xFFFFFFFF):
        asked = handle_stub(UUID(int=5)) + code.to_bytes(4, "little")
        assert reader.call(1, asked, stubs.HandleResult) == RpcStatus.BAD_STUB_DATA


def test_a_handle_to_peek_neither_receives_nor_purges(
    world: World, opener: Opener, reader: Reader
) -> None:
    """MQQP-026, MQQP-027, MQMP-113, MQMP-116"""
    world.send("one")
    number = opened(opener, reader, access=0x20)
    assert reader.start(number).result == ACCESS_DENIED
    assert body_of(reader.start(number, action=0x80000000)) == "one"
    assert reader.call(6, stubs.OneNumber(number), stubs.OneNumber) == ACCESS_DENIED
    assert world.manager.find_queue("orders").messages == 1


def test_handles_are_of_their_kind_and_association(
    world: World, opener: Opener, reader: Reader
) -> None:
    """MQQP-058, MQQP-059, MQQP-060"""
    world.send("one")
    asked = opener.ask(ORDERS)
    session = reader.session(asked.queue).handle
    found = reader.start(asked.queue)
    mismatch = RpcStatus.CONTEXT_MISMATCH
    assert reader.end(session) == mismatch
    assert reader.close(found.handle) == mismatch
    assert reader.close(asked.handle) == mismatch
    assert Reader(world).end(found.handle) == mismatch
    assert Reader(world).close(session) == mismatch
    assert opener.close(session) == mismatch
    assert reader.close(session).result == 0
    assert reader.close(session) == mismatch


# Waiting


def test_a_read_waits_for_a_message_or_the_end_of_its_time(
    world: World, opener: Opener, reader: Reader
) -> None:
    """MQQP-049, MQQP-084, MQQP-105 to MQQP-110"""
    number = opened(opener, reader)
    assert reader.start(number).result == TIMEOUT
    first = reader.start_later(number, timeout_ms=2000)
    second = reader.start_later(number, request_id=2, timeout_ms=0xFFFFFFFF)
    assert world.old.next_deadline == world.clock.elapsed() + 2
    world.pass_time(1.9)
    assert (first, second) == ([], [])
    world.pass_time(0.2)
    reader.pair.run()
    assert result_of(first) == TIMEOUT
    assert world.old.next_deadline is None
    world.send("late")
    reader.pair.run()
    [answer] = second
    assert isinstance(answer, bytes)
    assert body_of(stubs.StartRead2Result.decode(answer)) == "late"
    assert reader.start(number, request_id=2).result == TIMEOUT


@pytest.mark.parametrize("action", [ReadAction.RECEIVE, ReadAction.PEEK_CURRENT])
def test_a_waiting_read_is_cancelled(
    world: World, opener: Opener, reader: Reader, action: int
) -> None:
    """MQQP-163 to MQQP-174: over another connection of the association, peeks too."""
    number = opened(opener, reader)
    assert reader.cancel(number, 1, 0) == INVALID_PARAMETER
    assert reader.cancel(number, 1, number + 1) == INVALID_PARAMETER
    assert reader.cancel(number, 1) == INVALID_HANDLE
    answers = reader.start_later(number, action=action, timeout_ms=0xFFFFFFFF)
    assert reader.cancel(number, 2) == MQ_ERROR
    second = Reader(world, reader.pair.client.group)
    assert second.cancel(number, 1) == 0
    reader.pair.run()
    assert result_of(answers) == CANCELED
    assert reader.cancel(number, 1) == INVALID_HANDLE
    world.send("kept")
    assert body_of(reader.start(number, action=0x80000000)) == "kept"


def test_a_queue_that_is_deleted_ends_its_reads(
    world: World, opener: Opener, reader: Reader
) -> None:
    """MQQP-113"""
    number = opened(opener, reader)
    answers = reader.start_later(number, timeout_ms=0xFFFFFFFF)
    world.driver.call(lambda: world.manager.delete_queue("orders"))
    reader.pair.run()
    assert result_of(answers) >> 31 == 1


# Lookups


def test_messages_are_found_by_their_identifier(
    world: World, opener: Opener, reader: Reader
) -> None:
    """MQQP-034, MQQP-119, MQQP-123 to MQQP-136"""
    world.send("a", "b", "c")
    number = opened(opener, reader)
    action = ReadAction
    first = reader.lookup(number, action.LOOKUP_PEEK_NEXT, 0, own_queue=0)
    assert (body_of(first), first.handle) == ("a", NULL_HANDLE)
    identifiers = []
    handle = world.driver.call(lambda: world.manager.open_queue("orders", Mode()))
    found = world.driver.call(lambda: handle.peek(3, wait=False))
    identifiers = [entry.lookup for entry in found.result()]
    world.driver.call(handle.close)
    a, b, c = identifiers
    assert first.description.sequence_id == a & ((1 << 56) - 1)
    for code, lookup, body in (
        (action.LOOKUP_PEEK_CURRENT, b, "b"),
        (action.LOOKUP_PEEK_NEXT, a, "b"),
        (action.LOOKUP_PEEK_PREV, ALL_ONES, "c"),
        (action.LOOKUP_PEEK_PREV, c, "b"),
    ):
        assert body_of(reader.lookup(number, code, lookup)) == body
    for code, lookup, body in (
        (action.LOOKUP_RECEIVE_CURRENT, b, "b"),
        (action.LOOKUP_RECEIVE_NEXT, 0, "a"),
        (action.LOOKUP_RECEIVE_PREV, ALL_ONES, "c"),
    ):
        taken = reader.lookup(number, code, lookup)
        assert body_of(taken) == body
        assert taken.handle != NULL_HANDLE
        assert taken.description.description.size
        assert reader.end(taken.handle, 1).result == 0
    assert reader.lookup(number, action.LOOKUP_PEEK_CURRENT, 999).result == NO_MESSAGE


def test_lookups_are_checked(opener: Opener, reader: Reader) -> None:
    """MQQP-115 to MQQP-118, MQQP-121, MQQP-122"""
    number = opened(opener, reader)
    peek_next = ReadAction.LOOKUP_PEEK_NEXT
    for asked, action, lookup, given in (
        (0, peek_next, 5, {}),
        (number, peek_next, 5, {"timeout_ms": 1}),
        (number, peek_next, 5, {"cursor": 1}),
        (number, ReadAction.LOOKUP_PEEK_CURRENT, 0, {}),
        (number, ReadAction.LOOKUP_RECEIVE_PREV, 0, {}),
        (number, ReadAction.RECEIVE, 5, {}),
        (number, ReadAction.PEEK_CURRENT, 5, {}),
        (99, peek_next, 5, {}),
    ):
        found = reader.lookup(asked, action, lookup, **given)
        assert (found.result, found.handle) == (INVALID_PARAMETER, NULL_HANDLE)


# Cursors


def test_cursors_walk_through_a_queue(world: World, opener: Opener, reader: Reader) -> None:
    """MQQP-087, MQQP-093, MQQP-095, MQQP-096, MQQP-097, MQQP-156 to MQQP-159, MQQP-161,
    MQMP-134 to MQMP-140
    """
    world.send("a", "b")
    asked = opener.ask(ORDERS)
    number = asked.queue
    assert Opener(world).cursor(number) == (0, INVALID_HANDLE)
    cursor, result = opener.cursor(number)
    assert (result, cursor != 0) == (0, True)
    assert opener.cursor(number ^ 1) == (0, INVALID_HANDLE)
    reader.session(number)
    peek, following = ReadAction.PEEK_CURRENT, ReadAction.PEEK_NEXT
    assert reader.start(number, cursor=cursor, action=following).result == CURSOR_MOVED
    assert body_of(reader.start(number, cursor=cursor, action=peek)) == "a"
    assert body_of(reader.start(number, cursor=cursor, action=peek)) == "a"
    assert body_of(reader.start(number, cursor=cursor, action=following)) == "b"
    taken = reader.start(number, cursor=cursor)
    assert body_of(taken) == "b"
    other = opener.ask(ORDERS)
    reader.session(other.queue)
    close = Qm2qmOpnum.CLOSE_CURSOR
    for queue, wrong in ((number ^ 1, cursor), (number, cursor + 1), (other.queue, cursor)):
        found = reader.call(close, stubs.TwoNumbers(queue, wrong), stubs.OneNumber)
        assert found.number == INVALID_HANDLE
    assert reader.start(other.queue, cursor=cursor).result == BAD_PARAMETER
    assert reader.call(close, stubs.TwoNumbers(number, cursor), stubs.OneNumber).number == 0
    assert reader.start(number, cursor=cursor).result == BAD_PARAMETER


def test_no_cursor_has_the_reserved_number(opener: Opener) -> None:
    """MQMP-141"""
    number = opener.ask(ORDERS).queue
    made = {opener.cursor(number)[0] for _ in range(20)}
    assert len(made) == 20
    assert not made & {0, 0x0B}


# Purge, close, and clients that are gone


def test_a_queue_is_purged(world: World, opener: Opener, reader: Reader) -> None:
    """MQQP-144, MQQP-176, MQQP-177, MQQP-179, MQQP-180"""
    world.send("a", "b")
    number = opened(opener, reader)
    held = reader.start(number)
    assert reader.call(6, stubs.OneNumber(number), stubs.OneNumber).number == 0
    assert reader.start(number).result == TIMEOUT
    assert reader.end(held.handle, 1).result == 0
    assert world.manager.find_queue("orders").messages == 0
    assert reader.call(6, stubs.OneNumber(number ^ 1), stubs.OneNumber) == INVALID_HANDLE


def test_a_close_ends_waits_and_returns_messages(
    world: World, opener: Opener, reader: Reader
) -> None:
    """MQQP-145, MQQP-149 to MQQP-155"""
    world.send("a")
    asked = opener.ask(ORDERS)
    session = reader.session(asked.queue).handle
    held = reader.start(asked.queue)
    assert body_of(held) == "a"
    waits = reader.start_later(asked.queue, request_id=2, timeout_ms=5000)
    queue = world.manager.find_queue("orders")
    assert reader.close(NULL_HANDLE).result == INVALID_HANDLE
    closed = reader.close(session)
    assert (closed.result, closed.handle) == (0, NULL_HANDLE)
    reader.pair.run()
    assert result_of(waits) == CANCELED
    assert not queue.modes
    assert not queue.holds
    assert reader.end(held.handle).result == SEQUENCE
    assert queue.messages == 1
    assert reader.start(asked.queue).result == INVALID_PARAMETER
    assert reader.cancel(asked.queue, 1) == INVALID_HANDLE
    assert (len(world.old), world.old.next_deadline) == (0, None)


def test_everything_returns_when_a_reader_is_gone(
    world: World, opener: Opener, reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    """MQQP-186 to MQQP-191: with its last connection, reads before sessions."""
    world.send("a")
    number = opened(opener, reader)
    second = Reader(world, reader.pair.client.group)
    assert body_of(reader.start(number)) == "a"
    reader.start_later(number, request_id=2, timeout_ms=5000)
    queue = world.manager.find_queue("orders")
    order: list[str] = []
    run_down, close_session = Association.run_down, ReadSession.run_down

    def closed(session: ReadSession) -> None:
        assert not queue.holds, "what was read is back before its session ends"
        close_session(session)

    def noted(association: Association) -> None:
        order.extend(type(context).__name__ for context in association._handles.values())
        run_down(association)

    monkeypatch.setattr(Association, "run_down", noted)
    monkeypatch.setattr(ReadSession, "run_down", closed)
    reader.pair.server.lost()
    assert queue.holds
    second.pair.server.lost()
    assert order == ["ReadSession", "HeldRead"], "the newest is run down first"
    assert not queue.holds
    assert not queue.modes
    assert queue.messages == 1
    assert (len(world.old), world.old.next_deadline) == (0, None)
    world.send("b")
    assert queue.messages == 2, "no read that waited takes a message"


def test_a_message_that_comes_when_its_reader_has_gone_stays(
    world: World, opener: Opener, reader: Reader
) -> None:
    """MQQP-191"""
    number = opened(opener, reader)
    reader.start_later(number, timeout_ms=0xFFFFFFFF)
    reader.pair.server.lost()
    world.send("kept")
    again = Reader(world)
    number = opened(Opener(world), again)
    assert body_of(again.start(number)) == "kept"


def test_journal_copies_are_made_of_what_was_acknowledged(world: World) -> None:
    """MQQP-147"""
    world.driver.call(lambda: world.manager.create_queue("kept", journal=True))
    world.send("a", queue="kept")
    opener, reader = Opener(world), Reader(world)
    number = opened(opener, reader, "DIRECT=OS:HOST\\private$\\kept")
    found = reader.start(number)
    queue = world.manager.find_queue("kept")
    assert queue.journal is None or not queue.journal.messages
    assert reader.end(found.handle).result == 0
    assert queue.journal is not None
    assert queue.journal.messages == 1


# What the runtime does for these interfaces as for all


@pytest.mark.parametrize("syntax", [QM2QM, QMCOMM])
def test_ndr_2_is_the_transfer_syntax(world: World, syntax: SyntaxId) -> None:
    """MQQP-007, MQQP-008, MQMP-024: and NDR64 is rejected."""
    bare = Bare(world.rpc)
    ack = bare.bind(ContextElement(0, syntax, (NDR,)), ContextElement(1, syntax, (NDR64,)))
    assert [(one.result, one.transfer) for one in ack.results] == [
        (ContextAnswer.ACCEPTANCE, NDR),
        (ContextAnswer.PROVIDER_REJECTION, NO_SYNTAX),
    ]


def test_arguments_that_are_cut_or_out_of_range_get_a_fault(opener: Opener, reader: Reader) -> None:
    """MQQP-009: and what was open before is as it was."""
    number = opened(opener, reader, ORDERS)
    described = description(number)
    whole = stubs.StartRead2(stubs.ReadDescription2(described, 0)).encode()
    handle = handle_stub(UUID(int=1))
    for opnum, stub in (
        (Qm2qmOpnum.START_RECEIVE, stubs.StartRead(described).encode()[:-1]),
        (Qm2qmOpnum.START_RECEIVE_2, whole[:-1]),
        (Qm2qmOpnum.START_RECEIVE_BY_LOOKUP_ID, bytes(8) + whole[:-1]),
        (Qm2qmOpnum.START_RECEIVE, stubs.StartRead(replace(described, size=1)).encode()),
        (Qm2qmOpnum.END_RECEIVE, handle + (3).to_bytes(4, "little")),
        (Qm2qmOpnum.END_RECEIVE, handle + bytes(4)),
        (Qm2qmOpnum.OPEN_QUEUE, UUID(int=9).bytes_le + (17).to_bytes(4, "little") + bytes(12)),
        (Qm2qmOpnum.CANCEL_RECEIVE, bytes(11)),
        (Qm2qmOpnum.PURGE_QUEUE, b""),
        (Qm2qmOpnum.GET_SERVER_PORT, (4).to_bytes(4, "little")),
    ):
        assert reader.call(opnum, stub, stubs.OneNumber) == RpcStatus.BAD_STUB_DATA, opnum
    assert opener.call(QmcommOpnum.OPEN_REMOTE_QUEUE, bytes(3), stubs.OneNumber) == (
        RpcStatus.BAD_STUB_DATA
    )
    assert reader.start(number, action=ReadAction.PEEK_CURRENT).result == TIMEOUT


def test_without_a_login_the_ports_are_answered_and_nothing_else(world: World) -> None:
    """MQQP-020, MQQP-024: every other operation gets the fault for a denied access."""
    world.rpc.least_level = lambda _: AuthLevel.CONNECT
    opener, reader = Opener(world), Reader(world)
    for client, opnum in ((reader, 7), (opener, 31)):
        assert client.call(opnum, stubs.OneNumber(0), stubs.OneNumber).number == 2103
    for client, opnums in ((reader, Qm2qmOpnum), (opener, QmcommOpnum)):
        for opnum in set(opnums) - {7, 31}:
            assert client.call(opnum, b"", stubs.OneNumber) == RpcStatus.ACCESS_DENIED
