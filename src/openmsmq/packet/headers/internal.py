"""InternalHeader, which says what an internal packet is."""

from __future__ import annotations

from enum import IntEnum
from typing import Annotated

from openmsmq.wire.fixed import U16, Bits, Fixed, fixed


class InternalType(IntEnum):
    """InternalHeader.Flags.PT ([MS-MQQB] 2.2.1)."""

    SESSION_ACK = 1
    ESTABLISH_CONNECTION = 2
    CONNECTION_PARAMETERS = 3


class InternalFlags(Bits):
    """InternalHeader.Flags ([MS-MQQB] 2.2.1)."""

    PT = 0x000F  # packet type
    CS = 0x0010  # connection refused
    X5_X15 = 0xFFE0


@fixed
class InternalHeader(Fixed):
    """InternalHeader ([MS-MQQB] 2.2.1)."""

    reserved: U16 = 0
    flags: Annotated[int, "H", InternalFlags] = 0


assert InternalHeader.SIZE == 4
