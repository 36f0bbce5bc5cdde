"""Format names as remote calls carry them: QUEUE_FORMAT ([MS-MQMQ] 2.2.7)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import IntEnum
from ipaddress import IPv4Address
from typing import Final, Self, TypeAlias
from uuid import UUID

from openmsmq.errors import IllegalFormatName
from openmsmq.limits import U32_MAX
from openmsmq.names.base import FormatName
from openmsmq.names.direct import DirectName
from openmsmq.names.format import (
    ConnectorName,
    DistributionListName,
    MachineName,
    MulticastName,
    PrivateName,
    PublicName,
)
from openmsmq.names.parts import Suffix

UnionValue: TypeAlias = (
    UUID | str | tuple[UUID, int] | tuple[UUID, str | None] | tuple[int, int] | None
)
"""By type: nothing; a GUID; a direct name without `DIRECT=`; OBJECTID ([MS-MQMQ] 2.2.8); DL_ID
([MS-MQMQ] 2.2.9); MULTICAST_ID ([MS-MQMQ] 2.2.10), its address a number as `IPv4Address` has it."""

SYSTEM_QUEUE = 0x80
"The flag in m_SuffixAndFlags that marks journals and dead-letter queues."


class QueueFormatType(IntEnum):
    """QUEUE_FORMAT_TYPE ([MS-MQMQ] 2.2.6)."""

    UNKNOWN = 0
    PUBLIC = 1
    PRIVATE = 2
    DIRECT = 3
    MACHINE = 4
    CONNECTOR = 5
    DL = 6
    MULTICAST = 7
    SUBQUEUE = 8


class QueueSuffixType(IntEnum):
    """QUEUE_SUFFIX_TYPE ([MS-MQMQ] 2.2.11)."""

    NONE = 0
    JOURNAL = 1
    DEADLETTER = 2
    DEADXACT = 3
    XACTONLY = 4
    SUBQUEUE = 5


_NONE, _JOURNAL, _DEADLETTER, _DEADXACT, _XACTONLY, _SUBQUEUE = QueueSuffixType
_SYSTEM_SUFFIXES = (_JOURNAL, _DEADLETTER, _DEADXACT)

ALLOWED_SUFFIXES: Final[Mapping[int, tuple[QueueSuffixType, ...]]] = {
    QueueFormatType.UNKNOWN: (),
    QueueFormatType.PUBLIC: (_NONE, _JOURNAL),
    QueueFormatType.PRIVATE: (_NONE, _JOURNAL),
    QueueFormatType.DIRECT: (_NONE, _JOURNAL, _DEADLETTER, _DEADXACT),
    QueueFormatType.MACHINE: (_JOURNAL, _DEADLETTER, _DEADXACT),
    QueueFormatType.CONNECTOR: (_NONE, _XACTONLY),
    QueueFormatType.DL: (_NONE,),
    QueueFormatType.MULTICAST: (_NONE,),
    QueueFormatType.SUBQUEUE: (_SUBQUEUE,),
}
"The suffixes each type can have ([MS-MQMQ] 2.2.7)."


@dataclass(frozen=True, slots=True)
class QueueFormat:
    """QUEUE_FORMAT without its unused m_reserved, which is sent as 0 ([MS-MQMQ] 2.2.7).

    It may hold anything a caller sent; `name` refuses what makes no sense.
    """

    format_type: int
    "m_qft, a `QueueFormatType` if the sender knows the rules."
    suffix_and_flags: int
    "m_SuffixAndFlags: the suffix in the low four bits, flags in the high four."
    value: UnionValue

    @classmethod
    def of(cls, name: FormatName) -> Self:
        """The structure for `name`; `IllegalFormatName` for a multiple-element name."""
        match name:
            case PublicName():
                return cls._suffixed(QueueFormatType.PUBLIC, name.suffix, name.guid)
            case PrivateName():
                object_id = (name.guid, name.number)
                return cls._suffixed(QueueFormatType.PRIVATE, name.suffix, object_id)
            case DirectName() if name.subqueue:
                return cls(QueueFormatType.SUBQUEUE, QueueSuffixType.SUBQUEUE, name.wire_text)
            case DirectName():
                return cls._suffixed(QueueFormatType.DIRECT, name.suffix, name.wire_text)
            case MachineName():
                return cls._suffixed(QueueFormatType.MACHINE, name.suffix, name.guid)
            case ConnectorName():
                return cls._suffixed(QueueFormatType.CONNECTOR, name.suffix, name.guid)
            case DistributionListName():
                return cls(QueueFormatType.DL, QueueSuffixType.NONE, (name.guid, name.domain))
            case MulticastName():
                multicast_id = (int(name.address), name.port)
                return cls(QueueFormatType.MULTICAST, QueueSuffixType.NONE, multicast_id)
            case _:
                raise IllegalFormatName(f"{name}: a remote call can only name one queue")

    @classmethod
    def _suffixed(cls, kind: QueueFormatType, suffix: Suffix, value: UnionValue) -> Self:
        flags = SYSTEM_QUEUE if suffix.is_read_only else 0
        return cls(kind, QueueSuffixType[suffix.name] | flags, value)

    def name(self) -> FormatName:
        """The name this structure stands for; `IllegalFormatName` if it breaks the rules."""
        suffix = self._checked_suffix()
        match self.format_type, self.value:
            case QueueFormatType.PUBLIC, UUID() as guid:
                return PublicName(guid, suffix)
            case QueueFormatType.PRIVATE, (UUID() as guid, int(number)):
                return PrivateName(guid, number, suffix)
            case QueueFormatType.DIRECT | QueueFormatType.SUBQUEUE, str(text):
                return self._direct_name(text, suffix)
            case QueueFormatType.MACHINE, UUID() as guid:
                return MachineName(guid, suffix)
            case QueueFormatType.CONNECTOR, UUID() as guid:
                return ConnectorName(guid, suffix)
            case QueueFormatType.DL, (UUID() as guid, str() | None as domain):
                return DistributionListName(guid, domain)
            case QueueFormatType.MULTICAST, (int(address), int(port)) if 0 <= address <= U32_MAX:
                return MulticastName(IPv4Address(address), port)
            case _:
                raise IllegalFormatName(f"the value does not belong to type {self.format_type}")

    def _checked_suffix(self) -> Suffix:
        """Refuse combinations that are not in the table ([MS-MQMQ] 2.2.7)."""
        code, flags = self.suffix_and_flags & 0x0F, self.suffix_and_flags & ~0x0F
        allowed = ALLOWED_SUFFIXES.get(self.format_type)
        if not allowed:
            raise IllegalFormatName(f"a queue format of type {self.format_type} names no queue")
        if code not in allowed:
            kind = QueueFormatType(self.format_type).name
            raise IllegalFormatName(f"a queue format of type {kind} cannot have suffix {code}")
        # What flags XACTONLY has is not stated: none are sent, both are taken.
        expected = SYSTEM_QUEUE if code in _SYSTEM_SUFFIXES else 0
        if flags != expected and not (code == _XACTONLY and flags == SYSTEM_QUEUE):
            raise IllegalFormatName(f"suffix {code} does not go with the flags 0x{flags:02X}")
        return Suffix.NONE if code == _SUBQUEUE else Suffix[QueueSuffixType(code).name]

    def _direct_name(self, text: str, suffix: Suffix) -> DirectName:
        """The direct name with what the suffix adds; text and suffix must not contradict."""
        name = DirectName.from_wire(text)
        if bool(name.subqueue) != (self.format_type == QueueFormatType.SUBQUEUE):
            raise IllegalFormatName(f"{name}: a subqueue is named by type SUBQUEUE, and only that")
        if suffix is Suffix.JOURNAL and not name.suffix:
            return replace(name, suffix=suffix)
        if name.suffix != suffix:
            raise IllegalFormatName(f"{name}: the suffix in the text is not {suffix or 'absent'}")
        return name
