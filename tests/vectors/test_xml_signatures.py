"""XML signatures beside others: prepared elements, and xmlsec1 both ways.

xmlsec1 knows the name space of 2000/09 and its canonical form only. So both sides sign the same
characters in that form, and each checks the other's value and digest: key, padding, hash, order of
octets and base64 are those of the signatures that messages carry.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from base64 import b64decode, b64encode
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.hazmat.primitives.serialization import load_der_private_key as load_key
from lxml import etree
from tests.soap import envelope, msmq
from tests.unit.security.test_certificates import certificate
from tests.unit.soap.test_signature import read

from openmsmq.security.certificates import SenderCertificate, read_certificates
from openmsmq.soap.envelope import Signature
from openmsmq.soap.signature import digest, digest_fault, write_signature
from openmsmq.soap.signature_keys import XmlSigner, is_made_with

FOLDER = Path(__file__).parent / "security"
VECTORS: list[dict[str, Any]] = json.loads((FOLDER / "security-xml.json").read_text())["vectors"]
KEYS = {key["name"]: key for key in json.loads((FOLDER / "security-keys.json").read_text())["keys"]}
DSIG = "http://www.w3.org/2000/09/xmldsig#"
TEMPLATE = (
    '<Envelope><Data Id="body">{data}</Data>'
    f'<Signature xmlns="{DSIG}"><SignedInfo>'
    '<CanonicalizationMethod Algorithm="http://www.w3.org/TR/2001/REC-xml-c14n-20010315"/>'
    f'<SignatureMethod Algorithm="{DSIG}rsa-sha1"/>'
    '<Reference URI="#body">'
    '<Transforms><Transform Algorithm="http://www.w3.org/TR/2001/REC-xml-c14n-20010315"/></Transforms>'
    f'<DigestMethod Algorithm="{DSIG}sha1"/><DigestValue>{{digest}}</DigestValue></Reference>'
    "</SignedInfo><SignatureValue>{value}</SignatureValue></Signature></Envelope>"
)
DATA = "order 1"


def private_key(name: str) -> Any:
    return load_key(bytes.fromhex(KEYS[name]["pkcs1_private_der"]), None)


def owner(name: str) -> SenderCertificate:
    if KEYS[name]["bits"] < 1024:  # no certificate is made with such a key any more
        return SenderCertificate(b"", private_key(name).public_key())
    return read_certificates(certificate(private_key(name)).public_bytes(Encoding.PEM))[0]


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["name"])
def test_a_prepared_signature_is_valid(vector: dict[str, Any]) -> None:
    """SRMP-316, SRMP-303, SRMP-304, SRMP-308, MSEC-186, MSEC-190: in both orders of octets."""
    found = read(vector["element"])
    assert isinstance(found, Signature)
    parts = {name: bytes.fromhex(value) for name, value in vector["parts"].items()}
    assert digest_fault(found, parts.get("body"), parts.get("extension")) is None
    assert is_made_with(owner(vector["key"]), found)
    swapped = Signature(
        found.signed_info, found.references, b64decode(vector["SignatureValue_if_little_endian"])
    )
    assert is_made_with(owner(vector["key"]), swapped)
    others = [name for name in ("user-2048", "user-1024") if name != vector["key"]]
    assert not any(is_made_with(owner(name), found) for name in others)


@pytest.mark.parametrize("vector", VECTORS[:2], ids=lambda vector: vector["name"])
def test_a_prepared_signature_is_made_again_to_the_byte(vector: dict[str, Any]) -> None:
    """SRMP-299 to SRMP-302, SRMP-305 to SRMP-307, MSEC-184."""
    found = read(vector["element"])
    assert isinstance(found, Signature)
    value = XmlSigner(private_key(vector["key"])).sign(vector["signed_info"])
    again = Signature(vector["signed_info"], found.references, value)
    assert write_signature(again) == vector["element"]
    assert envelope(msmq() + vector["element"])


@pytest.fixture
def xmlsec1(tmp_path: Path) -> Path:
    """A folder with a key and its certificate; skips where xmlsec1 is not."""
    if shutil.which("xmlsec1") is None:
        pytest.skip("xmlsec1 is not installed: apt-get install xmlsec1")
    key = private_key("user-2048")
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    (tmp_path / "key.pem").write_bytes(pem)
    (tmp_path / "cert.pem").write_bytes(certificate(key).public_bytes(Encoding.PEM))
    return tmp_path


def run(folder: Path, *arguments: str) -> int:
    command = ["xmlsec1", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, check=False).returncode


def signed_info(document: bytes) -> tuple[str, bytes]:
    """SignedInfo in canonical form, and the value that is there."""
    root = etree.fromstring(document)
    info = root.find(f".//{{{DSIG}}}SignedInfo")
    value = root.findtext(f".//{{{DSIG}}}SignatureValue") or ""
    assert info is not None
    alone = etree.fromstring(etree.tostring(info, with_tail=False))  # with its name space
    return etree.tostring(alone, method="c14n").decode(), b64decode(value)


def digest_of_data() -> str:
    return b64encode(digest("sha1", f'<Data Id="body">{DATA}</Data>'.encode())).decode()


def test_xmlsec1_verifies_what_is_signed_here(xmlsec1: Path) -> None:
    """SRMP-306, SRMP-307."""
    unsigned = TEMPLATE.format(data=DATA, digest=digest_of_data(), value="").encode()
    value = XmlSigner(private_key("user-2048")).sign(signed_info(unsigned)[0])
    text = TEMPLATE.format(data=DATA, digest=digest_of_data(), value=b64encode(value).decode())
    for name, content, expected in (
        ("good", text, 0),
        ("bad", text.replace(DATA, "order 2"), 1),
        ("forged", TEMPLATE.format(data=DATA, digest=digest_of_data(), value="AAAA"), 1),
    ):
        (xmlsec1 / f"{name}.xml").write_text(content)
        known = ("--pubkey-cert-pem", "cert.pem", "--id-attr:Id", "Data")
        assert (run(xmlsec1, "--verify", *known, f"{name}.xml") != 0) == bool(expected), name


def test_what_xmlsec1_signs_is_verified_here(xmlsec1: Path) -> None:
    """SRMP-306, SRMP-316."""
    (xmlsec1 / "template.xml").write_text(TEMPLATE.format(data=DATA, digest="", value=""))
    arguments = ("--privkey-pem", "key.pem", "--id-attr:Id", "Data", "--output", "signed.xml")
    assert run(xmlsec1, "--sign", *arguments, "template.xml") == 0
    document = (xmlsec1 / "signed.xml").read_bytes()
    info, value = signed_info(document)
    assert digest_of_data() in info
    [certificate_here] = read_certificates((xmlsec1 / "cert.pem").read_bytes())
    assert is_made_with(certificate_here, Signature(info, (), value))
    assert not is_made_with(certificate_here, Signature(info.replace("body", "head"), (), value))
