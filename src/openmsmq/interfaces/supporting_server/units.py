"""Internal transactions of dependent clients ([MS-MQMP] 3.1.4.12 to 3.1.4.16).

What needs the transaction coordinator of Microsoft (DTC) is refused: there is none here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from openmsmq.engine.commit.future import Future
from openmsmq.engine.manager import QueueManager
from openmsmq.engine.transactions.transaction import ManagedTransaction
from openmsmq.errors import (
    DtcConnect,
    InvalidHandle,
    InvalidParameter,
    MQError,
    TransactionEnlist,
    TransactionSequence,
)
from openmsmq.interfaces.driver import EngineDriver
from openmsmq.interfaces.qm2qm.stubs import HandleArgument, HandleResult
from openmsmq.interfaces.remote_read.results import OK, result_of
from openmsmq.interfaces.supporting_server import stubs
from openmsmq.interfaces.supporting_server.answers import answer
from openmsmq.interfaces.supporting_server.clients import Clients
from openmsmq.interfaces.supporting_server.stubs import Opnum
from openmsmq.rpc.association import Association
from openmsmq.rpc.interface import RpcCall, RpcMethod
from openmsmq.rpc.ndr.structure import NULL_HANDLE, Structure
from openmsmq.rpc.status import RpcFault, RpcStatus
from openmsmq.types.caller import Caller

NO_UNIT: Final = bytes(16)
Ending = Callable[[ManagedTransaction, Caller], Future[None]]


@dataclass(slots=True, eq=False)
class DependentUnit:
    """RPC_INT_XACT_HANDLE: a transaction of one client ([MS-MQMP] 2.2.1.1.1)."""

    unit: bytes
    transaction: ManagedTransaction
    association: Association
    caller: Caller
    abandon: Callable[[DependentUnit], None]
    handle: UUID = NULL_HANDLE

    def run_down(self) -> None:
        """The client is gone: as if it had aborted ([MS-MQMP] 3.1.7.3)."""
        self.abandon(self)


class DependentUnits:
    """The transactions that dependent clients have begun."""

    def __init__(
        self,
        manager: QueueManager,
        driver: EngineDriver,
        clients: Clients,
        now: Callable[[], float],
    ) -> None:
        self._manager = manager
        self._driver = driver
        self._clients = clients
        self._now = now
        self._open: dict[bytes, DependentUnit] = {}
        "By XACTUOW ([MS-MQMP] 2.2.3.1)."

    def __len__(self) -> int:
        return len(self._open)

    def __iter__(self) -> Iterator[DependentUnit]:
        return iter(self._open.values())

    def methods(self) -> dict[int, RpcMethod]:
        """The operations, by number."""
        rows: dict[int, tuple[str, type[Structure], Callable[[RpcCall], None]]] = {
            Opnum.GET_WHEREABOUTS: (
                "R_QMGetTmWhereabouts",
                stubs.GetWhereabouts,
                self._whereabouts,
            ),
            Opnum.ENLIST: ("R_QMEnlistTransaction", stubs.Enlist, self._enlist),
            Opnum.ENLIST_INTERNAL: (
                "R_QMEnlistInternalTransaction",
                stubs.EnlistInternal,
                self._enlist_internal,
            ),
            Opnum.COMMIT: ("R_QMCommitTransaction", HandleArgument, self._commit),
            Opnum.ABORT: ("R_QMAbortTransaction", HandleArgument, self._abort),
        }
        return {opnum: RpcMethod(*row) for opnum, row in rows.items()}

    def _whereabouts(self, call: RpcCall) -> None:
        """R_QMGetTmWhereabouts ([MS-MQMP] 3.1.4.12): there is no DTC."""
        self._clients.caller(call)
        size = call.args(stubs.GetWhereabouts).size
        call.respond(stubs.SizedBytes.of(b"", 0, size, DtcConnect.hresult))

    def _enlist(self, call: RpcCall) -> None:
        """R_QMEnlistTransaction ([MS-MQMP] 3.1.4.13): one that is known, or none without a DTC."""
        self._clients.caller(call)
        known = self._open.get(call.args(stubs.Enlist).unit)
        is_own = known is not None and known.association is call.association
        call.respond(stubs.Status(OK if is_own else DtcConnect.hresult))

    def _enlist_internal(self, call: RpcCall) -> None:
        """R_QMEnlistInternalTransaction ([MS-MQMP] 3.1.4.14)."""
        unit = call.args(stubs.EnlistInternal).unit
        caller = self._clients.caller(call)

        def begun() -> Structure:
            if unit == NO_UNIT:
                raise InvalidParameter("a transaction without an identifier")
            if unit in self._open:
                raise TransactionSequence(f"{unit.hex()} has begun already")
            self._clients.enter(call.association, caller)
            transaction = self._driver.call(self._manager.begin)
            transaction.used = self._now()
            made = DependentUnit(unit, transaction, call.association, caller, self._abandon)
            self._open[unit] = made
            try:
                made.handle = call.association.add(made)
            except RpcFault:
                self._abandon(made)
                raise
            return HandleResult(made.handle, OK)

        answer(call, begun, lambda result: HandleResult(NULL_HANDLE, result))

    def find(self, call: RpcCall, unit: bytes | None) -> ManagedTransaction | None:
        """The client's own transaction ([MS-MQMP] 3.1.5.2, 3.1.5.3; SS-31); None for none."""
        if unit is None:
            return None
        found = self._open.get(unit)
        if found is None or found.association is not call.association:
            raise TransactionEnlist(f"no transaction {unit.hex()} has begun here")
        if found.caller.name != self._clients.caller(call).name:
            raise TransactionEnlist(f"the transaction {unit.hex()} is another user's")
        found.transaction.used = self._now()
        return found.transaction

    def run_down(self, association: Association) -> None:
        """Abort all transactions of a client, before its queues are closed (SS-33)."""
        for one in [one for one in self._open.values() if one.association is association]:
            self._abandon(one)

    def abort_idle(self, limit: float) -> int:
        """Abort transactions that were not used for some seconds; how many they were."""
        latest = self._now() - limit
        idle = [one for one in self._open.values() if one.transaction.used <= latest]
        for one in idle:
            self._abandon(one)
            one.association.remove(one.handle)
        return len(idle)

    def _commit(self, call: RpcCall) -> None:
        """R_QMCommitTransaction ([MS-MQMP] 3.1.4.15): answered when it is on disk (SS-15)."""
        self._end(call, lambda transaction, by: self._manager.commit(transaction, caller=by))

    def _abort(self, call: RpcCall) -> None:
        """R_QMAbortTransaction ([MS-MQMP] 3.1.4.16)."""
        self._end(call, self._manager.abort)

    def _end(self, call: RpcCall, end: Ending) -> None:
        handle = call.args(HandleArgument).handle
        caller = self._clients.caller(call)
        found = call.association.find(handle, DependentUnit)
        if found.caller.name != caller.name:
            raise RpcFault(RpcStatus.CONTEXT_MISMATCH)

        def answered(pending: Future[None]) -> None:
            if pending.error is None:
                self._forget(found)
                call.respond(HandleResult(NULL_HANDLE, OK))
            else:
                call.respond(HandleResult(handle, result_of(pending.error)))

        try:
            if self._open.get(found.unit) is not found:
                raise InvalidHandle("the transaction has ended")
            self._driver.begin(lambda: end(found.transaction, caller), answered)
        except MQError as error:
            call.respond(HandleResult(handle, error.hresult))

    def _abandon(self, one: DependentUnit) -> None:
        """Abort a transaction; no one waits for that."""
        if self._open.get(one.unit) is not one:
            return  # it was run down with its client's queues, or ended while it went
        del self._open[one.unit]
        self._clients.leave(one.association)
        with suppress(MQError):  # the manager is closed
            self._driver.call(lambda: self._manager.abandon(one.transaction, one.caller))

    def _forget(self, one: DependentUnit) -> None:
        if self._open.get(one.unit) is one:
            del self._open[one.unit]
            self._clients.leave(one.association)
            one.association.remove(one.handle)
