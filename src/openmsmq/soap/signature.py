"""The signature of an envelope: read, written, and compared with the attachments.

Only the digests of body and extension are signed; addresses, identifiers and times are not. Whether
the signature value belongs to the certificate of a sender is decided in `signature_keys`.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import md5, sha1
from typing import Final, Protocol
from uuid import UUID

from openmsmq.errors import Malformed
from openmsmq.properties.message import HashAlgorithm
from openmsmq.soap.elements import Element
from openmsmq.soap.envelope import SIGNATURE, AnySignature, BadSignature, Reference, Signature
from openmsmq.soap.limits import REFERENCES_MAX, VALUE_SIZE_MAX
from openmsmq.soap.scalars import WHITE_SPACE, read_base64, write_base64

DSA: Final = f"{SIGNATURE}dsa"
BODY: Final = "cid:body@"
EXTENSION: Final = "cid:extension@"

DIGESTS: Final[Mapping[int, str]] = {HashAlgorithm.SHA1: "sha1", HashAlgorithm.MD5: "md5"}
"The digests of attachments by HashAlgorithm ([MC-MQSRM] 3.1.7.2.4)."
_SIZES: Final[Mapping[str, int]] = {"sha1": 20, "md5": 16}


class Signer(Protocol):
    """Makes signature values with a private key."""

    def sign(self, signed_info: str) -> bytes:
        """The signature of SignedInfo, exactly as it is written."""
        ...


def sign(body: bytes, extension: bytes, method: str, manager: UUID, signer: Signer) -> Signature:
    """The signature of body and extension, each of which is left out if it is empty.

    It covers nothing else ([MS-MQDMPR] 3.1.1.12).
    """
    attachments = ((BODY, body), (EXTENSION, extension))
    references = tuple(
        Reference(f"{prefix}{manager}", method, digest(method, attachment))
        for prefix, attachment in attachments
        if attachment
    )
    signed_info = write_signed_info(references)
    return Signature(signed_info, references, signer.sign(signed_info))


def digest(method: str, data: bytes) -> bytes:
    """The digest of an attachment: SHA-1, or MD5 from old senders ([MC-MQSRM] 2.2.7.1.2.1)."""
    return (sha1 if method == "sha1" else md5)(data, usedforsecurity=False).digest()


def read_signature(signature: Element, text: str) -> AnySignature:
    """The Signature in the envelope `text` ([MC-MQSRM] 2.2.7, 3.1.5.1.6.1).

    One that lacks an element or names another algorithm does not make an envelope malformed: its
    message is discarded as one with a bad signature.
    """
    try:
        info = signature.required(SIGNATURE, "SignedInfo")
        method = info.required(SIGNATURE, "SignatureMethod")
        if (algorithm := _attribute(method, "Algorithm")) != DSA:
            return BadSignature(f"the signature method is {algorithm!r:.80}, not {DSA}")
        named = [c for c in info.children if (c.namespace, c.name) == (SIGNATURE, "Reference")]
        if not 1 <= len(named) <= REFERENCES_MAX:
            return BadSignature(f"the signature has {len(named)} references, not one or two")
        references = tuple(map(_read_reference, named))
        value = signature.required(SIGNATURE, "SignatureValue").content
        signed = read_base64(value, "SignatureValue", 1, VALUE_SIZE_MAX)
        return Signature(text[info.start : info.end], references, signed)
    except Malformed as error:
        return BadSignature(f"{error.field} {error.reason}")


def _read_reference(reference: Element) -> Reference:
    uri = _attribute(reference, "URI")
    if not uri.startswith((BODY, EXTENSION)):
        raise Malformed("Reference", 0, f"names {uri!r:.80}, neither body nor extension")
    algorithm = _attribute(reference.required(SIGNATURE, "DigestMethod"), "Algorithm")
    method = algorithm.removeprefix(SIGNATURE)
    if not algorithm.startswith(SIGNATURE) or method not in _SIZES:
        raise Malformed("DigestMethod", 0, f"is {algorithm!r:.80}, neither sha1 nor md5")
    value = reference.required(SIGNATURE, "DigestValue").content
    size = _SIZES[method]
    return Reference(uri, method, read_base64(value, "DigestValue", size, size))


def _attribute(element: Element, name: str) -> str:
    return element.attributes.get(name, "").strip(WHITE_SPACE)


def digest_fault(
    signature: AnySignature, body: bytes | None, extension: bytes | None
) -> str | None:
    """Why the digests do not fit the attachments; None if they do ([MC-MQSRM] 3.1.5.1.6.1).

    An attachment that is there has to be signed; nothing else is ([MS-MQDMPR] 3.1.1.12).
    """
    if isinstance(signature, BadSignature):
        return signature.reason
    for prefix, attachment in ((BODY, body), (EXTENSION, extension)):
        found = [r for r in signature.references if r.uri.startswith(prefix)]
        part = prefix[len("cid:") : -1]
        if len(found) > 1:
            return f"the signature refers to the {part} twice"
        if attachment is None:
            if found:
                return f"the signature refers to the {part}, which is not there"
        elif not found:
            return f"the signature does not cover the {part}"
        elif digest(found[0].method, attachment) != found[0].digest:
            return f"the digest of the {part} is another"
    return None


def write_signed_info(references: tuple[Reference, ...]) -> str:
    """SignedInfo, to be signed and sent exactly as it is ([MC-MQSRM] 3.1.7.2.4)."""
    written = "".join(
        f'<Reference URI="{reference.uri}">'
        f'<DigestMethod Algorithm="{SIGNATURE}{reference.method}"></DigestMethod>'
        f"<DigestValue>{write_base64(reference.digest)}</DigestValue></Reference>"
        for reference in references
    )
    method = f'<SignatureMethod Algorithm="{DSA}"></SignatureMethod>'
    return f"<SignedInfo>{method}{written}</SignedInfo>"


def write_signature(signature: Signature) -> str:
    """The Signature entry ([MC-MQSRM] 3.1.7.2.4)."""
    value = write_base64(signature.value)
    return (
        f'<Signature xmlns="{SIGNATURE}">{signature.signed_info}'
        f"<SignatureValue>{value}</SignatureValue></Signature>"
    )
