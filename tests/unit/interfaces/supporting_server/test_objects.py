"""Queues that dependent clients create, change, see and delete."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from tests.strategies.dependent import Dependent, SupportingWorld, target, text, value
from tests.strategies.remote_reader import ORDERS

from openmsmq.interfaces.queue_format import ObjectId, QueueFormatArgument
from openmsmq.interfaces.supporting_server import stubs
from openmsmq.interfaces.supporting_server.stubs import Opnum
from openmsmq.interfaces.variants import NULL
from openmsmq.names.format import parse_format_name
from openmsmq.properties.propid import Q
from openmsmq.rpc.status import RpcStatus
from openmsmq.security.descriptor import SecurityDescriptor
from openmsmq.security.sddl import format_sddl, parse_sddl
from openmsmq.types.caller import Caller, Grant

INVALID_PARAMETER, EXISTS, NOT_FOUND, DENIED = 0xC00E0006, 0xC00E0005, 0xC00E0003, 0xC00E0025
BAD_PATH, BAD_DESCRIPTOR, BAD_VALUE, BAD_TYPE = 0xC00E0014, 0xC00E0021, 0xC00E0018, 0xC00E0002
NOT_ALLOWED, UNKNOWN, TOO_SMALL, DELETED = 0xC00E003E, 0xC00E0039, 0xC00E0023, 0xC00E005A
NEW, NAME = ".\\private$\\new", "DIRECT=OS:HOST\\private$\\new"
GIVEN = parse_sddl("O:S-1-5-21-1-2-3-7G:S-1-5-21-1-2-3-9D:(A;;0x4;;;WD)(A;;0xf003f;;;BA)")
OWNER, GROUP, DACL, SACL = 1, 2, 4, 8


@pytest.fixture
def client() -> Dependent:
    return Dependent(SupportingWorld())


# Creation


def test_a_path_alone_makes_a_queue_with_defaults(client: Dependent) -> None:
    """MQMP-044, MQMP-144, MQMP-145, MQMP-154, MQMP-156, MQMP-159, MQMP-163: at once, by `.` or by
    the name of the computer.
    """
    assert client.create(NEW) == client.create("host\\private$\\other") == 0
    queue = client.world.manager.find_queue("new")
    plain = queue.properties
    assert (plain.transactional, plain.journal, plain.label, plain.privacy) == (False, False, "", 1)
    assert client.open(NAME).result == 0
    asked = stubs.PathToFormat(NEW, _empty())
    assert client.call(Opnum.PATH_TO_FORMAT, asked, stubs.FormatResult).result == 0


def test_a_queue_is_made_with_properties_and_permissions(client: Dependent) -> None:
    """MQMP-091, MQMP-147, MQMP-150, MQMP-155, MQMP-161"""
    kind = UUID(int=77)
    given = {
        Q.TYPE: kind,
        Q.JOURNAL: 1,
        Q.QUOTA: 500,
        Q.BASEPRIORITY: 9,
        Q.JOURNAL_QUOTA: 600,
        Q.LABEL: "quotes",
        Q.AUTHENTICATE: 0,
        Q.PRIV_LEVEL: 0,
        Q.TRANSACTION: 1,
        Q.MULTICAST_ADDRESS: "234.1.1.1:8001",
        Q.PATHNAME: "HOST\\PRIVATE$\\new",
    }
    del given[Q.MULTICAST_ADDRESS]  # transactional queues have none
    descriptor = GIVEN.encode()
    properties = {item: value(item, found) for item, found in given.items()}
    assert client.create(NEW, properties, descriptor) == 0
    queue = client.world.manager.find_queue("new").properties
    assert (queue.type, queue.journal, queue.quota, queue.journal_quota) == (kind, True, 500, 600)
    assert (queue.label, queue.privacy, queue.transactional) == ("quotes", 0, True)
    assert queue.base_priority == 0
    assert parse_sddl(queue.permissions).dacl == GIVEN.dacl
    group = {Q.MULTICAST_ADDRESS: value(Q.MULTICAST_ADDRESS, "234.1.1.1:8001")}
    assert client.create(".\\private$\\group", group) == 0
    assert client.world.manager.find_queue("group").properties.multicast == "234.1.1.1:8001"


@pytest.mark.parametrize(
    ("path", "given", "result"),
    [
        (NEW, {"kind": 2}, INVALID_PARAMETER),
        ("elsewhere\\private$\\new", {}, BAD_PATH),
        (".\\public", {}, BAD_PATH),
        ("nonsense", {}, BAD_PATH),
        (".\\private$\\new;sub", {}, BAD_PATH),
        (".\\private$\\new\\Journal$", {}, BAD_PATH),
        (NEW, {"size": 4}, BAD_DESCRIPTOR),
        (NEW, {"descriptor": b"not one"}, BAD_DESCRIPTOR),
        (NEW, {"properties": {Q.PATHNAME: text(".\\private$\\old")}}, BAD_VALUE),
        (NEW, {"properties": {Q.INSTANCE: value(Q.INSTANCE, UUID(int=5))}}, NOT_ALLOWED),
        (NEW, {"properties": {Q.CREATE_TIME: value(Q.CREATE_TIME, 5)}}, NOT_ALLOWED),
        (NEW, {"properties": {9999: text("x")}}, UNKNOWN),
        (NEW, {"properties": {Q.LABEL: value(Q.QUOTA, 5)}}, BAD_TYPE),
        (NEW, {"properties": {Q.LABEL: text("x" * 125)}}, BAD_VALUE),
        (NEW, {"properties": {Q.JOURNAL: value(Q.JOURNAL, 2)}}, BAD_VALUE),
        (NEW, {"properties": {Q.PRIV_LEVEL: value(Q.PRIV_LEVEL, 3)}}, BAD_VALUE),
    ],
)
def test_what_cannot_be_made_is_refused(
    client: Dependent, path: str, given: dict[str, Any], result: int
) -> None:
    """MQMP-142, MQMP-143, MQMP-146, MQMP-148, MQMP-150, MQMP-151, MQMP-160, MQMP-162"""
    properties = {Q.LABEL: text("x")} | given.pop("properties", {})
    if len(properties) > 1 and Q.LABEL in properties and given == {}:
        properties = dict(list(properties.items())[-1:]) if path == NEW else properties
    assert client.create(path, properties, **given) == result
    assert client.open(NAME).result == NOT_FOUND


def test_a_queue_that_is_there_stays_as_it_is(client: Dependent) -> None:
    """MQMP-152, MQMP-153"""
    assert client.create(NEW, {Q.LABEL: text("first")}) == 0
    assert client.create(NEW, {Q.LABEL: text("second")}) == EXISTS
    assert client.world.manager.find_queue("new").properties.label == "first"


@pytest.mark.parametrize("size", [1100, 65_000])
def test_over_long_paths_get_a_fault_and_the_next_client_is_served(size: int) -> None:
    """The shape of public flaws of qmcomm, in opnums 6 and 9."""
    world = SupportingWorld()
    long = "a" * size
    assert Dependent(world).create(f"{long}\\private$\\b") == RpcStatus.BAD_STUB_DATA
    name = QueueFormatArgument(3, 0, 0, f"OS:{long}\\private$\\b")
    asked = stubs.Target(stubs.ObjectFormat(1, name))
    assert Dependent(world).result(Opnum.DELETE_OBJECT, asked) == RpcStatus.BAD_STUB_DATA
    assert Dependent(world).create() == 0


def test_who_has_no_right_makes_and_changes_nothing() -> None:
    """MQMP-044 to MQMP-048, MQMP-050: and learns nothing, not even that a queue is missing."""
    bob = Dependent(SupportingWorld(Caller("bob", Grant("send"))))
    assert bob.create(NEW) == DENIED
    for name in (ORDERS, NAME):
        assert bob.delete(name) == bob.change(name, {Q.LABEL: text("x")}) == DENIED
        found = bob.properties(name, Q.LABEL)
        assert (found.result, found.values) == (DENIED, (NULL,))
        assert bob.security(name, OWNER).result == DENIED
        asked = stubs.SetSecurity(target(name), DACL, 0, None)
        assert bob.result(Opnum.SET_OBJECT_SECURITY, asked) == DENIED
    assert bob.world.manager.find_queue("orders").properties.label == ""


# Security


def test_permissions_are_read_part_by_part(client: Dependent) -> None:
    """MQMP-084, MQMP-171 to MQMP-180"""
    client.create(NEW, descriptor=GIVEN.encode())
    kept = parse_sddl(client.world.manager.find_queue("new").properties.permissions)
    parts = {OWNER: "owner", GROUP: "group", DACL: "dacl", SACL: "sacl"}
    for information in range(16):
        found = client.security(NAME, information)
        assert (found.result, len(found.data)) == (0, 4096)
        read = SecurityDescriptor.decode(found.data[: found.needed])
        for bit, part in parts.items():
            wanted = getattr(kept, part) if information & bit else None
            assert getattr(read, part) == wanted, (information, part)
        for size in (0, found.needed - 1):
            small = client.security(NAME, information, size)
            assert (small.result, small.needed) == (TOO_SMALL, found.needed)
            assert small.data == bytes(size), "nothing of it is given away"
        assert client.security(NAME, information, found.needed).result == 0
    assert client.security(NAME, 16).result == INVALID_PARAMETER
    assert client.security(NAME, 1, 524288).result == 0
    assert client.security(NAME, 1, 524289) == RpcStatus.BAD_STUB_DATA


def test_only_the_named_parts_of_permissions_change(client: Dependent) -> None:
    """MQMP-166 to MQMP-168"""
    client.create(NEW, descriptor=GIVEN.encode())
    queue = client.world.manager.find_queue("new")
    before = queue.properties.permissions
    other = parse_sddl("O:S-1-5-21-1-2-3-8G:S-1-5-21-1-2-3-8D:(A;;0xf003f;;;BA)").encode()

    def change(information: int, given: bytes | None) -> int:
        size = len(given or b"")
        asked = stubs.SetSecurity(target(NAME), information, size, given)
        return client.result(Opnum.SET_OBJECT_SECURITY, asked)

    assert change(DACL, b"nonsense") == BAD_DESCRIPTOR
    assert change(DACL, None) == INVALID_PARAMETER
    assert queue.properties.permissions == before
    assert change(DACL, other) == 0
    after = parse_sddl(queue.properties.permissions)
    kept = parse_sddl(before)
    assert after.dacl == SecurityDescriptor.decode(other).dacl
    assert (after.owner, after.group) == (kept.owner, kept.group)
    assert change(OWNER | GROUP, other) == 0
    assert format_sddl(parse_sddl(queue.properties.permissions)).startswith("O:S-1-5-21-1-2-3-8")


# Deletion


def test_a_deleted_queue_is_gone_for_those_who_have_it_open(client: Dependent) -> None:
    """MQMP-186, MQMP-187"""
    client.create(NEW)
    queue, sending = client.opened(NAME), client.opened(NAME, access=2)
    waiting = client.receive_later(queue.context, timeout=5000)
    assert client.delete(NAME) == 0
    assert client.answer(waiting, stubs.ReceivedBuffer).result == DELETED
    for found in (client.receive(queue.context), client.send(sending.handle)):
        assert found.result & 0x80000000
    assert client.delete(NAME) == NOT_FOUND


@pytest.mark.parametrize(
    "name",
    [
        NAME,
        "DIRECT=OS:elsewhere\\private$\\orders",
        f"PRIVATE={UUID(int=9)}\\00000007",
        "DIRECT=OS:HOST\\system$;DEADLETTER",
    ],
)
def test_a_queue_that_is_not_here_is_not_found(client: Dependent, name: str) -> None:
    """MQMP-165, MQMP-170, MQMP-185, MQMP-188, MQMP-195: by every operation."""
    assert client.delete(name) == NOT_FOUND
    assert client.properties(name, Q.LABEL).result == NOT_FOUND
    assert client.change(name, {Q.LABEL: text("x")}) == NOT_FOUND
    assert client.security(name, OWNER).result == NOT_FOUND
    asked = stubs.SetSecurity(target(name), DACL, 0, None)
    assert client.result(Opnum.SET_OBJECT_SECURITY, asked) == NOT_FOUND


def test_an_object_has_to_be_named(client: Dependent) -> None:
    """MQMP-075, MQMP-076, MQMP-078, MQMP-164, MQMP-169, MQMP-184"""
    nothing = stubs.ObjectFormat(1, None)
    asked: list[tuple[int, Any, Any]] = [
        (Opnum.SET_OBJECT_SECURITY, stubs.SetSecurity(nothing, DACL, 0, None), stubs.Status),
        (Opnum.GET_OBJECT_SECURITY, stubs.GetSecurity(nothing, DACL, 8), stubs.SizedBytes),
        (Opnum.DELETE_OBJECT, stubs.Target(nothing), stubs.Status),
    ]
    for opnum, arguments, kind in asked:
        assert client.call(opnum, arguments, kind).result == INVALID_PARAMETER
        stub = arguments.encode()
        for number in (0, 2, 3):
            wrong = number.to_bytes(4, "little")
            assert client.call(opnum, wrong + wrong + stub[8:]) == RpcStatus.BAD_STUB_DATA
        assert client.call(opnum, stub[:4] + bytes(4) + stub[8:]) == RpcStatus.BAD_STUB_DATA


# Properties


def test_all_properties_are_seen(client: Dependent) -> None:
    """MQMP-191, MQMP-192, MQMP-194"""
    client.create(NEW, {Q.LABEL: text("quotes"), Q.QUOTA: value(Q.QUOTA, 500)})
    queue = client.world.manager.find_queue("new")
    found = client.properties(NAME, *range(101, 114), 124, 125, 126)
    assert found.result == 0
    variants = [argument.variant() for argument in found.values]
    now = int(client.world.clock.now())
    path = "HOST\\private$\\new"
    assert [variant.value for variant in variants] == [
        queue.properties.id,
        UUID(int=0),
        path,
        0,
        500,
        0,
        queue.properties.journal_quota,
        "quotes",
        now,
        now,
        0,
        1,
        0,
        path,
        None,
        None,
    ]
    items = [Q.INSTANCE, Q.TYPE, Q.PATHNAME, Q.JOURNAL, Q.QUOTA, Q.BASEPRIORITY]
    assert [variant.vartype for variant in variants[:6]] == [item.vartype for item in items]


def test_places_for_properties_have_to_be_of_their_type(client: Dependent) -> None:
    """MQMP-189, MQMP-193: VT_NULL is of any."""
    places = (value(Q.QUOTA, 0), NULL)
    assert client.properties(ORDERS, Q.QUOTA, Q.LABEL, places=places).result == 0
    wrong = client.properties(ORDERS, Q.QUOTA, Q.LABEL, places=places[::-1])
    assert wrong.result == BAD_TYPE
    for number, result in ((114, NOT_ALLOWED), (1101, NOT_ALLOWED), (100, UNKNOWN)):
        assert client.properties(ORDERS, Q.QUOTA, number).result == result


def test_properties_are_changed_all_or_none(client: Dependent) -> None:
    """MQMP-085, MQMP-196 to MQMP-200"""
    label, quota = {Q.LABEL: text("new")}, {Q.QUOTA: value(Q.QUOTA, 700)}
    assert client.change(ORDERS, label | quota | {Q.BASEPRIORITY: value(Q.BASEPRIORITY, 5)}) == 0
    found = client.properties(ORDERS, Q.LABEL, Q.QUOTA, Q.BASEPRIORITY)
    assert [one.variant().value for one in found.values] == ["new", 700, 0]
    other = {Q.LABEL: text("other")}
    bad: list[tuple[dict[Any, Any], int]] = [
        ({Q.QUOTA: text("x")}, BAD_TYPE),
        ({Q.PRIV_LEVEL: value(Q.PRIV_LEVEL, 9)}, BAD_VALUE),
        ({55: text("x")}, UNKNOWN),
        *(({number: text("x")}, NOT_ALLOWED) for number in (101, 103, 109, 110, 113, 124, 126)),
    ]
    for given, result in bad:
        assert client.change(ORDERS, other | given) == result, given
        assert client.world.manager.find_queue("orders").properties.label == "new"
    nothing = stubs.SetProperties(target(ORDERS), 1, None, None)
    assert client.result(Opnum.SET_OBJECT_PROPERTIES, nothing) == INVALID_PARAMETER


def test_a_path_becomes_a_format_name(client: Dependent) -> None:
    """MQMP-202 to MQMP-206"""

    def ask(path: str, place: stubs.ObjectFormat) -> Any:
        asked = stubs.PathToFormat(path, place)
        return client.call(Opnum.PATH_TO_FORMAT, asked, stubs.FormatResult)

    manager = client.world.manager
    for path in ("HOST\\private$\\orders", ".\\PRIVATE$\\Orders"):
        found = ask(path, _empty())
        number = manager.find_queue("orders").number
        assert found.result == 0
        assert found.target.value.value == ObjectId(manager.identity, number)
    name = found.target.value.queue_format().name()
    assert client.open(str(name)).result == 0
    assert ask("HOST\\private$\\none", _empty()).result == NOT_FOUND
    for path in ("nonsense", "elsewhere\\private$\\orders"):
        assert ask(path, _empty()).result == BAD_PATH
    full = stubs.ObjectFormat(1, QueueFormatArgument.of(parse_format_name(ORDERS)))
    for place in (full, stubs.ObjectFormat(1, None)):
        assert ask("HOST\\private$\\orders", place).result == INVALID_PARAMETER


def _empty() -> stubs.ObjectFormat:
    return stubs.ObjectFormat(1, QueueFormatArgument(0, 0, 0, None))
