"""MessageSigner: a certificate and its key, with which a program signs what it sends.

The program signs, not its queue manager, as on Windows: the key stays where it is used.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Final, Self

from openmsmq.errors import CannotSignDataEx, CertificateNotProvided, InvalidCertificate
from openmsmq.packet.headers.security import SecurityFlags, SecurityHeader, SecurityHeaderStart
from openmsmq.packet.signed import SignedFields, signed_bytes, view_fields
from openmsmq.packet.view import PacketView
from openmsmq.packet.walk import round_up
from openmsmq.properties.message import HashAlgorithm, SenderIdType, SignatureType
from openmsmq.security.digests import digest
from openmsmq.security.principals import principal_sid
from openmsmq.security.rsa import padded
from openmsmq.security.sid import Sid
from openmsmq.security.x509 import decode_certificate

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey

_LIBRARY: Final = frozenset(
    {HashAlgorithm.MD5, HashAlgorithm.SHA1, HashAlgorithm.SHA256, HashAlgorithm.SHA512}
)
"Hashes that the library signs; MD2 and MD4 are computed with plain integers."
_NEEDS: Final = "to sign needs the package cryptography: pip install 'openmsmq[security]'"


@dataclass(frozen=True, slots=True, repr=False)
class MessageSigner:
    """Signs messages as one sender ([MC-MQAC] 3.17.4.1.48); `Message(..., signer=)` takes it."""

    certificate: bytes
    "X.509, DER."
    key: bytes
    "The private key, PKCS#8 in DER."
    sender: Sid | None = None
    "Who the certificate is registered for at the receiver; None: no sender is named (ST 0)."
    algorithm: HashAlgorithm = HashAlgorithm.SHA512
    kind: SignatureType = SignatureType.MSMQ_2_0
    "Version 2.0 covers the destination and most headers, 1.0 little more than the body."

    @classmethod
    def from_pem(
        cls,
        pem: bytes,
        *,
        sender: Sid | None = None,
        algorithm: HashAlgorithm = HashAlgorithm.SHA512,
        kind: SignatureType = SignatureType.MSMQ_2_0,
    ) -> Self:
        """The certificate and the key in a PEM file, such as `openmsmq certificate create` writes.

        Without a `sender` it is the user that the common name of the certificate says.
        """
        try:
            from cryptography.hazmat.primitives.serialization import (
                Encoding,
                NoEncryption,
                PrivateFormat,
            )

            from openmsmq.security.certificates import read_certificates, read_signing_key
        except ImportError:
            raise CannotSignDataEx(_NEEDS) from None
        try:
            der = read_certificates(pem)[0].der
            private = read_signing_key(pem)
        except ValueError as error:
            raise InvalidCertificate(f"a certificate and its RSA key are needed: {error}") from None
        raw = private.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())
        found = decode_certificate(der)
        numbers = private.public_key().public_numbers()
        if found.key is None or (found.key.modulus, found.key.exponent) != (numbers.n, numbers.e):
            raise CertificateNotProvided("the key does not belong to the certificate")
        if sender is None and found.subject:
            sender = principal_sid("user", found.subject)
        return cls(der, raw, sender, algorithm, kind)

    def __repr__(self) -> str:
        return f"MessageSigner({decode_certificate(self.certificate).subject!r})"

    @property
    def header(self) -> SecurityHeader:
        """The SecurityHeader of a message, with room for its signature ([MS-MQMQ] 2.2.20.6).

        It names the sender by its SID, if there is one ([MS-MQDMPR] 3.1.1.12).
        """
        sid = b"" if self.sender is None else self.sender.encode()
        kind = SenderIdType.NONE if self.sender is None else SenderIdType.SID
        return SecurityHeader.make(
            kind | SecurityFlags.DE | SecurityFlags.AI,
            security_id=sid,
            signature=bytes(_size(self.key)),
            sender_cert=self.certificate,
        )

    def sign(self, packet: bytes, destinations: bytes = b"") -> bytes:
        """A packet that was built with `header`, signed ([MS-MQQB] 3.1.7.1.4).

        One to several queues is signed with version 3.0, which covers the list of them:
        `destinations`, if the manager that sends the packet will add it.
        """
        view = PacketView(packet)
        fields = view_fields(view, None)
        if destinations:
            fields = fields._replace(destinations=destinations)
        one: MessageSigner = self
        if fields.destinations:
            one = self.using(self.algorithm, SignatureType.MSMQ_3_0)
        value = one.signature(fields, view.body)
        sid = 0 if self.sender is None else len(self.sender.encode())
        start = view.security_offset + SecurityHeaderStart.SIZE + round_up(sid)
        return packet[:start] + value + packet[start + len(value) :]

    def signature(self, fields: SignedFields, body: bytes) -> bytes:
        """The signature of a message, its octets in the order of CryptoAPI (MSEC-A06).

        It is made with the hash that the header names ([MS-MQMQ] 2.2.19.3).
        """
        covered = signed_bytes(fields, self.kind, body)
        return self._sign(digest(self.algorithm, covered))[::-1]

    def _sign(self, value: bytes) -> bytes:
        """EMSA-PKCS1-v1_5 with the private key (RFC 8017 8.2.1), in natural order."""
        key = _private(self.key)
        size = key.key_size // 8
        block = padded(self.algorithm, value, size)
        if not block:
            raise CannotSignDataEx(f"a key of {key.key_size} bits is too short for this hash")
        if self.algorithm not in _LIBRARY:
            numbers = key.private_numbers()
            number = pow(int.from_bytes(block, "big"), numbers.d, numbers.public_numbers.n)
            return number.to_bytes(size, "big")
        from cryptography.hazmat.primitives import hashes
        from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
        from cryptography.hazmat.primitives.asymmetric.utils import Prehashed

        kind = getattr(hashes, self.algorithm.name)()
        return key.sign(value, PKCS1v15(), Prehashed(kind))

    def using(self, algorithm: HashAlgorithm, kind: SignatureType) -> MessageSigner:
        """The same with another hash and version, for old receivers (MSEC-A08)."""
        return replace(self, algorithm=algorithm, kind=kind)


@lru_cache(maxsize=16)
def _private(key: bytes) -> RSAPrivateKey:
    try:
        from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey
        from cryptography.hazmat.primitives.serialization import load_der_private_key
    except ImportError:
        raise CannotSignDataEx(_NEEDS) from None
    found = load_der_private_key(key, password=None)
    assert isinstance(found, RSAPrivateKey), "a signer has an RSA key"
    return found


def _size(key: bytes) -> int:
    """Bytes of a signature: those of the modulus ([MS-MQQB] 3.1.7.1.4)."""
    return (_private(key).key_size + 7) // 8
