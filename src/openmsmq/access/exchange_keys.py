"""Keys for encrypted messages: those of this manager, and the public ones of others.

`keys.json` holds the private keys of the manager, for its owner only: who has them can read what
was encrypted for it. `peer_keys.json` holds what other managers have exported.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from uuid import UUID, uuid4

from openmsmq.access.owner_file import OwnerFile
from openmsmq.clock import Clock, SystemClock
from openmsmq.errors import InvalidParameter, Malformed, StorageError
from openmsmq.names.parts import fold
from openmsmq.properties.message import PROVIDERS, PrivacyLevel, ProviderType
from openmsmq.security.keys import CALG_RSA_KEYX, DirectoryPublicKey, DirectoryPublicKeys
from openmsmq.security.rsa import RsaPublicKey
from openmsmq.security.session_keys import ExchangeKey, blob_of, public_key_of
from openmsmq.store.directories import make_directory

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

KEYS_FILE: Final = "keys.json"
PEER_KEYS_FILE: Final = "peer_keys.json"
KEY_BITS: Final = 2048
KEY_SIZES: Final = (1024, 2048, 3072, 4096)
RETIRED_FOR: Final = 5 * 24 * 60 * 60
"""Seconds that a key still decrypts after another took its place: messages take up to four days to
arrive, and senders use session keys for up to twelve hours.
"""
LEVELS: Final[Mapping[str, PrivacyLevel]] = {
    "aes": PrivacyLevel.AES,
    "enhanced": PrivacyLevel.ENHANCED,
    "base": PrivacyLevel.BASE,
}
_PROVIDER_TYPES: Final = {PrivacyLevel.AES: ProviderType.RSA_AES}


class KeysDamaged(StorageError):
    """A file of keys cannot be read, so nothing is encrypted or decrypted. Restore it."""


class NoSuchKey(InvalidParameter):
    """There is no such key; `openmsmq key list` shows those that there are."""


@dataclass(frozen=True, slots=True, repr=False)
class OwnKey:
    """A private key of this manager."""

    id: str
    level: str
    "Which of MSMQ's providers it is of: aes, enhanced or base."
    private: str
    "PKCS#8, PEM."
    created: int
    retired: int | None = None
    "When another took its place; seconds since 1970 UTC, both."

    def __repr__(self) -> str:
        return f"OwnKey({self.id!r}, {self.level!r})"

    def loaded(self) -> ExchangeKey:
        """The key, ready to decrypt."""
        found = _load(self.private)
        numbers = found.private_numbers()
        public = RsaPublicKey(numbers.public_numbers.n, numbers.public_numbers.e)
        return ExchangeKey(LEVELS[self.level], found, public, numbers.d)


class OwnKeys:
    """The keys that others encrypt with for this manager ([MS-MQDMPR] 3.1.3)."""

    def __init__(self, directory: Path, clock: Clock | None = None) -> None:
        """Nothing is read yet; see `refresh`."""
        self._directory = directory
        self._clock = clock or SystemClock()
        self._file: OwnerFile[OwnKey] = OwnerFile(
            directory / KEYS_FILE, "keys", _decode_own, asdict, KeysDamaged
        )

    def __iter__(self) -> Iterator[OwnKey]:
        """Those that decrypt, the oldest first."""
        self.refresh()
        return (one for one in self._file.values.values() if not self._is_over(one))

    def refresh(self) -> bool:
        """Read the file if it has changed; whether it has."""
        return self._file.refresh()

    def loaded(self) -> tuple[ExchangeKey, ...]:
        """The keys that decrypt, the newest first, as the file was read last."""
        found = [one for one in self._file.values.values() if not self._is_over(one)]
        return tuple(one.loaded() for one in reversed(found))

    def create(self, level: str, bits: int = KEY_BITS) -> OwnKey:
        """A new key; the one before decrypts for some days more, what is over is removed."""
        from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
        from cryptography.hazmat.primitives.serialization import (
            Encoding,
            NoEncryption,
            PrivateFormat,
        )

        made = generate_private_key(65537, bits)
        pem = made.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
        now = int(self._clock.now())
        make_directory(self._directory)
        with self._file.changing() as keys:
            for old in list(keys.values()):
                if self._is_over(old):
                    del keys[old.id]
                elif old.level == level and old.retired is None:
                    keys[old.id] = replace(old, retired=now)
            new = OwnKey(str(uuid4()), level, pem, now)
            keys[new.id] = new
            self._file.note("create key", new.id)
        return new

    def published(self) -> DirectoryPublicKeys:
        """What other managers need to encrypt for this one ([MS-MQMQ] 2.2.2)."""
        current = [one.loaded() for one in self if one.retired is None]
        return DirectoryPublicKeys(tuple(map(_published, current)))

    def _is_over(self, key: OwnKey) -> bool:
        return key.retired is not None and self._clock.now() >= key.retired + RETIRED_FOR


@dataclass(frozen=True, slots=True)
class PeerPublicKeys:
    """The public keys of another manager."""

    manager: str
    "Its identity."
    name: str
    "Its computer, as direct names have it; empty if it is not known."
    keys: str
    "MQDSPUBLICKEYS ([MS-MQMQ] 2.2.2), in hexadecimal digits."
    created: int

    def decoded(self) -> DirectoryPublicKeys:
        """Its keys; `Malformed` if they are none."""
        return DirectoryPublicKeys.decode(bytes.fromhex(self.keys))


class PeerKeyFile:
    """What other managers have published, as far as it was imported here."""

    def __init__(self, directory: Path, clock: Clock | None = None) -> None:
        """Nothing is read yet; see `refresh`."""
        self._directory = directory
        self._clock = clock or SystemClock()
        self._file: OwnerFile[PeerPublicKeys] = OwnerFile(
            directory / PEER_KEYS_FILE, "peers", _decode_peer, asdict, KeysDamaged
        )

    def __iter__(self) -> Iterator[PeerPublicKeys]:
        """All of them."""
        self.refresh()
        return iter(self._file.values.values())

    def refresh(self) -> bool:
        """Read the file if it has changed; whether it has."""
        return self._file.refresh()

    def by_manager(self) -> dict[UUID, DirectoryPublicKeys]:
        """Keys by identity, as the file was read last."""
        return {UUID(one.manager): one.decoded() for one in self._file.values.values()}

    def by_computer(self) -> dict[str, UUID]:
        """Identities by the name of the computer."""
        named = [one for one in self._file.values.values() if one.name]
        return {fold(one.name): UUID(one.manager) for one in named}

    def add(self, manager: UUID, name: str, keys: str) -> PeerPublicKeys:
        """Keep the keys of a manager, in place of those from before."""
        entry = PeerPublicKeys(str(manager), name, keys.lower(), int(self._clock.now()))
        try:
            _decode_peer(asdict(entry))
        except ValueError as error:
            raise InvalidParameter(f"these are no keys of a manager: {error}") from None
        make_directory(self._directory)
        with self._file.changing() as peers:
            peers[entry.manager] = entry
            self._file.note("import key", f"manager:{entry.name or entry.manager}")
        return entry

    def remove(self, name: str) -> PeerPublicKeys:
        """Forget the keys of a manager, by its identity or name."""
        if not self._directory.is_dir():
            raise NoSuchKey(name)
        with self._file.changing() as peers:
            for one in peers.values():
                if one.manager == name.lower() or (one.name and fold(one.name) == fold(name)):
                    self._file.note("remove key", f"manager:{one.name or one.manager}")
                    return peers.pop(one.manager)
            raise NoSuchKey(name)


def _published(key: ExchangeKey) -> DirectoryPublicKey:
    kind = _PROVIDER_TYPES.get(key.level, ProviderType.RSA_FULL)
    return DirectoryPublicKey(
        kind, PROVIDERS[key.level], blob_of(key.public, CALG_RSA_KEYX).encode()
    )


def _load(pem: str) -> RSAPrivateKey:
    from openmsmq.security.certificates import read_signing_key

    return read_signing_key(pem.encode())


def _decode_own(values: dict[str, Any]) -> tuple[str, OwnKey]:
    found = OwnKey(**values)
    texts = (found.id, found.level, found.private)
    if not all(isinstance(text, str) for text in texts) or found.level not in LEVELS:
        raise ValueError(f"the key {found.id} makes no sense")
    if type(found.created) is not int or type(found.retired) not in (int, type(None)):
        raise ValueError(f"the key {found.id} makes no sense")
    return found.id, found


def _decode_peer(values: dict[str, Any]) -> tuple[str, PeerPublicKeys]:
    found = PeerPublicKeys(**values)
    if not all(isinstance(text, str) for text in (found.manager, found.name, found.keys)):
        raise ValueError(f"the keys of {found.manager} make no sense")
    UUID(found.manager)
    try:
        for key in found.decoded().keys:
            if not public_key_of(key.public_key()).is_usable:
                raise ValueError(f"a key of {found.manager} cannot be used")
    except Malformed as error:
        raise ValueError(str(error)) from None
    return found.manager, found
