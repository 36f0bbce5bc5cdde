"""The packet of a message that came over HTTP as a remote reader gets it ([MS-MQRR] 2.2.5.1.2).

A stored packet keeps Header and Body of the envelope in its SoapHeader (HTTP-45). The request is
made of it again: SRMPEnvelopeHeader has the envelope, CompoundMessageHeader the whole POST.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from openmsmq.errors import Malformed
from openmsmq.limits import PACKET_SIZE_MAX
from openmsmq.packet.headers.srmp import CompoundMessageHeader, SRMPEnvelopeHeader
from openmsmq.packet.headers.user import UserFlags
from openmsmq.packet.message import UserMessage
from openmsmq.packet.view import PacketView
from openmsmq.soap.addresses import address_of
from openmsmq.soap.kept import keep
from openmsmq.soap.mime import Content, join_content
from openmsmq.soap.packets import content_as_it_came
from openmsmq.soap.request import request_to
from openmsmq.soap.tree import read_element
from openmsmq.wire.text import encode_utf16z


def compound_packet(packet: bytes) -> bytes | None:
    """The packet with both SRMP headers and AH; None if it keeps no envelope, or is too large.

    Only for messages that came over HTTP, which their records say (`Owed.SRMP`): anyone can put a
    SOAP header into a packet.
    """
    view = PacketView(packet)
    content, destination = content_as_it_came(view), view.destination
    if content is None or destination is None:
        return None
    parts = join_content(content, view.source_queue_manager, view.message_id)
    data = request_to(address_of(destination), *parts).encode()
    text = encode_utf16z(content.envelope.decode("utf-8"))
    message = view.message()
    message = replace(
        message,
        user=replace(message.user, flags=message.user.flags | UserFlags.AH),
        envelope=SRMPEnvelopeHeader(data_length=len(text) // 2, data_utf16=text),
        compound=_compound(data, content),
    )
    size = len(message.encode())
    if size > PACKET_SIZE_MAX:
        return None
    return replace(message, base=replace(message.base, packet_size=size)).encode()


def plain_message(message: UserMessage) -> UserMessage:
    """A message without both SRMP headers: its body and its envelope where packets keep them.

    ([MS-MQRR] 2.2.5.1.2.) What is reserved in the headers is ignored; an envelope that cannot be
    understood is dropped. The inverse of `compound_packet`.
    """
    if message.compound is None or message.envelope is None:
        return message
    properties, flags = message.properties, message.user.flags & ~UserFlags.AH
    body, soap = message.compound.body, message.soap
    if body and not properties.message_size:
        size = len(body)
        properties = replace(
            properties,
            message_size=size,
            allocation_body_size=size,
            body_field=body,
            padding=b"",
        )
    if soap is None:
        text = message.envelope.envelope
        with suppress(Malformed):
            soap = keep(read_element(text), text)
            flags |= UserFlags.HH
    plain = replace(
        message,
        user=replace(message.user, flags=flags),
        properties=properties,
        envelope=None,
        compound=None,
        soap=soap,
    )
    return replace(plain, base=replace(plain.base, packet_size=len(plain.encode())))


def _compound(data: bytes, content: Content) -> CompoundMessageHeader:
    """The request, and where the body of the message lies in it ([MS-MQRR] 2.2.5.1.2.2)."""
    envelope, body = content.envelope, content.body or b""
    offset = 0
    if body:  # the part after the envelope, behind its headers
        after = data.index(envelope) + len(envelope)
        offset = data.index(b"\r\n\r\n", after) + 4
    return CompoundMessageHeader(
        http_body_size=len(data), msg_body_size=len(body), msg_body_offset=offset, data=data
    )
