"""What is fuzzed of older remote read, and what clients of three interfaces are answered."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from openmsmq.client.dependent.buffers import FIRST_SIZES, larger, message_in
from openmsmq.client.management.answers import MACHINE, QUEUE, machine_of, queue_of, values_of
from openmsmq.client.remote_read.messages import received_message
from openmsmq.client.remote_read.old_calls import is_newer, read_results
from openmsmq.errors import IllegalPropertyValue, IllegalQueuePathName, Malformed, MQError
from openmsmq.interfaces.management.stubs import GetInfoResults
from openmsmq.interfaces.qm2qm import stubs as old
from openmsmq.interfaces.supporting_server import stubs
from openmsmq.names.path import parse_path_name
from openmsmq.security.descriptor import SecurityDescriptor
from tests.fuzz.rpc_targets import used_again
from tests.strategies.remote_reader import ORDERS
from tests.unit.interfaces.qm2qm.test_server import Opener, Reader, World, opened

CALLS_MAX = 20


def older_read(stream: bytes) -> None:
    """Calls of qm2qm and of the part of qmcomm that opens queues: each is answered, and nothing is
    left behind.

    A call is its number, a quarter of the number of bytes that follow, and these. The number's high
    bit puts the number of an open queue before them, the next one says that it is qmcomm's.
    """
    with used_again(_old_world) as world:
        _read_the_old_way(world, stream)


def _old_world() -> World:
    world = World()
    world.send("one", "two")
    return world


def _read_the_old_way(world: World, stream: bytes) -> None:
    opener, reader = Opener(world), Reader(world)
    number = opened(opener, reader, ORDERS)
    made = 0
    while len(stream) > 2 and made < CALLS_MAX:
        opnum, size = stream[0], 4 * stream[1]
        arguments = stream[2 : 2 + size]
        stream, made = stream[2 + size :], made + 1
        if opnum & 0x80:
            arguments = number.to_bytes(4, "little") + arguments
        (opener if opnum & 0x40 else reader).later(opnum & 0x3F, arguments)
    world.pass_time(10**7)
    for client in (reader, opener):
        client.pair.server.lost()
    queue = world.manager.find_queue("orders")
    assert not queue.modes, "a queue is open"
    assert not queue.holds, "a message is held"
    assert not len(world.old), "a number is left"
    assert world.old.next_deadline is None, "a deadline is left"
    assert len(world.rpc.associations) == 0


def older_read_answer(stub: bytes) -> None:
    """What a manager answers to a reader: a message, or the documented error."""
    kinds = old.StartReadResult, old.StartRead2Result, old.VersionResult
    kind, rest = kinds[stub[0] % 3] if stub else kinds[0], stub[1:]
    with suppress(Malformed):
        found = kind.decode(rest)
        if isinstance(found, old.VersionResult):
            assert is_newer(found) in (False, True)
            return
        results = read_results(found)
        if not results.result:
            assert received_message(results).label is not None


def management_answer(stub: bytes) -> None:
    """What a manager answers to administrators: values, or `Malformed`."""
    with suppress(Malformed):
        results = GetInfoResults.decode(stub[1:])
        if stub[0] & 1:
            machine = machine_of(values_of(MACHINE, results))
            assert all(isinstance(name, str) for name in machine.active_queues)
        else:
            assert queue_of(values_of(QUEUE, results)) is not None


def dependent_answer(stub: bytes) -> None:
    """What a supporting server answers to its clients: a message, a place, or the error.

    A value that no message can have is `IllegalPropertyValue`, as if a program had given it.
    """
    kinds = (
        stubs.ReceivedBuffer,
        stubs.OpenedQueue,
        stubs.SizedBytes,
        stubs.SentBuffer,
        stubs.RegistryResult,
        stubs.CursorNumbers,
    )
    with suppress(Malformed, IllegalPropertyValue):
        found = kinds[stub[0] % len(kinds)].decode(stub[1:]) if stub else None
        if isinstance(found, stubs.ReceivedBuffer):
            _received(found)
        elif isinstance(found, stubs.OpenedQueue) and found.remote_name is not None:
            with suppress(IllegalQueuePathName):
                parse_path_name(found.remote_name.name or "")
        elif isinstance(found, stubs.SizedBytes):
            with suppress(MQError):
                SecurityDescriptor.decode(found.data[: found.needed])


def _received(found: stubs.ReceivedBuffer) -> None:
    with suppress(Malformed):
        sizes = larger(FIRST_SIZES, found.buffer)
        assert all(sizes[name] >= FIRST_SIZES[name] for name in FIRST_SIZES)
    message = message_in(found.buffer)
    assert len(message.body) <= len(found.buffer.body)
    assert isinstance(message.label, str)


INTERFACE_TARGETS: dict[str, Callable[[bytes], None]] = {
    target.__name__: target
    for target in (older_read, older_read_answer, management_answer, dependent_answer)
}
