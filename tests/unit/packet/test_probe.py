"""Which reading of the specifications a signature follows."""

from __future__ import annotations

import sys
from dataclasses import replace

import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from tests.samples import MESSAGES, direct
from tests.signers import private_key, signer
from tests.unit.packet.test_signer import signed
from tests.unit.security.test_x509 import made

from openmsmq.packet.message import UserMessage
from openmsmq.packet.packet import decode_packet
from openmsmq.packet.probe import READINGS, judge
from openmsmq.packet.signed import signed_bytes, signed_fields
from openmsmq.packet.view import PacketView
from openmsmq.properties.message import HashAlgorithm, SignatureType
from openmsmq.security.digests import digest
from openmsmq.security.rsa import padded


def message_of(packet: bytes) -> UserMessage:
    found = decode_packet(packet)
    assert isinstance(found, UserMessage)
    return found


@pytest.mark.parametrize("reading", READINGS)
@pytest.mark.parametrize("order", ["reversed", "natural"])
def test_every_reading_is_found(reading: str, order: str) -> None:
    "MSEC-040: what a sender did is seen in its signature."
    message = message_of(signed(signer()))
    covered = signed_bytes(
        signed_fields(message, READINGS[reading]), SignatureType.MSMQ_2_0, b"body"
    )
    block = padded(HashAlgorithm.SHA1, digest(HashAlgorithm.SHA1, covered), 256)
    numbers = private_key("user-2048").private_numbers()
    value = pow(int.from_bytes(block, "big"), numbers.d, numbers.public_numbers.n)
    octets = value.to_bytes(256, "big")
    security = message.security
    assert security is not None
    changed = replace(security, signature=octets if order == "natural" else octets[::-1])
    properties = replace(message.properties, hash_algorithm=HashAlgorithm.SHA1)
    found = judge(replace(message, security=changed, properties=properties))
    assert found is not None
    assert (found.is_right, found.version, found.hash) == (True, "2.0", "SHA1")
    assert (found.names, found.octets, found.signer) == (reading, order, "alice")
    assert "is right" in found.words
    other = judge(replace(message, security=changed))
    assert other is not None
    assert (other.is_right, other.version, other.hash) == (False, "2.0", "SHA1")
    assert "with SHA1 is not what HashAlgorithm says, 0x800E" in other.words


def test_what_is_not_right_is_said() -> None:
    packet = signed(signer())
    assert judge(MESSAGES["plain"]) is None
    at = PacketView(packet).body_offset
    changed = packet[:at] + b"X" + packet[at + 1 :]
    found = judge(message_of(changed))
    assert found is not None
    assert (found.is_right, found.hash) == (False, "SHA512")
    assert "of other bytes" in found.words
    other = judge(MESSAGES["security"])
    assert other is not None
    assert "certificate cannot be read" in other.words
    message = message_of(packet)
    assert message.security is not None
    broken = replace(message, security=replace(message.security, signature=bytes(255) + b"1"))
    verdict = judge(broken)
    assert verdict is not None
    assert "no signature of the key" in verdict.words
    hidden = replace(message.security, flags=message.security.flags | 0x20)
    verdict = judge(replace(message, security=hidden))
    assert verdict is not None
    assert "encrypted" in verdict.words


def test_a_certificate_without_an_rsa_key_verifies_nothing() -> None:
    message = message_of(signed(signer()))
    assert message.security is not None
    other = made(ec.generate_private_key(ec.SECP256R1()))
    found = judge(replace(message, security=replace(message.security, sender_cert=other)))
    assert found is not None
    assert (found.is_right, "not RSA" in found.words) == (False, True)


def signed_block(block: bytes) -> bytes:
    """What a key makes of any block."""
    numbers = private_key("user-2048").private_numbers()
    value: int = pow(int.from_bytes(block, "big"), numbers.d, numbers.public_numbers.n)
    return value.to_bytes(256, "big")


def test_a_block_with_a_digest_of_no_known_hash_is_no_signature() -> None:
    message = message_of(signed(signer()))
    assert message.security is not None
    block = b"\0\1" + b"\xff" * 200 + b"\0" + bytes(53)
    changed = replace(message.security, signature=signed_block(block)[::-1])
    found = judge(replace(message, security=changed))
    assert found is not None
    assert found.words == "no signature of the key of 'alice'"


def test_a_digest_that_cannot_be_computed_fits_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """MD2 needs a package that may not be there."""
    monkeypatch.setitem(sys.modules, "Crypto.Hash", None)
    message = message_of(signed(signer()))
    assert message.security is not None
    block = padded(HashAlgorithm.MD2, bytes(16), 256)
    changed = replace(message.security, signature=signed_block(block))
    found = judge(replace(message, security=changed))
    assert found is not None
    assert (found.is_right, found.hash) == (False, "MD2")


def test_a_name_that_is_none_is_read_as_empty() -> None:
    message = message_of(signed(signer()))
    unnamed = replace(message.user, destination=direct("no name"))
    found = judge(replace(message, user=unnamed))
    assert found is not None
    assert not found.is_right
