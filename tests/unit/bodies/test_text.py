"""Telling text from bytes."""

from __future__ import annotations

import pytest

from openmsmq.bodies.text import decode_marked, decode_strictly, decode_text, encodable

RUSSIAN = "\u041f\u0440\u0438\u0432\u0435\u0442, \u043c\u0438\u0440!"
CHINESE = "\u8ba2\u5355\u5df2\u53d1\u8d27"


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"hello", "hello"),
        (b"hello\0", "hello"),
        (b"line\tone\r\nline two\f", "line\tone\r\nline two\f"),
        (b"\x0bMSH|^~\\&|A\rPID|1\r\x1c\r", "\x0bMSH|^~\\&|A\rPID|1\r\x1c\r"),
        ("Gr\u00fc\u00dfe".encode(), "Gr\u00fc\u00dfe"),
        (CHINESE.encode(), CHINESE),
        (b"\xef\xbb\xbfhello", "hello"),
        (b"\xff\xfeh\0i\0", "hi"),
        (b"\xff\xfeh\0i\0\0\0", "hi"),
        (b"\xfe\xff\0h\0i", "hi"),
        (b"\xff\xfe" + CHINESE.encode("utf-16-le"), CHINESE),
        (b"h\0e\0l\0l\0o\0", "hello"),
        (b"h\0i\0\0\0", "hi"),
        ("two\r\nlines".encode("utf-16-le"), "two\r\nlines"),
        (RUSSIAN.encode("utf-16-le"), RUSSIAN),
    ],
)
def test_text_is_found_without_mark_and_terminator(data: bytes, text: str) -> None:
    assert decode_text(data) == text


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\0",
        b"\r\n",
        b"a\0b",
        b"hello\0\0\0",
        b"\x01\x02\x03",
        b"\x80abc",
        b"\xc2\x85abc",
        b"\xef\xbb\xbf\xff",
        b"\xff\xfeh",
        b"\xff\xfe\0\xd8h\0",
        b"\x05\0\0\0",
        b"\x1f\x8b\x08\0\0\0\0\0",
        b"\x41\0\0\0",
        CHINESE.encode("utf-16-le"),
        "\u0e01b\U0001f600".encode("utf-16-le"),
        RUSSIAN.encode("utf-16-be"),
    ],
)
def test_bytes_stay_bytes(data: bytes) -> None:
    assert decode_text(data) is None


def test_a_broken_mark_gives_nothing() -> None:
    assert decode_marked(b"\xef\xbb\xbf\xff") is None
    assert decode_marked(b"plain") is None
    assert decode_strictly(b"\xff", "utf-8") is None


def test_half_a_surrogate_pair_is_replaced() -> None:
    assert encodable("a\ud800b") == "a\ufffdb"
    assert encodable("a\U0001f600b") == "a\U0001f600b"


def test_a_mark_decides_even_if_what_follows_is_no_text() -> None:
    """Not UTF-16, though the bytes would make two characters of it."""
    assert decode_text(b"\xef\xbb\xbf\0") is None
