"""Signed messages to several queues: one signature of version 3.0 for all copies."""

from __future__ import annotations

import pytest
from tests.signers import ALICE, VALID, der_of, signer
from tests.unit.engine.office import Manager

from openmsmq.engine.arrivals.examination import BAD_SIGNATURE, Examiner, Keyring
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.packet.packet import decode_packet
from openmsmq.packet.view import PacketView
from openmsmq.properties.message import SignatureType
from openmsmq.types.message import Message

ONE = "DIRECT=OS:one\\private$\\q"
BOTH = ONE + ",DIRECT=OS:other\\private$\\quite a long name"
BODY = b"for both"


@pytest.fixture
def manager() -> Manager:
    return Manager()


@pytest.fixture
def several(manager: Manager) -> ManagedQueue:
    return manager.open(BOTH)


def examiner() -> Examiner:
    """That of a receiver which knows alice."""
    found = Examiner()
    found.keyring = Keyring({ALICE: (der_of(),)})
    return found


def copies(manager: Manager, several: ManagedQueue) -> list[bytes]:
    """What goes to each of the queues."""
    return [manager.peek(member)[0].packet for member in several.members]


def check(packets: list[bytes]) -> None:
    """MSEC-018, MSEC-019, MQQB-314, DMPR-073."""
    signatures = set()
    for packet in packets:
        message = PacketView.parse(packet).message()
        assert decode_packet(packet).encode() == packet
        assert message.security is not None
        assert message.multi_queue is not None
        assert (message.security.signature, message.security.sender_cert) == (b"", der_of())
        signatures.add(message.multi_queue.signature.signature)
        found = examiner().examine(packet, VALID)
        assert (found.fault, found.kind, found.sender) == (None, SignatureType.MSMQ_3_0, ALICE)
        changed = packet.replace(BODY, BODY.upper())
        assert changed != packet
        assert examiner().examine(changed, VALID).fault is BAD_SIGNATURE
    assert len(signatures) == 1
    assert len(signatures.pop()) == 256


@pytest.mark.parametrize("extra", range(4))
def test_all_copies_carry_one_signature_behind_the_list(
    manager: Manager, several: ManagedQueue, extra: int
) -> None:
    """MSEC-018, MSEC-019, MQQB-314, DMPR-073: a receiver verifies it; the other place is empty."""
    manager.send(several, Message(BODY + b"x" * extra, label="order", signer=signer()))
    check(copies(manager, several))
