"""The SOAP header that a message came with, as its packet keeps it ([MC-MQSRM] 3.1.5.1.1).

Header and Body lie in the SoapHeader of the packet as they were written. Name spaces that the
Envelope declared are added to their start tags, so that each can be read alone.
"""

from __future__ import annotations

import re

from openmsmq.errors import Malformed
from openmsmq.packet.headers.soap import SoapHeader
from openmsmq.soap.elements import Element
from openmsmq.soap.envelope import ENVELOPE, Envelope
from openmsmq.soap.reader import header_and_body, read_envelope_text

_NAME = re.compile(r"<[^\s/>]+")
_ATTRIBUTE = re.compile(r"""\s+([^\s=]+)\s*=\s*("[^"]*"|'[^']*')""")


def keep(root: Element, text: str) -> SoapHeader:
    """What a packet keeps of the envelope `text`, which was read as `root`."""
    header, body = (
        tag + text[start : part.end]
        for part in header_and_body(root)
        for tag, start in [alone(part, root, text)]
    )
    return SoapHeader.make(header, body)


def kept_envelope(kept: SoapHeader) -> Envelope | None:
    """The envelope that was kept; None if the header is an application's own."""
    try:
        return read_envelope_text(kept_text(kept))
    except Malformed:
        return None


def kept_text(kept: SoapHeader) -> str:
    """An envelope around the Header and Body that were kept."""
    return f'<se:Envelope xmlns:se="{ENVELOPE}">{kept.header}{kept.body}</se:Envelope>'


def alone(part: Element, root: Element, text: str) -> tuple[str, int]:
    """The start of `part` of an Envelope with the name spaces that it inherits.

    And where the rest of it begins.
    """
    inherited = _name_spaces(root, text)
    for name in _name_spaces(part, text):
        inherited.pop(name, None)
    tag = _NAME.match(text, part.start)
    assert tag is not None, "an element begins with its start tag"
    added = "".join(f" {name}={value}" for name, value in inherited.items())
    return tag[0] + added, tag.end()


def _name_spaces(element: Element, text: str) -> dict[str, str]:
    """The declarations in a start tag, by attribute, with the values in their quotes."""
    tag = text[element.start : element.inner[0]]
    return {
        name: value
        for name, value in _ATTRIBUTE.findall(tag)
        if name == "xmlns" or name.startswith("xmlns:")
    }
