"""Protected messages that cannot be taken."""

from __future__ import annotations

import pytest
from tests.unit.engine.station import Station, events, parcel
from tests.unit.engine.world import HERE

from openmsmq.engine.arrivals import arrivals as module
from openmsmq.engine.arrivals.protection import security_fault
from openmsmq.engine.storage.history import Event
from openmsmq.packet.builder import OptionalHeaders
from openmsmq.packet.headers.multi_queue import MultiQueueFormatHeader
from openmsmq.packet.headers.security import SecurityHeader
from openmsmq.packet.view import PacketView
from openmsmq.properties.message import (
    Acknowledge,
    EncryptionAlgorithm,
    HashAlgorithm,
    MessageClass,
    PrivacyLevel,
    SignatureType,
    describe_class,
)

KEY = SecurityHeader.make(0, encryption_key=b"key")
SENDER = SecurityHeader.make(1, security_id=bytes.fromhex("010100000000000507000000"))
SIGNED = SecurityHeader.make(0, signature=b"signed", sender_cert=b"certificate")
UNSIGNED = SecurityHeader.make(0, signature=bytes(4))
FOR_MANY = MultiQueueFormatHeader.make((), signature=b"signed")
FOR_MANY_UNSIGNED = MultiQueueFormatHeader.make(())
BAD_ENCRYPTION = MessageClass.NACK_BAD_ENCRYPTION
BAD_SIGNATURE = MessageClass.NACK_BAD_SIGNATURE
AES = EncryptionAlgorithm.AES_256

REFUSED = pytest.mark.parametrize(
    ("headers", "reason"),
    [
        (OptionalHeaders(security=KEY, privacy_level=5, encryption_algorithm=AES), BAD_ENCRYPTION),
        (OptionalHeaders(security=KEY, privacy_level=4), BAD_ENCRYPTION),
        (OptionalHeaders(security=SIGNED, privacy_level=5), BAD_ENCRYPTION),
        (OptionalHeaders(security=SIGNED, hash_algorithm=0x8009), BAD_SIGNATURE),
        (OptionalHeaders(security=SIGNED), BAD_SIGNATURE),
        (OptionalHeaders(multi_queue=FOR_MANY, hash_algorithm=1), BAD_SIGNATURE),
    ],
    ids=["encrypted", "unknown level", "both", "unknown hash", "no hash", "several queues"],
)
FINE = [
    OptionalHeaders(security=SENDER, hash_algorithm=1),
    OptionalHeaders(security=UNSIGNED, hash_algorithm=1),
    OptionalHeaders(multi_queue=FOR_MANY_UNSIGNED, hash_algorithm=1),
    OptionalHeaders(privacy_level=PrivacyLevel.AES, encryption_algorithm=AES),
    OptionalHeaders(privacy_level=4, encryption_algorithm=7, hash_algorithm=9),
    *[
        OptionalHeaders(security=SIGNED, hash_algorithm=code)
        for code in HashAlgorithm
        if code is not HashAlgorithm.NONE
    ],
]


@pytest.fixture
def station() -> Station:
    """One with queues of both kinds."""
    found = Station()
    found.world.queue("q")
    found.world.queue("t", transactional=True)
    found.world.queue("admin")
    found.world.done(found.core.configure(insecure_nacks=True))
    return found


@REFUSED
@pytest.mark.parametrize("express", [False, True], ids=["stored", "express"])
def test_what_cannot_be_read_or_verified_is_refused_with_its_class(
    station: Station, headers: OptionalHeaders, reason: MessageClass, express: bool
) -> None:
    """MQQB-071 to MQQB-073, MSEC-053: it is not delivered as if it were clear."""
    packet = parcel("1", headers=headers, express=express, acknowledge=Acknowledge.NEG_ARRIVAL)
    if express:
        assert station.take_express(packet)
    else:
        assert station.take(packet) is None
        assert events(station, packet) == [Event.REJECTED, Event.REFUSED]
    assert station.bodies() == []
    assert station.admin() == [reason]
    assert reason in module.REASONS
    assert station.world.count(module.REJECTED + describe_class(reason)) == 1


@REFUSED
def test_the_sender_of_a_transactional_one_hears_of_it(
    station: Station, headers: OptionalHeaders, reason: MessageClass
) -> None:
    """MQQB-072, MQQB-073: by a FinalAck of the class."""
    station.take(parcel("1", to=HERE + "t", place=(1, 1, 0), headers=headers))
    assert station.bodies("t") == []
    assert station.finals() == [(reason, 1)]


@pytest.mark.parametrize("headers", FINE)
def test_without_encryption_and_signature_these_fields_mean_nothing(
    station: Station, headers: OptionalHeaders
) -> None:
    """MSEC-A26, MSEC-A27."""
    packet = parcel("1", headers=headers)
    assert security_fault(PacketView(packet)) is None
    station.take(packet)
    assert station.bodies() == ["1"]


def test_each_message_is_looked_at(station: Station) -> None:
    """A message that is like the one before it may still be signed in another way."""
    good = OptionalHeaders(multi_queue=FOR_MANY, hash_algorithm=HashAlgorithm.SHA512)
    bad = OptionalHeaders(multi_queue=FOR_MANY, hash_algorithm=1)
    station.take(parcel("1", headers=good), parcel("2", number=2, headers=bad))
    assert station.bodies() == ["1"]


@pytest.mark.parametrize("place", [None, (1, 1, 0)], ids=["plain", "transactional"])
def test_a_sender_cannot_claim_that_its_signature_was_verified(
    station: Station, place: tuple[int, int, int] | None
) -> None:
    """DMPR-406: AU and AS are for the receiver to find; the rest of the packet stays as it came."""
    claimed = OptionalHeaders(security=SENDER, verified=SignatureType.XML)
    honest = OptionalHeaders(security=SENDER)
    name = "q" if place is None else "t"
    station.take(parcel("1", to=HERE + name, place=place, headers=claimed))
    [view] = station.world.views(station.world.find(name))
    assert view.data == parcel("1", to=HERE + name, place=place, headers=honest)
