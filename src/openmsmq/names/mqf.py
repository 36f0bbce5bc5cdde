"""Queue names in the lists of a MultiQueueFormatHeader ([MS-MQMQ] 2.2.18.1.4)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from struct import pack
from typing import Self
from uuid import UUID

from openmsmq.errors import IllegalFormatName
from openmsmq.names.base import FormatName
from openmsmq.names.direct import DirectName
from openmsmq.names.format import DistributionListName, PrivateName, PublicName
from openmsmq.names.parts import Suffix
from openmsmq.wire.reader import Reader
from openmsmq.wire.text import decode_utf16, encode_utf16z

PUBLIC_ALIGNMENT = 4
"Where a public GUID begins is not stated; 4, as all other GUIDs, unless that does not fit, then 2."
_NULL_GUID = UUID(int=0)


class MQFFormatType(IntEnum):
    """FormatType ([MS-MQMQ] 2.2.18.1.4)."""

    PUBLIC = 1
    PRIVATE = 2
    DIRECT = 3
    DISTRIBUTION_LIST = 6


_FORMAT_TYPES: frozenset[int] = frozenset(MQFFormatType)


@dataclass(frozen=True, slots=True)
class MQFFormatNameElement:
    """MQFFormatNameElement exactly as it stands in its list ([MS-MQMQ] 2.2.18.1.4)."""

    format_type: MQFFormatType
    guid: UUID = _NULL_GUID
    "The queue, the distribution list, or the queue manager of a private queue."
    number: int = 0
    "PrivateQueueIdentifier."
    raw: bytes = b""
    "DirectFormatName, UTF-16 with its null."
    alignment: bytes = b""
    "The bytes before the data; zeros are written if it does not fit."

    @classmethod
    def read(cls, reader: Reader, *, origin: int, public_alignment: int = PUBLIC_ALIGNMENT) -> Self:
        """Read one element of the list in an MQFAddressHeader that begins at `origin`."""
        start = reader.offset
        code = reader.u16("FormatType")
        if code not in _FORMAT_TYPES:
            reader.fail("FormatType", f"{code} is not 1, 2, 3 or 6", offset=start)
        kind = MQFFormatType(code)
        alignment = reader.align(_boundary(kind, public_alignment), origin, "alignment")
        match kind:
            case MQFFormatType.PUBLIC:
                return cls(kind, reader.guid("PublicQueueIdentifier"), alignment=alignment)
            case MQFFormatType.PRIVATE:
                guid = reader.guid("SourceQueueManager")
                number = reader.u32("PrivateQueueIdentifier")
                return cls(kind, guid, number, alignment=alignment)
            case MQFFormatType.DIRECT:
                return cls(kind, raw=reader.utf16z("DirectFormatName"), alignment=alignment)
            case _:
                return cls(kind, reader.guid("DistributionListIdentifier"), alignment=alignment)

    def encode(self, offset: int, *, public_alignment: int = PUBLIC_ALIGNMENT) -> bytes:
        """The bytes of an element that begins `offset` bytes into its MQFAddressHeader."""
        needed = -(offset + 2) % _boundary(self.format_type, public_alignment)
        alignment = self.alignment if len(self.alignment) == needed else bytes(needed)
        return pack("<H", self.format_type) + alignment + self._data()

    def _data(self) -> bytes:
        match self.format_type:
            case MQFFormatType.DIRECT:
                return self.raw
            case MQFFormatType.PRIVATE:
                return self.guid.bytes_le + pack("<I", self.number)
            case _:
                return self.guid.bytes_le

    @classmethod
    def of(cls, name: FormatName) -> Self:
        """The element for `name`, never of several queues ([MS-MQDMPR] 3.1.1.12).

        `IllegalFormatName` if there is none.

        Suffixes and machine, connector and multicast names cannot be written. The domain of a
        distribution list is left out.
        """
        match name:
            case PublicName(suffix=Suffix.NONE):
                return cls(MQFFormatType.PUBLIC, name.guid)
            case PrivateName(suffix=Suffix.NONE):
                return cls(MQFFormatType.PRIVATE, name.guid, name.number)
            case DirectName():
                return cls(MQFFormatType.DIRECT, raw=encode_utf16z(name.wire_text))
            case DistributionListName():
                return cls(MQFFormatType.DISTRIBUTION_LIST, name.guid)
            case _:
                raise IllegalFormatName(f"{name}: a message cannot list a name of this kind")

    def name(self) -> FormatName:
        """The name this element stands for; `IllegalFormatName` if a direct name is not one."""
        match self.format_type:
            case MQFFormatType.PUBLIC:
                return PublicName(self.guid)
            case MQFFormatType.PRIVATE:
                return PrivateName(self.guid, self.number)
            case MQFFormatType.DIRECT:
                return DirectName.from_wire(decode_utf16(self.raw))
            case _:
                return DistributionListName(self.guid)


def _boundary(kind: MQFFormatType, public_alignment: int) -> int:
    match kind:
        case MQFFormatType.PUBLIC:
            return public_alignment
        case MQFFormatType.DIRECT:
            return 2
        case _:
            return 4
