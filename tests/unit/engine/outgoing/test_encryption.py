"""Bodies are encrypted when they leave, or the messages fail."""

from __future__ import annotations

import os
from dataclasses import replace
from uuid import UUID

import pytest
from tests.signers import exchange_key, published
from tests.unit.engine.carriers import FakeTransport
from tests.unit.engine.station import Station
from tests.unit.engine.world import commit_all

from openmsmq import limits
from openmsmq.engine.arrivals.examination import Examiner, Keyring, SecurityPolicy
from openmsmq.engine.messages.send import Sender
from openmsmq.engine.outgoing import encryption as module
from openmsmq.engine.outgoing.encryption import Encryptor, PeerKeys
from openmsmq.engine.outgoing.transport import AddressKind
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.engine.queues.slices import RunSlice
from openmsmq.errors import (
    EncryptionProviderNotSupported,
    MQError,
    PublicKeyDoesNotExist,
    PublicKeyNotFound,
)
from openmsmq.names.base import FormatName
from openmsmq.names.format import parse_format_name
from openmsmq.packet.builder import PacketBuilder
from openmsmq.packet.encrypted import asking_for_privacy
from openmsmq.packet.headers.user import NO_GUID
from openmsmq.packet.view import PacketView
from openmsmq.properties.message import (
    ALGORITHMS,
    Acknowledge,
    EncryptionAlgorithm,
    MessageClass,
    PrivacyLevel,
)
from openmsmq.security.keys import CALG_RSA_KEYX, DirectoryPublicKeys
from openmsmq.security.rsa import RsaPublicKey
from openmsmq.security.session_keys import blob_of
from openmsmq.store.check.check import check_tables
from openmsmq.types.message import Message
from openmsmq.types.outgoing import ConnectionStatus

THERE = UUID(int=0x42)
PRIVATE = parse_format_name(f"PRIVATE={THERE}\\1")
DIRECT = parse_format_name("DIRECT=OS:there\\private$\\q")
AES = PrivacyLevel.AES, EncryptionAlgorithm.AES_256


class Random:
    """Bytes that are never the same."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, size: int) -> bytes:
        self.calls += 1
        return bytes((self.calls + place) & 0xFF for place in range(size))


def encryptor() -> Encryptor:
    found = Encryptor()
    found.random = Random()
    found.peers = PeerKeys({THERE: published(exchange_key())}, {"THERE": THERE})
    return found


def packet_to(name: object = PRIVATE, body: bytes = b"a secret") -> bytes:
    manager = THERE if name is PRIVATE else NO_GUID
    built = PacketBuilder(UUID(int=1), name, destination_manager=manager).build(body)  # type: ignore[arg-type]
    return asking_for_privacy(built, *AES)


def opened(packet: bytes, *keys: object) -> bytes:
    judge = Examiner()
    everything = frozenset((level, one) for level, some in ALGORITHMS.items() for one in some)
    judge.policy = SecurityPolicy(ciphers=everything)
    judge.keyring = Keyring({}, keys or (exchange_key(),))  # type: ignore[arg-type]
    found = judge.examine(packet, 0)
    assert found.fault is None
    return PacketView(found.packet).body


def test_the_receiver_reads_it_and_no_one_else() -> None:
    "MQQB-324, MQQB-327 to MQQB-331, MSEC-090, MSEC-093, MSEC-095, MSEC-097, MSEC-099"
    sent = encryptor().encrypt(packet_to(), 0)
    assert b"a secret" not in sent
    assert opened(sent) == b"a secret"
    found = PacketView(sent).message().properties
    assert (found.privacy_level, found.encryption_algorithm) == (5, 0x6610)
    assert (found.message_size, found.allocation_body_size) == (8, 16)


def test_an_empty_body_is_encrypted_too() -> None:
    assert opened(encryptor().encrypt(packet_to(body=b""), 0)) == b""


def test_without_keys_of_the_receiver_nothing_is_sent() -> None:
    "MSEC-094, MSEC-096"
    one = encryptor()
    one.peers = PeerKeys()
    with pytest.raises(PublicKeyNotFound, match="key import"):
        one.encrypt(packet_to(), 0)
    one.peers = PeerKeys({THERE: DirectoryPublicKeys(())})
    with pytest.raises(MQError):
        one.encrypt(packet_to(), 0)
    one.random = None
    one.peers = encryptor().peers
    with pytest.raises(EncryptionProviderNotSupported, match="random"):
        one.encrypt(packet_to(), 0)


def test_keys_that_the_directory_has_are_used() -> None:
    """MQDS-179, MSEC-094: those that were imported here count for more."""
    one = encryptor()
    one.peers, one.published = PeerKeys(), {THERE: published(exchange_key()).encode()}
    assert opened(one.encrypt(packet_to(), 0)) == b"a secret"
    one.published = {THERE: b""}
    with pytest.raises(PublicKeyDoesNotExist):
        one.encrypt(packet_to(), 0)
    one.published = {THERE: b"garbage"}
    with pytest.raises(PublicKeyNotFound, match="in the directory"):
        one.encrypt(packet_to(), 0)
    one.published = {}
    with pytest.raises(PublicKeyNotFound):
        one.encrypt(packet_to(), 0)


def test_a_direct_name_is_encrypted_for_only_if_that_is_set() -> None:
    "MQQB-325, MSEC-091"
    one = encryptor()
    with pytest.raises(PublicKeyNotFound, match="direct name"):
        one.encrypt(packet_to(DIRECT), 0)
    one.encrypts_direct = True
    assert opened(one.encrypt(packet_to(DIRECT), 0)) == b"a secret"
    with pytest.raises(PublicKeyNotFound, match="elsewhere"):
        one.encrypt(packet_to(parse_format_name("DIRECT=OS:elsewhere\\q")), 0)


@pytest.mark.parametrize("level", [PrivacyLevel.ENHANCED, PrivacyLevel.BASE])
def test_legacy_keys_are_used_only_if_that_is_set(level: PrivacyLevel) -> None:
    "MSEC-096, MSEC-101, MSEC-119, DMPR-058, DMPR-090"
    key = exchange_key(level=level)
    one = encryptor()
    one.peers = PeerKeys({THERE: published(key)})
    with pytest.raises(EncryptionProviderNotSupported, match="AES"):
        one.encrypt(packet_to(), 0)
    one.levels = frozenset({PrivacyLevel.AES, level})
    sent = one.encrypt(packet_to(), 0)
    assert PacketView(sent).privacy_level == level
    assert opened(sent, key) == b"a secret"
    one.peers = PeerKeys({THERE: published(key, exchange_key())})
    assert PacketView(one.encrypt(packet_to(), 0)).privacy_level == PrivacyLevel.AES


def test_each_message_has_a_key_of_its_own_unless_set_otherwise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    "MQQB-332 to MQQB-334, MSEC-114, MSEC-115, MSEC-116"

    def blob(one: Encryptor, now: float) -> bytes:
        security = PacketView(one.encrypt(packet_to(), now)).security
        assert security is not None
        return security.encryption_key

    one = encryptor()
    assert blob(one, 0) != blob(one, 0)
    one.key_lifetime = 600
    first = blob(one, 0)
    assert blob(one, 599) == first
    assert blob(one, 600) != first
    one.forget_session_keys()
    assert blob(one, 601) != first
    one.key_lifetime = 1
    before = blob(one, 700)
    assert blob(one, 700.9) == before
    assert blob(one, 701) != before
    monkeypatch.setattr(module, "SESSION_KEYS_MAX", 2)
    monkeypatch.setattr(module, "SESSION_KEYS_DROPPED", 1)
    managers = [UUID(int=number) for number in range(1, 5)]
    one.peers = PeerKeys(dict.fromkeys(managers, published(exchange_key())))
    for manager in managers:
        name = parse_format_name(f"PRIVATE={manager}\\1")
        built = PacketBuilder(UUID(int=9), name, destination_manager=manager).build(b"x")
        one.encrypt(asking_for_privacy(built, *AES), 601)
    assert [key[2].int for key in one._session_keys] == [3, 4]


def test_rc4_never_uses_a_key_twice() -> None:
    "MSEC-116: two bodies under one key show their difference."
    one = encryptor()
    one.key_lifetime = 600
    one.levels = frozenset({PrivacyLevel.ENHANCED})
    one.peers = PeerKeys({THERE: published(exchange_key(level=PrivacyLevel.ENHANCED))})
    assert one.encrypt(packet_to(), 0) != one.encrypt(packet_to(), 0)


# In an outgoing queue


@pytest.fixture
def station() -> Station:
    found = Station()
    found.world.queue("admin")
    return found


def sent(station: Station, *messages: Message, to: object = DIRECT) -> list[bytes]:
    """What leaves of messages that were sent."""
    assert isinstance(to, FormatName)
    queue = station.core.queues.outgoing(to)
    sender = Sender(station.core, computer="here")
    station.dispatcher.register([AddressKind.BINARY, AddressKind.HTTP], FakeTransport())
    sender.send(queue, messages, None)
    commit_all(station.core)
    found = station.dispatcher.take(queue, 10, 1 << 20, THERE)
    commit_all(station.core)
    return [entry.packet for entry in found]


def test_a_message_leaves_encrypted(station: Station) -> None:
    "MSEC-089"
    station.core.encryptor = encryptor()
    station.core.encryptor.encrypts_direct = True
    [packet] = sent(station, Message(b"a secret", encrypt=True))
    assert b"a secret" not in packet
    assert opened(packet) == b"a secret"


def test_what_cannot_be_encrypted_fails_and_what_follows_is_sent(station: Station) -> None:
    "MQQB-326, MSEC-117, MSEC-118"
    failing = Message(
        b"a secret",
        encrypt=True,
        dead_letter=True,
        acknowledge=Acknowledge.NEG_ARRIVAL,
        admin_queue="DIRECT=OS:here\\admin",
    )
    packets = sent(station, failing, Message(b"clear"))
    assert [PacketView(packet).body for packet in packets] == [b"clear"]
    letters = station.world.records(station.core.queues.dead_letter)
    assert [record.message_class for record in letters] == [MessageClass.NACK_COULD_NOT_ENCRYPT]
    assert station.admin() == [MessageClass.NACK_COULD_NOT_ENCRYPT]
    transfer = station.core.queues.outgoing(DIRECT).transfer
    assert transfer is not None
    attempt = transfer.attempts[-1]
    assert attempt.status is ConnectionStatus.CERTIFICATE_VALIDATION_FAILURE
    assert attempt.error == int(PublicKeyNotFound("").hresult)


def filled(station: Station, *messages: Message) -> ManagedQueue:
    """An outgoing queue that keeps messages as runs."""
    station.core.encryptor = encryptor()
    station.core.encryptor.encrypts_direct = True
    queue = station.core.queues.outgoing(DIRECT)
    station.dispatcher.register([AddressKind.BINARY], FakeTransport())
    Sender(station.core, computer="here").send(queue, messages, None)
    commit_all(station.core)
    return queue


def test_a_run_leaves_encrypted_in_one_piece(station: Station) -> None:
    "MSEC-089: its packets are larger than the ones that are stored."
    bodies = [b"a secret" * size for size in range(1, 7)]
    queue = filled(station, *(Message(one, encrypt=True, recoverable=True) for one in bodies))
    [part] = station.dispatcher.take_parts(queue, 10, 1 << 20, THERE)
    assert isinstance(part, RunSlice)
    assert part.sizes == list(map(len, part.split()))
    assert sum(part.sizes) == len(part.packets) > part.size
    assert b"a secret" not in part.packets
    assert [opened(packet) for packet in part.split()] == bodies
    assert [entry.packet for entry in part.entries()] == part.split()
    assert check_tables(station.core.snapshot, 0).findings == ()


def test_what_cannot_be_encrypted_of_a_run_fails_alone(
    station: Station, monkeypatch: pytest.MonkeyPatch
) -> None:
    "MSEC-117, MSEC-118"
    bodies = [b"a", b"b", bytes(2000), b"c", b"d", b"e"]
    queue = filled(station, *(Message(one, encrypt=True, recoverable=True) for one in bodies))
    monkeypatch.setattr(limits, "PACKET_SIZE_MAX", 2000)
    found = station.dispatcher.take(queue, 10, 1 << 20, THERE)
    assert [opened(entry.packet) for entry in found] == [b"a", b"b", b"c", b"d", b"e"]
    commit_all(station.core)
    assert queue.messages == 5


def test_over_http_nothing_is_encrypted_and_nothing_leaves_clear(station: Station) -> None:
    station.core.encryptor = encryptor()
    station.core.encryptor.encrypts_direct = True
    name = parse_format_name("DIRECT=HTTP://there/msmq/q")
    assert sent(station, Message(b"a secret", encrypt=True), to=name) == []


def test_a_key_that_cannot_hold_the_session_key_is_refused() -> None:
    one = encryptor()
    one.random = os.urandom
    small = blob_of(RsaPublicKey((1 << 128) - 1, 65_537), CALG_RSA_KEYX).encode()
    (key,) = published(exchange_key()).keys
    one.peers = PeerKeys({THERE: DirectoryPublicKeys((replace(key, key=small),))})
    with pytest.raises(MQError, match="cannot hold"):
        one.encrypt(packet_to(), 0)
