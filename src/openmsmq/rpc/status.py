"""Status codes of faults ([MS-RPCE] 3.1.1.5.5; C706 appendix N), and the exception for one."""

from __future__ import annotations

from enum import IntEnum
from typing import Final


class RpcStatus(IntEnum):
    """What a fault says; a method may throw any other number of its own."""

    ACCESS_DENIED = 0x00000005
    "The authentication level is too low, or the request too large."
    BAD_STUB_DATA = 0x000006F7
    "The arguments do not fit their declaration."
    NOT_REGISTERED = 0x000006D9
    "The endpoint mapper has no such interface."
    CANNOT_PERFORM = 0x000006D8
    "The endpoint mapper cannot perform the operation."
    CONTEXT_MISMATCH = 0x1C00001A
    "No such context handle."
    CANCEL = 0x1C00000D
    "The call was cancelled."
    INVALID_PRES_CONTEXT_ID = 0x1C00001C
    UNSUPPORTED_AUTHN_LEVEL = 0x1C00001D
    OP_RNG_ERROR = 0x1C010002
    "No such operation."
    UNK_IF = 0x1C010003
    "No such interface."
    PROTO_ERROR = 0x1C01000B
    "PDUs that do not fit the protocol."
    SERVER_TOO_BUSY = 0x1C010014


UNSENDABLE: Final = frozenset(
    {
        *(0, 0x80000001, 0x80000002, 0x80000003, 0xC0000005, 0xC0000006, 0xC000001D, 0xC0000096),
        *(0xC00000AA, 0xC00000FD, 0xC0000194, 0xC0000235, 0xC0000409, 0xC0000420),
    }
)
"Codes of exceptions that no fault may carry ([MS-RPCE] 3.3.3.5.1)."


class RpcFault(Exception):
    """A call that ends without results, and the status that says why ([MS-RPCE] 2.2.2.8)."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status

    def __str__(self) -> str:
        known = self.status in RpcStatus.__members__.values()
        name = RpcStatus(self.status).name if known else "status"
        return f"{name} 0x{self.status:08X}"
