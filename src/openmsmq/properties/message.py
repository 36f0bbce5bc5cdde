"""The codes and flags a message carries, and its class: what it is or reports of another."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum, IntFlag
from typing import Final

from openmsmq.limits import U32_MAX

PRIORITY_MAX: Final = 7
"The most urgent priority; 0 is the least ([MS-MQMQ] 2.2.19.1)."
PRIORITY_DEFAULT: Final = 3
"The priority of a message that asks for none ([MS-MQDMPR] 3.1.1.12)."
INFINITE: Final = U32_MAX
"A lifetime that never ends ([MS-MQMQ] 2.2.19.1)."
TIME_TO_REACH_QUEUE_DEFAULT: Final = 345_600
"Four days, in seconds ([MS-MQDMPR] 3.1.1.12)."


class DeliveryMode(IntEnum):
    """How a message is kept on its way ([MS-MQMQ] 2.2.19.2, Flags.DM)."""

    EXPRESS = 0
    RECOVERABLE = 1


class JournalFlags(IntFlag):
    """Which copies the sender keeps ([MS-MQMQ] 2.2.19.2, Flags.JN and Flags.JP; 2.5.2)."""

    NONE = 0
    DEAD_LETTER = 1
    JOURNAL = 2


class Acknowledge(IntFlag):
    """The acknowledgements a sender asks for ([MS-MQMQ] 2.2.19.3, Flags).

    The names of sums are those applications use.
    """

    NONE = 0
    POS_ARRIVAL = 0x01
    POS_RECEIVE = 0x02
    NEG_ARRIVAL = 0x04
    NEG_RECEIVE = 0x08
    NACK_REACH_QUEUE = NEG_ARRIVAL
    FULL_REACH_QUEUE = POS_ARRIVAL | NEG_ARRIVAL
    NACK_RECEIVE = NEG_ARRIVAL | NEG_RECEIVE
    FULL_RECEIVE = POS_RECEIVE | NEG_ARRIVAL | NEG_RECEIVE


class SenderIdType(IntEnum):
    """What the sender identifier is ([MS-MQMQ] 2.2.20.6, Flags.ST)."""

    NONE = 0
    SID = 1
    QUEUE_MANAGER = 2


class SignatureType(IntEnum):
    """The kind of signature found on a message ([MS-MQQB] 3.1.5.8.3, [MS-MQDMPR] 3.1.7.1.31).

    The last two are known from the application interface only.
    """

    NONE = 0
    MSMQ_1_0 = 1
    MSMQ_2_0 = 3
    MSMQ_3_0 = 5
    XML = 9
    QUEUE_MANAGER = 11


class AuthenticationLevel(IntFlag):
    """The signature an application asks for; of the application interface, not of the wire."""

    NONE = 0
    ALWAYS = 1
    MSMQ_1_0 = 2
    MSMQ_2_0 = 4
    MSMQ_3_0 = 8


class HashAlgorithm(IntEnum):
    """What a signature hashes with ([MS-MQMQ] 2.2.19.3, HashAlgorithm)."""

    NONE = 0
    MD2 = 0x8001
    MD4 = 0x8002
    MD5 = 0x8003
    SHA1 = 0x8004
    SHA256 = 0x800C
    SHA512 = 0x800E


class EncryptionAlgorithm(IntEnum):
    """What a body is encrypted with ([MS-MQMQ] 2.2.19.3, EncryptionAlgorithm)."""

    NONE = 0
    RC2 = 0x6602
    AES_128 = 0x660E
    AES_192 = 0x660F
    AES_256 = 0x6610
    RC4 = 0x6801


class PrivacyLevel(IntEnum):
    """How strongly a body is encrypted ([MS-MQMQ] 2.2.19.3, PrivacyLevel)."""

    NONE = 0
    BASE = 1
    ENHANCED = 3
    AES = 5


_RC: Final = frozenset({EncryptionAlgorithm.RC2, EncryptionAlgorithm.RC4})
_AES: Final = frozenset(
    {EncryptionAlgorithm.AES_128, EncryptionAlgorithm.AES_192, EncryptionAlgorithm.AES_256}
)

ALGORITHMS: Final[Mapping[PrivacyLevel, frozenset[EncryptionAlgorithm]]] = {
    PrivacyLevel.NONE: frozenset(),
    PrivacyLevel.BASE: _RC,
    PrivacyLevel.ENHANCED: _RC,
    PrivacyLevel.AES: _AES,
}
"The algorithms each level allows ([MS-MQMQ] 2.2.19.3)."


class ProviderType(IntEnum):
    """The kind of cryptographic provider ([MS-MQMQ] 2.2.1)."""

    RSA_FULL = 1
    RSA_AES = 0x18


PROVIDERS: Final[Mapping[PrivacyLevel, str]] = {
    PrivacyLevel.BASE: "Microsoft Base Cryptographic Provider v1.0",
    PrivacyLevel.ENHANCED: "Microsoft Enhanced Cryptographic Provider v1.0",
    PrivacyLevel.AES: "Microsoft Enhanced RSA and AES Cryptographic Provider",
}
"The provider whose key decrypts a message of each level ([MS-MQQB] 3.1.5.8.3)."

NEGATIVE: Final = 0x8000
RECEIVING: Final = 0x4000
APPLICATION_MASK: Final = 0xE1FF
"The bits an application may set in a class of its own ([MS-MQMQ] 2.2.18.1.6)."


class MessageClass(IntEnum):
    """Predefined message classes ([MS-MQMQ] 2.2.18.1.6).

    NACK_COULD_NOT_ENCRYPT, NACK_SOURCE_COMPUTER_GUID_CHANGED and NACK_RECEIVE_TIMEOUT_AT_SENDER
    are known from the application interface only, as is the second name of NACK_DELETED.
    """

    NORMAL = 0x0000
    REPORT = 0x0001
    ACK_REACH_QUEUE = 0x0002
    ORDER_ACK = 0x00FF
    ACK_RECEIVE = 0x4000
    NACK_BAD_DST_Q = 0x8000
    NACK_DELETED = 0x8001
    NACK_PURGED = 0x8001
    NACK_REACH_QUEUE_TIMEOUT = 0x8002
    NACK_Q_EXCEED_QUOTA = 0x8003
    NACK_ACCESS_DENIED = 0x8004
    NACK_HOP_COUNT_EXCEEDED = 0x8005
    NACK_BAD_SIGNATURE = 0x8006
    NACK_BAD_ENCRYPTION = 0x8007
    NACK_COULD_NOT_ENCRYPT = 0x8008
    NACK_NOT_TRANSACTIONAL_Q = 0x8009
    NACK_NOT_TRANSACTIONAL_MSG = 0x800A
    NACK_UNSUPPORTED_CRYPTO_PROVIDER = 0x800B
    NACK_SOURCE_COMPUTER_GUID_CHANGED = 0x800C
    NACK_Q_DELETED = 0xC000
    NACK_Q_PURGED = 0xC001
    NACK_RECEIVE_TIMEOUT = 0xC002
    NACK_RECEIVE_TIMEOUT_AT_SENDER = 0xC003
    NACK_RECEIVE_REJECTED = 0xC004


_TEXTS: Final[Mapping[int, str]] = {
    MessageClass.NORMAL: "a message of an application",
    MessageClass.REPORT: "a report on the way of a traced message",
    MessageClass.ACK_REACH_QUEUE: "the message reached its queue",
    MessageClass.ORDER_ACK: "the transactional messages arrived in order",
    MessageClass.ACK_RECEIVE: "the message was received by an application",
    MessageClass.NACK_BAD_DST_Q: "the destination queue cannot be reached or does not exist",
    MessageClass.NACK_DELETED: "the message was deleted by hand before it arrived",
    MessageClass.NACK_REACH_QUEUE_TIMEOUT: "the message did not reach its queue in time",
    MessageClass.NACK_Q_EXCEED_QUOTA: "the destination queue is full",
    MessageClass.NACK_ACCESS_DENIED: "the sender may not write to the destination queue",
    MessageClass.NACK_HOP_COUNT_EXCEEDED: "the message was passed on too many times",
    MessageClass.NACK_BAD_SIGNATURE: "the signature of the message is not valid",
    MessageClass.NACK_BAD_ENCRYPTION: "the destination could not decrypt the message",
    MessageClass.NACK_COULD_NOT_ENCRYPT: "the sending side could not encrypt the message",
    MessageClass.NACK_NOT_TRANSACTIONAL_Q: (
        "the message belongs to a transaction, but its queue is not transactional"
    ),
    MessageClass.NACK_NOT_TRANSACTIONAL_MSG: (
        "the queue is transactional, but the message was sent outside a transaction"
    ),
    MessageClass.NACK_UNSUPPORTED_CRYPTO_PROVIDER: (
        "the destination lacks the cryptographic provider the message asks for"
    ),
    MessageClass.NACK_SOURCE_COMPUTER_GUID_CHANGED: (
        "the sending queue manager changed its identity after the message was sent"
    ),
    MessageClass.NACK_Q_DELETED: "the queue was deleted before the message was received",
    MessageClass.NACK_Q_PURGED: "the queue was purged before the message was received",
    MessageClass.NACK_RECEIVE_TIMEOUT: "the message was not received in time",
    MessageClass.NACK_RECEIVE_TIMEOUT_AT_SENDER: (
        "not confirmed, may have been received: its time is over and the receiver does not answer"
    ),
    MessageClass.NACK_RECEIVE_REJECTED: "the receiving application rejected the message",
}


def is_negative(code: int) -> bool:
    """True if the class reports a failure ([MS-MQMQ] 2.2.18.1.6)."""
    return bool(code & NEGATIVE)


def is_about_receiving(code: int) -> bool:
    """True if the class reports on receiving, not on arrival ([MS-MQMQ] 2.2.18.1.6)."""
    return bool(code & RECEIVING)


def is_permitted_class(code: int) -> bool:
    """True if an application may send this class ([MS-MQMQ] 2.2.18.1.6)."""
    return not code & ~APPLICATION_MASK


def describe_class(code: int) -> str:
    """What a message of this class says, in plain words."""
    return _TEXTS.get(code, f"a class of an application's own, 0x{code:04X}")
