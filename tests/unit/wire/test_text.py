"""UTF-16 text and padding."""

from __future__ import annotations

import pytest

from openmsmq.wire.text import decode_utf16, encode_utf16z, padding


@pytest.mark.parametrize(
    "text", ["", "L", "Grüße", "\N{GRINNING FACE}", "\ud83d", "a\udc00b\ud800"]
)
def test_text_comes_back(text: str) -> None:
    """Also half surrogate pairs, which peers send."""
    raw = encode_utf16z(text)
    assert raw[-2:] == b"\0\0"
    assert decode_utf16(raw) == text
    assert decode_utf16(raw[:-2]) == text


def test_text_is_little_endian() -> None:
    """MQQB-004."""
    assert encode_utf16z("Ab") == b"A\0b\0\0\0"


def test_text_ends_at_its_first_null() -> None:
    assert decode_utf16(b"A\0\0\0b\0\0\0") == "A"
    assert decode_utf16(b"\0\0b\0") == ""


@pytest.mark.parametrize(("size", "rounded"), [(0, 0), (1, 4), (3, 4), (4, 4), (5, 8)])
def test_padding_brings_sizes_up_to_four(size: int, rounded: int) -> None:
    """MQQB-009."""
    assert size + len(padding(size)) == rounded


def test_padding_is_zeros_unless_something_fitting_was_received() -> None:
    """MQQB-070: pad bytes have no prescribed value."""
    assert padding(5) == bytes(3)
    assert padding(5, b"\xaa\xbb\xcc") == b"\xaa\xbb\xcc"
    assert padding(5, b"\xaa") == bytes(3)
    assert padding(4, b"\xaa") == b""
