"""Arguments and results of interfaces that stand beside RemoteRead, declared to try the codec with.

qm2qm ([MS-MQQP]); `rpc_qmcomm` has those of [MS-MQMP].
"""

from __future__ import annotations

from typing import Annotated, Any

from openmsmq.interfaces.limits import PROPERTIES_MAX
from openmsmq.interfaces.management.stubs import GetInfoResults
from openmsmq.interfaces.queue_format import QueueFormatArgument
from openmsmq.interfaces.variants import VariantArgument
from openmsmq.rpc.ndr.kinds import (
    ByteArray,
    IntegerArray,
    NdrArray,
    NdrKind,
    Pointer,
    WideString,
)
from openmsmq.rpc.ndr.structure import ContextHandle, IntegerRange, Structure, nested, structure
from openmsmq.wire.fixed import U8, U16, U32, U64, Guid

MOST = 1 << 16
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


def declared(name: str, **kinds: NdrKind) -> type[Structure]:
    """A structure of fields of these kinds."""
    hints = {field: Annotated[Any, kind] for field, kind in kinds.items()}
    members = {"__annotations__": hints, "__module__": __name__}
    return structure(type(name, (Structure,), members))


Variant = VariantArgument
Variants = Annotated[Any, NdrArray(nested(Variant), most=PROPERTIES_MAX, size_is="count")]
Count = Annotated[int, "I", IntegerRange(1, PROPERTIES_MAX)]
Identifiers = Annotated[tuple[int, ...], IntegerArray("I", most=PROPERTIES_MAX, size_is="count")]


VariantsResult = GetInfoResults

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
