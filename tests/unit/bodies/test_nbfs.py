"""The strings of binary SOAP."""

from __future__ import annotations

import pytest

from openmsmq.bodies.nbfs import STATIC_STRINGS, SessionStrings, static_string
from openmsmq.errors import Malformed
from openmsmq.wire.reader import Reader


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (0x00, "mustUnderstand"),
        (0x02, "Envelope"),
        (0x04, "http://www.w3.org/2003/05/soap-envelope"),
        (0x0A, "Action"),
        (0x1A, "MessageID"),
        (0x38, "http://schemas.microsoft.com/ws/2006/05/rm"),
        (0x3BA, "nonPositiveInteger"),
        (0x3C2, "http://schemas.xmlsoap.org/soap/envelope/"),
        (0x3CC, "detail"),
    ],
)
def test_even_numbers_are_the_fixed_strings(number: int, text: str) -> None:
    """[MC-NBFS] 2.1."""
    assert static_string(number) == text


def test_the_table_is_complete() -> None:
    assert len(STATIC_STRINGS) == len(set(STATIC_STRINGS)) == 487
    assert [static_string(number) for number in (1, 0x3CE, 2**31 - 1)] == [None] * 3


def test_a_session_defines_odd_numbers_one_table_after_the_other() -> None:
    """[MC-NBFSE] 2.1 and its example."""
    strings = SessionStrings()
    table = Reader(bytes.fromhex("1106616374696F6E09496E76656E746F7279 01"))
    strings.read_table(table)
    assert table.remaining == 1
    assert [strings.lookup(n) for n in (1, 3, 5)] == ["action", "Inventory", None]
    strings.read_table(Reader(b"\x00"))
    strings.read_table(Reader(b"\x02\x01x"))
    assert [strings.lookup(n) for n in (1, 5, 2)] == ["action", "x", "Envelope"]


@pytest.mark.parametrize("data", [b"\x02\x05abcde", b"\x05\x01a", b"\xff\xff\xff\xff\x07"])
def test_a_table_holds_exactly_its_strings(data: bytes) -> None:
    with pytest.raises(Malformed, match=r"StringTable\.Strings"):
        SessionStrings().read_table(Reader(data))
