"""Arguments and results of interfaces that stand beside RemoteRead, declared to try the codec with.

qmmgmt ([MS-MQMR]), qm2qm ([MS-MQQP]) and qmcomm ([MS-MQMP]), the latter without its calls that
carry a transfer buffer.
"""

from __future__ import annotations

from typing import Annotated, Any

from openmsmq.interfaces.queue_format import QueueFormatArgument
from openmsmq.rpc.ndr.kinds import (
    ByteArray,
    Integer,
    IntegerArray,
    NdrArray,
    NdrKind,
    Pointer,
    Union,
    Uuid,
    WideString,
)
from openmsmq.rpc.ndr.structure import ContextHandle, IntegerRange, Structure, nested, structure
from openmsmq.wire.fixed import U8, U16, U32, U64, Bytes16, Guid

MOST = 1 << 16
PROPERTIES_MAX = 128
Text = Annotated[str, WideString(most=MOST)]
TextPointer = Annotated[str | None, Pointer(WideString(most=MOST))]
QueueFormatPointer = Annotated[Any, Pointer(nested(QueueFormatArgument))]


@structure
class Number32(Structure):
    """One number, or a result alone."""

    number: U32


@structure
class Handle(Structure):
    """A context handle."""

    handle: ContextHandle


@structure
class HandleResult(Structure):
    """A context handle and a result."""

    handle: ContextHandle
    result: U32


@structure
class HandleNumber(Structure):
    """A context handle and a number."""

    handle: ContextHandle
    number: U32


# PROPVARIANT ([MS-MQMQ] 2.2.12 to 2.2.17)


def vector(elements: NdrKind) -> NdrKind:
    """A counted vector, as arms of the union have it."""

    hints = {"count": U32, "elements": Annotated[Any, Pointer(elements)]}
    members = {"__annotations__": hints, "__module__": __name__}
    return nested(structure(type("Vector", (Structure,), members)))


def _array(element: NdrKind) -> NdrArray:
    return NdrArray(element, most=MOST, size_is="count")


ARMS: dict[int, NdrKind | None] = {
    0x00: None,
    0x01: None,
    0x02: Integer("h"),
    0x03: Integer("i"),
    0x0B: Integer("H"),
    0x11: Integer("B"),
    0x12: Integer("H"),
    0x13: Integer("I"),
    0x14: Integer("q"),
    0x15: Integer("Q"),
    0x1F: Pointer(WideString(most=MOST)),
    0x41: vector(ByteArray(most=MOST, size_is="count")),
    0x48: Pointer(Uuid()),
    0x1003: vector(IntegerArray("i", most=MOST, size_is="count")),
    0x1011: vector(IntegerArray("B", most=MOST, size_is="count")),
    0x1012: vector(IntegerArray("H", most=MOST, size_is="count")),
    0x1013: vector(IntegerArray("I", most=MOST, size_is="count")),
    0x1015: vector(IntegerArray("Q", most=MOST, size_is="count")),
    0x101F: vector(_array(Pointer(WideString(most=MOST)))),
    0x1048: vector(_array(Uuid())),
}


@structure
class Variant(Structure):
    """PROPVARIANT."""

    kind: U16
    reserved1: U8
    reserved2: U8
    reserved3: U32
    value: Annotated[Any, Union("kind", "H", ARMS)]


ARMS[0x100C] = vector(_array(nested(Variant)))
Variants = Annotated[Any, NdrArray(nested(Variant), most=PROPERTIES_MAX, size_is="count")]
Count = Annotated[int, "I", IntegerRange(1, PROPERTIES_MAX)]
Identifiers = Annotated[tuple[int, ...], IntegerArray("I", most=PROPERTIES_MAX, size_is="count")]


@structure
class VariantsResult(Structure):
    """Values, and a result."""

    values: Annotated[Any, NdrArray(nested(Variant), most=PROPERTIES_MAX)]
    result: U32


# qmmgmt


@structure
class ManagedObject(Structure):
    """MGMT_OBJECT."""

    kind: U16
    value: Annotated[
        Any,
        Union(
            "kind",
            "H",
            {1: Integer("I"), 2: Pointer(nested(QueueFormatArgument)), 3: Integer("I")},
        ),
    ]


@structure
class GetInfo(Structure):
    """R_QMMgmtGetInfo."""

    managed: ManagedObject
    count: Count
    identifiers: Identifiers
    values: Variants


@structure
class Action(Structure):
    """R_QMMgmtAction."""

    managed: ManagedObject
    action: Text


# qm2qm


@structure
class Version(Structure):
    """RemoteQmGetVersion."""

    major: U8
    minor: U8
    build: U16


@structure
class OpenRemote(Structure):
    """RemoteQMOpenQueue."""

    client: Guid
    platform: U32
    queue: U32
    pointer: U32
    context: U32


@structure
class ReadDescription(Structure):
    """REMOTEREADDESC."""

    queue: U32
    cursor: U32
    action: U32
    timeout: U32
    size: U32
    own_queue: U32
    request: U32
    reserved: U32
    arrived: U32
    acknowledge: U16
    data: Annotated[
        bytes | None, Pointer(ByteArray(most=1 << 22, size_is="size", length_is="size"))
    ]


@structure
class ReadDescription2(Structure):
    """REMOTEREADDESC2."""

    description: Annotated[Any, Pointer(nested(ReadDescription))]
    sequence: U64


@structure
class StartRead(Structure):
    """RemoteQMStartReceive."""

    description: ReadDescription


@structure
class StartReadResult(Structure):
    """What it answers."""

    handle: ContextHandle
    description: ReadDescription
    result: U32


@structure
class StartRead2(Structure):
    """RemoteQMStartReceive2."""

    description: ReadDescription2


@structure
class StartRead2Result(Structure):
    """What it and the next answer."""

    handle: ContextHandle
    description: ReadDescription2
    result: U32


@structure
class StartReadByLookup(Structure):
    """RemoteQMStartReceiveByLookupId."""

    lookup: U64
    description: ReadDescription2


@structure
class CancelRead(Structure):
    """RemoteQMCancelReceive."""

    queue: U32
    pointer: U32
    request: U32


@structure
class TwoNumbers(Structure):
    """Two numbers, or one and a result."""

    first: U32
    second: U32


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


STUBS: dict[tuple[str, str], type[Structure]] = {
    ("R_QMMgmtGetInfo", "request"): GetInfo,
    ("R_QMMgmtGetInfo", "response"): VariantsResult,
    ("R_QMMgmtAction", "request"): Action,
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
