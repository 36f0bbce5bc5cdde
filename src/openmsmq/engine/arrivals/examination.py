"""What can be found out about a message from its packet alone: encryption, signature, sender.

It is done before a commit takes the message, since RSA takes longer than all the rest; whether a
queue takes what was found is decided in the commit (`protection`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Final, NamedTuple, Self
from uuid import UUID

from openmsmq.engine.arrivals.limits import (
    CERTIFICATES_MAX,
    SESSION_KEY_AGE_MAX,
    SESSION_KEYS_DROPPED,
    SESSION_KEYS_MAX,
)
from openmsmq.engine.arrivals.sender_cache import SenderCache
from openmsmq.errors import InvalidCertificate, Malformed
from openmsmq.packet.encrypted import is_fitting, privacy_of, without_cipher
from openmsmq.packet.headers.security import SecurityFlags, SecurityHeader
from openmsmq.packet.headers.user import UserFlags
from openmsmq.packet.signed import (
    NO_SIGNATURE,
    find_own_signature,
    find_signature,
    hash_algorithm_at,
    view_fields,
)
from openmsmq.packet.view import PacketView
from openmsmq.packet.walk import FLAGS, ProtectedLayout, u32
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
from openmsmq.security.ciphers import BASE_BITS, EFFECTIVE_BITS, BodyCipher
from openmsmq.security.digests import SOUND
from openmsmq.security.principals import principal_sid
from openmsmq.security.rsa import RsaPublicKey
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
_SOURCE: Final = slice(16, 32)
"UserHeader.SourceQueueManager."
_HASHES: Final = frozenset(HashAlgorithm)
_SHORT_RC2: Final = bytes(11)
"The last bytes of an RC2 key of 40 bits from the enhanced provider ([MS-MQQB] 3.1.7.1.5)."
_KNOWN_PROVIDERS: Final = frozenset(name.replace(",", "").lower() for name in PROVIDERS.values())
"Names compare without comma and case (MSEC-A30)."

BodyCiphers = tuple[BodyCipher, ...]
"What a session key may be used with; for RC2 there are two ways."
SignatureFinder = Callable[[RsaPublicKey], SignatureType | None]
"Finds out which signature of a message a key has made."
SessionKeyName = tuple[int, int, bytes, bytes]
"PrivacyLevel, EncryptionAlgorithm, source and blob ([MS-MQQB] 3.1.5.8.3)."


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

    @classmethod
    def of(cls, packet: bytes, finding: Examination) -> Self:
        """A packet with its finding."""
        found = cls(packet)
        found.finding = finding
        return found


class ExaminedGroup(NamedTuple):
    """Messages that differ in little, about all of which the same was found out."""

    packets: bytes
    "As they are stored, one after the other."
    sizes: list[int]
    finding: Examination
    "That of the first: none has a fault, and a signature may come again."
    singles: Callable[[], Sequence[bytes]]
    "The same messages one by one, as they came."


class _Signer(NamedTuple):
    """Who signed a message, if the signature is right."""

    certificate: Certificate | None
    sender: Sid | None
    is_known: bool


class Examiner:
    """Decrypts and verifies messages that come for queues of this manager."""

    def __init__(self) -> None:
        self._session_keys: dict[SessionKeyName, tuple[float, BodyCiphers]] = {}
        "What unwrapped keys are for, by their names, the oldest first."
        self.policy = SecurityPolicy()
        self.keyring = Keyring()
        self.directory: SenderCache | None = None
        "What the directory says of senders; None without one."
        self._layout: ProtectedLayout | None = None
        "Of the last message with a SecurityHeader."
        self._signer: tuple[ProtectedLayout, Keyring, _Signer] | None = None
        "Who signed it, as the keyring has it."

    @property
    def policy(self) -> SecurityPolicy:
        """Which protection counts."""
        return self._policy

    @policy.setter
    def policy(self, policy: SecurityPolicy) -> None:
        self._policy = policy
        self.forget_session_keys()  # there may be some of ciphers that do not count any longer

    def examined(self, packet: bytes, now: float) -> ExaminedPacket:
        """The same packet with its finding; `Malformed` if its sender writes no such header."""
        return ExaminedPacket.of(packet, self.examine(packet, now))

    def examined_group(
        self, packets: list[bytes], now: float
    ) -> ExaminedGroup | list[ExaminedPacket]:
        """The same for packets that differ in little; each by itself if the findings differ.

        Where a signature counts once, messages are looked at one by one.
        """
        layout = self._layout_of(packets[0])
        findings = [self._examine(packet, layout, now) for packet in packets]

        def singles() -> list[ExaminedPacket]:
            return list(map(ExaminedPacket.of, packets, findings))

        first = findings[0]
        about = first[1:]
        if about[0] is not None or first.signature or any(item[1:] != about for item in findings):
            return singles()
        stored = [finding.packet for finding in findings]
        return ExaminedGroup(b"".join(stored), list(map(len, stored)), first, singles)

    def examine(self, packet: bytes, now: float) -> Examination:
        """Security of a message, in the order of [MS-MQQB] 3.1.5.8.3, decryption first (AMB-44).

        `now` is in seconds since 1970 UTC. `SenderPending` if the directory has to be asked first,
        `Malformed` for a SecurityHeader that contradicts
        itself ([MS-MQMQ] 2.2.20.6).
        """
        if not u32(packet, FLAGS)[0] & UserFlags.SH:  # without a certificate no signature is right
            fault = BAD_SIGNATURE if view_fields(PacketView(packet), None).signature else None
            return Examination(packet, fault)
        return self._examine(packet, self._layout_of(packet), now)

    def _examine(self, packet: bytes, layout: ProtectedLayout, now: float) -> Examination:
        """The same for a message with a SecurityHeader, whose parts were found."""
        start, size, taken = layout.body_range(packet)
        is_encrypted = bool(layout.flags & SecurityFlags.EB)
        clear = packet
        if is_encrypted:
            found = self._decrypt(packet, layout, packet[start : start + taken], size, now)
            if found is None:
                return Examination(packet, BAD_ENCRYPTION, is_encrypted=True)
            body, clear = found, without_cipher(packet, found, layout)
        else:
            body = packet[start : start + size]
        signature, find = _signature_of(packet, layout, body)
        if not signature:
            return Examination(_marked(clear, layout, 0), is_encrypted=is_encrypted)
        kind, sender, fault = self._verify(packet, layout, find, now)
        if fault is not None:
            return Examination(packet, fault, is_encrypted=is_encrypted)
        name = signature_name(signature, layout) if self.policy.replay_window else b""
        clear = _marked(clear, layout, SecurityFlags.AU | kind << 8)
        return Examination(clear, None, kind, sender, is_encrypted, name)

    def _layout_of(self, packet: bytes) -> ProtectedLayout:
        """Where the parts of a message are; most often as in the one before.

        `Malformed` for a sender that is not what the header says it is ([MS-MQMQ] 2.2.20.6).
        """
        layout = self._layout
        if layout is None or not layout.fits(packet):
            layout = ProtectedLayout(packet)
            check_sender_id(layout.header)
            self._layout = layout
        return layout

    # The body

    def _decrypt(
        self, packet: bytes, layout: ProtectedLayout, body: bytes, size: int, now: float
    ) -> bytes | None:
        """The clear body; None for anything that is wrong with it (MSEC-A34).

        Its padding says how long it is, and MessageSize has to agree, unless it is the size of the
        encrypted body (MSEC-A10).
        """
        name = (*privacy_of(packet, layout), packet[_SOURCE], packet[layout.key])
        is_clear_size = size != len(body)
        for ciphers in self._candidates(name, now):
            for cipher in ciphers:
                clear = cipher.decrypt(body)
                if clear is not None and not (is_clear_size and len(clear) != size):
                    self._remember(name, ciphers, now)
                    return clear
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

    def _candidates(self, name: SessionKeyName, now: float) -> list[BodyCiphers]:
        """The session keys that a blob may hold, one for each key of this manager.

        A key is remembered for a while ([MS-MQQB] 3.1.5.8.3, 3.1.6.10).
        """
        cache = self._session_keys
        while cache and now >= cache[oldest := next(iter(cache))][0] + SESSION_KEY_AGE_MAX:
            del cache[oldest]
        known = cache.get(name)
        if known is not None:
            return [known[1]]
        raw_level, raw_algorithm, _, blob = name
        if not is_fitting(raw_level, raw_algorithm):
            return []
        level, algorithm = PrivacyLevel(raw_level), EncryptionAlgorithm(raw_algorithm)
        if (level, algorithm) not in self.policy.ciphers:
            return []
        own = (key for key in self.keyring.keys if key.level is level)
        found = [one for key in own if (one := key.unwrap(algorithm, blob)) is not None]
        keys = [one.key for one in sorted(found, key=lambda one: not one.is_plausible)]
        return [
            tuple(
                BodyCipher(algorithm, key, bits) for bits in self._effective(level, algorithm, key)
            )
            for key in keys
        ]

    def _remember(self, name: SessionKeyName, ciphers: BodyCiphers, now: float) -> None:
        cache = self._session_keys
        if name in cache:
            return
        if len(cache) >= SESSION_KEYS_MAX:
            for old in list(cache)[:SESSION_KEYS_DROPPED]:
                del cache[old]
        cache[name] = now, ciphers

    def forget_session_keys(self) -> None:
        """Unwrap all keys anew: the keys of this manager have changed."""
        self._session_keys.clear()

    # The signature

    def _verify(
        self, packet: bytes, layout: ProtectedLayout, find: SignatureFinder, now: float
    ) -> tuple[SignatureType, Sid | None, MessageClass | None]:
        """Which signature is right and who made it, or why none is ([MS-MQQB] 3.1.5.8.3)."""
        nothing, policy = SignatureType.NONE, self._policy
        algorithm = hash_algorithm_at(packet, layout)
        if algorithm not in policy.hashes or algorithm not in _HASHES:
            return nothing, None, BAD_SIGNATURE
        certificate, sender, is_known = self._signer_of(layout, packet[_SOURCE])
        if certificate is None or not certificate.is_valid_at(now):
            return nothing, None, BAD_SIGNATURE
        key = certificate.key
        if key is None:
            return nothing, None, _not_rsa(layout.header)
        if key.bits < policy.key_bits_min:
            return nothing, None, BAD_SIGNATURE
        kind = find(key)
        if kind is None or kind not in policy.signatures:
            return nothing, None, BAD_SIGNATURE
        is_user = layout.flags & SecurityFlags.ST == SenderIdType.SID
        if not is_known and is_user and sender is not None and self.directory is not None:
            is_known = certificate.der in self.directory.certificates(sender, now)
        return (kind, sender, None) if is_known else (nothing, None, BAD_SIGNATURE)

    def _signer_of(self, layout: ProtectedLayout, source: bytes) -> _Signer:
        """The certificate of a message, whose it is, and whether the keyring knows that."""
        last = self._signer
        if last is not None and last[0] is layout and last[1] is self.keyring:
            return last[2]
        der = layout.header.sender_cert
        found = _Signer(_certificate(der), *self._sender(layout.header, der, source))
        self._signer = layout, self.keyring, found
        return found

    def _sender(
        self, security: SecurityHeader, der: bytes, source: bytes
    ) -> tuple[Sid | None, bool]:
        """Whose certificate it is, and whether that is as the message says ([MS-MQQB] 3.1.5.8.3).

        Without a sender in the message the signature is right, and says nothing about who sent it.
        A certificate belongs to a user if that user has registered the very same bytes, here or in
        the directory, which is asked when the signature is right, and to a queue manager if it is
        registered for `manager:GUID`. That one must be the source of the message (MSEC-A24), and is
        everyone to permissions.
        """
        kind = security.flags & SecurityFlags.ST
        if kind == SenderIdType.NONE:
            return None, True
        if kind == SenderIdType.QUEUE_MANAGER:
            if security.security_id != source:
                return None, False
            return EVERYONE, der in self.keyring.senders.get(_manager_sid(source), ())
        sid = _sid(security.security_id)
        return sid, der in self.keyring.senders.get(sid, ())


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


def _signature_of(
    packet: bytes, layout: ProtectedLayout, body: bytes
) -> tuple[bytes, SignatureFinder]:
    """The signature that counts, or nothing, and what finds out which one it is."""
    if layout.user_flags & UserFlags.MQ:
        fields = view_fields(PacketView(packet), layout.header)
        return fields.signature, lambda key: find_signature(fields, key, body)
    own = packet[layout.signature]
    own = b"" if own in NO_SIGNATURE else own
    return own, lambda key: find_own_signature(packet, layout, key, body)


def signature_name(signature: bytes, layout: ProtectedLayout) -> bytes:
    """What names a signature among all that come to a queue (MSEC-A38)."""
    parts = (layout.header.sender_cert, signature, layout.names[0])
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


def _marked(packet: bytes, layout: ProtectedLayout, marks: int) -> bytes:
    """A message with AU and AS as they were found: no sender is believed (A-62)."""
    at, is_clear = layout.security, packet[layout.security] & SecurityFlags.EB
    flags = layout.flags & ~(SecurityFlags.AU | SecurityFlags.AS | SecurityFlags.EB)
    flags |= is_clear | marks
    return b"".join((packet[:at], flags.to_bytes(2, "little"), packet[at + 2 :]))


def _not_rsa(security: SecurityHeader) -> MessageClass:
    """The class for a key that is not RSA: of an unknown provider, or of none (MSEC-A28)."""
    if security.flags & SecurityFlags.DE or not security.provider_info:
        return BAD_SIGNATURE
    name = security.provider_name.replace(",", "").lower()
    is_known = name in _KNOWN_PROVIDERS
    return BAD_SIGNATURE if is_known else MessageClass.NACK_UNSUPPORTED_CRYPTO_PROVIDER
