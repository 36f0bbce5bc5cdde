"""QUEUE_FORMAT as an argument of remote calls ([MS-MQMQ] 2.2.7)."""

from __future__ import annotations

from typing import Annotated, Any, Final, Self
from uuid import UUID

from openmsmq.interfaces.limits import NAME_MAX
from openmsmq.names.base import FormatName
from openmsmq.names.queue_format import QueueFormat, QueueFormatType
from openmsmq.rpc.ndr.kinds import NdrKind, Pointer, Union, Uuid, WideString
from openmsmq.rpc.ndr.structure import Structure, nested, structure
from openmsmq.wire.fixed import U8, U16, U32, Guid

_NAME: Final = Pointer(WideString(most=NAME_MAX))


@structure
class ObjectId(Structure):
    """OBJECTID ([MS-MQMQ] 2.2.8)."""

    lineage: Guid
    uniquifier: U32


@structure
class DistributionListId(Structure):
    """DL_ID ([MS-MQMQ] 2.2.9)."""

    guid: Guid
    domain: Annotated[str | None, _NAME]


@structure
class MulticastId(Structure):
    """MULTICAST_ID ([MS-MQMQ] 2.2.10)."""

    address: U32
    port: U32


ARMS: Final[dict[int, NdrKind | None]] = {
    QueueFormatType.UNKNOWN: None,
    QueueFormatType.PUBLIC: Uuid(),
    QueueFormatType.PRIVATE: nested(ObjectId),
    QueueFormatType.DIRECT: _NAME,
    QueueFormatType.MACHINE: Uuid(),
    QueueFormatType.CONNECTOR: Uuid(),
    QueueFormatType.DL: nested(DistributionListId),
    QueueFormatType.MULTICAST: nested(MulticastId),
    QueueFormatType.SUBQUEUE: _NAME,
}


@structure
class QueueFormatArgument(Structure):
    """QUEUE_FORMAT: the union's tag repeats m_qft, and there is no default arm."""

    format_type: U8
    suffix_and_flags: U8
    reserved: U16
    value: Annotated[Any, Union("format_type", "B", ARMS)]

    @classmethod
    def of(cls, name: FormatName) -> Self:
        """The argument that names a queue."""
        found = QueueFormat.of(name)
        value: Any = found.value
        match found.format_type, value:
            case QueueFormatType.PRIVATE, (UUID() as guid, int(number)):
                value = ObjectId(guid, number)
            case QueueFormatType.DL, (UUID() as guid, domain):
                value = DistributionListId(guid, domain)
            case QueueFormatType.MULTICAST, (int(address), int(port)):
                value = MulticastId(address, port)
        return cls(found.format_type, found.suffix_and_flags, 0, value)

    def queue_format(self) -> QueueFormat:
        """What it says, whether it makes sense or not."""
        value = self.value
        match value:
            case ObjectId():
                value = value.lineage, value.uniquifier
            case DistributionListId():
                value = value.guid, value.domain
            case MulticastId():
                value = value.address, value.port
        return QueueFormat(self.format_type, self.suffix_and_flags, value)
