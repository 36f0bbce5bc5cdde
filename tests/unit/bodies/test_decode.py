"""What a body turns out to be."""

from __future__ import annotations

from time import perf_counter

import pytest

from openmsmq.bodies.body import Body, Tree
from openmsmq.bodies.decode import NRBF_BODY_TYPE, body_format, decode_body
from openmsmq.limits import TEXT_MAX
from openmsmq.properties.vartype import VarType

NRBF_HEADER = bytes.fromhex("0001000000ffffffff0100000000000000")
NRBF_STRING = NRBF_HEADER + b"\x06\x01\0\0\0\x05hello\x0b"
NMF_START = b"\0\1\0\1\4\2\x21net.msmq://localhost/private/test\3\7"
NMF = NMF_START + bytes.fromhex("5602 0b0173 04 560e 9905 68656c6c6f 01".replace(" ", ""))
"""`<s:Envelope xmlns:s="..."><s:Body>hello</s:Body></s:Envelope>` in binary XML."""


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"", Body("empty", None, "")),
        (b"hello", Body("text", "hello", "hello")),
        (b"h\0i\0", Body("text", "hi", "hi")),
        (b"12", Body("text", "12", "12")),
        (b"\x80\x81", Body("binary", b"\x80\x81", None)),
        (b'{"a": [1]}', Body("json", {"a": [1]}, '{"a": [1]}')),
        (b"\xef\xbb\xbf [1]\0", Body("json", [1], " [1]")),
        ('{"a":"b"}'.encode("utf-16-le"), Body("json", {"a": "b"}, '{"a":"b"}')),
        (b"<a><b>1</b></a>", Body("xml", {"a": {"b": "1"}}, "<a><b>1</b></a>")),
        (b"<string>x</string>", Body("xml", "x", "<string>x</string>")),
        (b"\xef\xbb\xbf\r\n<int>5</int>", Body("xml", 5, "\r\n<int>5</int>")),
        ("\ufeff<int>5</int>".encode("utf-16-le"), Body("xml", 5, "<int>5</int>")),
        ("<int>5</int>".encode("utf-16-le"), Body("xml", 5, "<int>5</int>")),
        ("\ufeff\n<int>5</int>".encode("utf-16-be"), Body("xml", 5, "\n<int>5</int>")),
        (b"< 5", Body("text", "< 5", "< 5")),
        (NRBF_STRING, Body("nrbf", "hello", "hello")),
    ],
)
def test_a_body_without_a_type_is_known_by_its_looks(body: bytes, expected: Body) -> None:
    assert decode_body(body, VarType.VT_EMPTY) == expected
    assert body_format(body, VarType.VT_EMPTY) == expected.format


@pytest.mark.parametrize(
    ("body", "body_type", "format_", "value", "text"),
    [
        (NRBF_STRING, NRBF_BODY_TYPE, "nrbf", "hello", "hello"),
        (b"\5\0\0\0", VarType.VT_I4, "activex:VT_I4", 5, "5"),
        (b"\xff", VarType.VT_BOOL, "activex:VT_BOOL", True, "true"),
        (b"\0\0\0\0\0\0\xf8\x3f", VarType.VT_R8, "activex:VT_R8", 1.5, "1.5"),
        (b"", VarType.VT_NULL, "activex:VT_NULL", None, ""),
        (b"h\0i\0", VarType.VT_BSTR, "activex:VT_BSTR", "hi", "hi"),
        (b"", VarType.VT_LPWSTR, "activex:VT_LPWSTR", "", ""),
        (b"\0\xd8", VarType.VT_LPWSTR, "activex:VT_LPWSTR", "\ud800", "\ufffd"),
        (b"\1\2", 0x1011, "activex:VT_UI1|VT_VECTOR", b"\1\2", None),
        (b"hello", 0x2011, "activex:VT_UI1|VT_ARRAY", b"hello", "hello"),
        (b"hello", 0x12345, "text", "hello", "hello"),
    ],
)
def test_a_body_is_what_its_type_says(
    body: bytes, body_type: int, format_: str, value: Tree, text: str | None
) -> None:
    assert decode_body(body, body_type) == Body(format_, value, text)
    assert body_format(body, body_type) == format_


@pytest.mark.parametrize(
    ("body", "body_type", "reason"),
    [
        (b"\0\0\0", VarType.VT_I4, "VT_I4 at offset 0: needs 4 bytes"),
        (b"odd", VarType.VT_BSTR, "UTF-16"),
        (b"hello", NRBF_BODY_TYPE, "at offset"),
        (NRBF_HEADER, 0, "at offset"),
        (NMF_START + b"\xff", 0, "at offset"),
        (b"<a>\xff", 0, "XML at offset 0: "),
        (b"\x80\x81", 0x12345, "body type 0x12345 is not known"),
    ],
)
def test_what_cannot_be_read_is_bytes_with_a_reason(
    body: bytes, body_type: int, reason: str
) -> None:
    found = decode_body(body, body_type)
    assert (found.format, found.value, found.text) == ("binary", body, None)
    assert found.reason is not None
    assert reason in found.reason


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"<!DOCTYPE html><html></html>", "a document type is not accepted"),
        (b"<a>" * 1000, "nested deeper"),
        (b"<a>unclosed", "XML at offset 0: "),
        (b"[INFO] started", "JSON at offset 1: "),
        (b"[" * 100_000, "nested deeper"),
        (b"[" + b"9" * 5000 + b"]", "too many digits"),
    ],
)
def test_markup_that_cannot_be_read_is_text_with_a_reason(body: bytes, reason: str) -> None:
    begin = perf_counter()
    found = decode_body(body, VarType.VT_EMPTY)
    assert perf_counter() - begin < 1
    assert (found.format, found.value, found.text) == ("text", body.decode(), body.decode())
    assert found.reason is not None
    assert reason in found.reason


@pytest.mark.parametrize(
    ("body", "looks"), [(b"<a>", "xml"), (b'{"a": }', "json"), (b"{\xff}", "binary")]
)
def test_a_broken_document_still_looks_like_one(body: bytes, looks: str) -> None:
    assert body_format(body, VarType.VT_EMPTY) == looks
    assert decode_body(body, VarType.VT_EMPTY).format in ("text", "binary")


def test_the_message_of_a_wcf_client_is_read() -> None:
    assert body_format(NMF, VarType.VT_EMPTY) == "nmf"
    found = decode_body(NMF, VarType.VT_EMPTY)
    assert found.format == "nmf"
    assert found.text is not None
    assert "hello" in found.text


@pytest.mark.parametrize("body_type", [VarType.VT_STREAMED_OBJECT, VarType.VT_STORED_OBJECT])
def test_com_objects_are_not_loaded(body_type: VarType) -> None:
    found = decode_body(b"\1\2", body_type)
    assert found == Body(f"activex:{body_type.name}", b"\1\2", None, "a COM object is not loaded")


def test_a_tree_reads_as_json_with_bytes_in_hexadecimal(monkeypatch: pytest.MonkeyPatch) -> None:
    tree: Tree = {"a": [1, b"\xff", "\u00e9"]}
    monkeypatch.setattr("openmsmq.bodies.decode.read_nrbf", lambda body: tree)
    assert decode_body(b"", NRBF_BODY_TYPE) == Body("nrbf", tree, '{"a": [1, "ff", "\u00e9"]}')


def test_the_text_of_a_tree_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    tree: Tree = ["x"]
    for _ in range(30):
        tree = [tree, tree]
    monkeypatch.setattr("openmsmq.bodies.decode.read_nrbf", lambda body: tree)
    text = decode_body(b"", NRBF_BODY_TYPE).text
    assert text is not None
    assert TEXT_MAX < len(text) < TEXT_MAX + 10
