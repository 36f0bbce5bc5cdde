r"""The content of a request: an envelope alone, or with its attachments ([MC-MQSRM] 2.2.2).

--B CRLF                                                    A delimiter follows the bytes before
Content-Type: text/xml; charset=UTF-8 CRLF                  it without the line break that
Content-Length: n1 CRLF                                     RFC 2046 asks for. Parts are cut by
CRLF                                                        their Content-Length, never by a
<n1 bytes of envelope>--B CRLF                              search for the delimiter: a body may
Content-Type: application/octet-stream CRLF                 contain it.
Content-Length: n2 CRLF
Content-Id: body@GUID CRLF
CRLF
<n2 bytes of body>--B-- CRLF
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final
from uuid import UUID

from openmsmq.errors import Malformed
from openmsmq.soap.limits import (
    BOUNDARY_MAX,
    CONTENT_TYPE_MAX,
    PART_HEADER_LINES_MAX,
    PART_HEADERS_MAX,
)

PLAIN: Final = "text/xml"
MULTIPART: Final = "multipart/related"
BODY_PART: Final = "body"
EXTENSION_PART: Final = "extension"


_CRLF: Final = b"\r\n"
_PARAMETER = re.compile(r'\s*;\s*([A-Za-z0-9!#$&^_.+-]+)\s*=\s*(?:"([^"\\\r\n]*)"|([^\s";]+))')
_NUMBER = re.compile(rb"[0-9]{1,10}")
_HEADER = re.compile(rb"([A-Za-z0-9-]{1,64}):[ \t]*([^\r\n]*?)[ \t]*")


@dataclass(frozen=True, slots=True)
class Content:
    """An envelope and its attachments."""

    envelope: bytes
    body: bytes | None = None
    extension: bytes | None = None


def split_content(content_type: str, data: bytes) -> Content:
    """The envelope and the attachments of a request; `Malformed` if it has another shape.

    ([MC-MQSRM] 2.2.2, 4.1, 4.3.) A charset that is not UTF-8 is refused; without one it is UTF-8.
    """
    kind, parameters = _media_type(content_type, "Content-Type")
    if kind == PLAIN:
        _check_charset(parameters, "Content-Type")
        return Content(data)
    if kind != MULTIPART:
        raise Malformed("Content-Type", 0, f"is {kind!r:.60}, neither {PLAIN} nor {MULTIPART}")
    boundary = parameters.get("boundary", "")
    if not 1 <= len(boundary) <= BOUNDARY_MAX or not boundary.isascii():
        raise Malformed("Content-Type", 0, f"has no boundary of 1 to {BOUNDARY_MAX} characters")
    return _split(data, b"--" + boundary.encode("ascii"))


def join_content(content: Content, manager: UUID, number: int) -> tuple[str, bytes]:
    """The Content-Type of a request and its content ([MC-MQSRM] 2.2.2, 4.1, 4.5).

    `manager` names the attachments, `number` the boundary. A message without attachments is sent
    as its envelope alone (HTTP-33).
    """
    attachments = ((BODY_PART, content.body), (EXTENSION_PART, content.extension))
    if all(attachment is None for _, attachment in attachments):
        return PLAIN, content.envelope
    boundary = f"MSMQ - SOAP boundary, {number}"
    delimiter = b"--" + boundary.encode("ascii")
    size = len(content.envelope)
    pieces = [
        delimiter,
        f"\r\nContent-Type: text/xml; charset=UTF-8\r\nContent-Length: {size}\r\n\r\n".encode(),
        content.envelope,
    ]
    for name, attachment in attachments:
        if attachment is not None:
            headers = (
                "\r\nContent-Type: application/octet-stream"
                f"\r\nContent-Length: {len(attachment)}\r\nContent-Id: {name}@{manager}\r\n\r\n"
            )
            pieces += (delimiter, headers.encode("ascii"), attachment)
    pieces += (delimiter, b"--", _CRLF)
    return f'{MULTIPART}; boundary="{boundary}"; type={PLAIN}', b"".join(pieces)


def _split(data: bytes, delimiter: bytes) -> Content:
    """The parts in `data`, the envelope first."""
    offset = _skip_delimiter(data, 0, delimiter)
    envelope: bytes | None = None
    attachments: dict[str, bytes] = {}
    while offset >= 0:
        headers, start = _part_headers(data, offset)
        end = start + _part_size(headers, offset)
        if end > len(data):
            raise Malformed("Content-Length", offset, f"{end - len(data)} bytes are missing")
        if envelope is None:
            kind, parameters = _media_type(headers.get("content-type", PLAIN), "part 1")
            if kind != PLAIN:
                raise Malformed("part 1", offset, f"is {kind!r:.60}, not {PLAIN}")
            _check_charset(parameters, "part 1")
            envelope = data[start:end]
        else:
            name = _part_name(headers, offset)
            if name in attachments:
                raise Malformed("Content-Id", offset, f"the {name} is there twice")
            attachments[name] = data[start:end]
        offset = _skip_delimiter(data, end, delimiter)
    assert envelope is not None, "a first delimiter is followed by a part"
    return Content(envelope, attachments.get(BODY_PART), attachments.get(EXTENSION_PART))


def _skip_delimiter(data: bytes, offset: int, delimiter: bytes) -> int:
    """Where the next part begins; -1 after the closing delimiter, with which the content ends."""
    first = offset == 0
    if data.startswith(_CRLF, offset):
        offset += len(_CRLF)
    if not data.startswith(delimiter, offset):
        raise Malformed("delimiter", offset, "does not stand where the part before it ends")
    after = offset + len(delimiter)
    if data.startswith(_CRLF, after):
        return after + len(_CRLF)
    if first or data[after:] not in (b"--", b"--\r\n"):
        raise Malformed("delimiter", offset, "is neither followed by a part nor the last")
    return -1


def _part_headers(data: bytes, offset: int) -> tuple[Mapping[str, str], int]:
    """The headers of a part by their names in small letters, and where its content begins."""
    end = data.find(b"\r\n\r\n", offset, offset + PART_HEADERS_MAX)
    if end < 0:
        reason = f"do not end within {PART_HEADERS_MAX} bytes"
        raise Malformed("part headers", offset, reason)
    return _headers(data[offset:end], offset), end + len(b"\r\n\r\n")


@lru_cache(maxsize=256)
def _headers(block: bytes, offset: int) -> Mapping[str, str]:
    lines = block.split(_CRLF)
    headers: dict[str, str] = {}
    if len(lines) > PART_HEADER_LINES_MAX:
        raise Malformed("part headers", offset, f"are {len(lines)} lines")
    for line in lines:
        found = _HEADER.fullmatch(line)
        if not found:
            raise Malformed("part headers", offset, f"have the line {line!r:.60}")
        name = found[1].decode("ascii").lower()
        if name in headers:
            raise Malformed("part headers", offset, f"have {name} twice")
        headers[name] = found[2].decode("latin-1")
    return headers


def _part_size(headers: Mapping[str, str], offset: int) -> int:
    text = headers.get("content-length", "").encode("latin-1")
    if not _NUMBER.fullmatch(text):
        raise Malformed("Content-Length", offset, "each part has to have its length")
    return int(text)


def _part_name(headers: Mapping[str, str], offset: int) -> str:
    """`body` or `extension`: what Content-Id has before its `@` (HTTP-32)."""
    identifier = headers.get("content-id", "")
    name = identifier.removeprefix("<").partition("@")[0]
    if name not in (BODY_PART, EXTENSION_PART):
        raise Malformed("Content-Id", offset, f"{identifier!r:.60} is neither body nor extension")
    return name


@lru_cache(maxsize=256)
def _media_type(text: str, field: str) -> tuple[str, Mapping[str, str]]:
    """A Content-Type and its parameters, names in small letters."""
    if len(text) > CONTENT_TYPE_MAX:
        raise Malformed(field, 0, f"has {len(text)} characters")
    kind, _, _ = text.partition(";")
    parameters: dict[str, str] = {}
    offset = len(kind)
    while offset < len(text.rstrip()):
        found = _PARAMETER.match(text, offset)
        if not found:
            raise Malformed(field, 0, f"{text!r:.80} is no media type")
        name = found[1].lower()
        if name in parameters:
            raise Malformed(field, 0, f"has {name} twice")
        parameters[name] = found[2] if found[2] is not None else found[3]
        offset = found.end()
    return kind.strip().lower(), parameters


def _check_charset(parameters: Mapping[str, str], field: str) -> None:
    charset = parameters.get("charset", "utf-8")
    if charset.lower() != "utf-8":
        raise Malformed(field, 0, f"the charset is {charset!r:.40}, not UTF-8")
