"""Packets of messages that came over HTTP, with the headers that remote readers expect."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

import pytest
from tests.soap import envelope, examples, msmq

from openmsmq.limits import PACKET_SIZE_MAX
from openmsmq.names.format import parse_format_name
from openmsmq.packet.builder import OptionalHeaders, PacketBuilder
from openmsmq.packet.headers.soap import SoapHeader
from openmsmq.packet.headers.srmp import SRMPEnvelopeHeader
from openmsmq.packet.headers.user import UserFlags
from openmsmq.packet.message import UserMessage
from openmsmq.packet.view import PacketView
from openmsmq.soap.compound import compound_packet, plain_message
from openmsmq.soap.kept import kept_envelope
from openmsmq.soap.mime import Content, split_content
from openmsmq.soap.packets import read_message, to_packet
from openmsmq.soap.reader import read_envelope
from openmsmq.wire.text import encode_utf16z


def packet_of(content: Content) -> bytes:
    return to_packet(read_message(content), arrived=1_184_814_700)


def compound(packet: bytes) -> UserMessage:
    found = compound_packet(packet)
    assert found is not None
    assert len(found) == PacketView(found).packet_size
    return PacketView(found).message()


MESSAGES = [one for one in examples() if "receipt" not in one.name and "pgm" not in one.name]


@pytest.mark.parametrize("example", MESSAGES, ids=lambda example: example.name)
def test_a_message_has_both_headers_and_its_request(example) -> None:  # type: ignore[no-untyped-def]
    content = split_content(example.content_type, example.content)
    packet = packet_of(content)
    message = compound(packet)
    assert message.user.flags & UserFlags.AH
    assert message.envelope is not None
    assert message.compound is not None
    assert message.envelope.data_length == len(message.envelope.data_utf16) // 2
    assert read_envelope(message.envelope.envelope.encode()) == read_envelope(content.envelope)
    assert message.compound.http_body_size == len(message.compound.data)
    assert message.compound.body == content.body == PacketView(packet).body
    head, _, rest = message.compound.data.partition(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    assert lines[0].startswith("POST /msmq/private$/")
    headers = dict(line.split(": ", 1) for line in lines[1:])
    assert int(headers["Content-Length"]) == len(rest)
    again = split_content(headers["Content-Type"], rest)
    assert read_envelope(again.envelope) == read_envelope(content.envelope)


def test_the_body_is_found_where_the_extension_has_the_same_bytes() -> None:
    message = compound(packet_of(Content(envelope(msmq()), b"-", b"--")))
    assert message.compound is not None
    offset = message.compound.msg_body_offset
    assert message.compound.data[offset - 4 : offset + 3] == b"\r\n\r\n---"


def test_a_message_without_a_body_has_none_in_its_request() -> None:
    message = compound(packet_of(Content(envelope(msmq()))))
    assert message.compound is not None
    assert (message.compound.msg_body_size, message.compound.body) == (0, b"")


def test_the_rest_of_the_packet_is_as_it_was() -> None:
    packet = packet_of(Content(envelope(msmq()), b"body", b"more"))
    before, after = PacketView(packet).message(), compound(packet)
    assert after.properties == before.properties
    assert after.soap == before.soap


def test_what_no_packet_can_hold_stays_as_it_is() -> None:
    packet = packet_of(Content(envelope(msmq()), bytes(PACKET_SIZE_MAX // 2)))
    assert compound_packet(packet) is None


def test_a_packet_without_an_envelope_gets_no_headers() -> None:
    soap = SoapHeader.make("<own/>", "")
    builder = PacketBuilder(UUID(int=1), parse_format_name("DIRECT=OS:shop\\q"))
    assert compound_packet(builder.build(b"x", headers=OptionalHeaders(soap=soap))) is None
    assert compound_packet(builder.build(b"x")) is None


def test_without_both_headers_it_is_the_packet_again() -> None:
    packet = packet_of(Content(envelope(msmq()), b"hello", b"more"))
    assert plain_message(compound(packet)).encode() == packet
    assert plain_message(PacketView(packet).message()).encode() == packet


@pytest.mark.parametrize("body", [b"hello", b""])
def test_the_body_may_be_in_the_request_alone(body: bytes) -> None:
    """MQRR-230, MQRR-233: and what is reserved is ignored."""
    packet = packet_of(Content(envelope(msmq()), body))
    message = compound(packet)
    assert message.envelope is not None
    assert message.compound is not None
    empty = replace(
        message.properties, message_size=0, allocation_body_size=0, body_field=b"", padding=b""
    )
    alone = replace(
        message,
        user=replace(message.user, flags=message.user.flags & ~UserFlags.HH),
        properties=empty,
        envelope=replace(message.envelope, reserved=0xFFFF),
        compound=replace(message.compound, reserved=0xFFFF),
        soap=None,
    )
    again = PacketView(plain_message(alone).encode())
    assert again.body == body
    assert again.packet_size == len(again.data)
    kept = again.message().soap
    assert kept is not None
    found = kept_envelope(kept)
    original = PacketView(packet).message().soap
    assert original is not None
    assert found == kept_envelope(original)


def test_an_envelope_that_cannot_be_read_is_dropped() -> None:
    message = compound(packet_of(Content(envelope(msmq()), b"hello")))
    text = encode_utf16z("<not an envelope")
    broken = replace(
        message,
        user=replace(message.user, flags=message.user.flags & ~UserFlags.HH),
        envelope=SRMPEnvelopeHeader(data_length=len(text) // 2, data_utf16=text),
        soap=None,
    )
    again = PacketView(plain_message(broken).encode())
    assert again.body == b"hello"
    assert again.message().soap is None
