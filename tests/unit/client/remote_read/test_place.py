"""Where a manager takes remote calls, and how they are protected."""

from __future__ import annotations

from typing import Any

import pytest

from openmsmq.client.remote_read import place as place_module
from openmsmq.client.remote_read.place import RemotePlace
from openmsmq.errors import InvalidParameter
from openmsmq.rpc.auth.context import AuthLevel, AuthType

ALICE: dict[str, Any] = {"user": r"SHOP\alice", "password": "secret"}


def test_a_call_has_30_seconds_unless_the_program_says_otherwise() -> None:
    """MQQP-196, MQRR-293"""
    assert RemotePlace.of("host", **ALICE).timeout == 30
    assert RemotePlace.of("host", **ALICE, timeout=300).timeout == 300


def test_a_user_may_have_a_domain_and_the_password_is_not_shown() -> None:
    place = RemotePlace.of("host", **ALICE)
    assert (place.user, place.domain, place.level) == ("alice", "SHOP", AuthLevel.PRIVACY)
    assert "secret" not in repr(place)
    assert place.password_hash.hex() not in repr(place)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"level": "high"}, "level 'high': one of none, connect"),
        ({"user": ""}, "a user and a password are needed"),
        ({"port": -1}, "port -1"),
        ({"port": 70_000}, "port 70000"),
        ({"port": 0, "mapper_port": 70_000}, "port 70000"),
        ({"auth": "basic"}, "auth 'basic': ntlm or kerberos"),
        ({"auth": "kerberos"}, "no user, no password"),
    ],
)
def test_a_place_that_makes_no_sense_is_refused(given: dict[str, Any], words: str) -> None:
    with pytest.raises(InvalidParameter, match=words):
        RemotePlace.of("host", **{**ALICE, **given})


def test_with_kerberos_the_ticket_is_for_the_computer(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(place_module, "kerberos_initiator", asked.append)
    for computer in ("", "shop01.example.com"):
        made = RemotePlace.of("10.0.0.5", auth="kerberos", computer=computer).channel()
        assert (made.auth_type, made.level) == (AuthType.KERBEROS, AuthLevel.PRIVACY)
    assert asked == ["10.0.0.5", "shop01.example.com"]


@pytest.mark.parametrize(
    ("host", "computer", "name", "expected"),
    [
        ("host", "", "orders", r"DIRECT=OS:host\private$\orders"),
        ("10.0.0.5", "", "orders", r"DIRECT=TCP:10.0.0.5\private$\orders"),
        ("10.0.0.5", "SHOP", r".\private$\orders;retry", r"DIRECT=OS:SHOP\private$\orders;retry"),
        ("host", "", r"DIRECT=OS:other\private$\x", r"DIRECT=OS:other\private$\x"),
    ],
)
def test_names_without_a_computer_are_those_of_the_manager(
    host: str, computer: str, name: str, expected: str
) -> None:
    assert str(RemotePlace.of(host, computer=computer, **ALICE).queue_name(name)) == expected


def test_without_a_login_nothing_is_protected() -> None:
    assert not RemotePlace.of("host", level="none").channel().is_protected
    assert RemotePlace.of("host", **ALICE).channel().is_protected
