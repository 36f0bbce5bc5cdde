"""The queue name fields of the UserHeader."""

from __future__ import annotations

from uuid import UUID

import pytest

from openmsmq.errors import IllegalFormatName, Malformed
from openmsmq.names.format import (
    ConnectorName,
    DirectName,
    FormatName,
    MachineName,
    PrivateName,
    PublicName,
    Suffix,
    parse_format_name,
)
from openmsmq.names.reference import (
    QueueReference,
    ReferenceCode,
    destination_from,
    destination_reference,
    reference_for,
)
from openmsmq.wire.reader import Reader
from openmsmq.wire.text import encode_utf16z
from openmsmq.wire.trace import TracingReader

SOURCE = UUID("11111111-2222-4333-8444-555566667777")
DESTINATION = UUID("aaaaaaaa-bbbb-4ccc-8ddd-eeeeffff0000")
ELSEWHERE = UUID("01234567-89ab-4cde-8f01-23456789abcd")
NUMBER = bytes.fromhex("0c000000")
DIRECT = bytes.fromhex("1a00") + encode_utf16z(r"OS:a04bm02\q")


def read(data: bytes, code: int) -> QueueReference:
    return QueueReference.read(Reader(data), code, origin=0, name="DestinationQueue")


def resolve(reference: QueueReference, admin: QueueReference | None = None) -> FormatName | None:
    return reference.resolve(source=SOURCE, destination=DESTINATION, admin=admin)


def test_every_code_of_a_queue_name_is_known() -> None:
    """DMPR-362: the eight that DQ, AQ and RQ share."""
    assert [ReferenceCode(code).name for code in range(8)] == [
        "NONE",
        "SAME_AS_ADMIN",
        "PRIVATE_ON_SOURCE",
        "PRIVATE_ON_DESTINATION",
        "PRIVATE_ON_ADMIN_HOST",
        "PUBLIC",
        "PRIVATE_ELSEWHERE",
        "DIRECT",
    ]


@pytest.mark.parametrize(
    ("code", "data", "name"),
    [
        (0, b"", None),
        (1, b"", None),
        (2, NUMBER, PrivateName(SOURCE, 12)),
        (3, NUMBER, PrivateName(DESTINATION, 12)),
        (5, ELSEWHERE.bytes_le, PublicName(ELSEWHERE)),
        (6, ELSEWHERE.bytes_le + NUMBER, PrivateName(ELSEWHERE, 12)),
        (7, DIRECT, DirectName.from_wire(r"OS:a04bm02\q")),
    ],
)
def test_fields_read_resolve_and_write(code: int, data: bytes, name: FormatName | None) -> None:
    """MQQB-055 to MQQB-057; code 7 is the field of the frame in [MS-MQQB] 4.1.7."""
    reference = read(data, code)
    assert reference.code == code
    assert resolve(reference) == name
    assert reference.encode() == data


def test_fields_are_listed_by_the_specifications_names() -> None:
    """MQQB-055 to MQQB-057."""
    data = NUMBER + ELSEWHERE.bytes_le + ELSEWHERE.bytes_le + NUMBER + DIRECT[:-4] + b"\0\0PP"
    data = data.replace(b"\x1a\0", b"\x18\0", 1)
    reader = TracingReader(data)
    for code in (4, 5, 6, 7):
        QueueReference.read(reader, code, origin=0, name="AdminQueue")
    assert [(f.path.removeprefix("AdminQueue."), f.offset, f.size) for f in reader.fields] == [
        ("PrivateQueueIdentifier", 0, 4),
        ("PublicQueueIdentifier", 4, 16),
        ("SourceQueueManager", 20, 16),
        ("PrivateQueueIdentifier", 36, 4),
        ("Count", 40, 2),
        ("DirectFormatName", 42, 24),
        ("padding", 66, 2),
    ]


def test_padding_is_counted_from_the_header_and_kept() -> None:
    """MQQB-055: Count leaves the padding out."""
    field = bytes.fromhex("0c00") + encode_utf16z(r"OS:h\q"[:5]) + b"\xab\xcd"
    reader = Reader(b"--" + field + b"next", 2)
    reference = QueueReference.read(reader, 7, origin=2, name="AdminQueue")
    assert reference.padding == b"\xab\xcd"
    assert reference.encode() == field
    assert reader.remaining == 4


def test_new_padding_is_zero() -> None:
    raw = encode_utf16z("OS:h\\")
    assert QueueReference(ReferenceCode.DIRECT, raw=raw).encode() == b"\x0c\0" + raw + b"\0\0"


@pytest.mark.parametrize(
    ("code", "data", "field", "offset"),
    [
        (2, b"abc", "PrivateQueueIdentifier", 0),
        (5, b"abc", "PublicQueueIdentifier", 0),
        (6, bytes(18), "PrivateQueueIdentifier", 16),
        (7, b"\x02", "Count", 0),
        (7, b"\x00\x00", "Count", 0),
        (7, b"\x03\x00a\0\0\0", "Count", 0),
        (7, b"\x06\x00a\0\0\0", "DirectFormatName", 2),
        (7, b"\x02\x00a\0", "DirectFormatName", 2),
        (7, b"\x04\x00a\0\0\0", "padding", 6),
    ],
)
def test_fields_cut_short_or_badly_counted_are_malformed(
    code: int, data: bytes, field: str, offset: int
) -> None:
    """MQQB-055 to MQQB-057."""
    with pytest.raises(Malformed) as caught:
        read(data, code)
    assert caught.value.field == f"DestinationQueue.{field}"
    assert caught.value.offset == offset


def test_text_that_is_no_direct_name_is_kept_and_only_refused_when_resolved() -> None:
    raw = "no\0name\ud800\0".encode("utf-16-le", "surrogatepass")
    data = len(raw).to_bytes(2, "little") + raw
    reference = read(data, 7)
    assert reference.encode() == data
    assert reference.text == "no"
    with pytest.raises(IllegalFormatName):
        resolve(reference)


def test_a_response_queue_can_be_the_administration_queue() -> None:
    same = QueueReference(ReferenceCode.SAME_AS_ADMIN)
    assert resolve(same, admin=read(DIRECT, 7)) == DirectName.from_wire(r"OS:a04bm02\q")
    assert resolve(same, admin=QueueReference()) is None


@pytest.mark.parametrize(
    ("admin", "host"),
    [
        (QueueReference(ReferenceCode.PRIVATE_ON_SOURCE, number=5), SOURCE),
        (QueueReference(ReferenceCode.PRIVATE_ON_DESTINATION, number=5), DESTINATION),
        (QueueReference(ReferenceCode.PRIVATE_ELSEWHERE, ELSEWHERE, 5), ELSEWHERE),
    ],
)
def test_a_response_queue_can_be_where_the_administration_queue_is(
    admin: QueueReference, host: UUID
) -> None:
    beside = QueueReference(ReferenceCode.PRIVATE_ON_ADMIN_HOST, number=12)
    assert resolve(beside, admin=admin) == PrivateName(host, 12)


@pytest.mark.parametrize(
    "admin",
    [
        None,
        QueueReference(),
        QueueReference(ReferenceCode.PUBLIC, ELSEWHERE),
        QueueReference(ReferenceCode.SAME_AS_ADMIN),
        QueueReference(ReferenceCode.PRIVATE_ON_ADMIN_HOST, number=5),
    ],
)
def test_nothing_is_beside_an_administration_queue_of_unknown_place(
    admin: QueueReference | None,
) -> None:
    beside = QueueReference(ReferenceCode.PRIVATE_ON_ADMIN_HOST, number=12)
    with pytest.raises(IllegalFormatName, match="administration queue"):
        resolve(beside, admin=admin)


ADMIN = PrivateName(ELSEWHERE, 5)


@pytest.mark.parametrize(
    ("name", "admin", "code"),
    [
        (None, None, 0),
        (ADMIN, ADMIN, 1),
        (parse_format_name(r"DIRECT=OS:h\q"), parse_format_name(r"DIRECT=OS:h\q"), 1),
        (parse_format_name(r"DIRECT=OS:h\q"), parse_format_name(r"DIRECT=OS:H\q"), 7),
        (PrivateName(SOURCE, 12), None, 2),
        (PrivateName(DESTINATION, 12), None, 3),
        (PrivateName(ELSEWHERE, 12), ADMIN, 4),
        (PrivateName(ELSEWHERE, 12), PublicName(ELSEWHERE), 6),
        (PrivateName(ELSEWHERE, 12), None, 6),
        (PublicName(ELSEWHERE), None, 5),
        (parse_format_name(r"DIRECT=OS:h\q"), None, 7),
    ],
)
def test_the_shortest_field_is_written(
    name: FormatName | None, admin: FormatName | None, code: int
) -> None:
    reference = reference_for(name, source=SOURCE, destination=DESTINATION, admin=admin)
    assert reference.code == code
    admin_field = reference_for(admin, source=SOURCE, destination=DESTINATION)
    assert str(resolve(reference, admin=admin_field)) == str(name)


def test_a_private_destination_on_the_sending_computer_is_on_the_destination() -> None:
    """The destination queue knows codes 0, 3, 5 and 7 only."""
    name = PrivateName(SOURCE, 12)
    assert reference_for(name, source=SOURCE, destination=SOURCE).code == 3


@pytest.mark.parametrize(
    "name",
    [
        PublicName(ELSEWHERE, Suffix.JOURNAL),
        PrivateName(SOURCE, 1, Suffix.JOURNAL),
        MachineName(ELSEWHERE, Suffix.DEADXACT),
        ConnectorName(ELSEWHERE),
        parse_format_name("MULTICAST=234.1.1.1:8001"),
        parse_format_name(f"DL={ELSEWHERE}"),
        parse_format_name(r"DIRECT=OS:h\q,DIRECT=OS:h\r"),
    ],
)
def test_other_kinds_have_no_field(name: FormatName) -> None:
    with pytest.raises(IllegalFormatName, match="a message cannot carry"):
        reference_for(name, source=SOURCE, destination=DESTINATION)


def test_a_group_address_is_written_as_a_direct_name() -> None:
    group = parse_format_name("MULTICAST=239.192.0.9:8001")
    field = destination_reference(group, source=SOURCE, destination=DESTINATION)
    assert field == QueueReference(
        ReferenceCode.DIRECT, raw=encode_utf16z("MULTICAST=239.192.0.9:8001")
    )
    assert destination_from("MULTICAST=239.192.0.9:8001") == group
    assert destination_from(r"OS:a04bm02\q") == parse_format_name(r"DIRECT=OS:a04bm02\q")
