"""Messages whose bodies only their receiver can read ([MS-MQQB] 3.1.7.1.5, 3.1.5.8.3)."""

from __future__ import annotations

from dataclasses import replace
from struct import Struct
from typing import Final

from openmsmq import limits
from openmsmq.errors import MessageTooLarge
from openmsmq.packet.headers.properties import MessagePropertiesStart
from openmsmq.packet.headers.security import SecurityFlags, SecurityHeader
from openmsmq.packet.headers.user import UserFlags
from openmsmq.packet.message import UserMessage
from openmsmq.packet.view import PacketView
from openmsmq.packet.walk import properties_offset, u32
from openmsmq.properties.message import ALGORITHMS, EncryptionAlgorithm, PrivacyLevel

_PRIVACY: Final = MessagePropertiesStart.offset_of("PrivacyLevel")
_ALGORITHM: Final = MessagePropertiesStart.offset_of("EncryptionAlgorithm")
_U32: Final = Struct("<I").pack


def privacy_of(packet: bytes) -> int:
    """PrivacyLevel: what the sender asked for, or got ([MS-MQMQ] 2.2.19.3)."""
    level: int = u32(packet, properties_offset(packet) + _PRIVACY)[0]
    return level


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
    message = PacketView(packet).message()
    security = message.security or SecurityHeader.make(0)
    flags = security.flags | SecurityFlags.EB | SecurityFlags.AI
    return _rebuilt(
        message,
        replace(security, flags=flags, encryption_key=blob, encryption_key_size=len(blob)),
        body,
        message_size=message.properties.message_size,
        privacy_level=level,
        encryption_algorithm=algorithm,
    )


def without_cipher(message: UserMessage, body: bytes) -> bytes:
    """A message as it is stored: its body clear, EB and the key gone ([MS-MQQB] 3.1.5.8.3)."""
    security = message.security
    assert security is not None, "an encrypted message has its key in a SecurityHeader"
    flags = security.flags & ~SecurityFlags.EB
    padded = (security.paddings[0], b"", *security.paddings[2:])
    cleared = replace(
        security, flags=flags, encryption_key=b"", encryption_key_size=0, paddings=padded
    )
    return _rebuilt(message, cleared, body, message_size=len(body))


def _rebuilt(
    message: UserMessage, security: SecurityHeader, body: bytes, **properties: int
) -> bytes:
    """A message with another body and SecurityHeader, and the sizes that come of it."""
    user = replace(message.user, flags=message.user.flags | UserFlags.SH)
    changed = replace(
        message.properties,
        allocation_body_size=len(body),
        body_field=body,
        padding=b"",
        **properties,  # type: ignore[arg-type]  # all of them numbers
    )
    found = replace(message, user=user, security=security, properties=changed)
    session = 0 if found.session is None or found.session_is_inside else found.session.SIZE
    size = len(found.encode()) - session
    if size > limits.PACKET_SIZE_MAX:
        raise MessageTooLarge(f"the message takes {size} bytes when it is encrypted")
    return replace(found, base=replace(found.base, packet_size=size)).encode()


def is_fitting(level: int, algorithm: int) -> bool:
    """Whether a body may be encrypted so at a level ([MS-MQMQ] 2.2.19.3; MSEC-A27)."""
    found = {int(one): kinds for one, kinds in ALGORITHMS.items()}
    return algorithm in found.get(level, ())


def cipher_bytes(message: UserMessage) -> bytes:
    """What is to be decrypted: AllocationBodySize bytes, as the packet has them (AMB-7)."""
    return message.properties.body_field
