"""Envelopes that differ from one that was read before in their label and identifier only.

Those that a manager sends within a second do, as a rule: only what differs is read then. The rest
is the same to the character, so that it means the same.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final, NamedTuple

from openmsmq.packet.headers.soap import SoapHeader
from openmsmq.soap.elements import Element, is_plain, plain_element
from openmsmq.soap.envelope import ROUTING, Envelope, Path, message_id
from openmsmq.soap.kept import alone, keep
from openmsmq.soap.limits import SIMILAR_MAX, SIMILAR_SIZE_MAX
from openmsmq.soap.reader import header_and_body, read_entries, read_label
from openmsmq.soap.scalars import WHITE_SPACE
from openmsmq.soap.tree import parsed_element
from openmsmq.wire.text import encode_utf16z

_ACTION: Final = "<action>"
_ID: Final = "<id>"


class _Known(NamedTuple):
    """An envelope that was read, and how its Header is kept."""

    envelope: Envelope
    tag: str
    "The start of the Header, with the name spaces that it inherits."
    start: int
    "Where the rest of the Header begins in the text."
    behind: int
    "Characters of the text that follow the Header."
    body_utf16: bytes


_KNOWN: Final[dict[tuple[str, str, str], _Known]] = {}
"By the texts before, between and behind label and identifier, the oldest first."


class _Places(NamedTuple):
    """Where label and identifier are, in a text of the usual form."""

    label: tuple[int, int]
    id: tuple[int, int]

    @classmethod
    def of(cls, text: str) -> _Places | None:
        """None if there are none."""
        label = text.find(_ACTION) + len(_ACTION)
        label_end = text.find("<", label)
        number = text.find(_ID, label_end) + len(_ID)
        end = text.find("<", number)
        is_usual = len(_ACTION) <= label <= label_end < number <= end
        return cls((label, label_end), (number, end)) if is_usual else None

    def rest(self, text: str) -> tuple[str, str, str]:
        """What is before, between and behind them."""
        (label, label_end), (number, end) = self
        return text[:label], text[label_end:number], text[end:]


def read_similar(text: str) -> tuple[Envelope, SoapHeader]:
    """The envelope written as `text`, and what a packet keeps of it; `Malformed`."""
    places = _Places.of(text) if len(text) <= SIMILAR_SIZE_MAX else None
    if places is None:
        root = plain_element(text) or parsed_element(text)
        return read_entries(root, text), keep(root, text)
    rest = places.rest(text)
    known = _KNOWN.get(rest)
    if known is not None:
        label, number = text[slice(*places.label)], text[slice(*places.id)]
        if is_plain(label) and is_plain(number):
            return _like(known, text, label, number)
    plain = plain_element(text)
    root = plain or parsed_element(text)
    envelope, kept = read_entries(root, text), keep(root, text)
    if plain is not None and _varies_there(envelope, plain, places):
        _remember(rest, envelope, plain, text, kept)
    return envelope, kept


def _like(known: _Known, text: str, label: str, number: str) -> tuple[Envelope, SoapHeader]:
    """An envelope like one that is known, with another label and identifier."""
    path = known.envelope.path
    own = Path(path.to, number.strip(WHITE_SPACE), read_label(label, 0), path.via)
    envelope = replace(known.envelope, path=own)
    message_id(envelope)
    header = known.tag + text[known.start : len(text) - known.behind]
    return envelope, SoapHeader(encode_utf16z(header), known.body_utf16)


def _varies_there(envelope: Envelope, root: Element, places: _Places) -> bool:
    """Whether label and identifier of an envelope are where they are looked for.

    Streams, receipts and signatures differ in more than that.
    """
    if envelope.stream is not None or envelope.is_receipt or envelope.signature is not None:
        return False
    header, body = header_and_body(root)
    path = header.required(ROUTING, "path")
    action, number = path.required(ROUTING, "action"), path.required(ROUTING, "id")
    is_there = (action.inner, number.inner) == (places.label, places.id)
    return is_there and header.start < places.label[0] and places.id[1] < body.start


def _remember(
    rest: tuple[str, str, str], envelope: Envelope, root: Element, text: str, kept: SoapHeader
) -> None:
    header, _ = header_and_body(root)
    tag, start = alone(header, root, text)
    if len(_KNOWN) >= SIMILAR_MAX:
        _KNOWN.pop(next(iter(_KNOWN)), None)
    _KNOWN[rest] = _Known(envelope, tag, start, len(text) - header.end, kept.body_utf16)
