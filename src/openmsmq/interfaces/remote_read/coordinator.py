"""The interface that ends transactions of remote readers; OpenMSMQ's own, not of [MS-MQRR]."""

from __future__ import annotations

from enum import IntEnum
from typing import Final

from openmsmq.rpc.ndr.structure import Structure, structure
from openmsmq.rpc.syntax import SyntaxId
from openmsmq.wire.fixed import Bytes16

COORDINATOR: Final = SyntaxId.of("6d3c5b0e-0c5f-4f0e-9a57-4f8d3f1b2c71", 1)
"The interface that ends transactions; OpenMSMQ's own."
OWN_TOKEN: Final = b"OpenMSMQ\x01" + bytes(7)
"The propagation token of transactions that end over it."


class CoordinatorOpnum(IntEnum):
    """Operations of the coordinator."""

    COMMIT = 0
    ABORT = 1


@structure
class TransactionArgument(Structure):
    """Which transaction is to end: the identifier it was enlisted with."""

    transaction_id: Bytes16
