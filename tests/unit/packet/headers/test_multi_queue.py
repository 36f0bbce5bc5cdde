"""MultiQueueFormatHeader."""

from __future__ import annotations

from struct import pack

import pytest
from tests.samples import DIRECT, ON_TARGET, OTHER, PUBLIC, TARGET, patch, refusal

from openmsmq.names.format import parse_format_name
from openmsmq.names.mqf import MQFFormatNameElement, MQFFormatType
from openmsmq.packet.headers.multi_queue import (
    DESTINATION_ID,
    MQFAddressHeader,
    MQFSignatureHeader,
    MultiQueueFormatHeader,
)
from openmsmq.wire.reader import Reader
from openmsmq.wire.trace import TracingReader

EMPTY = (
    pack("<IHHI", 12, 0x64, 0, 0)
    + pack("<IHHI", 12, 0xC8, 0, 0)
    + pack("<IHHI", 12, 0x12C, 0, 0)
    + pack("<HHI", 0x15E, 0, 0)
)
SHORT = b"\x03\0a\0\0\0"
"A direct name of one letter: six bytes."


def address(
    elements: bytes, count: int, *, size: int | None = None, header_id: int = 0x64
) -> bytes:
    """An MQFAddressHeader with this list, not padded."""
    size = 12 + len(elements) if size is None else size
    return pack("<IHHI", size, header_id, 0, count) + elements


def read_destination(reader: Reader) -> MQFAddressHeader:
    return MQFAddressHeader.read(reader, DESTINATION_ID)


def read(data: bytes) -> MQFAddressHeader:
    """The header that `data` is, and the proof that it encodes to the same."""
    reader = Reader(data)
    found = read_destination(reader)
    assert reader.remaining == 0
    assert found.encode() == data
    return found


def test_four_parts_follow_in_order() -> None:
    """MQQB-098, MQQB-099, MQQB-105: each says what it is, an empty list as well."""
    header = MultiQueueFormatHeader.make(())
    assert header.encode() == EMPTY
    assert MultiQueueFormatHeader.read(Reader(EMPTY)) == header


def test_lists_hold_names_of_every_kind() -> None:
    """MQQB-099, MQQB-100, MQQB-102: size and count are those of the list."""
    names = (DIRECT, PUBLIC, ON_TARGET, parse_format_name(f"DL={OTHER}"))
    elements = tuple(MQFFormatNameElement.of(item) for item in names)
    data = MultiQueueFormatHeader.make(elements, elements[:1], elements[1:2], b"sig").encode()
    header = MultiQueueFormatHeader.read(Reader(data))
    assert [item.name() for item in header.destination.elements] == list(names)
    assert [item.name() for item in header.administration.elements] == [DIRECT]
    assert [item.name() for item in header.response.elements] == [PUBLIC]
    assert header.signature.signature == b"sig"
    assert header.destination.element_count == 4
    assert header.encode() == data


def test_fields_are_named_by_the_part_they_lie_in() -> None:
    element = MQFFormatNameElement.of(PUBLIC)
    reader = TracingReader(MultiQueueFormatHeader.make((element,), signature=b"s").encode())
    MultiQueueFormatHeader.read(reader)
    paths = [field.path.removeprefix("MultiQueueFormatHeader.") for field in reader.fields]
    assert paths[:7] == [
        "Destination.HeaderSize",
        "Destination.HeaderID",
        "Destination.Reserved",
        "Destination.ElementCount",
        "Destination.FormatNameList[0].FormatType",
        "Destination.FormatNameList[0].alignment",
        "Destination.FormatNameList[0].PublicQueueIdentifier",
    ]
    assert paths[7::4] == [
        "Administration.HeaderSize",
        "Response.HeaderSize",
        "Signature.ID",
    ]
    assert paths[-1] == "Signature.Signature"


def test_the_size_leaves_out_the_padding_that_follows() -> None:
    """MQQB-009, MQQB-098, MQQB-103, AMB-9: kept as received."""
    data = address(SHORT, 1) + b"\xaa\xbb"
    header = read(data)
    assert (header.header_size, header.padding, header.slack) == (18, b"\xaa\xbb", b"")
    made = MQFAddressHeader.make(0x64, header.elements)
    assert made.encode() == address(SHORT, 1) + bytes(2)


def test_the_size_may_count_the_padding() -> None:
    """AMB-9: the next part begins at the same place either way."""
    header = read(address(SHORT + b"\xaa\xbb", 1))
    assert (header.header_size, header.slack, header.padding) == (20, b"\xaa\xbb", b"")
    assert len(header.elements) == 1


def test_what_the_size_covers_beyond_the_list_is_kept() -> None:
    """MQQB-099."""
    assert read(address(b"later", 0) + b"\0\0\0").slack == b"later"


def test_the_reserved_field_may_be_anything() -> None:
    """MQQB-101: it tells nothing, and is sent as 0."""
    plain = address(SHORT, 1) + bytes(2)
    changed = patch(plain, 6, b"\xab\xcd")
    assert read(changed).elements == read(plain).elements
    assert read(changed).reserved == 0xCDAB
    assert MQFAddressHeader.make(0x64, read(changed).elements).encode()[6:8] == bytes(2)


def test_a_public_guid_starts_on_a_boundary_of_4() -> None:
    """MQQB-104, AMB-9: bytes before it are kept."""
    header = read(address(b"\x01\0\xaa\xbb" + OTHER.bytes_le, 1))
    assert header.elements[0].guid == OTHER
    assert header.public_alignment == 4


def test_a_public_guid_may_start_on_a_boundary_of_2() -> None:
    """AMB-9: taken if nothing else fits HeaderSize."""
    header = read(address(b"\x01\0" + OTHER.bytes_le, 1) + b"\0\0")
    assert header.elements == (MQFFormatNameElement(MQFFormatType.PUBLIC, OTHER),)
    assert header.public_alignment == 2


def test_all_public_guids_of_a_list_start_alike() -> None:
    """AMB-9."""
    elements = b"\x01\0" + OTHER.bytes_le + b"\x01\0" + TARGET.bytes_le
    assert [item.guid for item in read(address(elements, 2)).elements] == [OTHER, TARGET]


@pytest.mark.parametrize(
    ("data", "field", "offset"),
    [
        (address(b"", 0)[:11], "ElementCount", 10),
        (address(b"", 0, header_id=0xC8), "HeaderID", 6),
        (address(b"", 0, size=11), "HeaderSize", 2),
        (address(b"", 0, size=13), "HeaderSize", 2),
        (address(b"", 0, size=0xFFFFFFFF), "HeaderSize", 2),
        (address(b"", 4097), "ElementCount", 10),
        (address(b"", 0xFFFFFFFF), "ElementCount", 10),
        (address(b"", 1), "FormatNameList[0].FormatType", 14),
        (address(SHORT + SHORT, 3), "FormatNameList[2].FormatType", 26),
        (address(b"\x04\0" + bytes(18), 1), "FormatNameList[0].FormatType", 14),
        (address(b"\x03\0a\0", 1), "FormatNameList[0].DirectFormatName", 16),
        (address(SHORT, 1, size=16), "FormatNameList[0]", 20),
        (address(SHORT, 1) + b"\0", "padding", 20),
    ],
)
def test_a_list_that_does_not_fit_is_refused(data: bytes, field: str, offset: int) -> None:
    """MQQB-010, MQQB-099, MQQB-100, MQQB-102."""
    assert refusal(read_destination, b"--" + data, start=2) == (field, offset)


def test_as_many_names_as_allowed_are_taken() -> None:
    assert len(read(address(b"\x03\0\0\0" * 4096, 4096)).elements) == 4096


def test_a_signature_follows_its_size() -> None:
    """MQQB-105: nothing pads its end (AMB-9)."""
    data = pack("<HHI", 0x15E, 0xABCD, 3) + b"sig"
    reader = Reader(data + b"rest")
    header = MQFSignatureHeader.read(reader)
    assert reader.offset == len(data)
    assert (header.signature, header.encode()) == (b"sig", data)
    assert MQFSignatureHeader.make(b"sig").encode() == pack("<HHI", 0x15E, 0, 3) + b"sig"
    assert MQFSignatureHeader().encode() == pack("<HHI", 0x15E, 0, 0)


@pytest.mark.parametrize(
    ("data", "field", "offset"),
    [
        (pack("<HHI", 0x15F, 0, 0), "ID", 2),
        (pack("<HHI", 0x15E, 0, 4) + b"sig", "Signature", 10),
        (pack("<HHI", 0x15E, 0, 0xFFFFFFFF), "Signature", 10),
        (pack("<HH", 0x15E, 0), "Size", 6),
    ],
)
def test_a_signature_that_does_not_fit_is_refused(data: bytes, field: str, offset: int) -> None:
    """MQQB-010, MQQB-105."""
    assert refusal(MQFSignatureHeader.read, b"--" + data, start=2) == (field, offset)


@pytest.mark.parametrize(
    ("offset", "part"), [(4, "Destination"), (16, "Administration"), (28, "Response")]
)
def test_parts_out_of_order_are_refused(offset: int, part: str) -> None:
    """MQQB-098, MQQB-099."""
    found = refusal(MultiQueueFormatHeader.read, patch(EMPTY, offset, b"\x99\x09"))
    assert found == (f"MultiQueueFormatHeader.{part}.HeaderID", offset)
