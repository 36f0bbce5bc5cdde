"""SOAP headers that packets keep."""

from __future__ import annotations

import pytest
from tests.soap import envelope, examples, msmq

from openmsmq.packet.headers.soap import SoapHeader
from openmsmq.soap.kept import keep, kept_envelope
from openmsmq.soap.mime import split_content
from openmsmq.soap.reader import read_envelope
from openmsmq.soap.tree import envelope_text, read_element


def kept(data: bytes) -> SoapHeader:
    text = envelope_text(data)
    return keep(read_element(text), text)


@pytest.mark.parametrize("example", examples(), ids=lambda example: example.name)
def test_the_kept_header_says_what_the_envelope_said(example) -> None:  # type: ignore[no-untyped-def]
    """SRMP-140: Header and Body as they came, readable alone."""
    data = split_content(example.content_type, example.content).envelope
    assert kept_envelope(kept(data)) == read_envelope(data)


def test_entries_of_an_application_are_kept_to_the_character() -> None:
    """SRMP-140."""
    own = "<own xmlns='urn:x' a = \"1\">\r\n <b/><!-- c --> </own>"
    assert own in kept(envelope(own)).header
    assert kept(envelope(body="<se:Body>hi</se:Body>")).body.endswith(">hi</se:Body>")


def test_inherited_name_spaces_are_added_once() -> None:
    data = envelope(msmq()).replace(
        b"<se:Header>", b'<se:Header xmlns="http://schemas.xmlsoap.org/srmp/" >'
    )
    header = kept(data).header
    assert header.startswith(
        '<se:Header xmlns:se="http://schemas.xmlsoap.org/soap/envelope/"'
        ' xmlns="http://schemas.xmlsoap.org/srmp/" ><path'
    )
    assert kept_envelope(kept(data)) == read_envelope(data)


def test_a_value_that_looks_like_a_declaration_is_none() -> None:
    opening = (
        "<se:Envelope a=' xmlns:se=\"urn:trap\"' xmlns:se="
        '"http://schemas.xmlsoap.org/soap/envelope/" xmlns="http://schemas.xmlsoap.org/srmp/">'
    )
    data = envelope(opening=opening)
    assert kept_envelope(kept(data)) == read_envelope(envelope())


def test_a_header_of_another_origin_is_no_envelope() -> None:
    assert kept_envelope(SoapHeader.make("<x/>", "")) is None
    assert kept_envelope(SoapHeader.make("", "not XML at all")) is None
    assert kept_envelope(SoapHeader.make("\ud800", "")) is None
