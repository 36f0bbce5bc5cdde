"""EstablishConnectionHeader, the first thing two queue managers say to each other."""

from __future__ import annotations

from typing import Annotated, Final

from openmsmq.wire.fixed import U16, U32, Bits, Fixed, Guid, fixed

PADDING: Final = b"\x5a" * 512
"What a response must be filled with; a request may hold anything ([MS-MQQB] 2.2.3.1)."


class OperatingSystem(Bits):
    """EstablishConnectionHeader.OperatingSystem ([MS-MQQB] 2.2.3.1)."""

    RE = 0x00FF  # always 0x10
    SE = 0x0100  # no Ping Request was sent for this session
    OS = 0x0200  # a server-class operating system
    QS = 0x0400  # the transport guarantees a quality of service
    X11_X15 = 0xF800


@fixed
class EstablishConnectionHeader(Fixed):
    """EstablishConnectionHeader ([MS-MQQB] 2.2.3.1)."""

    client_guid: Guid
    server_guid: Guid
    time_stamp: U32
    operating_system: Annotated[int, "H", OperatingSystem] = 0x0010
    reserved: U16 = 0
    padding: Annotated[bytes, "512s"] = PADDING


assert EstablishConnectionHeader.SIZE == 552
