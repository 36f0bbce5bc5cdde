"""Answers that come later."""

from __future__ import annotations

import pytest

from openmsmq.engine.commit.pending import Pending
from openmsmq.errors import ReceiveTimeout


def test_an_answer_that_is_a_value_is_given_out_as_often_as_asked_for() -> None:
    pending: Pending[int] = Pending()
    assert not pending.done
    pending.succeed(7)
    assert pending.done
    assert pending.error is None
    assert (pending.result(), pending.result()) == (7, 7)


def test_an_answer_that_is_an_error_is_raised() -> None:
    pending: Pending[int] = Pending()
    pending.fail(ReceiveTimeout("nothing"))
    assert pending.done
    with pytest.raises(ReceiveTimeout):
        pending.result()


def test_none_is_an_answer_too() -> None:
    pending: Pending[None] = Pending()
    pending.succeed(None)
    pending.result()
    assert pending.done


@pytest.mark.parametrize("fails", [False, True])
def test_whoever_waits_is_told_once_when_the_answer_is_there(fails: bool) -> None:
    pending: Pending[str] = Pending()
    told: list[bool] = []
    pending.on_done = lambda: told.append(pending.done)
    if fails:
        pending.fail(ReceiveTimeout())
    else:
        pending.succeed("here")
    assert told == [True]


def test_a_call_is_answered_once() -> None:
    pending: Pending[int] = Pending()
    pending.succeed(1)
    with pytest.raises(AssertionError):
        pending.succeed(2)
    with pytest.raises(AssertionError):
        pending.fail(ReceiveTimeout())
    assert pending.result() == 1


@pytest.mark.parametrize("later", [False, True])
@pytest.mark.parametrize("fails", [False, True])
def test_an_answer_may_answer_another_call(fails: bool, later: bool) -> None:
    pending: Pending[int] = Pending()
    other: Pending[str] = Pending()
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
        Pending[int]().result()
