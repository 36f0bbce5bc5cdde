"""PacketBuilder: a message written once, as the packet it stays."""

from __future__ import annotations

from codecs import utf_16_le_encode
from dataclasses import dataclass, field, replace
from functools import lru_cache
from struct import Struct
from struct import error as StructError
from typing import Final
from uuid import UUID

from openmsmq import limits
from openmsmq.errors import IllegalPropertyValue, LabelTooLong, MessageTooLarge
from openmsmq.names.base import FormatName
from openmsmq.names.reference import destination_reference, reference_for
from openmsmq.packet.headers.base import SIGNATURE, VERSION, BaseFlags, BaseHeader
from openmsmq.packet.headers.debug import DebugHeader
from openmsmq.packet.headers.multi_queue import MultiQueueFormatHeader
from openmsmq.packet.headers.properties import NO_CORRELATION, MessagePropertiesStart
from openmsmq.packet.headers.security import SecurityHeader
from openmsmq.packet.headers.soap import SoapHeader
from openmsmq.packet.headers.transaction import TransactionHeader
from openmsmq.packet.headers.user import NO_GUID, UserFlags, UserHeaderStart
from openmsmq.properties.message import INFINITE, PRIORITY_DEFAULT, PRIORITY_MAX
from openmsmq.wire.text import NULL_UNIT, ZEROS, padding

_FIXED: Final = BaseHeader.SIZE + UserHeaderStart.SIZE + MessagePropertiesStart.SIZE
_SIZE_MAX: Final = limits.PACKET_SIZE_MAX
_NOT_PRIORITY: Final = ~PRIORITY_MAX
_CORRELATION_SIZE: Final = len(NO_CORRELATION)
_LABEL_SIZE_MAX: Final = 2 * limits.LABEL_UNITS_MAX
_RECOVERABLE: Final = UserFlags.DM & -UserFlags.DM
"Delivery mode 1."


@dataclass(frozen=True, slots=True)
class OptionalHeaders:
    """The parts of a UserMessage that most messages do without ([MS-MQMQ] 2.2.20).

    They are encoded once and may serve many messages.
    """

    connector_type: UUID | None = None
    transaction: TransactionHeader | None = None
    security: SecurityHeader | None = None
    debug: DebugHeader | None = None
    soap: SoapHeader | None = None
    multi_queue: MultiQueueFormatHeader | None = None
    privacy_level: int = 0
    hash_algorithm: int = 0
    encryption_algorithm: int = 0
    verified: int = 0
    "The `SignatureType` that was found valid on a message that came (AS)."
    flags: int = field(init=False, repr=False, compare=False)
    "The bits of UserHeader.Flags that announce them ([MS-MQMQ] 2.2.19.2)."
    before_properties: bytes = field(init=False, repr=False, compare=False)
    "What stands between the names and the MessagePropertiesHeader."
    after_properties: bytes = field(init=False, repr=False, compare=False)
    "What follows the MessagePropertiesHeader; the whole is padded to 4 (AMB-9)."

    def __post_init__(self) -> None:
        if self.security is not None:
            sent = self.security.as_sent(encrypted=bool(self.privacy_level))
            if self.verified:
                sent = sent.as_verified(self.verified)
            object.__setattr__(self, "security", sent)
        flags = (
            (UserFlags.CQ if self.connector_type is not None else 0)
            | (UserFlags.TH | _RECOVERABLE if self.transaction is not None else 0)
            | (UserFlags.SH if self.security is not None else 0)
            | (UserFlags.HH if self.soap is not None else 0)
            | (UserFlags.MQ if self.multi_queue is not None else 0)
        )
        connector = b"" if self.connector_type is None else self.connector_type.bytes_le
        headers = (self.transaction, self.security)
        before = connector + b"".join(header.encode() for header in headers if header is not None)
        trailing = (self.debug, self.soap, self.multi_queue)
        after = b"".join(header.encode() for header in trailing if header is not None)
        object.__setattr__(self, "flags", flags)
        object.__setattr__(self, "before_properties", before)
        object.__setattr__(self, "after_properties", after + padding(len(after)))

    def base_flags(self, priority: int, *, trace: bool) -> int:
        """BaseHeader.Flags of a message with these headers ([MS-MQMQ] 2.2.19.1)."""
        return (
            (priority if self.transaction is None else 0)
            | (BaseFlags.DH if self.debug is not None else 0)
            | (BaseFlags.TR if trace else 0)
        )

    def for_tracing(self) -> OptionalHeaders:
        """The same with the DebugHeader that a traced message must have."""
        return self if self.debug is not None else replace(self, debug=DebugHeader())


NO_HEADERS: Final = OptionalHeaders()


class PacketBuilder:
    """Writes messages of one sender to one destination, with the same queues for replies.

    What does not change from message to message is encoded once.
    """

    __slots__ = ("_address", "_flags", "_names", "_pack", "_recoverable_flags", "_source")

    def __init__(
        self,
        source: UUID,
        destination: FormatName | None,
        *,
        destination_manager: UUID = NO_GUID,
        admin: FormatName | None = None,
        response: FormatName | None = None,
    ) -> None:
        """`destination_manager` is zero exactly when the destination is a direct name."""
        references = (
            destination_reference(destination, source=source, destination=destination_manager),
            reference_for(admin, source=source, destination=destination_manager),
            reference_for(response, source=source, destination=destination_manager, admin=admin),
        )
        self._source = source.bytes_le
        self._address = destination_manager.bytes_le
        self._names = b"".join(reference.encode() for reference in references)
        to, reports, answers = (reference.code for reference in references)
        self._flags = UserFlags.MP | to << 10 | reports << 13 | answers << 16
        self._recoverable_flags = self._flags | _RECOVERABLE
        self._pack = _layout(len(self._names)).pack

    def build(
        self,
        body: bytes = b"",
        label: str = "",
        priority: int = PRIORITY_DEFAULT,
        recoverable: bool = True,
        journal: bool = False,
        dead_letter: bool = False,
        trace: bool = False,
        message_id: int = 0,
        sent_time: int = 0,
        time_to_reach_queue: int = INFINITE,
        time_to_be_received: int = INFINITE,
        acknowledge: int = 0,
        message_class: int = 0,
        correlation_id: bytes = NO_CORRELATION,
        body_type: int = 0,
        app_specific: int = 0,
        extension: bytes = b"",
        headers: OptionalHeaders = NO_HEADERS,
    ) -> bytes:
        """The bytes of one message; a value that has no place in them is an `MQError`.

        Attributes go to fields as [MS-MQDMPR] 3.1.7.1.30 says. A transactional message is
        recoverable and has priority 0.
        """
        flags = self._recoverable_flags if recoverable else self._flags
        if journal or dead_letter:
            flags |= dead_letter << 8 | journal << 9
        if priority & _NOT_PRIORITY:
            raise IllegalPropertyValue(f"priority {priority}: 0 to {PRIORITY_MAX} are possible")
        if correlation_id is not NO_CORRELATION and len(correlation_id) != _CORRELATION_SIZE:
            raise IllegalPropertyValue(f"a correlation id has 20 bytes, not {len(correlation_id)}")
        base_flags = priority
        front = self._names
        pack = self._pack
        tail = b""
        privacy = hashing = encryption = 0
        if trace or headers is not NO_HEADERS:
            headers = headers.for_tracing() if trace else headers
            base_flags = headers.base_flags(priority, trace=trace)
            flags |= headers.flags
            front += headers.before_properties
            pack = _layout(len(front)).pack
            tail = headers.after_properties
            privacy = headers.privacy_level
            hashing = headers.hash_algorithm
            encryption = headers.encryption_algorithm
        text = null = b""
        label_size = 0
        if label:
            text = utf_16_le_encode(label, "surrogatepass")[0]
            null = NULL_UNIT
            label_size = len(text) + 2
            if label_size > _LABEL_SIZE_MAX:
                raise LabelTooLong(f"{len(text) // 2} characters; 249 are possible")
        body_size = len(body)
        extension_size = len(extension)
        size = _FIXED + len(front) + label_size + extension_size + body_size
        pad = ZEROS[-size & 3]
        size += len(pad) + len(tail)
        if size > _SIZE_MAX:
            raise MessageTooLarge(
                f"the message takes {size} bytes, a packet holds {limits.PACKET_SIZE_MAX}"
            )
        try:
            start = pack(
                VERSION,
                0,
                base_flags,
                SIGNATURE,
                size,
                time_to_reach_queue,
                self._source,
                self._address,
                time_to_be_received,
                sent_time,
                message_id,
                flags,
                front,
                acknowledge,
                label_size >> 1,
                message_class,
                correlation_id,
                body_type,
                app_specific,
                body_size,
                body_size,
                privacy,
                hashing,
                encryption,
                extension_size,
            )
        except StructError as error:
            raise IllegalPropertyValue(f"a number does not fit its field ({error})") from None
        return b"".join((start, text, null, extension, body, pad, tail))


@lru_cache(maxsize=256)
def _layout(front_size: int) -> Struct:
    """All that is fixed in a message whose names, and what follows them, take `front_size`."""
    formats = (
        BaseHeader.LAYOUT.format,
        UserHeaderStart.LAYOUT.format.removeprefix("<"),
        f"{front_size}s",
        MessagePropertiesStart.LAYOUT.format.removeprefix("<"),
    )
    return Struct("".join(formats))
