"""Signatures of clients for whom the manager makes the packet."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

import pytest
from tests.signers import ALICE, VALID, der_of, signer

from openmsmq.engine.arrivals.examination import Examiner, Keyring
from openmsmq.engine.arrivals.given_signature import GivenSignature, verified_headers
from openmsmq.errors import FailVerifySignatureEx, MessageNotAuthenticated
from openmsmq.names.format import parse_format_name
from openmsmq.packet.builder import OptionalHeaders
from openmsmq.packet.headers.security import SecurityFlags
from openmsmq.packet.signer import MessageSigner
from openmsmq.packet.view import PacketView
from openmsmq.properties.message import SignatureType
from openmsmq.types.message import Message
from openmsmq.types.pack import Packer

NAME = parse_format_name("DIRECT=OS:farm\\private$\\answers")
PACKER = Packer(UUID(int=9))


def given(one: MessageSigner, kind: SignatureType = SignatureType.MSMQ_2_0) -> GivenSignature:
    """What a client says of a message that it has signed."""
    packet = PACKER.pack(Message(b"yes", signer=one), NAME, message_id=0, sent_time=0)
    security = PacketView(packet).security
    assert security is not None
    return GivenSignature(security, one.algorithm, kind, NAME)


def packed(headers: OptionalHeaders) -> bytes:
    """The packet that the manager makes."""
    return PACKER.pack_many([Message(b"yes")], NAME, first_id=3, sent_time=5, headers=headers)[0]


@pytest.fixture
def examiner() -> Examiner:
    found = Examiner()
    found.keyring = Keyring({ALICE: (der_of(),)})
    return found


def test_a_signature_is_verified_over_the_packet_that_is_made(examiner: Examiner) -> None:
    found = verified_headers(given(signer()), packed, examiner, VALID, authenticate=True).security
    assert found is not None
    assert (found.signature_type, found.security_id) == (SignatureType.MSMQ_2_0, ALICE.encode())
    before = given(signer()).headers.security
    assert before is not None
    assert not before.flags & (SecurityFlags.AU | SecurityFlags.AS)


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
        verified_headers(signed, pack, examiner, now, authenticate=False)


def test_a_queue_that_authenticates_wants_to_know_the_sender(examiner: Examiner) -> None:
    nameless = given(replace(signer(), sender=None))
    assert verified_headers(nameless, packed, examiner, VALID, authenticate=False).verified
    with pytest.raises(MessageNotAuthenticated):
        verified_headers(nameless, packed, examiner, VALID, authenticate=True)
    examiner.policy = replace(examiner.policy, takes_unidentified=True)
    assert verified_headers(nameless, packed, examiner, VALID, authenticate=True).verified
