"""Arguments and results of qmcomm and qmcomm2 ([MS-MQMP]), declared to try the codec with."""

from __future__ import annotations

from typing import Annotated, Any

from openmsmq.interfaces.limits import PROPERTIES_MAX
from openmsmq.interfaces.management.stubs import ActionArguments, GetInfo
from openmsmq.interfaces.queue_format import ObjectId, QueueFormatArgument
from openmsmq.rpc.ndr.kinds import (
    ByteArray,
    FixedBytes,
    HandleKind,
    Integer,
    IntegerArray,
    NdrArray,
    NdrKind,
    Pointer,
    Union,
    Uuid,
)
from openmsmq.rpc.ndr.structure import ContextHandle, Structure, nested, structure
from openmsmq.wire.fixed import U32, Bytes16, Guid
from tests.strategies.rpc_neighbours import (
    MOST,
    CancelRead,
    Count,
    Handle,
    HandleNumber,
    HandleResult,
    Identifiers,
    Number32,
    OpenRemote,
    QueueFormatPointer,
    StartRead,
    StartRead2,
    StartRead2Result,
    StartReadByLookup,
    StartReadResult,
    Text,
    TextPointer,
    TwoNumbers,
    Variant,
    Variants,
    VariantsResult,
    Version,
    declared,
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


@structure
class OpenRemoteQueue(Structure):
    """R_QMOpenRemoteQueue."""

    queue: QueueFormatPointer
    process: U32
    access: U32
    share: U32
    client: Guid
    platform: U32


@structure
class OpenedRemoteQueue(Structure):
    """What it answers."""

    handle: ContextHandle
    context: U32
    pointer: U32
    queue: U32
    result: U32


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


# CACTransferBuffer ([MS-MQMP] 2.2.3.2, 2.2.3.3)


def placed(target: NdrKind) -> NdrKind:
    """A pointer behind a pointer."""
    return Pointer(nested(declared("Place", place=Pointer(target))))


P1, P2, P4 = (Pointer(Integer(code)) for code in "BHI")
N4 = Integer("I")
VARYING = placed(ByteArray(most=MOST, varying=True))
SIZED = placed(ByteArray(most=MOST))
WIDE_SIZED = placed(IntegerArray("H", most=MOST))
OBJECT_ID = nested(ObjectId)
QUEUE_FORMAT = Pointer(nested(QueueFormatArgument))

SendPart = declared("SendPart", admin=QUEUE_FORMAT, response=QUEUE_FORMAT)
ReceivePart = declared(
    "ReceivePart",
    timeout=N4,
    action=N4,
    asynchronous=N4,
    cursor=N4,
    **{
        field: kind
        for name in ("response", "admin", "destination", "ordering")
        for field, kind in (
            (f"{name}_size", N4),
            (f"{name}_name", WIDE_SIZED),
            (f"{name}_needed", P4),
        )
    },
)
_TRANSFER: dict[str, NdrKind] = {
    "transfer_type": Integer("I", 0, 2),
    "part": Union("transfer_type", "I", {0: nested(SendPart), 1: nested(ReceivePart)}),
    "message_class": P2,
    "message_id": placed(OBJECT_ID),
    "correlation_id": VARYING,
    "sent": P4,
    "arrived": P4,
    "priority": P1,
    "delivery": P1,
    "acknowledge": P1,
    "auditing": P1,
    "application_tag": P4,
    "body": VARYING,
    "body_size": N4,
    "body_allocated": N4,
    "body_needed": P4,
    "title": placed(IntegerArray("H", most=MOST, varying=True)),
    "title_size": N4,
    "title_needed": P4,
    "absolute_time_to_queue": N4,
    "relative_time_to_queue": P4,
    "relative_time_to_live": N4,
    "time_left_to_live": P4,
    "trace": P1,
    "sender_type": P4,
    "sender": SIZED,
    "sender_needed": P4,
    "privacy": P4,
    "authentication_level": N4,
    "authenticated": P1,
    "hash_algorithm": P4,
    "encryption_algorithm": P4,
    "certificate": SIZED,
    "certificate_size": N4,
    "certificate_needed": P4,
    "provider": WIDE_SIZED,
    "provider_size": N4,
    "provider_needed": P4,
    "provider_type": P4,
    "is_default_provider": N4,
    "keys": SIZED,
    "keys_size": N4,
    "keys_needed": P4,
    "is_encrypted": Integer("B"),
    "is_authenticated": Integer("B"),
    "sender_size": Integer("H"),
    "signature": SIZED,
    "signature_size": N4,
    "signature_needed": P4,
    "source": placed(Uuid()),
    "unit": Pointer(FixedBytes(16)),
    "extension": VARYING,
    "extension_size": N4,
    "extension_needed": P4,
    "connector_type": placed(Uuid()),
    "body_type": P4,
    "version": P4,
}
_NEWER: dict[str, NdrKind] = {
    "is_first": P1,
    "is_last": P1,
    "transaction": placed(OBJECT_ID),
}
TransferBuffer1 = declared("TransferBuffer1", **_TRANSFER)
TransferBuffer2 = declared("TransferBuffer2", **_TRANSFER, **_NEWER)
OLD, NEW = nested(TransferBuffer1), nested(TransferBuffer2)
HANDLE, MESSAGE_ID = HandleKind(), Pointer(OBJECT_ID)

STUBS: dict[tuple[str, str], type[Structure]] = {
    ("R_QMCreateRemoteCursor", "request"): declared("CreateCursor", buffer=OLD, queue=N4),
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
    ("RemoteQMGetQMQMServerPort", "request"): Number32,
    ("RemoteQMGetQMQMServerPort", "response"): Number32,
    ("RemoteQmGetVersion", "response"): Version,
    ("RemoteQMOpenQueue", "request"): OpenRemote,
    ("RemoteQMOpenQueue", "response"): HandleResult,
    ("RemoteQMStartReceive", "request"): StartRead,
    ("RemoteQMStartReceive", "response"): StartReadResult,
    ("RemoteQMStartReceive2", "request"): StartRead2,
    ("RemoteQMStartReceive2", "response"): StartRead2Result,
    ("RemoteQMStartReceiveByLookupId", "request"): StartReadByLookup,
    ("RemoteQMStartReceiveByLookupId", "response"): StartRead2Result,
    ("RemoteQMEndReceive", "request"): HandleNumber,
    ("RemoteQMEndReceive", "response"): HandleResult,
    ("RemoteQMCancelReceive", "request"): CancelRead,
    ("RemoteQMCloseCursor", "request"): TwoNumbers,
    ("RemoteQMPurgeQueue", "request"): Number32,
    ("RemoteQMCloseQueue", "request"): Handle,
    ("RemoteQMCloseQueue", "response"): HandleResult,
    ("R_QMGetRemoteQueueName", "request"): GetRemoteName,
    ("R_QMOpenRemoteQueue", "request"): OpenRemoteQueue,
    ("R_QMOpenRemoteQueue", "response"): OpenedRemoteQueue,
    ("R_QMCloseRemoteQueueContext", "request"): Handle,
    ("R_QMCloseRemoteQueueContext", "response"): Handle,
    ("R_QMCreateRemoteCursor", "response"): TwoNumbers,
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
    ("R_QMGetRTQMServerPort", "request"): Number32,
    ("R_QMGetRTQMServerPort", "response"): Number32,
}
"The structure of each stub."
