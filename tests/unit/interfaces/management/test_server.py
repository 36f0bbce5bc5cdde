"""The server of qmmgmt: who may call, what is refused, and the six actions."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from tests.strategies.managed import ADMIN, Administrator, get_info, queue_object
from tests.unit.app_server.machines import InstantDriver
from tests.unit.engine.carriers import FakeTransport
from tests.unit.engine.world import HandClock
from tests.unit.rpc.test_server import Bare

from openmsmq.engine.manager import QueueManager
from openmsmq.engine.outgoing.transport import AddressKind
from openmsmq.errors import AccessDenied
from openmsmq.interfaces.levels import LevelPolicy
from openmsmq.interfaces.management import stubs
from openmsmq.interfaces.management.stubs import THE_MACHINE, ManagedObject, ObjectType
from openmsmq.interfaces.queue_format import DistributionListId, QueueFormatArgument
from openmsmq.interfaces.variants import NULL, VariantArgument
from openmsmq.properties.propid import MGMT_MSMQ, MGMT_QUEUE
from openmsmq.properties.variant import PropVariant
from openmsmq.properties.vartype import VECTOR, VarType
from openmsmq.rpc.auth.context import AuthLevel
from openmsmq.rpc.interface import RpcClient
from openmsmq.rpc.pdu import ContextElement, RejectReason
from openmsmq.rpc.status import RpcStatus
from openmsmq.rpc.syntax import NDR, NDR64, SyntaxId
from openmsmq.store.memory import MemoryStore
from openmsmq.types.access import Access, Mode, Share
from openmsmq.types.caller import Caller, Grant
from openmsmq.types.message import Message

MQ_ERROR, NOT_ACTIVE, INVALID_PARAMETER = 0xC00E0001, 0xC00E0004, 0xC00E0006
ILLEGAL_NAME, UNSUPPORTED, ACCESS_DENIED, ILLEGAL_PROPID = (
    0xC00E001E,
    0xC00E0020,
    0xC00E0025,
    0xC00E0039,
)
ORDERS = "DIRECT=OS:HOST\\private$\\orders"
ELSEWHERE = "DIRECT=OS:office\\private$\\answers"
SESSION = ManagedObject(ObjectType.SESSION, 7)


class World:
    """A manager with a queue, and a transport that keeps what it is asked for."""

    def __init__(self) -> None:
        self.clock = HandClock()
        self.manager = QueueManager(MemoryStore(), self.clock, name="HOST")
        self.driver = InstantDriver(self.manager)
        self.transport = FakeTransport()
        self.manager.dispatcher.register([AddressKind.BINARY], self.transport)
        self.driver.call(lambda: self.manager.create_queue("orders"))
        self.admin = Administrator(self.manager)

    def send(self, name: str, *bodies: str) -> None:
        handle = self.driver.call(lambda: self.manager.open_queue(name, Mode(Access.SEND)))
        self.driver.call(lambda: handle.send([Message(body.encode()) for body in bodies]))
        self.driver.call(handle.close)


@pytest.fixture
def world() -> World:
    return World()


# Who may call


def test_only_administrators_are_answered_and_nothing_else_shows(world: World) -> None:
    """MQMR-039 to MQMR-044, MQMR-046, MQMR-047, SYS-173, SYS-175: whether a queue exists is no
    different.
    """
    world.send(ELSEWHERE, "1")
    roles = ["watch", "peek", "read", "send", "operate", "read+send+operate"]
    callers = [Caller("bob", Grant(role, user="bob")) for role in roles]
    callers.append(Caller("bob", Grant("admin", ("private$\\orders",), user="bob")))
    for caller in callers:
        bob = Administrator(world.manager, caller)
        for name in (ORDERS, "DIRECT=OS:HOST\\private$\\none", ELSEWHERE):
            assert bob.refusal(queue_object(name), 7) == ACCESS_DENIED
            assert bob.refusal(queue_object(name), 99) == ACCESS_DENIED
            assert bob.act(queue_object(name), "PAUSE") == ACCESS_DENIED
        assert bob.refusal(THE_MACHINE, 2) == ACCESS_DENIED
        assert bob.act(THE_MACHINE, "nonsense") == ACCESS_DENIED
        assert bob.refusal(SESSION, 1) == ACCESS_DENIED
    denied = [entry for entry in world.manager.audit_entries(0, 100) if not entry.allowed]
    assert denied
    assert world.transport.heard == ["ready s"]


def test_a_user_that_is_gone_is_refused(world: World) -> None:
    """MQMR-040: with every call."""

    def gone(client: RpcClient) -> Caller:
        raise AccessDenied("there is no such user")

    world.admin.server._caller_of = gone
    assert world.admin.refusal(THE_MACHINE, 2) == ACCESS_DENIED
    assert world.admin.act(THE_MACHINE, "TIDY") == ACCESS_DENIED


@pytest.mark.parametrize(
    ("level", "is_enough"),
    [
        (AuthLevel.NONE, False),
        (AuthLevel.CONNECT, False),
        (AuthLevel.INTEGRITY, True),
        (AuthLevel.PRIVACY, True),
    ],
)
def test_calls_have_to_be_signed(world: World, level: int, is_enough: bool) -> None:
    """MQMR-045: on loopback, too."""
    admin = Administrator(world.manager, policy=LevelPolicy(), level=level)
    for opnum, stub in (
        (0, get_info(THE_MACHINE, [4]).encode()),
        (1, stubs.ActionArguments(THE_MACHINE, "TIDY").encode()),
    ):
        found = admin.raw(opnum, stub)
        assert isinstance(found, bytes) if is_enough else found == RpcStatus.ACCESS_DENIED


# Arguments


def test_there_are_two_operations(world: World) -> None:
    """MQMR-012, MQMR-048, MQMR-184"""
    found = world.admin.raw(0, get_info(THE_MACHINE, [4]).encode())
    assert isinstance(found, bytes)
    assert stubs.GetInfoResults.decode(found).result == 0
    found = world.admin.raw(1, stubs.ActionArguments(THE_MACHINE, "TIDY").encode())
    assert isinstance(found, bytes)
    assert stubs.ActionResult.decode(found).result == 0
    for opnum in (2, 3, 100):
        assert world.admin.raw(opnum, b"") == RpcStatus.OP_RNG_ERROR


def test_any_call_is_the_first_of_its_connection(world: World) -> None:
    """MQMR-009, MQMR-010, MQMR-011: nothing is left of a client that is gone."""
    for _ in range(3):
        admin = Administrator(world.manager)
        assert admin.act(THE_MACHINE, "TIDY") == 0
        admin.pair.server.lost()
        assert not len(admin.rpc.associations)
    assert world.admin.get("", MGMT_MSMQ.CONNECTED) == ["CONNECTED"]


def test_versions_and_syntaxes_are_those_of_the_interface(world: World) -> None:
    """MQMR-006, MQMR-007, MQMR-008, SYS-172"""
    bare = Bare(world.admin.rpc)
    newer = SyntaxId.of(str(stubs.MANAGEMENT.uuid), 2)
    ack = bare.bind(
        ContextElement(0, stubs.MANAGEMENT, (NDR,)),
        ContextElement(1, stubs.MANAGEMENT, (NDR64,)),
        ContextElement(2, newer, (NDR,)),
    )
    syntaxes, abstract = (
        RejectReason.TRANSFER_SYNTAXES_NOT_SUPPORTED,
        RejectReason.ABSTRACT_SYNTAX_NOT_SUPPORTED,
    )
    found = [(int(one.result), int(one.reason)) for one in ack.results]
    assert found == [(0, 0), (2, syntaxes), (2, abstract)]


def test_all_values_of_a_call_are_of_one_moment(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """MQMR-073: the manager is called once, and nothing is committed in between."""
    calls = []
    call = InstantDriver.call

    def counted(driver: InstantDriver, make: Any) -> Any:
        calls.append(make)
        return call(driver, make)

    monkeypatch.setattr(InstantDriver, "call", counted)
    assert len(world.admin.get(ORDERS, *MGMT_QUEUE)) == 27
    assert len(calls) == 1


BASE = get_info(queue_object(ORDERS), [7, 8]).encode()
"type, tag, referent, QUEUE_FORMAT; cp at 0x54."
CP = BASE.index((2).to_bytes(4, "little") * 2 + (7).to_bytes(4, "little"))


@pytest.mark.parametrize(
    ("offset", "wrong", "rule"),
    [
        (CP, 0, "MQMR-016"),
        (CP, 129, "MQMR-017"),
        (CP + 4, 3, "MQMR-014"),
        (CP + 16, 1, "MQMR-015"),
        (0, 1, "MQMR-021"),
        (0, 4, "MQMR-022"),
        (8, 1, "MQMR-026"),
        (CP + 24, 2, "MQMR-023"),
    ],
)
def test_stubs_that_contradict_themselves_get_a_fault(
    world: World, offset: int, wrong: int, rule: str
) -> None:
    """MQMR-014 to MQMR-017, MQMR-021 to MQMR-023, MQMR-026, MQMR-049, SYS-174, SYS-176, SYS-177"""
    stub = BASE[:offset] + bytes([wrong]) + BASE[offset + 1 :]
    assert world.admin.raw(0, stub) == RpcStatus.BAD_STUB_DATA, rule
    assert isinstance(world.admin.raw(0, BASE), bytes), "the next call is served"


def test_types_without_an_arm_and_cut_stubs_get_a_fault(world: World) -> None:
    """MQMR-020, MQMR-024"""
    for kind in (0x08, 0x1008, 0x2013, 0xFFFF):
        variant = kind.to_bytes(2, "little") + bytes(6) + kind.to_bytes(2, "little") + bytes(6)
        stub = get_info(THE_MACHINE, [4]).encode()[:0x18] + variant
        assert world.admin.raw(0, stub) == RpcStatus.BAD_STUB_DATA, hex(kind)
    for size in range(len(BASE)):
        assert world.admin.raw(0, BASE[:size]) == RpcStatus.BAD_STUB_DATA


def test_what_the_values_hold_does_not_matter_unless_they_lie(world: World) -> None:
    """MQMR-018, MQMR-019, MQMR-025, MQMR-035, MQMR-060, MQMR-064"""
    text = VariantArgument.of(PropVariant(VarType.VT_LPWSTR, "whatever"))
    odd = VariantArgument(VarType.VT_NULL, 0xFF, 0xEE, 0xDDCCBBAA, None)
    for value in (text, odd):
        found = world.admin.results(get_info(queue_object(ORDERS), [7, 7], value))
        assert [item.value for item in found.values] == [0, 0]
    for count in (1, 128):
        found = world.admin.results(get_info(queue_object(ORDERS), [7] * count))
        assert (found.result, len(found.values)) == (0, count)
    vector = VariantArgument.of(PropVariant(VECTOR | VarType.VT_UI4, (1, 2, 3)))
    stub = get_info(THE_MACHINE, [4], vector).encode()
    at = stub.index((3).to_bytes(4, "little")) + 4
    assert world.admin.raw(0, stub[:at] + bytes(4)) == RpcStatus.BAD_STUB_DATA

    def deep(levels: int) -> VariantArgument:
        value = NULL
        for _ in range(levels - 1):
            kind = VECTOR | VarType.VT_VARIANT
            inner = VariantArgument.of(PropVariant(kind, ()))
            vector = type(inner.value)(1, (value,))
            value = VariantArgument(kind, 0, 0, 0, vector)
        return value

    arguments = get_info(THE_MACHINE, [4], deep(4))
    assert world.admin.results(arguments).result == 0
    assert world.admin.raw(0, get_info(THE_MACHINE, [4], deep(5)).encode()) == 0x6F7


@pytest.mark.parametrize(
    ("managed", "propids", "result"),
    [
        (SESSION, [1], INVALID_PARAMETER),
        (ManagedObject(ObjectType.QUEUE, None), [7], INVALID_PARAMETER),
        (THE_MACHINE, [7], ILLEGAL_PROPID),
        (THE_MACHINE, [4, 0], ILLEGAL_PROPID),
        (queue_object(ORDERS), [28], ILLEGAL_PROPID),
        (queue_object(ORDERS), [7, 0], ILLEGAL_PROPID),
        (queue_object("DIRECT=OS:HOST\\private$\\none"), [28], ILLEGAL_PROPID),
        (queue_object("DIRECT=OS:HOST\\private$\\none"), [7], MQ_ERROR),
        (queue_object(ELSEWHERE), [7], MQ_ERROR),
        (queue_object(f"{ORDERS};none"), [7], MQ_ERROR),
        (ManagedObject(2, QueueFormatArgument(0, 0, 0, None)), [7], ILLEGAL_NAME),
        (ManagedObject(2, QueueFormatArgument(3, 2, 0, ORDERS[7:])), [7], ILLEGAL_NAME),
        (ManagedObject(2, QueueFormatArgument(3, 0, 0, "nonsense")), [7], ILLEGAL_NAME),
        (
            ManagedObject(2, QueueFormatArgument(6, 0, 0, DistributionListId(UUID(int=5), None))),
            [7],
            UNSUPPORTED,
        ),
    ],
)
def test_what_cannot_be_answered_is_refused_and_sets_nothing(
    world: World, managed: ManagedObject, propids: list[int], result: int
) -> None:
    """MQMR-051, MQMR-052, MQMR-053, MQMR-055, MQMR-056, MQMR-061, MQMR-062, MQMR-063, MQMR-065,
    MQMR-066, MQMR-067, MQMR-069, MQMR-075, MQMR-076, SYS-179, SYS-180, SYS-181, SYS-184
    """
    assert world.admin.refusal(managed, *propids) == result
    text = VariantArgument.of(PropVariant(VarType.VT_LPWSTR, "as it came"))
    found = world.admin.results(get_info(managed, propids, text))
    assert found.values == (text,) * len(propids)


def test_what_came_is_sent_back_when_a_call_fails(world: World) -> None:
    """MQMR-077"""
    text = VariantArgument.of(PropVariant(VarType.VT_LPWSTR, "as it came"))
    found = world.admin.results(get_info(SESSION, [1, 2], text))
    assert (found.result, found.values) == (INVALID_PARAMETER, (text, text))


def test_a_question_changes_nothing_and_waits_for_no_one(world: World) -> None:
    """MQMR-050, MQMR-070, MQMR-071, MQMR-072, MQMR-074, MQMR-078: neither handles nor modes."""
    queue = world.manager.find_queue("orders")
    count, state = world.admin.get(ORDERS, MGMT_QUEUE.MESSAGE_COUNT, MGMT_QUEUE.STATE)
    assert (count, state) == (0, "LOCAL CONNECTION")
    assert not queue.modes
    mode = Mode(Access.RECEIVE, Share.DENY_RECEIVE)
    world.driver.call(lambda: world.manager.open_queue("orders", mode))
    assert world.admin.get(ORDERS, MGMT_QUEUE.MESSAGE_COUNT) == [0]
    assert queue.modes == [mode]
    machine = ManagedObject(ObjectType.MACHINE, 0xFFFFFFFF)
    assert world.admin.results(get_info(machine, [4])).result == 0


# Actions


@pytest.mark.parametrize(
    ("managed", "word", "result"),
    [
        (SESSION, "PAUSE", INVALID_PARAMETER),
        (SESSION, "TIDY", INVALID_PARAMETER),
        (THE_MACHINE, "PURGE", INVALID_PARAMETER),
        (THE_MACHINE, "", INVALID_PARAMETER),
        (THE_MACHINE, " TIDY", INVALID_PARAMETER),
        (queue_object(ELSEWHERE), "PAUSE ", INVALID_PARAMETER),
        (queue_object(ELSEWHERE), "pau\u017fe", INVALID_PARAMETER),
        (queue_object(ELSEWHERE), "TIDY", INVALID_PARAMETER),
        (queue_object(ELSEWHERE), "CONNECT", INVALID_PARAMETER),
        (THE_MACHINE, "PAUSE", INVALID_PARAMETER),
        (THE_MACHINE, "EOD_RESEND", INVALID_PARAMETER),
        (ManagedObject(ObjectType.QUEUE, None), "PAUSE", INVALID_PARAMETER),
        (ManagedObject(2, QueueFormatArgument(0, 0, 0, None)), "PAUSE", ILLEGAL_NAME),
        (queue_object(ORDERS), "PAUSE", NOT_ACTIVE),
        (queue_object("DIRECT=OS:HOST\\SYSTEM$;DEADLETTER"), "RESUME", NOT_ACTIVE),
        (queue_object("DIRECT=OS:nowhere\\private$\\q"), "PAUSE", NOT_ACTIVE),
        (queue_object(ORDERS), "EOD_RESEND", NOT_ACTIVE),
        (queue_object("DIRECT=TCP:10.0.0.9\\private$\\answers"), "PAUSE", NOT_ACTIVE),
    ],
)
def test_actions_that_do_not_fit_are_refused(
    world: World, managed: ManagedObject, word: str, result: int
) -> None:
    """MQMR-185, MQMR-187, MQMR-188, MQMR-189, MQMR-191, MQMR-192, MQMR-193, MQMR-194, MQMR-195,
    MQMR-196, MQMR-210, MQMR-211, MQMR-214, MQMR-218, SYS-185, SYS-186
    """
    world.send(ELSEWHERE, "1")
    assert world.admin.act(managed, word) == result
    assert world.admin.get(ELSEWHERE, MGMT_QUEUE.STATE) == ["CONNECTED"]


def test_a_word_without_its_null_gets_a_fault(world: World) -> None:
    """MQMR-036, MQMR-037"""
    stub = stubs.ActionArguments(THE_MACHINE, "TIDY").encode()
    assert stub[8:20] == bytes.fromhex("05000000 00000000 05000000")
    broken = stub[:28] + b"!\0"
    assert world.admin.raw(1, broken) == RpcStatus.BAD_STUB_DATA
    long = stubs.ActionArguments(THE_MACHINE, "T" * 60).encode()
    assert isinstance(world.admin.raw(1, long), bytes)


def test_an_outgoing_queue_is_paused_and_resumed(world: World) -> None:
    """MQMR-143, MQMR-186, MQMR-207, MQMR-208, MQMR-209, MQMR-212, SYS-185, SYS-188"""
    world.send(ELSEWHERE, "1")
    target = queue_object(ELSEWHERE)
    world.transport.heard  # noqa: B018 # forget it
    for word in ("pause", "PAUSE"):
        assert world.admin.act(target, word) == 0
        assert world.admin.get(ELSEWHERE, MGMT_QUEUE.STATE) == ["ONHOLD"]
    assert set(world.transport.heard) == {"withdrawn s"}
    world.send(ELSEWHERE, "2", "3")
    assert world.admin.get(ELSEWHERE, MGMT_QUEUE.MESSAGE_COUNT) == [3]
    queue = world.manager.queues.find_outgoing(target.value.queue_format().name())
    assert queue is not None
    assert not world.manager.dispatcher.take(queue, 9, 1 << 20, UUID(int=9))
    for word in ("Resume", "RESUME"):
        assert world.admin.act(target, word) == 0
        assert queue.transfer is not None
        assert str(queue.transfer.state) == "inactive"
    assert len(world.manager.dispatcher.take(queue, 9, 1 << 20, UUID(int=9))) == 3


def test_the_manager_is_disconnected_and_connected(world: World) -> None:
    """MQMR-094, MQMR-095, MQMR-144, MQMR-197 to MQMR-203, SYS-187: it answers meanwhile."""
    world.send(ELSEWHERE, "1")
    assert world.admin.get("", MGMT_MSMQ.CONNECTED) == ["CONNECTED"]
    assert world.admin.act(THE_MACHINE, "disconnect") == 0
    assert world.admin.get("", MGMT_MSMQ.CONNECTED) == ["DISCONNECTED"]
    assert world.admin.get(ELSEWHERE, MGMT_QUEUE.STATE) == ["DISCONNECTED"]
    queue = world.manager.queues.find_outgoing(queue_object(ELSEWHERE).value.queue_format().name())
    assert queue is not None
    assert not world.manager.dispatcher.take(queue, 9, 1 << 20, UUID(int=9))
    assert not world.manager.dispatcher.is_online
    assert world.admin.act(THE_MACHINE, "CONNECT") == 0
    assert world.admin.get("", MGMT_MSMQ.CONNECTED) == ["CONNECTED"]
    assert len(world.manager.dispatcher.take(queue, 9, 1 << 20, UUID(int=9))) == 1
    world.admin.act(THE_MACHINE, "DISCONNECT")
    again = QueueManager(MemoryStore(), world.clock, name="HOST")
    assert Administrator(again).get("", MGMT_MSMQ.CONNECTED) == ["CONNECTED"]


def test_tidy_removes_no_message_from_any_queue(world: World) -> None:
    """MQMR-205, MQMR-206, SYS-190"""
    world.driver.call(lambda: world.manager.create_queue("bills", journal=True))
    world.send("orders", "1", "2", "3")
    world.send("bills", "4")
    world.send(ELSEWHERE, "5", "6")
    names = (ORDERS, "DIRECT=OS:HOST\\private$\\bills", ELSEWHERE)

    def counts() -> list[int]:
        return [world.admin.get(name, MGMT_QUEUE.MESSAGE_COUNT)[0] for name in names]

    before = counts()
    size = world.admin.get("", MGMT_MSMQ.BYTES_IN_ALL_QUEUES)
    for _ in range(2):
        assert world.admin.act(THE_MACHINE, "TIDY") == 0
    assert counts() == before == [3, 1, 2]
    assert world.admin.get("", MGMT_MSMQ.BYTES_IN_ALL_QUEUES) == size


def test_tidy_forgets_queues_that_are_empty_and_not_in_use(world: World) -> None:
    """MQMR-204"""
    world.send("orders", "1")
    handle = world.driver.call(lambda: world.manager.open_queue("orders", Mode()))
    lookup = world.driver.call(lambda: handle.peek(1, wait=False)).result()[0].lookup
    world.driver.call(lambda: handle.move(lookup, "retry", None))
    name = f"{ORDERS};retry"
    assert world.admin.act(THE_MACHINE, "TIDY") == 0
    assert world.admin.get(name, MGMT_QUEUE.MESSAGE_COUNT) == [1]
    retry = world.driver.call(lambda: world.manager.open_queue(name, Mode()))
    world.driver.call(lambda: retry.receive(1, wait=False))
    world.driver.call(retry.close)
    assert world.admin.act(THE_MACHINE, "TIDY") == 0
    assert world.admin.refusal(queue_object(name), MGMT_QUEUE.MESSAGE_COUNT.value) == MQ_ERROR
    assert world.admin.get(ORDERS, MGMT_QUEUE.MESSAGE_COUNT) == [0]


def test_a_restart_resumes_a_paused_queue(world: World) -> None:
    """MQMR-213: its messages are there, and go."""
    world.send(ELSEWHERE, "1")
    assert world.admin.act(queue_object(ELSEWHERE), "PAUSE") == 0
    store = world.manager.store
    assert isinstance(store, MemoryStore)
    again = QueueManager(MemoryStore(store.committed), HandClock(), name="HOST")
    again.dispatcher.register([AddressKind.BINARY], FakeTransport())
    admin = Administrator(again)
    assert world.admin.get(ELSEWHERE, MGMT_QUEUE.STATE) == ["ONHOLD"]
    assert admin.get(ELSEWHERE, MGMT_QUEUE.STATE) != ["ONHOLD"]
    queue = again.queues.find_outgoing(queue_object(ELSEWHERE).value.queue_format().name())
    assert queue is not None
    assert len(again.dispatcher.take(queue, 9, 1 << 20, UUID(int=9))) == 1


def test_to_send_again_without_messages_is_fine(world: World) -> None:
    """MQMR-217: and while nothing may be sent, it is left for later."""
    world.send(ELSEWHERE, "1")
    world.transport.heard  # noqa: B018
    assert world.admin.act(queue_object(ELSEWHERE), "EOD_RESEND") == 0
    assert world.transport.heard == ["resend s"]
    world.admin.act(queue_object(ELSEWHERE), "PAUSE")
    world.transport.heard  # noqa: B018
    assert world.admin.act(queue_object(ELSEWHERE), "EOD_RESEND") == 0
    assert world.transport.heard == []


def test_what_administrators_do_is_in_the_audit_log(world: World) -> None:
    world.send(ELSEWHERE, "1")
    for managed, word in ((queue_object(ELSEWHERE), "PAUSE"), (THE_MACHINE, "DISCONNECT")):
        assert world.admin.act(managed, word) == 0
    entries = world.manager.audit_entries(0, 100)
    found = [entry.act for entry in entries if entry.who == ADMIN.principal]
    assert found == ["pause", "take offline"]
