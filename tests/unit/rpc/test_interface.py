"""Calls and how they end."""

from __future__ import annotations

from tests.strategies.rpc import Number, numbers

from openmsmq.rpc.association import Association
from openmsmq.rpc.interface import RpcCall, RpcClient


class Ended:
    """A call that keeps how it was ended."""

    def __init__(self) -> None:
        self.answers: list[bytes] = []
        self.faults: list[int] = []
        client = RpcClient("WORK\\alice", 6, "127.0.0.1")
        association = Association(1, "127.0.0.1", numbers())
        self.call = RpcCall(Number(7), association, client, self.answers.append, self.faults.append)


def test_a_call_is_answered_once() -> None:
    ended = Ended()
    ended.call.respond(Number(1))
    ended.call.respond(Number(2))
    ended.call.fault(5)
    assert (ended.answers, ended.faults) == ([Number(1).encode()], [])


def test_a_fault_ends_a_call_too() -> None:
    ended = Ended()
    ended.call.fault(5)
    ended.call.respond(Number(1))
    assert (ended.answers, ended.faults) == ([], [5])


def test_a_cancelled_call_may_still_be_answered() -> None:
    ended = Ended()
    ended.call.cancel()
    ended.call.on_cancel = lambda: ended.call.respond(Number(3))
    ended.call.cancel()
    assert ended.answers == [Number(3).encode()]


def test_an_abandoned_call_is_cancelled_and_not_answered() -> None:
    ended = Ended()
    cancelled: list[bool] = []
    ended.call.on_cancel = lambda: cancelled.append(ended.call.is_open)
    ended.call.abandon()
    ended.call.respond(Number(3))
    assert cancelled == [False]
    assert (ended.answers, ended.faults) == ([], [])


def test_the_arguments_are_of_the_declared_kind() -> None:
    assert Ended().call.args(Number).number == 7
