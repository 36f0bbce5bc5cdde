"""Which messages of other managers a queue takes: by protection, and by its permissions."""

from __future__ import annotations

from typing import Final

from openmsmq.engine.queues.queue import QueueProperties
from openmsmq.packet.headers.security import SecurityFlags
from openmsmq.packet.headers.user import UserFlags
from openmsmq.packet.view import PacketView
from openmsmq.properties.message import HashAlgorithm, MessageClass
from openmsmq.security.access import QueueRights
from openmsmq.security.access_check import Token, is_granted

PROTECTED: Final = UserFlags.SH | UserFlags.MQ
"Headers that can hold a key or a signature: only messages with one of them are looked at."
_NO_SIGNATURE: Final = (b"", bytes(4))
"Four zero bytes say that there is none here (MSEC-A07)."
PRIVACY_BODY: Final = 2
"Queue.PrivacyLevel: encrypted messages only ([MS-MQDMPR] 3.1.1.2)."
_WRITE: Final = int(QueueRights.WRITE_MESSAGE)
_KNOWN_HASHES: Final = frozenset(HashAlgorithm) - {HashAlgorithm.NONE}


def fault_of(
    properties: QueueProperties, packet: bytes, flags: int, principal: Token, *, is_verified: bool
) -> MessageClass | None:
    """Why a queue does not take a message ([MS-MQQB] 3.1.5.8.3); None if it does.

    Encryption comes first, then the signature, then what the queue demands, and access last.
    `flags` are those of the UserHeader, `principal` is who sent it if it proves nothing,
    `is_verified` says that its transport has verified what AS says of a signature (SRMP).
    """
    if flags & PROTECTED:
        fault = security_fault(PacketView(packet))
        if fault is not None:
            return fault
    if properties.privacy == PRIVACY_BODY:
        return MessageClass.NACK_BAD_ENCRYPTION
    if properties.authenticate and not (is_verified and _has_signature(packet, flags)):
        return MessageClass.NACK_BAD_SIGNATURE
    if not is_granted(properties.permissions, principal, _WRITE):
        return MessageClass.NACK_ACCESS_DENIED
    return None


def _has_signature(packet: bytes, flags: int) -> bool:
    """Whether AS says that a signature was found right."""
    security = PacketView(packet).security if flags & UserFlags.SH else None
    return security is not None and security.signature_type != 0


def security_fault(view: PacketView) -> MessageClass | None:
    """Why a message cannot be taken ([MS-MQQB] 3.1.5.8.3); None if it can.

    A body that is encrypted (EB) cannot be read here. A signature needs a hash that is known
    ([MS-MQMQ] 2.2.19.3). Without EB and a signature, PrivacyLevel, HashAlgorithm and
    EncryptionAlgorithm mean nothing (MSEC-A26, MSEC-A27).
    """
    security = view.security
    if security is not None and security.flags & SecurityFlags.EB:
        return MessageClass.NACK_BAD_ENCRYPTION
    is_signed = security is not None and security.signature not in _NO_SIGNATURE
    if not is_signed and not _is_signed_for_many(view):
        return None
    is_known = view.message().properties.hash_algorithm in _KNOWN_HASHES
    return None if is_known else MessageClass.NACK_BAD_SIGNATURE


def _is_signed_for_many(view: PacketView) -> bool:
    """Whether the signature stands behind a list of destinations ([MS-MQMQ] 2.2.20.1)."""
    header = view.message().multi_queue if view.flags & UserFlags.MQ else None
    return header is not None and header.signature.signature not in _NO_SIGNATURE
