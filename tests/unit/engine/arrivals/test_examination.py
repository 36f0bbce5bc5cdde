"""What is found out about a packet: in the right order, with the right class."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from tests.signers import ALICE, VALID, der_of, exchange_key, published, signer
from tests.unit.engine.station import parcel
from tests.unit.engine.world import HERE, ME, PARTNER

from openmsmq.engine.arrivals import examination as module
from openmsmq.engine.arrivals.examination import (
    BAD_ENCRYPTION,
    BAD_SIGNATURE,
    Examination,
    ExaminedGroup,
    Examiner,
    Keyring,
    Question,
    SecurityPolicy,
    ask_in_turn,
)
from openmsmq.engine.outgoing.encryption import Encryptor, PeerKeys
from openmsmq.errors import Malformed
from openmsmq.names.format import parse_format_name
from openmsmq.names.reference import QueueReference
from openmsmq.packet.builder import OptionalHeaders
from openmsmq.packet.headers.multi_queue import MultiQueueFormatHeader
from openmsmq.packet.headers.security import SecurityFlags, SecurityHeader, encode_provider
from openmsmq.packet.headers.user import UserFlags
from openmsmq.packet.message import UserMessage
from openmsmq.packet.signed import view_fields
from openmsmq.packet.signer import MessageSigner
from openmsmq.packet.view import PacketView
from openmsmq.packet.walk import properties_offset
from openmsmq.properties.message import (
    Acknowledge,
    HashAlgorithm,
    PrivacyLevel,
    SignatureType,
)
from openmsmq.security.principals import principal_sid
from openmsmq.security.session_keys import ExchangeKey
from openmsmq.security.sid import EVERYONE
from openmsmq.types.message import Message
from openmsmq.types.pack import Packer

BOB = principal_sid("user", "bob")
LENIENT = SecurityPolicy(hashes=frozenset(HashAlgorithm), signatures=frozenset(SignatureType))


def made(
    by: MessageSigner | None = None,
    *,
    to: str = HERE + "private$\\q",
    place: tuple[int, int, int] | None = None,
) -> bytes:
    one = by or signer()
    headers = OptionalHeaders(security=one.header, hash_algorithm=one.algorithm)
    return one.sign(parcel("a body", to=to, place=place, sent=VALID, headers=headers))


def examiner(policy: SecurityPolicy | None = None) -> Examiner:
    found = Examiner()
    found.policy = policy or SecurityPolicy()
    found.keyring = Keyring({ALICE: (der_of(),)}, (exchange_key(),))
    return found


def fault(packet: bytes, policy: SecurityPolicy | None = None, now: float = VALID) -> object:
    return examiner(policy).examine(packet, now).fault


def encrypted(packet: bytes, fill: str = "5a") -> bytes:
    encryptor = Encryptor()
    encryptor.random = bytes.fromhex(fill).__mul__
    encryptor.peers = PeerKeys({ME: published(exchange_key())}, {"HERE": ME})
    encryptor.encrypts_direct = True
    return encryptor.encrypt(packet, 0)


# Signatures


def test_each_signed_field_that_changes_is_noticed() -> None:
    "MSEC-025, MSEC-061: a bit of each byte that a 2.0 signature covers."
    packet = made()
    covered = signed_places(packet)
    for place in covered:
        changed = bytearray(packet)
        changed[place] ^= 0x01
        try:
            found = fault(bytes(changed))
        except Malformed:
            continue
        assert found is BAD_SIGNATURE, place
    assert len(covered) == 90


RICH = Message(
    b"a body",
    label="label",
    priority=5,
    journal=True,
    dead_letter=True,
    acknowledge=Acknowledge.FULL_RECEIVE,
    admin_queue=r"DIRECT=OS:host\private$\a",
    response_queue=r"DIRECT=OS:host\private$\r",
    correlation_id=bytes(range(20)),
    app_specific=7,
    extension=b"extension",
)
SIG10, SIG20, SIG30 = SignatureType.MSMQ_1_0, SignatureType.MSMQ_2_0, SignatureType.MSMQ_3_0


def rich(kind: SignatureType) -> UserMessage:
    """A message that has all that can be signed, signed; version 3.0 is for several queues."""
    name = parse_format_name(HERE + "private$\\q")
    many = MultiQueueFormatHeader.to([name, name])
    headers = OptionalHeaders(multi_queue=many) if kind is SIG30 else OptionalHeaders()
    by = signer().using(HashAlgorithm.SHA512, kind)
    [packet] = Packer(PARTNER).pack_many(
        [replace(RICH, signer=by)], name, first_id=1, sent_time=VALID, headers=headers
    )
    return PacketView.parse(packet).message()


def other_name(reference: QueueReference) -> QueueReference:
    """A name with another last character."""
    return replace(reference, raw=reference.raw[:-4] + b"x" + reference.raw[-3:])


def changes(message: UserMessage) -> Iterator[tuple[str, UserMessage]]:
    """Messages of the same size that differ in one field."""
    base, user, properties = message.base, message.user, message.properties
    yield "priority", replace(message, base=replace(base, flags=base.flags ^ 1))
    flags = {"delivery": 0x20, "dead letter": UserFlags.JN, "journal": UserFlags.JP, "hops": 1}
    users: dict[str, dict[str, Any]] = {
        name: {"flags": user.flags ^ bit} for name, bit in flags.items()
    }
    users |= {
        "source": {"source_queue_manager": ME},
        "message id": {"message_id": 99},
        "sent time": {"sent_time": 99},
        "destination": {"destination": other_name(user.destination)},
        "admin queue": {"admin": other_name(user.admin)},
        "response queue": {"response": other_name(user.response)},
    }
    for name, change in users.items():
        yield name, replace(message, user=replace(user, **change))
    fields: dict[str, dict[str, Any]] = {
        "acknowledgements": {"flags": properties.flags ^ 1},
        "class": {"message_class": 1},
        "correlation": {"correlation_id": bytes(20)},
        "body type": {"body_type": 1},
        "tag": {"application_tag": 8},
        "label": {"label_utf16": b"L" + properties.label_utf16[1:]},
        "extension": {"extension": b"EXTENSION"},
        "body": {"body_field": b"A body"},
    }
    for name, change in fields.items():
        yield name, replace(message, properties=replace(properties, **change))
    if message.multi_queue is not None:
        other = parse_format_name(HERE + "private$\\x")
        listed = MultiQueueFormatHeader.to([other, other]).destination
        many = replace(message.multi_queue, destination=listed)
        yield "list", replace(message, multi_queue=many)


UNSIGNED = {"hops", "message id", "sent time"}
OF_VERSION_2 = {"priority", "delivery", "dead letter", "journal", "source", "acknowledgements"}
OF_VERSION_2 |= {"class", "body type"}


@pytest.mark.parametrize(
    ("kind", "unnoticed"),
    [
        (SIG10, UNSIGNED | OF_VERSION_2 | {"destination", "extension"}),
        (SIG20, UNSIGNED | {"extension"}),
        (SIG30, UNSIGNED | {"destination"}),
    ],
    ids=["1.0", "2.0", "3.0"],
)
def test_every_field_counts_as_its_version_says(kind: SignatureType, unnoticed: set[str]) -> None:
    "MSEC-024 to MSEC-030, MSEC-061: a field that is changed on the way, as it is on the wire."
    message = rich(kind)
    assert fault(message.encode(), LENIENT) is None
    found = {name: fault(one.encode(), LENIENT) for name, one in changes(message)}
    assert {name for name, reason in found.items() if reason is None} == unnoticed
    assert {reason for reason in found.values() if reason is not None} == {BAD_SIGNATURE}


def signed_places(packet: bytes) -> list[int]:
    """Where the fields are that a 2.0 signature covers; lengths are not among them (MSEC-A42)."""
    view = PacketView(packet)
    at = properties_offset(packet)
    direct = range(66, 66 + int.from_bytes(packet[64:66], "little") - 2)
    body = range(view.body_offset, view.body_offset + len(view.body))
    return [
        *range(16, 32),  # SourceQueueManager
        *direct,
        at,  # acknowledgements
        *range(at + 2, at + 4),  # MessageClass
        *range(at + 4, at + 24),  # CorrelationID
        *range(at + 24, at + 32),  # BodyType and ApplicationTag
        *body,
        2,  # PR
    ]


def test_what_is_not_signed_can_be_changed() -> None:
    "MSEC-061: SentTime, lifetimes and the number are in no signature (MSEC-A42)."
    packet = made()
    for place in (12, 48, 52, 56):
        changed = bytearray(packet)
        changed[place] ^= 0x01
        assert fault(bytes(changed)) is None


@pytest.mark.parametrize("algorithm", [h for h in HashAlgorithm if h and h < HashAlgorithm.SHA256])
def test_weak_hashes_are_refused_unless_allowed(algorithm: HashAlgorithm) -> None:
    "MSEC-054"
    if algorithm is HashAlgorithm.MD2:
        pytest.importorskip("Crypto", reason="MD2 needs the extra legacy")
    packet = made(signer().using(algorithm, SignatureType.MSMQ_2_0))
    assert fault(packet) is BAD_SIGNATURE
    assert fault(packet, LENIENT) is None


def test_version_1_is_refused_unless_allowed() -> None:
    "MSEC-055"
    packet = made(signer().using(HashAlgorithm.SHA512, SignatureType.MSMQ_1_0))
    assert fault(packet) is BAD_SIGNATURE
    assert fault(packet, LENIENT) is None


def test_keys_that_are_too_short_are_refused_unless_allowed() -> None:
    "MSEC-062"
    one = signer("user-1024")
    judge = examiner()
    judge.keyring = Keyring({ALICE: (one.certificate,)})
    assert judge.examine(made(one), VALID).fault is BAD_SIGNATURE
    judge.policy = replace(judge.policy, key_bits_min=1024)
    assert judge.examine(made(one), VALID).fault is None


@pytest.mark.parametrize(("now", "is_valid"), [(1_700_000_000, False), (2_200_000_000, False)])
def test_a_certificate_counts_within_its_dates(now: int, is_valid: bool) -> None:
    "MSEC-062"
    assert (fault(made(), now=now) is None) is is_valid


def test_the_certificate_must_be_registered_for_this_sender() -> None:
    "MSEC-063, MSEC-064, MSEC-065, MQQB-318"
    assert fault(made(replace(signer(), sender=BOB))) is BAD_SIGNATURE
    other = replace(signer("other-user-2048"), sender=ALICE)
    assert fault(made(other)) is BAD_SIGNATURE
    judge = examiner()
    judge.keyring = Keyring({})
    assert judge.examine(made(), VALID).fault is BAD_SIGNATURE


def test_without_a_sender_the_signature_alone_is_checked() -> None:
    "MSEC-071"
    found = examiner().examine(made(replace(signer(), sender=None)), VALID)
    assert (found.fault, found.kind, found.sender) == (None, SignatureType.MSMQ_2_0, None)


def by_manager(manager: UUID) -> bytes:
    """A message that a queue manager signs, with the certificate of alice."""
    header = replace(signer().header, flags=0x42, security_id=manager.bytes_le, sender_id_size=16)
    headers = OptionalHeaders(security=header, hash_algorithm=0x800E)
    packet = parcel("1", sent=VALID, headers=headers)
    one = replace(signer(), sender=None)
    value = one.signature(view_fields(PacketView(packet), None), PacketView(packet).body)
    start = PacketView(packet).security_offset + 16 + 16
    assert packet[start : start + 256] == bytes(256)
    return packet[:start] + value + packet[start + 256 :]


def test_a_queue_manager_signs_its_own_messages_with_a_registered_key() -> None:
    """MSEC-072: the GUID is that of the source, and the key one of its own."""
    other = UUID(int=7)
    judge = examiner()
    registered = {
        principal_sid("manager", str(manager)): (der_of(),) for manager in (PARTNER, other)
    }
    judge.keyring = Keyring(registered)
    found = judge.examine(by_manager(PARTNER), VALID)
    assert (found.fault, found.kind) == (None, SignatureType.MSMQ_2_0)
    assert found.sender == EVERYONE
    assert judge.examine(by_manager(other), VALID).fault is BAD_SIGNATURE
    judge.keyring = Keyring({principal_sid("manager", str(PARTNER)): (der_of("user-1024"),)})
    assert judge.examine(by_manager(PARTNER), VALID).fault is BAD_SIGNATURE
    assert fault(by_manager(PARTNER)) is BAD_SIGNATURE, "alice is no manager"


def test_the_priority_of_a_transactional_message_is_signed_as_0() -> None:
    "MSEC-037"
    packet = made(place=(1, 1, 0))
    assert PacketView(packet).priority == 0
    assert fault(packet) is None


@pytest.mark.parametrize("der", [b"", b"nonsense", der_of()[:-1], der_of() + b"\0"])
def test_a_certificate_that_is_none_is_refused(der: bytes) -> None:
    "MSEC-057"
    one = signer()
    header = SecurityHeader.make(
        0x41, security_id=ALICE.encode(), signature=bytes(255) + b"\1", sender_cert=der
    )
    headers = OptionalHeaders(security=header, hash_algorithm=one.algorithm)
    assert fault(parcel("1", sent=VALID, headers=headers)) is BAD_SIGNATURE


def test_the_name_of_a_provider_alone_does_not_matter() -> None:
    "MSEC-060"
    header = replace(
        signer().header,
        flags=1,
        provider_info=encode_provider(77, "Some Provider"),
        provider_info_size=len(encode_provider(77, "Some Provider")),
    )
    headers = OptionalHeaders(security=header, hash_algorithm=HashAlgorithm.SHA512)
    packet = signer().sign(parcel("1", sent=VALID, headers=headers))
    assert fault(packet) is None


@pytest.mark.parametrize(
    ("kind", "raw"), [(1, b""), (1, b"\1\5short"), (2, b"1"), (0, b"1234"), (3, b""), (9, b"1234")]
)
def test_a_sender_that_is_none_is_malformed(kind: int, raw: bytes) -> None:
    "MSEC-003, MSEC-004, MSEC-005, MSEC-198"
    header = SecurityHeader.make(kind, security_id=raw)
    with pytest.raises(Malformed):
        examiner().examine(parcel("1", headers=OptionalHeaders(security=header)), VALID)


def test_a_sender_that_is_only_claimed_proves_nothing() -> None:
    "MSEC-142"
    header = SecurityHeader.make(1, security_id=ALICE.encode())
    found = examiner().examine(parcel("1", headers=OptionalHeaders(security=header)), VALID)
    assert (found.fault, found.sender, found.kind) == (None, None, SignatureType.NONE)


# Encryption


def test_an_encrypted_and_signed_message_is_clear_and_verified() -> None:
    "MSEC-089, MSEC-134, MQQB-198, MQQB-315, MQQB-336"
    packet = encrypted(made())
    assert b"a body" not in packet
    found = examiner().examine(packet, VALID)
    assert (found.fault, found.sender, found.is_encrypted) == (None, ALICE, True)
    view = PacketView.parse(found.packet)
    assert (view.body, view.is_encrypted) == (b"a body", False)


def test_every_fault_of_decryption_has_one_outcome() -> None:
    "MSEC-128, MSEC-129"
    packet = encrypted(made())
    view = PacketView(packet)
    blob = view.security_offset + 16 + len(ALICE.encode())
    for place in (blob, blob + 3, blob + 4, blob + 8, blob + 50, view.body_offset + 15):
        changed = bytearray(packet)
        changed[place] ^= 0x80
        found = examiner().examine(bytes(changed), VALID)
        assert found == Examination(bytes(changed), BAD_ENCRYPTION, is_encrypted=True)


def test_without_the_key_nothing_is_decrypted() -> None:
    "MSEC-126"
    judge = examiner()
    judge.keyring = Keyring({}, (exchange_key("other-user-2048"),))
    assert judge.examine(encrypted(made()), VALID).fault is BAD_ENCRYPTION
    judge.keyring = Keyring()
    assert judge.examine(encrypted(made()), VALID).fault is BAD_ENCRYPTION


def test_the_previous_key_still_decrypts() -> None:
    "MSEC-136"
    judge = examiner()
    judge.keyring = Keyring({ALICE: (der_of(),)}, (exchange_key("other-user-2048"), exchange_key()))
    assert judge.examine(encrypted(made()), VALID).fault is None


def test_ciphers_that_are_not_allowed_are_refused() -> None:
    "MSEC-122"
    policy = SecurityPolicy(ciphers=frozenset())
    assert fault(encrypted(made()), policy) is BAD_ENCRYPTION


def test_a_clear_message_that_says_another_size_is_refused() -> None:
    "MSEC-132: the padding says how long the body is."
    packet = bytearray(encrypted(made()))
    size = properties_offset(bytes(packet)) + 32
    packet[size] -= 1
    assert fault(bytes(packet)) is BAD_ENCRYPTION


def test_without_eb_the_level_means_nothing() -> None:
    "MSEC-123"
    header = SecurityHeader.make(1, security_id=ALICE.encode())
    packet = parcel("1", headers=OptionalHeaders(security=header))
    at = properties_offset(packet) + 40
    for level in (1, 2, 5, 99):
        changed = packet[:at] + level.to_bytes(4, "little") + packet[at + 4 :]
        assert fault(changed) is None


# Session keys


def test_a_session_key_is_unwrapped_once_and_forgotten_in_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    "MSEC-124, MSEC-125, MQQB-335, MQQB-337"
    judge, packet = examiner(), encrypted(made())
    unwrapped = []

    class Counting:
        level = exchange_key().level

        def unwrap(self, algorithm: object, blob: bytes) -> object:
            unwrapped.append(blob)
            return exchange_key().unwrap(algorithm, blob)  # type: ignore[arg-type]

    judge.keyring = Keyring({ALICE: (der_of(),)}, (Counting(),))  # type: ignore[arg-type]
    for now in (0, 1, 599):
        assert judge.examine(packet, VALID + now).fault is None
    assert len(unwrapped) == 1
    judge.examine(packet, VALID + 600)
    assert len(unwrapped) == 2
    judge.forget_session_keys()
    judge.examine(packet, VALID + 601)
    assert len(unwrapped) == 3
    others = [encrypted(made(), f"{n:02x}") for n in range(1, 5)]
    monkeypatch.setattr(module, "SESSION_KEYS_MAX", 3)
    monkeypatch.setattr(module, "SESSION_KEYS_DROPPED", 1)
    judge.forget_session_keys()
    for one in (*others, others[-1]):
        judge.examine(one, VALID + 601)
    assert len(judge._session_keys) == 3
    assert len(unwrapped) == 3 + len(others)
    judge.examine(others[0], VALID + 601)
    assert len(unwrapped) == 4 + len(others), "the oldest was dropped"


def test_the_name_of_a_signature() -> None:
    "MSEC-088"
    first, second = made(), made(to=HERE + "private$\\other")
    judge = examiner(SecurityPolicy(replay_window=60))
    found = [judge.examine(one, VALID).signature for one in (first, first, second)]
    assert len(found[0]) == 32
    assert found[0] == found[1] != found[2]


def test_the_flags_of_the_sender_do_not_count() -> None:
    "MSEC-078"
    header = SecurityHeader.make(1, security_id=ALICE.encode())
    packet = parcel("1", headers=OptionalHeaders(security=header, verified=3))
    stored = PacketView(examiner().examine(packet, VALID).packet).security
    assert stored is not None
    assert not stored.flags & (SecurityFlags.AU | SecurityFlags.AS)


def test_an_exchange_key_is_of_one_level() -> None:
    "MSEC-126"
    assert isinstance(exchange_key(), ExchangeKey)
    judge = examiner()
    judge.keyring = Keyring({}, (exchange_key(level=PrivacyLevel.ENHANCED),))
    assert judge.examine(encrypted(made()), VALID).fault is BAD_ENCRYPTION


def test_a_message_without_a_security_header_is_taken_as_it_is() -> None:
    packet = parcel("a body")
    found = examiner().examine(packet, VALID)
    assert (found.packet, found.fault) == (packet, None)
    assert examiner().examined(packet, VALID) == packet


def test_signatures_of_a_group_are_verified_as_the_owner_of_the_loop_wants() -> None:
    """And none is where it cannot count: RSA takes longer than all the rest."""
    judge = examiner()
    asked: list[Question] = []

    def ask(questions: Sequence[Question]) -> list[bool]:
        asked.extend(question for question in questions if question is not module._no)
        return ask_in_turn(questions)

    judge.ask = ask
    right, wrong = made(), bytearray(made())
    wrong[-8] ^= 1  # in its body
    assert isinstance(judge.examined_group([right] * 5, VALID), ExaminedGroup)
    assert len(asked) == 5
    found = judge.examined_group([right, bytes(wrong), right], VALID)
    assert isinstance(found, list)
    assert [one.finding.fault for one in found] == [None, BAD_SIGNATURE, None]
    asked.clear()
    expired = judge.examined_group([right] * 5, VALID * 2)
    assert isinstance(expired, list)
    assert {one.finding.fault for one in expired} == {BAD_SIGNATURE}
    judge.policy = SecurityPolicy(hashes=frozenset({HashAlgorithm.SHA256}))
    judge.examined_group([right] * 5, VALID)
    assert not asked
