"""Calls of qmcomm, qmcomm2, qm2qm, qmmgmt and RemoteRead in the shapes of public flaws of MSMQ.

Each gets its documented code, takes no memory to speak of, and leaves the next client served.
"""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from tests.strategies.dependent import Dependent, SupportingWorld, body_of, target, text
from tests.strategies.managed import Administrator, get_info
from tests.strategies.remote_reader import ORDERS, Reader, open_arguments
from tests.strategies.rpc import Pair
from tests.unit.interfaces.qm2qm.test_server import Opener

from openmsmq.client.remote_read.messages import received_message
from openmsmq.errors import Malformed
from openmsmq.interfaces.management.stubs import ManagedObject, ManagedOpnum, ObjectType
from openmsmq.interfaces.qm2qm.stubs import QM2QM, HandleArgument, Qm2qmOpnum
from openmsmq.interfaces.queue_format import QueueFormatArgument
from openmsmq.interfaces.remote_read import stubs as reading
from openmsmq.interfaces.remote_read.stubs import REMOTE_READ, ReadOpnum
from openmsmq.interfaces.supporting_server import stubs
from openmsmq.interfaces.supporting_server.stubs import Opnum
from openmsmq.interfaces.variants import NULL
from openmsmq.properties.propid import Q
from openmsmq.rpc.ndr.structure import NULL_HANDLE, Structure
from openmsmq.rpc.status import RpcFault, RpcStatus

CLOSE_QUEUE = Qm2qmOpnum.CLOSE_QUEUE
MISMATCH, BAD_STUB = RpcStatus.CONTEXT_MISMATCH, RpcStatus.BAD_STUB_DATA
NOT_FOUND, ILLEGAL_PATH, ILLEGAL_NAME = 0xC00E0003, 0xC00E0014, 0xC00E001E
INVALID_PARAMETER, BAD_ACCESS = 0xC00E0006, 0xC00E0045
MISSING = "DIRECT=OS:HOST\\private$\\missing"
LABELS = ".".join(["a" * 63] * 15)
"A DNS name of more characters than any has, each label as long as may be."
FITS = (257, 400, 959)
"Sizes that the interface takes, but no name has."
TOO_LONG = (1025, 5000, 60_000)
MEMORY_MAX = 4 << 20


@pytest.fixture
def world() -> Iterator[SupportingWorld]:
    """A server that serves the next client, whatever a test did to it."""
    made = SupportingWorld()
    yield made
    assert is_served(made)


def is_served(world: SupportingWorld) -> bool:
    """Whether the next client sends and receives its own message."""
    client = Dependent(world)
    world.create("next")
    name = "DIRECT=OS:HOST\\private$\\next"
    assert client.send(client.opened(name, access=2).handle).result == 0
    return body_of(client.receive(client.opened(name).context)) == "hello"


@contextmanager
def in_little_memory() -> Iterator[None]:
    """What a call says of sizes reserves nothing."""
    tracemalloc.start()
    try:
        yield
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < MEMORY_MAX


def named(text: str) -> QueueFormatArgument:
    """A direct name, which is checked by the server alone."""
    return QueueFormatArgument(3, 0, 0, text)


def long_names(size: int) -> Iterator[str]:
    """A computer, a DNS name and a queue that are too long."""
    yield f"{'a' * size}\\private$\\b"
    yield f"{(LABELS * 70)[:size]}\\private$\\b"
    yield f"HOST\\private$\\{'b' * size}"


# Names


@pytest.mark.parametrize("size", FITS)
def test_a_path_or_dns_name_that_no_queue_has_is_refused_in_opnums_6_and_9(
    world: SupportingWorld, size: int
) -> None:
    with in_little_memory():
        client = Dependent(world)
        for name in long_names(size):
            assert client.create(name) == ILLEGAL_PATH, name
            asked = stubs.Target(stubs.ObjectFormat(1, named(f"OS:{name}")))
            assert client.result(Opnum.DELETE_OBJECT, asked) in (ILLEGAL_NAME, NOT_FOUND), name
    assert world.names() == ["orders"]


@pytest.mark.parametrize("size", TOO_LONG)
def test_a_path_or_dns_name_beyond_the_interface_gets_a_fault_in_every_operation(
    world: SupportingWorld, size: int
) -> None:
    """Not in opnums 6 and 9 alone."""
    with in_little_memory():
        for name in long_names(size):
            client, given = Dependent(world), stubs.ObjectFormat(1, named(f"OS:{name}"))
            assert client.create(name) == BAD_STUB
            for opnum, asked in (
                (Opnum.DELETE_OBJECT, stubs.Target(given)),
                (Opnum.SET_OBJECT_SECURITY, stubs.SetSecurity(given, 4, 0, None)),
                (Opnum.GET_OBJECT_SECURITY, stubs.GetSecurity(given, 4, 64)),
                (Opnum.GET_OBJECT_PROPERTIES, stubs.GetProperties(given, 0, (), ())),
                (Opnum.SET_OBJECT_PROPERTIES, stubs.SetProperties(given, 0, (), ())),
            ):
                assert client.result(opnum, asked) == BAD_STUB, opnum
            assert client.open(named(f"OS:{name}")) == BAD_STUB
            assert Opener(world).ask(named(f"OS:{name}")) == BAD_STUB  # type: ignore[arg-type]
            reader = Reader(world)
            whole = open_arguments(ORDERS, 1)
            asked_to_read = replace(whole, queue_format=named(f"OS:{name}"))
            assert reader.fault(ReadOpnum.OPEN_QUEUE, asked_to_read) == BAD_STUB
            admin = Administrator(world.manager)
            managed = ManagedObject(ObjectType.QUEUE, named(f"OS:{name}"))
            stub = get_info(managed, [1]).encode()
            assert admin.raw(ManagedOpnum.GET_INFO, stub) == BAD_STUB


# How a queue is to be opened


@pytest.mark.parametrize("access", [0, 3, 0x10, 0x21, 0x80, 0xFFFFFFFF])
def test_the_access_mode_is_checked_before_the_queue_is_looked_up(
    world: SupportingWorld, access: int
) -> None:
    """So that no one learns by a senseless mode which queues there are."""
    answers: set[Any] = set()
    for name in (ORDERS, MISSING, "DIRECT=OS:HOST\\private$\\orders;none"):
        found = Dependent(world).open(name, access)
        assert found.handle == NULL_HANDLE
        answers.add(("internal", found.result))
        answers.add(("remote", Opener(world).ask(name, access).result))  # type: ignore[arg-type]
        fault = Reader(world).fault(ReadOpnum.OPEN_QUEUE, open_arguments(name, access))
        answers.add(("RemoteRead", fault))
    assert answers == {
        ("internal", BAD_ACCESS),
        ("remote", BAD_ACCESS),
        ("RemoteRead", INVALID_PARAMETER),
    }


# Sizes


@pytest.mark.parametrize("lie", [1, 19, 21, 524_289, 0x7FFFFFFF, 0xFFFFFFFF])
def test_a_descriptor_whose_size_lies_gets_a_fault(world: SupportingWorld, lie: int) -> None:
    """In opnums 6 and 7; the bytes that come are 20."""
    client = Dependent(world)
    with in_little_memory():
        asked = stubs.SetSecurity(target(ORDERS), 4, 20, bytes(20)).encode()
        size = (20).to_bytes(4, "little")
        places = [at for at in range(0, len(asked), 4) if asked[at : at + 4] == size]
        assert len(places) == 2, "beside the pointer, and in front of the bytes"
        for at in places:
            wrong = asked[:at] + lie.to_bytes(4, "little") + asked[at + 4 :]
            assert client.result(Opnum.SET_OBJECT_SECURITY, wrong) == BAD_STUB
        asked = stubs.CreateObject(
            1, ".\\private$\\new", 20, bytes(20), 1, (Q.LABEL.value,), (text("label"),)
        ).encode()
        places = [at for at in range(0, len(asked), 4) if asked[at : at + 4] == size]
        for at in places:
            wrong = asked[:at] + lie.to_bytes(4, "little") + asked[at + 4 :]
            assert client.result(Opnum.CREATE_OBJECT, wrong) == BAD_STUB
    assert world.names() == ["orders"]


@pytest.mark.parametrize("lie", [0, 3, 129, 0x7FFFFFFF, 0xFFFFFFFF])
def test_a_number_of_properties_that_lies_gets_a_fault(world: SupportingWorld, lie: int) -> None:
    """Of qmcomm and of qmmgmt."""
    client, admin = Dependent(world), Administrator(world.manager)
    admin_stub = get_info(ManagedObject(ObjectType.MACHINE, 0), [4, 4]).encode()
    client_stub = stubs.GetProperties(target(ORDERS), 2, (101, 103), (NULL, NULL)).encode()

    def ask_admin(stub: bytes) -> bytes | int:
        return admin.raw(ManagedOpnum.GET_INFO, stub)

    def ask_client(stub: bytes) -> bytes | int:
        return client.result(Opnum.GET_OBJECT_PROPERTIES, stub)

    two = (2).to_bytes(4, "little")
    with in_little_memory():
        for stub, ask in ((admin_stub, ask_admin), (client_stub, ask_client)):
            places = [at for at in range(8, len(stub), 4) if stub[at : at + 4] == two]
            assert len(places) == 3, "beside the arrays, and in front of each"
            for at in places:
                wrong = stub[:at] + lie.to_bytes(4, "little") + stub[at + 4 :]
                assert ask(wrong) == BAD_STUB, (at, lie)


# Handles


def status(pair: Pair, opnum: int, arguments: Structure) -> int:
    """The fault of a call."""
    pair.call(opnum, arguments.encode())
    [found] = pair.run()
    assert isinstance(found, RpcFault), found
    return found.status


def test_a_handle_of_another_client_or_interface_is_refused_by_each(
    world: SupportingWorld,
) -> None:
    """Of queues, transactions and reads, by all four interfaces; their owners keep them."""
    world.send("kept")
    owner, thief, reader = Dependent(world), Dependent(world), Reader(world)
    queue, unit, read = owner.opened(), owner.begin(), reader.open()
    for handle in (queue.handle, unit.handle, read):
        assert thief.close(handle) == MISMATCH
        assert thief.send(handle) == MISMATCH
        assert thief.cursor(handle) == MISMATCH
        assert thief.commit(handle) == thief.abort(handle) == MISMATCH
        assert status(thief.connect(QM2QM), CLOSE_QUEUE, HandleArgument(handle)) == MISMATCH
        asked = reading.QueueContextArgument(handle)
        assert Reader(world).fault(ReadOpnum.PURGE_QUEUE, asked) == MISMATCH
        assert Reader(world).fault(ReadOpnum.CLOSE_QUEUE, asked) == MISMATCH
    own = owner.connect(REMOTE_READ)  # of its own association, but of another interface
    asked = reading.QueueContextArgument(queue.handle)
    assert status(own, ReadOpnum.PURGE_QUEUE, asked) == MISMATCH
    assert world.bodies() == ["kept"]
    assert owner.abort(unit.handle).result == 0
    assert owner.close(queue.handle).result == 0
    assert reader.peek(read) == 0


def test_handles_that_were_never_given_are_refused(world: SupportingWorld) -> None:
    client = Dependent(world)
    for number in range(200):
        assert client.close(UUID(int=number)) == MISMATCH


# Sections


def answered(world: SupportingWorld) -> reading.ReceiveResults:
    """What RemoteRead answers a read with: one section."""
    world.send("whole")
    reader = Reader(world)
    return reader.start(reader.open())


@pytest.mark.parametrize("lie", [0, 1, 0x47FFFF, 0x480001, 0x7FFFFFFF, 0xFFFFFFFF])
def test_a_section_whose_size_is_not_that_of_its_bytes_is_malformed(
    world: SupportingWorld, lie: int
) -> None:
    """Our reader believes no manager that says how much it has sent."""
    results = answered(world)
    assert results.sections is not None
    [section] = results.sections
    stub = results.encode()
    size = section.size.to_bytes(4, "little")
    places = [at for at in range(0, len(stub), 4) if stub[at : at + 4] == size]
    assert len(places) >= 3, "allocated, sent, and in front of the bytes"
    _, sent, counted = places[:3]
    with in_little_memory():
        for at in (sent, counted):
            wrong = stub[:at] + lie.to_bytes(4, "little") + stub[at + 4 :]
            with pytest.raises(Malformed):
                reading.ReceiveResults.decode(wrong)


@pytest.mark.parametrize("lie", [0, 1, 0x7FFFFFFF, 0xFFFFFFFF])
def test_what_a_section_says_was_allocated_takes_no_memory(
    world: SupportingWorld, lie: int
) -> None:
    results = answered(world)
    assert results.sections is not None
    [section] = results.sections
    lying = replace(results, sections=(replace(section, size_allocated=lie),))
    with in_little_memory():
        found = received_message(reading.ReceiveResults.decode(lying.encode()))
    assert found.body == b"whole"


@pytest.mark.parametrize("count", [0, 2, 3, 0x7FFFFFFF, 0xFFFFFFFF])
def test_a_number_of_sections_that_lies_is_malformed(world: SupportingWorld, count: int) -> None:
    stub = answered(world).encode()
    with in_little_memory():
        for at in (16, 24):  # behind both times, and in front of the sections
            assert stub[at : at + 4] == b"\1\0\0\0"
            wrong = stub[:at] + count.to_bytes(4, "little") + stub[at + 4 :]
            with pytest.raises(Malformed):
                reading.ReceiveResults.decode(wrong)


@pytest.mark.parametrize("kept", [0, 1, 15, 100])
def test_a_section_that_ends_inside_of_its_packet_is_malformed(
    world: SupportingWorld, kept: int
) -> None:
    """The packet says that it is longer than the section."""
    results = answered(world)
    assert results.sections is not None
    [section] = results.sections
    assert section.data is not None
    short = reading.SectionBuffer(section.section_type, section.size, kept, section.data[:kept])
    with pytest.raises(Malformed):
        received_message(replace(results, sections=(short,)))
