"""Integers, dates, durations and numbers of the .NET binary formats."""

from __future__ import annotations

import math
import struct

import pytest

from openmsmq.bodies.nbf_values import (
    TICKS_END,
    Budget,
    date_time_text,
    decimal_text,
    duration_text,
    float_text,
    read_counted,
    read_i32,
    read_int31,
    shortest_single,
)
from openmsmq.errors import Malformed
from openmsmq.limits import EXPANSION_FREE, EXPANSION_MAX, NBF_NODES_MAX
from openmsmq.wire.reader import Reader


@pytest.mark.parametrize(
    ("data", "value"),
    [
        ("11", 17),
        ("9101", 145),
        ("912b", 5521),
        ("808001", 16384),
        ("8080808001", 268435456),
        ("ffffffff07", 2**31 - 1),
        ("8000", 0),
    ],
)
def test_an_integer_has_seven_bits_a_byte(data: str, value: int) -> None:
    """[MC-NBFX] 2.1.2, with its examples."""
    reader = Reader(bytes.fromhex(data))
    assert read_int31(reader, "Length") == value
    assert reader.remaining == 0


@pytest.mark.parametrize("data", ["ffffffff08", "ffffffff7f"])
def test_an_integer_has_31_bits_at_most(data: str) -> None:
    with pytest.raises(Malformed, match="offset 0: an integer of more than 31 bits"):
        read_int31(Reader(bytes.fromhex(data)), "Length")


def test_an_integer_has_five_bytes_at_most() -> None:
    with pytest.raises(Malformed, match="offset 0: an integer of more than five bytes"):
        read_int31(Reader(b"\x80" * 100), "Length")


def test_a_length_beyond_the_data_is_refused() -> None:
    assert read_counted(Reader(b"\x03abc"), "Value") == b"abc"
    with pytest.raises(Malformed, match="needs 2147483647 bytes, 1 are left"):
        read_counted(Reader(b"\xff\xff\xff\xff\x07a"), "Value")


def test_signed_integers_have_their_sign() -> None:
    assert [read_i32(Reader(struct.pack("<i", n)), "Id") for n in (-1, 0, 5)] == [-1, 0, 5]


@pytest.mark.parametrize(
    ("ticks", "text"),
    [
        (0, "0001-01-01T00:00:00"),
        (1, "0001-01-01T00:00:00.0000001"),
        (5_000_000, "0001-01-01T00:00:00.5"),
        (TICKS_END - 1, "9999-12-31T23:59:59.9999999"),
    ],
)
def test_dates_keep_their_hundred_nanoseconds(ticks: int, text: str) -> None:
    assert date_time_text(ticks) == text


@pytest.mark.parametrize(
    ("ticks", "text"),
    [
        (0, "PT0S"),
        (1, "PT0.0000001S"),
        (-10_000_000, "-PT1S"),
        (864_000_000_000, "P1D"),
        (864_000_000_000 * 2 + 36_000_000_000 * 3 + 65_0000000, "P2DT3H1M5S"),
        (-(2**63), "-P10675199DT2H48M5.4775808S"),
    ],
)
def test_durations_are_iso_8601(ticks: int, text: str) -> None:
    assert duration_text(ticks) == text


@pytest.mark.parametrize(
    ("mantissa", "scale", "negative", "text"),
    [
        (5123456, 6, False, "5.123456"),
        (5, 3, True, "-0.005"),
        (100, 2, False, "1.00"),
        (7, 0, True, "-7"),
        (0, 0, True, "0"),
    ],
)
def test_decimals_have_all_their_digits(
    mantissa: int, scale: int, negative: bool, text: str
) -> None:
    assert decimal_text(mantissa, scale, negative=negative) == text


@pytest.mark.parametrize("bits", [0x3F8CCCCD, 0x4B189680, 0x7F7FFFFF, 0x00000001, 0x80000000])
def test_a_single_is_short_and_exact(bits: int) -> None:
    value: float = struct.unpack("<f", struct.pack("<I", bits))[0]
    short = shortest_single(value)
    assert struct.pack("<f", short) == struct.pack("<I", bits)
    assert len(repr(short)) <= len(repr(value))


@pytest.mark.parametrize(
    ("data", "value"), [("cdcc8c3f", 1.1), ("6f12833a", 0.001), ("446fcec2", -103.217316)]
)
def test_a_single_has_the_digits_it_needs(data: str, value: float) -> None:
    assert shortest_single(struct.unpack("<f", bytes.fromhex(data))[0]) == value


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (1.1, "1.1"),
        (3.0, "3"),
        (-0.0, "-0"),
        (1e300, "1E+300"),
        (1.5e-9, "1.5E-09"),
        (math.inf, "INF"),
        (-math.inf, "-INF"),
        (math.nan, "NaN"),
    ],
)
def test_numbers_are_spelled_as_in_xml(value: float, text: str) -> None:
    """[MC-NBFX] 2.2.3.10."""
    assert float_text(value) == text


def test_a_budget_ends() -> None:
    budget = Budget(Reader(bytes(10)))
    budget.spend("Text", nodes=NBF_NODES_MAX, text=EXPANSION_FREE + 10 * EXPANSION_MAX)
    with pytest.raises(Malformed, match="far more text"):
        budget.spend("Text", text=1)
    with pytest.raises(Malformed, match=f"more than {NBF_NODES_MAX} objects"):
        budget.spend("Element", nodes=1)
