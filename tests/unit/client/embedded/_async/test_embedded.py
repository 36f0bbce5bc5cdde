"""The backend in this process, where the API itself cannot show it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest

import openmsmq
from openmsmq import Manager
from openmsmq.client.embedded._sync.embedded import Embedded
from openmsmq.clock import SystemClock
from openmsmq.engine.commit.future import Future
from openmsmq.engine.manager import QueueManager
from openmsmq.errors import (
    AccessDenied,
    InvalidHandle,
    TransactionSequence,
    UnsupportedOperation,
)
from openmsmq.runtime.answers import GiveUp
from openmsmq.runtime.drivers import ThreadDriver
from openmsmq.store.memory import MemoryStore

T = TypeVar("T")
ELSEWHERE = "DIRECT=OS:other\\private$\\orders"


def test_a_transaction_of_another_manager_is_refused(tmp_path: Path) -> None:
    with openmsmq.open(tmp_path / "a") as one, openmsmq.open(tmp_path / "b") as other:
        queue = one.create_queue("orders", transactional=True)
        with pytest.raises(TransactionSequence, match="another queue manager"):
            queue.send("x", transaction=other.transaction())


def test_who_purges_must_be_allowed_to_receive(manager: Manager) -> None:
    manager.create_queue("orders")
    queue = manager.open_queue("orders", access=openmsmq.Access.PEEK)
    with pytest.raises(AccessDenied):
        queue.purge()


def test_an_outgoing_queue_can_be_purged_though_only_sent_to(manager: Manager) -> None:
    queue = manager.open_queue(ELSEWHERE)
    queue.send_many(["a", "b"])
    with pytest.raises(AccessDenied):
        queue.peek(timeout=0)
    assert queue.purge() == 2
    assert queue.info().messages == 0


def test_an_outgoing_queue_is_paused_and_resumed(manager: Manager) -> None:
    """DMPR-316, DMPR-318."""
    queue = manager.open_queue(ELSEWHERE)
    queue.pause()
    assert queue.info().state == "on hold"
    queue.resume()
    assert queue.info().state == "inactive"


def test_only_a_service_tries_to_send(manager: Manager) -> None:
    queue = manager.open_queue(ELSEWHERE)
    with pytest.raises(UnsupportedOperation, match="only a service"):
        queue.retry()
    queue.close()
    with pytest.raises(InvalidHandle):
        queue.retry()


def test_the_manager_tells_its_state_settings_and_statistics(manager: Manager) -> None:
    """DMPR-025."""
    assert manager.state == "ready"
    manager.configure(history=1, quota=1000)
    assert (manager.settings().history, manager.settings().quota) == (1, 1000)
    manager.create_queue("orders").send("x")
    assert manager.statistics()["arrived"] == 1
    manager.close()
    assert manager.state == "stopped"


class Interrupted(ThreadDriver):
    """A driver whose callers are gone when the answer to a read is there."""

    def wait(
        self,
        make: Callable[[], Future[T]],
        timeout: float | None = None,
        give_up: GiveUp[T] | None = None,
        undo: Callable[[T], None] | None = None,
    ) -> T:
        answer = super().wait(make, timeout, give_up, undo)
        if undo is None:
            return answer
        undo(answer)
        raise KeyboardInterrupt


def test_what_an_interrupted_caller_took_is_back_and_what_it_saw_is_there_once() -> None:
    local = QueueManager(MemoryStore(), SystemClock(), name="server1")
    with Manager(Embedded(local, Interrupted(local, local.clock))) as manager:
        queue = manager.create_queue("orders")
        queue.send("a")
        reads: list[Callable[[], object]] = [
            queue.peek,
            queue.receive,
            lambda: next(queue.stream()),
        ]
        for read in reads:
            with pytest.raises(KeyboardInterrupt):
                read()
        queue.send("b")
        assert queue.info().messages == 2
        assert not local.queues.find("private$\\orders").holds
