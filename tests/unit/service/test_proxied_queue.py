"""Programs read queues of another manager through their own: the same `Queue`, every operation."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.unit.client.remote_read.managers import RemoteManager, remote_manager, wait_until
from tests.unit.client.services import Service

import openmsmq
from openmsmq import Access, Manager, Queue, Seek, aio
from openmsmq.access.tokens import Tokens
from openmsmq.errors import (
    AccessDenied,
    ReceiveTimeout,
    RemoteMachineNotAvailable,
    TransactionSequence,
    UnsupportedOperation,
)
from openmsmq.names.parts import host_key
from openmsmq.service.values import RemoteManagerEntry

ORDERS = r"DIRECT=OS:HOST\private$\orders"
BILLING = r"DIRECT=OS:HOST\private$\billing"


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[RemoteManager]:
    (tmp_path / "elsewhere").mkdir()
    with remote_manager(tmp_path / "elsewhere") as made:
        yield made


@pytest.fixture
def service(elsewhere: RemoteManager, tmp_path: Path) -> Iterator[Service]:
    data = tmp_path / "data"
    data.mkdir()
    password = data / "password"
    password.touch(0o600)
    password.write_text("secret\n")
    entry = RemoteManagerEntry("alice", Path("password"), f"127.0.0.1:{elsewhere.port}")
    made = Service(data, managers={host_key("HOST"): entry})
    try:
        yield made
    finally:
        made.close()


@pytest.fixture
def manager(service: Service) -> Iterator[Manager]:
    with openmsmq.connect(service.address) as made:
        yield made


@pytest.fixture
def orders(manager: Manager) -> Queue:
    return manager.open_queue(ORDERS)


def test_messages_are_peeked_at_and_received(orders: Queue, elsewhere: RemoteManager) -> None:
    elsewhere.send("a", "b")
    assert orders.name == ORDERS
    assert orders.peek(timeout=5).body == b"a"
    assert elsewhere.count() == 2
    first = orders.receive(timeout=5)
    assert (first.body, elsewhere.count()) == (b"a", 1)
    assert first.arrived_time.year >= 2026
    assert orders.receive(timeout=5).body == b"b"


def test_a_receive_that_times_out_is_cancelled_at_the_other_manager(
    orders: Queue, elsewhere: RemoteManager
) -> None:
    with pytest.raises(ReceiveTimeout):
        orders.receive(timeout=0.1)
    wait_until(lambda: elsewhere.waiting() == 0)
    elsewhere.send("later")
    assert elsewhere.count() == 1
    assert orders.receive(timeout=5).body == b"later"


def test_a_receive_waits_for_a_message(
    orders: Queue, service: Service, elsewhere: RemoteManager
) -> None:
    async def run() -> bytes:
        async with aio.connect(service.address) as manager:
            queue = await manager.open_queue(ORDERS)
            waiting = asyncio.create_task(queue.receive(timeout=20))
            await asyncio.to_thread(wait_until, lambda: elsewhere.waiting() == 1)
            await asyncio.to_thread(elsewhere.send, "at last")
            return (await waiting).body

    assert asyncio.run(run()) == b"at last"
    assert elsewhere.count() == 0


def test_a_cancelled_receive_takes_no_message(service: Service, elsewhere: RemoteManager) -> None:
    async def run() -> None:
        async with aio.connect(service.address) as manager:
            queue = await manager.open_queue(ORDERS)
            waiting = asyncio.create_task(queue.receive())
            await asyncio.to_thread(wait_until, lambda: elsewhere.waiting() == 1)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            await asyncio.to_thread(wait_until, lambda: elsewhere.waiting() == 0)

    asyncio.run(run())
    elsewhere.send("still here")
    assert elsewhere.count() == 1


def test_several_are_received_and_peeked_at_together(
    orders: Queue, elsewhere: RemoteManager
) -> None:
    elsewhere.send(*"abcde")
    assert [message.text for message in orders.peek_many(3, timeout=5)] == list("abc")
    first = orders.peek(timeout=5)
    behind = orders.peek_many(9, timeout=0, after=first.lookup_id)
    assert [message.text for message in behind] == list("bcde")
    assert [message.text for message in orders.receive_many(4, timeout=5)] == list("abcd")
    assert elsewhere.count() == 1


def test_a_cursor_walks_and_receives(orders: Queue, elsewhere: RemoteManager) -> None:
    elsewhere.send(*"abc")
    with orders.cursor() as cursor:
        assert cursor.peek(timeout=5).text == "a"
        assert cursor.next(timeout=5).text == "b"
        assert cursor.receive(timeout=5).text == "b"
        assert cursor.peek(timeout=5).text == "c"
    assert elsewhere.count() == 2


def test_lookup_identifiers_lead_to_messages(orders: Queue, elsewhere: RemoteManager) -> None:
    elsewhere.send(*"abc")
    first = orders.peek(timeout=5)
    assert orders.peek_by_lookup_id(first.lookup_id, Seek.NEXT).text == "b"
    taken = orders.receive_by_lookup_id(first.lookup_id, Seek.NEXT)
    assert taken.text == "b"
    with pytest.raises(openmsmq.MQError):
        orders.receive_by_lookup_id(taken.lookup_id)
    assert elsewhere.count() == 2


def test_a_message_is_moved_to_a_subqueue_and_back(
    orders: Queue, manager: Manager, elsewhere: RemoteManager
) -> None:
    elsewhere.send("a")
    lookup = orders.peek(timeout=5).lookup_id
    orders.move(lookup, "retry")
    with pytest.raises(ReceiveTimeout):
        orders.peek(timeout=0)
    retry = manager.open_queue(f"{ORDERS};retry", access=Access.RECEIVE | Access.PEEK)
    assert retry.peek(timeout=5).text == "a"
    retry.move(lookup, "")
    assert orders.receive(timeout=5).text == "a"


def test_a_queue_opened_to_be_read_is_purged_there(
    manager: Manager, elsewhere: RemoteManager
) -> None:
    elsewhere.send("a", "b")
    manager.open_queue(ORDERS, access=Access.RECEIVE).purge()
    assert elsewhere.count() == 0


def test_a_queue_opened_for_everything_purges_what_was_not_sent(
    orders: Queue, elsewhere: RemoteManager
) -> None:
    elsewhere.send("stays")
    orders.send("goes nowhere")
    assert orders.info().messages == 1
    assert orders.purge() == 1
    assert elsewhere.count() == 1


def test_a_stream_delivers_and_returns_what_was_not_reached(
    orders: Queue, elsewhere: RemoteManager
) -> None:
    elsewhere.send(*"abcde")
    with orders.stream(prefetch=4, timeout=5) as stream:
        assert next(iter(stream)).text == "a"
    wait_until(lambda: elsewhere.count() >= 4)
    found = orders.receive_many(9, timeout=5)
    assert [message.text for message in found] in (list("abcde"), list("bcde"))


def test_a_transaction_commits_at_the_other_manager(
    manager: Manager, elsewhere: RemoteManager
) -> None:
    elsewhere.send("a", "b", queue="billing")
    billing = manager.open_queue(BILLING)
    with manager.transaction() as transaction:
        assert billing.receive(timeout=5, transaction=transaction).text == "a"
        assert billing.receive(timeout=5, transaction=transaction).text == "b"
    assert elsewhere.count("billing") == 0


def test_an_aborted_transaction_returns_its_messages(
    manager: Manager, elsewhere: RemoteManager
) -> None:
    elsewhere.send("a", queue="billing")
    billing = manager.open_queue(BILLING)
    transaction = manager.transaction()
    assert billing.receive(timeout=5, transaction=transaction).text == "a"
    transaction.abort()
    assert billing.receive(timeout=5).text == "a"


def test_the_messages_of_a_program_that_is_gone_return(
    service: Service, elsewhere: RemoteManager
) -> None:
    elsewhere.send("a", queue="billing")
    with openmsmq.connect(service.address) as gone:
        transaction = gone.transaction()
        billing = gone.open_queue(BILLING)
        assert billing.receive(timeout=5, transaction=transaction).text == "a"
    assert service.reads is not None
    wait_until(lambda: service.reads is not None and service.reads.in_use == 0)
    with openmsmq.connect(service.address) as manager:
        assert manager.open_queue(BILLING).receive(timeout=5).text == "a"


def test_a_transaction_is_of_one_manager(manager: Manager, elsewhere: RemoteManager) -> None:
    elsewhere.send("a", queue="billing")
    here = manager.create_queue("here", transactional=True)
    billing = manager.open_queue(BILLING)
    transaction = manager.transaction()
    here.send("before", transaction=transaction)
    with pytest.raises(TransactionSequence, match="one manager"):
        billing.receive(timeout=5, transaction=transaction)
    transaction.abort()
    transaction = manager.transaction()
    billing.receive(timeout=5, transaction=transaction)
    here.send("after", transaction=transaction)
    with pytest.raises(TransactionSequence, match="one manager"):
        transaction.commit()
    transaction.abort()
    assert billing.receive(timeout=5).text == "a"
    assert here.info().messages == 0


def test_a_transaction_with_messages_of_another_manager_cannot_be_prepared(
    manager: Manager, elsewhere: RemoteManager
) -> None:
    elsewhere.send("a", queue="billing")
    billing = manager.open_queue(BILLING)
    transaction = manager.transaction("named")
    billing.receive(timeout=5, transaction=transaction)
    with pytest.raises(UnsupportedOperation, match="prepared"):
        transaction.prepare()
    transaction.abort()
    assert elsewhere.count("billing") == 1


def test_a_subscription_is_refused(orders: Queue) -> None:
    with pytest.raises(UnsupportedOperation):
        orders.subscription("archive")


def test_the_path_name_of_another_computer_is_read_too(
    manager: Manager, elsewhere: RemoteManager
) -> None:
    elsewhere.send("a")
    assert manager.open_queue(r"HOST\private$\orders").receive(timeout=5).text == "a"


def test_a_manager_that_does_not_answer_is_an_error_of_the_read(
    orders: Queue, elsewhere: RemoteManager
) -> None:
    elsewhere.send("a")
    orders.peek(timeout=5)
    elsewhere.cut()
    with pytest.raises(RemoteMachineNotAvailable):
        orders.peek(timeout=5)
    assert orders.peek(timeout=5).text == "a"


def test_rights_on_the_name_are_needed(service: Service, elsewhere: RemoteManager) -> None:
    elsewhere.send("a")
    tokens = Tokens.load(service.data)
    _, other = tokens.create("read", ("orders",))
    _, named = tokens.create("read", (r"DIRECT=OS:HOST\private$\ord*",))
    with openmsmq.connect(service.address, token=other) as manager, pytest.raises(AccessDenied):
        manager.open_queue(ORDERS)
    with openmsmq.connect(service.address, token=named) as manager:
        queue = manager.open_queue(ORDERS)
        assert queue.receive(timeout=5).text == "a"
        with pytest.raises(AccessDenied):
            queue.send("no right to send")
        with pytest.raises(AccessDenied):
            manager.open_queue(BILLING)
