"""What a remote reader asks for, and what the answers mean."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.strategies.remote_reader import RemoteWorld

from openmsmq.client.remote_read.messages import (
    WireBuffer,
    action_of,
    check_result,
    error_of,
    received_message,
    timeout_ms,
)
from openmsmq.errors import (
    AccessDenied,
    ConnectionLost,
    InvalidHandle,
    InvalidParameter,
    MQError,
    QueueNotFound,
    ServiceNotAvailable,
    UnsupportedOperation,
)
from openmsmq.interfaces.remote_read import stubs
from openmsmq.interfaces.remote_read.actions import ReadAction
from openmsmq.interfaces.remote_read.sections import joined
from openmsmq.packet.headers.trailer import ExtensionFlags, SubqueueBits
from openmsmq.rpc.client import Disconnected
from openmsmq.rpc.status import RpcFault, RpcStatus
from openmsmq.types.message import Message
from openmsmq.types.read import Read, Seek


def test_a_message_is_as_it_was_sent() -> None:
    """MQRR-245, MQRR-382"""
    world = RemoteWorld()
    world.send("hello", priority=6)
    reader = world.connect()
    handle = reader.open()
    found = received_message(reader.start(handle))
    assert (found.body, found.priority) == (b"hello", 6)
    assert found.lookup_id >> 56 == 1
    assert found.time_to_reach_queue == Message(b"").time_to_reach_queue


def test_what_has_no_meaning_in_the_headers_behind_a_message_is_ignored() -> None:
    """MQRR-242, MQRR-243, MQRR-244, MQRR-248, MQRR-259"""
    world = RemoteWorld()
    world.send("hello")
    reader = world.connect()
    results = reader.start(reader.open())
    plain = received_message(results)
    stored = joined(results.sections or ())
    trailer = stored.trailer
    assert trailer is not None
    assert trailer.subqueue is not None
    assert trailer.extended_address is not None
    assert not trailer.extension.flags & ExtensionFlags.DL
    meaningless = ExtensionFlags.DI | ExtensionFlags.X2 | ExtensionFlags.X5_X7
    odd = replace(
        stored,
        trailer=replace(
            trailer,
            extension=replace(
                trailer.extension, flags=trailer.extension.flags | meaningless, reserved=b"odd"
            ),
            subqueue=replace(trailer.subqueue, flags=SubqueueBits.Reserved),
            extended_address=replace(
                trailer.extended_address, address_length=99, address_scope=9, address=b"\xff" * 16
            ),
        ),
    ).encode()
    section = stubs.SectionBuffer(stubs.SectionType.FULL_PACKET, len(odd), len(odd), odd)
    found = received_message(replace(results, sections=(section,)))
    for name in ("body", "id", "lookup_id", "label", "priority", "abort_count", "move_count"):
        assert getattr(found, name) == getattr(plain, name)
    assert found.dead_letter_queue == plain.dead_letter_queue


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [(None, 0xFFFFFFFF), (0, 0), (0.0001, 1), (1.5, 1500), (1e9, 0xFFFFFFFE)],
)
def test_a_wait_is_counted_in_milliseconds(seconds: float | None, expected: int) -> None:
    assert timeout_ms(seconds) == expected


def test_each_read_has_its_action() -> None:
    assert action_of(Read(take=True), with_cursor=False) == ReadAction.RECEIVE
    assert action_of(Read(take=False), with_cursor=True) == ReadAction.PEEK_CURRENT
    following = Read(take=False, following=True)
    assert action_of(following, with_cursor=True) == ReadAction.PEEK_NEXT
    before = Read(take=True, lookup_id=5, seek=Seek.PREVIOUS)
    assert action_of(before, with_cursor=False) == ReadAction.LOOKUP_RECEIVE_PREV
    with pytest.raises(UnsupportedOperation):
        action_of(Read(take=True, lookup_id=5, seek=Seek.LAST), with_cursor=False)


@pytest.mark.parametrize(
    ("failure", "expected"),
    [
        (RpcFault(RpcStatus.ACCESS_DENIED), AccessDenied),
        (RpcFault(RpcStatus.CONTEXT_MISMATCH), InvalidHandle),
        (RpcFault(RpcStatus.BAD_STUB_DATA), InvalidParameter),
        (RpcFault(QueueNotFound.hresult), QueueNotFound),
        (RpcFault(RpcStatus.SERVER_TOO_BUSY), ServiceNotAvailable),
        (Disconnected("gone"), ConnectionLost),
        (TimeoutError(), ServiceNotAvailable),
    ],
)
def test_a_call_without_results_is_an_error_of_queueing(
    failure: Exception, expected: type[MQError]
) -> None:
    assert type(error_of(failure)) is expected


def test_a_result_that_is_no_success_is_raised() -> None:
    check_result(0)
    with pytest.raises(QueueNotFound):
        check_result(QueueNotFound.hresult)


def test_what_is_written_is_taken_once() -> None:
    wire = WireBuffer("192.0.2.1")
    wire.write(b"a")
    wire.write(b"b")
    wire.update()
    wire.close()
    assert wire.take() == b"ab"
    assert wire.take() == b""
