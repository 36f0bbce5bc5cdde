"""What can be found out about a message from its packet alone: encryption, signature, sender.

It is done before a commit takes the message, since RSA takes longer than all the rest; whether a
queue takes what was found is decided in the commit (`protection`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, NamedTuple
from uuid import UUID

from openmsmq.engine.arrivals.limits import (
    CERTIFICATES_MAX,
    SESSION_KEY_AGE_MAX,
    SESSION_KEYS_DROPPED,
    SESSION_KEYS_MAX,
)
from openmsmq.engine.arrivals.sender_cache import SenderCache
from openmsmq.errors import InvalidCertificate, Malformed
from openmsmq.packet.encrypted import is_fitting, without_cipher
from openmsmq.packet.headers.security import SecurityFlags, SecurityHeader
from openmsmq.packet.headers.user import UserFlags
from openmsmq.packet.message import UserMessage
from openmsmq.packet.signed import SignedFields, find_signature, view_fields
from openmsmq.packet.view import PacketView
from openmsmq.properties.message import (
    ALGORITHMS,
    PROVIDERS,
    EncryptionAlgorithm,
    HashAlgorithm,
    MessageClass,
    PrivacyLevel,
    SenderIdType,
    SignatureType,
)
from openmsmq.security.ciphers import BASE_BITS, EFFECTIVE_BITS, decrypt_body
from openmsmq.security.digests import SOUND
from openmsmq.security.principals import principal_sid
from openmsmq.security.session_keys import ExchangeKey
from openmsmq.security.sid import EVERYONE, Sid
from openmsmq.security.x509 import Certificate, decode_certificate

PROTECTED: Final = UserFlags.SH | UserFlags.MQ
"Headers that can hold a key or a signature: only messages with one of them are looked at."
BAD_ENCRYPTION: Final = MessageClass.NACK_BAD_ENCRYPTION
BAD_SIGNATURE: Final = MessageClass.NACK_BAD_SIGNATURE
MODERN_CIPHERS: Final = frozenset(
    (PrivacyLevel.AES, algorithm) for algorithm in ALGORITHMS[PrivacyLevel.AES]
)
_HASHES: Final = frozenset(HashAlgorithm)
_SHORT_RC2: Final = bytes(11)
"The last bytes of an RC2 key of 40 bits from the enhanced provider ([MS-MQQB] 3.1.7.1.5)."
_KNOWN_PROVIDERS: Final = frozenset(name.replace(",", "").lower() for name in PROVIDERS.values())
"Names compare without comma and case (MSEC-A30)."

SessionKeyName = tuple[PrivacyLevel, EncryptionAlgorithm, bytes, bytes]
"Provider, algorithm, source and blob ([MS-MQQB] 3.1.5.8.3)."


@dataclass(frozen=True, slots=True)
class SecurityPolicy:
    """Which protection counts: by default what is worth something today (MSEC-A08, MSEC-A35)."""

    hashes: frozenset[int] = SOUND
    signatures: frozenset[SignatureType] = frozenset(
        {SignatureType.MSMQ_2_0, SignatureType.MSMQ_3_0}
    )
    "Version 1.0 does not cover the destination."
    key_bits_min: int = 2048
    "Of a certificate."
    ciphers: frozenset[tuple[PrivacyLevel, EncryptionAlgorithm]] = MODERN_CIPHERS
    rejects_short_rc2: bool = True
    "RejectEnhancedRC2Using40BitKeys ([MS-MQQB] 3.1.5.8.3)."
    takes_unidentified: bool = False
    "A signature without a sender satisfies a queue that demands authentication (MSEC-A22)."
    replay_window: int = 0
    "Seconds in which a signature counts for one message only (MSEC-A38); 0: it may come again."


@dataclass(frozen=True, slots=True)
class Keyring:
    """What this manager can check and decrypt with; replaced whole when files change."""

    senders: Mapping[Sid, tuple[bytes, ...]] = field(default_factory=dict)
    "Registered certificates, in DER, of each user ([MS-MQDMPR] 3.1.1.15)."
    keys: tuple[ExchangeKey, ...] = ()
    "Keys that others encrypt with for this manager, the newest first."


class Examination(NamedTuple):
    """What was found out about a packet."""

    packet: bytes
    "As it is stored: decrypted, with AU and AS as they were found."
    fault: MessageClass | None = None
    kind: SignatureType = SignatureType.NONE
    "The signature that was found right."
    sender: Sid | None = None
    "Who signed it, if that is proven."
    is_encrypted: bool = False
    signature: bytes = b""
    "What names the signature among all (MSEC-A38)."


class ExaminedPacket(bytes):
    """A packet as it came, and what was found out about it."""

    finding: Examination


class Examiner:
    """Decrypts and verifies messages that come for queues of this manager."""

    def __init__(self) -> None:
        self.policy = SecurityPolicy()
        self.keyring = Keyring()
        self.directory: SenderCache | None = None
        "What the directory says of senders; None without one."
        self._session_keys: dict[SessionKeyName, tuple[float, bytes]] = {}
        "Unwrapped keys by provider, algorithm, source and blob, the oldest first."

    def examined(self, packet: bytes, now: float) -> ExaminedPacket:
        """The same packet with its finding; `Malformed` if its sender writes no such header."""
        found = ExaminedPacket(packet)
        found.finding = self.examine(packet, now)
        return found

    def examine(self, packet: bytes, now: float) -> Examination:
        """Security of a message, in the order of [MS-MQQB] 3.1.5.8.3, decryption first (AMB-44).

        `now` is in seconds since 1970 UTC. `SenderPending` if the directory has to be asked first,
        `Malformed` for a SecurityHeader that contradicts
        itself ([MS-MQMQ] 2.2.20.6).
        """
        view = PacketView(packet)
        security = view.security
        if security is not None:
            check_sender_id(security)
        is_encrypted = security is not None and bool(security.flags & SecurityFlags.EB)
        clear = packet
        if is_encrypted:
            body = self._decrypt(view.message(), now)
            if body is None:
                return Examination(packet, BAD_ENCRYPTION, is_encrypted=True)
            clear = without_cipher(packet, body)
        else:
            body = view.body
        clear = PacketView(clear).unverified()  # only what is found here counts
        fields = view_fields(view, security)
        if not fields.signature:
            return Examination(clear, is_encrypted=is_encrypted)
        kind, sender, fault = self._verify(fields, security, body, now)
        if fault is not None:
            return Examination(packet, fault, is_encrypted=is_encrypted)
        if security is not None:
            clear = PacketView(clear).verified(kind)
        name = signature_name(fields, security)
        return Examination(clear, None, kind, sender, is_encrypted, name)

    # The body

    def _decrypt(self, message: UserMessage, now: float) -> bytes | None:
        """The clear body; None for anything that is wrong with it (MSEC-A34)."""
        properties, security = message.properties, message.security
        assert security is not None
        level, algorithm = properties.privacy_level, properties.encryption_algorithm
        if not is_fitting(level, algorithm):
            return None
        way = PrivacyLevel(level), EncryptionAlgorithm(algorithm)
        if way not in self.policy.ciphers:
            return None
        source = message.user.source_queue_manager
        name = (*way, source.bytes, security.encryption_key)
        for key in self._candidates(name, now):
            body = self._body(message, *way, key)
            if body is not None:
                self._remember(name, key, now)
                return body
        return None

    def _body(
        self,
        message: UserMessage,
        level: PrivacyLevel,
        algorithm: EncryptionAlgorithm,
        key: bytes,
    ) -> bytes | None:
        """The body under a session key; its padding says how long it is (MSEC-A10)."""
        properties = message.properties
        size = properties.message_size
        is_clear_size = size != properties.allocation_body_size
        for effective in self._effective(level, algorithm, key):
            body = decrypt_body(algorithm, key, properties.body_field, effective=effective)
            if body is not None and not (is_clear_size and len(body) != size):
                return body
        return None

    def _effective(
        self, level: PrivacyLevel, algorithm: EncryptionAlgorithm, key: bytes
    ) -> tuple[int, ...]:
        """The lengths of RC2 keys that are tried (MSEC-A12)."""
        if algorithm is not EncryptionAlgorithm.RC2:
            return (EFFECTIVE_BITS,)
        if level is PrivacyLevel.BASE:
            return (BASE_BITS,)
        if self.policy.rejects_short_rc2:
            return () if key.endswith(_SHORT_RC2) else (EFFECTIVE_BITS,)
        return (EFFECTIVE_BITS, BASE_BITS)

    def _candidates(self, name: SessionKeyName, now: float) -> list[bytes]:
        """The session keys that a blob may hold, one for each key of this manager.

        A key is remembered for a while ([MS-MQQB] 3.1.5.8.3, 3.1.6.10).
        """
        cache = self._session_keys
        for old in [old for old, (since, _) in cache.items() if now >= since + SESSION_KEY_AGE_MAX]:
            del cache[old]
        if name in cache:
            return [cache[name][1]]
        level, algorithm, _, blob = name
        own = (key for key in self.keyring.keys if key.level is level)
        found = [one for key in own if (one := key.unwrap(algorithm, blob)) is not None]
        return [one.key for one in sorted(found, key=lambda one: not one.is_plausible)]

    def _remember(self, name: SessionKeyName, key: bytes, now: float) -> None:
        cache = self._session_keys
        if name in cache:
            return
        if len(cache) >= SESSION_KEYS_MAX:
            for old in list(cache)[:SESSION_KEYS_DROPPED]:
                del cache[old]
        cache[name] = now, key

    def forget_session_keys(self) -> None:
        """Unwrap all keys anew: the keys of this manager have changed."""
        self._session_keys.clear()

    # The signature

    def _verify(
        self, fields: SignedFields, security: SecurityHeader | None, body: bytes, now: float
    ) -> tuple[SignatureType, Sid | None, MessageClass | None]:
        """Which signature is right and who made it, or why none is ([MS-MQQB] 3.1.5.8.3)."""
        nothing, policy = SignatureType.NONE, self.policy
        algorithm = fields.hash_algorithm
        if algorithm not in policy.hashes or algorithm not in _HASHES:
            return nothing, None, BAD_SIGNATURE
        der = b"" if security is None else security.sender_cert
        certificate = _certificate(der)
        if certificate is None or not certificate.is_valid_at(now):
            return nothing, None, BAD_SIGNATURE
        key = certificate.key
        if key is None:
            return nothing, None, _not_rsa(security)
        if key.bits < policy.key_bits_min:
            return nothing, None, BAD_SIGNATURE
        kind = find_signature(fields, key, body)
        if kind is None or kind not in policy.signatures:
            return nothing, None, BAD_SIGNATURE
        sender, is_known = self._sender(security, der, fields.source, now)
        return (kind, sender, None) if is_known else (nothing, None, BAD_SIGNATURE)

    def _sender(
        self, security: SecurityHeader | None, der: bytes, source: bytes, now: float
    ) -> tuple[Sid | None, bool]:
        """Whose certificate it is, and whether that is as the message says ([MS-MQQB] 3.1.5.8.3).

        Without a sender in the message the signature is right, and says nothing about who sent it.
        A certificate belongs to a user if that user has registered the very same bytes, here or in
        the directory, and to a queue manager if it is registered for `manager:GUID`. That one must
        be the source of the message (MSEC-A24), and is everyone to permissions.
        """
        kind = SenderIdType.NONE if security is None else security.flags & SecurityFlags.ST
        if security is None or kind == SenderIdType.NONE:
            return None, True
        if kind == SenderIdType.QUEUE_MANAGER:
            if security.security_id != source:
                return None, False
            return EVERYONE, der in self.keyring.senders.get(_manager_sid(source), ())
        sid = _sid(security.security_id)
        is_known = der in self.keyring.senders.get(sid, ())
        if not is_known and self.directory is not None:
            is_known = der in self.directory.certificates(sid, now)
        return sid, is_known


def check_sender_id(security: SecurityHeader) -> None:
    """Refuse a sender identifier that is not what ST says it is ([MS-MQMQ] 2.2.20.6)."""
    kind, raw = security.flags & SecurityFlags.ST, security.security_id
    if kind == SenderIdType.SID:
        _sid(raw)
    elif kind == SenderIdType.QUEUE_MANAGER:
        if len(raw) != 16:
            raise Malformed("SecurityID", 0, f"{len(raw)} bytes are not a GUID")
    elif kind != SenderIdType.NONE:
        raise Malformed("SecurityHeader.Flags", 0, f"ST is {kind}, not 0, 1 or 2")
    elif raw:
        raise Malformed("SenderIdSize", 0, f"is {len(raw)}, and ST says that there is none")


def signature_name(fields: SignedFields, security: SecurityHeader | None) -> bytes:
    """What names a signature among all that come to a queue (MSEC-A38)."""
    certificate = b"" if security is None else security.sender_cert
    parts = (certificate, fields.signature, fields.names[0])
    return hashlib.sha256(b"".join(hashlib.sha256(part).digest() for part in parts)).digest()


@lru_cache(maxsize=CERTIFICATES_MAX)
def _sid(raw: bytes) -> Sid:
    return Sid.decode(raw)


@lru_cache(maxsize=CERTIFICATES_MAX)
def _manager_sid(raw: bytes) -> Sid:
    return principal_sid("manager", str(UUID(bytes_le=raw)))


@lru_cache(maxsize=CERTIFICATES_MAX)
def _certificate(der: bytes) -> Certificate | None:
    try:
        return decode_certificate(der)
    except InvalidCertificate:
        return None


def _not_rsa(security: SecurityHeader | None) -> MessageClass:
    """The class for a key that is not RSA: of an unknown provider, or of none (MSEC-A28)."""
    if security is None or security.flags & SecurityFlags.DE or not security.provider_info:
        return BAD_SIGNATURE
    name = security.provider_name.replace(",", "").lower()
    is_known = name in _KNOWN_PROVIDERS
    return BAD_SIGNATURE if is_known else MessageClass.NACK_UNSUPPORTED_CRYPTO_PROVIDER
