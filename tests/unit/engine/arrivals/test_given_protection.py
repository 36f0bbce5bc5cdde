"""Signatures and ciphers of clients for whom the manager makes the packet."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

import pytest
from tests.signers import ALICE, VALID, der_of, exchange_key, signer

from openmsmq.engine.arrivals.examination import Examiner, Keyring
from openmsmq.engine.arrivals.given_protection import (
    GivenCipher,
    GivenProtection,
    checked_message,
)
from openmsmq.errors import (
    CorruptedSecurityData,
    FailVerifySignatureEx,
    MessageNotAuthenticated,
)
from openmsmq.names.format import parse_format_name
from openmsmq.packet.builder import OptionalHeaders
from openmsmq.packet.headers.security import SecurityFlags, SecurityHeader
from openmsmq.packet.signer import MessageSigner
from openmsmq.packet.view import PacketView
from openmsmq.properties.message import EncryptionAlgorithm, PrivacyLevel, SignatureType
from openmsmq.security.ciphers import EFFECTIVE_BITS, BodyCipher
from openmsmq.security.session_keys import ExchangeKey, fill_size, wrap
from openmsmq.types.message import Message
from openmsmq.types.pack import Packer

NAME = parse_format_name("DIRECT=OS:farm\\private$\\answers")
PACKER = Packer(UUID(int=9))


def given(one: MessageSigner, kind: SignatureType = SignatureType.MSMQ_2_0) -> GivenProtection:
    """What a client says of a message that it has signed."""
    packet = PACKER.pack(Message(b"yes", signer=one), NAME, message_id=0, sent_time=0)
    security = PacketView(packet).security
    assert security is not None
    return GivenProtection(security, one.algorithm, kind, NAME)


def packed(headers: OptionalHeaders) -> bytes:
    """The packet that the manager makes."""
    return PACKER.pack_many([Message(b"yes")], NAME, first_id=3, sent_time=5, headers=headers)[0]


@pytest.fixture
def examiner() -> Examiner:
    found = Examiner()
    found.keyring = Keyring({ALICE: (der_of(),)})
    return found


def test_a_signature_is_verified_over_the_packet_that_is_made(examiner: Examiner) -> None:
    headers, body = checked_message(given(signer()), packed, examiner, VALID, authenticate=True)
    found = headers.security
    assert found is not None
    assert body == b"yes"
    assert (found.signature_type, found.security_id) == (SignatureType.MSMQ_2_0, ALICE.encode())
    before = given(signer()).headers.security
    assert before is not None
    assert not before.flags & (SecurityFlags.AU | SecurityFlags.AS)


def verified(one: GivenProtection, examiner: Examiner, *, authenticate: bool) -> int:
    """The kind of signature that was found."""
    found = checked_message(one, packed, examiner, VALID, authenticate=authenticate)
    return found.headers.verified


@pytest.mark.parametrize("change", ["kind", "time", "body", "sender"])
def test_a_signature_that_is_not_right_is_refused(examiner: Examiner, change: str) -> None:
    kind = SignatureType.MSMQ_1_0 if change == "kind" else SignatureType.MSMQ_2_0
    signed = given(signer(), kind)
    if change == "sender":
        broken = replace(signed.security, security_id=b"x" * 7, sender_id_size=7)
        signed = signed._replace(security=broken)

    def other(headers: OptionalHeaders) -> bytes:
        [packet] = PACKER.pack_many(
            [Message(b"no")], NAME, first_id=3, sent_time=5, headers=headers
        )
        return packet

    pack, now = other if change == "body" else packed, 5 if change == "time" else VALID
    with pytest.raises(FailVerifySignatureEx):
        checked_message(signed, pack, examiner, now, authenticate=False)


def test_a_queue_that_authenticates_wants_to_know_the_sender(examiner: Examiner) -> None:
    nameless = given(replace(signer(), sender=None))
    assert verified(nameless, examiner, authenticate=False)
    with pytest.raises(MessageNotAuthenticated):
        checked_message(nameless, packed, examiner, VALID, authenticate=True)
    examiner.policy = replace(examiner.policy, takes_unidentified=True)
    assert verified(nameless, examiner, authenticate=True)


# Ciphers

CIPHER = GivenCipher(PrivacyLevel.ENHANCED, EncryptionAlgorithm.RC2)
KEY = bytes(range(1, 17))


def encrypted(one: ExchangeKey) -> GivenProtection:
    """What a client says of a message that it has encrypted for the owner of a key."""
    fill = b"\1" * fill_size(one.public, KEY)
    blob = wrap(one.public, CIPHER.algorithm, KEY, fill)
    security = SecurityHeader.make(SecurityFlags.AI, encryption_key=blob)
    return GivenProtection(security, 0, SignatureType.NONE, NAME, CIPHER)


def packed_cipher(headers: OptionalHeaders) -> bytes:
    """The packet with the body as the client has encrypted it."""
    body = BodyCipher(CIPHER.algorithm, KEY, EFFECTIVE_BITS).encrypt(b"yes")
    return PACKER.pack_many([Message(body)], NAME, first_id=3, sent_time=5, headers=headers)[0]


def test_a_body_is_decrypted_with_the_key_of_the_manager(examiner: Examiner) -> None:
    """Nothing of the session key is kept."""
    own = exchange_key(level=PrivacyLevel.ENHANCED)
    examiner.keyring = Keyring({}, (own,))
    examiner.policy = replace(examiner.policy, ciphers=frozenset({CIPHER}))
    given_headers = encrypted(own).headers.security
    assert given_headers is not None
    assert given_headers.flags & SecurityFlags.EB
    headers, body = checked_message(
        encrypted(own), packed_cipher, examiner, VALID, authenticate=False
    )
    assert body == b"yes"
    assert headers.security is not None
    assert headers.security.encryption_key == b""
    assert not headers.security.flags & SecurityFlags.EB
    with pytest.raises(MessageNotAuthenticated):
        checked_message(encrypted(own), packed_cipher, examiner, VALID, authenticate=True)


@pytest.mark.parametrize("wrong", ["key", "policy"])
def test_a_body_that_cannot_be_decrypted_is_refused(examiner: Examiner, wrong: str) -> None:
    own = exchange_key(level=PrivacyLevel.ENHANCED)
    other = exchange_key("other-user-2048", PrivacyLevel.ENHANCED)
    examiner.keyring = Keyring({}, (own,))
    if wrong == "key":
        examiner.policy = replace(examiner.policy, ciphers=frozenset({CIPHER}))
    message = encrypted(other if wrong == "key" else own)
    with pytest.raises(CorruptedSecurityData):
        checked_message(message, packed_cipher, examiner, VALID, authenticate=False)
