"""Envelopes keep what they say as text, requests and packets; any bytes are safe to read."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from uuid import UUID

from hypothesis import given
from hypothesis import strategies as st
from tests.samples import SOURCE
from tests.soap import MANAGER, envelope, examples, msmq
from tests.strategies.messages import messages
from tests.strategies.names import guids, u32
from tests.strategies.soap import envelopes, texts, urls, user_messages

from openmsmq.errors import Malformed
from openmsmq.names.format import parse_format_name
from openmsmq.packet.headers.user import UserFlags
from openmsmq.packet.view import PacketView
from openmsmq.properties.message import Acknowledge
from openmsmq.soap.addresses import address_of, queue_at
from openmsmq.soap.envelope import Envelope
from openmsmq.soap.kept import kept_envelope
from openmsmq.soap.mime import Content, join_content, split_content
from openmsmq.soap.packets import (
    SoapMessage,
    content_as_it_came,
    from_packet,
    read_message,
    to_packet,
    write_message,
)
from openmsmq.soap.reader import read_envelope
from openmsmq.soap.writer import write_envelope
from openmsmq.soap.written import write_similar
from openmsmq.types.message import Message
from openmsmq.types.pack import Packer
from openmsmq.types.received import ReceivedMessage

ORDERS = parse_format_name("DIRECT=HTTP://machine2/msmq/private$/orders")
EXAMPLES = [split_content(e.content_type, e.content) for e in examples()]


@given(envelopes())
def test_an_envelope_is_read_as_it_was_written(given: Envelope) -> None:
    assert read_envelope(write_envelope(given).encode()) == given


@given(st.binary(), st.none() | st.binary(), st.none() | st.binary(), guids(), u32)
def test_content_is_split_as_it_was_joined(
    data: bytes, body: bytes | None, extension: bytes | None, manager: UUID, number: int
) -> None:
    content = Content(data, body, extension)
    assert split_content(*join_content(content, manager, number)) == content


@given(user_messages())
def test_a_message_that_came_is_sent_on_with_all_it_said(message: SoapMessage) -> None:
    came = read_message(write_message(message))
    view = PacketView.parse(to_packet(came, arrived=0))
    assert view.flags & UserFlags.HH
    sent = from_packet(view)
    assert sent.envelope == message.envelope
    assert (sent.body, sent.extension) == (message.body, message.extension)


@given(user_messages(), texts())
def test_a_message_that_came_is_passed_on_unchanged(message: SoapMessage, text: str) -> None:
    own = f"<own xmlns='urn:x'>{text.replace('&', '').replace('<', '').replace(']', '')}</own>"
    written = write_message(message)
    data = written.envelope.replace(b"</se:Header>", own.encode() + b"</se:Header>")
    passed = content_as_it_came(
        PacketView(to_packet(read_message(replace(written, envelope=data)), arrived=0))
    )
    assert passed is not None
    assert own.encode() in passed.envelope
    assert read_message(passed).envelope == message.envelope
    assert (passed.body, passed.extension) == (written.body, written.extension)


@given(messages(), u32, u32)
def test_a_message_of_a_program_arrives_as_it_was_sent(
    message: Message, number: int, sent: int
) -> None:
    """What has no element is lost: negative acknowledgements of arrival, times beyond 2038."""
    packet = Packer(SOURCE).pack(message, ORDERS, message_id=number, sent_time=sent)
    content = write_message(from_packet(PacketView(packet)))
    came = read_message(split_content(*join_content(content, SOURCE, number)))
    found = ReceivedMessage(to_packet(came, arrived=0))
    for name in ("body", "extension", "priority", "recoverable", "journal", "app_specific"):
        assert getattr(found, name) == getattr(message, name), name
    assert found.correlation_id == message.correlation_id
    assert found.id == f"{SOURCE}\\{number}"
    assert found.destination_queue == ORDERS
    assert found.acknowledge & ~message.acknowledge == Acknowledge.NONE


@given(messages(), messages(), u32, u32)
def test_a_packet_is_written_as_if_it_were_the_first(
    first: Message, second: Message, number: int, sent: int
) -> None:
    for message in (first, replace(first, label=second.label), second, first):
        packet = Packer(SOURCE).pack(message, ORDERS, message_id=number, sent_time=sent)
        whole = from_packet(PacketView(packet))
        wanted = whole.envelope.path.to, write_message(whole)
        assert write_similar(PacketView(packet)) == wanted


@given(urls)
def test_an_address_names_one_queue(url: str) -> None:
    queue = queue_at(url, "to")
    assert queue_at(address_of(queue), "to") == queue


@given(st.binary(max_size=200), st.sampled_from(["text/xml", 'multipart/related; boundary="b"']))
def test_any_bytes_are_a_message_or_malformed(data: bytes, content_type: str) -> None:
    with suppress(Malformed):
        read_message(split_content(content_type, data))


@given(st.sampled_from(EXAMPLES), st.data())
def test_a_damaged_message_is_malformed_or_still_one(content: Content, data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(content.envelope) - 1))
    size = data.draw(st.integers(0, 30))
    piece = data.draw(st.sampled_from([b"", b"<", b">", b"&", b'"', b"0", b"\xff", b"<x/>", b"  "]))
    damaged = content.envelope[:place] + piece + content.envelope[place + size :]
    with suppress(Malformed):
        came = read_message(replace(content, envelope=damaged))
        assert came.kept is not None
        assert kept_envelope(came.kept) == came.envelope
        view = PacketView.parse(to_packet(came, arrived=0, destination=ORDERS))
        assert (view.body, view.message_id <= 2**32) == (came.body, True)


@given(texts(250))
def test_any_label_is_carried_or_refused(label: str) -> None:
    with suppress(Malformed):
        escaped = write_envelope(_labelled(label)).encode()
        assert read_envelope(escaped).path.label == label


def _labelled(label: str) -> Envelope:
    base = read_envelope(envelope(msmq()))
    assert base.msmq is not None
    assert base.msmq.source == MANAGER
    return replace(base, path=replace(base.path, label=label))
