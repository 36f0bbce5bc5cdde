"""What can be found out about a message from its packet alone: encryption, signature, sender.

It is done before a commit takes the message, since RSA takes longer than all the rest; whether a
queue takes what was found is decided in the commit (`protection`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import repeat
from operator import itemgetter
from struct import Struct
from typing import Final, NamedTuple, Self

from openmsmq.engine.arrivals.limits import (
    SESSION_KEY_AGE_MAX,
    SESSION_KEYS_DROPPED,
    SESSION_KEYS_MAX,
)
from openmsmq.engine.arrivals.sender_cache import SenderCache
from openmsmq.engine.arrivals.signers import ClaimedSigner, check_sender_id, find_signer
from openmsmq.packet.encrypted import is_fitting, without_cipher
from openmsmq.packet.headers.security import SecurityFlags
from openmsmq.packet.headers.user import UserFlags
from openmsmq.packet.signed import (
    NO_SIGNATURE,
    SignedFields,
    find_own_signature,
    find_signature,
    signed_at,
    view_fields,
)
from openmsmq.packet.view import PacketView
from openmsmq.packet.walk import FLAGS, BodyValues, ProtectedLayout, u32
from openmsmq.properties.message import (
    ALGORITHMS,
    EncryptionAlgorithm,
    HashAlgorithm,
    MessageClass,
    PrivacyLevel,
    SenderIdType,
    SignatureType,
)
from openmsmq.security.ciphers import BASE_BITS, EFFECTIVE_BITS, BodyCipher
from openmsmq.security.digests import SOUND
from openmsmq.security.rsa import opened
from openmsmq.security.session_keys import ExchangeKey
from openmsmq.security.sid import Sid

PROTECTED: Final = UserFlags.SH | UserFlags.MQ
"Headers that can hold a key or a signature: only messages with one of them are looked at."
BAD_ENCRYPTION: Final = MessageClass.NACK_BAD_ENCRYPTION
BAD_SIGNATURE: Final = MessageClass.NACK_BAD_SIGNATURE
MODERN_CIPHERS: Final = frozenset(
    (PrivacyLevel.AES, algorithm) for algorithm in ALGORITHMS[PrivacyLevel.AES]
)
_EB: Final = SecurityFlags.EB
_AU: Final = SecurityFlags.AU
_UNPROVEN: Final = ~(SecurityFlags.AU | SecurityFlags.AS | SecurityFlags.EB)
_u16: Final = Struct("<H").pack
_HASHES: Final = frozenset(HashAlgorithm)
_SHORT_RC2: Final = bytes(11)
"The last bytes of an RC2 key of 40 bits from the enhanced provider ([MS-MQQB] 3.1.7.1.5)."
_STORED: Final = itemgetter(0)
_ABOUT: Final = itemgetter(slice(1, None))
"All of an examination but its packet."

BodyCiphers = tuple[BodyCipher, ...]
"What a session key may be used with; for RC2 there are two ways."
Question = Callable[[], bool]
"Something that takes long to find out, and that nothing else changes meanwhile."
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


class Examiner:
    """Decrypts and verifies messages that come for queues of this manager."""

    def __init__(self) -> None:
        self._session_keys: dict[SessionKeyName, tuple[float, BodyCiphers]] = {}
        "What unwrapped keys are for, by their names, the oldest first."
        self._layout: ProtectedLayout | None = None
        "Of the last message with a SecurityHeader."
        self._signer: tuple[ProtectedLayout, Keyring, ClaimedSigner] | None = None
        "Who signed it, as the keyring and the policy have it."
        self.policy = SecurityPolicy()
        self.keyring = Keyring()
        self.ask: Callable[[Sequence[Question]], list[bool]] = ask_in_turn
        "Answers questions, maybe several at once."
        self.directory: SenderCache | None = None
        "What the directory says of senders; None without one."

    @property
    def policy(self) -> SecurityPolicy:
        """Which protection counts."""
        return self._policy

    @policy.setter
    def policy(self, policy: SecurityPolicy) -> None:
        self._policy = policy
        self._hashes = policy.hashes & _HASHES
        self._signer = None
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
        findings = self._examine(packets, self._layout_of(packets[0]), now)

        def singles() -> list[ExaminedPacket]:
            return list(map(ExaminedPacket.of, packets, findings))

        first = findings[0]
        alike = list(map(_ABOUT, findings)).count(first[1:])
        if first.fault is not None or first.signature or alike != len(findings):
            return singles()
        stored = list(map(_STORED, findings))
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
        return self._examine([packet], self._layout_of(packet), now)[0]

    def _examine(
        self, packets: list[bytes], layout: ProtectedLayout, now: float
    ) -> list[Examination]:
        """The same for messages with a SecurityHeader, whose parts were found."""
        values = list(map(layout.values, packets))
        look = self._decrypt if layout.flags & _EB else _clear_body
        bodies = list(map(look, packets, repeat(layout), values, repeat(now)))
        hashes = [found[4] for found in values]
        right = self.ask(self._questions(packets, layout, hashes, bodies, now))
        first = self._judge(packets[0], layout, hashes[0], bodies[0], right[0], now)
        if all(right) and first.fault is None and not first.signature:  # so it is of all
            about, flags = first[1:], layout.flags & _UNPROVEN | _AU | first.kind << 8
            stored = [
                _stored(packet, layout, body, flags)
                for packet, body in zip(packets, bodies, strict=True)
                if body is not None
            ]
            return [Examination(packet, *about) for packet in stored]
        judged = map(
            self._judge, packets[1:], repeat(layout), hashes[1:], bodies[1:], right[1:], repeat(now)
        )
        return [first, *judged]

    def _judge(
        self,
        packet: bytes,
        layout: ProtectedLayout,
        algorithm: int,
        body: bytes | None,
        is_right: bool,
        now: float,
    ) -> Examination:
        """What is found out about a message whose body is clear; None for one that is not.

        `is_right` says that it has a right signature of version 2.0; other ones are looked for.
        """
        is_encrypted = layout.flags & _EB != 0
        if body is None:
            return Examination(packet, BAD_ENCRYPTION, is_encrypted=True)
        signature, flags = packet[layout.signature], layout.flags & _UNPROVEN
        kind, sender, fields = SignatureType.NONE, None, None
        if layout.user_flags & UserFlags.MQ:
            fields = view_fields(PacketView(packet), layout.header)
            signature = fields.signature
        if signature and signature not in NO_SIGNATURE:
            judged = self._verify(
                packet, layout, signature, fields, algorithm, body, now, is_right=is_right
            )
            if isinstance(judged, MessageClass):
                return Examination(packet, judged, is_encrypted=is_encrypted)
            kind, sender = judged
            flags |= _AU | kind << 8  # as they were found: no sender is believed
        name = signature_name(signature, layout) if kind and self._policy.replay_window else b""
        stored = _stored(packet, layout, body, flags)
        return Examination(stored, None, kind, sender, is_encrypted, name)

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
        self, packet: bytes, layout: ProtectedLayout, values: BodyValues, now: float
    ) -> bytes | None:
        """The clear body; None for anything that is wrong with it (MSEC-A34).

        Its padding says how long it is, and MessageSize has to agree, unless it is the size of the
        encrypted body (MSEC-A10).
        """
        start, size, taken, level, _, algorithm = values
        body = packet[start : start + taken]
        name = level, algorithm, layout.source, packet[layout.key]
        is_clear_size = size != len(body)
        known = self._session_keys.get(name)
        if known is not None and now >= known[0] + SESSION_KEY_AGE_MAX:
            known = None
        for ciphers in self._candidates(name) if known is None else (known[1],):
            for cipher in ciphers:
                clear = cipher.decrypt(body)
                if clear is not None and not (is_clear_size and len(clear) != size):
                    if known is None:
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

    def _candidates(self, name: SessionKeyName) -> list[BodyCiphers]:
        """The session keys that a blob may hold, one for each key of this manager."""
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
        """Keep an unwrapped key for a while ([MS-MQQB] 3.1.5.8.3, 3.1.6.10)."""
        cache = self._session_keys
        cache.pop(name, None)
        while cache and now >= cache[oldest := next(iter(cache))][0] + SESSION_KEY_AGE_MAX:
            del cache[oldest]
        if len(cache) >= SESSION_KEYS_MAX:
            for old in list(cache)[:SESSION_KEYS_DROPPED]:
                del cache[old]
        cache[name] = now, ciphers

    def forget_session_keys(self) -> None:
        """Unwrap all keys anew: the keys of this manager have changed."""
        self._session_keys.clear()

    # The signature

    def _questions(
        self,
        packets: list[bytes],
        layout: ProtectedLayout,
        hashes: list[int],
        bodies: list[bytes | None],
        now: float,
    ) -> list[Question]:
        """Whether messages have a right signature of version 2.0, as nearly all that are signed.

        RSA takes longer than all the rest: where no signature can count it is not asked for.
        """
        if layout.user_flags & UserFlags.MQ or not layout.header.signature_size:
            return [_no] * len(packets)
        signer = self._signer_of(layout)
        if signer.certificate is None or not signer.certificate.is_valid_at(now):
            return [_no] * len(packets)
        place, verifiers = layout.signature, signer.verifiers
        return [
            _no
            if body is None or algorithm not in verifiers
            else partial(verifiers[algorithm], packet[place][::-1], signed_at(packet, layout, body))
            for packet, algorithm, body in zip(packets, hashes, bodies, strict=True)
        ]

    def _verify(
        self,
        packet: bytes,
        layout: ProtectedLayout,
        signature: bytes,
        fields: SignedFields | None,
        algorithm: int,
        body: bytes,
        now: float,
        *,
        is_right: bool,
    ) -> tuple[SignatureType, Sid | None] | MessageClass:
        """Which signature is right and who made it, or why none is ([MS-MQQB] 3.1.5.8.3).

        `fields` are those of a message to several queues.
        """
        if algorithm not in self._hashes:
            return BAD_SIGNATURE
        certificate, key, opener, _, fault, sender, is_known = self._signer_of(layout)
        if certificate is None or not certificate.is_valid_at(now):
            return BAD_SIGNATURE
        if key is None or opener is None:
            return fault
        if is_right:
            kind: SignatureType | None = SignatureType.MSMQ_2_0
        elif fields is not None:
            kind = find_signature(fields, key, body)
        else:
            info = opened(opener, signature)
            kind = find_own_signature(packet, layout, info, algorithm, body) if info else None
        if kind is None or kind not in self._policy.signatures:
            return BAD_SIGNATURE
        is_user = layout.flags & SecurityFlags.ST == SenderIdType.SID
        if not is_known and is_user and sender is not None and self.directory is not None:
            is_known = certificate.der in self.directory.certificates(sender, now)
        return (kind, sender) if is_known else BAD_SIGNATURE

    def _signer_of(self, layout: ProtectedLayout) -> ClaimedSigner:
        """Who is said to have signed a message; most often as the one before."""
        last = self._signer
        if last is not None and last[0] is layout and last[1] is self.keyring:
            return last[2]
        found = find_signer(layout, self.keyring.senders, self._hashes, self._policy.key_bits_min)
        self._signer = layout, self.keyring, found
        return found


def ask_in_turn(questions: Sequence[Question]) -> list[bool]:
    """The answers, one after the other."""
    return [question() for question in questions]


def _no() -> bool:
    return False


def _clear_body(packet: bytes, layout: ProtectedLayout, values: BodyValues, now: float) -> bytes:
    start, size, *_ = values
    return packet[start : start + size]


def _stored(packet: bytes, layout: ProtectedLayout, body: bytes, flags: int) -> bytes:
    """A message as it is stored: clear, its SecurityHeader with these flags."""
    if layout.flags & _EB:
        return without_cipher(packet, body, layout, flags)
    at = layout.security
    return b"".join((packet[:at], _u16(flags), packet[at + 2 :]))


def signature_name(signature: bytes, layout: ProtectedLayout) -> bytes:
    """What names a signature among all that come to a queue (MSEC-A38)."""
    parts = (layout.header.sender_cert, signature, layout.names[0])
    return hashlib.sha256(b"".join(hashlib.sha256(part).digest() for part in parts)).digest()
