"""Signatures: read, written, compared with attachments."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.soap import MANAGER, envelope, msmq

from openmsmq.soap.envelope import AnySignature, BadSignature, Reference, Signature
from openmsmq.soap.reader import read_envelope
from openmsmq.soap.signature import digest, digest_fault, write_signature, write_signed_info

BODY, EXTENSION = b"<order/>", b"more"
REFERENCES = (
    Reference(f"cid:body@{MANAGER}", "sha1", digest("sha1", BODY)),
    Reference(f"cid:extension@{MANAGER}", "md5", digest("md5", EXTENSION)),
)
WHOLE = Signature(write_signed_info(REFERENCES), REFERENCES, bytes(64))
WRITTEN = write_signature(WHOLE)


def read(signature: str) -> AnySignature | None:
    return read_envelope(envelope(msmq() + signature)).signature


def test_a_signature_is_read_as_it_was_written() -> None:
    """SRMP-299 to SRMP-308: digests of 20 or 16 bytes, long tags, no white space."""
    assert read(WRITTEN) == WHOLE
    assert WRITTEN.startswith('<Signature xmlns="http://www.w3.org/2000/02/xmldsig#"><SignedInfo>')
    method = "http://www.w3.org/2000/02/xmldsig#dsa"
    assert f'<SignatureMethod Algorithm="{method}"></SignatureMethod>' in WRITTEN
    assert "/>" not in WRITTEN


def test_what_is_signed_is_kept_to_the_character() -> None:
    """SRMP-306, MSEC-187: nothing is canonicalised (HTTP-27)."""
    odd = WRITTEN.replace("<SignedInfo>", "<SignedInfo  >\n<!-- x -->")
    found = read(odd)
    assert isinstance(found, Signature)
    assert found.signed_info in odd
    assert found.signed_info.startswith("<SignedInfo  >\n<!-- x -->")


@pytest.mark.parametrize(
    ("broken", "reason"),
    [
        (WRITTEN.replace("SignedInfo", "Other"), "SignedInfo is missing"),
        (WRITTEN.replace("SignatureMethod", "Other"), "SignatureMethod is missing"),
        (WRITTEN.replace("SignatureValue", "Other"), "SignatureValue is missing"),
        (WRITTEN.replace("DigestMethod", "Other"), "DigestMethod is missing"),
        (WRITTEN.replace("DigestValue", "Other"), "DigestValue is missing"),
        (WRITTEN.replace("#dsa", "#rsa"), "the signature method is"),
        (WRITTEN.replace("#sha1", "#sha256"), "neither sha1 nor md5"),
        (WRITTEN.replace("Reference", "Other"), "0 references"),
        (write_signature(replace(WHOLE, signed_info=write_signed_info(REFERENCES * 2))), "4 ref"),
        (WRITTEN.replace("cid:body", "cid:head"), "neither body nor extension"),
        (WRITTEN.replace("#sha1", "#md5"), "16 bytes in base64"),
        (write_signature(replace(WHOLE, value=b"")), "1 to 1024 bytes"),
        (write_signature(replace(WHOLE, value=bytes(2000))), "1 to 1024 bytes"),
    ],
)
def test_a_signature_that_lacks_something_cannot_be_valid(broken: str, reason: str) -> None:
    """SRMP-309 to SRMP-311, SRMP-314: the message is not malformed, but is to be dropped."""
    found = read(broken)
    assert isinstance(found, BadSignature)
    assert reason in found.reason
    assert digest_fault(found, BODY, EXTENSION) == found.reason


def test_digests_fit_the_attachments_they_were_made_of() -> None:
    """SRMP-303, SRMP-304, SRMP-306, SRMP-308."""
    assert digest_fault(WHOLE, BODY, EXTENSION) is None
    assert digest_fault(replace(WHOLE, references=REFERENCES[:1]), BODY, None) is None


@pytest.mark.parametrize(
    ("references", "body", "extension", "reason"),
    [
        (REFERENCES, b"<Order/>", EXTENSION, "the digest of the body is another"),
        (REFERENCES, BODY, b"less", "the digest of the extension is another"),
        (REFERENCES, None, EXTENSION, "refers to the body, which is not there"),
        (REFERENCES, BODY, None, "refers to the extension, which is not there"),
        (REFERENCES[:1] * 2, BODY, None, "refers to the body twice"),
        (REFERENCES[:1], BODY, EXTENSION, "does not cover the extension"),
        (REFERENCES[1:], BODY, EXTENSION, "does not cover the body"),
    ],
)
def test_digests_of_other_attachments_are_found(
    references: tuple[Reference, ...], body: bytes | None, extension: bytes | None, reason: str
) -> None:
    """SRMP-312, SRMP-313, SRMP-315, MSEC-185: and every attachment has to be covered."""
    fault = digest_fault(replace(WHOLE, references=references), body, extension)
    assert fault is not None
    assert reason in fault
