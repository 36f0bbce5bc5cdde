"""Codes and flags of messages."""

from __future__ import annotations

from enum import IntEnum

import pytest

from openmsmq.properties.message import (
    ALGORITHMS,
    INFINITE,
    PRIORITY_DEFAULT,
    PRIORITY_MAX,
    PROVIDERS,
    TIME_TO_REACH_QUEUE_DEFAULT,
    Acknowledge,
    AuthenticationLevel,
    DeliveryMode,
    EncryptionAlgorithm,
    HashAlgorithm,
    JournalFlags,
    MessageClass,
    PrivacyLevel,
    ProviderType,
    SenderIdType,
    SignatureType,
    describe_class,
    is_about_receiving,
    is_negative,
    is_permitted_class,
)


def test_classes_have_the_numbers_of_the_specification() -> None:
    """MQQB-372."""
    arrival = [*range(0x8000, 0x800D)]
    receiving = [*range(0xC000, 0xC005)]
    assert sorted(MessageClass) == [0, 1, 2, 0xFF, 0x4000, *arrival, *receiving]


@pytest.mark.parametrize(
    ("found", "number"),
    [
        (MessageClass.ACK_REACH_QUEUE, 0x0002),
        (MessageClass.NACK_BAD_DST_Q, 0x8000),
        (MessageClass.NACK_DELETED, 0x8001),
        (MessageClass.NACK_REACH_QUEUE_TIMEOUT, 0x8002),
        (MessageClass.NACK_Q_EXCEED_QUOTA, 0x8003),
        (MessageClass.NACK_ACCESS_DENIED, 0x8004),
        (MessageClass.NACK_HOP_COUNT_EXCEEDED, 0x8005),
        (MessageClass.NACK_BAD_SIGNATURE, 0x8006),
        (MessageClass.NACK_BAD_ENCRYPTION, 0x8007),
        (MessageClass.NACK_COULD_NOT_ENCRYPT, 0x8008),
        (MessageClass.NACK_NOT_TRANSACTIONAL_Q, 0x8009),
        (MessageClass.NACK_NOT_TRANSACTIONAL_MSG, 0x800A),
        (MessageClass.NACK_UNSUPPORTED_CRYPTO_PROVIDER, 0x800B),
        (MessageClass.NACK_SOURCE_COMPUTER_GUID_CHANGED, 0x800C),
        (MessageClass.NACK_Q_DELETED, 0xC000),
        (MessageClass.NACK_Q_PURGED, 0xC001),
        (MessageClass.NACK_RECEIVE_TIMEOUT, 0xC002),
        (MessageClass.NACK_RECEIVE_TIMEOUT_AT_SENDER, 0xC003),
        (MessageClass.NACK_RECEIVE_REJECTED, 0xC004),
    ],
)
def test_a_class_has_its_number(found: MessageClass, number: int) -> None:
    """MQQB-372."""
    assert found == number


LISTED: dict[type[IntEnum], dict[int, str]] = {
    MessageClass: {
        0x0000: "NORMAL",
        0x0001: "REPORT",
        0x0002: "ACK_REACH_QUEUE",
        0x4000: "ACK_RECEIVE",
        0x8000: "NACK_BAD_DST_Q",
        0x8001: "NACK_DELETED",
        0x8002: "NACK_REACH_QUEUE_TIMEOUT",
        0x8003: "NACK_Q_EXCEED_QUOTA",
        0x8004: "NACK_ACCESS_DENIED",
        0x8005: "NACK_HOP_COUNT_EXCEEDED",
        0x8006: "NACK_BAD_SIGNATURE",
        0x8007: "NACK_BAD_ENCRYPTION",
        0x8009: "NACK_NOT_TRANSACTIONAL_Q",
        0x800A: "NACK_NOT_TRANSACTIONAL_MSG",
        0x800B: "NACK_UNSUPPORTED_CRYPTO_PROVIDER",
        0xC000: "NACK_Q_DELETED",
        0xC001: "NACK_Q_PURGED",
        0xC002: "NACK_RECEIVE_TIMEOUT",
        0xC004: "NACK_RECEIVE_REJECTED",
    },
    PrivacyLevel: {0: "NONE", 1: "BASE", 3: "ENHANCED", 5: "AES"},
    EncryptionAlgorithm: {
        0x6602: "RC2",
        0x6801: "RC4",
        0x6610: "AES_256",
        0x660E: "AES_128",
        0x660F: "AES_192",
    },
    HashAlgorithm: {
        0x8001: "MD2",
        0x8002: "MD4",
        0x8003: "MD5",
        0x8004: "SHA1",
        0x800C: "SHA256",
        0x800E: "SHA512",
    },
    SenderIdType: {0: "NONE", 1: "SID", 2: "QUEUE_MANAGER"},
}


@pytest.mark.parametrize("codes", LISTED, ids=lambda codes: codes.__name__)
def test_every_code_that_a_packet_may_carry_is_known(codes: type[IntEnum]) -> None:
    """DMPR-362: 0x8003 is MD5, for which the text prints MD4 (A-44)."""
    assert {code: codes(code).name for code in LISTED[codes]} == LISTED[codes]


def test_deleted_and_purged_on_the_way_are_one_class() -> None:
    assert MessageClass(0x8001).name == "NACK_DELETED"
    assert MessageClass["NACK_PURGED"] == MessageClass["NACK_DELETED"]


@pytest.mark.parametrize("found", MessageClass, ids=lambda found: found.name)
def test_the_bits_of_a_class_agree_with_its_name(found: MessageClass) -> None:
    assert is_negative(found) == found.name.startswith("NACK_")
    receive = {MessageClass.ACK_RECEIVE, *(item for item in MessageClass if item >= 0xC000)}
    assert is_about_receiving(found) == (found in receive)
    assert is_permitted_class(found)


def test_every_class_is_described_in_its_own_words() -> None:
    texts = {describe_class(found) for found in MessageClass}
    assert len(texts) == len(MessageClass)
    assert not any("0x" in text for text in texts)


def test_a_class_of_an_application_is_described_by_its_number() -> None:
    assert describe_class(0x0123).endswith("0x0123")


@pytest.mark.parametrize(("code", "permitted"), [(0xE1FF, True), (0x0200, False), (0x1000, False)])
def test_applications_may_use_the_bits_of_the_mask_only(code: int, permitted: bool) -> None:
    """MQQB-372."""
    assert is_permitted_class(code) == permitted


def test_acknowledgement_requests_add_up_as_applications_know_them() -> None:
    assert [Acknowledge.POS_ARRIVAL, Acknowledge.POS_RECEIVE] == [1, 2]
    assert [Acknowledge.NEG_ARRIVAL, Acknowledge.NEG_RECEIVE] == [4, 8]
    sums = ("NONE", "NACK_REACH_QUEUE", "FULL_REACH_QUEUE", "NACK_RECEIVE", "FULL_RECEIVE")
    assert [Acknowledge[name] for name in sums] == [0, 4, 5, 12, 14]


def test_flags_keep_unknown_bits() -> None:
    assert int(Acknowledge(0xF1)) == 0xF1


def test_other_codes_have_the_numbers_of_the_specification() -> None:
    assert list(DeliveryMode) == [0, 1]
    assert [JournalFlags.NONE, JournalFlags.DEAD_LETTER, JournalFlags.JOURNAL] == [0, 1, 2]
    assert list(SenderIdType) == [0, 1, 2]
    assert list(SignatureType) == [0, 1, 3, 5, 9, 11]
    assert list(AuthenticationLevel) == [1, 2, 4, 8]
    assert list(PrivacyLevel) == [0, 1, 3, 5]
    assert list(ProviderType) == [1, 0x18]
    assert list(HashAlgorithm) == [0, 0x8001, 0x8002, 0x8003, 0x8004, 0x800C, 0x800E]
    assert sorted(EncryptionAlgorithm) == [0, 0x6602, 0x660E, 0x660F, 0x6610, 0x6801]
    assert (PRIORITY_MAX, PRIORITY_DEFAULT) == (7, 3)
    assert (TIME_TO_REACH_QUEUE_DEFAULT, INFINITE) == (0x54600, 0xFFFFFFFF)


def test_every_privacy_level_has_its_algorithms_and_all_but_none_a_provider() -> None:
    used = {algorithm for allowed in ALGORITHMS.values() for algorithm in allowed}
    assert used == set(EncryptionAlgorithm) - {EncryptionAlgorithm.NONE}
    assert set(ALGORITHMS) == set(PrivacyLevel)
    assert set(PROVIDERS) == set(PrivacyLevel) - {PrivacyLevel.NONE}
    assert EncryptionAlgorithm.AES_256 in ALGORITHMS[PrivacyLevel.AES]
    assert EncryptionAlgorithm.RC4 not in ALGORITHMS[PrivacyLevel.AES]
