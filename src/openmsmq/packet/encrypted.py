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
from openmsmq.wire.text import ZEROS

_PRIVACY: Final = MessagePropertiesStart.offset_of("PrivacyLevel")
_ALGORITHM: Final = MessagePropertiesStart.offset_of("EncryptionAlgorithm")
_FITTING: Final = frozenset(
    (int(level), int(kind)) for level, kinds in ALGORITHMS.items() for kind in kinds
)
_U32: Final = Struct("<I").pack
_PACK_SECURITY: Final = Struct("<HHH").pack
"Flags, SenderIdSize and EncryptionKeySize."
_PACK_VALUES: Final = Struct("<IIIII").pack
"MessageSize, AllocationBodySize, PrivacyLevel, HashAlgorithm and EncryptionAlgorithm."
_VALUES_SIZE: Final = 20
_ENCRYPTED: Final = SecurityFlags.EB | SecurityFlags.AI
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
    is known: then it has a SecurityHeader.
    """
    if layout is None:
        packet = with_security(packet)
        layout = ProtectedLayout(packet)
    start, size, taken, _, hashed, _ = layout.values(packet)
    values = _PACK_VALUES(size, len(body), level, hashed, algorithm)
    return _rebuilt(packet, layout, layout.flags | _ENCRYPTED, blob, body, values, start, taken)


def without_cipher(
    packet: bytes, body: bytes, layout: ProtectedLayout | None = None, flags: int | None = None
) -> bytes:
    """A message as it is stored: its body clear, EB and the key gone ([MS-MQQB] 3.1.5.8.3).

    `flags` are those of its SecurityHeader then, if they are known.
    """
    layout = layout or ProtectedLayout(packet)
    start, _, taken, level, hashed, algorithm = layout.values(packet)
    flags = layout.flags & ~SecurityFlags.EB if flags is None else flags
    values = _PACK_VALUES(len(body), len(body), level, hashed, algorithm)
    return _rebuilt(packet, layout, flags, b"", body, values, start, taken)


def _rebuilt(
    packet: bytes,
    layout: ProtectedLayout,
    flags: int,
    key: bytes,
    body: bytes,
    values: bytes,
    start: int,
    taken: int,
) -> bytes:
    """A message with another body and EncryptionKey, and the sizes that come of it.

    Its body begins at `start` and has `taken` bytes.
    """
    at, place = layout.security, layout.properties + SIZES
    key_at, key_end = layout.key.start, layout.signature.start
    pad = ZEROS[-len(key) & 3]
    before = start + key_at - key_end + len(key) + len(pad) + len(body)
    filled, end = ZEROS[-before & 3], start + taken + 3 & ~3
    size = before + len(filled) + max(0, len(packet) - end)
    if size > limits.PACKET_SIZE_MAX:
        raise MessageTooLarge(f"the message takes {size} bytes when it is encrypted")
    return b"".join(
        (
            packet[:8],
            _U32(size),
            packet[12:at],
            _PACK_SECURITY(flags, layout.header.sender_id_size, len(key)),
            packet[at + 6 : key_at],
            key,
            pad,
            packet[key_end:place],
            values,
            packet[place + _VALUES_SIZE : start],
            body,
            filled,
            packet[end:],
        )
    )


def is_fitting(level: int, algorithm: int) -> bool:
    """Whether a body may be encrypted so at a level ([MS-MQMQ] 2.2.19.3; MSEC-A27)."""
    return (level, algorithm) in _FITTING
