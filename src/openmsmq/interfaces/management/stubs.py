"""Arguments and results of the interface qmmgmt ([MS-MQMR] 2.2, 3.1.4)."""

from __future__ import annotations

from enum import IntEnum
from typing import Annotated, Any, Final

from openmsmq.interfaces.limits import ACTION_MAX, PROPERTIES_MAX
from openmsmq.interfaces.queue_format import QueueFormatArgument
from openmsmq.interfaces.variants import VariantArgument
from openmsmq.rpc.ndr.kinds import Integer, IntegerArray, NdrArray, Pointer, Union, WideString
from openmsmq.rpc.ndr.structure import IntegerRange, Structure, nested, structure
from openmsmq.rpc.syntax import SyntaxId
from openmsmq.wire.fixed import U16, U32

MANAGEMENT: Final = SyntaxId.of("41208ee0-e970-11d1-9b9e-00e02c064c39", 1)
"The interface ([MS-MQMR] 1.9)."


class ManagedOpnum(IntEnum):
    """Operations of qmmgmt ([MS-MQMR] 3.1.4)."""

    GET_INFO = 0
    ACTION = 1


class ObjectType(IntEnum):
    """MgmtObjectType ([MS-MQMR] 2.2.2.1)."""

    MACHINE = 1
    QUEUE = 2
    SESSION = 3


@structure
class ManagedObject(Structure):
    """MGMT_OBJECT ([MS-MQMR] 2.2.1.2): type and tag have two bytes each."""

    object_type: U16
    value: Annotated[
        Any,
        Union(
            "object_type",
            "H",
            {
                ObjectType.MACHINE: Integer("I"),
                ObjectType.QUEUE: Pointer(nested(QueueFormatArgument)),
                ObjectType.SESSION: Integer("I"),
            },
        ),
    ]


THE_MACHINE: Final = ManagedObject(ObjectType.MACHINE, 0)


@structure
class GetInfo(Structure):
    """R_QMMgmtGetInfo ([MS-MQMR] 3.1.4.1)."""

    managed: ManagedObject
    count: Annotated[int, "I", IntegerRange(1, PROPERTIES_MAX)]
    propids: Annotated[tuple[int, ...], IntegerArray("I", most=PROPERTIES_MAX, size_is="count")]
    values: Annotated[
        tuple[VariantArgument, ...],
        NdrArray(nested(VariantArgument), most=PROPERTIES_MAX, size_is="count"),
    ]


@structure
class GetInfoResults(Structure):
    """What it answers: the values at the places of their properties."""

    values: Annotated[
        tuple[VariantArgument, ...], NdrArray(nested(VariantArgument), most=PROPERTIES_MAX)
    ]
    result: U32


@structure
class ActionArguments(Structure):
    """R_QMMgmtAction ([MS-MQMR] 3.1.4.2): the word travels as a string (MG-35)."""

    managed: ManagedObject
    action: Annotated[str, WideString(most=ACTION_MAX)]


@structure
class ActionResult(Structure):
    """What it answers."""

    result: U32
