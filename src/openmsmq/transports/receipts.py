"""The receipts of all transports, which every process that opens a manager must know."""

from __future__ import annotations

from typing import Final

from openmsmq.engine.arrivals.receipts import ReceiptWriters
from openmsmq.engine.storage.layout import Owed
from openmsmq.transports.mqqb.receipts import final_ack

RECEIPTS: Final[ReceiptWriters] = {Owed.FINAL_ACK.value: final_ack}
"By the flag of records that names the transport."
