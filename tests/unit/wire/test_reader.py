"""The cursor that never passes its end."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

import pytest
from tests.samples import refusal

from openmsmq.errors import Malformed
from openmsmq.wire.fixed import U16, U32, Fixed, fixed
from openmsmq.wire.reader import Reader, decode_whole

Read = Callable[[Reader], object]


@fixed
class Pair(Fixed):
    first: U16
    second: U32


@fixed
class Nest(Fixed):
    pair: Pair
    last: U16


def read_number(reader: Reader) -> int:
    return reader.u16("Number")


def test_numbers_are_little_endian() -> None:
    """MQQB-004."""
    reader = Reader(bytes(range(1, 16)))
    assert reader.u8("a") == 0x01
    assert reader.u16("b") == 0x0302
    assert reader.u32("c") == 0x07060504
    assert reader.u64("d") == 0x0F0E0D0C0B0A0908
    assert reader.remaining == 0


def test_the_first_three_parts_of_a_guid_are_little_endian() -> None:
    """MQQB-004."""
    reader = Reader(bytes.fromhex("67452301ab89de4c8f0123456789abcd ff"))
    assert reader.guid("Guid") == UUID("01234567-89ab-4cde-8f01-23456789abcd")


@pytest.mark.parametrize(
    ("read", "size"),
    [
        (lambda reader: reader.u8("F"), 1),
        (lambda reader: reader.u16("F"), 2),
        (lambda reader: reader.u32("F"), 4),
        (lambda reader: reader.u64("F"), 8),
        (lambda reader: reader.guid("F"), 16),
        (lambda reader: reader.take(5, "F"), 5),
        (lambda reader: reader.utf16(6, "F"), 6),
    ],
)
def test_a_field_that_is_cut_short_is_refused_by_name(read: Read, size: int) -> None:
    """MQQB-010: bytes past the end do not count, even if they are there."""
    read(Reader(bytes(size)))
    reader = Reader(bytes(64), 3, 3 + size - 1)
    with pytest.raises(Malformed, match=f"F at offset 3: needs {size} bytes, {size - 1} are left"):
        read(reader)
    assert reader.offset == 3


def test_a_hostile_length_is_refused_before_anything_is_read() -> None:
    assert refusal(lambda reader: reader.take(1 << 60, "Data"), b"abc") == ("Data", 0)


def test_a_negative_length_is_refused() -> None:
    assert refusal(lambda reader: reader.take(-1, "Data"), b"abc") == ("Data", 0)


def test_nothing_can_be_taken_at_the_end() -> None:
    assert Reader(b"abc", 3).take(0, "Nothing") == b""


def test_taken_bytes_are_bytes() -> None:
    assert Reader(b"abcd", 1).take(2, "Data") == b"bc"


@pytest.mark.parametrize(("offset", "end"), [(4, None), (0, 4), (2, 1), (-1, None)])
def test_a_reader_stands_inside_its_data(offset: int, end: int | None) -> None:
    with pytest.raises(AssertionError):
        Reader(b"abc", offset, end)


def test_utf16_text_has_an_even_number_of_bytes() -> None:
    assert refusal(lambda reader: reader.utf16(3, "Text"), bytes(8)) == ("Text", 0)


def test_text_ends_with_the_first_null_on_its_own_boundary() -> None:
    """MQQB-103: a null byte in one unit and one in the next are no null."""
    text = b"\x00\x01\x00\x00\x00\x00"
    assert Reader(b"\x61\x00\x00\x62\x00\x00rest").utf16z("Text") == b"\x61\x00\x00\x62\x00\x00"
    assert Reader(text, 1).utf16z("Text") == text[1:5]
    assert Reader(b"\0\0").utf16z("Text") == b"\0\0"


@pytest.mark.parametrize("data", [b"", b"\0", b"a\0b\0", b"a\0\0b"])
def test_text_without_its_null_is_refused(data: bytes) -> None:
    with pytest.raises(Malformed, match="Text at offset 1: text without its terminating null"):
        Reader(b"-" + data, 1).utf16z("Text")


def test_a_null_past_the_end_does_not_count() -> None:
    with pytest.raises(Malformed):
        Reader(b"a\0\0\0", 0, 2).utf16z("Text")


def test_a_structure_may_end_with_the_data() -> None:
    assert Reader(b"\x01\x00\x02\x00\x00\x00").fixed(Pair) == Pair(1, 2)


def test_a_structure_is_read_whole() -> None:
    reader = Reader(b"--\x01\x00\x02\x00\x00\x00--", 2)
    assert reader.fixed(Pair) == Pair(1, 2)
    assert reader.offset == 8


@pytest.mark.parametrize(
    ("size", "field", "offset"),
    [
        (0, "Pair.First", 2),
        (1, "Pair.First", 2),
        (2, "Pair.Second", 4),
        (5, "Pair.Second", 4),
        (6, "Last", 8),
        (7, "Last", 8),
    ],
)
def test_a_structure_cut_short_names_the_first_field_that_is_not_there(
    size: int, field: str, offset: int
) -> None:
    """MQQB-010."""
    with pytest.raises(Malformed) as caught:
        Reader(bytes(20), 2, 2 + size).fixed(Nest)
    assert (caught.value.field, caught.value.offset) == (field, offset)
    assert caught.value.reason.endswith(f"{2 + size - offset} are left")


@pytest.mark.parametrize(
    ("offset", "origin", "padding"), [(5, 1, b""), (5, 0, b"567"), (6, 0, b"67"), (6, 3, b"6")]
)
def test_padding_counts_from_the_start_of_its_structure(
    offset: int, origin: int, padding: bytes
) -> None:
    """MQQB-009."""
    reader = Reader(b"0123456789", offset)
    assert reader.align(4, origin) == padding
    assert (reader.offset - origin) % 4 == 0


def test_padding_that_is_missing_is_refused() -> None:
    with pytest.raises(Malformed) as caught:
        Reader(b"abc", 3).align(4, 0)
    assert (caught.value.field, caught.value.offset) == ("padding", 3)


def test_a_failure_names_the_structures_around_it() -> None:
    reader = Reader(b"\x01")
    with reader.section("Left"):
        assert reader.path("Field") == "Left.Field"
    assert reader.path("Field") == "Field"
    with pytest.raises(Malformed) as caught, reader.section("Outer"), reader.section("Inner"):
        reader.u16("Field")
    assert caught.value.field == "Outer.Inner.Field"
    assert reader.path("") == "Outer.Inner"


def test_a_failure_is_placed_at_the_next_field_by_default() -> None:
    def fail_here(reader: Reader) -> None:
        reader.u8("A")
        reader.fail("B", "is wrong")

    def fail_there(reader: Reader) -> None:
        reader.u8("A")
        reader.fail("A", "is wrong", offset=0)

    assert refusal(fail_here, b"ab") == ("B", 1)
    assert refusal(fail_there, b"ab") == ("A", 0)


def test_the_whole_data_is_read() -> None:
    assert decode_whole(b"\x01\x02", read_number) == 0x0201


def test_bytes_left_over_are_refused_where_they_begin() -> None:
    with pytest.raises(Malformed, match="1 bytes too many") as caught:
        decode_whole(b"\x01\x02\x03", read_number)
    assert (caught.value.field, caught.value.offset) == ("end", 2)
