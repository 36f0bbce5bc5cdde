"""Messages whose bodies only their receiver can read ([MS-MQQB] 3.1.7.1.5, 3.1.5.8.3)."""

from __future__ import annotations

from struct import Struct
from typing import Final

from openmsmq import limits
from openmsmq.errors import MessageTooLarge
from openmsmq.packet.headers.properties import MessagePropertiesStart
from openmsmq.packet.headers.security import SecurityFlags, SecurityHeader, SecurityHeaderStart
from openmsmq.packet.headers.user import UserFlags
from openmsmq.packet.view import PacketView
from openmsmq.packet.walk import FLAGS, SIZES, properties_offset, u32
from openmsmq.properties.message import ALGORITHMS, EncryptionAlgorithm, PrivacyLevel
from openmsmq.wire.text import padding, round_up

_PRIVACY: Final = MessagePropertiesStart.offset_of("PrivacyLevel")
_ALGORITHM: Final = MessagePropertiesStart.offset_of("EncryptionAlgorithm")
_FITTING: Final = frozenset(
    (int(level), int(kind)) for level, kinds in ALGORITHMS.items() for kind in kinds
)
_U32: Final = Struct("<I").pack
_SECURITY: Final = Struct("<HHH").unpack_from
_PACK_SECURITY: Final = Struct("<HHH").pack
"Flags, SenderIdSize and EncryptionKeySize."
_BODY_SIZES: Final = Struct("<II").unpack_from
_PACK_SIZES: Final = Struct("<II").pack
"MessageSize and AllocationBodySize."


def asking_for_privacy(packet: bytes, level: PrivacyLevel, algorithm: EncryptionAlgorithm) -> bytes:
    """A clear message that is to be encrypted when it leaves ([MS-MQMQ] 2.2.19.3)."""
    at = properties_offset(packet)
    place, after = at + _PRIVACY, at + _ALGORITHM
    parts = (packet[:place], _U32(level), packet[place + 4 : after], _U32(algorithm))
    return b"".join((*parts, packet[after + 4 :]))


def with_cipher(
    packet: bytes, level: PrivacyLevel, algorithm: EncryptionAlgorithm, blob: bytes, body: bytes
) -> bytes:
    """A message with its body encrypted and its session key ([MS-MQQB] 3.1.7.1.5).

    AllocationBodySize is the length of `body`, MessageSize stays that of the clear one (AMB-7).
    `MessageTooLarge` if that does not fit into a packet.
    """
    packet = asking_for_privacy(packet, level, algorithm)
    flags = u32(packet, FLAGS)[0]
    if not flags & UserFlags.SH:
        at = PacketView(packet).security_offset
        marked = packet[:FLAGS] + _U32(flags | UserFlags.SH) + packet[FLAGS + 4 : at]
        packet = marked + SecurityHeader.make(0).encode() + packet[at:]
    size = PacketView(packet).message_size
    return _rebuilt(packet, blob, body, size, set_flags=SecurityFlags.EB | SecurityFlags.AI)


def without_cipher(packet: bytes, body: bytes) -> bytes:
    """A message as it is stored: its body clear, EB and the key gone ([MS-MQQB] 3.1.5.8.3)."""
    return _rebuilt(packet, b"", body, len(body), clear_flags=SecurityFlags.EB)


def _rebuilt(
    packet: bytes,
    key: bytes,
    body: bytes,
    message_size: int,
    *,
    set_flags: int = 0,
    clear_flags: int = 0,
) -> bytes:
    """A message with another body and EncryptionKey, and the sizes that come of it."""
    view = PacketView(packet)
    at, properties, start = view.security_offset, properties_offset(packet), view.body_offset
    flags, sender_size, key_size = _SECURITY(packet, at)
    key_at = at + SecurityHeaderStart.SIZE + round_up(sender_size)
    sizes = properties + SIZES
    room = _BODY_SIZES(packet, sizes)
    taken = room[1] if start + room[1] <= len(packet) else room[0]
    parts = (
        packet[12:at],
        _PACK_SECURITY(flags & ~clear_flags | set_flags, sender_size, len(key)),
        packet[at + 6 : key_at],
        key,
        padding(len(key)),
        packet[key_at + round_up(key_size) : sizes],
        _PACK_SIZES(message_size, len(body)),
        packet[sizes + 8 : start],
        body,
    )
    before = 12 + sum(map(len, parts))
    rest = padding(before), packet[round_up(start + taken) :]
    size = before + sum(map(len, rest))
    if size > limits.PACKET_SIZE_MAX:
        raise MessageTooLarge(f"the message takes {size} bytes when it is encrypted")
    return b"".join((packet[:8], _U32(size), *parts, *rest))


def is_fitting(level: int, algorithm: int) -> bool:
    """Whether a body may be encrypted so at a level ([MS-MQMQ] 2.2.19.3; MSEC-A27)."""
    return (level, algorithm) in _FITTING
