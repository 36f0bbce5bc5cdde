"""Messages whose bodies only their receiver can read ([MS-MQQB] 3.1.7.1.5, 3.1.5.8.3)."""

from __future__ import annotations

from struct import Struct
from typing import Final

from openmsmq import limits
from openmsmq.errors import MessageTooLarge
from openmsmq.packet.headers.properties import MessagePropertiesStart
from openmsmq.packet.headers.security import SecurityFlags, SecurityHeader
from openmsmq.packet.headers.user import UserFlags
from openmsmq.packet.view import PacketView
from openmsmq.packet.walk import FLAGS, SIZES, ProtectedLayout, properties_offset, u32
from openmsmq.properties.message import ALGORITHMS, EncryptionAlgorithm, PrivacyLevel
from openmsmq.wire.text import padding, round_up

_PRIVACY: Final = MessagePropertiesStart.offset_of("PrivacyLevel")
_ALGORITHM: Final = MessagePropertiesStart.offset_of("EncryptionAlgorithm")
_FITTING: Final = frozenset(
    (int(level), int(kind)) for level, kinds in ALGORITHMS.items() for kind in kinds
)
_U32: Final = Struct("<I").pack
_PACK_SECURITY: Final = Struct("<HHH").pack
"Flags, SenderIdSize and EncryptionKeySize."
_VALUES: Final = Struct("<IIIII").unpack_from
_PACK_VALUES: Final = Struct("<IIIII").pack
"MessageSize, AllocationBodySize, PrivacyLevel, HashAlgorithm and EncryptionAlgorithm."
_EMPTY: Final = SecurityHeader.make(0).encode()


def asking_for_privacy(packet: bytes, level: PrivacyLevel, algorithm: EncryptionAlgorithm) -> bytes:
    """A clear message that is to be encrypted when it leaves ([MS-MQMQ] 2.2.19.3)."""
    at = properties_offset(packet)
    place, after = at + _PRIVACY, at + _ALGORITHM
    parts = (packet[:place], _U32(level), packet[place + 4 : after], _U32(algorithm))
    return b"".join((*parts, packet[after + 4 :]))


def with_security(packet: bytes) -> bytes:
    """A message with a SecurityHeader, which is empty if it had none ([MS-MQMQ] 2.2.20.6)."""
    flags = u32(packet, FLAGS)[0]
    if flags & UserFlags.SH:
        return packet
    at = PacketView(packet).security_offset
    marked = packet[:FLAGS] + _U32(flags | UserFlags.SH) + packet[FLAGS + 4 : at]
    return marked + _EMPTY + packet[at:]


def with_cipher(
    packet: bytes,
    level: PrivacyLevel,
    algorithm: EncryptionAlgorithm,
    blob: bytes,
    body: bytes,
    layout: ProtectedLayout | None = None,
) -> bytes:
    """A message with its body encrypted and its session key ([MS-MQQB] 3.1.7.1.5).

    AllocationBodySize is the length of `body`, MessageSize stays that of the clear one (AMB-7).
    `MessageTooLarge` if that does not fit into a packet. `layout` is that of the packet, where it
    is known.
    """
    packet = with_security(packet)
    layout = layout or ProtectedLayout(packet)
    size, _, _, hashed, _ = _VALUES(packet, layout.properties + SIZES)
    values = _PACK_VALUES(size, len(body), level, hashed, algorithm)
    marks = layout.flags | SecurityFlags.EB | SecurityFlags.AI
    return _rebuilt(packet, layout, marks, blob, body, values)


def without_cipher(packet: bytes, body: bytes, layout: ProtectedLayout | None = None) -> bytes:
    """A message as it is stored: its body clear, EB and the key gone ([MS-MQQB] 3.1.5.8.3)."""
    layout = layout or ProtectedLayout(packet)
    values = _PACK_VALUES(len(body), len(body), *_VALUES(packet, layout.properties + SIZES)[2:])
    return _rebuilt(packet, layout, layout.flags & ~SecurityFlags.EB, b"", body, values)


def _rebuilt(
    packet: bytes, layout: ProtectedLayout, flags: int, key: bytes, body: bytes, values: bytes
) -> bytes:
    """A message with another body and EncryptionKey, and the sizes that come of it."""
    at, place = layout.security, layout.properties + SIZES
    start, _, taken = layout.body_range(packet)
    head = b"".join(
        (
            packet[12:at],
            _PACK_SECURITY(flags, layout.header.sender_id_size, len(key)),
            packet[at + 6 : layout.key.start],
            key,
            padding(len(key)),
            packet[layout.signature.start : place],
            values,
            packet[place + len(values) : start],
        )
    )
    before = 12 + len(head) + len(body)
    rest = padding(before) + packet[round_up(start + taken) :]
    size = before + len(rest)
    if size > limits.PACKET_SIZE_MAX:
        raise MessageTooLarge(f"the message takes {size} bytes when it is encrypted")
    return b"".join((packet[:8], _U32(size), head, body, rest))


def privacy_of(packet: bytes, layout: ProtectedLayout) -> tuple[int, int]:
    """PrivacyLevel and EncryptionAlgorithm ([MS-MQMQ] 2.2.19.3)."""
    _, _, level, _, algorithm = _VALUES(packet, layout.properties + SIZES)
    return level, algorithm


def is_fitting(level: int, algorithm: int) -> bool:
    """Whether a body may be encrypted so at a level ([MS-MQMQ] 2.2.19.3; MSEC-A27)."""
    return (level, algorithm) in _FITTING
