"""Queues of a manager elsewhere, read by threads and by tasks."""

from __future__ import annotations

import threading

import pytest
from tests.unit.client.adapter import Api
from tests.unit.client.remote_read.managers import LOGIN, RemoteManager, wait_until

import openmsmq
from openmsmq.engine.storage.layout import Total
from openmsmq.errors import (
    InvalidHandle,
    TransactionSequence,
    TransactionUsage,
    UnsupportedAccessMode,
    UnsupportedOperation,
)


@pytest.fixture
def manager(rpc_api: Api, elsewhere: RemoteManager) -> openmsmq.Manager:
    return rpc_api.connect_remote("127.0.0.1", port=elsewhere.port, **LOGIN)


def bodies(messages: list[openmsmq.ReceivedMessage]) -> list[bytes]:
    return [message.body for message in messages]


@pytest.mark.parametrize(
    "name",
    ["orders", r".\private$\orders", r"HOST\private$\orders", r"DIRECT=OS:HOST\private$\orders"],
)
def test_a_queue_is_found_by_every_form_of_its_name(
    elsewhere: RemoteManager, manager: openmsmq.Manager, name: str
) -> None:
    """MQRR-002, MQRR-013, MQRR-014, MQRR-053, MQRR-375, MQRR-377"""
    elsewhere.send("hello")
    with manager.open_queue(name) as queue:
        assert queue.name == r"DIRECT=OS:HOST\private$\orders"
        assert queue.peek(timeout=0).body == b"hello"


def test_a_receive_takes_the_message_and_acknowledges_it(
    elsewhere: RemoteManager, manager: openmsmq.Manager
) -> None:
    """MQRR-265, MQRR-387"""
    elsewhere.send("first", "second")
    queue = manager.open_queue("orders")
    message = queue.receive(timeout=0)
    assert (message.body, message.priority) == (b"first", 3)
    assert message.arrived_time is not None
    assert elsewhere.count() == 1
    assert bodies(queue.receive_many(5, timeout=0)) == [b"second"]
    with pytest.raises(openmsmq.ReceiveTimeout):
        queue.receive(timeout=0)


def test_a_receive_waits_for_a_message(elsewhere: RemoteManager, manager: openmsmq.Manager) -> None:
    queue = manager.open_queue("orders")
    found: list[bytes] = []
    reader = threading.Thread(target=lambda: found.append(queue.receive(timeout=10).body))
    reader.start()
    wait_until(lambda: elsewhere.waiting() == 1)
    other = manager.open_queue("orders")  # on another connection of the same association
    with pytest.raises(openmsmq.ReceiveTimeout):
        other.peek(timeout=0)
    elsewhere.send("late")
    reader.join(10)
    assert found == [b"late"]


def test_messages_are_peeked_in_their_order_and_by_lookup_identifier(
    elsewhere: RemoteManager, manager: openmsmq.Manager
) -> None:
    """MQRR-382"""
    elsewhere.send("low", priority=0)
    elsewhere.send("high", priority=7)
    queue = manager.open_queue("orders")
    high, low = queue.peek_many(10, timeout=0)
    assert (high.body, low.body) == (b"high", b"low")
    assert queue.peek_by_lookup_id(low.lookup_id).body == b"low"
    assert queue.peek_by_lookup_id(low.lookup_id, openmsmq.Seek.PREVIOUS).body == b"high"
    assert queue.receive_by_lookup_id(high.lookup_id, openmsmq.Seek.NEXT).body == b"low"
    with pytest.raises(openmsmq.MQError, match="MESSAGE_NOT_FOUND"):
        queue.receive_by_lookup_id(low.lookup_id)
    assert elsewhere.count() == 1


def test_a_cursor_goes_through_the_queue(
    elsewhere: RemoteManager, manager: openmsmq.Manager
) -> None:
    """MQRR-398, MQRR-401"""
    elsewhere.send("a", "b", "c")
    queue = manager.open_queue("orders")
    with queue.cursor() as cursor:
        assert cursor.peek(timeout=0).body == b"a"
        assert cursor.next(timeout=0).body == b"b"
        assert cursor.receive(timeout=0).body == b"b"
        assert cursor.peek(timeout=0).body == b"c"
    assert elsewhere.count() == 2


def test_messages_are_moved_to_a_subqueue_and_back(
    elsewhere: RemoteManager, manager: openmsmq.Manager
) -> None:
    """MQRR-340"""
    elsewhere.send("bad")
    queue = manager.open_queue("orders")
    queue.move(queue.peek(timeout=0).lookup_id, "retry")
    retry = manager.open_queue(r".\private$\orders;retry")
    message = retry.peek(timeout=0)
    assert (message.body, message.move_count) == (b"bad", 1)
    retry.move(message.lookup_id, "")
    assert queue.peek(timeout=0).body == b"bad"


def test_a_queue_is_purged(elsewhere: RemoteManager, manager: openmsmq.Manager) -> None:
    """MQRR-395"""
    elsewhere.send("a", "b")
    manager.open_queue("orders").purge()
    assert elsewhere.count() == 0


def test_what_is_received_in_a_transaction_is_removed_when_it_commits(
    elsewhere: RemoteManager, manager: openmsmq.Manager
) -> None:
    """MQRR-295, MQRR-306, MQRR-389"""
    elsewhere.send("bill", queue="billing")
    queue = manager.open_queue("billing")
    transaction = manager.transaction()
    assert queue.receive(timeout=0, transaction=transaction).body == b"bill"
    transaction.abort()
    with manager.transaction() as transaction:
        message = queue.receive(timeout=0, transaction=transaction)
        assert message.abort_count == 1
        with pytest.raises(openmsmq.ReceiveTimeout):
            queue.peek(timeout=0)
    assert elsewhere.count("billing") == 0


def test_what_is_rejected_in_a_transaction_is_removed_as_rejected(
    elsewhere: RemoteManager, manager: openmsmq.Manager
) -> None:
    """MQRR-330 to MQRR-333, MQRR-393"""
    elsewhere.send("bill", "note", queue="billing")
    queue = manager.open_queue("billing")
    with manager.transaction() as transaction:
        first = queue.receive(timeout=0, transaction=transaction)
        queue.receive(timeout=0, transaction=transaction)
        queue.reject(first.lookup_id, transaction=transaction)
        with pytest.raises(openmsmq.MQError):
            queue.reject(first.lookup_id + 7, transaction=transaction)
    assert elsewhere.count("billing") == 0
    assert elsewhere.manager.find_queue("billing").totals[Total.REJECTED] == 1
    with pytest.raises(TransactionUsage):
        queue.reject(first.lookup_id, transaction=manager.transaction())


def test_a_stream_returns_what_was_not_acknowledged(
    elsewhere: RemoteManager, manager: openmsmq.Manager
) -> None:
    elsewhere.send("a", "b", "c")
    queue = manager.open_queue("orders")
    with queue.stream(prefetch=2, timeout=0, explicit=True) as stream:
        first = next(iter(stream))
        stream.acknowledge(first)
    assert elsewhere.count() == 2
    assert bodies(queue.receive_many(5, timeout=0)) == [b"b", b"c"]


def test_a_queue_that_is_not_there_is_not_found(manager: openmsmq.Manager) -> None:
    with pytest.raises(openmsmq.QueueNotFound):
        manager.open_queue("missing")


def test_what_remote_read_has_no_calls_for_is_refused_in_words(manager: openmsmq.Manager) -> None:
    queue = manager.open_queue("orders")
    with pytest.raises(UnsupportedOperation, match=r"use openmsmq\.connect"):
        manager.create_queue("new")
    with pytest.raises(UnsupportedOperation):
        queue.info()
    with pytest.raises(UnsupportedAccessMode):
        manager.open_queue("orders", access=openmsmq.Access.SEND)
    with pytest.raises(openmsmq.MQError):
        queue.send(openmsmq.Message(b"x"))
    with pytest.raises(UnsupportedOperation):
        manager.tpc("name").tpc_begin()


def test_after_a_lost_connection_the_next_call_works_without_help(
    elsewhere: RemoteManager, manager: openmsmq.Manager
) -> None:
    """SYS-086"""
    queue = manager.open_queue("orders")
    cursor = queue.cursor()
    elsewhere.send("a")
    cursor.peek(timeout=0)
    elsewhere.send("b", queue="billing")
    transaction = manager.transaction()
    manager.open_queue("billing").receive(timeout=0, transaction=transaction)
    elsewhere.cut()
    with pytest.raises(openmsmq.ServiceNotAvailable):
        queue.peek(timeout=0)
    assert queue.peek(timeout=0).body == b"a"
    with pytest.raises(InvalidHandle):
        cursor.peek(timeout=0)
    with pytest.raises(TransactionSequence):
        transaction.commit()


def test_a_wrong_password_is_reported_with_the_first_call(
    rpc_api: Api, elsewhere: RemoteManager
) -> None:
    given = {**LOGIN, "password": "wrong"}
    with (
        rpc_api.connect_remote("127.0.0.1", port=elsewhere.port, **given) as manager,
        pytest.raises(openmsmq.AccessDenied, match="password"),
    ):
        manager.open_queue("orders")


@pytest.mark.parametrize("level", ["connect", "integrity", "privacy"])
def test_calls_are_made_at_every_level(rpc_api: Api, elsewhere: RemoteManager, level: str) -> None:
    elsewhere.send("x" * 100_000)
    where = ("127.0.0.1", elsewhere.port)
    with rpc_api.connect_remote(where[0], port=where[1], level=level, **LOGIN) as manager:
        assert len(manager.open_queue("orders").receive(timeout=0).body) == 100_000


def test_an_address_without_a_listener_is_reported(rpc_api: Api, elsewhere: RemoteManager) -> None:
    with pytest.raises(openmsmq.ServiceNotAvailable):
        rpc_api.connect_remote("127.0.0.1", port=1, **LOGIN)


def test_a_closed_manager_makes_no_calls(rpc_api: Api, elsewhere: RemoteManager) -> None:
    manager = rpc_api.connect_remote("127.0.0.1", port=elsewhere.port, **LOGIN)
    queue = manager.open_queue("orders")
    manager.close()
    with pytest.raises(InvalidHandle):
        queue.peek(timeout=0)
