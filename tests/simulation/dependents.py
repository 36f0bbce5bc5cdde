"""Clients without a queue manager, which receive through one in transactions, on wires that break.

A receive outside a transaction can be lost with its answer, and its client would not know what:
they only peek there.
"""

from __future__ import annotations

from functools import partial
from typing import Any, Final
from uuid import UUID

from openmsmq.client.dependent.buffers import FIRST_SIZES, empty_buffer
from openmsmq.errors import ReceiveTimeout
from openmsmq.interfaces.qm2qm.stubs import QMCOMM, HandleArgument, HandleResult
from openmsmq.interfaces.queue_format import QueueFormatArgument
from openmsmq.interfaces.remote_read.actions import ReadAction
from openmsmq.interfaces.remote_read.stubs import INFINITE_MS
from openmsmq.interfaces.supporting_server import stubs
from openmsmq.interfaces.supporting_server.stubs import QMCOMM2, MessageOpnum, Opnum
from openmsmq.names.format import parse_format_name
from openmsmq.rpc.status import RpcFault
from tests.simulation.clients import SLACK_S
from tests.simulation.ledger import NORMAL
from tests.simulation.programs import PLAIN, TRANSACTIONAL
from tests.simulation.readers import OK, WORKS_MAX, Held, Reader, ReaderWork

TIMEOUTS: Final = (0, 0, 50, 1000, 10_000, INFINITE_MS)


class DependentReader(Reader):
    """A client of a supporting server: qmcomm on its first connection, qmcomm2 on the second."""

    kind = "dependent"
    network = "10.3.0"
    syntaxes = QMCOMM, QMCOMM2

    def _open(self, queue: str) -> None:
        """rpc_QMOpenQueueInternal."""
        handles = self._handles

        def opened(found: stubs.OpenedQueue | RpcFault | None) -> None:
            if isinstance(found, stubs.OpenedQueue) and found.result == OK:
                handles[queue] = found.handle, found.context

        name = QueueFormatArgument.of(parse_format_name(f"DIRECT=OS:{self.node.name}\\{queue}"))
        place = stubs.NamePlace(None)
        asked = stubs.OpenInternal(name, 1, 0, 0, place, 0, UUID(int=3), self.name, 0, 0)
        self._call(Opnum.OPEN_QUEUE, asked, stubs.OpenedQueue, opened)

    def _step(self) -> None:
        dice, chance = self._chance.random(), self._chance
        if dice < 0.15:
            self._read(None)
        elif dice < 0.35 and len(self._works) < WORKS_MAX:
            self._begin()
        elif dice < 0.85 and self._works:
            self._go_on(chance.choice(self._works))
        elif dice < 0.90 and self._handles:
            self._close_queue(chance.choice(list(self._handles)))
        elif dice < 0.92:
            self._close()
        elif dice < 0.94:
            legs = [leg for leg in (self._reading, self._ending) if leg and leg.machine]
            self._net.cut_program(chance.choice(legs))

    def _close_queue(self, queue: str) -> None:
        """rpc_ACCloseHandle, which ends waiting reads; then it is opened again."""
        handle, _ = self._handles.pop(queue)

        def closed(found: HandleResult | RpcFault | None) -> None:
            assert not isinstance(found, HandleResult) or found.result == OK

        self._call(Opnum.CLOSE_HANDLE, HandleArgument(handle), HandleResult, closed)
        self._open(queue)

    def _read(self, work: ReaderWork | None) -> None:
        """rpc_ACReceiveMessageEx: a receive in a transaction, or a peek."""
        queue = self._chance.choice(TRANSACTIONAL if work else (*PLAIN, *TRANSACTIONAL))
        opened, leg = self._handles.get(queue), self._ending
        if opened is None or leg is None or not leg.is_ready:
            return
        timeout, since = self._chance.choice(TIMEOUTS), self.elapsed()
        action = ReadAction.PEEK_CURRENT if work is None else ReadAction.RECEIVE
        unit = None if work is None else work.unit
        buffer = empty_buffer(action, timeout, 0, unit, FIRST_SIZES)

        def answered(found: stubs.ReceivedBuffer | RpcFault | None) -> None:
            if work is not None:
                work.calls -= 1
            if not isinstance(found, stubs.ReceivedBuffer):
                return
            if found.result == ReceiveTimeout.hresult:
                waited = self.elapsed() - since
                assert waited >= timeout / 1000 - SLACK_S, f"{self.name}: {waited} of {timeout} ms"
            elif found.result == OK and work is not None:
                self._take(queue, found.buffer, work)

        if work is not None:
            work.calls += 1
        wait = None if timeout == INFINITE_MS else timeout / 1000
        asked = stubs.ReceiveMessage(opened[1], buffer)
        kind = stubs.ReceivedBuffer
        self._call(MessageOpnum.RECEIVE, asked, kind, answered, wait=wait, leg=leg)

    def _take(self, queue: str, buffer: Any, work: ReaderWork) -> None:
        uid = buffer.application_tag if buffer.message_class == NORMAL else 0
        assert uid not in {held.uid for held in work.taken if uid}, f"{self.name} got m{uid} twice"
        work.taken.append(Held(queue, 0, 0, uid, self.elapsed()))

    # Transactions

    def _begin(self) -> None:
        """R_QMEnlistInternalTransaction."""
        work, works = ReaderWork(next(self._units).to_bytes(16, "little")), self._works

        def begun(found: HandleResult | RpcFault | None) -> None:
            if isinstance(found, HandleResult) and found.result == OK:
                work.handle = found.handle
                works.append(work)

        asked = stubs.EnlistInternal(work.unit)
        self._call(Opnum.ENLIST_INTERNAL, asked, HandleResult, begun)

    def _finish(self, work: ReaderWork, *, commit: bool) -> None:
        """R_QMCommitTransaction or R_QMAbortTransaction."""
        opnum = Opnum.COMMIT if commit else Opnum.ABORT
        if commit:
            self._ledger.asked |= {held.uid for held in work.taken}
        answered = partial(self._finished, work, commit=commit)
        self._call(opnum, HandleArgument(work.handle), HandleResult, answered)
