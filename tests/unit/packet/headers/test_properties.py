"""MessagePropertiesHeader."""

from __future__ import annotations

from struct import pack

import pytest
from tests.samples import patch, properties, refusal

from openmsmq.packet.headers.properties import MessagePropertiesHeader, PropertyFlags, encode_label
from openmsmq.wire.reader import Reader

CORRELATION = bytes(range(20))


def start(
    label: int = 0, message: int = 0, allocation: int | None = None, extension: int = 0
) -> bytes:
    """The 56 bytes, with these lengths."""
    allocation = message if allocation is None else allocation
    sizes = pack("<IIIIIIII", 8, 0x1234, message, allocation, 5, 0x800E, 0x6610, extension)
    return pack("<BBH", 0x0F, label, 0x8002) + CORRELATION + sizes


def read(data: bytes) -> MessagePropertiesHeader:
    return MessagePropertiesHeader.read(Reader(data))


def test_every_field_stands_at_its_place() -> None:
    """MQQB-065 to MQQB-068, MQQB-070."""
    data = start(3, 5, 5, 2) + b"h\0i\0\0\0" + b"ex" + b"hello" + b"\xaa\xbb\xcc"
    reader = Reader(data)
    header = MessagePropertiesHeader.read(reader)
    assert reader.remaining == 0
    assert (header.flags, header.message_class) == (0x0F, 0x8002)
    assert header.correlation_id == CORRELATION
    assert (header.body_type, header.application_tag) == (8, 0x1234)
    assert (header.privacy_level, header.hash_algorithm) == (5, 0x800E)
    assert header.encryption_algorithm == 0x6610
    assert (header.label, header.extension, header.body) == ("hi", b"ex", b"hello")
    assert header.padding == b"\xaa\xbb\xcc"
    assert header.encode() == data


def test_a_new_header_says_nothing() -> None:
    """MQQB-063, MQQB-076: 56 bytes of 0."""
    assert MessagePropertiesHeader().encode() == bytes(56)


@pytest.mark.parametrize("size", range(5))
def test_the_header_is_padded_to_a_multiple_of_4(size: int) -> None:
    """MQQB-070."""
    data = properties(b"b" * size, "", b"e").encode()
    assert len(data) == 56 + (1 + size + 3 & ~3)
    assert read(data).body == b"b" * size


def test_padding_counts_from_the_start_of_the_header() -> None:
    """MQQB-009."""
    data = b"--" + start(0, 1) + b"b\x01\x02\x03"
    assert MessagePropertiesHeader.read(Reader(data, 2)).padding == b"\x01\x02\x03"


def test_no_label_takes_no_bytes() -> None:
    """MQQB-063."""
    header = read(start())
    assert (header.label, header.label_utf16, header.encode()) == ("", b"", start())
    assert encode_label("") == b""
    assert encode_label("L") == b"L\0\0\0"


def test_the_longest_label_has_249_characters() -> None:
    """MQQB-063, MQQB-064."""
    assert read(start(250) + b"x\0" * 249 + b"\0\0").label == "x" * 249


@pytest.mark.parametrize("units", [251, 255])
def test_a_longer_label_is_refused(units: int) -> None:
    """MQQB-063."""
    data = b"--" + start(units) + bytes(2 * units + 2)
    found = refusal(MessagePropertiesHeader.read, data, start=2)
    assert found == ("MessagePropertiesHeader.LabelLength", 3)


def test_a_label_without_null_is_refused() -> None:
    """MQQB-064."""
    found = refusal(MessagePropertiesHeader.read, start(2) + b"a\0b\0")
    assert found == ("MessagePropertiesHeader.Label", 56)


def test_a_null_inside_ends_the_label_for_people_only() -> None:
    data = start(4) + b"a\0\0\0b\0\0\0"
    header = read(data)
    assert header.label == "a"
    assert header.encode() == data


@pytest.mark.parametrize("code", [0x0000, 0x00FF, 0x1FFF, 0xE1FF, 0xFFFF])
def test_every_class_can_be_read(code: int) -> None:
    """MQQB-065: what a class means is not the codec's business."""
    data = patch(start(), 2, pack("<H", code))
    assert read(data).message_class == code


def test_unknown_algorithms_can_be_read() -> None:
    """They refuse the message, not the packet."""
    data = patch(start(), 40, pack("<III", 2, 0xFFFF, 0xFFFF))
    assert read(data).encode() == data


def test_the_flags_are_the_acknowledgements_asked_for() -> None:
    """MQQB-076: X4 to X7 are kept and tell nothing."""
    assert (PropertyFlags.PA, PropertyFlags.PR) == (0x01, 0x02)
    assert (PropertyFlags.NA, PropertyFlags.NR) == (0x04, 0x08)
    assert PropertyFlags.split(0xA5) == {"PA": 1, "PR": 0, "NA": 1, "NR": 0, "X4_X7": 10}
    data = patch(start(), 0, b"\xf0")
    assert read(data).encode() == data


def test_a_body_takes_what_was_allocated_for_it() -> None:
    """MQQB-069, AMB-7: an encrypted body is longer than the clear one."""
    data = start(0, 5, 8) + b"cipher!!"
    header = read(data)
    assert header.body_field == b"cipher!!"
    assert header.body == b"ciphe"
    assert header.encode() == data


def test_a_body_takes_its_size_where_the_packet_has_no_room_for_more() -> None:
    """AMB-7."""
    data = start(0, 4, 9) + b"body"
    header = read(data)
    assert header.body_field == b"body"
    assert header.encode() == data


def test_less_allocated_than_used_is_refused() -> None:
    """MQQB-069, AMB-7."""
    data = b"--" + start(0, 5, 4) + bytes(8)
    found = refusal(MessagePropertiesHeader.read, data, start=2)
    assert found == ("MessagePropertiesHeader.AllocationBodySize", 38)


@pytest.mark.parametrize(
    ("data", "field", "offset"),
    [
        (start()[:55], "ExtensionSize", 52),
        (start(3) + bytes(5), "Label", 56),
        (start(0, 0, 0, 5) + bytes(4), "ExtensionData", 56),
        (start(0, 0, 0, 0xFFFFFFFF) + bytes(4), "ExtensionData", 56),
        (start(1, 5, 5, 1) + bytes(7), "MessageBody", 59),
        (start(0, 0xFFFFFFFF), "MessageBody", 56),
        (start(0, 5) + bytes(7), "padding", 61),
    ],
)
def test_a_length_past_the_packet_is_refused(data: bytes, field: str, offset: int) -> None:
    """MQQB-010, MQQB-068."""
    found = refusal(MessagePropertiesHeader.read, data)
    assert found == (f"MessagePropertiesHeader.{field}", offset)
