"""Envelopes of packets that differ from one that was written before in label and identifier only.

Those of messages that a program sends to a queue within a second do, as a rule: what else an
envelope says comes from bytes of the packet that are the same.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from openmsmq.packet.headers.user import UserFlags, UserHeaderStart
from openmsmq.packet.view import PacketView
from openmsmq.packet.walk import EXTENSION_SIZE, SIZES, USER
from openmsmq.soap.limits import SIMILAR_MAX, SIMILAR_SIZE_MAX
from openmsmq.soap.mime import Content
from openmsmq.soap.packets import SoapMessage, from_packet, write_message
from openmsmq.soap.signature import Signer
from openmsmq.soap.writer import escape

_OTHERS: Final = UserFlags.TH | UserFlags.SH | UserFlags.MQ
"Headers that an envelope tells of: of those that follow the label, or differ in each message."
_NUMBER: Final = USER + UserHeaderStart.offset_of("MessageID")
_PACKET_SIZE: Final = 8, 12


class _Written(NamedTuple):
    """An envelope without its label and the number of its identifier, and its address."""

    before: str
    between: str
    behind: str
    to: str


_WRITTEN: Final[dict[bytes, _Written]] = {}
"By what the packets have in common, the oldest first."


def write_similar(
    view: PacketView, *, receipts_to: str = "", signer: Signer | None = None
) -> tuple[str, Content]:
    """The address of a packet's message, and what a request to it has (`from_packet`)."""
    common = None if signer is not None else _common(view)
    if common is None:
        return _written(from_packet(view, receipts_to=receipts_to, signer=signer))
    known = _WRITTEN.get(common)
    if known is None:
        message = from_packet(view, receipts_to=receipts_to)
        to, content = _written(message)
        _remember(common, message, content.envelope.decode("utf-8"))
        return to, content
    before, between, behind, to = known
    text = f"{before}{escape(view.label)}{between}{view.message_id}{behind}"
    return to, Content(text.encode("utf-8"), view.body or None, view.extension or None)


def _written(message: SoapMessage) -> tuple[str, Content]:
    return message.envelope.path.to, write_message(message)


def _common(view: PacketView) -> bytes | None:
    """All that an envelope says of a packet, but label and number; None where that is more.

    An acknowledgement becomes a receipt, which names another message.
    """
    if view.flags & _OTHERS or view.message_class:
        return None
    data, offset = view.data, view.properties_offset
    size, size_end = _PACKET_SIZE
    return (
        data[:size]
        + data[size_end:_NUMBER]
        + data[_NUMBER + 4 : offset + 1]
        + data[offset + 2 : offset + SIZES]
        + data[offset + SIZES + 8 : offset + EXTENSION_SIZE]
    )


def _remember(common: bytes, message: SoapMessage, text: str) -> None:
    """Keep an envelope, if label and number are found where they are written."""
    path = message.envelope.path
    label = escape(path.label or "")
    before, action, rest = text.partition("<action>MSMQ:")
    between, start, behind = rest[len(label) :].partition("<id>uuid:")
    number = path.id.removeprefix("uuid:").partition("@")[0]
    known = _Written(before + action, between + start, behind[len(number) :], path.to)
    again = f"{known.before}{label}{known.between}{number}{known.behind}"
    if again == text and len(text) <= SIMILAR_SIZE_MAX:
        if len(_WRITTEN) >= SIMILAR_MAX:
            _WRITTEN.pop(next(iter(_WRITTEN)), None)
        _WRITTEN[common] = known
