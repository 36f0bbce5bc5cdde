"""PacketView: single fields of a UserMessage, read from its bytes when they are asked for.

A message is its packet: the store keeps these bytes, sessions forward them, and nothing is parsed
twice or encoded again. The offsets come from the declared layouts of the headers.
"""

from __future__ import annotations

from codecs import utf_16_le_decode
from functools import lru_cache
from struct import Struct
from typing import Final
from uuid import UUID

from openmsmq.names.base import FormatName
from openmsmq.names.reference import destination_from
from openmsmq.packet.headers.base import BaseFlags
from openmsmq.packet.headers.properties import MessagePropertiesStart
from openmsmq.packet.headers.security import SecurityFlags, SecurityHeader
from openmsmq.packet.headers.trailer import letter_path, split_stored
from openmsmq.packet.headers.transaction import TransactionHeader
from openmsmq.packet.headers.user import UserFlags, UserHeader, UserHeaderStart
from openmsmq.packet.message import UserMessage
from openmsmq.packet.packet import decode_packet
from openmsmq.packet.walk import (
    DIRECT,
    EXTENSION_SIZE,
    FLAGS,
    LABEL,
    NAMES,
    SIZES,
    USER,
    after_names,
    after_transaction,
    is_plain,
    properties_offset,
    u16,
    u32,
)
from openmsmq.wire.reader import Reader
from openmsmq.wire.text import decode_utf16

_SOURCE: Final = USER + UserHeaderStart.offset_of("SourceQueueManager")
_ADDRESS: Final = USER + UserHeaderStart.offset_of("QueueManagerAddress")
_TIME_TO_BE_RECEIVED: Final = USER + UserHeaderStart.offset_of("TimeToBeReceived")
_SENT_TIME: Final = USER + UserHeaderStart.offset_of("SentTime")
_MESSAGE_ID: Final = USER + UserHeaderStart.offset_of("MessageID")

_CLASS: Final = MessagePropertiesStart.offset_of("MessageClass")
_CORRELATION: Final = MessagePropertiesStart.offset_of("CorrelationID")
_BODY_TYPE: Final = MessagePropertiesStart.offset_of("BodyType")
_APPLICATION_TAG: Final = MessagePropertiesStart.offset_of("ApplicationTag")
_HASH_ALGORITHM: Final = MessagePropertiesStart.offset_of("HashAlgorithm")
_body_sizes: Final = Struct(f"<xB{SIZES - 2}xI{EXTENSION_SIZE - SIZES - 4}xI").unpack_from
"LabelLength, MessageSize and ExtensionSize of a MessagePropertiesHeader."


class PacketView:
    """One UserMessage packet, as its bytes.

    Making a view costs nothing: `parse` is for bytes from outside, the constructor for bytes that
    were checked before they were kept.
    """

    __slots__ = ("_properties", "data")

    def __init__(self, data: bytes, properties: int = 0) -> None:
        """`properties` is where the MessagePropertiesHeader begins, if that is known."""
        self.data = data
        self._properties = properties

    @classmethod
    def parse(cls, data: bytes) -> PacketView:
        """A view of bytes from outside; `Malformed` unless they are one whole UserMessage."""
        if not is_plain(data):
            message = decode_packet(data)
            if not isinstance(message, UserMessage):
                Reader(data).fail("BaseHeader.Flags", "IN is set: not a UserMessage", offset=2)
        return cls(data)

    def message(self) -> UserMessage:
        """All headers, decoded ([MS-MQDMPR] 3.1.7.1.31)."""
        message = decode_packet(split_stored(self.data)[0])
        assert isinstance(message, UserMessage)
        return message

    # BaseHeader

    @property
    def base_flags(self) -> int:
        """BaseHeader.Flags."""
        flags: int = u16(self.data, 2)[0]
        return flags

    @property
    def priority(self) -> int:
        """0 to 7; 7 is read first."""
        return self.data[2] & 7

    @property
    def trace(self) -> bool:
        """Reports about the message's way were asked for."""
        return bool(self.base_flags & BaseFlags.TR)

    @property
    def packet_size(self) -> int:
        """BaseHeader.PacketSize, without a SessionHeader."""
        size: int = u32(self.data, 8)[0]
        return size

    @property
    def time_to_reach_queue(self) -> int:
        """Seconds from the time sent; `INFINITE` for ever."""
        seconds: int = u32(self.data, 12)[0]
        return seconds

    # UserHeader

    @property
    def source_queue_manager(self) -> UUID:
        """The queue manager that sent the message first."""
        return UUID(bytes_le=self.data[_SOURCE : _SOURCE + 16])

    @property
    def queue_manager_address(self) -> UUID:
        """The queue manager it is for; zero when the destination is a direct name."""
        return UUID(bytes_le=self.data[_ADDRESS : _ADDRESS + 16])

    @property
    def time_to_be_received(self) -> int:
        """Seconds from the time sent; `INFINITE` for ever."""
        seconds: int = u32(self.data, _TIME_TO_BE_RECEIVED)[0]
        return seconds

    @property
    def sent_time(self) -> int:
        """Seconds since 1970 UTC."""
        seconds: int = u32(self.data, _SENT_TIME)[0]
        return seconds

    @property
    def message_id(self) -> int:
        """The ordinal that the source gave the message."""
        ordinal: int = u32(self.data, _MESSAGE_ID)[0]
        return ordinal

    @property
    def identifier(self) -> bytes:
        """The 20-byte MessageIdentifier: source and ordinal ([MS-MQMQ] 2.2.18.1.3)."""
        data = self.data
        return data[_SOURCE : _SOURCE + 16] + data[_MESSAGE_ID : _MESSAGE_ID + 4]

    @property
    def id(self) -> str:
        r"""The identifier as people write it: `guid\number`."""
        return f"{self.source_queue_manager}\\{self.message_id}"

    @property
    def flags(self) -> int:
        """UserHeader.Flags."""
        flags: int = u32(self.data, FLAGS)[0]
        return flags

    @property
    def hop_count(self) -> int:
        """Routing servers passed."""
        return self.flags & UserFlags.RC

    @property
    def recoverable(self) -> bool:
        """The message is kept on disk wherever it waits."""
        return bool(self.flags & UserFlags.DM)

    @property
    def transactional(self) -> bool:
        """The message was sent in a transaction."""
        return bool(self.flags & UserFlags.TH)

    @property
    def dead_letter(self) -> bool:
        """A message that fails goes to the sender's dead-letter queue."""
        return bool(self.flags & UserFlags.JN)

    @property
    def dead_letter_path(self) -> str:
        """The dead-letter queue of its own, where it is stored with one; else empty."""
        return letter_path(self.data)

    @property
    def journal(self) -> bool:
        """A copy is kept in the sender's journal."""
        return bool(self.flags & UserFlags.JP)

    @property
    def destination(self) -> FormatName | None:
        """The queue it goes to; `IllegalFormatName` if the sender wrote nonsense."""
        data = self.data
        code = data[FLAGS + 1] >> 2 & 7
        if code == DIRECT:
            return _direct(data[NAMES + 2 : NAMES + 2 + u16(data, NAMES)[0]])
        return self.user.destination_name()

    @property
    def admin_queue(self) -> FormatName | None:
        """The queue that takes acknowledgements."""
        return self.user.admin_name() if self.flags & UserFlags.AQ else None

    @property
    def response_queue(self) -> FormatName | None:
        """The queue that takes answers."""
        return self.user.response_name() if self.flags & UserFlags.RQ else None

    @property
    def connector_type(self) -> UUID | None:
        """The application that sets properties which a manager otherwise sets."""
        return self.user.connector_type if self.flags & UserFlags.CQ else None

    @property
    def user(self) -> UserHeader:
        """The whole UserHeader, decoded."""
        return UserHeader.read(Reader(self.data, USER))

    @property
    def transaction(self) -> TransactionHeader | None:
        """The TransactionHeader, decoded; None outside a transaction."""
        if not self.transactional:
            return None
        return TransactionHeader.read(Reader(self.data, after_names(self.data, self.flags)))

    @property
    def security(self) -> SecurityHeader | None:
        """The SecurityHeader, decoded; None where there is none."""
        if not self.flags & UserFlags.SH:
            return None
        return SecurityHeader.view(self.data, self.security_offset)

    @property
    def security_offset(self) -> int:
        """Where the SecurityHeader begins, if there is one."""
        flags = self.flags
        return after_transaction(self.data, flags, after_names(self.data, flags))

    def unverified(self) -> bytes:
        """The packet without AU and AS: a receiver sets them, and believes no sender (A-62)."""
        if not self.flags & UserFlags.SH:
            return self.data
        offset = self.security_offset
        flags: int = u16(self.data, offset)[0]
        if not flags & (SecurityFlags.AU | SecurityFlags.AS):
            return self.data
        kept = flags & ~(SecurityFlags.AU | SecurityFlags.AS)
        return self.data[:offset] + kept.to_bytes(2, "little") + self.data[offset + 2 :]

    def verified(self, kind: int) -> bytes:
        """The packet with AU, and AS for the signature that was found ([MS-MQQB] 3.1.5.8.3)."""
        offset = self.security_offset
        kept = u16(self.data, offset)[0] & ~SecurityFlags.AS
        flags: int = kept | SecurityFlags.AU | kind << 8
        return self.data[:offset] + flags.to_bytes(2, "little") + self.data[offset + 2 :]

    # MessagePropertiesHeader

    @property
    def properties_offset(self) -> int:
        """Where the MessagePropertiesHeader begins."""
        return self._properties or self._locate()

    @property
    def acknowledge(self) -> int:
        """Acknowledgements asked for, as bits."""
        return self.data[self._properties or self._locate()] & 0x0F

    @property
    def message_class(self) -> int:
        """0 for an application's message; else what the message reports."""
        offset = (self._properties or self._locate()) + _CLASS
        code: int = u16(self.data, offset)[0]
        return code

    @property
    def correlation_id(self) -> bytes:
        """20 bytes of the application's own."""
        offset = (self._properties or self._locate()) + _CORRELATION
        return self.data[offset : offset + 20]

    @property
    def body_type(self) -> int:
        """What the sender says the body is (a VT_* code); never checked (AMB-18)."""
        code: int = u32(self.data, (self._properties or self._locate()) + _BODY_TYPE)[0]
        return code

    @property
    def app_specific(self) -> int:
        """A number of the application's own."""
        tag: int = u32(self.data, (self._properties or self._locate()) + _APPLICATION_TAG)[0]
        return tag

    @property
    def hash_algorithm(self) -> int:
        """The hash that a signature was made with, or is to be."""
        code: int = u32(self.data, (self._properties or self._locate()) + _HASH_ALGORITHM)[0]
        return code

    @property
    def is_encrypted(self) -> bool:
        """The body can be read by its receiver only (EB; PrivacyLevel alone says nothing)."""
        security = self.security
        return security is not None and bool(security.flags & SecurityFlags.EB)

    @property
    def label(self) -> str:
        """The label."""
        offset = self._properties or self._locate()
        units = self.data[offset + 1]
        if not units:
            return ""
        offset += LABEL
        raw = self.data[offset : offset + 2 * units - 2]
        text = utf_16_le_decode(raw, "surrogatepass", True)[0]
        return text if "\0" not in text else text[: text.index("\0")]

    @property
    def extension(self) -> bytes:
        """The extension, which NServiceBus and Rebus put their headers in."""
        data = self.data
        offset = self._properties or self._locate()
        start = offset + LABEL + 2 * data[offset + 1]
        return data[start : start + u32(data, offset + EXTENSION_SIZE)[0]]

    @property
    def message_size(self) -> int:
        """The size of the body."""
        size: int = u32(self.data, (self._properties or self._locate()) + SIZES)[0]
        return size

    @property
    def privacy_level(self) -> int:
        """How the sender wants the body encrypted, or had it ([MS-MQMQ] 2.2.19.3)."""
        level: int = u32(self.data, (self._properties or self._locate()) + SIZES + 8)[0]
        return level

    @property
    def body_offset(self) -> int:
        """Where the body begins."""
        data = self.data
        offset = self._properties or self._locate()
        extension: int = u32(data, offset + EXTENSION_SIZE)[0]
        return offset + LABEL + 2 * data[offset + 1] + extension

    @property
    def body(self) -> bytes:
        """The body, as a copy."""
        data = self.data
        offset = self._properties or self._locate()
        label, size, extension = _body_sizes(data, offset)
        start = offset + LABEL + 2 * label + extension
        return data[start : start + size]

    @property
    def body_view(self) -> memoryview:
        """The body, without a copy."""
        start = self.body_offset
        return memoryview(self.data)[start : start + self.message_size]

    def _locate(self) -> int:
        """Find the MessagePropertiesHeader, once."""
        self._properties = offset = properties_offset(self.data)
        return offset


@lru_cache(maxsize=4096)
def _direct(text: bytes) -> FormatName:
    """The name written as `text`; few destinations are met many times."""
    return destination_from(decode_utf16(text))
