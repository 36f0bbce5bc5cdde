"""Bounds of what a remote client has open."""

from __future__ import annotations

import pytest
from tests.strategies.remote_reader import RemoteWorld

from openmsmq.errors import InsufficientResources, InvalidParameter
from openmsmq.interfaces.limits import CURSORS_MAX, REQUESTS_MAX
from openmsmq.interfaces.remote_read.queue_context import QueueContext
from openmsmq.rpc.association import Association
from openmsmq.types.access import Mode


@pytest.fixture
def context() -> QueueContext:
    world = RemoteWorld()
    handle = world.driver.call(lambda: world.manager.open_queue("orders", Mode()))
    return QueueContext(handle, Association(1, "127.0.0.1", bytes), "", 1, lambda _: None)


def test_the_number_of_a_request_is_used_once_at_a_time(context: QueueContext) -> None:
    """MQRR-141"""
    context.add_request(5)
    with pytest.raises(InvalidParameter, match="request 5 is not ended"):
        context.add_request(5)
    del context.requests[5]
    context.add_request(5)


def test_requests_and_cursors_are_bounded(context: QueueContext) -> None:
    for number in range(REQUESTS_MAX):
        context.add_request(number)
    with pytest.raises(InsufficientResources):
        context.add_request(REQUESTS_MAX)
    for number in range(CURSORS_MAX):
        context.require_room_for_cursor()
        context.cursors[number] = context.handle.open_cursor()
    with pytest.raises(InsufficientResources):
        context.require_room_for_cursor()


def test_a_client_that_is_gone_has_its_queue_closed(context: QueueContext) -> None:
    closed: list[QueueContext] = []
    context.close = closed.append
    context.run_down()
    assert closed == [context]
