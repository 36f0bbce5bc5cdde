"""SessionHeader, which acknowledges what came on the same session."""

from __future__ import annotations

from openmsmq import limits
from openmsmq.wire.fixed import U16, U32, Fixed, fixed
from openmsmq.wire.reader import Reader


@fixed
class SessionHeader(Fixed):
    """SessionHeader ([MS-MQMQ] 2.2.20.4)."""

    ack_sequence_number: U16 = 0
    recoverable_msg_ack_seq_number: U16 = 0
    recoverable_msg_ack_flags: U32 = 0
    user_msg_sequence_number: U16 = 0
    recoverable_msg_seq_number: U16 = 0
    window_size: U16 = limits.WINDOW_SIZE
    reserved: U16 = 0

    @classmethod
    def read(cls, reader: Reader) -> SessionHeader:
        """Read the 16 bytes."""
        with reader.section("SessionHeader"):
            return reader.fixed(cls)


assert SessionHeader.SIZE == 16
