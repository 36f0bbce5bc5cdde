"""Arguments and results of qmcomm and qmcomm2 ([MS-MQMP] 2.2, 3.1.4, 3.1.5).

Those that every host has are with `interfaces.qm2qm`.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Annotated, Any, Final

from openmsmq.interfaces.limits import (
    DESCRIPTOR_SIZE_MAX,
    NAME_MAX,
    PROPERTIES_MAX,
    TOKEN_SIZE_MAX,
)
from openmsmq.interfaces.qm2qm.transfer_buffer import TransferBuffer2
from openmsmq.interfaces.queue_format import ObjectId, QueueFormatArgument
from openmsmq.interfaces.variants import VariantArgument
from openmsmq.rpc.ndr.kinds import (
    ByteArray,
    FullPointer,
    IntegerArray,
    NdrArray,
    NdrKind,
    Pointer,
    Union,
    WideString,
)
from openmsmq.rpc.ndr.structure import ContextHandle, IntegerRange, Structure, nested, structure
from openmsmq.rpc.syntax import SyntaxId
from openmsmq.wire.fixed import U32, Bytes16, Guid

QMCOMM2: Final = SyntaxId.of("76d12b80-3467-11d3-91ff-0090272f9ea3", 1)
"Messages for clients without a queue manager ([MS-MQMP] 1.9)."
QUEUE: Final = 1
"ObjType and dwObjectType of a queue ([MS-MQMP] 2.2.3.5)."
_BUFFER: Final[NdrKind] = nested(TransferBuffer2)
Text = Annotated[str, WideString(most=NAME_MAX)]
TextPointer = Annotated[str | None, Pointer(WideString(most=NAME_MAX))]
DescriptorSize = Annotated[int, "I", IntegerRange(0, DESCRIPTOR_SIZE_MAX)]
Descriptor = Annotated[
    bytes | None,
    Pointer(ByteArray(most=DESCRIPTOR_SIZE_MAX, size_is="size"), sizes_null=True),
]
Count = Annotated[int, "I", IntegerRange(1, PROPERTIES_MAX)]
_PROPIDS: Final = IntegerArray("I", most=PROPERTIES_MAX, size_is="count")
_VALUES: Final = NdrArray(nested(VariantArgument), most=PROPERTIES_MAX, size_is="count")
MessageId = Annotated[ObjectId | None, Pointer(nested(ObjectId))]


class Opnum(IntEnum):
    """Operations of qmcomm that only a supporting server has ([MS-MQMP] 3.1.4)."""

    GET_REMOTE_QUEUE_NAME = 1
    CREATE_OBJECT = 6
    SET_OBJECT_SECURITY = 7
    GET_OBJECT_SECURITY = 8
    DELETE_OBJECT = 9
    GET_OBJECT_PROPERTIES = 10
    SET_OBJECT_PROPERTIES = 11
    PATH_TO_FORMAT = 12
    GET_WHEREABOUTS = 14
    ENLIST = 15
    ENLIST_INTERNAL = 16
    COMMIT = 17
    ABORT = 18
    OPEN_QUEUE = 19
    CLOSE_HANDLE = 20
    CLOSE_CURSOR = 22
    SET_CURSOR_PROPERTIES = 23
    HANDLE_TO_FORMAT_NAME = 26
    PURGE_QUEUE = 27
    QUERY_REGISTRY = 28


class MessageOpnum(IntEnum):
    """Operations of qmcomm2 ([MS-MQMP] 3.1.5)."""

    SEND_INTERNAL = 0
    SEND = 1
    RECEIVE = 2
    CREATE_CURSOR = 3


@structure
class Status(Structure):
    """An HRESULT alone."""

    result: U32


@structure
class NamePlace(Structure):
    """Where a name is put."""

    name: TextPointer


NamePointer = Annotated[NamePlace | None, FullPointer(nested(NamePlace))]
"A pointer behind a pointer: the outer one may be NULL, too (SS-09)."


@structure
class RemoteName(Structure):
    """R_QMGetRemoteQueueName ([MS-MQMP] 3.1.4.1)."""

    queue: U32
    name: NamePointer


@structure
class ObjectFormat(Structure):
    """OBJECT_FORMAT ([MS-MQMP] 2.2.3.5): there is no arm but that of queues."""

    object_type: Annotated[int, "I", IntegerRange(1, 2)]
    value: Annotated[Any, Union("object_type", "I", {QUEUE: Pointer(nested(QueueFormatArgument))})]


@structure
class CreateObject(Structure):
    """R_QMCreateObjectInternal ([MS-MQMP] 3.1.4.5)."""

    object_type: U32
    path: Text
    size: DescriptorSize
    descriptor: Descriptor
    count: Count
    propids: Annotated[tuple[int, ...], _PROPIDS]
    values: Annotated[tuple[VariantArgument, ...], _VALUES]


@structure
class SetSecurity(Structure):
    """R_QMSetObjectSecurityInternal ([MS-MQMP] 3.1.4.6)."""

    target: ObjectFormat
    information: U32
    size: DescriptorSize
    descriptor: Descriptor


@structure
class GetSecurity(Structure):
    """R_QMGetObjectSecurityInternal ([MS-MQMP] 3.1.4.7)."""

    target: ObjectFormat
    information: U32
    size: DescriptorSize


@structure
class SizedBytes(Structure):
    """As many bytes as the caller has room for, how many there are, and an HRESULT."""

    data: Annotated[bytes, ByteArray(most=DESCRIPTOR_SIZE_MAX)]
    needed: U32
    result: U32

    @classmethod
    def of(cls, data: bytes, needed: int, room: int, result: int) -> SizedBytes:
        """Always as many bytes as there is room for ([MS-MQMP] 3.1.4.7, 3.1.4.12)."""
        return cls(data[:room].ljust(room, b"\0"), needed, result)


@structure
class Target(Structure):
    """An object alone: R_QMDeleteObject ([MS-MQMP] 3.1.4.8)."""

    target: ObjectFormat


@structure
class GetProperties(Structure):
    """R_QMGetObjectProperties ([MS-MQMP] 3.1.4.9)."""

    target: ObjectFormat
    count: Count
    propids: Annotated[tuple[int, ...], _PROPIDS]
    values: Annotated[tuple[VariantArgument, ...], _VALUES]


@structure
class SetProperties(Structure):
    """R_QMSetObjectProperties ([MS-MQMP] 3.1.4.10): both arrays lie behind pointers."""

    target: ObjectFormat
    count: Count
    propids: Annotated[tuple[int, ...] | None, Pointer(_PROPIDS, sizes_null=True)]
    values: Annotated[tuple[VariantArgument, ...] | None, Pointer(_VALUES, sizes_null=True)]


@structure
class PathToFormat(Structure):
    """R_QMObjectPathToObjectFormat ([MS-MQMP] 3.1.4.11)."""

    path: Text
    target: ObjectFormat


@structure
class FormatResult(Structure):
    """What it answers."""

    target: ObjectFormat
    result: U32


@structure
class GetWhereabouts(Structure):
    """R_QMGetTmWhereabouts ([MS-MQMP] 3.1.4.12)."""

    size: Annotated[int, "I", IntegerRange(0, TOKEN_SIZE_MAX)]


@structure
class Enlist(Structure):
    """R_QMEnlistTransaction ([MS-MQMP] 3.1.4.13)."""

    unit: Bytes16
    size: Annotated[int, "I", IntegerRange(0, TOKEN_SIZE_MAX)]
    cookie: Annotated[bytes, ByteArray(most=TOKEN_SIZE_MAX, size_is="size")]


@structure
class EnlistInternal(Structure):
    """R_QMEnlistInternalTransaction ([MS-MQMP] 3.1.4.14)."""

    unit: Bytes16


@structure
class OpenInternal(Structure):
    """rpc_QMOpenQueueInternal ([MS-MQMP] 3.1.4.17)."""

    queue_format: QueueFormatArgument
    access: U32
    share_mode: U32
    remote_queue: U32
    remote_name: NamePointer
    remote_pointer: U32
    licence: Guid
    client_name: Text
    remote_protocol: U32
    remote_context: U32


@structure
class OpenedQueue(Structure):
    """What it answers."""

    remote_name: NamePointer
    context: U32
    handle: ContextHandle
    result: U32


@structure
class HandleCursor(Structure):
    """rpc_ACCloseCursor ([MS-MQMP] 3.1.4.19)."""

    handle: ContextHandle
    cursor: U32


@structure
class CursorProperties(Structure):
    """rpc_ACSetCursorProperties ([MS-MQMP] 3.1.4.20)."""

    handle: ContextHandle
    cursor: U32
    remote_cursor: U32


@structure
class NameOfHandle(Structure):
    """rpc_ACHandleToFormatName ([MS-MQMP] 3.1.4.21)."""

    handle: ContextHandle
    size: DescriptorSize
    name: Annotated[
        tuple[int, ...] | None,
        Pointer(
            IntegerArray("H", most=DESCRIPTOR_SIZE_MAX, size_is="size", length_is="size"),
            sizes_null=True,
        ),
    ]
    needed: U32


@structure
class NameResult(Structure):
    """What it answers: as many characters as there was room for."""

    name: Annotated[
        tuple[int, ...] | None, Pointer(IntegerArray("H", most=DESCRIPTOR_SIZE_MAX, varying=True))
    ]
    needed: U32
    result: U32


@structure
class RegistryResult(Structure):
    """What R_QMQueryQMRegistryInternal answers ([MS-MQMP] 3.1.4.23)."""

    text: TextPointer
    result: U32


# qmcomm2


@structure
class SendInternal(Structure):
    """QMSendMessageInternalEx ([MS-MQMP] 3.1.5.1)."""

    queue_format: QueueFormatArgument
    buffer: Annotated[Any, _BUFFER]
    message_id: MessageId


@structure
class SendMessage(Structure):
    """rpc_ACSendMessageEx ([MS-MQMP] 3.1.5.2)."""

    handle: ContextHandle
    buffer: Annotated[Any, _BUFFER]
    message_id: MessageId


@structure
class SentBuffer(Structure):
    """What both answer."""

    message_id: MessageId
    result: U32


@structure
class ReceiveMessage(Structure):
    """rpc_ACReceiveMessageEx ([MS-MQMP] 3.1.5.3): there is no context handle."""

    context: U32
    buffer: Annotated[Any, _BUFFER]


@structure
class ReceivedBuffer(Structure):
    """What it answers."""

    buffer: Annotated[Any, _BUFFER]
    result: U32


@structure
class CreateCursor(Structure):
    """rpc_ACCreateCursorEx ([MS-MQMP] 3.1.5.4): the numbers mean nothing."""

    handle: ContextHandle
    cursor: U32
    server_queue: U32
    client_queue: U32


@structure
class CursorNumbers(Structure):
    """What it answers."""

    cursor: U32
    server_queue: U32
    client_queue: U32
    result: U32
