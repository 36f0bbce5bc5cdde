"""Answers of calls whose work is done now or later."""

from __future__ import annotations

from openmsmq.engine.commit.future import Future
from openmsmq.errors import InvalidParameter, QueueNotFound
from openmsmq.interfaces.supporting_server.answers import answer, answer_when_done
from openmsmq.interfaces.supporting_server.stubs import RegistryResult, Status
from openmsmq.rpc.association import Association
from openmsmq.rpc.interface import RpcCall, RpcClient


class LateDriver:
    """Answers when it is to."""

    def __init__(self) -> None:
        self.pending: Future[int] = Future()

    def call(self, make):  # type: ignore[no-untyped-def]
        return make()

    def begin(self, make, answered):  # type: ignore[no-untyped-def]
        pending = make()
        pending.on_done = lambda: answered(pending)


def called(found: list[bytes]) -> RpcCall:
    association = Association(1, "127.0.0.1", bytes)
    return RpcCall(Status(0), association, RpcClient("", 0, ""), found.append, lambda _: None)


def test_a_failure_is_an_answer() -> None:
    found: list[bytes] = []

    def fails() -> Status:
        raise QueueNotFound("none")

    answer(called(found), lambda: Status(7))
    answer(called(found), fails)
    answer(called(found), fails, lambda result: RegistryResult(None, result))
    failed = (0xC00E0003).to_bytes(4, "little")
    assert found == [Status(7).encode(), failed, bytes(4) + failed]


def test_an_answer_comes_when_the_work_is_done() -> None:
    for error, result in ((None, 0), (InvalidParameter("x"), 0xC00E0006)):
        found: list[bytes] = []
        driver = LateDriver()
        answer_when_done(driver, called(found), lambda driver=driver: driver.pending)  # type: ignore[misc]
        assert found == []
        if error is None:
            driver.pending.succeed(1)
        else:
            driver.pending.fail(error)
        assert found == [Status(result).encode()]


def test_work_that_fails_at_once_is_answered_at_once() -> None:
    found: list[bytes] = []

    def fails() -> Future[int]:
        raise InvalidParameter("x")

    answer_when_done(LateDriver(), called(found), fails)
    assert found == [Status(0xC00E0006).encode()]
