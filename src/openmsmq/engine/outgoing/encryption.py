"""Bodies encrypted for the manager that they go to, when they leave ([MS-MQQB] 3.1.7.1.5)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple
from uuid import UUID

from openmsmq.engine.outgoing.limits import SESSION_KEYS_DROPPED, SESSION_KEYS_MAX
from openmsmq.errors import (
    EncryptionProviderNotSupported,
    IllegalFormatName,
    Malformed,
    PublicKeyDoesNotExist,
    PublicKeyNotFound,
)
from openmsmq.names.direct import DirectName
from openmsmq.names.parts import fold
from openmsmq.packet.encrypted import with_cipher, with_security
from openmsmq.packet.headers.user import NO_GUID
from openmsmq.packet.view import PacketView
from openmsmq.packet.walk import ProtectedLayout
from openmsmq.properties.message import PROVIDERS, EncryptionAlgorithm, PrivacyLevel
from openmsmq.security.ciphers import BASE_BITS, EFFECTIVE_BITS, BodyCipher, key_size
from openmsmq.security.keys import DirectoryPublicKeys
from openmsmq.security.rsa import RsaPublicKey
from openmsmq.security.session_keys import fill_size, public_key_of, wrap

PREFERRED: Final[Mapping[PrivacyLevel, EncryptionAlgorithm]] = {
    PrivacyLevel.AES: EncryptionAlgorithm.AES_256,
    PrivacyLevel.ENHANCED: EncryptionAlgorithm.RC4,
    PrivacyLevel.BASE: EncryptionAlgorithm.RC4,
}
"What is sent at each level ([MS-MQQB] 3.1.3.1), the strongest first (MSEC-A14)."


@dataclass(frozen=True, slots=True)
class PeerKeys:
    """The public keys of other managers, by their identities and by names of their computers."""

    by_manager: Mapping[UUID, DirectoryPublicKeys] = field(default_factory=dict)
    by_computer: Mapping[str, UUID] = field(default_factory=dict)
    "Names as `fold` has them."


class _Way(NamedTuple):
    """For whom a body is encrypted, and how."""

    manager: UUID
    level: PrivacyLevel
    key: RsaPublicKey


class _SessionKey(NamedTuple):
    """A key, and the same wrapped for its receiver."""

    since: float
    cipher: BodyCipher
    blob: bytes


class Encryptor:
    """Encrypts bodies for other managers, with keys that were agreed on with none of them."""

    def __init__(self) -> None:
        self.peers = PeerKeys()
        self.published: Mapping[UUID, bytes] = {}
        "What managers have published in the directory: MQDSPUBLICKEYS, as they were read last."
        self.random: Callable[[int], bytes] | None = None
        "Gives random bytes; without it nothing is encrypted."
        self.levels: frozenset[PrivacyLevel] = frozenset({PrivacyLevel.AES})
        "What may be sent: the others protect nothing (docs/security.md)."
        self.encrypts_direct = False
        "Messages to direct names are encrypted, too, against the text (MSEC-A17)."
        self.key_lifetime = 0
        "Seconds that a session key is used again; 0: each message has its own (MSEC-A16)."
        self._session_keys: dict[tuple[PrivacyLevel, EncryptionAlgorithm, UUID], _SessionKey] = {}
        "Those that are used again, the oldest first."
        self._layout: ProtectedLayout | None = None
        "Of the last message."
        self._way: tuple[tuple[object, ...], _Way] | None = None
        "How that was encrypted, and what it follows from."
        self._used: tuple[_Way, _SessionKey] | None = None
        "The key that was used last, if it may be used again."

    def encrypt(self, packet: bytes, now: float) -> bytes:
        """A message with its body encrypted for its destination ([MS-MQQB] 3.1.7.1.5).

        It is signed by then ([MS-MQQB] 3.1.7.1). `MQError` if it cannot be encrypted: then it must
        not be sent ([MS-MQQB] 3.1.7.1.5.1).
        """
        layout = self._layout
        if layout is None or not layout.fits(packet):
            packet = with_security(packet)
            if layout is None or not layout.fits(packet):
                self._layout = layout = ProtectedLayout(packet)
        way = self._way_of(packet, layout)
        level, algorithm = way.level, PREFERRED[way.level]
        session = self._session_key(way, algorithm, now)
        start, size, *_ = layout.values(packet)
        body = session.cipher.encrypt(packet[start : start + size])
        return with_cipher(packet, level, algorithm, session.blob, body, layout)

    def _way_of(self, packet: bytes, layout: ProtectedLayout) -> _Way:
        """For whom a message is encrypted, and how; most often as the one before."""
        state = layout, self.peers, self.published, self.levels, self.encrypts_direct
        if self._way is not None and self._way[0] == state:
            return self._way[1]
        manager = self._manager(PacketView(packet))
        found = _Way(manager, *self._key(manager))
        self._way = state, found
        return found

    def _manager(self, view: PacketView) -> UUID:
        """Whose keys are used: those of the destination, never of a next hop (MSEC-A16)."""
        address = view.queue_manager_address
        if address != NO_GUID:
            return address
        try:
            name = view.destination
        except IllegalFormatName:
            name = None
        if not self.encrypts_direct or not isinstance(name, DirectName):
            raise PublicKeyNotFound("a message to a direct name is not encrypted (encrypt_direct)")
        found = self.peers.by_computer.get(fold(name.address))
        if found is None:
            raise PublicKeyNotFound(f"no keys of {name.address} are here: openmsmq key import")
        return found

    def _key(self, manager: UUID) -> tuple[PrivacyLevel, RsaPublicKey]:
        """The strongest key of a manager that may be used ([MS-MQQB] 3.1.7.1.5, MSEC-A14).

        Its provider decides which level protects the body ([MS-MQDMPR] 3.1.1.12).
        """
        keys = self.peers.by_manager.get(manager)
        if keys is None:
            keys = self._published(manager)
        if not keys.keys:
            raise PublicKeyDoesNotExist(f"{manager} has none")
        for level in PREFERRED:
            found = keys.of_provider(PROVIDERS[level])
            if found is not None and level in self.levels:
                return level, public_key_of(found.public_key())
        raise EncryptionProviderNotSupported(f"{manager} has no key for AES")

    def _published(self, manager: UUID) -> DirectoryPublicKeys:
        """The keys of a manager that the directory has ([MS-MQMQ] 2.2.2).

        `PublicKeyDoesNotExist` if it has none ([MS-MQMQ] 2.4).
        """
        raw = self.published.get(manager)
        if raw is None:
            raise PublicKeyNotFound(f"no keys of {manager} are here: openmsmq key import")
        if not raw:
            raise PublicKeyDoesNotExist(f"{manager} has published none")
        try:
            return DirectoryPublicKeys.decode(raw)
        except Malformed as error:
            raise PublicKeyNotFound(f"the keys of {manager} in the directory: {error}") from None

    def _session_key(self, way: _Way, algorithm: EncryptionAlgorithm, now: float) -> _SessionKey:
        """A new key, or one that was used before; RC4 would show where two bodies differ."""
        used, lifetime = self._used, self.key_lifetime
        if used is not None and used[0] is way and now < used[1].since + lifetime:
            return used[1]
        manager, level, key = way
        name, cache = (level, algorithm, manager), self._session_keys
        is_cached = lifetime > 0 and algorithm is not EncryptionAlgorithm.RC4
        known = cache.get(name) if is_cached else None
        if known is None or now >= known.since + lifetime:
            made = self._random(key_size(level, algorithm))
            fill = bytes(byte or 1 for byte in self._random(fill_size(key, made)))  # none is zero
            effective = BASE_BITS if level is PrivacyLevel.BASE else EFFECTIVE_BITS
            cipher = BodyCipher(algorithm, made, effective)
            known = _SessionKey(now, cipher, wrap(key, algorithm, made, fill))
            cache.pop(name, None)
            if is_cached:
                if len(cache) >= SESSION_KEYS_MAX:
                    for old in list(cache)[:SESSION_KEYS_DROPPED]:
                        del cache[old]
                cache[name] = known
        self._used = (way, known) if is_cached else None
        return known

    def _random(self, size: int) -> bytes:
        if self.random is None:
            raise EncryptionProviderNotSupported("this manager has no source of random numbers")
        return self.random(max(0, size))

    def forget_session_keys(self) -> None:
        """Wrap new keys: the keys of other managers have changed."""
        self._session_keys.clear()
        self._used = None
