"""Certificates of senders: whose signatures of messages count, and for whom.

They are kept in `senders.json` in the directory of the manager, and take the place that users have
in a directory ([MS-MQDMPR] 3.1.1.15). They are public: who can change the file says who is who.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, Literal
from uuid import uuid4

from openmsmq.access.owner_file import OwnerFile
from openmsmq.clock import Clock, SystemClock
from openmsmq.errors import InvalidCertificate, InvalidParameter, MQError, StorageError
from openmsmq.security.principals import parse_principal
from openmsmq.security.sid import Sid
from openmsmq.security.x509 import Certificate, decode_certificate
from openmsmq.store.directories import make_directory

SENDERS_FILE: Final = "senders.json"
MACHINE_FILE: Final = "machine.pem"
"Certificate and key with which a manager signs what it sends itself, for its owner only."
KEY_BITS: Final = 2048
VALID_FOR: Final = timedelta(days=8 * 365)
"How long a certificate that is made here is valid."
_EARLIER: Final = timedelta(hours=1)
"Clocks of other computers may be slow."
Kind = Literal["internal", "external"]


class NoSuchCertificate(InvalidParameter):
    """There is no certificate with this identifier; `openmsmq certificate list` shows them."""


class SendersDamaged(StorageError):
    """The file of the registered certificates cannot be read, so no signature counts.

    Restore it, or remove it and register the certificates anew.
    """


@dataclass(frozen=True, slots=True)
class RegisteredCertificate:
    """A certificate, and who signs with it (MQUSERSIGNCERT, [MS-MQMQ] 2.2.22)."""

    id: str
    "A new GUID."
    sender: str
    "A principal, such as user:anna or S-1-5-21-..."
    kind: Kind
    "Made by OpenMSMQ, or by someone else; a sender has one that is internal."
    certificate: str
    "DER, in base64."
    created: int
    "Seconds since 1970 UTC."

    @property
    def der(self) -> bytes:
        """Its bytes, by which it is recognized."""
        return b64decode(self.certificate)

    @property
    def sid(self) -> Sid:
        """Its sender, as messages name it."""
        return parse_principal(self.sender)

    @property
    def decoded(self) -> Certificate:
        """What it says."""
        return decode_certificate(self.der)


class SenderCertificates:
    """The registered certificates of a directory, as its file has them now."""

    def __init__(self, directory: Path, clock: Clock | None = None) -> None:
        """Nothing is read yet; see `refresh`."""
        self._directory = directory
        self._clock = clock or SystemClock()
        self._file: OwnerFile[RegisteredCertificate] = OwnerFile(
            directory / SENDERS_FILE, "senders", _decode, asdict, SendersDamaged
        )

    def __iter__(self) -> Iterator[RegisteredCertificate]:
        """All of them, the oldest first."""
        self.refresh()
        return iter(self._file.values.values())

    def refresh(self) -> bool:
        """Read the file if it has changed; whether it has."""
        return self._file.refresh()

    def by_sender(self) -> Mapping[Sid, tuple[bytes, ...]]:
        """The certificates of each sender, as the file was read last."""
        found: dict[Sid, tuple[bytes, ...]] = {}
        for one in self._file.values.values():
            found[one.sid] = (*found.get(one.sid, ()), one.der)
        return found

    def register(
        self, der: bytes, sender: str, kind: Kind = "external", *, replaces: bool = True
    ) -> RegisteredCertificate:
        """Let signatures by a certificate count for a sender ([MC-MQAC] 3.2.4.2.1).

        An internal one takes the place of the one before ([MS-MQDMPR] 3.1.1.1); others are added.
        Unless it `replaces` one, an internal certificate that is there stays, and is the answer.
        """
        if not replaces and kind == "external":
            raise InvalidParameter("an external certificate replaces none: it is added")
        found = decode_certificate(der)
        if found.key is None:
            raise InvalidCertificate("its key is not an RSA key: MSMQ signs with RSA only")
        sid = parse_principal(sender)
        make_directory(self._directory)
        with self._file.changing() as senders:
            internal = (one for one in senders.values() if (one.kind, one.sid) == ("internal", sid))
            if not replaces and (there := next(internal, None)) is not None:
                return there
            for old in list(senders.values()):
                is_replaced = kind == old.kind == "internal" and old.sid == sid
                if is_replaced or (old.sid == sid and old.der == der):
                    del senders[old.id]
            text = b64encode(der).decode()
            made = RegisteredCertificate(str(uuid4()), sender, kind, text, int(self._clock.now()))
            senders[made.id] = made
            self._file.note("register certificate", sender, f"{kind}, {made.id}")
        return made

    def remove(self, identifier: str) -> RegisteredCertificate:
        """Let signatures by this certificate count no longer; the start of its id is enough."""
        if not self._directory.is_dir():
            raise NoSuchCertificate(identifier)
        with self._file.changing() as senders:
            found = [one for one in senders if identifier and one.startswith(identifier.lower())]
            if len(found) != 1:
                raise NoSuchCertificate(identifier)
            gone = senders.pop(found[0])
            self._file.note("remove certificate", gone.sender, f"{gone.kind}, {gone.id}")
            return gone


def make_certificate(name: str, clock: Clock | None = None, bits: int = KEY_BITS) -> bytes:
    """A new key and its certificate, signed by itself, in PEM ([MS-MQDMPR] 3.1.1.15)."""
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.rsa import generate_private_key
    from cryptography.hazmat.primitives.hashes import SHA256
    from cryptography.hazmat.primitives.serialization import (
        Encoding,
        NoEncryption,
        PrivateFormat,
    )

    key = generate_private_key(65537, bits)
    try:
        subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    except ValueError as error:
        raise InvalidParameter(f"{name!r} cannot be the name in a certificate: {error}") from None
    start = datetime.fromtimestamp((clock or SystemClock()).now(), UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(start - _EARLIER)
        .not_valid_after(start + VALID_FOR)
        .sign(key, SHA256())
    )
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return private + certificate.public_bytes(Encoding.PEM)


def _decode(values: dict[str, Any]) -> tuple[str, RegisteredCertificate]:
    found = RegisteredCertificate(**values)
    texts = (found.id, found.sender, found.kind, found.certificate)
    if not all(isinstance(text, str) for text in texts) or type(found.created) is not int:
        raise ValueError(f"the certificate {found.id} makes no sense")
    try:
        found.decoded, found.sid  # noqa: B018  # whether they can be read is the question
    except MQError as error:
        raise ValueError(f"the certificate {found.id} makes no sense: {error}") from error
    return found.id, found
