"""The verification trailer of requests."""

from __future__ import annotations

from struct import pack

import pytest

from openmsmq.rpc.status import RpcFault, RpcStatus
from openmsmq.rpc.syntax import NDR, SyntaxId
from openmsmq.rpc.verification import SIGNATURE, ExpectedTrailer, check_trailer

INTERFACE = SyntaxId.of("1a9134dd-7b39-45ba-ad88-44d01ca47f28", 1)
EXPECTED = ExpectedTrailer(INTERFACE, NDR, call_id=4, context_id=1, opnum=7, header_sign=True)
EXAMPLE = bytes.fromhex(
    "8ae3137102f43671010004000100000002402800"
    "dd34911a397bba45ad8844d01ca47f2801000000045d888aeb1cc9119fe808002b10486002000000"
)


def command(number: int, value: bytes) -> bytes:
    return SIGNATURE + pack("<HH", number | 0x4000, len(value)) + value


def check(stub: bytes, expected: ExpectedTrailer = EXPECTED, end: int = 0) -> None:
    check_trailer(stub, end, "<", expected)


def test_the_trailer_of_the_first_request_agrees() -> None:
    """MQRR-427"""
    check(b"arg\0" + EXAMPLE)
    check(b"arg\0")
    check(b"arg\0" + b"anything else is tolerated")


def test_what_looks_like_a_trailer_inside_of_the_arguments_is_none() -> None:
    stub = command(2, bytes(40))
    check(stub, end=len(stub))
    with pytest.raises(RpcFault):
        check(stub, end=0)


@pytest.mark.parametrize(
    "trailer",
    [
        command(2, NDR.encode() + NDR.encode()),
        command(2, INTERFACE.encode()),
        command(3, pack("<IIIHH", 0, 0x10, 4, 1, 8)),
        command(3, pack("<IIIHH", 0, 0x10, 5, 1, 7)),
        SIGNATURE,
        SIGNATURE + pack("<HH", 9, 4),
    ],
    ids=["interface", "short", "opnum", "call", "empty", "cut"],
)
def test_a_trailer_that_contradicts_the_request_is_refused(trailer: bytes) -> None:
    """MQRR-427"""
    with pytest.raises(RpcFault) as raised:
        check(trailer)
    assert raised.value.status == RpcStatus.ACCESS_DENIED


def test_the_right_header_agrees() -> None:
    check(command(3, pack("<IIIHH", 0, 0x10, 4, 1, 7)))


def test_a_client_that_signs_headers_said_so_in_its_bind() -> None:
    silent = ExpectedTrailer(INTERFACE, NDR, 4, 1, 7, header_sign=False)
    check(command(1, pack("<I", 0)), silent)
    with pytest.raises(RpcFault):
        check(command(1, pack("<I", 1)), silent)


def test_an_unknown_command_is_refused_if_it_must_be_processed() -> None:
    """MQRR-428"""
    check(command(9, b"1234"))
    with pytest.raises(RpcFault) as raised:
        check(command(9 | 0x8000, b"1234"))
    assert raised.value.status == RpcStatus.ACCESS_DENIED
