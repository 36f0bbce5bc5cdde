"""DebugHeader: where reports about a traced message go."""

from __future__ import annotations

from typing import Annotated, Self
from uuid import UUID

from openmsmq.wire.fixed import U16, Bits, Fixed, extended, fixed
from openmsmq.wire.reader import Reader

NO_REPORT_QUEUE = 0
PUBLIC_REPORT_QUEUE = 1


class DebugFlags(Bits):
    """DebugHeader.Flags ([MS-MQMQ] 2.2.20.8)."""

    QT = 0x0003  # 0 no queue, 1 a public queue
    X = 0xFFFC


@fixed
class DebugHeaderStart(Fixed):
    """The fixed part of a DebugHeader ([MS-MQMQ] 2.2.20.8)."""

    flags: Annotated[int, "H", DebugFlags] = NO_REPORT_QUEUE
    reserved: U16 = 0


@extended
class DebugHeader(DebugHeaderStart):
    """DebugHeader ([MS-MQMQ] 2.2.20.8)."""

    queue_identifier: UUID | None = None
    "The public queue that takes the reports; there exactly when QT is 1."

    @classmethod
    def read(cls, reader: Reader) -> Self:
        """Read the 4 or 20 bytes."""
        origin = reader.offset
        queue = None
        with reader.section("DebugHeader"):
            start = reader.fixed(DebugHeaderStart)
            kind = start.flags & DebugFlags.QT
            if kind > PUBLIC_REPORT_QUEUE:
                reader.fail("Flags", f"QT is {kind}, not 0 or 1", offset=origin)
            if kind == PUBLIC_REPORT_QUEUE:
                queue = reader.guid("QueueIdentifier")
        return cls(**start.values(), queue_identifier=queue)

    def encode(self) -> bytes:
        """The bytes of the header."""
        return self.pack() + (
            self.queue_identifier.bytes_le if self.queue_identifier is not None else b""
        )
