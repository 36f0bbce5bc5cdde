"""Messages in the data of a session: fragments to APDUs, APDUs to SRMP messages.

A message is sent as one APDU. Whether Windows keeps these boundaries is not documented, so that
messages are found by the HTTP header before them, as in a stream of bytes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from ipaddress import IPv4Address
from typing import Final, NamedTuple

from openmsmq.transports.pgm.limits import APDU_SIZE_MAX
from openmsmq.transports.pgm.packets import PgmData

_START: Final = b"POST "
_BLANK_LINE: Final = b"\r\n\r\n"


class MulticastMessage(NamedTuple):
    """What an HTTP request would have: the type of its content, and the content."""

    content_type: str
    content: bytes


def pack_message(group: IPv4Address, port: int, content_type: str, content: bytes) -> bytes:
    """A message with the HTTP header that MSMQ puts before it ([MC-MQSRM] 4.5)."""
    head = (
        f"POST {group}:{port} HTTP/1.1\r\n"
        f"Host: {group}:{port}\r\n"
        f"Content-Type: {content_type}\r\n"
        f"Content-Length: {len(content)}\r\n"
        'SOAPAction: "MSMQMessage"\r\n'
        "Proxy-Accept: NonInteractiveClient\r\n\r\n"
    )
    return head.encode("latin-1") + content


class MessageReader:
    """Puts the messages of a session together; bounded by the size of one."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self._first: int | None = None
        "The number of the first fragment of the APDU that is put together."
        self._parts: list[bytes] = []
        self._size = 0
        self._buffer = b""

    def restart(self) -> None:
        """Reception starts anew: what is not complete is dropped."""
        if self._parts or self._buffer:
            self.counts["incomplete messages"] += 1
        self._drop_parts()
        self._buffer = b""

    def add(self, packet: PgmData) -> Iterator[MulticastMessage]:
        """The next packet, in order; the messages that end with it."""
        apdu = self._join(packet)
        return iter(()) if apdu is None else self._split(apdu)

    def _join(self, packet: PgmData) -> bytes | None:
        """The whole APDU, once it is there (RFC 3208, 9.2.3)."""
        fragment = packet.fragment
        if fragment is None:
            self._drop_parts()
            return packet.data
        if fragment.offset == 0:
            self._drop_parts()
            self._first = fragment.first
        if self._first != fragment.first or fragment.offset != self._size:
            if self._first is not None:
                self.counts["bad fragments"] += 1
            self._drop_parts()  # also: one that began before reception did
            return None
        self._parts.append(packet.data)
        self._size += len(packet.data)
        if self._size < fragment.length:
            return None
        apdu = b"".join(self._parts)
        self._drop_parts()
        return apdu

    def _drop_parts(self) -> None:
        self._first = None
        self._parts = []
        self._size = 0

    def _split(self, apdu: bytes) -> Iterator[MulticastMessage]:
        """Messages by their Content-Length; nothing else of the header counts."""
        if self._buffer and apdu.startswith(_START):
            self.counts["incomplete messages"] += 1
            self._buffer = b""
        self._buffer += apdu
        while self._buffer:
            message, end = self._next()
            if end < 0:
                return
            self._buffer = self._buffer[end:]
            if message is not None:
                yield message

    def _next(self) -> tuple[MulticastMessage | None, int]:
        """The first message of the buffer, and where it ends: -1 if that is not known yet."""
        buffer = self._buffer
        if not _START.startswith(buffer[: len(_START)]):
            return self._reject()
        header_end = buffer.find(_BLANK_LINE)
        if header_end < 0:
            return self._reject() if len(buffer) > APDU_SIZE_MAX else (None, -1)
        content_type, length = _fields(buffer[:header_end])
        if length is None or length > APDU_SIZE_MAX:
            return self._reject()
        start = header_end + len(_BLANK_LINE)
        if len(buffer) < start + length:
            return None, -1
        message = MulticastMessage(content_type, buffer[start : start + length])
        return message, start + length

    def _reject(self) -> tuple[None, int]:
        self.counts["not a message"] += 1
        return None, len(self._buffer)


def _fields(header: bytes) -> tuple[str, int | None]:
    """Content-Type and Content-Length."""
    content_type, length = "", None
    for line in header.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        match name.strip().lower():
            case b"content-type":
                content_type = value.strip().decode("latin-1")
            case b"content-length":
                text = value.strip()
                if text.isdigit() and len(text) < 7:
                    length = int(text)
    return content_type, length
