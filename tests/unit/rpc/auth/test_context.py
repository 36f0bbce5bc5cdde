"""Authentication types and levels."""

from __future__ import annotations

from openmsmq.rpc.auth.context import AuthLevel, AuthType


def test_levels_rise_with_what_they_protect() -> None:
    assert list(AuthLevel) == sorted(AuthLevel)
    assert (AuthLevel.CONNECT, AuthLevel.INTEGRITY, AuthLevel.PRIVACY) == (2, 5, 6)


def test_types_have_the_numbers_of_the_specification() -> None:
    assert (AuthType.SPNEGO, AuthType.NTLM, AuthType.KERBEROS) == (9, 10, 16)
