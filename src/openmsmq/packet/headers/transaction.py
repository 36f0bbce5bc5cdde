"""TransactionHeader: a message's place in its transaction and in its sequence."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from openmsmq.wire.fixed import U32, Bits, Fixed, extended, fixed
from openmsmq.wire.reader import Reader


@fixed
class TxSequenceID(Fixed):
    """TxSequenceID ([MS-MQMQ] 2.2.18.1.2)."""

    ordinal: U32 = 0
    time_stamp: U32 = 0

    @property
    def number(self) -> int:
        """The 64-bit number by which identifiers compare, TimeStamp in its high half."""
        return self.time_stamp << 32 | self.ordinal


class TransactionFlags(Bits):
    """TransactionHeader.Flags ([MS-MQMQ] 2.2.20.5)."""

    CG = 0x00000001  # ConnectorQMGuid is there
    FA = 0x00000002  # a FinalAck is wanted
    FM = 0x00000004  # first message of its transaction
    LM = 0x00000008  # last message of its transaction
    ID = 0x00FFFFF0  # the transaction
    X = 0xFF000000


@fixed
class TransactionHeaderStart(Fixed):
    """The fixed part of a TransactionHeader ([MS-MQMQ] 2.2.20.5)."""

    flags: Annotated[int, "I", TransactionFlags] = 0
    tx_sequence_id: TxSequenceID = TxSequenceID()
    tx_sequence_number: U32 = 0
    previous_tx_sequence_number: U32 = 0


assert TransactionHeaderStart.SIZE == 20


@extended
class TransactionHeader(TransactionHeaderStart):
    """TransactionHeader ([MS-MQMQ] 2.2.20.5)."""

    connector_qm_guid: UUID | None = None
    "Of a connector application, never interpreted; there exactly when CG is set."

    @property
    def transaction_id(self) -> int:
        """The 20-bit number of the transaction, unique for its sender."""
        return (self.flags & TransactionFlags.ID) >> 4

    @classmethod
    def read(cls, reader: Reader) -> TransactionHeader:
        """Read the 20 or 36 bytes."""
        with reader.section("TransactionHeader"):
            start = reader.fixed(TransactionHeaderStart)
            connector = None
            if start.flags & TransactionFlags.CG:
                connector = reader.guid("ConnectorQMGuid")
        return cls(**start.values(), connector_qm_guid=connector)

    def encode(self) -> bytes:
        """The bytes of the header."""
        connector = self.connector_qm_guid
        return self.pack() + (connector.bytes_le if connector is not None else b"")
