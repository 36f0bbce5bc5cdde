"""Arguments and results of qmcomm and qmcomm2 ([MS-MQMP]), declared to try the codec with."""

from __future__ import annotations

from typing import Annotated, Any

from openmsmq.interfaces.limits import PROPERTIES_MAX
from openmsmq.interfaces.management.stubs import ActionArguments, GetInfo
from openmsmq.interfaces.qm2qm import stubs
from openmsmq.interfaces.qm2qm.transfer_buffer import FIELDS, declared, placed
from openmsmq.interfaces.queue_format import ObjectId, QueueFormatArgument
from openmsmq.rpc.ndr.kinds import (
    ByteArray,
    HandleKind,
    Integer,
    IntegerArray,
    NdrArray,
    NdrKind,
    Pointer,
    Union,
)
from openmsmq.rpc.ndr.structure import ContextHandle, Structure, nested, structure
from openmsmq.wire.fixed import U32, Bytes16, Guid
from tests.strategies.rpc_neighbours import (
    MOST,
    Count,
    Handle,
    HandleNumber,
    HandleResult,
    Identifiers,
    Number32,
    Text,
    TextPointer,
    Variant,
    Variants,
    VariantsResult,
)

# qmcomm


@structure
class NamePlace(Structure):
    """Where a name is put: a pointer behind a pointer."""

    name: TextPointer


NamePointer = Annotated[Any, Pointer(nested(NamePlace))]


@structure
class GetRemoteName(Structure):
    """R_QMGetRemoteQueueName."""

    queue: U32
    name: NamePointer


Descriptor = Annotated[bytes | None, Pointer(ByteArray(most=MOST, size_is="size"))]


@structure
class CreateObject(Structure):
    """R_QMCreateObjectInternal."""

    kind: U32
    path: Text
    size: U32
    descriptor: Descriptor
    count: Count
    identifiers: Identifiers
    values: Variants


@structure
class ObjectFormat(Structure):
    """OBJECT_FORMAT."""

    kind: U32
    value: Annotated[Any, Union("kind", "I", {1: Pointer(nested(QueueFormatArgument))})]


@structure
class SetSecurity(Structure):
    """R_QMSetObjectSecurityInternal."""

    target: ObjectFormat
    information: U32
    size: U32
    descriptor: Descriptor


@structure
class GetSecurity(Structure):
    """R_QMGetObjectSecurityInternal."""

    target: ObjectFormat
    information: U32
    size: U32


@structure
class Bytes(Structure):
    """Bytes, how many are needed, and a result."""

    data: Annotated[bytes, ByteArray(most=MOST)]
    needed: U32
    result: U32


@structure
class DeleteObject(Structure):
    """R_QMDeleteObject."""

    target: ObjectFormat


@structure
class GetProperties(Structure):
    """R_QMGetObjectProperties."""

    target: ObjectFormat
    count: Count
    identifiers: Identifiers
    values: Variants


@structure
class SetProperties(Structure):
    """R_QMSetObjectProperties: both arrays are behind pointers."""

    target: ObjectFormat
    count: Count
    identifiers: Annotated[Any, Pointer(IntegerArray("I", most=PROPERTIES_MAX, size_is="count"))]
    values: Annotated[Any, Pointer(NdrArray(nested(Variant), most=PROPERTIES_MAX, size_is="count"))]


@structure
class PathToFormat(Structure):
    """R_QMObjectPathToObjectFormat."""

    path: Text
    target: ObjectFormat


@structure
class FormatResult(Structure):
    """What it answers."""

    target: ObjectFormat
    result: U32


@structure
class Enlist(Structure):
    """R_QMEnlistTransaction."""

    unit: Bytes16
    size: U32
    cookie: Annotated[bytes, ByteArray(most=MOST, size_is="size")]


@structure
class EnlistInternal(Structure):
    """R_QMEnlistInternalTransaction."""

    unit: Bytes16


@structure
class OpenInternal(Structure):
    """rpc_QMOpenQueueInternal."""

    queue: QueueFormatArgument
    access: U32
    share: U32
    remote_queue: U32
    remote_name: NamePointer
    pointer: U32
    client: Guid
    name: Text
    protocol: U32
    context: U32


@structure
class OpenedInternal(Structure):
    """What it answers."""

    remote_name: NamePointer
    context: U32
    handle: ContextHandle
    result: U32


@structure
class CursorProperties(Structure):
    """rpc_ACSetCursorProperties."""

    handle: ContextHandle
    cursor: U32
    remote_cursor: U32


@structure
class NameOfHandle(Structure):
    """rpc_ACHandleToFormatName."""

    handle: ContextHandle
    size: U32
    name: Annotated[Any, Pointer(IntegerArray("H", most=MOST, size_is="size", length_is="size"))]
    needed: U32


@structure
class NameResult(Structure):
    """What it answers: as many characters as there was room for."""

    name: Annotated[Any, Pointer(IntegerArray("H", most=MOST, varying=True))]
    needed: U32
    result: U32


@structure
class RegistryResult(Structure):
    """What R_QMQueryQMRegistryInternal answers."""

    text: TextPointer
    result: U32


# CACTransferBuffer ([MS-MQMP] 2.2.3.3)

N4 = Integer("I")
OBJECT_ID = nested(ObjectId)
_NEWER: dict[str, NdrKind] = {
    "is_first": Pointer(Integer("B")),
    "is_last": Pointer(Integer("B")),
    "transaction": placed(OBJECT_ID),
}
TransferBuffer2 = declared("TransferBuffer2", **FIELDS, **_NEWER)
NEW = nested(TransferBuffer2)
HANDLE, MESSAGE_ID = HandleKind(), Pointer(OBJECT_ID)

STUBS: dict[tuple[str, str], type[Structure]] = {
    ("R_QMCreateRemoteCursor", "request"): stubs.CreateRemoteCursor,
    ("rpc_ACSendMessageEx", "request"): declared(
        "SendMessage", handle=HANDLE, buffer=NEW, message_id=MESSAGE_ID
    ),
    ("rpc_ACSendMessageEx", "response"): declared("Sent", message_id=MESSAGE_ID, result=N4),
    ("rpc_ACReceiveMessageEx", "request"): declared("ReceiveMessage", context=N4, buffer=NEW),
    ("rpc_ACReceiveMessageEx", "response"): declared("Received", buffer=NEW, result=N4),
    ("rpc_ACCreateCursorEx", "request"): declared(
        "CreateCursor2", handle=HANDLE, cursor=N4, server_queue=N4, client_queue=N4
    ),
    ("rpc_ACCreateCursorEx", "response"): declared(
        "CreatedCursor2", cursor=N4, server_queue=N4, client_queue=N4, result=N4
    ),
    ("QMSendMessageInternalEx", "request"): declared(
        "SendInternal",
        queue=nested(QueueFormatArgument),
        buffer=NEW,
        message_id=MESSAGE_ID,
    ),
    ("QMSendMessageInternalEx", "response"): declared("Sent2", message_id=MESSAGE_ID, result=N4),
    ("R_QMMgmtGetInfo", "request"): GetInfo,
    ("R_QMMgmtGetInfo", "response"): VariantsResult,
    ("R_QMMgmtAction", "request"): ActionArguments,
    ("R_QMMgmtAction", "response"): Number32,
    ("RemoteQMGetQMQMServerPort", "request"): stubs.PortType,
    ("RemoteQMGetQMQMServerPort", "response"): stubs.OneNumber,
    ("RemoteQmGetVersion", "response"): stubs.VersionResult,
    ("RemoteQMOpenQueue", "request"): stubs.OpenSession,
    ("RemoteQMOpenQueue", "response"): stubs.HandleResult,
    ("RemoteQMStartReceive", "request"): stubs.StartRead,
    ("RemoteQMStartReceive", "response"): stubs.StartReadResult,
    ("RemoteQMStartReceive2", "request"): stubs.StartRead2,
    ("RemoteQMStartReceive2", "response"): stubs.StartRead2Result,
    ("RemoteQMStartReceiveByLookupId", "request"): stubs.StartReadByLookup,
    ("RemoteQMStartReceiveByLookupId", "response"): stubs.StartRead2Result,
    ("RemoteQMEndReceive", "request"): stubs.EndRead,
    ("RemoteQMEndReceive", "response"): stubs.HandleResult,
    ("RemoteQMCancelReceive", "request"): stubs.CancelRead,
    ("RemoteQMCloseCursor", "request"): stubs.TwoNumbers,
    ("RemoteQMPurgeQueue", "request"): stubs.OneNumber,
    ("RemoteQMCloseQueue", "request"): stubs.HandleArgument,
    ("RemoteQMCloseQueue", "response"): stubs.HandleResult,
    ("R_QMGetRemoteQueueName", "request"): GetRemoteName,
    ("R_QMOpenRemoteQueue", "request"): stubs.OpenRemoteQueue,
    ("R_QMOpenRemoteQueue", "response"): stubs.OpenedRemoteQueue,
    ("R_QMCloseRemoteQueueContext", "request"): stubs.HandleArgument,
    ("R_QMCloseRemoteQueueContext", "response"): stubs.HandleArgument,
    ("R_QMCreateRemoteCursor", "response"): stubs.TwoNumbers,
    ("R_QMCreateObjectInternal", "request"): CreateObject,
    ("R_QMCreateObjectInternal", "response"): Number32,
    ("R_QMSetObjectSecurityInternal", "request"): SetSecurity,
    ("R_QMGetObjectSecurityInternal", "request"): GetSecurity,
    ("R_QMGetObjectSecurityInternal", "response"): Bytes,
    ("R_QMDeleteObject", "request"): DeleteObject,
    ("R_QMGetObjectProperties", "request"): GetProperties,
    ("R_QMGetObjectProperties", "response"): VariantsResult,
    ("R_QMSetObjectProperties", "request"): SetProperties,
    ("R_QMObjectPathToObjectFormat", "request"): PathToFormat,
    ("R_QMObjectPathToObjectFormat", "response"): FormatResult,
    ("R_QMGetTmWhereabouts", "request"): Number32,
    ("R_QMGetTmWhereabouts", "response"): Bytes,
    ("R_QMEnlistTransaction", "request"): Enlist,
    ("R_QMEnlistInternalTransaction", "request"): EnlistInternal,
    ("R_QMEnlistInternalTransaction", "response"): HandleResult,
    ("R_QMCommitTransaction", "request"): Handle,
    ("R_QMCommitTransaction", "response"): HandleResult,
    ("R_QMAbortTransaction", "request"): Handle,
    ("rpc_QMOpenQueueInternal", "request"): OpenInternal,
    ("rpc_QMOpenQueueInternal", "response"): OpenedInternal,
    ("rpc_ACCloseHandle", "request"): Handle,
    ("rpc_ACCloseHandle", "response"): HandleResult,
    ("rpc_ACCloseCursor", "request"): HandleNumber,
    ("rpc_ACSetCursorProperties", "request"): CursorProperties,
    ("rpc_ACHandleToFormatName", "request"): NameOfHandle,
    ("rpc_ACHandleToFormatName", "response"): NameResult,
    ("rpc_ACPurgeQueue", "request"): Handle,
    ("R_QMQueryQMRegistryInternal", "request"): Number32,
    ("R_QMQueryQMRegistryInternal", "response"): RegistryResult,
    ("R_QMGetRTQMServerPort", "request"): stubs.OneNumber,
    ("R_QMGetRTQMServerPort", "response"): stubs.OneNumber,
}
"The structure of each stub."
