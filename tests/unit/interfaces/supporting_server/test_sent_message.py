"""Messages that dependent clients send, from their transfer buffers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from tests.signers import ALICE, VALID, der_of, exchange_key, published, signer
from tests.strategies.dependent import UNIT, Dependent, SupportingWorld, units
from tests.strategies.remote_reader import ORDERS

from openmsmq.client.dependent.buffers import sent_buffer, signature_fields
from openmsmq.engine.arrivals.examination import Examiner, Keyring, SecurityPolicy
from openmsmq.engine.arrivals.given_protection import GivenProtection
from openmsmq.engine.handle import QueueHandle
from openmsmq.engine.messages.enqueue import Enqueuer
from openmsmq.engine.outgoing.encryption import PeerKeys
from openmsmq.errors import InvalidParameter, MQError
from openmsmq.interfaces.qm2qm.transfer_buffer import send_buffer
from openmsmq.interfaces.queue_format import ObjectId, QueueFormatArgument
from openmsmq.interfaces.supporting_server.sent_message import message_of, protection_of
from openmsmq.names.format import parse_format_name
from openmsmq.packet.headers.security import SecurityFlags
from openmsmq.packet.message import UserMessage
from openmsmq.packet.packet import decode_packet
from openmsmq.packet.view import PacketView
from openmsmq.properties.message import (
    Acknowledge,
    EncryptionAlgorithm,
    HashAlgorithm,
    PrivacyLevel,
    SignatureType,
)
from openmsmq.security.ciphers import EFFECTIVE_BITS, BodyCipher
from openmsmq.security.session_keys import fill_size, wrap
from openmsmq.security.sid import Sid
from openmsmq.types.access import Access, Mode
from openmsmq.types.message import Message
from openmsmq.types.pack import Packer

NOW = 1_700_000_000
NAME = parse_format_name(ORDERS)
PRIVATE = parse_format_name(f"PRIVATE={UUID(int=1)}\\00000007")
INVALID_PARAMETER, BAD_VALUE, BAD_PROPERTY = 0xC00E0006, 0xC00E0018, 0xC00E0002
UNSUPPORTED, NO_CONNECTOR = 0xC00E006A, 0xC00E0055
NOT_AUTHENTICATED, NOT_VERIFIED = 0xC00E009B, 0xC00E0082
SIGNED: dict[str, Any] = {"signature": b"s" * 64, "signature_size": 64, "hash_algorithm": 0x8003}
PROVIDER: dict[str, Any] = {"provider": units("Some Provider"), "provider_size": 14}


def made(**given: Any) -> Message:
    return message_of(send_buffer(**given), NAME, NOW)


def refused(name: Any = NAME, **given: Any) -> int:
    with pytest.raises(MQError) as error:
        message_of(send_buffer(**given), name, NOW)
    return error.value.hresult


def queue(text: str) -> QueueFormatArgument:
    return QueueFormatArgument.of(parse_format_name(text))


def test_an_empty_buffer_is_a_message_with_defaults() -> None:
    """MQMP-320, MQMP-325, MQMP-327, MQMP-329, MQMP-331, MQMP-333, MQMP-334, MQMP-337, MQMP-339,
    MQMP-342, MQMP-344, MQMP-347, MQMP-348, MQMP-352, MQMP-354, MQMP-359, MQMP-366, MQMP-368,
    MQMP-372, MQMP-373
    """
    found = made()
    assert found == Message(b"", recoverable=False)
    assert (found.priority, found.trace, found.body_type) == (3, False, 0)
    assert (found.admin_queue, found.response_queue, found.correlation_id) == (None, None, b"")
    assert (found.time_to_reach_queue, found.time_to_be_received) == (None, None)


def test_every_field_is_taken() -> None:
    """MQMP-321, MQMP-322, MQMP-338, MQMP-345, MQMP-349, MQMP-353, MQMP-355, MQMP-391"""
    admin, answers = f"PRIVATE={UUID(int=7)}\\0000002a", "DIRECT=OS:agent-7\\private$\\answers"
    found = made(
        admin=queue(admin),
        response=queue(answers),
        body=b"risk?",
        body_size=5,
        body_allocated=5,
        title=units("ask"),
        title_size=4,
        priority=7,
        delivery=1,
        acknowledge=0x0F,
        auditing=3,
        application_tag=77,
        correlation_id=bytes(range(20)),
        extension=b"more",
        extension_size=4,
        relative_time_to_live=60,
        absolute_time_to_queue=30,
        trace=1,
        body_type=8,
    )
    assert (found.body, found.label) == (b"risk?", "ask")
    assert (found.priority, found.recoverable) == (7, True)
    assert (str(found.admin_queue), str(found.response_queue)) == (admin, answers)
    assert (found.journal, found.dead_letter, found.trace) == (True, True, True)
    assert found.acknowledge == Acknowledge(0x0F)
    assert (found.app_specific, found.correlation_id) == (77, bytes(range(20)))
    assert (found.extension, found.body_type) == (b"more", 8)
    assert (found.time_to_be_received, found.time_to_reach_queue) == (60, 30)
    for bits, journal, letters in ((1, False, True), (2, True, False)):
        one = made(auditing=bits)
        assert (one.journal, one.dead_letter) == (journal, letters)


def test_a_time_may_be_a_date() -> None:
    """MQMP-329 to MQMP-331"""
    assert made(absolute_time_to_queue=0xFFFFFFFF).time_to_reach_queue is None
    assert made(absolute_time_to_queue=NOW + 90).time_to_reach_queue == 90
    assert made(absolute_time_to_queue=NOW - 90).time_to_reach_queue == 0
    assert made(absolute_time_to_queue=86_400 * 365).time_to_reach_queue == 86_400 * 365
    assert made(relative_time_to_live=0xFFFFFFFF).time_to_be_received is None


def test_a_label_ends_at_its_null_or_its_end() -> None:
    """MQMP-349 to MQMP-351"""
    for title, label in (
        (units("ask"), "ask"),
        (units("ask")[:-1], "ask"),
        (units("ask") + units("more"), "ask"),
        (units("x" * 300), "x" * 249),
        ((), ""),
    ):
        assert made(title=title, title_size=len(title)).label == label


def test_no_room_is_kept_behind_a_body() -> None:
    """MQMP-357: the packet has the size of the body, whatever was allocated for it."""
    found = made(body=b"risk?", body_size=5, body_allocated=4096)
    assert found.body == b"risk?"
    packet = decode_packet(Packer(UUID(int=1)).pack(found, NAME, message_id=1, sent_time=NOW))
    assert isinstance(packet, UserMessage)
    properties = packet.properties
    assert (properties.message_size, properties.allocation_body_size) == (5, 5)


def test_sizes_beside_null_mean_nothing() -> None:
    """MQMP-089, MQMP-348, MQMP-352, MQMP-354"""
    sizes: dict[str, Any] = {
        "title_size": 77,
        "body_size": 9,
        "body_allocated": 3,
        "extension_size": 5,
    }
    buffer = send_buffer(**sizes, certificate_size=4, keys_size=4)
    again = type(buffer).decode(buffer.encode())
    assert again == buffer
    assert message_of(again, NAME, NOW) == Message(b"", recoverable=False)


@pytest.mark.parametrize(
    ("given", "result"),
    [
        ({"transfer_type": 1}, INVALID_PARAMETER),
        ({"priority": 8}, BAD_VALUE),
        ({"trace": 2}, BAD_VALUE),
        ({"delivery": 2}, BAD_VALUE),
        ({"acknowledge": 0x10}, BAD_VALUE),
        ({"auditing": 4}, BAD_VALUE),
        ({"body_type": 99}, BAD_VALUE),
        ({"message_class": 1}, NO_CONNECTOR),
        ({"message_class": 1, "connector_type": UUID(int=5)}, UNSUPPORTED),
        ({"connector_type": UUID(int=5)}, UNSUPPORTED),
        ({"privacy": 1}, BAD_PROPERTY),
        ({"privacy": 3}, BAD_VALUE),
        ({"is_encrypted": 1}, BAD_VALUE),
        ({"is_encrypted": 1, "encryption_algorithm": 0x6610}, BAD_VALUE),
        ({"is_encrypted": 7, "encryption_algorithm": 0x6801}, INVALID_PARAMETER),
        ({"sender": b"12345678", "sender_size": 8}, INVALID_PARAMETER),
        ({"sender": b"12345678", "sender_size": 8, "sender_type": 0}, INVALID_PARAMETER),
        ({"sender": b"12345678", "sender_size": 8, "sender_type": 1}, INVALID_PARAMETER),
        ({"sender": b"12345678", "sender_size": 8, "sender_type": 2}, INVALID_PARAMETER),
        ({"sender": b"12345678", "sender_size": 8, "sender_type": 3}, INVALID_PARAMETER),
        (SIGNED | {"hash_algorithm": None}, BAD_VALUE),
        (SIGNED | {"hash_algorithm": 0x9999}, BAD_VALUE),
        (SIGNED, INVALID_PARAMETER),
        (SIGNED | {"is_default_provider": 1}, INVALID_PARAMETER),
        (SIGNED | {"is_default_provider": 1, "provider_type": 2}, INVALID_PARAMETER),
    ],
)
def test_what_cannot_be_sent_is_refused(given: dict[str, Any], result: int) -> None:
    """MQMP-316, MQMP-323, MQMP-324, MQMP-328, MQMP-336, MQMP-341, MQMP-346, MQMP-360 to MQMP-363,
    MQMP-364, MQMP-367, MQMP-369 to MQMP-371, MQMP-374, MQMP-377, MQBR-166
    """
    assert refused(**given) == result


def test_what_is_to_be_encrypted_goes_with_an_algorithm() -> None:
    """MQMP-323, MQMP-365: one of old clients; an encrypted body has its key, too."""
    for privacy in (1, 2):
        asked = send_buffer(privacy=privacy, encryption_algorithm=0x6801)
        assert message_of(asked, PRIVATE, NOW).encrypt is True
        assert refused(PRIVATE, privacy=privacy) == BAD_VALUE
        assert refused(PRIVATE, privacy=privacy, encryption_algorithm=0x6610) == BAD_VALUE
        assert refused(privacy=privacy, encryption_algorithm=0x6801) == BAD_PROPERTY
    assert refused(PRIVATE, privacy=2, encryption_algorithm=0x6801, is_encrypted=1) == 0xC00E0006
    keyed: dict[str, Any] = {"keys": b"key", "keys_size": 3, "encryption_algorithm": 0x6801}
    assert refused(PRIVATE, is_encrypted=1, **keyed) == INVALID_PARAMETER
    found = send_buffer(privacy=2, is_encrypted=1, **keyed)
    assert message_of(found, PRIVATE, NOW).encrypt is False
    assert message_of(send_buffer(privacy=0), PRIVATE, NOW).encrypt is False


def test_who_sends_is_not_believed() -> None:
    """MQMP-054, MQMP-370, MQMP-371, MQMP-381 to MQMP-387, MQMP-340"""
    sid = Sid.from_text("S-1-5-21-1-2-3-7").encode()
    nothing = ObjectId(UUID(int=9), 9)
    lies = {
        "is_authenticated": 1,
        "authenticated": 1,
        "authentication_level": 3,
        "sent": 5,
        "arrived": 5,
        "body_needed": 5,
        "title_needed": 5,
        "relative_time_to_queue": 5,
        "time_left_to_live": 5,
        "sender_needed": 5,
        "certificate_needed": 5,
        "keys_needed": 5,
        "signature_needed": 5,
        "extension_needed": 5,
        "source": UUID(int=9),
        "version": 9,
        "is_first": 1,
        "is_last": 1,
        "transaction_id": nothing,
        "message_id": nothing,
        "message_class": 0x1F00,
    }
    assert made(**lies) == made()
    assert made(sender=sid, sender_size=len(sid), sender_type=1) == made()
    assert made(sender=bytes(16), sender_size=16, sender_type=2) == made()
    assert made(sender_type=0) == made()


def test_a_message_of_a_client_is_stored_as_it_was_said() -> None:
    """MQMP-054, MQMP-326, MQMP-332, MQMP-335, MQMP-397: no one is authenticated by its own word; in
    a transaction it is recoverable and has priority 0.
    """
    world = SupportingWorld()
    world.create("quotes", transactional=True)
    client = Dependent(world)
    lies = {"is_authenticated": 1, "authenticated": 1, "message_id": ObjectId(UUID(int=9), 9)}
    sent = client.send(client.opened(access=2).handle, b"plain", priority=5, **lies)
    view = stored(world, "orders")
    assert (view.body, view.priority, view.recoverable, view.security) == (b"plain", 5, False, None)
    assert view.source_queue_manager == sent.message_id.lineage == world.manager.identity
    assert view.message_id == sent.message_id.uniquifier
    unit = client.begin()
    handle = client.opened("DIRECT=OS:HOST\\private$\\quotes", access=2).handle
    assert client.send(handle, b"sure", priority=5, delivery=0, unit=UNIT).result == 0
    client.commit(unit.handle)
    view = stored(world, "quotes")
    assert (view.priority, view.recoverable, view.transactional) == (0, True, True)


def stored(world: SupportingWorld, name: str) -> PacketView:
    """The message of a queue."""
    handle: QueueHandle = world.driver.call(
        lambda: world.manager.open_queue(name, Mode(Access.PEEK))
    )
    [entry] = world.driver.call(lambda: handle.peek(1, wait=False)).result()
    world.driver.call(handle.close)
    return PacketView(entry.packet)


def test_a_message_that_no_packet_holds_is_refused() -> None:
    """MQMP-358"""
    world = SupportingWorld()
    client = Dependent(world)
    handle = client.opened(access=2).handle
    assert client.send(handle, bytes((4 << 20) - 2000)).result == 0
    assert client.send(handle, bytes((4 << 20) - 100)).result == 0xC00E0027


# Signatures


def signed(**given: Any) -> GivenProtection:
    buffer = send_buffer(**SIGNED | given)
    message_of(buffer, NAME, NOW)
    found = protection_of(buffer, NAME)
    assert found is not None
    return found


def test_a_signature_goes_with_its_provider() -> None:
    """MQMP-375, MQMP-376, MSEC-013: of type 0 unless it is said, and with a name up to its null."""
    name = (*units("Some Provider"), *units("more"))
    found = signed(provider=name, provider_size=len(name))
    assert (found.security.provider_type, found.security.provider_name) == (0, "Some Provider")
    found = signed(provider_type=24, **PROVIDER)
    assert (found.security.provider_type, found.security.provider_name) == (24, "Some Provider")
    assert found.headers.security is not None
    assert not found.headers.security.flags & SecurityFlags.DE
    written = (24).to_bytes(4, "little") + "Some Provider\0".encode("utf-16-le")
    assert found.headers.security.provider_info == written
    assert found.headers.security.provider_info_size == 4 + 2 * len("Some Provider\0")
    found = signed(is_default_provider=1, provider_type=1)
    assert found.security.provider_info == b""
    assert found.headers.security is not None
    assert found.headers.security.flags & SecurityFlags.DE
    assert protection_of(send_buffer(), NAME) is None


def test_a_protection_of_version_2_stands_behind_one_that_is_ignored() -> None:
    """MQMP-378, MQMP-379, MQMP-380: by the length that stands for the provider."""
    both = {"signature": b"old" + b"new!", "signature_size": 7}
    old = signed(is_default_provider=1, provider_type=1, **both)
    assert (old.kind, old.security.signature) == (SignatureType.MSMQ_1_0, b"oldnew!")
    new = signed(provider_needed=18, **both | PROVIDER)
    assert (new.kind, new.security.signature) == (SignatureType.MSMQ_2_0, b"new!")
    for needed in (14, 13, 22):
        with pytest.raises(InvalidParameter):
            signed(provider_needed=needed, **both | PROVIDER)


def test_what_is_too_large_for_a_header_is_refused() -> None:
    for large in ({"signature": bytes(70000)}, {"certificate": bytes(70000)}):
        with pytest.raises(InvalidParameter):
            signed(is_default_provider=1, provider_type=1, **large)


@pytest.fixture
def guarded() -> SupportingWorld:
    """A manager that knows the certificate of alice, and has a queue for what is signed."""
    world = SupportingWorld()
    world.clock.wait(VALID - world.clock.now())
    world.manager.examiner.keyring = Keyring({ALICE: (der_of(),)})
    orders = world.manager.find_queue("orders")
    world.driver.call(lambda: world.manager.change_queue(orders, authenticate=True))
    return world


def signed_by(world: SupportingWorld, message: Message, name: str = ORDERS) -> Any:
    """The buffer of a client that signs."""
    packer, destination = Packer(world.manager.identity), parse_format_name(name)
    fields = signature_fields(message, packer, destination, transactional=False)
    return sent_buffer(message, None, fields)


@pytest.mark.parametrize("computer", ["HOST", "host"])
def test_a_queue_that_wants_signatures_takes_signed_messages_only(
    guarded: SupportingWorld, computer: str
) -> None:
    """MQMP-379, MQMP-391: and the receiver learns that it was verified, and who sent it."""
    client = Dependent(guarded)
    name = f"DIRECT=OS:{computer}\\private$\\orders"
    sending = client.opened(name, access=2)
    assert client.send(sending.handle).result == NOT_AUTHENTICATED
    message = Message(b"yes", label="answer", priority=5, correlation_id=bytes(range(20)))
    buffer = signed_by(guarded, replace(message, signer=signer()), name)
    assert client.send(sending.handle, buffer=buffer).result == 0
    room: dict[str, Any] = {
        "sender": bytes(68),
        "sender_size": 68,
        "sender_needed": 0,
        "sender_type": 0,
    }
    found = client.receive(client.opened().context, authenticated=0, **room).buffer
    assert (found.authenticated, found.sender_type) == (SignatureType.MSMQ_2_0, 1)
    assert found.sender[: found.sender_needed] == ALICE.encode()


def test_a_signature_that_is_not_right_is_refused(guarded: SupportingWorld) -> None:
    """MQMP-378, MQMP-388: of another message, of an unknown certificate, of a lesser version."""
    client = Dependent(guarded)
    sending = client.opened(access=2)
    buffer = signed_by(guarded, Message(b"yes", signer=signer()))
    for change in (
        {"body": b"no!"},
        {"application_tag": 5},
        {"certificate": b"none", "certificate_size": 4},
        {"provider_needed": None},
    ):
        sent = client.send(sending.handle, buffer=replace(buffer, **change))
        assert sent.result == NOT_VERIFIED, change
    nameless = replace(signer(), sender=None)
    unsaid = signed_by(guarded, Message(b"yes", signer=nameless))
    assert client.send(sending.handle, buffer=unsaid).result == NOT_AUTHENTICATED
    guarded.manager.examiner.keyring = Keyring()
    assert client.send(sending.handle, buffer=buffer).result == NOT_VERIFIED
    assert guarded.bodies() == []


def test_a_protection_of_version_1_counts_if_the_policy_says_so(guarded: SupportingWorld) -> None:
    """MQMP-378"""
    kinds = frozenset({SignatureType.MSMQ_1_0, SignatureType.MSMQ_2_0})
    guarded.manager.examiner.policy = replace(guarded.manager.examiner.policy, signatures=kinds)
    client = Dependent(guarded)
    old = signer().using(HashAlgorithm.SHA512, SignatureType.MSMQ_1_0)
    buffer = signed_by(guarded, Message(b"yes", signer=old))
    sending = client.opened(access=2)
    assert client.send(sending.handle, buffer=buffer).result == 0
    wrong = replace(buffer, provider_needed=buffer.signature_size)
    assert client.send(sending.handle, buffer=wrong).result == NOT_VERIFIED
    found = client.receive(client.opened().context, authenticated=0).buffer
    assert found.authenticated == SignatureType.MSMQ_1_0


def test_what_is_signed_for_elsewhere_is_verified_there(
    guarded: SupportingWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The signature goes along as it came."""
    name, send = "DIRECT=OS:agent-7\\private$\\answers", Enqueuer.send
    packets: list[bytes] = []

    def noted(self: Any, queue: Any, new: Any, *given: Any) -> Any:
        packets.extend(one.packet for one in new)
        return send(self, queue, new, *given)

    monkeypatch.setattr(Enqueuer, "send", noted)
    client = Dependent(guarded)
    buffer = signed_by(guarded, Message(b"yes", signer=signer()), name)
    sending = client.opened(name, access=2)
    assert client.send(sending.handle, buffer=buffer).result == 0
    [found] = map(PacketView, packets)
    assert found.security is not None
    assert (found.security.signature, found.security.signature_type) == (buffer.signature, 0)
    assert found.hash_algorithm == HashAlgorithm.SHA512


# Ciphers


CIPHER = EncryptionAlgorithm.RC2
CIPHER_KEY = bytes(range(1, 17))


def encrypted(body: bytes, level: int = 2, **given: Any) -> Any:
    """The buffer of a client that has encrypted a body for the manager whose key is user-2048."""
    public = exchange_key().public
    blob = wrap(public, CIPHER, CIPHER_KEY, b"\1" * fill_size(public, CIPHER_KEY))
    cipher = BodyCipher(CIPHER, CIPHER_KEY, EFFECTIVE_BITS).encrypt(body)
    return send_buffer(
        body=cipher,
        body_size=len(cipher),
        body_allocated=len(cipher),
        privacy=level,
        encryption_algorithm=int(CIPHER),
        is_encrypted=1,
        keys=blob,
        keys_size=len(blob),
        **given,
    )


@pytest.fixture
def trusted() -> SupportingWorld:
    """A manager with a key for enhanced encryption, that takes it."""
    world = SupportingWorld()
    examiner = world.manager.examiner
    examiner.keyring = Keyring({}, (exchange_key(level=PrivacyLevel.ENHANCED),))
    ciphers = frozenset({(PrivacyLevel.ENHANCED, CIPHER)})
    examiner.policy = replace(examiner.policy, ciphers=ciphers)
    return world


def private_name(world: SupportingWorld) -> str:
    """The name of orders that is not direct."""
    return f"PRIVATE={world.manager.identity}\\{world.manager.find_queue('orders').number:x}"


def test_an_encrypted_body_for_a_queue_here_is_stored_in_the_clear(
    trusted: SupportingWorld,
) -> None:
    """MQMP-365, MQMP-392: and says how it came, without its key."""
    client = Dependent(trusted)
    sending = client.opened(private_name(trusted), access=2)
    assert client.send(sending.handle, buffer=encrypted(b"secret")).result == 0
    view = stored(trusted, "orders")
    assert (view.body, view.privacy_level, view.is_encrypted) == (b"secret", 3, False)
    assert view.security is not None
    assert view.security.encryption_key == b""
    found = client.receive(client.opened().context, privacy=0, encryption_algorithm=0).buffer
    assert (found.privacy, found.encryption_algorithm) == (3, CIPHER)


@pytest.mark.parametrize("wrong", ["cipher", "body", "key", "level"])
def test_a_body_that_cannot_be_decrypted_is_refused(trusted: SupportingWorld, wrong: str) -> None:
    """MQMP-392: for want of the key or the cipher, or because the body is another one."""
    client = Dependent(trusted)
    sending = client.opened(private_name(trusted), access=2)
    buffer = encrypted(b"secret", 1 if wrong == "level" else 2)
    if wrong == "cipher":
        trusted.manager.examiner.policy = SecurityPolicy()
    if wrong == "body":
        buffer = replace(buffer, body=b"1234567", body_size=7, body_allocated=7)
    if wrong == "key":
        buffer = replace(buffer, keys=b"key", keys_size=3)
    assert client.send(sending.handle, buffer=buffer).result == 0xC00E0030
    assert trusted.bodies() == []


def sent_away(
    world: SupportingWorld, buffer: Any, name: str, monkeypatch: pytest.MonkeyPatch
) -> PacketView:
    """The packet that is put into the outgoing queue for a manager elsewhere."""
    send, packets = Enqueuer.send, []

    def noted(self: Any, queue: Any, new: Any, *given: Any) -> Any:
        packets.extend(new)
        return send(self, queue, new, *given)

    monkeypatch.setattr(Enqueuer, "send", noted)
    client = Dependent(world)
    sending = client.opened(name, access=2)
    assert client.send(sending.handle, buffer=buffer).result == 0
    [found] = packets
    return PacketView(found.packet)


def test_an_encrypted_body_for_elsewhere_goes_as_it_came(
    trusted: SupportingWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its manager decrypts it ([MS-MQQB] 3.1.5.8.3)."""
    name, buffer = f"PRIVATE={UUID(int=77)}\\5", encrypted(b"secret")
    view = sent_away(trusted, buffer, name, monkeypatch)
    assert view.security is not None
    assert (view.body, view.security.encryption_key) == (buffer.body, buffer.keys)
    assert (view.is_encrypted, view.privacy_level) == (True, 3)
    there = Examiner()
    there.keyring, there.policy = trusted.manager.examiner.keyring, trusted.manager.examiner.policy
    assert PacketView(there.examine(view.data, VALID).packet).body == b"secret"


def test_a_clear_body_with_a_privacy_level_is_encrypted_when_it_leaves(
    trusted: SupportingWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SS-61: by the supporting server, with the key of the manager that it is for."""
    other, name = UUID(int=77), f"PRIVATE={UUID(int=77)}\\5"
    view = sent_away(trusted, sent_buffer(Message(b"x", encrypt=True), None), name, monkeypatch)
    assert (view.body, view.is_encrypted, view.privacy_level) == (b"x", False, 5)
    encryptor = trusted.manager.encryptor
    encryptor.random = lambda size: b"\7" * size
    encryptor.peers = PeerKeys({other: published(exchange_key())})
    left = PacketView(encryptor.encrypt(view.data, 0))
    assert left.is_encrypted
    there = Examiner()
    there.keyring = Keyring({}, (exchange_key(),))
    assert PacketView(there.examine(left.data, VALID).packet).body == b"x"


def test_what_is_signed_is_encrypted_by_the_server_too(guarded: SupportingWorld) -> None:
    """The signature is of the clear message."""
    message = Message(b"yes", signer=signer(), encrypt=True)
    name = private_name(guarded)
    client = Dependent(guarded)
    sending = client.opened(name, access=2)
    assert client.send(sending.handle, buffer=signed_by(guarded, message, name)).result == 0
