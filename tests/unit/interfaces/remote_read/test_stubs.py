"""Arguments and results of RemoteRead, to the byte."""

from __future__ import annotations

import json
from pathlib import Path
from uuid import UUID

import pytest

from openmsmq.errors import Malformed
from openmsmq.interfaces.limits import TOKEN_SIZE_MAX
from openmsmq.interfaces.queue_format import QueueFormatArgument
from openmsmq.interfaces.remote_read.stubs import (
    ACK,
    INFINITE_MS,
    CancelReceive,
    ClosedContext,
    CreatedCursor,
    CursorContext,
    EndReceive,
    EnlistRemoteTransaction,
    MoveContext,
    MoveMessage,
    NoArguments,
    OpenArguments,
    QueueContextArgument,
    ReceiveResults,
    SectionBuffer,
    SetUserAcknowledgementClass,
    StartReceive,
    StartTransactionalReceive,
    Status32,
)
from openmsmq.names.format import parse_format_name
from openmsmq.rpc.ndr.structure import NULL_HANDLE, Structure

VECTORS = json.loads(
    (Path(__file__).parents[3] / "vectors" / "rpc" / "remote-read.json").read_text()
)["vectors"]
HANDLE = UUID("3d1c2b4a-5e6f-4708-9a0b-c1d2e3f40516")
CLIENT = UUID("b0a1c2d3-e4f5-4678-89ab-0123456789ab")
UNIT = bytes.fromhex("3c2d1e0f5a4b78698796a5b4c3d2e1f0")
ORDERS = "DIRECT=OS:server1\\private$\\orders"
GUID = "11223344-5566-7788-99aa-bbccddeeff00"


def opened(name: str, access: int = 1) -> OpenArguments:
    queue_format = QueueFormatArgument.of(parse_format_name(name))
    return OpenArguments(queue_format, access, 0, CLIENT, 1, 6, 1, 0x1DB1, 0)


HELLO = SectionBuffer(0, 5, 5, b"HELLO")
FIRST, SECOND = SectionBuffer(1, 10, 6, b"HHHHbb"), SectionBuffer(2, 4, 4, b"TTTT")
START = (0, 0, 0, 5000, 1, INFINITE_MS, INFINITE_MS)
LOOKUP = (0x0400000000000123, 0, 0x40000020, 0, 2, 1 << 22, 1 << 22)
TRANSACTIONAL = (0, 0, 0, 0, 9, INFINITE_MS, INFINITE_MS, UNIT)
ARRIVED = 0x65000000

STUBS: dict[str, Structure] = {
    "open-direct": opened(ORDERS),
    "open-public": opened(f"PUBLIC={GUID}"),
    "open-private": opened(f"PRIVATE={GUID}\\7"),
    "open-machine": opened(f"MACHINE={GUID};DEADLETTER", 0x20),
    "open-subqueue": opened(f"{ORDERS};retry"),
    "open-reply": QueueContextArgument(HANDLE),
    "close-reply": ClosedContext(NULL_HANDLE, 0),
    "cursor-reply": CreatedCursor(0x11, 0),
    "close-cursor": CursorContext(HANDLE, 0x11),
    "start-first": StartReceive(HANDLE, *START),
    "start-lookup": StartReceive(HANDLE, *LOOKUP),
    "start-reply-one": ReceiveResults(ARRIVED, 0x123, 1, (HELLO,), 0),
    "start-reply-two": ReceiveResults(ARRIVED, 0x123, 2, (FIRST, SECOND), 0),
    "start-reply-timeout": ReceiveResults(0, 0, 0, None, 0xC00E001B),
    "cancel": CancelReceive(HANDLE, 1),
    "end": EndReceive(HANDLE, ACK, 1),
    "move": MoveMessage(HANDLE, 0x8877665544332211, 0x123, UNIT),
    "open-for-move": opened(f"{ORDERS};retry", 4),
    "open-for-move-reply": MoveContext(0x8877665544332211, HANDLE),
    "enlist": EnlistRemoteTransaction(
        UNIT, 6, bytes(range(1, 7)), QueueFormatArgument.of(parse_format_name(ORDERS))
    ),
    "start-transactional": StartTransactionalReceive(HANDLE, *TRANSACTIONAL),
    "set-class": SetUserAcknowledgementClass(HANDLE, 0x0400000000000123, 0xC004),
}


@pytest.mark.parametrize("name", VECTORS)
def test_every_worked_stub_is_written_and_read(name: str) -> None:
    """MQRR-030, MQRR-046"""
    stub = bytes.fromhex(VECTORS[name])
    assert STUBS[name].encode().hex() == stub.hex()
    assert type(STUBS[name]).decode(stub) == STUBS[name]


def test_all_stubs_have_their_vector() -> None:
    assert STUBS.keys() == VECTORS.keys()


@pytest.mark.parametrize("acknowledge", [0, 3, 0xFFFFFFFF])
def test_an_acknowledgement_out_of_its_range_is_malformed(acknowledge: int) -> None:
    """MQRR-026, MQRR-027"""
    stub = EndReceive(HANDLE, acknowledge, 1).encode()
    with pytest.raises(Malformed):
        EndReceive.decode(stub)


def test_a_token_that_is_too_large_is_malformed() -> None:
    """MQRR-028"""
    size = TOKEN_SIZE_MAX + 1
    queue_format = QueueFormatArgument.of(parse_format_name(ORDERS))
    stub = EnlistRemoteTransaction(UNIT, size, bytes(size), queue_format).encode()
    with pytest.raises(Malformed, match="131073 is more than 131072"):
        EnlistRemoteTransaction.decode(stub)


def test_an_operation_may_have_no_arguments() -> None:
    assert NoArguments().encode() == b""
    assert NoArguments.decode(b"trailer") == NoArguments()
    assert Status32(2103).encode().hex() == "37080000"
