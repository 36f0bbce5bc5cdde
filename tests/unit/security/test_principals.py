"""Principals: identifiers of those who ask, and back."""

from __future__ import annotations

import pytest

from openmsmq.errors import InvalidParameter
from openmsmq.security.principals import (
    ANONYMOUS_TOKEN,
    EVERYONE_TOKEN,
    authenticated_token,
    format_principal,
    format_token,
    parse_principal,
    principal_sid,
)
from openmsmq.security.sid import (
    ANONYMOUS,
    AUTHENTICATED_USERS,
    EVERYONE,
    LOCAL_SYSTEM,
    NETWORK,
    Sid,
)


@pytest.mark.parametrize(
    "text",
    [
        "everyone",
        "anonymous",
        "administrators",
        "user:anna",
        "user:Jörg",
        "token:3f9a01c7",
        "certificate:CN=web shop",
        "unix:1000",
        "unix-group:7",
        "manager:shop01",
        "S-1-5-21-1-2-3-1104",
    ],
)
def test_names_come_back(text: str) -> None:
    found = parse_principal(text)
    assert parse_principal(format_principal(found)) == found
    assert format_principal(found).lower() == text.lower()
    assert Sid.from_text(str(found)) == found
    assert Sid.decode(found.encode()) == found


def test_a_long_name_is_hashed_and_still_one_identifier() -> None:
    long = "x" * 64
    assert parse_principal(f"user:{long}") != parse_principal(f"user:{long[1:]}y")
    assert format_principal(parse_principal(f"user:{long}")).startswith("S-1-")


def test_users_regardless_of_case_tokens_not() -> None:
    assert principal_sid("user", "Anna") == principal_sid("user", "aNNA")
    assert principal_sid("token", "AB") != principal_sid("token", "ab")
    assert principal_sid("user", "ab") != principal_sid("token", "ab")
    assert principal_sid("user", "\N{KELVIN SIGN}") != principal_sid("user", "k")


@pytest.mark.parametrize(
    "text", ["", "anna", "user:", "group:x", "unix:x", "unix:99999999999", "S-1-x", "unix:²"]
)
def test_a_text_that_names_no_principal_is_refused(text: str) -> None:
    with pytest.raises(InvalidParameter):
        parse_principal(text)


@pytest.mark.parametrize(
    "sid", [Sid(0x4F4D51, (1, 0xFFFFFFFF)), Sid(0x4F4D51, (9, 1)), Sid(0x4F4D51), Sid(22, (3, 5))]
)
def test_an_identifier_that_is_no_name_is_shown_as_it_is(sid: Sid) -> None:
    assert format_principal(sid) == str(sid)


def test_tokens() -> None:
    "MSEC-141, MSEC-145"
    assert {ANONYMOUS, NETWORK} == ANONYMOUS_TOKEN
    assert {EVERYONE} == EVERYONE_TOKEN
    assert authenticated_token(LOCAL_SYSTEM) == {
        LOCAL_SYSTEM,
        EVERYONE,
        AUTHENTICATED_USERS,
        NETWORK,
    }


def test_a_token_is_named_by_its_own_identifier_or_else_by_a_group() -> None:
    alice = principal_sid("user", "alice")
    assert format_token(authenticated_token(alice)) == "user:alice"
    assert format_token(frozenset({EVERYONE})) == format_principal(EVERYONE)
    assert format_token(frozenset()) == ""
