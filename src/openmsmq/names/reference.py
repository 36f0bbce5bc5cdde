"""Queue names as the UserHeader carries them ([MS-MQMQ] 2.2.19.2).

Three bits of its flags say what each name field holds. Most kinds lean on other fields of the
header: which queue manager sent the message, which one it goes to, where the administration
queue is.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from struct import pack
from typing import Final, Self
from uuid import UUID

from openmsmq.errors import IllegalFormatName
from openmsmq.names.base import FormatName
from openmsmq.names.direct import DirectName
from openmsmq.names.format import MulticastName, PrivateName, PublicName, parse_format_name
from openmsmq.names.parts import Suffix
from openmsmq.wire.reader import Reader
from openmsmq.wire.text import NULL_UNIT, decode_utf16, encode_utf16z
from openmsmq.wire.text import padding as pad

_NULL_GUID = UUID(int=0)


_MULTICAST: Final = "MULTICAST="


class ReferenceCode(IntEnum):
    """What a queue name field holds: UserHeader.Flags DQ, AQ and RQ ([MS-MQMQ] 2.2.19.2)."""

    NONE = 0
    SAME_AS_ADMIN = 1
    PRIVATE_ON_SOURCE = 2
    PRIVATE_ON_DESTINATION = 3
    PRIVATE_ON_ADMIN_HOST = 4
    PUBLIC = 5
    PRIVATE_ELSEWHERE = 6
    DIRECT = 7


@dataclass(frozen=True, slots=True)
class QueueReference:
    """A queue name field exactly as it stands in a UserHeader ([MS-MQMQ] 2.2.18.1.5, .7)."""

    code: ReferenceCode = ReferenceCode.NONE
    guid: UUID = _NULL_GUID
    "The queue (PUBLIC) or its queue manager (PRIVATE_ELSEWHERE)."
    number: int = 0
    "PrivateQueueIdentifier, in the private kinds."
    raw: bytes = b""
    "DirectFormatName, UTF-16 with its null."
    padding: bytes = b""
    "What followed the direct name up to a multiple of 4; zeros are written if it does not fit."

    @classmethod
    def read(cls, reader: Reader, code: int, *, origin: int, name: str) -> Self:
        """Read the field `name` of kind `code` from a UserHeader that begins at `origin`."""
        if not code:
            return cls()
        kind = ReferenceCode(code)
        with reader.section(name):
            match kind:
                case ReferenceCode.SAME_AS_ADMIN:
                    return cls(kind)  # the text also demands a field for SAME_AS_ADMIN: a slip
                case ReferenceCode.PUBLIC:
                    return cls(kind, reader.guid("PublicQueueIdentifier"))
                case ReferenceCode.PRIVATE_ELSEWHERE:
                    manager = reader.guid("SourceQueueManager")
                    return cls(kind, manager, reader.u32("PrivateQueueIdentifier"))
                case ReferenceCode.DIRECT:
                    raw = _read_direct(reader)
                    return cls(kind, raw=raw, padding=reader.align(4, origin))
                case _:
                    return cls(kind, number=reader.u32("PrivateQueueIdentifier"))

    def encode(self) -> bytes:
        """The bytes of the field; it begins at a multiple of 4, like all fields before it."""
        match self.code:
            case ReferenceCode.NONE | ReferenceCode.SAME_AS_ADMIN:
                return b""
            case ReferenceCode.PUBLIC:
                return self.guid.bytes_le
            case ReferenceCode.PRIVATE_ELSEWHERE:
                return self.guid.bytes_le + pack("<I", self.number)
            case ReferenceCode.DIRECT:
                size = len(self.raw)
                return pack("<H", size) + self.raw + pad(2 + size, self.padding)
            case _:
                return pack("<I", self.number)

    @property
    def text(self) -> str:
        """The direct name without `DIRECT=`; it may not be a grammatical one."""
        return decode_utf16(self.raw)

    def resolve(
        self, *, source: UUID, destination: UUID, admin: QueueReference | None = None
    ) -> FormatName | None:
        """The name meant, given the header's queue managers and its administration queue.

        A header with a direct destination has no destination queue manager: a caller that knows
        it puts the true GUID in its place. `IllegalFormatName` if the field names nothing.
        """
        match self.code:
            case ReferenceCode.NONE:
                return None
            case ReferenceCode.SAME_AS_ADMIN:
                return admin.resolve(source=source, destination=destination) if admin else None
            case ReferenceCode.PUBLIC:
                return PublicName(self.guid)
            case ReferenceCode.DIRECT:
                return DirectName.from_wire(self.text)
            case _:
                return PrivateName(self._host(source, destination, admin), self.number)

    def _host(self, source: UUID, destination: UUID, admin: QueueReference | None) -> UUID:
        """The queue manager that has the private queue."""
        match self.code:
            case ReferenceCode.PRIVATE_ON_SOURCE:
                return source
            case ReferenceCode.PRIVATE_ON_DESTINATION:
                return destination
            case ReferenceCode.PRIVATE_ELSEWHERE:
                return self.guid
        name = admin and admin.resolve(source=source, destination=destination)
        if not isinstance(name, PrivateName):
            raise IllegalFormatName("the computer of the administration queue is not known")
        return name.guid


def _read_direct(reader: Reader) -> bytes:
    """Read Count and DirectFormatName ([MS-MQMQ] 2.2.18.1.5.2)."""
    start = reader.offset
    count = reader.u16("Count")
    if count < len(NULL_UNIT) or count % 2:
        reader.fail("Count", f"null-terminated UTF-16 cannot have {count} bytes", offset=start)
    start = reader.offset
    raw = reader.utf16(count, "DirectFormatName")
    if not raw.endswith(NULL_UNIT):
        reader.fail("DirectFormatName", "text without its terminating null", offset=start)
    return raw


def reference_for(
    name: FormatName | None,
    *,
    source: UUID,
    destination: UUID,
    admin: FormatName | None = None,
) -> QueueReference:
    """The shortest field for `name` in a header with these queue managers ([MS-MQMQ] 2.2.19.2).

    `admin` is given for a response queue only: an administration queue cannot refer to itself.
    For the destination queue `destination` is the queue manager of that very name, so that a
    private one is always PRIVATE_ON_DESTINATION. Suffixed names, and kinds that stand for several
    queues, have no such field: `IllegalFormatName`.
    """
    match name:
        case None:
            return QueueReference()
        case FormatName() if admin is not None and str(name) == str(admin):
            return QueueReference(ReferenceCode.SAME_AS_ADMIN)
        case DirectName():
            return QueueReference(ReferenceCode.DIRECT, raw=encode_utf16z(name.wire_text))
        case PublicName(suffix=Suffix.NONE):
            return QueueReference(ReferenceCode.PUBLIC, name.guid)
        case PrivateName(suffix=Suffix.NONE):
            return _private_reference(name, source, destination, admin)
        case _:
            raise IllegalFormatName(f"{name}: a message cannot carry a name of this kind")


def destination_reference(
    name: FormatName | None, *, source: UUID, destination: UUID
) -> QueueReference:
    """The field of the destination queue: also of a group address, as the text of a direct name.

    No header has a field for one. A packet with it stays in the store: what is sent to a group is
    an envelope ([MC-MQSRM] 2.2.4.2).
    """
    if isinstance(name, MulticastName):
        return QueueReference(ReferenceCode.DIRECT, raw=encode_utf16z(str(name)))
    return reference_for(name, source=source, destination=destination)


def destination_from(text: str) -> FormatName:
    """The reverse, from the text of a direct name."""
    if text.startswith(_MULTICAST):
        return parse_format_name(text)
    return DirectName.from_wire(text)


def _private_reference(
    name: PrivateName, source: UUID, destination: UUID, admin: FormatName | None
) -> QueueReference:
    if name.guid == destination:
        code = ReferenceCode.PRIVATE_ON_DESTINATION
    elif name.guid == source:
        code = ReferenceCode.PRIVATE_ON_SOURCE
    elif isinstance(admin, PrivateName) and name.guid == admin.guid:
        code = ReferenceCode.PRIVATE_ON_ADMIN_HOST
    else:
        return QueueReference(ReferenceCode.PRIVATE_ELSEWHERE, name.guid, name.number)
    return QueueReference(code, number=name.number)
