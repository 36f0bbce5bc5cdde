"""ConnectionParametersHeader, the window and the time-outs of a session."""

from __future__ import annotations

from typing import Annotated

from openmsmq import limits
from openmsmq.wire.fixed import U16, Fixed, Named, fixed


@fixed
class ConnectionParametersHeader(Fixed):
    """ConnectionParametersHeader ([MS-MQQB] 2.2.2.1)."""

    recoverable_ack_timeout_ms: Annotated[int, "I", Named("RecoverableAckTimeout")]
    ack_timeout_ms: Annotated[int, "I", Named("AckTimeout")]
    reserved: U16 = 0
    window_size: U16 = limits.WINDOW_SIZE


assert ConnectionParametersHeader.SIZE == 12
