"""Which reading of the specifications a signature follows: for the first capture of a peer.

The specifications do not say which bytes of a queue name are signed, nor in which order the octets
of a signature stand (MSEC-A01, MSEC-A06). A signature shows what its sender did.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from openmsmq.errors import IllegalFormatName, InvalidCertificate, MQError
from openmsmq.names.base import FormatName
from openmsmq.packet.headers.security import SecurityFlags
from openmsmq.packet.headers.user import UserHeader
from openmsmq.packet.message import UserMessage
from openmsmq.packet.signed import NameBytes, names_on_the_wire, signed_bytes, signed_fields
from openmsmq.properties.message import HashAlgorithm, SignatureType
from openmsmq.security.digests import DIGEST_INFO, digest
from openmsmq.security.rsa import RsaPublicKey
from openmsmq.security.x509 import Certificate, decode_certificate

_KINDS: Final = (SignatureType.MSMQ_2_0, SignatureType.MSMQ_1_0, SignatureType.MSMQ_3_0)
_VERSIONS: Final = {
    SignatureType.MSMQ_1_0: "1.0",
    SignatureType.MSMQ_2_0: "2.0",
    SignatureType.MSMQ_3_0: "3.0",
}


@dataclass(frozen=True, slots=True)
class SignatureVerdict:
    """What was found out about the signature of a packet."""

    is_right: bool
    words: str
    "For people."
    version: str = ""
    hash: str = ""
    names: str = ""
    "How the names of queues were signed."
    octets: str = ""
    "The order of the octets of the signature."
    signer: str = ""
    "The common name in the certificate; anyone can make one."


def judge(message: UserMessage) -> SignatureVerdict | None:
    """The verdict on the signature of a message; None if it has none."""
    if not signed_fields(message).signature:
        return None
    security = message.security
    if security is not None and security.flags & SecurityFlags.EB:
        return SignatureVerdict(
            False, "signed, but the body is encrypted: the clear one was signed"
        )
    try:
        certificate = decode_certificate(b"" if security is None else security.sender_cert)
    except InvalidCertificate as error:
        return SignatureVerdict(False, f"signed, but the certificate cannot be read: {error}")
    if certificate.key is None:
        return SignatureVerdict(False, "signed, but the key of the certificate is not RSA")
    return _judged(message, certificate, certificate.key)


def _judged(message: UserMessage, certificate: Certificate, key: RsaPublicKey) -> SignatureVerdict:
    """Try the readings on what was signed."""
    signature = signed_fields(message).signature
    for order, octets in (("reversed", signature[::-1]), ("natural", signature)):
        found = _digest_of(key.recover(octets))
        if found is None:
            continue
        algorithm, value = found
        name, signer = algorithm.name, certificate.subject
        said = message.properties.hash_algorithm
        is_so = said == algorithm
        verdict = "is right" if is_so else f"is not what HashAlgorithm says, 0x{said:X}"
        for words, names in READINGS.items():
            for kind in _KINDS:
                if _is_of(message, kind, names, algorithm, value):
                    version = _VERSIONS[kind]
                    shown = (
                        f"signature {version} with {name} {verdict}: by {signer!r},"
                        f" {key.bits} bits, names of queues {words}, octets {order}"
                    )
                    return SignatureVerdict(is_so, shown, version, name, words, order, signer)
        shown = f"a signature by {signer!r} with {name} of other bytes: {value.hex()}"
        return SignatureVerdict(False, shown, "", name, "", order, signer)
    return SignatureVerdict(False, f"no signature of the key of {certificate.subject!r}")


def _is_of(
    message: UserMessage,
    kind: SignatureType,
    names: Callable[[UserHeader], NameBytes],
    algorithm: HashAlgorithm,
    value: bytes,
) -> bool:
    try:
        covered = signed_bytes(signed_fields(message, names), kind, message.properties.body)
        return digest(algorithm, covered) == value
    except MQError:
        return False


def _digest_of(block: bytes) -> tuple[HashAlgorithm, bytes] | None:
    """The digest in a block that was signed, and of which hash it is (RFC 8017 9.2)."""
    if not block.startswith(b"\0\1\xff"):
        return None
    info = block[2:].lstrip(b"\xff")[1:]
    for code, prefix in DIGEST_INFO.items():
        if info.startswith(prefix):
            return HashAlgorithm(code), info[len(prefix) :]
    return None


def _texts(user: UserHeader) -> tuple[str, str, str]:
    """The names of the three queues as text, empty for none."""
    found: list[str] = []
    readers: tuple[Callable[[], FormatName | None], ...] = (
        user.destination_name,
        user.admin_name,
        user.response_name,
    )
    for read in readers:
        try:
            name = read()
        except IllegalFormatName:
            name = None
        found.append("" if name is None else str(name))
    return found[0], found[1], found[2]


def _text_with_null(user: UserHeader) -> NameBytes:
    first, second, third = (f"{text}\0" if text else "" for text in _texts(user))
    return first.encode("utf-16-le"), second.encode("utf-16-le"), third.encode("utf-16-le")


def _text_without_null(user: UserHeader) -> NameBytes:
    first, second, third = (text.encode("utf-16-le", "surrogatepass") for text in _texts(user))
    return first, second, third


def _with_type(user: UserHeader) -> NameBytes:
    references = (user.destination, user.admin, user.response)
    first, second, third = (
        bytes((one.code,)) + name if name else b""
        for one, name in zip(references, names_on_the_wire(user), strict=True)
    )
    return first, second, third


READINGS: Final[Mapping[str, Callable[[UserHeader], NameBytes]]] = {
    "as on the wire": names_on_the_wire,
    "as text with null": _text_with_null,
    "as text without null": _text_without_null,
    "as on the wire with a type": _with_type,
}
"What may stand for the names of queues, in the order of likelihood (MSEC-A01)."
