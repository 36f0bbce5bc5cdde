"""Signing what is sent."""

from __future__ import annotations

import pickle
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.signers import ALICE, der_of, private_key, signer

from openmsmq.errors import CannotSignDataEx, CertificateNotProvided, InvalidCertificate
from openmsmq.names.format import parse_format_name
from openmsmq.packet.builder import OptionalHeaders, PacketBuilder
from openmsmq.packet.signed import find_signature, signed_bytes, signed_fields
from openmsmq.packet.signer import MessageSigner
from openmsmq.packet.view import PacketView
from openmsmq.properties.message import HashAlgorithm, SenderIdType, SignatureType
from openmsmq.security.principals import principal_sid
from openmsmq.security.x509 import decode_certificate

BUILDER = PacketBuilder(
    parse_format_name("PRIVATE=11111111-1111-1111-1111-111111111111\\1").guid,  # type: ignore[attr-defined]
    parse_format_name("DIRECT=OS:there\\private$\\q"),
)


def signed(one: MessageSigner, body: bytes = b"body", priority: int = 3) -> bytes:
    headers = OptionalHeaders(security=one.header, hash_algorithm=one.algorithm)
    return one.sign(BUILDER.build(body, "label", priority=priority, headers=headers))


@pytest.mark.parametrize("algorithm", [h for h in HashAlgorithm if h >= HashAlgorithm.SHA1])
@pytest.mark.parametrize("kind", [SignatureType.MSMQ_1_0, SignatureType.MSMQ_2_0])
def test_a_signature_is_found_right(algorithm: HashAlgorithm, kind: SignatureType) -> None:
    "MSEC-004, MSEC-011, MSEC-012, MSEC-014, MSEC-023, MSEC-043, MQQB-094, DMPR-059"
    packet = signed(signer().using(algorithm, kind))
    message = PacketView.parse(packet).message()
    security = message.security
    assert security is not None
    assert (security.signature_size, security.provider_info_size) == (256, 0)
    assert security.flags == 0x01 | 0x40 | 0x80, "ST 1, DE, AI; AU and AS are for the receiver"
    assert security.security_id == ALICE.encode()
    key = decode_certificate(security.sender_cert).key
    assert key is not None
    assert find_signature(signed_fields(message), key, b"body") is kind


def test_sha_512_and_version_2_unless_said_otherwise() -> None:
    "MSEC-017, MSEC-022, MQQB-075, DMPR-089"
    assert signer().algorithm is HashAlgorithm.SHA512
    assert signer().kind is SignatureType.MSMQ_2_0
    message = PacketView.parse(signed(signer())).message()
    assert message.properties.hash_algorithm == HashAlgorithm.SHA512
    key = decode_certificate(signer().certificate).key
    assert key is not None
    assert find_signature(signed_fields(message), key, b"body") is SignatureType.MSMQ_2_0


def test_without_a_sender_none_is_named() -> None:
    "MSEC-003"
    nameless = MessageSigner(signer().certificate, signer().key)
    message = PacketView.parse(signed(nameless)).message()
    assert message.security is not None
    assert (message.security.flags & 0x0F, message.security.sender_id_size) == (0, 0)


def test_openssl_finds_the_signature_right(tmp_path: Path) -> None:
    "MSEC-041, MSEC-042: the independent checker."
    if shutil.which("openssl") is None:
        pytest.skip("there is no openssl")
    message = PacketView.parse(signed(signer())).message()
    assert message.security is not None
    kind = SignatureType.MSMQ_2_0
    (tmp_path / "data").write_bytes(
        signed_bytes(signed_fields(message), kind, message.properties.body)
    )
    (tmp_path / "signature").write_bytes(message.security.signature[::-1])
    (tmp_path / "cert.der").write_bytes(message.security.sender_cert)
    for command in (
        "openssl x509 -inform DER -in cert.der -pubkey -noout -out key.pem",
        "openssl dgst -sha512 -verify key.pem -signature signature data",
    ):
        subprocess.run(command.split(), cwd=tmp_path, check=True, capture_output=True)


def pem_of(key: str, certificate: str = "user-2048") -> bytes:
    x509 = pytest.importorskip("cryptography.x509")
    serialization = pytest.importorskip("cryptography.hazmat.primitives.serialization")
    raw: bytes = private_key(key).private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    found = x509.load_der_x509_certificate(der_of(certificate))
    text: bytes = found.public_bytes(serialization.Encoding.PEM)
    return raw + text


def test_a_signer_is_read_from_a_file() -> None:
    "MSEC-001, MSEC-002, MSEC-006, DMPR-091"
    found = MessageSigner.from_pem(pem_of("user-2048"))
    assert found == signer(), "the common name of the certificate is the user's"
    assert found.header.flags & 0x0F == SenderIdType.SID
    assert found.header.security_id == ALICE.encode()
    assert "alice" in repr(found)
    assert found.key.hex()[:20] not in repr(found)
    assert pickle.loads(pickle.dumps(found)) == found


def test_the_sender_can_be_another_than_the_certificate_names() -> None:
    bob = principal_sid("user", "bob")
    found = MessageSigner.from_pem(pem_of("user-2048"), sender=bob)
    assert found.header.security_id == bob.encode()


def test_a_key_of_another_certificate_is_refused() -> None:
    "MSEC-008"
    with pytest.raises(CertificateNotProvided, match="does not belong"):
        MessageSigner.from_pem(pem_of("other-user-2048"))


@pytest.mark.parametrize("pem", [b"", b"nonsense", b"-----BEGIN CERTIFICATE-----\nAAAA\n"])
def test_a_file_without_certificate_and_key_is_refused(pem: bytes) -> None:
    with pytest.raises(InvalidCertificate):
        MessageSigner.from_pem(pem)


def test_a_key_that_is_too_short_for_the_hash_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    "MSEC-044"
    monkeypatch.setattr("openmsmq.packet.signer.padded", lambda *_: b"")
    with pytest.raises(CannotSignDataEx, match="too short"):
        signed(signer())


def test_signing_needs_a_package_and_says_which(monkeypatch: pytest.MonkeyPatch) -> None:
    made = replace_key(signer())
    monkeypatch.setitem(sys.modules, "cryptography.hazmat.primitives.serialization", None)
    with pytest.raises(CannotSignDataEx, match=r"openmsmq\[security\]"):
        MessageSigner.from_pem(b"")
    with pytest.raises(CannotSignDataEx, match=r"openmsmq\[security\]"):
        signed(made)


def replace_key(one: MessageSigner) -> MessageSigner:
    """The same with a key that was not read yet."""
    return MessageSigner(one.certificate, one.key + b"\0", one.sender)
