"""UserHeader: who sent a message, where it goes, and which headers follow."""

from __future__ import annotations

from typing import Annotated, Final
from uuid import UUID

from openmsmq.names.base import FormatName
from openmsmq.names.reference import QueueReference, ReferenceCode, destination_from
from openmsmq.properties.message import INFINITE
from openmsmq.wire.fixed import U16, U32, Bits, Fixed, Guid, extended, fixed
from openmsmq.wire.reader import Reader

NO_GUID: Final = UUID(int=0)
NO_QUEUE: Final = QueueReference()
DESTINATION_CODES: Final = frozenset({0, 3, 5, 7})
ADMIN_CODES: Final = frozenset({0, 2, 3, 5, 6, 7})
QUEUE_FIELDS: Final = (("DestinationQueue", 10), ("AdminQueue", 13), ("ResponseQueue", 16))
"The three names a UserHeader may hold, with the shift of their code in Flags."


class UserFlags(Bits):
    """UserHeader.Flags ([MS-MQMQ] 2.2.19.2; AH: [MS-MQRR] 2.2.5.1)."""

    RC = 0x0000001F  # routing servers passed
    DM = 0x00000060  # 0 express, 1 recoverable
    X1 = 0x00000080
    JN = 0x00000100  # dead letter on failure
    JP = 0x00000200  # copy to the source journal
    DQ = 0x00001C00  # how the destination queue is named
    AQ = 0x0000E000  # how the administration queue is named
    RQ = 0x00070000  # how the response queue is named
    SH = 0x00080000  # a SecurityHeader follows
    TH = 0x00100000  # a TransactionHeader follows
    MP = 0x00200000  # a MessagePropertiesHeader follows; always set
    CQ = 0x00400000  # ConnectorType is there
    MQ = 0x00800000  # a MultiQueueFormatHeader follows
    X2 = 0x01000000
    AH = 0x02000000  # came in over HTTP: the SRMP headers follow
    X3 = 0x0C000000
    HH = 0x10000000  # a SoapHeader follows
    X4 = 0xE0000000


@fixed
class UserHeaderStart(Fixed):
    """The fixed part of a UserHeader ([MS-MQMQ] 2.2.19.2)."""

    source_queue_manager: Guid = NO_GUID
    queue_manager_address: Guid = NO_GUID
    time_to_be_received: U32 = INFINITE
    sent_time: U32 = 0
    message_id: U32 = 0
    flags: Annotated[int, "I", UserFlags] = UserFlags.MP


assert UserHeaderStart.SIZE == 48


@fixed
class StoredUserHeaderStart(Fixed):
    """The same in a stored message with a direct destination ([MS-MQRR] 2.2.5.1).

    The address that the message came from lies over QueueManagerAddress.
    """

    source_queue_manager: Guid
    address_length: U16
    address_type: U16
    address_scope: U32
    address: Annotated[bytes, "8s"]
    time_to_be_received: U32
    sent_time: U32
    message_id: U32
    flags: Annotated[int, "I", UserFlags]


assert StoredUserHeaderStart.SIZE == UserHeaderStart.SIZE


@extended
class UserHeader(UserHeaderStart):
    """UserHeader ([MS-MQMQ] 2.2.19.2)."""

    destination: QueueReference = NO_QUEUE
    admin: QueueReference = NO_QUEUE
    response: QueueReference = NO_QUEUE
    connector_type: UUID | None = None
    "An application's own GUID, never interpreted."

    @classmethod
    def read(cls, reader: Reader, *, stored: bool = False) -> UserHeader:
        """Read the header; `stored` says that it comes from a stored message."""
        origin = reader.offset
        with reader.section("UserHeader"):
            start = _read_start(reader, stored=stored)
            flags = start.flags
            _check_flags(reader, flags, origin + cls.offset_of("Flags"))
            destination, admin, response = (
                QueueReference.read(reader, flags >> shift & 7, origin=origin, name=name)
                for name, shift in QUEUE_FIELDS
            )
            connector = reader.guid("ConnectorType") if flags & UserFlags.CQ else None
        return cls(
            **start.values(),
            destination=destination,
            admin=admin,
            response=response,
            connector_type=connector,
        )

    def encode(self) -> bytes:
        """The bytes of the header."""
        names = (self.destination, self.admin, self.response)
        connector = b"" if self.connector_type is None else self.connector_type.bytes_le
        return b"".join((self.pack(), *(name.encode() for name in names), connector))

    def destination_name(self) -> FormatName | None:
        """The queue the message goes to; `IllegalFormatName` if the sender wrote nonsense."""
        if self.destination.code == ReferenceCode.DIRECT:
            return destination_from(self.destination.text)
        return self._resolve(self.destination)

    def admin_name(self) -> FormatName | None:
        """The queue that takes acknowledgements."""
        return self._resolve(self.admin)

    def response_name(self) -> FormatName | None:
        """The queue that takes answers."""
        return self._resolve(self.response)

    def _resolve(self, queue: QueueReference) -> FormatName | None:
        return queue.resolve(
            source=self.source_queue_manager,
            destination=self.queue_manager_address,
            admin=self.admin,
        )


def _read_start(reader: Reader, *, stored: bool) -> UserHeaderStart:
    origin = reader.offset
    if stored and _destination_is_direct(reader):
        reader.fixed(StoredUserHeaderStart)
        return UserHeaderStart.unpack(reader.data, origin)
    return reader.fixed(UserHeaderStart)


def _destination_is_direct(reader: Reader) -> bool:
    """Look ahead at Flags.DQ, on which the layout of the bytes before it depends."""
    place = reader.offset + UserHeaderStart.offset_of("Flags")
    if place + 4 > reader.end:
        return False
    return int.from_bytes(reader.data[place : place + 4], "little") >> 10 & 7 == 7


def _check_flags(reader: Reader, flags: int, offset: int) -> None:
    """Refuse what leaves the rest unreadable or must close the session ([MS-MQMQ] 2.2.19.2)."""
    if flags >> 10 & 7 not in DESTINATION_CODES:
        reader.fail("Flags", f"DQ is {flags >> 10 & 7}, not 0, 3, 5 or 7", offset=offset)
    if flags >> 13 & 7 not in ADMIN_CODES:
        reader.fail("Flags", f"AQ is {flags >> 13 & 7}, not 0, 2, 3, 5, 6 or 7", offset=offset)
    if not flags & UserFlags.MP:
        reader.fail("Flags", "MP is 0: no MessagePropertiesHeader", offset=offset)
