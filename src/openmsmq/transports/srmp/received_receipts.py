"""Stream receipts that come: which messages of which stream they release.

A post proves no sender. The identifier of a stream, which cannot be guessed, is the proof; a
receipt counts only for streams that were sent over HTTP, and never for more than was sent.
"""

from __future__ import annotations

from collections.abc import Callable

from openmsmq.engine.commit.batch import Batch
from openmsmq.engine.core import Core
from openmsmq.engine.outgoing.confirmations import Confirmations
from openmsmq.engine.outgoing.dispatch import Dispatcher
from openmsmq.engine.outgoing.sequences import OutgoingSequence
from openmsmq.engine.outgoing.transport import AddressKind, kind_of
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.limits import U32_MAX
from openmsmq.packet.headers.transaction import TxSequenceID
from openmsmq.properties.message import MessageClass
from openmsmq.soap.envelope import StreamReceipt
from openmsmq.transports.srmp.exchange import FinalReceipt
from openmsmq.transports.srmp.outcomes import UNKNOWN_STREAM, SrmpOutcome

_Done = Callable[[SrmpOutcome], None]


class ReceivedReceipts:
    """Takes what receivers say of streams that were sent to them ([MC-MQSRM] 3.1.5.1.8)."""

    def __init__(
        self,
        core: Core,
        dispatcher: Dispatcher,
        confirmations: Confirmations,
        progressed: Callable[[ManagedQueue], None],
    ) -> None:
        """`progressed` gets a queue whose messages have reached their destination."""
        self._core = core
        self._dispatcher = dispatcher
        self._confirmations = confirmations
        self._progressed = progressed

    def take(self, receipt: StreamReceipt, final: FinalReceipt | None, done: _Done) -> None:
        """A stream receipt, or a final one; `done` gets the outcome when it is on disk."""
        found = self._find(receipt)
        if found is None:
            self._core.statistics.count(UNKNOWN_STREAM)
            done(SrmpOutcome.IGNORED)
        elif final is None:
            self._ordered(*found, receipt.last_ordinal)
            done(SrmpOutcome.STORED)
        else:
            self._final(*found, receipt.last_ordinal, final, done)

    def _find(self, receipt: StreamReceipt) -> tuple[ManagedQueue, OutgoingSequence] | None:
        """The stream of this manager that a receipt is about."""
        number = receipt.stream_id.number
        if receipt.stream_id.guid != self._core.identity:
            return None
        identifier = TxSequenceID(number & U32_MAX, number >> 32)
        found = self._core.numbers.sequences.find(identifier)
        if found is None or kind_of(found[0].name) is not AddressKind.HTTP:
            return None
        return found

    def _ordered(self, queue: ManagedQueue, sequence: OutgoingSequence, number: int) -> None:
        """Messages up to a number are in their queue ([MC-MQSRM] 3.1.5.1.8.1 - 3.1.5.1.8.4)."""
        if not sequence.is_established and queue.sequences.limit(sequence):
            self._dispatcher.establish(queue, sequence, lambda: None)
        if self._confirmations.acknowledged(queue, sequence, number):
            self._progressed(queue)

    def _final(
        self,
        queue: ManagedQueue,
        sequence: OutgoingSequence,
        number: int,
        final: FinalReceipt,
        done: _Done,
    ) -> None:
        """One message was received, or will never be ([MC-MQSRM] 3.1.5.1.9)."""
        after: list[Callable[[], None]] = []

        def apply(batch: Batch) -> None:
            after.clear()
            sent = None
            if final.message.guid == self._core.identity:
                find = self._confirmations.find
                sent = find(batch, queue, sequence, number, final.message.number)
            if sent is None:
                batch.count("final receipts of unknown messages")
                return
            self._confirmations.confirm(batch, sent, MessageClass(final.reason), after)

        def committed() -> None:
            for call in after:
                call()
            done(SrmpOutcome.STORED)

        self._core.submit(apply, committed, lambda error: done(SrmpOutcome.FAILED))
