"""Signature values: made with a private key, and checked with the certificates of senders.

([MC-MQSRM] 2.2.7.2, 3.1.5.1.6.1.) The characters of SignedInfo are signed as they are sent. A valid
signature says that the owner of a certificate signed body and extension; it grants nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha1, sha256, sha512
from typing import Final
from uuid import UUID

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.dsa import DSAPublicKey
from cryptography.hazmat.primitives.asymmetric.padding import PKCS1v15
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, RSAPublicKey
from cryptography.hazmat.primitives.asymmetric.utils import encode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA1

from openmsmq.security.certificates import SenderCertificate
from openmsmq.soap.envelope import BadSignature, Signature

_DIGEST_INFO: Final = (
    (sha1, bytes.fromhex("3021300906052b0e03021a05000414")),
    (sha256, bytes.fromhex("3031300d060960864801650304020105000420")),
    (sha512, bytes.fromhex("3051300d060960864801650304020305000440")),
)
"What stands before the hash inside an RSA signature (RFC 8017 9.2, note 1)."


class XmlSigner:
    """Signs what is sent, with the key of this manager."""

    def __init__(self, key: RSAPrivateKey) -> None:
        self._key = key

    def sign(self, signed_info: str) -> bytes:
        """SignatureValue: RSA with SHA-1, most significant octet first (HTTP-26, HTTP-53)."""
        return self._key.sign(signed_info.encode("utf-8"), PKCS1v15(), SHA1())  # noqa: S303


class KnownSenders:
    """The certificates that signatures are checked with; none travels in a message (HTTP-28)."""

    def __init__(self, by_manager: Mapping[UUID, tuple[SenderCertificate, ...]]) -> None:
        """`by_manager` has the certificates of queue managers, by the GUID they sign as."""
        self._by_manager = by_manager

    def check(
        self, signature: Signature, source: UUID | None, shown: bytes
    ) -> SenderCertificate | BadSignature | None:
        """The certificate that belongs to a signature ([MC-MQSRM] 3.1.5.1.6.1).

        `source` is the manager that the message claims to come from. Where no certificate is known
        for it, `shown` counts, which the client proved in TLS. None if there is neither.
        """
        known = self._by_manager.get(source, ()) if source is not None else ()
        try:
            candidates = known or ((SenderCertificate.from_der(shown),) if shown else ())
        except ValueError:
            candidates = ()
        if not candidates:
            return None
        for certificate in candidates:
            if is_made_with(certificate, signature):
                return certificate
        return BadSignature("the signature does not belong to a certificate of the sender")


def is_made_with(certificate: SenderCertificate, signature: Signature) -> bool:
    """Whether the owner of a certificate made a signature ([MC-MQSRM] 2.2.7.2; HTTP-26).

    The kind of key decides, not the name of the algorithm. CryptoAPI writes numbers with the least
    significant octet first: both orders are accepted (HTTP-53).
    """
    signed = signature.signed_info.encode("utf-8")
    key, value = certificate.key, signature.value
    if isinstance(key, DSAPublicKey):
        return _is_dsa(key, value, signed)
    return _is_rsa(key, value, signed) or _is_rsa(key, value[::-1], signed)


def _is_rsa(key: RSAPublicKey, value: bytes, signed: bytes) -> bool:
    """RSASSA-PKCS1-v1_5; the hash is the one that was signed: SHA-1, SHA-256 or SHA-512."""
    try:
        found = key.recover_data_from_signature(value, PKCS1v15(), None)
    except (InvalidSignature, ValueError):
        return False
    return any(found == start + hashed(signed).digest() for hashed, start in _DIGEST_INFO)


def _is_dsa(key: DSAPublicKey, value: bytes, signed: bytes) -> bool:
    """DSA with SHA-1: two numbers of the same length one after the other."""
    half, odd = divmod(len(value), 2)
    if odd:
        return False
    for order in ("big", "little"):
        r, s = (int.from_bytes(part, order) for part in (value[:half], value[half:]))
        try:
            key.verify(encode_dss_signature(r, s), signed, SHA1())  # noqa: S303
        except InvalidSignature:
            continue
        return True
    return False
