"""Answers that come later."""

from __future__ import annotations

from weakref import ref

import pytest

from openmsmq.engine.commit.future import Future
from openmsmq.errors import ReceiveTimeout


def test_an_answer_that_is_a_value_is_given_out_as_often_as_asked_for() -> None:
    pending: Future[int] = Future()
    assert not pending.done
    pending.succeed(7)
    assert pending.done
    assert pending.error is None
    assert (pending.result(), pending.result()) == (7, 7)


def test_an_answer_that_is_an_error_is_raised() -> None:
    pending: Future[int] = Future()
    pending.fail(ReceiveTimeout("nothing"))
    assert pending.done
    with pytest.raises(ReceiveTimeout):
        pending.result()


def test_none_is_an_answer_too() -> None:
    pending: Future[None] = Future()
    pending.succeed(None)
    pending.result()
    assert pending.done


@pytest.mark.parametrize("fails", [False, True])
def test_the_one_who_waits_is_notified_once_when_the_answer_is_there(fails: bool) -> None:
    pending: Future[str] = Future()
    reported: list[bool] = []
    pending.on_done = lambda: reported.append(pending.done)
    if fails:
        pending.fail(ReceiveTimeout())
    else:
        pending.succeed("here")
    assert reported == [True]


def test_answered_it_keeps_those_no_longer_who_waited() -> None:
    """Each send left a circle of fifteen objects for the garbage collector."""
    pending: Future[int] = Future()
    pending.on_done = lambda: None
    waits = ref(pending.on_done)
    pending.succeed(1)
    assert waits() is None


def test_a_call_is_answered_once() -> None:
    pending: Future[int] = Future()
    pending.succeed(1)
    with pytest.raises(AssertionError):
        pending.succeed(2)
    with pytest.raises(AssertionError):
        pending.fail(ReceiveTimeout())
    assert pending.result() == 1


@pytest.mark.parametrize("later", [False, True])
@pytest.mark.parametrize("fails", [False, True])
def test_an_answer_may_answer_another_call(fails: bool, later: bool) -> None:
    pending: Future[int] = Future()
    other: Future[str] = Future()
    error = ReceiveTimeout()
    if later:
        pending.then(other, str)
        assert not other.done
    if fails:
        pending.fail(error)
    else:
        pending.succeed(5)
    if not later:
        pending.then(other, str)
    assert other.error is (error if fails else None)
    if not fails:
        assert other.result() == "5"


def test_an_answer_cannot_be_taken_before_it_is_there() -> None:
    with pytest.raises(AssertionError):
        Future[int]().result()
