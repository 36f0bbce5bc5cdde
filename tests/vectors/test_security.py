"""Message security to the byte: descriptors, keys and signatures.

No vector comes from Windows. They were made by another implementation and checked by openssl and
Samba, so that they show that three implementations read the specifications alike.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from openmsmq.packet.message import UserMessage
from openmsmq.packet.packet import decode_packet
from openmsmq.packet.signed import find_signature, is_signed, signed_bytes
from openmsmq.properties.message import SignatureType
from openmsmq.security.access import ManagerRights, QueueRights
from openmsmq.security.access_check import check_access
from openmsmq.security.descriptor import SecurityDescriptor
from openmsmq.security.digests import CALG_MD2, DIGEST_INFO, digest
from openmsmq.security.rsa import RsaPublicKey, padded
from openmsmq.security.sddl import format_sddl, parse_sddl
from openmsmq.security.sid import Sid
from openmsmq.security.x509 import decode_certificate

FOLDER = Path(__file__).parent / "security"


def load(name: str) -> dict[str, Any]:
    """One of the files."""
    found: dict[str, Any] = json.loads((FOLDER / f"security-{name}.json").read_text())
    return found


ACCESS = load("access")
KEYS = load("keys")
SIGNATURES = load("signatures")
PUBLIC = {key["name"]: RsaPublicKey(int(key["n"], 16), key["e"]) for key in KEYS["keys"]}
SIGNED = SIGNATURES["vectors"]
NEGATIVE = {vector["name"]: vector for vector in SIGNATURES["negative"]}
ANONYMOUS_OWNED = frozenset({"workgroup", "workgroup-srmp"})


def named(vectors: list[dict[str, Any]]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("vector", vectors, ids=lambda vector: vector["name"])


def message_of(vector: dict[str, Any]) -> UserMessage:
    found = decode_packet(bytes.fromhex(vector["packet"]))
    assert isinstance(found, UserMessage)
    return found


def certificate_key(message: UserMessage) -> RsaPublicKey:
    assert message.security is not None
    key = decode_certificate(message.security.sender_cert).key
    assert key is not None
    return key


# Access


@named(ACCESS["descriptors"])
def test_descriptors_in_words_are_the_bytes_and_back(vector: dict[str, Any]) -> None:
    "MSEC-163"
    parsed = parse_sddl(vector["sddl"])
    assert parsed.encode().hex() == vector["self_relative"]
    assert parse_sddl(format_sddl(parsed)) == parsed
    assert SecurityDescriptor.decode(bytes.fromhex(vector["self_relative"])) == parsed


@named(ACCESS["descriptors"])
def test_a_descriptor_grants_what_another_implementation_grants(vector: dict[str, Any]) -> None:
    "MSEC-158, MSEC-159, MSEC-160, MSEC-161, MSEC-163"
    kind = QueueRights if vector["object"] == "queue" else ManagerRights
    for name, rights in vector["granted"].items():
        token = frozenset(map(Sid.from_text, ACCESS["tokens"][name]))
        asked = ACCESS_NAMES[vector["object"]]
        granted = {
            right
            for right in asked
            if check_access(parse_sddl(vector["sddl"]), token, kind[right]).is_granted
        }
        expected = set(rights)
        if vector["name"] in ANONYMOUS_OWNED and name.startswith("anonymous"):
            # MSEC-A41: an owner that is anonymous has no rights of an owner; others may give them.
            expected &= {right for right in rights if granted >= {right} or "PERMISS" not in right}
        assert granted == expected, name


ACCESS_NAMES = {
    kind: sorted(
        {
            right
            for vector in ACCESS["descriptors"]
            if vector["object"] == kind
            for rights in vector["granted"].values()
            for right in rights
        }
    )
    for kind in ("queue", "machine")
}


# Certificates


@named(KEYS["certificates"])
def test_certificates_give_their_key(vector: dict[str, Any]) -> None:
    found = decode_certificate(bytes.fromhex(vector["der"]))
    assert found.key == PUBLIC[vector["name"]]
    assert found.subject in ("alice", "alice (1024)", "mallory")
    assert found.is_valid_at(1_790_000_000)
    assert not found.is_valid_at(1_700_000_000)
    assert not found.is_valid_at(2_200_000_000)


# Signatures


@named(SIGNED)
def test_what_a_signature_covers(vector: dict[str, Any]) -> None:
    "MSEC-024, MSEC-025, MSEC-026, MSEC-027, MSEC-028, MSEC-029, MSEC-031 to MSEC-036, MSEC-039"
    message = message_of(vector)
    kind = SignatureType(vector["expect"]["AS"])
    covered = signed_bytes(message, kind, message.properties.body)
    assert covered.hex() == vector["hash_input"]


@named(SIGNED)
def test_signatures_are_found_right(vector: dict[str, Any]) -> None:
    "MSEC-041, MSEC-042, MSEC-045, MSEC-049, MSEC-050, MSEC-052"
    algorithm = int(vector["HashAlgorithm"], 16)
    if algorithm == CALG_MD2:
        pytest.importorskip("Crypto", reason="MD2 needs the extra legacy")
    message = message_of(vector)
    key = certificate_key(message)
    value = digest(algorithm, bytes.fromhex(vector["hash_input"]))
    assert value.hex() == vector["digest"]
    assert (DIGEST_INFO[algorithm] + value).hex() == vector["DigestInfo"]
    block = key.recover(bytes.fromhex(vector["signature_big_endian"]))
    assert block == padded(algorithm, value, key.size)
    assert is_signed(message)
    assert find_signature(message, key, message.properties.body) == vector["expect"]["AS"]


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("sig20-body-changed", None),
        ("sig20-priority-changed", None),
        ("sig20-senttime-changed", SignatureType.MSMQ_2_0),
        ("sig20-extension-changed", SignatureType.MSMQ_2_0),
        ("sig20-boundary-shift", SignatureType.MSMQ_2_0),
        ("sig20-other-sid", SignatureType.MSMQ_2_0),
        ("sig20-unregistered", SignatureType.MSMQ_2_0),
    ],
)
def test_what_a_signature_notices_and_what_not(name: str, found: SignatureType | None) -> None:
    "MSEC-061"
    message = message_of(NEGATIVE[name])
    assert find_signature(message, certificate_key(message), message.properties.body) == found


@pytest.mark.parametrize("name", ["sid-only", "sig-4-zero-bytes"])
def test_no_signature_is_none(name: str) -> None:
    "MSEC-056"
    assert not is_signed(message_of(NEGATIVE[name]))
