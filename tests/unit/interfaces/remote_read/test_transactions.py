"""Receives of remote readers in transactions that OpenMSMQ itself ends."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

import pytest
from tests.strategies.remote_reader import ORDERS, Reader, RemoteWorld, body_of, open_arguments

from openmsmq.errors import HResult
from openmsmq.interfaces.limits import CLEANUP_AFTER
from openmsmq.interfaces.queue_format import QueueFormatArgument
from openmsmq.interfaces.remote_read import stubs
from openmsmq.interfaces.remote_read.actions import ReadAction
from openmsmq.interfaces.remote_read.coordinator import (
    COORDINATOR,
    OWN_TOKEN,
    CoordinatorOpnum,
    TransactionArgument,
)
from openmsmq.interfaces.remote_read.sections import joined
from openmsmq.interfaces.remote_read.server import MOVE_ACCESS
from openmsmq.interfaces.remote_read.stubs import ReadOpnum
from openmsmq.names.format import parse_format_name
from openmsmq.properties.message import Acknowledge, MessageClass
from openmsmq.types.access import Mode
from openmsmq.types.message import Message

UNIT = bytes(range(16))
BILLING = "DIRECT=OS:HOST\\private$\\billing"
EMPTY, SEQUENCE = HResult.MQ_ERROR_IO_TIMEOUT, HResult.MQ_ERROR_TRANSACTION_SEQUENCE


class Buyer(Reader):
    """A remote reader that uses transactions."""

    def __init__(self, world: RemoteWorld) -> None:
        super().__init__(world)
        self.coordinator = Reader(world, self.group, COORDINATOR)

    def enlist(self, unit: bytes = UNIT, token: bytes = OWN_TOKEN) -> int:
        """R_QMEnlistRemoteTransaction."""
        queue_format = QueueFormatArgument.of(parse_format_name(ORDERS))
        arguments = stubs.EnlistRemoteTransaction(unit, len(token), token, queue_format)
        opnum = ReadOpnum.ENLIST_REMOTE_TRANSACTION
        return self.call(opnum, arguments, stubs.Status32).result

    def take_later(
        self,
        handle: UUID,
        action: int = ReadAction.RECEIVE,
        *,
        lookup_id: int = 0,
        cursor: int = 0,
        timeout_ms: int = 0,
    ) -> Callable[[], stubs.ReceiveResults | None]:
        """R_StartTransactionalReceive, which may wait."""
        most = stubs.INFINITE_MS
        arguments = stubs.StartTransactionalReceive(
            handle, lookup_id, cursor, action, timeout_ms, 1, most, most, UNIT
        )
        opnum = ReadOpnum.START_TRANSACTIONAL_RECEIVE
        return self.later(opnum, arguments, stubs.ReceiveResults)

    def take(self, handle: UUID, action: int = 0, **given: int) -> stubs.ReceiveResults:
        """R_StartTransactionalReceive, which is answered at once."""
        found = self.take_later(handle, action, **given)()
        assert found is not None, "it waits"
        return found

    def keep(self, handle: UUID, request_id: int = 1, acknowledge: int = stubs.ACK) -> int:
        """R_EndTransactionalReceive."""
        arguments = stubs.EndReceive(handle, acknowledge, request_id)
        return self.call(ReadOpnum.END_TRANSACTIONAL_RECEIVE, arguments, stubs.Status32).result

    def reject(self, handle: UUID, lookup_id: int, code: int = 0xC004) -> int:
        """R_SetUserAcknowledgementClass."""
        arguments = stubs.SetUserAcknowledgementClass(handle, lookup_id, code)
        opnum = ReadOpnum.SET_USER_ACKNOWLEDGEMENT_CLASS
        return self.call(opnum, arguments, stubs.Status32).result

    def finish(self, opnum: CoordinatorOpnum, unit: bytes = UNIT) -> int:
        """Commit or abort."""
        arguments = TransactionArgument(unit)
        return self.coordinator.call(opnum, arguments, stubs.Status32).result


@pytest.fixture
def world() -> RemoteWorld:
    world = RemoteWorld()
    world.create("billing", transactional=True)
    send(world, "first")
    return world


@pytest.fixture
def buyer(world: RemoteWorld) -> Buyer:
    return Buyer(world)


def send(world: RemoteWorld, *bodies: str, **fields: object) -> None:
    """Messages for the transactional queue."""
    handle = world.driver.call(lambda: world.manager.open_queue("billing", Mode()))
    transaction = world.driver.call(world.manager.begin)
    messages = [Message(body.encode(), **fields) for body in bodies]  # type: ignore[arg-type]
    world.driver.call(lambda: handle.send(messages, transaction))
    world.driver.call(lambda: world.manager.commit(transaction))
    world.driver.call(handle.close)


def test_a_committed_transaction_removes_what_was_received(
    world: RemoteWorld, buyer: Buyer
) -> None:
    """MQRR-300, MQRR-302, MQRR-312, MQRR-314, MQRR-316, MQRR-321, MQRR-322"""
    handle = buyer.open(BILLING)
    assert buyer.enlist() == 0
    taken = buyer.take(handle)
    assert body_of(taken) == b"first"
    assert taken.arrive_time > 0
    assert 0 < taken.sequence_id < 1 << 56
    assert buyer.keep(handle) == 0
    other = world.connect()
    looking = other.open(BILLING)
    assert other.peek(looking) == EMPTY  # it is still locked
    assert buyer.finish(CoordinatorOpnum.COMMIT) == 0
    assert buyer.close(handle).result == 0
    assert other.peek(looking) == EMPTY
    assert world.manager.find_queue("billing").messages == 0


def test_an_aborted_transaction_returns_the_message_and_counts_it(buyer: Buyer) -> None:
    """MQRR-323, MQRR-329"""
    handle = buyer.open(BILLING)
    buyer.enlist()
    buyer.take(handle)
    buyer.keep(handle)
    assert buyer.finish(CoordinatorOpnum.ABORT) == 0
    found = joined(buyer.start(handle).sections or ())
    assert found.message.properties.body == b"first"
    assert found.trailer is not None
    assert found.trailer.subqueue is not None
    assert found.trailer.subqueue.abort_counter == 1


def test_a_message_that_is_not_acknowledged_is_not_part_of_the_transaction(
    world: RemoteWorld, buyer: Buyer
) -> None:
    """MQRR-324"""
    handle = buyer.open(BILLING)
    buyer.enlist()
    buyer.take(handle)
    assert buyer.keep(handle, acknowledge=stubs.NACK) == 0
    assert buyer.finish(CoordinatorOpnum.COMMIT) == 0
    assert buyer.peek(handle) == 0
    assert world.manager.find_queue("billing").messages == 1


def test_a_client_that_is_gone_has_its_transaction_aborted(
    world: RemoteWorld, buyer: Buyer
) -> None:
    handle = buyer.open(BILLING)
    buyer.enlist()
    buyer.take(handle)
    buyer.keep(handle)
    buyer.coordinator.lose()
    buyer.lose()
    other = world.connect()
    assert other.peek(other.open(BILLING)) == 0
    assert len(world.server.transactions) == 0


def test_what_is_rejected_leaves_the_queue_as_rejected(world: RemoteWorld, buyer: Buyer) -> None:
    """MQRR-337"""
    world.create("answers")
    handle = buyer.open(BILLING)
    buyer.start(handle)
    buyer.end(handle)
    send(
        world,
        "bad",
        admin_queue="DIRECT=OS:HOST\\private$\\answers",
        acknowledge=Acknowledge.NEG_RECEIVE,
    )
    buyer.enlist()
    taken = buyer.take(handle)
    lookup_id = 7 << 56 | taken.sequence_id
    assert buyer.reject(handle, lookup_id) == HResult.MQ_ERROR_TRANSACTION_USAGE
    buyer.keep(handle)
    assert buyer.reject(handle, lookup_id) == 0
    assert buyer.finish(CoordinatorOpnum.COMMIT) == 0
    answers = buyer.open("DIRECT=OS:HOST\\private$\\answers")
    found = joined(buyer.start(answers).sections or ()).message.properties
    assert found.message_class == MessageClass.NACK_RECEIVE_REJECTED


def test_a_transaction_is_known_to_the_client_that_enlisted_it_and_no_other(
    world: RemoteWorld, buyer: Buyer
) -> None:
    buyer.enlist()
    other = Buyer(world)
    assert other.take(other.open(BILLING)).result == SEQUENCE
    assert other.finish(CoordinatorOpnum.COMMIT) == SEQUENCE
    assert buyer.finish(CoordinatorOpnum.COMMIT) == 0
    assert buyer.finish(CoordinatorOpnum.COMMIT) == SEQUENCE


def test_to_enlist_again_changes_nothing(world: RemoteWorld, buyer: Buyer) -> None:
    """MQRR-302"""
    assert buyer.enlist() == buyer.enlist() == 0
    assert len(world.server.transactions) == 1


def test_the_token_of_another_coordinator_is_refused(buyer: Buyer) -> None:
    assert buyer.enlist(token=b"\x01\x00\x00\x00") == HResult.MQ_ERROR_DTC_CONNECT
    assert buyer.enlist(bytes(16)) == HResult.MQ_ERROR_DTC_CONNECT


def test_a_message_of_a_transaction_that_ended_returns_to_its_place(buyer: Buyer) -> None:
    handle = buyer.open(BILLING)
    buyer.enlist()
    buyer.take(handle)
    buyer.finish(CoordinatorOpnum.ABORT)
    assert buyer.keep(handle) == SEQUENCE
    assert buyer.peek(handle) == 0


def test_class_0_rejects_nothing(world: RemoteWorld, buyer: Buyer) -> None:
    """MQRR-338"""
    handle = buyer.open(BILLING)
    buyer.enlist()
    lookup_id = 7 << 56 | buyer.take(handle).sequence_id
    buyer.keep(handle)
    assert buyer.reject(handle, lookup_id, 0) == 0
    buyer.finish(CoordinatorOpnum.COMMIT)
    assert world.manager.counts()["received"] == 1


@pytest.mark.parametrize(
    ("action", "base", "body"),
    [
        (ReadAction.LOOKUP_RECEIVE_CURRENT, 1, b"second"),
        (ReadAction.LOOKUP_RECEIVE_NEXT, 1, b"third"),
        (ReadAction.LOOKUP_RECEIVE_PREV, 1, b"first"),
    ],
)
def test_a_message_is_received_by_its_lookup_identifier_in_a_transaction(
    world: RemoteWorld, buyer: Buyer, action: ReadAction, base: int, body: bytes
) -> None:
    """MQRR-315"""
    send(world, "second", "third")
    handle = buyer.open(BILLING)
    cursor, places = buyer.cursor(handle), []
    for step in (ReadAction.PEEK_CURRENT, ReadAction.PEEK_NEXT, ReadAction.PEEK_NEXT):
        places.append(7 << 56 | buyer.start(handle, 5, step, cursor=cursor).sequence_id)
    buyer.enlist()
    assert body_of(buyer.take(handle, action, lookup_id=places[base])) == body
    assert buyer.keep(handle) == 0
    buyer.finish(CoordinatorOpnum.COMMIT)
    assert world.manager.find_queue("billing").messages == 2


def test_a_cursor_that_is_not_open_is_refused_in_a_transaction(buyer: Buyer) -> None:
    """MQRR-311"""
    handle = buyer.open(BILLING)
    buyer.enlist()
    assert buyer.take(handle, cursor=99).result == 0xC0000008
    assert body_of(buyer.take(handle, cursor=buyer.cursor(handle))) == b"first"


def test_a_receive_in_a_transaction_that_waits_is_cancelled(
    world: RemoteWorld, buyer: Buyer
) -> None:
    """MQRR-188"""
    handle = buyer.open(BILLING)
    buyer.start(handle)
    buyer.end(handle)
    buyer.enlist()
    waiting = buyer.take_later(handle, timeout_ms=60_000)
    assert waiting() is None
    assert buyer.cancel(handle) == 0
    found = waiting()
    assert found is not None
    assert found.result == HResult.MQ_ERROR_OPERATION_CANCELLED


def test_a_message_of_a_transaction_that_is_not_ended_returns_in_time(
    world: RemoteWorld, buyer: Buyer
) -> None:
    """MQRR-313"""
    handle = buyer.open(BILLING)
    buyer.enlist()
    buyer.take(handle)
    world.wait(CLEANUP_AFTER + 1)
    assert buyer.peek(handle) == 0
    assert buyer.keep(handle) == HResult.MQ_ERROR_INVALID_HANDLE


@pytest.mark.parametrize("outcome", [CoordinatorOpnum.COMMIT, CoordinatorOpnum.ABORT])
def test_a_move_in_a_transaction_shows_when_it_is_committed(
    world: RemoteWorld, buyer: Buyer, outcome: CoordinatorOpnum
) -> None:
    """MQRR-303, MQRR-367, MQRR-368"""
    handle = buyer.open(BILLING)
    lookup_id = 7 << 56 | buyer.start(handle, 5, ReadAction.PEEK_CURRENT).sequence_id
    arguments = open_arguments(f"{BILLING};retry", MOVE_ACCESS)
    target = buyer.call(ReadOpnum.OPEN_QUEUE_FOR_MOVE, arguments, stubs.MoveContext)
    buyer.enlist()
    moving = stubs.MoveMessage(handle, target.move_context, lookup_id, UNIT)
    assert buyer.call(ReadOpnum.MOVE_MESSAGE, moving, stubs.Status32).result == 0
    retry = buyer.open(f"{BILLING};retry")
    assert buyer.peek(retry) == EMPTY
    assert buyer.peek(handle) == EMPTY, "no read returns it as long as that is undecided"
    buyer.finish(outcome)
    is_committed = outcome is CoordinatorOpnum.COMMIT
    assert buyer.peek(retry) == (0 if is_committed else EMPTY)
    assert buyer.peek(handle) == (EMPTY if is_committed else 0)


def test_a_message_in_another_transaction_cannot_be_moved(buyer: Buyer) -> None:
    """MQRR-364"""
    handle = buyer.open(BILLING)
    buyer.enlist()
    lookup_id = 7 << 56 | buyer.take(handle).sequence_id
    buyer.keep(handle)
    arguments = open_arguments(f"{BILLING};retry", MOVE_ACCESS)
    target = buyer.call(ReadOpnum.OPEN_QUEUE_FOR_MOVE, arguments, stubs.MoveContext)
    moving = stubs.MoveMessage(handle, target.move_context, lookup_id, bytes(16))
    found = buyer.call(ReadOpnum.MOVE_MESSAGE, moving, stubs.Status32).result
    assert found == HResult.MQ_ERROR_MESSAGE_LOCKED_UNDER_TRANSACTION


def test_a_transaction_that_its_client_does_not_use_is_aborted(
    world: RemoteWorld, buyer: Buyer
) -> None:
    handle = buyer.open(BILLING)
    buyer.enlist()
    world.wait(200)
    assert body_of(buyer.take(handle)) == b"first"
    buyer.keep(handle)
    transactions = world.server.transactions
    world.wait(200)
    assert transactions.abort_idle(300) == 0, "it was used since"
    world.wait(100)
    assert transactions.abort_idle(300) == 1
    assert len(transactions) == 0
    assert buyer.finish(CoordinatorOpnum.COMMIT) == SEQUENCE
    assert body_of(buyer.start(handle, 2)) == b"first"


def test_a_transaction_with_a_read_that_waits_is_not_idle(world: RemoteWorld, buyer: Buyer) -> None:
    handle = buyer.open(BILLING)
    buyer.enlist()
    buyer.take(handle)
    buyer.keep(handle)
    waiting = buyer.take_later(handle, timeout_ms=stubs.INFINITE_MS)
    world.wait(1000)
    assert world.server.transactions.abort_idle(300) == 0
    send(world, "second")
    found = waiting()
    assert found is not None
    assert body_of(found) == b"second"
    world.wait(299)
    assert world.server.transactions.abort_idle(300) == 0
    world.wait(1)
    assert world.server.transactions.abort_idle(300) == 1
