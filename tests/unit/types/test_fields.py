"""Values of callers, field by field."""

from __future__ import annotations

import math
from uuid import UUID

import pytest

from openmsmq.errors import (
    IllegalFormatName,
    IllegalPropertySize,
    IllegalPropertyValue,
    IllegalPropertyVt,
    IllegalQueuePathName,
    LabelTooLong,
    MQError,
)
from openmsmq.names.format import PrivateName, PublicName, Suffix, parse_format_name
from openmsmq.names.path import PathName
from openmsmq.properties.message import Acknowledge
from openmsmq.properties.vartype import VarType
from openmsmq.types.fields import (
    acknowledge_flags,
    body_bytes,
    correlation,
    flag,
    integer,
    label_text,
    octets,
    queue_name,
    seconds,
)

GUID = UUID("01234567-89ab-4cde-8f01-23456789abcd")
FACE = "\N{GRINNING FACE}"


@pytest.mark.parametrize(
    ("body", "body_type", "expected"),
    [
        (b"x", None, (b"x", 0)),
        (b"x", 0x300, (b"x", 0x300)),
        (b"x", 31, (b"x", 31)),
        (bytearray(b"x"), None, (b"x", 0)),
        (memoryview(b"xyz")[1:], 17, (b"yz", 17)),
        ("hé", None, (b"h\0\xe9\0", 31)),
        ("hé", 31, (b"h\0\xe9\0", 31)),
        ("hé", 8, (b"h\0\xe9\0", 8)),
        ("hé", 30, (b"h\xc3\xa9", 30)),
        ("\ud800", None, (b"\x00\xd8", 31)),
        ("", None, (b"", 31)),
    ],
)
def test_bodies_are_bytes_with_a_type(
    body: object, body_type: object, expected: tuple[bytes, int]
) -> None:
    found = body_bytes(body, body_type)
    assert found == expected
    assert [type(part) for part in found] == [bytes, int]


@pytest.mark.parametrize(
    ("body", "body_type", "error", "detail"),
    [
        (5, None, IllegalPropertyVt, "body must be bytes or str, not int"),
        (None, 0, IllegalPropertyVt, "body must be bytes or str, not NoneType"),
        (b"", "text", IllegalPropertyVt, "body_type must be an int, not str"),
        (b"", -1, IllegalPropertyValue, "body_type must be 0 to 4294967295, not -1"),
        ("x", 0, IllegalPropertyValue, "body: 'x' cannot be a VT_EMPTY"),
        ("x", 3, IllegalPropertyValue, "body: 'x' cannot be a VT_I4"),
    ],
)
def test_wrong_bodies_are_refused(
    body: object, body_type: object, error: type[MQError], detail: str
) -> None:
    with pytest.raises(error) as caught:
        body_bytes(body, body_type)
    assert type(caught.value) is error
    assert caught.value.detail == detail


def test_bytes_are_copied_from_what_can_change() -> None:
    buffer = bytearray(b"abc")
    kept = octets("extension", buffer)
    buffer[0] = 0
    assert kept == b"abc"


@pytest.mark.parametrize("label", ["", "x" * 249, FACE * 124, "\ud800", "é"])
def test_labels_are_kept(label: str) -> None:
    """MQQB-063, MQQB-064."""
    assert label_text(label) == label


def test_halves_of_one_character_become_one() -> None:
    """As they would on the way, so that the label received is the label sent."""
    assert label_text("\ud83d\ude00") == FACE


@pytest.mark.parametrize("label", ["x" * 250, FACE * 125, "é" * 250])
def test_a_longer_label_is_refused(label: str) -> None:
    """MQQB-064: counted in UTF-16 units."""
    with pytest.raises(LabelTooLong, match="label has 250 characters, at most 249 are allowed"):
        label_text(label)


def test_a_label_without_meaning_is_refused() -> None:
    with pytest.raises(IllegalPropertyValue, match="label: a null"):
        label_text("a\0b")
    with pytest.raises(IllegalPropertyVt, match="label must be str, not bytes"):
        label_text(b"a")


@pytest.mark.parametrize(("value", "expected"), [(0, 0), (7, 7), (VarType.VT_I4, 3)])
def test_numbers_are_plain_integers(value: int, expected: int) -> None:
    found = integer("priority", value, 7)
    assert found == expected
    assert type(found) is int


def test_numbers_are_whole() -> None:
    with pytest.raises(IllegalPropertyVt, match="priority must be an int, not float"):
        integer("priority", 3.0, 7)


@pytest.mark.parametrize(
    ("value", "shown"),
    [(-1, "-1"), (8, "8"), (2**64 - 1, str(2**64 - 1)), (1 << 9_999, "a number of 10000 bits")],
)
def test_numbers_beyond_their_field_are_refused(value: int, shown: str) -> None:
    with pytest.raises(IllegalPropertyValue) as caught:
        integer("priority", value, 7)
    assert caught.value.detail == f"priority must be 0 to 7, not {shown}"


def test_switches_are_true_or_false() -> None:
    assert flag("journal", True) is True
    assert flag("journal", False) is False
    for value in (1, 0, "no", None):
        with pytest.raises(IllegalPropertyVt, match="journal must be True or False"):
            flag("journal", value)


def test_acknowledgements_are_flags() -> None:
    assert acknowledge_flags(14) is Acknowledge.FULL_RECEIVE
    assert acknowledge_flags(Acknowledge.POS_ARRIVAL) is Acknowledge.POS_ARRIVAL
    with pytest.raises(IllegalPropertyValue, match="acknowledge must be 0 to 15, not 16"):
        acknowledge_flags(16)


def test_correlation_ids_have_twenty_bytes_or_none() -> None:
    assert correlation(b"\x01") == b"\x01" + bytes(19)
    assert correlation(bytearray(range(20))) == bytes(range(20))
    assert correlation(b"") == correlation(bytes(5)) == correlation(bytes(20)) == b""
    with pytest.raises(
        IllegalPropertySize, match="correlation_id has 21 bytes, at most 20 are allowed"
    ):
        correlation(bytes(21))
    with pytest.raises(IllegalPropertyVt, match="correlation_id must be bytes, not str"):
        correlation("00")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0, 0),
        (60, 60),
        (0.1, 1),
        (1.0, 1),
        (4294967294, 4294967294),
        (4294967295, None),
        (4294967294.5, None),
        (math.inf, None),
    ],
)
def test_lifetimes_are_whole_seconds(value: object, expected: int | None) -> None:
    """Rounded up: nothing expires early. All ones is what the wire has for ever."""
    found = seconds("time_to_be_received", value)
    assert found == expected
    assert found is None or type(found) is int


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (-1, "-1"),
        (-0.5, "-0.5"),
        (4294967296, "4294967296"),
        (1 << 9_999, "a number of 10000 bits"),
        (math.nan, "nan"),
        (-math.inf, "-inf"),
    ],
)
def test_lifetimes_beyond_their_field_are_refused(value: float, shown: str) -> None:
    with pytest.raises(IllegalPropertyValue) as caught:
        seconds("time_to_be_received", value)
    expected = f"time_to_be_received: 0 to 4294967294 seconds or None, not {shown}"
    assert caught.value.detail == expected


@pytest.mark.parametrize("value", ["60", True, b""])
def test_lifetimes_are_numbers(value: object) -> None:
    with pytest.raises(IllegalPropertyVt, match="time_to_reach_queue must be seconds or None"):
        seconds("time_to_reach_queue", value)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("orders", r"DIRECT=OS:.\private$\orders"),
        (r"Host\orders", r"DIRECT=OS:Host\orders"),
        (PathName("Host", "orders", private=True), r"DIRECT=OS:Host\private$\orders"),
        (r"direct=tcp:10.0.0.7\orders", r"DIRECT=tcp:10.0.0.7\orders"),
        (parse_format_name(r"DIRECT=OS:a\b"), r"DIRECT=OS:a\b"),
        (f"PUBLIC={GUID}", f"PUBLIC={GUID}"),
        (PrivateName(GUID, 26), f"PRIVATE={GUID}\\0000001a"),
    ],
)
def test_queues_are_format_names(value: object, expected: str) -> None:
    assert str(queue_name("admin_queue", value)) == expected


def test_spelling_is_kept() -> None:
    for text in (r"DIRECT=OS:Host\q", r"DIRECT=OS:HOST\q"):
        assert str(queue_name("admin_queue", text)) == text


@pytest.mark.parametrize(
    ("value", "error", "start"),
    [
        ("a,b\\c", IllegalQueuePathName, r"admin_queue: 'a,b\c': "),
        ("DIRECT=OS:x", IllegalFormatName, "admin_queue: 'DIRECT=OS:x': "),
        ("", IllegalQueuePathName, "admin_queue: "),
        (
            PublicName(GUID, Suffix.JOURNAL),
            IllegalFormatName,
            f"admin_queue: a message cannot carry 'PUBLIC={GUID};JOURNAL'",
        ),
        (
            PrivateName(GUID, 1, Suffix.JOURNAL),
            IllegalFormatName,
            "admin_queue: a message cannot carry",
        ),
        (f"DL={GUID}", IllegalFormatName, "admin_queue: a message cannot carry"),
        (f"PUBLIC={GUID},DIRECT=OS:a\\b", IllegalFormatName, "admin_queue: a message cannot"),
        (GUID, IllegalPropertyVt, "admin_queue must be the name of a queue, not UUID"),
    ],
)
def test_names_a_message_cannot_carry_are_refused(
    value: object, error: type[MQError], start: str
) -> None:
    """A UserHeader has room for direct, public and private names only."""
    with pytest.raises(error) as caught:
        queue_name("admin_queue", value)
    assert type(caught.value) is error
    assert caught.value.detail.startswith(start)
