"""Queues of a supporting server, used by a program that has no queue manager."""

from __future__ import annotations

import threading
from pathlib import Path
from socket import gethostname
from typing import Any
from uuid import UUID

import pytest
from tests.unit.client.remote_read.managers import LOGIN, RemoteManager, wait_until

import openmsmq
from openmsmq import Access, Message
from openmsmq.access.users import ANONYMOUS
from openmsmq.client.dependent._sync.backend import DependentBackend
from openmsmq.client.remote_read._sync.association import RpcAssociation
from openmsmq.client.remote_read.place import RemotePlace
from openmsmq.errors import (
    AccessDenied,
    MQError,
    QueueExists,
    QueueNotFound,
    ReceiveTimeout,
    RemoteMachineNotAvailable,
    ServiceNotAvailable,
    TransactionSequence,
    UnsupportedOperation,
    WksCantServeClient,
)
from openmsmq.interfaces.levels import LevelPolicy
from openmsmq.interfaces.qm2qm.stubs import QmcommOpnum
from openmsmq.interfaces.supporting_server.stubs import MessageOpnum, NamePlace, OpenedQueue, Opnum
from openmsmq.rpc.interface import RpcCall
from openmsmq.security.descriptor import SecurityDescriptor


def test_messages_are_sent_and_received(
    elsewhere: RemoteManager, manager: openmsmq.Manager
) -> None:
    """MQMP-001, MQMP-020, MQMP-500: over TCP, once it is connected."""
    assert manager.id == str(elsewhere.manager.identity)
    queue = manager.open_queue("orders")
    sent = queue.send(
        Message(
            b"risk?",
            label="ask",
            priority=5,
            app_specific=77,
            correlation_id=bytes(range(20)),
            extension=b"more",
            response_queue="DIRECT=OS:agent-7\\private$\\answers",
        )
    )
    found = queue.receive(timeout=5)
    assert (found.body, found.label, found.priority, found.app_specific) == (b"risk?", "ask", 5, 77)
    assert (found.id, found.correlation_id, found.extension) == (sent, bytes(range(20)), b"more")
    assert str(found.response_queue) == "DIRECT=OS:agent-7\\private$\\answers"
    assert found.recoverable
    assert not found.transactional
    assert found.arrived_time >= found.sent_time
    assert elsewhere.count() == 0
    queue.close()
    assert len(elsewhere.service.supporting.queues) == 0


class Recorded:
    """The calls of a client: number, arguments and results."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.calls: list[tuple[int, Any, Any]] = []
        made = DependentBackend._call

        def recorded(backend: Any, opnum: Any, arguments: Any, kind: Any, **given: Any) -> Any:
            found = made(backend, opnum, arguments, kind, **given)
            self.calls.append((opnum, arguments, found))
            return found

        monkeypatch.setattr(DependentBackend, "_call", recorded)

    def last(self, opnum: Any, count: int = 1) -> list[tuple[Any, Any]]:
        """Arguments and results of the last calls of an operation."""
        return [call[1:] for call in self.calls if call[0] is opnum][-count:]


def test_calls_are_what_the_protocol_wants(
    elsewhere: RemoteManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    """MQMP-022, MQMP-025, MQMP-057, MQMP-058, MQMP-077, MQMP-149, MQMP-181 to MQMP-183, MQMP-201,
    MQMP-254, MQMP-255, MQMP-496 to MQMP-499, MQMP-506 to MQMP-511
    """
    record = Recorded(monkeypatch)
    last, calls = record.last, record.calls
    with openmsmq.connect_dependent("127.0.0.1", port=elsewhere.port, **LOGIN) as manager:
        assert [call[0] for call in calls] == [Opnum.QUERY_REGISTRY]
        queue = manager.create_queue("quotes", label="x")
        [(created, _)] = last(Opnum.CREATE_OBJECT)
        assert (created.object_type, created.path) == (1, ".\\private$\\quotes")
        assert created.count == len(created.propids) == len(created.values) >= 1
        assert set(created.propids) <= {102, 103, 104, 105, 106, 107, 108, 111, 112, 113, 125}
        queue.send(b"one")
        queue.peek(timeout=0)
        with queue.cursor() as cursor:
            cursor.peek(timeout=0)
        queue.receive(timeout=0)
        queue.purge()
        queue.permissions()
        queue.set_permissions("O:BAD:(A;;0xf003f;;;BA)")
        [reading, sending] = last(Opnum.OPEN_QUEUE, 2)
        for asked, _ in (reading, sending):
            assert (asked.remote_queue, asked.remote_pointer, asked.remote_context) == (0, 0, 0)
            assert asked.remote_name == NamePlace(None)
            assert (asked.remote_protocol, asked.client_name) == (0, gethostname())
            assert asked.licence == reading[0].licence
        assert last(MessageOpnum.SEND)[0][0].handle == sending[1].handle
        reads = [asked for asked, _ in last(MessageOpnum.RECEIVE, 3)]
        assert {asked.context for asked in reads} == {reading[1].context}
        number = last(MessageOpnum.CREATE_CURSOR)[0][1].cursor
        shown = [(one.buffer.part.action, one.buffer.part.cursor) for one in reads]
        assert shown == [(0x80000000, 0), (0x80000000, number), (0, 0)]
        [(closed, _)] = last(Opnum.CLOSE_CURSOR)
        assert (closed.handle, closed.cursor) == (reading[1].handle, number)
        assert last(Opnum.PURGE_QUEUE)[0][0].handle == reading[1].handle
        [(first, small), (second, _)] = last(Opnum.GET_OBJECT_SECURITY, 2)
        assert (first.size, second.size) == (0, small.needed)
        [(given, _)] = last(Opnum.SET_OBJECT_SECURITY)
        assert SecurityDescriptor.decode(given.descriptor).dacl is not None
        for asked in (first, second, given):
            assert (asked.target.object_type, asked.target.value.format_type) == (1, 3)
        queue.close()
        handles = {asked.handle for asked, _ in last(Opnum.CLOSE_HANDLE, 2)}
        assert handles == {reading[1].handle, sending[1].handle}
        assert all(isinstance(call[0], Opnum | MessageOpnum) for call in calls)


def test_transactions_are_begun_and_ended_by_their_handles(
    elsewhere: RemoteManager, monkeypatch: pytest.MonkeyPatch
) -> None:
    """MQMP-055, MQMP-056, MQMP-219, MQMP-230, MQMP-231: without a coordinator."""
    last = Recorded(monkeypatch).last
    with openmsmq.connect_dependent("127.0.0.1", port=elsewhere.port, **LOGIN) as manager:
        for _ in range(2):
            with manager.transaction() as transaction:
                manager.open_queue("billing").send(b"one", transaction=transaction)
        units = last(Opnum.ENLIST_INTERNAL, 2)
        assert len({asked.unit for asked, _ in units}) == 2
        assert [asked.handle for asked, _ in last(Opnum.COMMIT, 2)] == [
            found.handle for _, found in units
        ]
        assert last(MessageOpnum.SEND)[0][0].buffer.unit == units[1][0].unit
        assert not last(Opnum.GET_WHEREABOUTS)


def test_the_server_is_found_by_the_endpoint_mapper(tmp_path: Path) -> None:
    """MQMP-003, MQMP-015"""
    elsewhere = RemoteManager(tmp_path, is_mapped=True, role="read+send", supporting_clients=1)
    try:
        mapper = elsewhere.mapper_port
        assert mapper is not None
        place: dict[str, Any] = {"port": 0, "mapper_port": mapper}
        with openmsmq.connect_dependent("127.0.0.1", **place, **LOGIN) as manager:
            queue = manager.open_queue("orders")
            queue.send(b"one")
            assert queue.receive(timeout=5).body == b"one"
    finally:
        elsewhere.stop()


def test_a_message_larger_than_the_first_room_comes_whole(
    elsewhere: RemoteManager, manager: openmsmq.Manager
) -> None:
    """MQMP-403, MQMP-478: what is answered with a failure is only a hint."""
    queue = manager.open_queue("orders")
    body = bytes(range(256)) * 4000
    queue.send(Message(body, label="x" * 200, extension=b"e" * 5000))
    assert queue.peek(timeout=0).body == body
    found = queue.receive(timeout=0)
    assert (found.body, found.label, found.extension) == (body, "x" * 200, b"e" * 5000)
    assert elsewhere.count() == 0


def test_a_read_waits_and_ends_in_time(elsewhere: RemoteManager, manager: openmsmq.Manager) -> None:
    queue = manager.open_queue("orders")
    with pytest.raises(ReceiveTimeout):
        queue.receive(timeout=0.05)
    found: list[bytes] = []
    thread = threading.Thread(target=lambda: found.append(queue.receive(timeout=None).body))
    thread.start()
    wait_until(lambda: elsewhere.waiting() == 1)
    queue.send(b"late")
    thread.join(10)
    assert len(found) == 1
    assert elsewhere.count() == 0


def test_cursors_walk(elsewhere: RemoteManager, manager: openmsmq.Manager) -> None:
    elsewhere.send("a", "b", "c")
    queue = manager.open_queue("orders")
    with queue.cursor() as cursor:
        assert [cursor.peek(timeout=0).body, cursor.next(timeout=0).body] == [b"a", b"b"]
        assert cursor.receive(timeout=0).body == b"b"
    assert [one.body for one in queue.receive_many(5, timeout=0)] == [b"a", b"c"]


def test_queues_are_made_changed_and_deleted(
    elsewhere: RemoteManager, manager: openmsmq.Manager
) -> None:
    """MQMP-157, MQMP-158: that a queue exists differs from other failures."""
    queue = manager.create_queue("quotes", transactional=True, journal=True, label="quotes")
    made = elsewhere.manager.find_queue("quotes").properties
    assert (made.transactional, made.journal, made.label) == (True, True, "quotes")
    with pytest.raises(QueueExists):
        manager.create_queue("quotes")
    queue.set(label="other")
    assert elsewhere.manager.find_queue("quotes").properties.label == "other"
    queue.set_permissions("O:BAD:(A;;0xf003f;;;BA)(A;;0x6;;;WD)")
    assert queue.permissions().endswith("(A;;DCLC;;;WD)")
    queue.close()
    manager.delete_queue("quotes")
    with pytest.raises(QueueNotFound):
        manager.open_queue("quotes")


def test_purge(elsewhere: RemoteManager, manager: openmsmq.Manager) -> None:
    elsewhere.send("a", "b")
    manager.open_queue("orders").purge()
    assert elsewhere.count() == 0


def test_transactions(elsewhere: RemoteManager, manager: openmsmq.Manager) -> None:
    """MQMP-512"""
    elsewhere.send("risk?", queue="billing")
    billing = manager.open_queue("billing")
    undone = manager.transaction()
    undone.__enter__()
    assert billing.receive(transaction=undone, timeout=0).body == b"risk?"
    billing.send("never", transaction=undone)
    undone.abort()
    assert elsewhere.count("billing") == 1
    with manager.transaction() as transaction:
        found = billing.receive(transaction=transaction, timeout=0)
        assert (found.body, found.transactional) == (b"risk?", True)
        billing.send(b"none", transaction=transaction)
        assert elsewhere.count("billing") == 1
    assert [billing.receive(timeout=0).body] == [b"none"]
    assert len(elsewhere.service.supporting.units) == 0


def test_a_cut_aborts_the_transaction_and_queues_are_opened_again(
    elsewhere: RemoteManager, manager: openmsmq.Manager
) -> None:
    elsewhere.send("risk?", queue="billing")
    billing = manager.open_queue("billing")
    transaction = manager.transaction()
    transaction.__enter__()
    assert billing.receive(transaction=transaction, timeout=0).body == b"risk?"
    elsewhere.cut()
    wait_until(lambda: len(elsewhere.service.supporting.units) == 0)
    with pytest.raises((TransactionSequence, openmsmq.ServiceNotAvailable)):
        transaction.commit()
    for _ in range(5):  # connections that are cut show one by one
        try:
            found = billing.receive(timeout=30)
            break
        except openmsmq.ServiceNotAvailable:
            continue
    assert found.body == b"risk?"


def test_access_is_asked_for_as_it_is_needed(
    elsewhere: RemoteManager, manager: openmsmq.Manager
) -> None:
    elsewhere.send("one")
    sending = manager.open_queue("orders", access=Access.SEND)
    with pytest.raises(AccessDenied):
        sending.receive(timeout=0)
    with manager.open_queue("orders", access=Access.PEEK) as looking:
        assert looking.peek(timeout=0).body == b"one"
        with pytest.raises(AccessDenied):
            looking.receive(timeout=0)


def test_a_queue_elsewhere_is_sent_to_and_not_read(
    elsewhere: RemoteManager, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """MQMP-059, MQMP-060, MQMP-095, MQMP-107, MQMP-110, MQMP-111, MQMP-132, MQMP-266,
    MQMP-501 to MQMP-505: it is opened there and closed again, since the server has no login there.
    """
    (tmp_path / "there").mkdir()
    there = RemoteManager(tmp_path / "there")
    record, made = Recorded(monkeypatch), RpcAssociation.call
    called: list[tuple[int, Any, Any]] = []

    def noted(self: Any, opnum: Any, arguments: Any, kind: Any, **given: Any) -> Any:
        found = made(self, opnum, arguments, kind, **given)
        if isinstance(opnum, QmcommOpnum):
            called.append((opnum, arguments, found))
        return found

    monkeypatch.setattr(RpcAssociation, "call", noted)
    place = RemotePlace.of("127.0.0.1", port=there.port, **LOGIN)
    computers: list[str] = []

    def place_of(self: Any, computer: str) -> RemotePlace:
        computers.append(computer)
        return place

    monkeypatch.setattr(DependentBackend, "_place_of", place_of)
    name = "DIRECT=OS:agent-7\\private$\\orders"
    there.manager.resolver.configure(["HOST", "agent-7"])
    try:
        with openmsmq.connect_dependent("127.0.0.1", port=elsewhere.port, **LOGIN) as manager:
            with pytest.raises(RemoteMachineNotAvailable, match="connect to its own"):
                manager.open_queue(name)
            with manager.open_queue(name, access=Access.SEND) as answers:
                answers.send(b"none")
        assert computers == ["agent-7"]
        (opnum, opening, opened), (closing, closed, _) = called
        numbers = QmcommOpnum.OPEN_REMOTE_QUEUE, QmcommOpnum.CLOSE_REMOTE_QUEUE_CONTEXT
        assert ((opnum, closing), opened.result) == (numbers, 0)
        assert (opening.process, opening.platform, closed.handle) == (0, 0x400, opened.handle)
        (first, sent_on), (second, _), _ = record.last(Opnum.OPEN_QUEUE, 3)
        assert sent_on.remote_name.name == "agent-7\\private$\\orders"
        assert opening.licence == first.licence == second.licence
        found = second.remote_queue, second.remote_pointer, second.remote_context
        assert found == (opened.queue, opened.pointer, opened.context)
        assert second.remote_name == NamePlace(None)
        wait_until(lambda: len(there.service.old_reading) == 0)
    finally:
        there.stop()


def test_what_the_protocol_has_no_call_for_is_refused(manager: openmsmq.Manager) -> None:
    queue = manager.open_queue("orders")
    for call in (queue.info, manager.queues, lambda: queue.peek_by_lookup_id(5)):
        with pytest.raises(UnsupportedOperation, match="MS-MQMP"):
            call()


def test_a_manager_that_serves_no_clients_says_so(
    elsewhere: RemoteManager, manager: openmsmq.Manager
) -> None:
    """MQMP-125, MQMP-267, MQMP-312: what is thrown is what is raised."""
    from openmsmq.interfaces.supporting_server.server import refused
    from openmsmq.interfaces.supporting_server.stubs import Opnum

    methods = elsewhere.service.supporting.interface.methods
    assert isinstance(methods, dict)
    methods.update(refused(Opnum))
    with pytest.raises(WksCantServeClient):
        openmsmq.connect_dependent("127.0.0.1", port=elsewhere.port, **LOGIN)
    with pytest.raises(WksCantServeClient):
        manager.open_queue("orders")


def test_no_call_succeeds_while_no_one_listens(tmp_path: Path) -> None:
    """MQMP-005"""
    server = RemoteManager(tmp_path, role="admin", supporting_clients=5)
    place: dict[str, Any] = {"port": server.port, **LOGIN}
    with openmsmq.connect_dependent("127.0.0.1", **place) as manager:
        assert manager.id == str(server.manager.identity)
    server.stop()
    with pytest.raises(ServiceNotAvailable):
        openmsmq.connect_dependent("127.0.0.1", **place)


def test_a_client_may_call_without_a_login(tmp_path: Path) -> None:
    """MQMP-041: if the server allows it, and then as the user anonymous."""
    policy = LevelPolicy(allow_unauthenticated=True)
    server = RemoteManager(tmp_path, role="admin", supporting_clients=5, policy=policy)
    server.users.add(ANONYMOUS, "", "send")
    place: dict[str, Any] = {"port": server.port, "computer": "HOST", "level": "none"}
    try:
        with openmsmq.connect_dependent("127.0.0.1", **place) as manager:
            manager.open_queue("orders", access=Access.SEND).send(b"news")
            with pytest.raises(AccessDenied):
                manager.open_queue("orders", access=Access.RECEIVE)
        assert server.count() == 1
    finally:
        server.stop()


@pytest.mark.parametrize("result", [0xC00E0025, 0xC00EFFFF, 0x80070057, 0x00000001])
def test_what_comes_with_a_failure_means_nothing(
    elsewhere: RemoteManager,
    manager: openmsmq.Manager,
    monkeypatch: pytest.MonkeyPatch,
    result: int,
) -> None:
    """MQMP-096: every code but success is an error, and the handle beside it is none."""
    methods = elsewhere.service.supporting.interface.methods
    known = methods[Opnum.OPEN_QUEUE]

    def failed(call: RpcCall) -> None:
        place = NamePlace("agent-7\\private$\\answers")
        call.respond(OpenedQueue(place, 99, UUID(int=5), result))

    changed = type(known)(known.name, known.arguments, failed)
    monkeypatch.setitem(methods, Opnum.OPEN_QUEUE, changed)
    with pytest.raises(MQError) as error:
        manager.open_queue("orders", access=Access.RECEIVE)
    assert error.value.hresult == result
