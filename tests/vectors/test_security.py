"""Message security to the byte: descriptors, keys, signatures and encrypted bodies.

No vector comes from Windows. They were made by another implementation and checked by openssl and
Samba, so that they show that three implementations read the specifications alike.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from openmsmq.engine.arrivals.examination import (
    BAD_ENCRYPTION,
    BAD_SIGNATURE,
    Examiner,
    Keyring,
    SecurityPolicy,
)
from openmsmq.packet.encrypted import with_cipher, without_cipher
from openmsmq.packet.message import UserMessage
from openmsmq.packet.packet import decode_packet
from openmsmq.packet.signed import find_signature, signed_bytes, signed_fields
from openmsmq.packet.signer import MessageSigner
from openmsmq.properties.message import (
    ALGORITHMS,
    PROVIDERS,
    EncryptionAlgorithm,
    HashAlgorithm,
    MessageClass,
    PrivacyLevel,
    SignatureType,
)
from openmsmq.security.access import ManagerRights, QueueRights
from openmsmq.security.access_check import check_access
from openmsmq.security.ciphers import BodyCipher
from openmsmq.security.descriptor import SecurityDescriptor
from openmsmq.security.digests import CALG_MD2, DIGEST_INFO, digest
from openmsmq.security.keys import (
    CALG_RSA_KEYX,
    CALG_RSA_SIGN,
    DirectoryPublicKeys,
    PublicKeyBlob,
    UserCertificates,
)
from openmsmq.security.rsa import RsaPublicKey, padded
from openmsmq.security.sddl import format_sddl, parse_sddl
from openmsmq.security.session_keys import ExchangeKey, blob_of, public_key_of, wrap
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
ENCRYPTION = load("encryption")
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
    "MSEC-024 to MSEC-029, MSEC-031 to MSEC-036, MSEC-039, MQQB-311 to MQQB-313"
    message = message_of(vector)
    kind = SignatureType(vector["expect"]["AS"])
    covered = signed_bytes(signed_fields(message), kind, message.properties.body)
    assert covered.hex() == vector["hash_input"]


@named(SIGNED)
def test_signatures_are_found_right(vector: dict[str, Any]) -> None:
    "MSEC-041, MSEC-042, MSEC-045, MSEC-049, MSEC-050, MSEC-052, MQQB-316"
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
    assert signed_fields(message).signature
    assert (
        find_signature(signed_fields(message), key, message.properties.body)
        == vector["expect"]["AS"]
    )


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
    assert (
        find_signature(signed_fields(message), certificate_key(message), message.properties.body)
        == found
    )


@pytest.mark.parametrize("name", ["sid-only", "sig-4-zero-bytes"])
def test_no_signature_is_none(name: str) -> None:
    "MSEC-056"
    assert not signed_fields(message_of(NEGATIVE[name])).signature


# Keys


@named(KEYS["keys"])
def test_public_keys_as_blobs_and_back(vector: dict[str, Any]) -> None:
    "MSEC-180, MSEC-182"
    for name, algorithm in (("keyx", CALG_RSA_KEYX), ("sign", CALG_RSA_SIGN)):
        raw = bytes.fromhex(vector[f"PUBLICKEYBLOB_{name}"])
        blob = PublicKeyBlob.decode(raw)
        assert blob.encode() == raw
        assert public_key_of(blob) == PUBLIC[vector["name"]]
        assert blob_of(PUBLIC[vector["name"]], algorithm) == blob


@pytest.mark.parametrize("name", ["MQDSPUBLICKEYS_encrypt", "MQDSPUBLICKEYS_sign"])
def test_the_keys_of_a_manager_as_the_directory_has_them(name: str) -> None:
    "MSEC-180, MSEC-182"
    vector = KEYS[name]
    found = DirectoryPublicKeys.decode(bytes.fromhex(vector["hex"]))
    assert found.encode().hex() == vector["hex"]
    assert [(one.provider_type, one.provider_name) for one in found.keys] == [
        (entry["provider_type"], entry["provider"]) for entry in vector["entries"]
    ]
    for key in found.keys:
        assert public_key_of(key.public_key()) in PUBLIC.values()


def test_the_certificates_of_a_user_as_the_directory_has_them() -> None:
    "MSEC-170"
    vector = KEYS["MQUSERSIGNCERTS"]
    found = UserCertificates.decode(bytes.fromhex(vector["hex"]))
    assert found.encode().hex() == vector["hex"]
    assert all(one.is_intact for one in found.certificates)
    assert [str(one.identifier) for one in found.certificates] == vector["identifiers"]


# Signing


def private_key(name: str) -> Any:
    """One of the keys, as the package cryptography has it."""
    serialization = pytest.importorskip("cryptography.hazmat.primitives.serialization")
    raw = next(key["pkcs1_private_der"] for key in KEYS["keys"] if key["name"] == name)
    return serialization.load_der_private_key(bytes.fromhex(raw), password=None)


def signer_of(vector: dict[str, Any]) -> MessageSigner:
    serialization = pytest.importorskip("cryptography.hazmat.primitives.serialization")
    raw = private_key(vector["key"]).private_bytes(
        serialization.Encoding.DER,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    security = message_of(vector).security
    assert security is not None
    return MessageSigner(
        security.sender_cert,
        raw,
        Sid.decode(security.security_id),
        HashAlgorithm(int(vector["HashAlgorithm"], 16)),
        SignatureType(vector["expect"]["AS"]),
    )


@named(SIGNED)
def test_signing_gives_the_same_octets(vector: dict[str, Any]) -> None:
    "MSEC-041, MSEC-042, MSEC-043, MSEC-046"
    if int(vector["HashAlgorithm"], 16) == CALG_MD2:
        pytest.importorskip("Crypto", reason="MD2 needs the extra legacy")
    signer, message = signer_of(vector), message_of(vector)
    assert (
        signer.signature(signed_fields(message), message.properties.body).hex()
        == vector["signature_wire"]
    )
    if vector["where"].startswith("SecurityHeader"):
        packet = bytes.fromhex(vector["packet"])
        blank = packet.replace(
            bytes.fromhex(vector["signature_wire"]),
            bytes(256)[: len(vector["signature_wire"]) // 2],
        )
        assert blank != packet
        assert signer.sign(blank) == packet


# Messages that arrive

OWNER = Sid.from_text(KEYS["MQUSERSIGNCERTS"]["owner_sid"])
REGISTERED = tuple(bytes.fromhex(one["der"]) for one in KEYS["certificates"][:2])
NOW = 1_790_000_000
EVERY_CIPHER = frozenset(
    (level, algorithm) for level, kinds in ALGORITHMS.items() for algorithm in kinds
)
ANYTHING = SecurityPolicy(
    hashes=frozenset(HashAlgorithm),
    signatures=frozenset(SignatureType),
    key_bits_min=512,
    ciphers=EVERY_CIPHER,
    rejects_short_rc2=False,
)
OWN_KEYS = {
    PrivacyLevel.BASE: "qm-base-512",
    PrivacyLevel.ENHANCED: "qm-enhanced-1024",
    PrivacyLevel.AES: "qm-aes-1024",
}


def exchange_key(level: PrivacyLevel) -> ExchangeKey:
    name = OWN_KEYS[level]
    vector = next(key for key in KEYS["keys"] if key["name"] == name)
    private = None if level is PrivacyLevel.BASE else private_key(name)
    return ExchangeKey(level, private, PUBLIC[name], int(vector["d"], 16))


def examiner(policy: SecurityPolicy = ANYTHING) -> Examiner:
    found = Examiner()
    found.policy = policy
    found.keyring = Keyring({OWNER: REGISTERED}, tuple(map(exchange_key, OWN_KEYS)))
    return found


@named(SIGNED)
def test_a_signed_message_is_taken_and_its_sender_known(vector: dict[str, Any]) -> None:
    "MSEC-045, MSEC-052, MSEC-063, MSEC-074, MSEC-076"
    if int(vector["HashAlgorithm"], 16) == CALG_MD2:
        pytest.importorskip("Crypto", reason="MD2 needs the extra legacy")
    packet = bytes.fromhex(vector["packet"])
    found = examiner().examine(packet, NOW)
    assert (found.fault, found.kind, found.sender) == (None, vector["expect"]["AS"], OWNER)
    stored = decode_packet(found.packet)
    assert isinstance(stored, UserMessage)
    assert stored.security is not None
    assert stored.security.signature_type == vector["expect"]["AS"]
    before = message_of(vector).security
    assert before is not None
    assert stored.security.as_sent(encrypted=False) == before.as_sent(encrypted=False)


@named(SIGNATURES["negative"])
def test_a_signed_message_that_is_wrong_is_refused(vector: dict[str, Any]) -> None:
    "MSEC-053, MSEC-056, MSEC-061, MSEC-064, MSEC-065, MSEC-073"
    found = examiner().examine(bytes.fromhex(vector["packet"]), NOW)
    expected = vector["expect"]
    assert found.fault == (BAD_SIGNATURE if "BAD_SIGNATURE" in expected else None)
    if found.fault is None:
        assert found.kind == (3 if "AS 3" in expected else 0)
        assert (found.sender is not None) == bool(found.kind)


# Encryption


@named(ENCRYPTION["vectors"])
def test_bodies_and_keys_are_encrypted_to_the_byte(vector: dict[str, Any]) -> None:
    "MSEC-098, MSEC-100 to MSEC-112, MSEC-120"
    pytest.importorskip("cryptography")
    algorithm = EncryptionAlgorithm(int(vector["EncryptionAlgorithm"], 16))
    if algorithm is EncryptionAlgorithm.RC2:
        pytest.importorskip("Crypto", reason="RC2 needs the extra legacy")
    level = PrivacyLevel(vector["PrivacyLevel"])
    assert PROVIDERS[level] == vector["provider"]
    key = bytes.fromhex(vector["session_key_in_blob"])
    clear = bytes.fromhex(vector["clear_body"])
    effective = vector["rc2_effective_bits"] or 128
    body = BodyCipher(algorithm, key, effective).encrypt(clear)
    assert body.hex() == vector["cipher_body"]
    fill = bytes.fromhex(vector["pkcs1_block"])[2:].partition(b"\0")[0]
    blob = wrap(PUBLIC[vector["key"]], algorithm, key, fill)
    assert blob.hex() == vector["SIMPLEBLOB"]
    packet = bytes.fromhex(vector["packet"])
    assert with_cipher(without_cipher(packet, clear), level, algorithm, blob, body) == packet


@named([*ENCRYPTION["vectors"], ENCRYPTION["signed_and_encrypted"]])
def test_an_encrypted_message_is_stored_clear(vector: dict[str, Any]) -> None:
    "MSEC-121, MSEC-126, MSEC-131, MSEC-132, MSEC-134, MSEC-135, MSEC-137"
    if "rc2" in vector["name"]:
        pytest.importorskip("Crypto", reason="RC2 needs the extra legacy")
    found = examiner().examine(bytes.fromhex(vector["packet"]), NOW)
    assert (found.fault, found.is_encrypted) == (None, True)
    stored = decode_packet(found.packet)
    assert isinstance(stored, UserMessage)
    clear = ENCRYPTION["vectors"][0]["clear_body"]
    assert stored.properties.body.hex() == clear
    assert stored.security is not None
    assert (stored.security.encryption_key, stored.security.flags & 0x20) == (b"", 0)
    assert stored.base.packet_size == len(found.packet)
    assert found.kind == (3 if "signature_vector" in vector else 0)


@named(ENCRYPTION["negative"])
def test_an_encrypted_message_that_is_wrong_is_refused(vector: dict[str, Any]) -> None:
    "MSEC-121, MSEC-122, MSEC-129, MSEC-130, MSEC-133, MSEC-137"
    if "rc2" in vector["name"]:
        pytest.importorskip("Crypto", reason="RC2 needs the extra legacy")
    strict = SecurityPolicy(ciphers=EVERY_CIPHER)
    packet = bytes.fromhex(vector["packet"])
    found = examiner(strict).examine(packet, NOW)
    assert (found.fault, found.packet) == (BAD_ENCRYPTION, packet)
    assert found.fault is MessageClass.NACK_BAD_ENCRYPTION
    if "without" in vector["expect"]:
        assert examiner().examine(packet, NOW).fault is None
