"""What came on a session, and what of it was acknowledged."""

from __future__ import annotations

from openmsmq.packet.headers.session import SessionHeader
from openmsmq.transports.mqqb.outbound import FLAG_BITS, MASK, Outbound

HEADER_AT: float = 0.75
"From this part of the wait for an acknowledgement on, a message takes it along (3.1.7.11)."


class Inbound:
    """The receiving half of a session.

    Recoverable messages are dealt with in the order they came, each on disk or refused before the
    next is reported to be (`stored`), so that all below an acknowledged one are, too.
    """

    __slots__ = ("acked", "received", "recoverable", "stored", "unacked", "window")

    def __init__(self, window: int) -> None:
        self.window = window
        "WindowSize, as announced to the peer."
        self.received = 0
        "MessageReceivedCount ([MS-MQQB] 3.1.1.3.1), here without wrapping."
        self.unacked = 0
        "UnackedReceivedMsgCount: how many came since the last acknowledgement."
        self.recoverable = 0
        "RecoverableMessageReceivedCount, without wrapping."
        self.stored = 0
        "The recoverable messages up to this one are on disk, or refused for good."
        self.acked = 0
        "LastAckedRecoverableMsgSeqNumber: up to this one the peer knows."

    @property
    def is_ack_due(self) -> bool:
        """The peer does not know of something yet (AMB-28)."""
        return self.unacked > 0 or self.stored > self.acked

    @property
    def to_confirm(self) -> int:
        """Recoverable messages on disk that the peer does not know of."""
        return self.stored - self.acked

    def count(self, *, recoverable: bool, messages: int = 1) -> int:
        """Count messages; the last one's number among the recoverable ones, 0 for any other.

        (Duplicates and those refused count, too; [MS-MQQB] 3.1.1.4, 3.1.5.8.2, 3.1.5.8.7, AMB-38.)
        """
        self.received += messages
        self.unacked += messages
        if not recoverable:
            return 0
        self.recoverable += messages
        return self.recoverable

    def header(self, outbound: Outbound, window: int | None = None) -> SessionHeader:
        """The acknowledgement for the peer, which is then up to date ([MS-MQQB] 3.1.6.4)."""
        count = min(self.to_confirm, FLAG_BITS)
        header = SessionHeader(
            ack_sequence_number=self.received & MASK,
            recoverable_msg_ack_seq_number=self.acked + 1 & MASK if count else 0,
            recoverable_msg_ack_flags=(1 << count) - 1,
            user_msg_sequence_number=outbound.sent,
            recoverable_msg_seq_number=outbound.recoverable_sent,
            window_size=self.window if window is None else window,
        )
        self.acked += count
        self.unacked = 0
        return header

    def matches(self, header: SessionHeader) -> bool:
        """Whether the peer has sent as much as came ([MS-MQQB] 3.1.5.5.5)."""
        return (
            header.user_msg_sequence_number == self.received & MASK
            and header.recoverable_msg_seq_number == self.recoverable & MASK
        )
