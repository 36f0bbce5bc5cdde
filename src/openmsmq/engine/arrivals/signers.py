"""Who is said to have signed a message, and what of that the certificates here bear out."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from functools import lru_cache
from typing import Final, NamedTuple
from uuid import UUID

from openmsmq.engine.arrivals.limits import CERTIFICATES_MAX
from openmsmq.errors import InvalidCertificate, Malformed
from openmsmq.packet.headers.security import SecurityFlags, SecurityHeader
from openmsmq.packet.walk import ProtectedLayout
from openmsmq.properties.message import PROVIDERS, MessageClass, SenderIdType
from openmsmq.security.principals import principal_sid
from openmsmq.security.rsa import RsaPublicKey, Verifier
from openmsmq.security.sid import EVERYONE, Sid
from openmsmq.security.x509 import Certificate, decode_certificate

_KNOWN_PROVIDERS: Final = frozenset(name.replace(",", "").lower() for name in PROVIDERS.values())
"Names compare without comma and case (MSEC-A30)."


class ClaimedSigner(NamedTuple):
    """Who signed a message, if the signature is right."""

    certificate: Certificate | None
    key: RsaPublicKey | None
    "None if no signature with the key of the certificate counts."
    opener: Callable[[bytes], bytes] | None
    "Opens signatures with the key."
    verifiers: Mapping[int, Verifier]
    "Check signatures with the key, by the digests that count."
    fault: MessageClass
    "Why none counts, if so."
    sender: Sid | None
    is_known: bool


def find_signer(
    layout: ProtectedLayout,
    registered: Mapping[Sid, tuple[bytes, ...]],
    hashes: Collection[int],
    key_bits_min: int,
) -> ClaimedSigner:
    """The certificate of a message, whose it is, and whether it is registered for that sender."""
    der = layout.header.sender_cert
    certificate, fault = _certificate(der), MessageClass.NACK_BAD_SIGNATURE
    key = None if certificate is None else certificate.key
    if key is None:
        fault = _not_rsa(layout.header)
    elif key.bits < key_bits_min:
        key = None
    sender, is_known = _sender(layout, registered)
    if key is None:
        return ClaimedSigner(certificate, None, None, {}, fault, sender, is_known)
    found = ((algorithm, key.verifier(algorithm)) for algorithm in hashes)
    verifiers = {algorithm: verifier for algorithm, verifier in found if verifier is not None}
    return ClaimedSigner(certificate, key, key.opener(), verifiers, fault, sender, is_known)


def _sender(
    layout: ProtectedLayout, registered: Mapping[Sid, tuple[bytes, ...]]
) -> tuple[Sid | None, bool]:
    """Whose certificate it is, and whether that is as the message says ([MS-MQQB] 3.1.5.8.3).

    Without a sender in the message the signature is right, and says nothing about who sent it. A
    certificate belongs to a user if that user has registered the very same bytes, here or in the
    directory, which is asked when the signature is right, and to a queue manager if it is
    registered for `manager:GUID`. That one must be the source of the message (MSEC-A24), and is
    everyone to permissions.
    """
    security, source = layout.header, layout.source
    kind, der = security.flags & SecurityFlags.ST, security.sender_cert
    if kind == SenderIdType.NONE:
        return None, True
    if kind == SenderIdType.QUEUE_MANAGER:
        if security.security_id != source:
            return None, False
        return EVERYONE, der in registered.get(_manager_sid(source), ())
    sid = _sid(security.security_id)
    return sid, der in registered.get(sid, ())


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


def _not_rsa(security: SecurityHeader) -> MessageClass:
    """The class for a key that is not RSA: of an unknown provider, or of none (MSEC-A28)."""
    if security.flags & SecurityFlags.DE or not security.provider_info:
        return MessageClass.NACK_BAD_SIGNATURE
    name = security.provider_name.replace(",", "").lower()
    is_known = name in _KNOWN_PROVIDERS
    return (
        MessageClass.NACK_BAD_SIGNATURE
        if is_known
        else MessageClass.NACK_UNSUPPORTED_CRYPTO_PROVIDER
    )
