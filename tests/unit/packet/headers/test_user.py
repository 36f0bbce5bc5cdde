"""UserHeader."""

from __future__ import annotations

from dataclasses import replace
from struct import pack

import pytest
from tests.samples import OTHER, SENT, SOURCE, TARGET, refusal

from openmsmq.errors import IllegalFormatName, Malformed
from openmsmq.names.format import parse_format_name
from openmsmq.names.reference import ReferenceCode
from openmsmq.packet.headers.user import (
    NO_GUID,
    StoredUserHeaderStart,
    UserFlags,
    UserHeader,
    UserHeaderStart,
)
from openmsmq.wire.reader import Reader
from openmsmq.wire.text import encode_utf16z
from openmsmq.wire.trace import TracingReader

NUMBER = pack("<I", 12)
PUBLIC = OTHER.bytes_le
PRIVATE = OTHER.bytes_le + NUMBER


def direct(text: str, padding: bytes = b"") -> bytes:
    raw = encode_utf16z(text)
    return pack("<H", len(raw)) + raw + padding


def header(names: bytes = b"", *, dq: int = 0, aq: int = 0, rq: int = 0, flags: int = 0) -> bytes:
    """A UserHeader whose names are these bytes, of these kinds."""
    flags |= UserFlags.MP | dq << 10 | aq << 13 | rq << 16
    start = SOURCE.bytes_le + TARGET.bytes_le + pack("<IIII", 600, SENT, 0x1001, flags)
    return start + names


def read(data: bytes) -> UserHeader:
    """The header that `data` is, and the proof that it encodes to the same."""
    reader = Reader(data)
    found = UserHeader.read(reader)
    assert reader.remaining == 0
    assert found.encode() == data
    return found


def test_every_field_stands_at_its_place() -> None:
    """MQQB-004, MQQB-044."""
    found = read(header())
    assert (found.source_queue_manager, found.queue_manager_address) == (SOURCE, TARGET)
    assert (found.time_to_be_received, found.sent_time, found.message_id) == (600, SENT, 0x1001)
    assert found.flags == UserFlags.MP


def test_the_flags_say_what_the_header_holds_and_what_follows() -> None:
    """MQQB-046, MQQB-047, MQQB-059."""
    word = 0x1D | 1 << 5 | 1 << 8 | 7 << 10 | 5 << 13 | 2 << 16 | 1 << 20 | 1 << 21 | 1 << 28
    assert {group: value for group, value in UserFlags.split(word).items() if value} == {
        "RC": 0x1D,
        "DM": 1,
        "JN": 1,
        "DQ": 7,
        "AQ": 5,
        "RQ": 2,
        "TH": 1,
        "MP": 1,
        "HH": 1,
    }


def test_the_groups_of_flags_fill_the_word_without_overlap() -> None:
    masks = [(1 << width) - 1 << shift for _, shift, width in UserFlags.GROUPS]
    assert sum(masks) == 0xFFFFFFFF


def test_reserved_flags_are_kept_and_tell_nothing() -> None:
    """MQQB-061: X1 to X4."""
    flags = UserFlags.X1 | UserFlags.X2 | UserFlags.X3 | UserFlags.X4
    assert read(header(flags=flags)).destination_name() is None


@pytest.mark.parametrize("code", [1, 2, 4, 6])
def test_a_destination_of_another_kind_is_refused(code: int) -> None:
    """MQQB-049."""
    data = b"--" + header(bytes(32), dq=code)
    assert refusal(UserHeader.read, data, start=2) == ("UserHeader.Flags", 46)


@pytest.mark.parametrize("code", [1, 4])
def test_an_administration_queue_of_another_kind_is_refused(code: int) -> None:
    """MQQB-050."""
    data = b"--" + header(bytes(32), aq=code)
    assert refusal(UserHeader.read, data, start=2) == ("UserHeader.Flags", 46)


def test_a_message_without_properties_is_refused() -> None:
    """MQQB-048, MQQB-062."""
    data = b"--" + header(flags=0)[:46] + b"\0\0"
    assert refusal(UserHeader.read, data, start=2) == ("UserHeader.Flags", 46)


@pytest.mark.parametrize(
    ("code", "names", "expected"),
    [
        (0, b"", None),
        (3, NUMBER, f"PRIVATE={TARGET}\\0000000c"),
        (5, PUBLIC, f"PUBLIC={OTHER}"),
        (7, direct(r"OS:host\q", b"\0\0"), r"DIRECT=OS:host\q"),
    ],
)
def test_destinations(code: int, names: bytes, expected: str | None) -> None:
    """MQQB-049, MQQB-055 to MQQB-057."""
    found = read(header(names, dq=code)).destination_name()
    assert found == (None if expected is None else parse_format_name(expected))


@pytest.mark.parametrize(
    ("code", "names", "expected"),
    [
        (0, b"", None),
        (2, NUMBER, f"PRIVATE={SOURCE}\\0000000c"),
        (3, NUMBER, f"PRIVATE={TARGET}\\0000000c"),
        (5, PUBLIC, f"PUBLIC={OTHER}"),
        (6, PRIVATE, f"PRIVATE={OTHER}\\0000000c"),
        (7, direct(r"OS:host\q", b"\0\0"), r"DIRECT=OS:host\q"),
    ],
)
def test_administration_queues(code: int, names: bytes, expected: str | None) -> None:
    """MQQB-050, MQQB-051, MQQB-055 to MQQB-057."""
    found = read(header(names, aq=code)).admin_name()
    assert found == (None if expected is None else parse_format_name(expected))


@pytest.mark.parametrize(
    ("code", "names", "expected"),
    [
        (0, b"", None),
        (1, b"", f"PRIVATE={OTHER}\\0000000c"),
        (2, NUMBER, f"PRIVATE={SOURCE}\\0000000c"),
        (3, NUMBER, f"PRIVATE={TARGET}\\0000000c"),
        (4, NUMBER, f"PRIVATE={OTHER}\\0000000c"),
        (5, PUBLIC, f"PUBLIC={OTHER}"),
        (6, PRIVATE, f"PRIVATE={OTHER}\\0000000c"),
        (7, direct(r"OS:host\q", b"\0\0"), r"DIRECT=OS:host\q"),
    ],
)
def test_response_queues(code: int, names: bytes, expected: str | None) -> None:
    """MQQB-052, MQQB-053: kinds 0 and 1 take no bytes (AMB-4)."""
    found = read(header(PRIVATE + names, aq=6, rq=code)).response_name()
    assert found == (None if expected is None else parse_format_name(expected))


def test_names_follow_in_order_each_on_a_boundary_of_4() -> None:
    """MQQB-009, MQQB-055: Count covers the null but not the padding, whose bytes are kept."""
    names = direct("OS:a", b"") + direct("OS:ab", b"\xaa\xbb") + direct("OS:abc", b"")
    reader = TracingReader(header(names, dq=7, aq=7, rq=7))
    UserHeader.read(reader)
    assert [(f.path, f.offset, f.value) for f in reader.fields if f.offset >= 48] == [
        ("UserHeader.DestinationQueue.Count", 48, 10),
        ("UserHeader.DestinationQueue.DirectFormatName", 50, "OS:a"),
        ("UserHeader.AdminQueue.Count", 60, 12),
        ("UserHeader.AdminQueue.DirectFormatName", 62, "OS:ab"),
        ("UserHeader.AdminQueue.padding", 74, "aabb"),
        ("UserHeader.ResponseQueue.Count", 76, 14),
        ("UserHeader.ResponseQueue.DirectFormatName", 78, "OS:abc"),
    ]
    read(header(names, dq=7, aq=7, rq=7))


def test_a_name_that_is_none_can_be_carried_but_not_used() -> None:
    found = read(header(direct("nonsense", b""), dq=7))
    with pytest.raises(IllegalFormatName):
        found.destination_name()


def test_a_connector_type_is_there_exactly_when_announced() -> None:
    """MQQB-058."""
    assert read(header()).connector_type is None
    assert read(header(OTHER.bytes_le, flags=UserFlags.CQ)).connector_type == OTHER


@pytest.mark.parametrize(
    ("data", "field", "offset"),
    [
        (header()[:47], "Flags", 44),
        (header(b"\x03\0abc", dq=7), "DestinationQueue.Count", 48),
        (header(b"\0\0", dq=7), "DestinationQueue.Count", 48),
        (header(b"\x04\0a\0b\0", dq=7), "DestinationQueue.DirectFormatName", 50),
        (header(b"\x06\0a\0\0\0", dq=7), "DestinationQueue.DirectFormatName", 50),
        (header(b"\x04\0a\0\0\0\0", dq=7), "DestinationQueue.padding", 54),
        (header(NUMBER + bytes(3), dq=3, aq=2), "AdminQueue.PrivateQueueIdentifier", 52),
        (header(bytes(15), aq=6), "AdminQueue.SourceQueueManager", 48),
        (header(bytes(19), rq=6), "ResponseQueue.PrivateQueueIdentifier", 64),
        (header(bytes(15), rq=5), "ResponseQueue.PublicQueueIdentifier", 48),
        (header(bytes(15), flags=UserFlags.CQ), "ConnectorType", 48),
    ],
)
def test_what_does_not_fit_is_refused(data: bytes, field: str, offset: int) -> None:
    """MQQB-010, MQQB-055."""
    assert refusal(UserHeader.read, data) == (f"UserHeader.{field}", offset)


def test_a_stored_direct_message_says_where_it_came_from() -> None:
    """MQQB-163: over QueueManagerAddress, with the same bytes as before."""
    data = header(direct(r"OS:a"), dq=7)
    came_from = pack("<HHI", 4, 1, 0) + b"\x0a\0\0\x07\0\0\0\0"
    data = data[:16] + came_from + data[32:]
    reader = TracingReader(data)
    found = UserHeader.read(reader, stored=True)
    assert [(f.path, f.offset, f.size, f.value) for f in reader.fields[:6]] == [
        ("UserHeader.SourceQueueManager", 0, 16, str(SOURCE).upper()),
        ("UserHeader.AddressLength", 16, 2, 4),
        ("UserHeader.AddressType", 18, 2, 1),
        ("UserHeader.AddressScope", 20, 4, 0),
        ("UserHeader.Address", 24, 8, "0a00000700000000"),
        ("UserHeader.TimeToBeReceived", 32, 4, 600),
    ]
    assert found.encode() == data


@pytest.mark.parametrize("code", [0, 3, 5])
def test_a_stored_message_of_another_kind_keeps_the_guid(code: int) -> None:
    """MQQB-163: of the host it came from."""
    data = header(bytes((0, 0, 0, 4, 0, 16)[code]), dq=code)
    reader = TracingReader(data)
    assert UserHeader.read(reader, stored=True).queue_manager_address == TARGET
    assert reader.fields[1].path == "UserHeader.QueueManagerAddress"


def test_a_message_that_is_not_stored_has_no_overlay() -> None:
    """MQQB-163: a direct destination alone is no reason."""
    reader = TracingReader(header(direct("OS:a"), dq=7))
    UserHeader.read(reader)
    assert reader.fields[1].path == "UserHeader.QueueManagerAddress"


@pytest.mark.parametrize(
    ("size", "field", "offset"), [(20, "QueueManagerAddress", 16), (47, "Flags", 44)]
)
def test_a_stored_header_cut_short_is_refused(size: int, field: str, offset: int) -> None:
    """MQQB-010."""
    data = header(direct("OS:a"), dq=7)[:size]
    found = refusal(lambda reader: UserHeader.read(reader, stored=True), data)
    assert found == (f"UserHeader.{field}", offset)


def test_the_kind_of_a_stored_destination_is_not_looked_for_past_the_end() -> None:
    """MQQB-010: the bytes may be there, but they are not this header's."""
    data = header(direct("OS:a"), dq=7)
    seconds = []
    for end in (47, 48):
        reader = TracingReader(data, 0, end)
        with pytest.raises(Malformed):
            UserHeader.read(reader, stored=True)
        seconds.append(reader.fields[1].path)
    assert seconds == ["UserHeader.QueueManagerAddress", "UserHeader.AddressLength"]


def test_both_layouts_of_the_start_agree_where_they_overlap() -> None:
    """MQQB-163."""
    for field in ("SourceQueueManager", "TimeToBeReceived", "SentTime", "MessageID", "Flags"):
        assert StoredUserHeaderStart.offset_of(field) == UserHeaderStart.offset_of(field)


def test_a_new_header_names_nothing() -> None:
    """MQQB-048."""
    empty = UserHeader()
    assert empty.encode() == bytes(32) + b"\xff" * 4 + bytes(8) + pack("<I", UserFlags.MP)
    assert replace(empty, message_id=1).queue_manager_address == NO_GUID
    assert empty.destination.code is ReferenceCode.NONE
