"""Protected messages that cannot be taken."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.signers import ALICE, VALID, der_of, exchange_key, published, signer
from tests.unit.engine.station import Station, events, parcel
from tests.unit.engine.world import HERE, ME, World

from openmsmq.engine.arrivals import refusal as module
from openmsmq.engine.arrivals.examination import Examination, ExaminedPacket, Keyring
from openmsmq.engine.arrivals.protection import fault_of
from openmsmq.engine.outgoing.encryption import Encryptor, PeerKeys
from openmsmq.engine.storage.history import Event
from openmsmq.engine.storage.tables import Table
from openmsmq.names.format import parse_format_name
from openmsmq.packet.builder import OptionalHeaders
from openmsmq.packet.headers.multi_queue import MultiQueueFormatHeader
from openmsmq.packet.headers.security import SecurityFlags, SecurityHeader
from openmsmq.packet.origin import without_origin
from openmsmq.packet.signer import MessageSigner
from openmsmq.properties.message import (
    Acknowledge,
    EncryptionAlgorithm,
    HashAlgorithm,
    MessageClass,
    PrivacyLevel,
    SignatureType,
    describe_class,
)
from openmsmq.security.principals import ANONYMOUS_TOKEN, authenticated_token
from openmsmq.security.sddl import format_sddl, parse_sddl
from openmsmq.security.sid import EVERYONE
from openmsmq.types.received import ReceivedMessage

CLAIMED = SecurityHeader.make(1, security_id=ALICE.encode())
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
        (OptionalHeaders(security=SIGNED, hash_algorithm=HashAlgorithm.SHA512), BAD_SIGNATURE),
        (OptionalHeaders(multi_queue=FOR_MANY, hash_algorithm=1), BAD_SIGNATURE),
    ],
    ids=["encrypted", "unknown level", "both", "unknown hash", "no hash", "nonsense", "several"],
)
FINE = [
    OptionalHeaders(security=SENDER, hash_algorithm=1),
    OptionalHeaders(security=UNSIGNED, hash_algorithm=1),
    OptionalHeaders(multi_queue=FOR_MANY_UNSIGNED, hash_algorithm=1),
    OptionalHeaders(privacy_level=PrivacyLevel.AES, encryption_algorithm=AES),
    OptionalHeaders(privacy_level=4, encryption_algorithm=7, hash_algorithm=9),
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
    station.take(packet)
    assert station.bodies() == ["1"]


def test_each_message_is_looked_at(station: Station) -> None:
    """A message that is like the one before it may still be signed in another way."""
    unsigned = OptionalHeaders(multi_queue=FOR_MANY_UNSIGNED, hash_algorithm=1)
    bad = OptionalHeaders(multi_queue=FOR_MANY, hash_algorithm=1)
    station.take(parcel("1", headers=unsigned), parcel("2", number=2, headers=bad))
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
    assert without_origin(view.data) == parcel("1", to=HERE + name, place=place, headers=honest)


# Signed messages


def trusting(station: Station) -> Station:
    """One that knows the certificate of alice, and has keys."""
    station.core.examiner.keyring = Keyring({ALICE: (der_of(),)}, (exchange_key(),))
    return station


def signed(
    body: str = "1", *, number: int = 1, by: MessageSigner | None = None, **rest: Any
) -> bytes:
    """A message of alice."""
    one = by or signer()
    headers = OptionalHeaders(security=one.header, hash_algorithm=one.algorithm)
    return one.sign(parcel(body, number=number, sent=VALID, headers=headers, **rest))


@pytest.fixture
def valid(station: Station) -> Station:
    """A station at a time when the certificates are valid, that trusts alice."""
    station.world.tick(VALID - station.core.timeline.wall)
    assert abs(station.core.timeline.wall - VALID) < 10
    return trusting(station)


@pytest.mark.parametrize("express", [False, True], ids=["stored", "express"])
def test_the_sender_of_a_signed_message_is_known(valid: Station, express: bool) -> None:
    """MQQB-317, MQQB-318, MSEC-063, MSEC-078: AU and AS are set in what the queue keeps."""
    packets = valid.arrivals.examined([signed(express=express)])
    if express:
        valid.arrivals.take_express(valid.origin, packets)
    else:
        assert valid.take(packets[0]) is None
    [view] = valid.world.views(valid.world.find("q"))
    assert type(view.data) is bytes
    security = view.security
    assert security is not None
    assert (security.signature_type, bool(security.flags & SecurityFlags.AU)) == (3, True)
    received = ReceivedMessage(view.data)
    assert (received.sender_id, received.sender_certificate) == (str(ALICE), der_of())
    assert received.signature_type is not SignatureType.NONE


def test_permissions_count_for_a_proven_sender(valid: Station) -> None:
    """MSEC-138, MSEC-140, MSEC-144, MQQB-322: alice may send, others may not."""
    permissions = parse_sddl(f"D:(A;;LC;;;{ALICE})")
    queue = valid.world.find("q")
    queue.properties = replace(queue.properties, permissions=format_sddl(permissions))
    valid.take(parcel("claimed", number=1, headers=OptionalHeaders(security=CLAIMED)))
    valid.take(signed("proven", number=2))
    valid.take(signed("nameless", number=3, by=MessageSigner(signer().certificate, signer().key)))
    assert valid.bodies() == ["proven"]
    assert valid.world.count(module.REJECTED + describe_class(MessageClass.NACK_ACCESS_DENIED)) == 2


def test_what_was_decided_about_one_sender_and_queue_counts_for_no_other(valid: Station) -> None:
    """MSEC-138, MSEC-144: permissions that change, another queue, and another sender count."""
    queue = valid.world.find("q")
    valid.world.queue("closed", permissions="D:(A;;LC;;;BA)")

    def may(sddl: str) -> None:
        queue.properties = replace(queue.properties, permissions=sddl)

    may("D:(A;;LC;;;AN)")
    valid.take(parcel("first", number=1))
    valid.take(parcel("elsewhere", number=2, to=HERE + "closed"))
    valid.take(parcel("second", number=3))
    valid.origin.principal = authenticated_token(ALICE)
    valid.take(parcel("another sender", number=4))
    valid.origin.principal = ANONYMOUS_TOKEN
    may("D:(A;;LC;;;BA)")
    valid.take(parcel("too late", number=5))
    assert valid.bodies() == ["first", "second"]
    assert valid.world.find("closed").messages == 0


def test_a_queue_that_demands_authentication_takes_proven_senders_only(valid: Station) -> None:
    """DMPR-037, MSEC-079, MSEC-080, MSEC-081."""
    queue = valid.world.find("q")
    valid.take(parcel("before", number=9))
    queue.properties = replace(queue.properties, authenticate=True)
    valid.take(parcel("unsigned", number=1, sent=VALID))
    nameless = MessageSigner(signer().certificate, signer().key)
    valid.take(signed("nameless", number=2, by=nameless))
    valid.take(signed("proven", number=3))
    assert valid.bodies() == ["before", "proven"]
    valid.core.examiner.policy = replace(valid.core.examiner.policy, takes_unidentified=True)
    valid.take(signed("nameless", number=4, by=nameless))
    assert valid.bodies() == ["before", "proven", "nameless"]


@pytest.mark.parametrize("privacy", [0, 1, 2])
@pytest.mark.parametrize("is_encrypted", [False, True], ids=["clear", "encrypted"])
def test_a_queue_says_whether_it_takes_encrypted_messages(
    valid: Station, privacy: int, is_encrypted: bool
) -> None:
    """DMPR-036, MSEC-082, MSEC-135."""
    queue = valid.world.find("q")
    queue.properties = replace(queue.properties, privacy=privacy)
    packet = encrypted(signed("secret")) if is_encrypted else signed("secret")
    valid.take(packet)
    is_taken = privacy == 1 or (privacy == 2) is is_encrypted
    assert valid.bodies() == ["secret"] * is_taken
    if not is_taken:
        refused = valid.world.views(valid.core.queues.refused)
        assert [view.data for view in refused] == [packet]


def encrypted(packet: bytes) -> bytes:
    """The same, for the key of the station."""
    encryptor = Encryptor()
    encryptor.random = bytes.fromhex("5a").__mul__
    encryptor.peers = PeerKeys({ME: published(exchange_key())}, {"HERE": ME})
    encryptor.encrypts_direct = True
    return encryptor.encrypt(packet, 0)


def test_what_is_refused_leaves_no_clear_body(valid: Station) -> None:
    """MSEC-087, MSEC-129: `.\\Refused$` has it as it came, the sender hears of no body."""
    queue = valid.world.find("q")
    queue.properties = replace(queue.properties, authenticate=True)
    anonymous = encrypted(parcel("the secret", acknowledge=Acknowledge.NEG_ARRIVAL, sent=VALID))
    assert b"the secret" not in anonymous
    valid.take(anonymous)
    assert valid.bodies() == []
    [kept] = valid.world.views(valid.core.queues.refused)
    assert kept.data == anonymous
    [nack] = valid.world.views(valid.world.find("admin"))
    assert (nack.message_class, nack.body) == (BAD_SIGNATURE, b"")
    rows = valid.core.snapshot.scan(Table.PACKETS, b"", b"\xff" * 20)
    assert all(b"the secret" not in row for _, row in rows)


def test_strangers_do_not_hear_of_refusals(valid: Station) -> None:
    """MSEC-085: unless that is set."""
    valid.world.done(valid.core.configure(insecure_nacks=False))
    bad = OptionalHeaders(security=SIGNED, hash_algorithm=HashAlgorithm.SHA512)
    valid.take(parcel("1", sent=VALID, headers=bad, acknowledge=Acknowledge.NEG_ARRIVAL))
    assert (valid.bodies(), valid.admin()) == ([], [])
    valid.world.done(valid.core.configure(insecure_nacks=True))
    wants = Acknowledge.NEG_ARRIVAL
    valid.take(parcel("2", number=2, sent=VALID, headers=bad, acknowledge=wants))
    assert (valid.bodies(), valid.admin()) == ([], [BAD_SIGNATURE])


def test_a_signature_counts_once_in_the_replay_window(valid: Station) -> None:
    """MSEC-088: the same message under another number is refused, and taken without a window."""
    first = signed("1", number=1)
    again = first[:56] + (77).to_bytes(4, "little") + first[60:]
    valid.core.examiner.policy = replace(valid.core.examiner.policy, replay_window=600)
    valid.take(first)
    valid.take(again)
    assert valid.bodies() == ["1"]
    assert valid.world.count(module.REJECTED + describe_class(BAD_SIGNATURE)) == 1
    valid.core.examiner.policy = replace(valid.core.examiner.policy, replay_window=0)
    valid.take(again[:56] + (78).to_bytes(4, "little") + again[60:])
    assert valid.bodies() == ["1", "1"]


def test_a_message_for_another_manager_is_not_examined(valid: Station) -> None:
    """MSEC-048."""
    other = parse_format_name("PRIVATE=22222222-2222-2222-2222-222222222222\\1")
    packet = parcel("1", to=other, headers=OptionalHeaders(security=SIGNED))
    assert valid.arrivals.examined([packet]) == [packet]
    assert type(valid.arrivals.examined([packet])[0]) is bytes
    here = parcel("1", headers=OptionalHeaders(security=SIGNED))
    assert isinstance(valid.arrivals.examined([here])[0], ExaminedPacket), "MSEC-047"


def test_messages_to_a_direct_name_are_examined(valid: Station) -> None:
    """MSEC-047: no GUID says whom they are for."""
    valid.take(signed("1")[:-8] + b"12345678")
    assert valid.bodies() == []


@pytest.mark.parametrize(("entry", "is_taken"), [("WD", True), ("AU", False), ("AN", False)])
def test_a_queue_manager_as_a_sender_is_everyone(entry: str, is_taken: bool) -> None:
    """MSEC-139: neither anonymous nor one that has logged on."""
    permissions = format_sddl(parse_sddl(f"D:(A;;LC;;;{entry})"))
    properties = replace(World().queue("q").properties, permissions=permissions)
    finding = Examination(b"", None, SignatureType.MSMQ_2_0, EVERYONE)
    found = fault_of(properties, finding, ANONYMOUS_TOKEN, takes_unidentified=False)
    assert found is (None if is_taken else MessageClass.NACK_ACCESS_DENIED)
