"""Certificates and private keys of senders, in PEM and DER.

The trust anchor is the setting that names a certificate, not an authority: there is no chain and no
revocation ([MS-MQSO] 7.4.1.3).
"""

from __future__ import annotations

from dataclasses import dataclass

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.dsa import DSAPublicKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, RSAPublicKey
from cryptography.hazmat.primitives.serialization import Encoding, load_pem_private_key

from openmsmq.limits import SENDER_CERTIFICATE_SIZE_MAX
from openmsmq.security.limits import PEM_SIZE_MAX


@dataclass(frozen=True, slots=True)
class SenderCertificate:
    """A certificate, and the public key that checks what its owner signed."""

    der: bytes
    key: RSAPublicKey | DSAPublicKey

    @classmethod
    def from_der(cls, der: bytes) -> SenderCertificate:
        """The certificate in `der`; ValueError if it has no key that signs messages."""
        if len(der) > SENDER_CERTIFICATE_SIZE_MAX:
            raise ValueError(f"a certificate of {len(der)} bytes is larger than a packet can hold")
        try:
            key = x509.load_der_x509_certificate(der).public_key()
        except UnsupportedAlgorithm as error:
            raise ValueError(f"a certificate whose key is of an unknown kind: {error}") from error
        if not isinstance(key, RSAPublicKey | DSAPublicKey):
            raise ValueError("a certificate whose key is neither RSA nor DSA")  # noqa: TRY004
        return cls(der, key)


def read_certificates(pem: bytes) -> tuple[SenderCertificate, ...]:
    """The certificates in a PEM file, at least one; ValueError if there is none."""
    _check_size(pem)
    found = x509.load_pem_x509_certificates(pem)
    return tuple(SenderCertificate.from_der(one.public_bytes(Encoding.DER)) for one in found)


def read_signing_key(pem: bytes) -> RSAPrivateKey:
    """The private key in a PEM file; ValueError unless it is an RSA key without a password."""
    _check_size(pem)
    try:
        key = load_pem_private_key(pem, password=None)
    except (TypeError, UnsupportedAlgorithm) as error:
        raise ValueError(str(error)) from error
    if not isinstance(key, RSAPrivateKey):
        raise ValueError("the key is not an RSA key")  # noqa: TRY004
    return key


def _check_size(pem: bytes) -> None:
    if len(pem) > PEM_SIZE_MAX:
        raise ValueError(f"{len(pem)} bytes, at most {PEM_SIZE_MAX} are read")
