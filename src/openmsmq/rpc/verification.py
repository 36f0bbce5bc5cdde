"""The verification trailer behind the arguments of a request ([MS-RPCE] 2.2.2.13)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from openmsmq.errors import Malformed
from openmsmq.rpc.ndr.stream import NdrReader, Order
from openmsmq.rpc.status import RpcFault, RpcStatus
from openmsmq.rpc.syntax import SyntaxId

SIGNATURE: Final = bytes.fromhex("8ae3137102f43671")
BITMASK, PCONTEXT, HEADER2 = 1, 2, 3
_LAST: Final = 0x4000
_MUST_PROCESS: Final = 0x8000
_HEADER_SIGN: Final = 0x1


@dataclass(frozen=True, slots=True)
class ExpectedTrailer:
    """What a trailer has to agree with: the request as it came."""

    interface: SyntaxId
    transfer: SyntaxId
    call_id: int
    context_id: int
    opnum: int
    header_sign: bool
    "The bind offered to sign headers."


def check_trailer(stub: bytes, arguments_end: int, order: Order, expected: ExpectedTrailer) -> None:
    """Refuse a request whose trailer contradicts it; without a trailer there is nothing to check.

    ([MS-RPCE] 2.2.2.13, 3.3.3.5.2)
    """
    at = stub.find(SIGNATURE, arguments_end)
    if at < 0:
        return
    reader = NdrReader(stub, order, at + len(SIGNATURE))
    try:
        while True:
            command = reader.number("H", "command")
            size = reader.number("H", "length")
            value = NdrReader(reader.take(size, "value"), order)
            _check_command(command, value, expected)
            if command & _LAST:
                return
    except Malformed:
        raise RpcFault(RpcStatus.ACCESS_DENIED) from None


def _check_command(command: int, value: NdrReader, expected: ExpectedTrailer) -> None:
    kind = command & 0x3FFF
    if kind == BITMASK:
        signs = bool(value.number("I", "bits") & _HEADER_SIGN)
        agrees = expected.header_sign or not signs
    elif kind == PCONTEXT:
        bound = SyntaxId.decode_from(value), SyntaxId.decode_from(value)
        agrees = bound == (expected.interface, expected.transfer)
    elif kind == HEADER2:
        value.take(8, "ptype, data representation")
        call_id = value.number("I", "call_id")
        ids = call_id, value.number("H", "p_cont_id"), value.number("H", "opnum")
        agrees = ids == (expected.call_id, expected.context_id, expected.opnum)
    else:
        agrees = not command & _MUST_PROCESS
    if not agrees:
        raise RpcFault(RpcStatus.ACCESS_DENIED)
