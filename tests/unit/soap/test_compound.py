"""Packets of messages that came over HTTP, with the headers that remote readers expect."""

from __future__ import annotations

from uuid import UUID

import pytest
from tests.soap import envelope, examples, msmq

from openmsmq.limits import PACKET_SIZE_MAX
from openmsmq.names.format import parse_format_name
from openmsmq.packet.builder import OptionalHeaders, PacketBuilder
from openmsmq.packet.headers.soap import SoapHeader
from openmsmq.packet.headers.user import UserFlags
from openmsmq.packet.message import UserMessage
from openmsmq.packet.view import PacketView
from openmsmq.soap.compound import compound_packet
from openmsmq.soap.mime import Content, split_content
from openmsmq.soap.packets import read_message, to_packet
from openmsmq.soap.reader import read_envelope


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
