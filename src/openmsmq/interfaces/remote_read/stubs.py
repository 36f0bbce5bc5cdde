"""Arguments and results of the RemoteRead interface ([MS-MQRR] 3.1.4)."""

from __future__ import annotations

from enum import IntEnum
from typing import Annotated, Final

from openmsmq.interfaces.limits import TOKEN_SIZE_MAX
from openmsmq.interfaces.queue_format import QueueFormatArgument
from openmsmq.rpc.limits import RESPONSE_STUB_MAX
from openmsmq.rpc.ndr.kinds import ByteArray, NdrArray, Pointer
from openmsmq.rpc.ndr.structure import ContextHandle, IntegerRange, Structure, nested, structure
from openmsmq.rpc.syntax import SyntaxId
from openmsmq.wire.fixed import I32, U8, U16, U32, U64, Bytes16, Guid

REMOTE_READ: Final = SyntaxId.of("1a9134dd-7b39-45ba-ad88-44d01ca47f28", 1)
"The interface ([MS-MQRR] 1.9)."
PORT: Final = 2103
"The port that R_GetServerPort answers unless another is set ([MS-MQRR] 3.1.4.1)."
INFINITE_MS: Final = 0xFFFFFFFF
"A wait without end."
NO_TRANSACTION: Final = bytes(16)


class ReadOpnum(IntEnum):
    """Operations of RemoteRead ([MS-MQRR] 3.1.4); 1 is not used on the wire."""

    GET_SERVER_PORT = 0
    OPEN_QUEUE = 2
    CLOSE_QUEUE = 3
    CREATE_CURSOR = 4
    CLOSE_CURSOR = 5
    PURGE_QUEUE = 6
    START_RECEIVE = 7
    CANCEL_RECEIVE = 8
    END_RECEIVE = 9
    MOVE_MESSAGE = 10
    OPEN_QUEUE_FOR_MOVE = 11
    ENLIST_REMOTE_TRANSACTION = 12
    START_TRANSACTIONAL_RECEIVE = 13
    SET_USER_ACKNOWLEDGEMENT_CLASS = 14
    END_TRANSACTIONAL_RECEIVE = 15


class SectionType(IntEnum):
    """SectionType ([MS-MQRR] 2.2.7); the two of SRMP are for messages that came over HTTP."""

    FULL_PACKET = 0
    BINARY_FIRST = 1
    BINARY_SECOND = 2
    SRMP_FIRST = 3
    SRMP_SECOND = 4


@structure
class SectionBuffer(Structure):
    """SectionBuffer ([MS-MQRR] 2.2.6)."""

    section_type: U16
    size_allocated: U32
    size: U32
    data: Annotated[bytes | None, Pointer(ByteArray(most=RESPONSE_STUB_MAX, size_is="size"))]


@structure
class NoArguments(Structure):
    """The arguments of R_GetServerPort: none."""


@structure
class Status32(Structure):
    """A result without anything else: an HRESULT, or a port."""

    result: U32


@structure
class OpenArguments(Structure):
    """R_OpenQueue and R_OpenQueueForMove ([MS-MQRR] 3.1.4.2, 3.1.4.11)."""

    queue_format: QueueFormatArgument
    access: U32
    share_mode: U32
    client_id: Guid
    non_routing_server: I32
    major: U8
    minor: U8
    build: U16
    workgroup: I32


@structure
class QueueContextArgument(Structure):
    """A context handle alone: what R_OpenQueue answers, and what most operations ask for."""

    context: ContextHandle


@structure
class ClosedContext(Structure):
    """What R_CloseQueue answers ([MS-MQRR] 3.1.4.3)."""

    context: ContextHandle
    result: U32


@structure
class MoveContext(Structure):
    """What R_OpenQueueForMove answers ([MS-MQRR] 3.1.4.11)."""

    move_context: U64
    context: ContextHandle


@structure
class CreatedCursor(Structure):
    """What R_CreateCursor answers ([MS-MQRR] 3.1.4.4)."""

    cursor: U32
    result: U32


@structure
class CursorContext(Structure):
    """R_CloseCursor ([MS-MQRR] 3.1.4.5)."""

    context: ContextHandle
    cursor: U32


@structure
class StartReceive(Structure):
    """R_StartReceive ([MS-MQRR] 3.1.4.7)."""

    context: ContextHandle
    lookup_id: U64
    cursor: U32
    action: U32
    timeout_ms: U32
    request_id: U32
    max_body_size: U32
    max_compound_message_size: U32


@structure
class StartTransactionalReceive(Structure):
    """R_StartTransactionalReceive ([MS-MQRR] 3.1.4.13)."""

    context: ContextHandle
    lookup_id: U64
    cursor: U32
    action: U32
    timeout_ms: U32
    request_id: U32
    max_body_size: U32
    max_compound_message_size: U32
    transaction_id: Bytes16


@structure
class ReceiveResults(Structure):
    """What both of them answer ([MS-MQRR] 3.1.4.7)."""

    arrive_time: U32
    sequence_id: U64
    count: U32
    sections: Annotated[
        tuple[SectionBuffer, ...] | None,
        Pointer(NdrArray(nested(SectionBuffer), most=2, size_is="count")),
    ]
    result: U32


@structure
class CancelReceive(Structure):
    """R_CancelReceive ([MS-MQRR] 3.1.4.8)."""

    context: ContextHandle
    request_id: U32


@structure
class EndReceive(Structure):
    """R_EndReceive and R_EndTransactionalReceive ([MS-MQRR] 3.1.4.9, 3.1.4.15)."""

    context: ContextHandle
    acknowledge: Annotated[int, "I", IntegerRange(1, 2)]
    request_id: U32


NACK: Final = 1
"The message stays in the queue ([MS-MQRR] 3.1.4.9)."
ACK: Final = 2
"The message was received ([MS-MQRR] 3.1.4.9)."


@structure
class MoveMessage(Structure):
    """R_MoveMessage ([MS-MQRR] 3.1.4.10)."""

    context_from: ContextHandle
    context_to: U64
    lookup_id: U64
    transaction_id: Bytes16


@structure
class EnlistRemoteTransaction(Structure):
    """R_QMEnlistRemoteTransaction ([MS-MQRR] 3.1.4.12)."""

    transaction_id: Bytes16
    token_size: Annotated[int, "I", IntegerRange(0, TOKEN_SIZE_MAX)]
    token: Annotated[bytes, ByteArray(most=TOKEN_SIZE_MAX, size_is="token_size")]
    queue_format: QueueFormatArgument


@structure
class SetUserAcknowledgementClass(Structure):
    """R_SetUserAcknowledgementClass ([MS-MQRR] 3.1.4.14)."""

    context: ContextHandle
    lookup_id: U64
    acknowledgement_class: U16
