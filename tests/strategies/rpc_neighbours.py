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
    IntegerArray,
    NdrArray,
    Pointer,
    WideString,
)
from openmsmq.rpc.ndr.structure import ContextHandle, IntegerRange, Structure, nested, structure
from openmsmq.wire.fixed import U32

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


Variant = VariantArgument
Variants = Annotated[Any, NdrArray(nested(Variant), most=PROPERTIES_MAX, size_is="count")]
Count = Annotated[int, "I", IntegerRange(1, PROPERTIES_MAX)]
Identifiers = Annotated[tuple[int, ...], IntegerArray("I", most=PROPERTIES_MAX, size_is="count")]


VariantsResult = GetInfoResults
