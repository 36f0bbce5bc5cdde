"""The start of a session."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.app_server.machines import Desk

from openmsmq.app_protocol.frames import Kind
from openmsmq.app_server.server import HELLO_TIMEOUT_S, REFUSAL_DELAY_S


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def test_a_connection_without_hello_is_closed_after_30_seconds_and_not_before(desk: Desk) -> None:
    client = desk.connect()
    assert client.session.next_deadline == desk.now + HELLO_TIMEOUT_S == desk.now + 30
    desk.wait(29.9)
    assert client.session.awaits_hello
    desk.wait(0.2)
    assert client.closing()["reason"] == "no HELLO came in time"
    assert client.session.next_deadline is None
    assert desk.metrics.rejected == {"no hello": 1}


def test_a_session_that_was_welcomed_has_no_deadline(desk: Desk) -> None:
    client = desk.welcome()
    desk.wait(1000.0)
    assert client.session.next_deadline is None
    assert not client.session.is_over


def test_a_wrong_token_is_refused_after_a_second_and_nothing_counts_meanwhile(desk: Desk) -> None:
    client = desk.connect(is_trusted=False)
    client.hello("wrong")
    client.tell(Kind.PING)
    assert client.wire.frames() == []
    assert not client.session.awaits_hello
    desk.wait(REFUSAL_DELAY_S - 0.01)
    assert client.wire.frames() == []
    desk.wait(0.02)
    assert client.closing() == {
        "reason": "the token is missing, wrong or has expired",
        "error": "TokenRefused",
    }


def test_a_refusal_is_not_put_off_by_the_time_that_hello_has(desk: Desk) -> None:
    client = desk.connect(is_trusted=False)
    updates = client.wire.updates
    client.hello("wrong")
    assert client.session.next_deadline == desk.now + REFUSAL_DELAY_S
    assert client.wire.updates == updates + 1, "the wire has to know the earlier deadline"


def test_the_first_frame_must_be_hello(desk: Desk) -> None:
    client = desk.connect()
    client.tell(Kind.PING)
    assert client.closing()["reason"] == "a connection begins with HELLO"


def test_a_certificate_without_an_entry_is_named_in_the_refusal(desk: Desk) -> None:
    client = desk.connect(is_trusted=False)
    client.wire.certificate = {"subject": ((("commonName", "shop"),),)}
    client.hello()
    desk.wait(REFUSAL_DELAY_S)
    assert "no entry for the certificate" in client.closing()["reason"]
