"""SecurityHeader."""

from __future__ import annotations

from struct import pack

import pytest
from tests.samples import SOURCE, refusal

from openmsmq.packet.headers.security import SecurityFlags, SecurityHeader, encode_provider
from openmsmq.properties.message import SignatureType
from openmsmq.wire.reader import Reader

ITEMS = {
    "security_id": b"s" * 1,
    "encryption_key": b"k" * 2,
    "signature": b"g" * 3,
    "sender_cert": b"c" * 4,
    "provider_info": b"p" * 5,
}
FULL = (
    pack("<HHHHII", 0x00C1, 1, 2, 3, 4, 5)
    + b"s\x01\x02\x03"
    + b"kk\x04\x05"
    + b"ggg\x06"
    + b"cccc"
    + b"ppppp\x07\x08\x09"
)
PADDINGS = (b"\x01\x02\x03", b"\x04\x05", b"\x06", b"", b"\x07\x08\x09")


def test_items_follow_in_order_each_on_a_boundary_of_4() -> None:
    """MQQB-092: and what stood between them is kept."""
    reader = Reader(FULL)
    header = SecurityHeader.read(reader)
    assert reader.remaining == 0
    assert {name: getattr(header, name) for name in ITEMS} == ITEMS
    assert header.paddings == PADDINGS
    assert header.encode() == FULL


def test_sizes_are_those_of_the_items() -> None:
    """MQQB-092: padding is zeros."""
    header = SecurityHeader.make(0x00C1, **ITEMS)
    assert header.sizes == (1, 2, 3, 4, 5)
    assert SecurityHeader.read(Reader(header.encode())).paddings == tuple(
        bytes(len(p)) for p in PADDINGS
    )


def test_a_new_header_holds_nothing() -> None:
    """MQQB-090, MQQB-096."""
    assert SecurityHeader().encode() == SecurityHeader.make(0).encode() == bytes(16)


@pytest.mark.parametrize("name", ITEMS)
def test_an_item_of_size_0_takes_no_space(name: str) -> None:
    """MQQB-092."""
    only = SecurityHeader.make(0, **{name: ITEMS[name]})
    assert len(only.encode()) == 16 + (len(ITEMS[name]) + 3 & ~3)
    read = SecurityHeader.read(Reader(only.encode()))
    assert {other for other in ITEMS if getattr(read, other)} == {name}


def test_the_sizes_decide_what_is_there_whatever_ai_says() -> None:
    """AMB-6, MQQB-088, MQQB-089."""
    data = pack("<HHHHII", 0x0002, 16, 0, 0, 0, 0) + SOURCE.bytes_le
    header = SecurityHeader.read(Reader(data))
    assert not header.flags & SecurityFlags.AI
    assert header.security_id == SOURCE.bytes_le
    empty = pack("<HHHHII", 0x0080, 0, 0, 0, 0, 0)
    assert SecurityHeader.read(Reader(empty)).encode() == empty


def test_the_flags_say_what_was_done() -> None:
    """MQQB-088, MQQB-090, MQQB-095, MQQB-096."""
    assert SecurityFlags.split(0xA572) == {
        "ST": 2,
        "AU": 1,
        "EB": 1,
        "DE": 1,
        "AI": 0,
        "AS": 5,
        "X12_X15": 10,
    }


@pytest.mark.parametrize(
    ("kind", "found"),
    [
        (0, SignatureType.NONE),
        (1, SignatureType.MSMQ_1_0),
        (3, SignatureType.MSMQ_2_0),
        (5, SignatureType.MSMQ_3_0),
    ],
)
@pytest.mark.parametrize("other_flags", [0x0000, 0xF0FF])
def test_four_bits_say_which_signature_was_found(
    kind: int, found: SignatureType, other_flags: int
) -> None:
    """DMPR-361: AS, which the text prints as AU (A-44)."""
    data = pack("<HHHHII", other_flags | kind << 8, 0, 0, 0, 0, 0)
    assert SecurityHeader.read(Reader(data)).signature_type == found


def test_a_provider_is_a_type_and_a_name() -> None:
    """DMPR-360, DMPR-363."""
    info = b"\x18\0\0\0A\0b\0\0\0"
    assert encode_provider(0x18, "Ab") == info
    header = SecurityHeader.make(0, provider_info=info)
    assert (header.provider_type, header.provider_name) == (0x18, "Ab")


@pytest.mark.parametrize(
    ("info", "kind", "name"),
    [(b"", 0, ""), (b"\x01\x02", 0x201, ""), (b"\x01\0\0\0A\0b", 1, "A")],
)
def test_a_provider_cut_short_is_read_as_far_as_it_goes(info: bytes, kind: int, name: str) -> None:
    header = SecurityHeader.make(0, provider_info=info)
    assert (header.provider_type, header.provider_name) == (kind, name)


@pytest.mark.parametrize("encrypted", [False, True])
def test_a_sender_sets_only_what_a_sender_knows(encrypted: bool) -> None:
    """DMPR-365, DMPR-366, DMPR-368."""
    sent = SecurityHeader.make(0xFFFF, **ITEMS).as_sent(encrypted=encrypted)
    assert sent.flags == 0xF08F | (0x20 if encrypted else 0)
    assert sent.sizes == (1, 2, 3, 4, 5)
    signed = SecurityHeader.make(0, signature=b"s").as_sent(encrypted=encrypted)
    assert signed.flags == 0x40 | (0x20 if encrypted else 0)


def test_reserved_flags_are_kept() -> None:
    """MQQB-096: ignored on receipt."""
    data = pack("<HHHHII", 0xF001, 4, 0, 0, 0, 0) + b"abcd"
    assert SecurityHeader.read(Reader(data)).encode() == data


def test_the_largest_certificate_is_taken() -> None:
    """MQQB-093."""
    data = pack("<HHHHII", 0, 0, 0, 0, 0xFFFF, 0) + bytes(0x10000)
    assert len(SecurityHeader.read(Reader(data)).sender_cert) == 0xFFFF


@pytest.mark.parametrize(
    ("data", "field", "offset"),
    [
        (pack("<HHHHII", 0, 0, 0, 0, 0x10000, 0) + bytes(0x10000), "SenderCertSize", 10),
        (FULL[:13], "ProviderInfoSize", 14),
        (FULL[:16], "SecurityData.SecurityID", 18),
        (FULL[:18], "SecurityData.SecurityID.padding", 19),
        (FULL[:21], "SecurityData.EncryptionKey", 22),
        (FULL[:25], "SecurityData.Signature", 26),
        (FULL[:28], "SecurityData.SenderCert", 30),
        (FULL[:33], "SecurityData.ProviderInfo", 34),
        (FULL[:-1], "SecurityData.ProviderInfo.padding", 39),
        (pack("<HHHHII", 0, 0, 0, 0, 0, 0xFFFFFFFF), "SecurityData.ProviderInfo", 18),
    ],
)
def test_what_does_not_fit_is_refused(data: bytes, field: str, offset: int) -> None:
    """MQQB-010, MQQB-093."""
    found = refusal(SecurityHeader.read, b"--" + data, start=2)
    assert found == (f"SecurityHeader.{field}", offset)
