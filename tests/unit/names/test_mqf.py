"""The elements of MultiQueueFormatHeader lists."""

from __future__ import annotations

from struct import pack
from uuid import UUID

import pytest

from openmsmq.errors import IllegalFormatName, Malformed
from openmsmq.names.format import FormatName, parse_format_name
from openmsmq.names.mqf import MQFFormatNameElement, MQFFormatType
from openmsmq.wire.reader import Reader
from openmsmq.wire.text import encode_utf16z
from openmsmq.wire.trace import TracingReader

TEXT = "01234567-89ab-4cde-8f01-23456789abcd"
GUID = UUID(TEXT)
NAMES = (
    f"PUBLIC={TEXT}",
    f"PRIVATE={TEXT}\\0000000c",
    r"DIRECT=TCP:192.0.2.9\q2",
    f"DL={TEXT}",
)
LIST = (
    pack("<H2x", 1)
    + GUID.bytes_le
    + pack("<H2x", 2)
    + GUID.bytes_le
    + pack("<I", 12)
    + pack("<H", 3)
    + encode_utf16z(r"TCP:192.0.2.9\q2")
    + pack("<H2x", 6)
    + GUID.bytes_le
)


def test_a_list_of_all_kinds_is_read_and_written() -> None:
    """MQQB-102 to MQQB-104."""
    reader = TracingReader(bytes(12) + LIST, 12)
    elements = [MQFFormatNameElement.read(reader, origin=0) for _ in NAMES]
    assert reader.remaining == 0
    assert [str(element.name()) for element in elements] == list(NAMES)
    assert [(f.path, f.offset, f.size) for f in reader.fields] == [
        ("FormatType", 12, 2),
        ("alignment", 14, 2),
        ("PublicQueueIdentifier", 16, 16),
        ("FormatType", 32, 2),
        ("alignment", 34, 2),
        ("SourceQueueManager", 36, 16),
        ("PrivateQueueIdentifier", 52, 4),
        ("FormatType", 56, 2),
        ("DirectFormatName", 58, 34),
        ("FormatType", 92, 2),
        ("alignment", 94, 2),
        ("DistributionListIdentifier", 96, 16),
    ]
    written = b""
    for name in NAMES:
        element = MQFFormatNameElement.of(parse_format_name(name))
        written += element.encode(12 + len(written))
    assert written == LIST


@pytest.mark.parametrize(("kind", "size"), [(1, 16), (2, 20), (6, 16)])
def test_guids_begin_at_a_multiple_of_four(kind: int, size: int) -> None:
    """MQQB-104."""
    for start in (0, 2):
        gap = 2 - start
        data = bytes(start) + pack("<H", kind) + b"\xee" * gap + bytes(size)
        reader = Reader(data, start)
        element = MQFFormatNameElement.read(reader, origin=0)
        assert element.alignment == b"\xee" * gap
        assert reader.remaining == 0
        assert element.encode(start) == data[start:]


def test_a_direct_name_begins_at_a_multiple_of_two() -> None:
    """MQQB-103."""
    data = pack("<H", 3) + b"\xee" + encode_utf16z(r"OS:h\q")
    element = MQFFormatNameElement.read(Reader(data), origin=1)
    assert str(element.name()) == r"DIRECT=OS:h\q"
    assert element.encode(-1) == data
    assert element.encode(0) == data.replace(b"\xee", b"")


def test_a_public_guid_can_be_tried_at_a_multiple_of_two() -> None:
    data = pack("<H", 1) + GUID.bytes_le
    element = MQFFormatNameElement.read(Reader(data), origin=0, public_alignment=2)
    assert element == MQFFormatNameElement(MQFFormatType.PUBLIC, GUID)
    assert element.encode(0, public_alignment=2) == data
    with pytest.raises(Malformed):
        MQFFormatNameElement.read(Reader(data), origin=0)


@pytest.mark.parametrize(
    ("data", "field", "offset"),
    [
        (b"\x01", "FormatType", 0),
        (pack("<H", 0), "FormatType", 0),
        (pack("<H", 4), "FormatType", 0),
        (pack("<H", 0x0103), "FormatType", 0),
        (pack("<H", 1), "alignment", 2),
        (pack("<H2x", 1) + bytes(15), "PublicQueueIdentifier", 4),
        (pack("<H2x", 2) + bytes(15), "SourceQueueManager", 4),
        (pack("<H2x", 2) + bytes(19), "PrivateQueueIdentifier", 20),
        (pack("<H", 3) + b"a\0b\0", "DirectFormatName", 2),
        (pack("<H2x", 6) + bytes(15), "DistributionListIdentifier", 4),
    ],
)
def test_unknown_types_and_short_data_are_malformed(data: bytes, field: str, offset: int) -> None:
    """MQQB-102."""
    with pytest.raises(Malformed) as caught:
        MQFFormatNameElement.read(Reader(data), origin=0)
    assert caught.value.field == field
    assert caught.value.offset == offset


def test_text_that_is_no_direct_name_is_kept_and_only_refused_when_named() -> None:
    data = pack("<H", 3) + encode_utf16z("rubbish")
    element = MQFFormatNameElement.read(Reader(data), origin=0)
    assert element.encode(0) == data
    with pytest.raises(IllegalFormatName):
        element.name()


@pytest.mark.parametrize(
    "name",
    [
        f"PUBLIC={TEXT};JOURNAL",
        f"PRIVATE={TEXT}\\1;JOURNAL",
        f"MACHINE={TEXT};DEADXACT",
        f"CONNECTOR={TEXT}",
        "MULTICAST=234.1.1.1:8001",
        r"DIRECT=OS:h\q,DIRECT=OS:h\r",
    ],
)
def test_other_kinds_have_no_element(name: str) -> None:
    """DMPR-072: a name of several queues is no member of a list."""
    unlisted: FormatName = parse_format_name(name)
    with pytest.raises(IllegalFormatName, match="a message cannot list"):
        MQFFormatNameElement.of(unlisted)


def test_the_domain_of_a_distribution_list_is_left_out() -> None:
    element = MQFFormatNameElement.of(parse_format_name(f"DL={TEXT}@example.org"))
    assert str(element.name()) == f"DL={TEXT}"
