"""The receipts of all transports, which every process that opens a manager must know."""

from __future__ import annotations

from typing import Final

from openmsmq.engine.arrivals.receipts import ReceiptWriters
from openmsmq.engine.storage.layout import Owed
from openmsmq.transports.mqqb.receipts import BinaryReceipts
from openmsmq.transports.srmp.receipts import SrmpReceipts

RECEIPTS: Final[ReceiptWriters] = {0: BinaryReceipts(), Owed.SRMP.value: SrmpReceipts()}
"By the flag of records that names the transport; none for the binary protocol."
