"""Envelope and attachments in the content of a request."""

from __future__ import annotations

import pytest
from tests.soap import MANAGER

from openmsmq.errors import Malformed
from openmsmq.soap.mime import Content, join_content, split_content

TYPE = 'multipart/related; boundary="MSMQ - SOAP boundary, 7"; type=text/xml'
B = "--MSMQ - SOAP boundary, 7"
ENVELOPE_PART = f"{B}\r\nContent-Type: text/xml; charset=UTF-8\r\nContent-Length: 4\r\n\r\n<a/>"
BODY_PART = (
    f"{B}\r\nContent-Type: application/octet-stream\r\nContent-Length: 5\r\n"
    f"Content-Id: body@{MANAGER}\r\n\r\nhello"
)
EXTENSION_PART = BODY_PART.replace("body@", "extension@").replace("hello", "extra")
END = f"{B}--\r\n"
WHOLE = ENVELOPE_PART + BODY_PART + END


def split(data: str, content_type: str = TYPE) -> Content:
    return split_content(content_type, data.encode("latin-1"))


def test_a_message_with_attachments_is_written_as_windows_writes_it() -> None:
    """SRMP-015, SRMP-017, SRMP-018, SRMP-020: no line break before a delimiter, one at the end."""
    assert join_content(Content(b"<a/>", b"hello"), MANAGER, 7) == (TYPE, WHOLE.encode())
    both = join_content(Content(b"<a/>", b"hello", b"extra"), MANAGER, 7)
    assert both == (TYPE, (ENVELOPE_PART + BODY_PART + EXTENSION_PART + END).encode())


def test_an_envelope_alone_is_plain_xml() -> None:
    """SRMP-016, SRMP-021: receipts, and messages without payload (HTTP-33)."""
    assert join_content(Content(b"<a/>"), MANAGER, 7) == ("text/xml", b"<a/>")
    for kind in ("text/xml", "TEXT/XML; charset=utf-8", 'text/xml;charset="UTF-8" '):
        assert split("<a/>", kind) == Content(b"<a/>")


def test_parts_are_cut_by_their_lengths_even_if_they_contain_the_delimiter() -> None:
    """SRMP-019: a body may look like the end of the content."""
    body = f"{END}{BODY_PART}".encode()
    kind, data = join_content(Content(b"<a/>", body), MANAGER, 7)
    assert split_content(kind, data) == Content(b"<a/>", body)


def test_the_form_of_rfc_2046_is_read_too() -> None:
    """SRMP-019: with a line break before each delimiter, and none after the last."""
    data = f"\r\n{ENVELOPE_PART}\r\n{BODY_PART}\r\n{END}"
    assert split(data) == split(WHOLE) == Content(b"<a/>", b"hello")
    assert split(WHOLE.removesuffix("\r\n")) == Content(b"<a/>", b"hello")


def test_attachments_are_found_by_name_in_any_order() -> None:
    """SRMP-018: Content-Id says which is which (HTTP-32)."""
    expected = Content(b"<a/>", b"hello", b"extra")
    assert split(ENVELOPE_PART + EXTENSION_PART + BODY_PART + END) == expected
    bracketed = WHOLE.replace(f"body@{MANAGER}", f"<body@{MANAGER}>")
    assert split(bracketed) == Content(b"<a/>", b"hello")
    assert split(ENVELOPE_PART + END) == Content(b"<a/>")
    small = WHOLE.replace("Content-", "content-")
    assert split(small) == Content(b"<a/>", b"hello")


@pytest.mark.parametrize(
    "content_type",
    [
        "",
        "application/xml",
        "text/xml; charset=iso-8859-1",
        "text/xml; charset",
        "multipart/related",
        'multipart/related; boundary=""',
        "multipart/related; boundary=a; boundary=b",
        f'multipart/related; boundary="{"x" * 71}"',
        'multipart/related; boundary="\u00e9"',
        'multipart/related; boundary="a',
        "multipart/mixed; boundary=a",
        f"text/xml; x={'y' * 600}",
    ],
)
def test_another_content_type_is_refused(content_type: str) -> None:
    with pytest.raises(Malformed, match="Content-Type"):
        split(WHOLE, content_type)


@pytest.mark.parametrize(
    "data",
    [
        "",
        "<a/>",
        B,
        f"{B}\r\n",
        f"{B}--\r\n",
        f"preamble\r\n{WHOLE}",
        f"{WHOLE}epilogue",
        WHOLE.removesuffix("--\r\n"),
        ENVELOPE_PART,
        ENVELOPE_PART + BODY_PART,
        WHOLE.replace("Content-Length: 4", "Content-Length: 3"),
        WHOLE.replace("Content-Length: 5", "Content-Length: 4294967295"),
        WHOLE.replace("Content-Length: 5", "Content-Length: -5"),
        WHOLE.replace("Content-Length: 5", "Content-Length: 5\r\nContent-Length: 5"),
        WHOLE.replace("Content-Length: 5\r\n", ""),
        WHOLE.replace("Content-Length: 5", "Content-Length : 5"),
        WHOLE.replace("Content-Length: 5", "Content-Length: 5\r\n folded"),
        WHOLE.replace("Content-Id", "Content-Name"),
        WHOLE.replace("body@", "picture@"),
        WHOLE.replace("text/xml; charset=UTF-8", "text/xml; charset=UTF-16"),
        WHOLE.replace("text/xml", "text/plain"),
        WHOLE.replace("\r\n", "\n"),
        ENVELOPE_PART + BODY_PART + BODY_PART + END,
        WHOLE.replace("Content-Length: 5", "Content-Length: 5" + "\r\nX-Y: 1" * 20),
        WHOLE.replace("Content-Id", "".join(f"X-{n}: 1\r\n" for n in range(20)) + "Content-Id"),
        WHOLE.replace("Content-Length: 5", f"Content-Length: 5\r\nX: {'y' * 5000}"),
    ],
)  # fmt: skip
def test_another_layout_is_refused(data: str) -> None:
    """SRMP-052: nothing is searched for and nothing is guessed."""
    with pytest.raises(Malformed):
        split(data)
