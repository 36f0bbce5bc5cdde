"""The receipts of all transports, which every process that opens a manager must know."""

from __future__ import annotations

from functools import cached_property
from typing import Final

from openmsmq.engine.arrivals.receipts import (
    OwedReceipt,
    ReceiptContext,
    ReceiptWriter,
    ReceiptWriters,
)
from openmsmq.engine.storage.layout import Owed
from openmsmq.properties.message import MessageClass
from openmsmq.transports.mqqb.receipts import BinaryReceipts


class HttpReceipts:
    """Those for messages that came over HTTP: what writes them is imported with the first."""

    @cached_property
    def _writer(self) -> ReceiptWriter:
        from openmsmq.transports.srmp.receipts import SrmpReceipts

        return SrmpReceipts()

    def acknowledgement(
        self, packet: bytes, reason: MessageClass, context: ReceiptContext
    ) -> OwedReceipt | None:
        """A delivery or commitment receipt, if the sender asked for it."""
        return self._writer.acknowledgement(packet, reason, context)

    def final(
        self, packet: bytes, reason: MessageClass, context: ReceiptContext
    ) -> OwedReceipt | None:
        """The final stream receipt."""
        return self._writer.final(packet, reason, context)


RECEIPTS: Final[ReceiptWriters] = {0: BinaryReceipts(), Owed.SRMP.value: HttpReceipts()}
"By the flag of records that names the transport; none for the binary protocol."
