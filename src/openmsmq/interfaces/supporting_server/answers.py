"""Answers of calls whose work is done now or when it is committed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from openmsmq.engine.commit.future import Future
from openmsmq.errors import MQError
from openmsmq.interfaces.driver import EngineDriver
from openmsmq.interfaces.remote_read.results import result_of
from openmsmq.interfaces.supporting_server.stubs import Status
from openmsmq.rpc.interface import RpcCall
from openmsmq.rpc.ndr.structure import Structure

T = TypeVar("T")
Results = Callable[[int], Structure]
"Makes results of an HRESULT."


def answer(call: RpcCall, work: Callable[[], Structure], failed: Results = Status) -> None:
    """Answer with what `work` returns, or with the HRESULT of its failure."""
    try:
        call.respond(work())
    except MQError as error:
        call.respond(failed(error.hresult))


def answer_when_done(
    driver: EngineDriver,
    call: RpcCall,
    make: Callable[[], Future[T]],
    results: Results = Status,
) -> None:
    """Answer with an HRESULT when the manager has done something and keeps it."""

    def answered(pending: Future[T]) -> None:
        call.respond(results(result_of(pending.error)))

    try:
        driver.begin(make, answered)
    except MQError as error:
        call.respond(results(error.hresult))
