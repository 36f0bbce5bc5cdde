"""A call whose caller is gone is taken back, or what it did is undone."""

from __future__ import annotations

import threading
import time

from openmsmq.engine.commit.future import Future
from openmsmq.errors import MQError, StorageError
from openmsmq.runtime.answers import abandon, sooner, time_left


def test_a_read_that_waits_is_taken_back() -> None:
    taken: list[Future[str]] = []
    undone: list[str] = []

    def give_up(pending: Future[str], error: MQError) -> bool:
        taken.append(pending)
        return True

    pending: Future[str] = Future()
    abandon(pending, give_up, undone.append)
    assert taken == [pending]
    assert pending.on_done is None
    assert undone == []


def test_an_answer_that_comes_later_is_undone() -> None:
    undone: list[str] = []
    pending: Future[str] = Future()
    abandon(pending, lambda pending, error: False, undone.append)
    assert undone == []
    pending.succeed("read")
    assert undone == ["read"]


def test_an_answer_that_is_there_is_undone_at_once() -> None:
    undone: list[str] = []
    pending: Future[str] = Future()
    pending.succeed("read")
    abandon(pending, None, undone.append)
    assert undone == ["read"]


def test_a_call_that_failed_has_nothing_to_undo() -> None:
    undone: list[str] = []
    pending: Future[str] = Future()
    abandon(pending, None, undone.append)
    pending.fail(StorageError("disk"))
    assert undone == []


def test_time_that_is_left_is_never_negative_nor_longer_than_a_thread_can_wait() -> None:
    assert time_left(None) is None
    assert time_left(time.monotonic() - 1) == 0
    assert time_left(time.monotonic() + 2 * threading.TIMEOUT_MAX) == threading.TIMEOUT_MAX


def test_the_sooner_of_two_times_may_be_the_only_one() -> None:
    assert (sooner(1, 2), sooner(2, 1), sooner(None, 1), sooner(1, None)) == (1, 1, 1, 1)
    assert sooner(None, None) is None
