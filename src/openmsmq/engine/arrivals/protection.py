"""Which protected messages can be taken at all, until they can be decrypted and verified."""

from __future__ import annotations

from typing import Final

from openmsmq.packet.headers.security import SecurityFlags
from openmsmq.packet.headers.user import UserFlags
from openmsmq.packet.view import PacketView
from openmsmq.properties.message import HashAlgorithm, MessageClass

PROTECTED: Final = UserFlags.SH | UserFlags.MQ
"Headers that can hold a key or a signature: only messages with one of them are looked at."
_NO_SIGNATURE: Final = (b"", bytes(4))
"Four zero bytes say that there is none here (MSEC-A07)."
_KNOWN_HASHES: Final = frozenset(HashAlgorithm) - {HashAlgorithm.NONE}


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
