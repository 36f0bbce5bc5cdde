"""Messages as the API shows them."""

from __future__ import annotations

import gzip

import pytest
from tests.unit.console.test_filters import message

from openmsmq.bodies.headers import encode_nservicebus
from openmsmq.console.limits import PREVIEW_MAX
from openmsmq.console.views import (
    ROW_TEXT,
    body_view,
    message_details,
    message_view,
    reason_of,
)

HOSTILE = "<script>alert(1)</script>\u202eevil\u2066\x1b[31m"


def test_text_stays_text() -> None:
    shown = message_view(message(HOSTILE, label=HOSTILE[:200]), preview=True)
    assert shown.label == HOSTILE
    assert shown.preview.startswith("<script>")
    assert message_details(message(HOSTILE)).body.text == HOSTILE


@pytest.mark.parametrize("body", [b"", b"\xff\xfe\x00", b"\x00" * 10, "ü" * 9, b"\xed\xa0\x80"])
def test_any_body_can_be_shown(body: bytes | str) -> None:
    details = message_details(message(body))
    assert details.body.size == len(message(body).body)
    assert len(details.message.preview) <= ROW_TEXT


def test_a_large_body_is_cut() -> None:
    shown = body_view(b"x" * (4 * 1024 * 1024), 0)
    assert shown.truncated
    assert shown.text is not None
    assert len(shown.text) == PREVIEW_MAX
    assert len(shown.hex) <= PREVIEW_MAX // 2


def test_a_compressed_body_is_opened_as_far_as_it_is_looked_at() -> None:
    shown = body_view(gzip.compress(b'{"a": 1}'), 0)
    assert (shown.format, shown.text) == ("gzip, json", '{"a": 1}')
    bomb = body_view(gzip.compress(b"x" * (64 * 1024 * 1024)), 0)
    assert bomb.truncated
    assert bomb.text is not None
    assert len(bomb.text) == PREVIEW_MAX
    assert body_view(b"\x1f\x8bnonsense", 0).format == "binary"


def test_headers_of_a_service_bus_are_shown_but_not_where_bodies_are_masked() -> None:
    found = message("x", extension=encode_nservicebus({"NServiceBus.FailedQ": "a@b"}))
    details = message_details(found)
    assert (details.bus, details.headers) == ("nservicebus", {"NServiceBus.FailedQ": "a@b"})
    assert message_details(found, frozenset({"card"})).headers == {}


def test_reasons_are_words() -> None:
    assert reason_of(0) == ""
    assert reason_of(0xC002) == "the message was not received in time"
    assert reason_of(0x1234)
