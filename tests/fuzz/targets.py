"""What is fuzzed: each target takes any bytes and raises only if a promise is broken.

The promise of every decoder: a value or the documented error, nothing else; and what decodes
encodes to the same bytes, so that nothing beyond them was read.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

from openmsmq.bodies.decode import decode_body
from openmsmq.bodies.headers import decode_headers
from openmsmq.errors import IllegalFormatName, IllegalQueuePathName, Malformed
from openmsmq.names.format import parse_format_name
from openmsmq.names.parse import parse_name
from openmsmq.packet.describe import describe
from openmsmq.packet.framing import PacketFramer
from openmsmq.packet.message import StoredMessage, UserMessage
from openmsmq.packet.packet import decode_packet
from openmsmq.packet.view import PacketView
from openmsmq.properties.structures import decode_addresses
from openmsmq.security.keys import (
    DirectoryPublicKeys,
    PublicKeyBlob,
    SimpleBlob,
    UserCertificates,
)
from openmsmq.security.sid import Sid
from openmsmq.wire.reader import decode_whole


def packet(data: bytes) -> None:
    """One packet: decoded, encoded again, and seen through the view."""
    decoded = view = None
    with suppress(Malformed):
        decoded = decode_packet(data)
        assert decoded.encode() == data
    with suppress(Malformed):
        view = PacketView.parse(data)
    assert (view is not None) == isinstance(decoded, UserMessage)
    if view is not None and isinstance(decoded, UserMessage):
        assert view.body == decoded.properties.body
        assert view.label == decoded.properties.label
        with suppress(IllegalFormatName):
            assert view.destination == decoded.user.destination_name()
        with suppress(IllegalFormatName):
            assert view.response_queue == decoded.user.response_name()


def stored(data: bytes) -> None:
    """A stored message with its trailer."""
    with suppress(Malformed):
        assert decode_whole(data, StoredMessage.read).encode() == data


def stream(data: bytes) -> None:
    """A stream, in one piece and in two: the same packets, the same end."""
    cut = data[0] if data else 0
    assert _framed([data]) == _framed([data[:cut], data[cut:]])
    for description in describe(data):
        assert description.fields or description.error is not None


def _framed(chunks: list[bytes]) -> tuple[list[bytes], bool]:
    framer = PacketFramer()
    found: list[bytes] = []
    try:
        for chunk in chunks:
            framer.receive_data(chunk)
            found.extend(framer.packets())
    except Malformed:
        return found, True
    return found, False


def name(data: bytes) -> None:
    """Names as text: a name that prints as itself, or the documented error."""
    text = data.decode("utf-8", "surrogateescape")
    with suppress(IllegalFormatName):
        parsed = parse_format_name(text)
        assert parse_format_name(str(parsed)) == parsed
    with suppress(IllegalFormatName, IllegalQueuePathName):
        typed = parse_name(text)
        assert parse_name(str(typed)) == typed


def body(data: bytes) -> None:
    """Any body with any type: decoded, or bytes with a reason."""
    body_type = int.from_bytes(data[:2], "little")
    for declared in (0, 0x300, body_type):
        found = decode_body(data[2:], declared)
        if found.text is not None:
            found.text.encode()
    decode_headers(data)


def security(data: bytes) -> None:
    """Key blobs, certificates, SIDs and addresses."""
    for kind in (PublicKeyBlob, SimpleBlob, DirectoryPublicKeys, UserCertificates, Sid):
        with suppress(Malformed):
            assert kind.decode(data).encode() == data
    with suppress(Malformed):
        decode_addresses(data)


TARGETS: dict[str, Callable[[bytes], None]] = {
    target.__name__: target for target in (packet, stored, stream, name, body, security)
}
