"""Where the parts of a UserMessage begin, found by arithmetic on its bytes.

The quick counterpart of `UserMessage.read`, for the hot paths: it makes no objects, but one for
many messages that a sender signs. A property test holds the two together.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import accumulate, pairwise
from struct import Struct
from struct import error as StructError
from typing import Final

from openmsmq import limits
from openmsmq.errors.peer import Malformed
from openmsmq.packet.headers.base import SIGNATURE, VERSION, BaseFlags, BaseHeader
from openmsmq.packet.headers.properties import MessagePropertiesStart
from openmsmq.packet.headers.security import SecurityHeader, SecurityHeaderStart
from openmsmq.packet.headers.transaction import TransactionFlags, TransactionHeaderStart
from openmsmq.packet.headers.user import ADMIN_CODES, DESTINATION_CODES, UserFlags, UserHeaderStart
from openmsmq.wire.text import NULL_UNIT

u16: Final = Struct("<H").unpack_from
u32: Final = Struct("<I").unpack_from

USER: Final = BaseHeader.SIZE
"Where the UserHeader begins."
SENT_TIME: Final = USER + UserHeaderStart.offset_of("SentTime")
FLAGS: Final = USER + UserHeaderStart.offset_of("Flags")
NAMES: Final = USER + UserHeaderStart.SIZE
"Where the queue names begin."
LABEL: Final = MessagePropertiesStart.SIZE
"Where the label begins in the MessagePropertiesHeader; the next are fields of it."
SIZES: Final = MessagePropertiesStart.offset_of("MessageSize")
EXTENSION_SIZE: Final = MessagePropertiesStart.offset_of("ExtensionSize")
DIRECT: Final = 7

NO_CONNECTOR: Final = bytes(16)
_SOURCE: Final = slice(16, 32)
_COMMON: Final = 12, 52
"TimeToReachQueue, source, addressee and TimeToBeReceived."
_NAME_SIZES: Final = (0, 0, 4, 4, 4, 16, 20)
"Bytes of a queue name by its code ([MS-MQMQ] 2.2.19.2); a direct name says its own."
_CERT_SIZE: Final = SecurityHeaderStart.offset_of("SenderCertSize")
_TX_NUMBER: Final = TransactionHeaderStart.offset_of("TxSequenceNumber")
_RARE: Final = UserFlags.MQ | UserFlags.AH | UserFlags.HH
"Headers that may follow the MessagePropertiesHeader."
_FRONT: Final = (
    UserFlags.DQ | UserFlags.AQ | UserFlags.RQ | UserFlags.CQ | UserFlags.TH | UserFlags.SH
)
"What decides where the MessagePropertiesHeader begins."
_DIRECT_ONLY: Final = DIRECT << 10


def round_up(size: int) -> int:
    """`size` rounded up to a multiple of 4 ([MS-MQMQ] 2.2.19.1)."""
    return (size + 3) & -4


def _names_size(codes: int) -> int:
    """The size of the three names with these codes, 3 bits each; -1 if one is direct."""
    sizes = [codes >> shift & 7 for shift in (0, 3, 6)]
    return -1 if DIRECT in sizes else sum(_NAME_SIZES[code] for code in sizes)


_NAMES_SIZES: Final = tuple(_names_size(codes) for codes in range(512))
_RARE_BASE: Final = BaseFlags.IN | BaseFlags.SH | BaseFlags.DH
_BODY_SIZES: Final = Struct("<II").unpack_from
_VALUES: Final = Struct("<xB30xIIIIII").unpack_from
"LabelLength, MessageSize, AllocationBodySize, PrivacyLevel, the two algorithms and ExtensionSize."
_place: Final = Struct("<IIII").pack
BodyValues = tuple[int, int, int, int, int, int]
"""Where a body begins, MessageSize, what it takes, PrivacyLevel, HashAlgorithm and
EncryptionAlgorithm.
"""


def properties_offset(data: bytes) -> int:
    """Where the MessagePropertiesHeader begins ([MS-MQMQ] 2.2.20)."""
    flags = u32(data, FLAGS)[0]
    if flags & _FRONT == _DIRECT_ONLY:  # the usual message, by the shortest way
        offset: int = NAMES + (u16(data, NAMES)[0] + 5 & ~3)
        return offset
    return after_security(data, flags, after_transaction(data, flags, after_names(data, flags)))


def marked(data: bytes, marks: int) -> bytes:
    """A message with more bits set in its TransactionHeader.Flags ([MS-MQMQ] 2.2.20.5)."""
    offset = after_names(data, u32(data, FLAGS)[0])
    flags = u32(data, offset)[0] | marks
    return b"".join((data[:offset], flags.to_bytes(4, "little"), data[offset + 4 :]))


def numbered(
    packets: Iterable[bytes],
    ordinal: int,
    time_stamp: int,
    numbers: Iterable[int],
    previous: Iterable[int],
) -> list[bytes]:
    """Messages with their places in a sequence in TransactionHeaders ([MS-MQMQ] 2.2.20.5)."""
    found: list[bytes] = []
    names, end = b"-", 0
    for data, number, before in zip(packets, numbers, previous, strict=True):
        if not data.startswith(names, FLAGS):  # else they end where those of the last did
            end = after_names(data, u32(data, FLAGS)[0])
            names = data[FLAGS:end]
        place = _place(ordinal, time_stamp, number, before)
        found.append(b"".join((data[: end + 4], place, data[end + 20 :])))
    return found


def after_names(data: bytes, flags: int) -> int:
    """Where the names and ConnectorType of a UserHeader end ([MS-MQMQ] 2.2.19.2)."""
    codes = flags >> 10 & 0x1FF
    size = _NAMES_SIZES[codes]
    offset = NAMES
    if size >= 0:
        offset += size
    else:
        for shift in (0, 3, 6):
            code = codes >> shift & 7
            if code == DIRECT:
                offset += round_up(2 + u16(data, offset)[0])
            else:
                offset += _NAME_SIZES[code]
    return offset + 16 if flags & UserFlags.CQ else offset


def names_of(data: bytes, flags: int) -> tuple[list[bytes], int]:
    """Destination, administration and response queue, and where they end ([MS-MQMQ] 2.2.19.2).

    A direct name without its count and padding; nothing for none.
    """
    found: list[bytes] = []
    offset = NAMES
    for shift in (10, 13, 16):
        code = flags >> shift & 7
        if code == DIRECT:
            end = offset + 2 + u16(data, offset)[0]
            found.append(data[offset + 2 : end])
            offset = round_up(end)
        else:
            end = offset + _NAME_SIZES[code]
            found.append(data[offset:end])
            offset = end
    return found, offset


def after_transaction(data: bytes, flags: int, offset: int) -> int:
    """Where the TransactionHeader that may stand at `offset` ends ([MS-MQMQ] 2.2.20.5)."""
    if not flags & UserFlags.TH:
        return offset
    has_connector = data[offset] & TransactionFlags.CG
    return offset + TransactionHeaderStart.SIZE + (16 if has_connector else 0)


def after_security(data: bytes, flags: int, offset: int) -> int:
    """Where the SecurityHeader that may stand at `offset` ends ([MS-MQMQ] 2.2.20.6)."""
    if not flags & UserFlags.SH:
        return offset
    sizes = SecurityHeaderStart.LAYOUT.unpack_from(data, offset)[1:]
    return offset + SecurityHeaderStart.SIZE + sum(map(round_up, sizes))


def check_delivery(data: bytes, flags: int) -> None:
    """Refuse a delivery mode that there is not ([MS-MQMQ] 2.2.19.2, 2.2.20.5).

    Flags.DM is 0 or 1, and 1 with a TransactionHeader, whose numbers begin at 1. This is asked of
    what travels: a message that waits to be sent has no TxSequenceNumber yet.
    """
    mode = (flags & UserFlags.DM) >> 5
    if mode > 1:
        raise Malformed("UserHeader.Flags", FLAGS, f"DM is {mode}, not 0 or 1")
    if not flags & UserFlags.TH:
        return
    if not mode:
        raise Malformed("UserHeader.Flags", FLAGS, "DM is 0, and TH says that it is transactional")
    place = after_names(data, flags) + _TX_NUMBER
    if not u32(data, place)[0]:
        raise Malformed("TransactionHeader.TxSequenceNumber", place, "is 0; the first is 1")


def is_plain(data: bytes) -> bool:
    """Whether `data` is a whole UserMessage without the rarer headers, by the quickest check.

    False means "look closer", not "refuse": `decode_packet` then decides and says why.
    """
    if len(data) < NAMES:
        return False
    version, _, base_flags, signature, size, _ = BaseHeader.LAYOUT.unpack_from(data)
    flags = u32(data, FLAGS)[0]
    if (
        version != VERSION
        or signature != SIGNATURE
        or size != len(data)
        or size > limits.PACKET_SIZE_MAX
        or base_flags & (BaseFlags.IN | BaseFlags.SH | BaseFlags.DH)
        or flags & (_RARE | UserFlags.MP) != UserFlags.MP
    ):
        return False
    try:
        return _names_are_sound(data, flags) and _ends_with_properties(data, flags, size)
    except (IndexError, StructError):
        return False


class PlainRun:
    """Checks messages of which many in a row have the same names: those are looked at once."""

    __slots__ = ("_end", "_front")

    def __init__(self) -> None:
        self._front = b""
        self._end = 0

    def fits(self, data: bytes) -> bool:
        """The same as `is_plain`, for a packet whose BaseHeader was read by a framer."""
        end = self._end
        if not end or data[FLAGS:end] != self._front or u16(data, 2)[0] & _RARE_BASE:
            return self._look(data)
        try:
            return ends_with_body(data, end, len(data))
        except (IndexError, StructError):
            return False

    def _look(self, data: bytes) -> bool:
        if not is_plain(data):
            return False
        flags = u32(data, FLAGS)[0]
        self._end = 0 if flags & (UserFlags.TH | UserFlags.SH) else properties_offset(data)
        self._front = data[FLAGS : self._end]
        return True


def _names_are_sound(data: bytes, flags: int) -> bool:
    """Whether the three queue names have codes they may have, and direct ones their null."""
    codes = flags >> 10 & 0x1FF
    if codes & 7 not in DESTINATION_CODES or codes >> 3 & 7 not in ADMIN_CODES:
        return False
    offset = NAMES
    while codes:
        code = codes & 7
        if code == DIRECT:
            count = u16(data, offset)[0]
            end = offset + 2 + count
            if count < len(NULL_UNIT) or count % 2 or data[end - 2 : end] != NULL_UNIT:
                return False
            offset = round_up(end)
        else:
            offset += _NAME_SIZES[code]
        codes >>= 3
    return True


def _security_is_sound(data: bytes, flags: int, offset: int) -> bool:
    """Whether the SecurityHeader that may stand at `offset` keeps to its one bound."""
    if not flags & UserFlags.SH:
        return True
    return bool(u32(data, offset + _CERT_SIZE)[0] <= limits.SENDER_CERTIFICATE_SIZE_MAX)


def _ends_with_properties(data: bytes, flags: int, size: int) -> bool:
    """Whether a sound MessagePropertiesHeader fills the rest of the packet."""
    offset = after_transaction(data, flags, after_names(data, flags))
    if not _security_is_sound(data, flags, offset):
        return False
    return ends_with_body(data, after_security(data, flags, offset), size)


def ends_with_body(data: bytes, offset: int, size: int) -> bool:
    """The same for a MessagePropertiesHeader that begins at `offset`."""
    label = data[offset + 1]
    message_size, body_size = _BODY_SIZES(data, offset + SIZES)
    label_end = offset + LABEL + 2 * label
    end = label_end + u32(data, offset + EXTENSION_SIZE)[0] + body_size
    return (
        size == round_up(end)
        and body_size >= message_size
        and label <= limits.LABEL_UNITS_MAX
        and (not label or data[label_end - 2 : label_end] == NULL_UNIT)
    )


def one_hop_more(packet: bytes) -> bytes:
    """A packet as a router passes it on: UserHeader.Flags.RC counts it.

    ([MS-MQQB] 3.1.5.8.2, [MS-MQMQ] 2.2.19.2)
    """
    return b"".join((packet[:FLAGS], bytes((packet[FLAGS] + 1,)), packet[FLAGS + 1 :]))


def all_one_hop_more(packets: bytes, sizes: Sequence[int]) -> list[bytes]:
    """The same for packets with equal flags, which follow each other."""
    count = bytes((packets[FLAGS] + 1,))
    ends = [0, *accumulate(sizes)]
    return [
        b"".join((packets[at : at + FLAGS], count, packets[at + FLAGS + 1 : end]))
        for at, end in pairwise(ends)
    ]


class ProtectedLayout:
    """A message with a SecurityHeader ([MS-MQMQ] 2.2.20.6), and where others like it have theirs.

    They have the same source, names and flags, sender and certificate, and sizes; their keys and
    signatures are in the same places, and their properties begin where its properties do.
    """

    __slots__ = (
        "_certificate",
        "_certificate_at",
        "_common",
        "_front",
        "_marks",
        "_start",
        "_transaction",
        "connector",
        "flags",
        "header",
        "key",
        "names",
        "properties",
        "security",
        "signature",
        "source",
        "user_flags",
    )

    def __init__(self, data: bytes) -> None:
        self.user_flags = flags = u32(data, FLAGS)[0]
        (destination, admin, response), end = names_of(data, flags)
        self.names = destination, admin, response
        self.connector = NO_CONNECTOR
        if flags & UserFlags.CQ:
            self.connector = data[end : end + 16]
            end += 16
        self._transaction = end if flags & UserFlags.TH else 0
        self.security = at = after_transaction(data, flags, end)
        self.header = header = SecurityHeader.view(data, at)
        "That of the first; others have another key and signature."
        self.flags = header.flags
        sender = at + SecurityHeaderStart.SIZE
        key = sender + round_up(header.sender_id_size)
        signature = key + round_up(header.encryption_key_size)
        self.key = slice(key, key + header.encryption_key_size)
        self.signature = slice(signature, signature + header.signature_size)
        self._certificate_at = certificate = signature + round_up(header.signature_size)
        provider = certificate + round_up(header.sender_cert_size)
        self.properties = provider + round_up(header.provider_info_size)
        self.source = data[_SOURCE]
        "SourceQueueManager."
        self._common = data[slice(*_COMMON)]
        self._front = data[FLAGS:end]
        self._start = data[at:key]
        self._certificate = data[certificate : self.properties]
        self._marks = data[end] if self._transaction else 0

    def fits(self, data: bytes | bytearray, at: int = 0) -> bool:
        """Whether the message at a place is like this one."""
        starts, place = data.startswith, self._transaction
        return (
            starts(self._certificate, at + self._certificate_at)
            and starts(self._common, at + _COMMON[0])
            and starts(self._front, at + FLAGS)
            and starts(self._start, at + self.security)
            and not (place and (data[at + place] | self._marks) & TransactionFlags.CG)
        )  # one that names a connector is rare, and looked at by itself

    def values(self, data: bytes) -> BodyValues:
        """Where the body is, and how it is protected ([MS-MQMQ] 2.2.19.3).

        It takes what was allocated, if the packet has that (AMB-7).
        """
        at = self.properties
        units, size, room, level, hashed, algorithm, more = _VALUES(data, at)
        start = at + LABEL + 2 * units + more
        return start, size, room if start + room <= len(data) else size, level, hashed, algorithm
