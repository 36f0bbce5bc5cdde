"""Transactions that remote readers enlist, and the coordinator that ends them.

[MS-MQRR] leaves commit and abort to MS DTC, which there is none of here. A client of OpenMSMQ
enlists with a propagation token of our own, and ends the transaction over an interface of our own.
The tokens of other coordinators are refused.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from uuid import UUID

from openmsmq.engine.commit.future import Future
from openmsmq.engine.manager import QueueManager
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.engine.transactions.transaction import ManagedTransaction
from openmsmq.errors import DtcConnect, MQError, TransactionSequence
from openmsmq.interfaces.driver import EngineDriver
from openmsmq.interfaces.remote_read import stubs
from openmsmq.interfaces.remote_read.coordinator import (
    COORDINATOR,
    OWN_TOKEN,
    CoordinatorOpnum,
    TransactionArgument,
)
from openmsmq.interfaces.remote_read.results import result_of
from openmsmq.rpc.association import Association
from openmsmq.rpc.interface import RpcCall, RpcInterface, RpcMethod
from openmsmq.types.caller import Caller


class EnlistedTransaction:
    """A transaction of one client; it is aborted when the client is gone."""

    def __init__(
        self, transaction: ManagedTransaction, principal: str, run_down: Callable[[], None]
    ) -> None:
        self.transaction = transaction
        self.principal = principal
        self.handle = UUID(int=0)
        "By which the association knows it."
        self._run_down = run_down

    def run_down(self) -> None:
        """The client is gone: what it has not committed is undone."""
        self._run_down()


class RemoteTransactions:
    """The transactions of remote readers, by association and identifier."""

    def __init__(
        self, manager: QueueManager, driver: EngineDriver, now: Callable[[], float]
    ) -> None:
        self._manager = manager
        self._driver = driver
        self._now = now
        self._enlisted: dict[tuple[Association, bytes], EnlistedTransaction] = {}
        opnum = CoordinatorOpnum
        self.interface = RpcInterface(
            "OpenMSMQ transactions",
            COORDINATOR,
            {
                opnum.COMMIT: RpcMethod("CommitTransaction", TransactionArgument, self._commit),
                opnum.ABORT: RpcMethod("AbortTransaction", TransactionArgument, self._abort),
            },
        )

    def __len__(self) -> int:
        return len(self._enlisted)

    def enlist(self, call: RpcCall, asked: stubs.EnlistRemoteTransaction) -> None:
        """Take part in a transaction; idempotent ([MS-MQRR] 3.1.4.12)."""
        if asked.token != OWN_TOKEN or asked.transaction_id == stubs.NO_TRANSACTION:
            raise DtcConnect("transactions of other coordinators cannot be taken part in")
        key = call.association, asked.transaction_id
        if key in self._enlisted:
            self.find(call, asked.transaction_id)
            return
        transaction = self._driver.call(self._manager.begin)
        transaction.used = self._now()

        def run_down() -> None:
            del self._enlisted[key]
            with suppress(MQError):  # the manager is closed
                self._driver.call(lambda: self._manager.abandon(transaction))

        made = EnlistedTransaction(transaction, call.client.principal, run_down)
        made.handle = call.association.add(made)
        self._enlisted[key] = made

    def find(self, call: RpcCall, transaction_id: bytes) -> ManagedTransaction:
        """The transaction of a client; `TransactionSequence` if it has enlisted none."""
        return self._find(call, transaction_id).transaction

    def abort_idle(self, limit: float) -> int:
        """Abort transactions that were not used for some seconds; how many they were.

        A client that is there and does nothing would keep messages from all others.
        """
        latest = self._now() - limit
        idle = [key for key, one in self._enlisted.items() if one.transaction.used <= latest]
        for association, transaction_id in idle:
            transaction = self._enlisted[association, transaction_id].transaction
            self._driver.call(partial(self._manager.abandon, transaction))
            self._forget(association, transaction_id)
        return len(idle)

    def holder_of(
        self, call: RpcCall, place: tuple[ManagedQueue, int]
    ) -> ManagedTransaction | None:
        """The client's own transaction that has received the message at a place."""
        for (association, _), found in self._enlisted.items():
            is_own = association is call.association and found.principal == call.client.principal
            if is_own and place in found.transaction.received:
                return found.transaction
        return None

    def _find(self, call: RpcCall, transaction_id: bytes) -> EnlistedTransaction:
        found = self._enlisted.get((call.association, transaction_id))
        if found is None or found.principal != call.client.principal:
            raise TransactionSequence(f"no transaction {transaction_id.hex()} is enlisted")
        found.transaction.used = self._now()
        return found

    def _commit(self, call: RpcCall) -> None:
        """Let everything that was done in the transaction take effect."""
        self._end(call, lambda transaction, by: self._manager.commit(transaction, caller=by))

    def _abort(self, call: RpcCall) -> None:
        """Undo everything that was done in the transaction."""
        self._end(call, self._manager.abort)

    def _end(
        self, call: RpcCall, end: Callable[[ManagedTransaction, Caller], Future[None]]
    ) -> None:
        transaction_id = call.args(TransactionArgument).transaction_id

        def answered(pending: Future[None]) -> None:
            if pending.error is None:
                self._forget(call.association, transaction_id)
            call.respond(stubs.Status32(result_of(pending.error)))

        try:
            found = self._find(call, transaction_id)
            by = Caller(found.principal)
            self._driver.begin(lambda: end(found.transaction, by), answered)
        except MQError as error:
            call.respond(stubs.Status32(result_of(error)))

    def _forget(self, association: Association, transaction_id: bytes) -> None:
        found = self._enlisted.pop((association, transaction_id), None)
        if found is not None:  # else the client went while it ended
            association.remove(found.handle)
