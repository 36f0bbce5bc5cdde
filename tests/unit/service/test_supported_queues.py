"""A dependent client reads a queue of a third computer through its supporting server."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.unit.client.remote_read.managers import LOGIN, RemoteManager, wait_until

import openmsmq
from openmsmq import Access
from openmsmq.client.dependent._sync.backend import DependentBackend
from openmsmq.client.remote_read.place import RemotePlace
from openmsmq.errors import (
    AccessDenied,
    IllegalCursorAction,
    InsufficientResources,
    InvalidParameter,
    MQError,
    RemoteMachineNotAvailable,
    TransactionUsage,
)
from openmsmq.interfaces.qm2qm.server import OldReadServer
from openmsmq.interfaces.qm2qm.stubs import EndRead, OpenSession, StartRead2
from openmsmq.names.parts import host_key
from openmsmq.rpc.interface import RpcCall
from openmsmq.service import read_proxy
from openmsmq.service.values import RemoteManagerEntry

QUEUE = "DIRECT=OS:agent-7\\private$\\orders"


class Third:
    """A supporting server, and another manager whose queues it reads."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (folder / "there").mkdir()
        (folder / "here").mkdir()
        password = folder / "here" / "password"
        password.write_text("secret")
        password.chmod(0o600)
        self.there = RemoteManager(folder / "there")
        self.there.manager.resolver.configure(["HOST", "agent-7"])
        entry = RemoteManagerEntry("alice", password, f"127.0.0.1:{self.there.port}")
        self.here = RemoteManager(
            folder / "here",
            role="read+send",
            supporting_clients=5,
            managers={host_key("agent-7"): entry},
        )
        place = RemotePlace.of("127.0.0.1", port=self.there.port, **LOGIN)
        monkeypatch.setattr(DependentBackend, "_place_of", lambda *_: place)

    def stop(self) -> None:
        """Stop both, once the connections between them are closed."""
        wait_until(lambda: len(self.here.service.supporting.queues) == 0)
        wait_until(lambda: self.there.connections() == [0])
        self.here.stop()
        self.there.stop()

    def connect(self) -> openmsmq.Manager:
        """A program without a queue manager."""
        return openmsmq.connect_dependent("127.0.0.1", port=self.here.port, **LOGIN)


@pytest.fixture
def third(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Third]:
    made = Third(tmp_path, monkeypatch)
    try:
        yield made
    finally:
        made.stop()


class Asked:
    """What the other computer was asked, by the names of operations."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.calls: list[tuple[str, Any]] = []
        for name in ("_open_session", "_start_2", "_end", "_close_session"):
            self._note(monkeypatch, name)

    def _note(self, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
        made = getattr(OldReadServer, name)

        def noted(server: OldReadServer, call: RpcCall) -> None:
            self.calls.append((name, call.arguments))
            made(server, call)

        monkeypatch.setattr(OldReadServer, name, noted)

    def of(self, name: str) -> list[Any]:
        """The arguments of the calls of an operation."""
        return [arguments for asked, arguments in self.calls if asked == name]


def test_a_message_of_a_third_computer_is_received(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """MQMP-262, MQMP-469, MQMP-471, MQMP-472, MQMP-474, MQMP-477, MQQP-193, MQQP-195, MQQP-220: by
    the three numbers, and under the name of this manager.
    """
    asked = Asked(monkeypatch)
    third = Third(tmp_path, monkeypatch)
    try:
        third.there.send("one", "two")
        with third.connect() as manager, manager.open_queue(QUEUE) as queue:
            assert queue.peek(timeout=5).body == b"one"
            assert asked.of("_end") == []
            found = queue.receive(timeout=5)
            assert (found.body, third.there.count()) == (b"one", 1)
            assert queue.receive(timeout=None).body == b"two"
            [session] = asked.of("_open_session")
            assert isinstance(session, OpenSession)
            assert session.licence == third.here.manager.identity
            assert session.queue == session.pointer == session.context != 0
            reads = [one.description.description for one in asked.of("_start_2")]
            assert all(isinstance(one, StartRead2) for one in asked.of("_start_2"))
            assert {(one.queue, one.own_queue) for one in reads} == {(session.queue,) * 2}
            assert len({one.request_id for one in reads}) == 3
            assert {(one.reserved, one.acknowledge) for one in reads} == {(0, 0)}
            assert reads[2].timeout_ms == 0xFFFFFFFF
            ends = asked.of("_end")
            assert [one.acknowledge for one in ends if isinstance(one, EndRead)] == [2, 2]
            assert third.there.count() == 0
        wait_until(lambda: len(third.there.service.old_reading) == 0)
        wait_until(lambda: third.there.connections() == [0])
        assert third.here.managers.in_use == 0
    finally:
        third.stop()


def test_a_queue_of_a_third_computer_is_purged(third: Third) -> None:
    """MQMP-297, MQQP-221"""
    third.there.send("one", "two")
    with third.connect() as manager, manager.open_queue(QUEUE) as queue:
        queue.purge()
        assert third.there.count() == 0


def test_a_cursor_walks_a_queue_of_a_third_computer(third: Third) -> None:
    """MQMP-481, MQMP-483, MQMP-470, MQMP-284, MQMP-285"""
    third.there.send("a", "b", "c")
    with third.connect() as manager, manager.open_queue(QUEUE) as queue:
        with queue.cursor() as cursor:
            with pytest.raises(IllegalCursorAction):
                cursor.next(timeout=0)
            assert [cursor.peek(timeout=0).body, cursor.next(timeout=0).body] == [b"a", b"b"]
            assert cursor.receive(timeout=0).body == b"b"
            [hosted] = third.there.service.old_reading._queues.values()
            assert len(hosted.cursors) == 1
        assert len(hosted.cursors) == 0
        assert [one.body for one in queue.receive_many(5, timeout=0)] == [b"a", b"c"]


def test_a_message_that_is_larger_than_the_room_comes_whole(third: Third) -> None:
    """MQMP-475: it is returned there, and asked for again."""
    third.there.send("x" * 50_000)
    with third.connect() as manager, manager.open_queue(QUEUE) as queue:
        assert queue.receive(timeout=5).body == b"x" * 50_000
        assert third.there.count() == 0


def test_a_queue_elsewhere_takes_no_transaction_and_no_more_than_was_asked_for(
    third: Third,
) -> None:
    """MQMP-468"""
    third.there.send("one")
    with third.connect() as manager:
        with manager.open_queue(QUEUE, access=Access.PEEK) as looking:
            assert looking.peek(timeout=0).body == b"one"
            with pytest.raises(AccessDenied):
                looking.receive(timeout=0)
        with manager.open_queue(QUEUE, access=Access.RECEIVE) as queue:
            transaction = manager.transaction()
            transaction.__enter__()
            with pytest.raises(TransactionUsage):
                queue.receive(transaction=transaction, timeout=0)
            transaction.abort()
    assert third.there.count() == 1


def test_a_read_that_waits_there_ends_with_its_client(third: Third) -> None:
    """MQMP-490: the message stays, and the queue is closed there."""
    manager = third.connect()
    queue = manager.open_queue(QUEUE)
    failed: list[BaseException] = []

    def wait() -> None:
        try:
            queue.receive(timeout=None)
        except MQError as error:
            failed.append(error)

    thread = threading.Thread(target=wait)
    thread.start()
    wait_until(lambda: third.there.waiting() == 1)
    third.here.cut()
    thread.join(10)
    assert len(failed) == 1
    wait_until(lambda: third.there.waiting() == 0)
    wait_until(lambda: len(third.there.service.old_reading) == 0)
    third.there.send("one")
    assert third.there.count() == 1
    manager.close()


def test_a_computer_that_is_gone_is_named(third: Third) -> None:
    """MQMP-264, MQMP-473: a queue that was lost is not opened again with the server's own login."""
    with third.connect() as manager:
        queue = manager.open_queue(QUEUE)
        third.there.cut()
        wait_until(lambda: len(third.there.service.old_reading) == 0)
        for _ in range(3):
            with pytest.raises(RemoteMachineNotAvailable):
                queue.receive(timeout=0)
        third.there.send("one")
        with manager.open_queue(QUEUE) as again:
            assert again.receive(timeout=5).body == b"one"


def test_numbers_that_are_wrong_are_refused_there(
    third: Third, monkeypatch: pytest.MonkeyPatch
) -> None:
    """MQMP-263: the failure is the one that the other computer has answered."""
    ask = DependentBackend._ask

    def wrong(self: Any, handle: Any, access: Any, numbers: tuple[int, int, int]) -> Any:
        return ask(self, handle, access, (*numbers[:2], 5) if numbers[0] else numbers)

    monkeypatch.setattr(DependentBackend, "_ask", wrong)
    with third.connect() as manager, pytest.raises(InvalidParameter):
        manager.open_queue(QUEUE)
    wait_until(lambda: third.here.managers.in_use == 0)
    assert len(third.here.service.supporting.queues) == 0


def test_the_queues_that_are_read_for_clients_are_bounded(
    third: Third, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(read_proxy, "PROXIED_MANAGERS_MAX", 1)
    with third.connect() as manager, manager.open_queue(QUEUE):
        with pytest.raises(InsufficientResources):
            manager.open_queue(QUEUE)
        assert third.here.managers.in_use == 1
