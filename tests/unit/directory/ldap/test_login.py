from __future__ import annotations

from importlib.util import find_spec

import pytest

from openmsmq.directory.ldap.login import KerberosSeal, LdapLogin, NtlmSeal, begin
from openmsmq.errors import InvalidParameter
from openmsmq.rpc.auth.context import AuthenticationFailed
from openmsmq.rpc.auth.ntlm import NtlmAcceptor, NtlmTarget
from openmsmq.rpc.auth.spnego import SpnegoAcceptor
from openmsmq.security.nt_hash import nt_hash


@pytest.mark.parametrize("user", ["OMQ\\anna", "anna@omq"])
def test_ntlm_encrypts_what_follows(user: str) -> None:
    """MQDS-005"""
    names = []

    def find(domain: str, name: str) -> bytes:
        names.append((domain, name))
        return nt_hash("secret")

    ntlm = NtlmAcceptor(find, NtlmTarget("DC1", "OMQ"), bytes(8), 1_790_000_000.0)
    server = SpnegoAcceptor(ntlm)
    seal = begin(LdapLogin("ntlm", user, "secret"), "dc1")
    token = b""
    while not seal.is_complete:
        token = seal.step(token)
        if token:
            token = server.step(token)
    assert names[0][1] == "anna"
    assert names[0][0].lower() == "omq"
    wrapped = seal.wrap(b"hello")
    assert b"hello" not in wrapped
    assert server.unseal(wrapped[16:], 0, 5, wrapped[:16]) == b"hello"
    sealed, signature = server.seal(b"world", 0, 5)
    assert seal.unwrap(signature + sealed) == b"world"
    sealed, signature = server.seal(b"world", 0, 5)
    with pytest.raises(AuthenticationFailed):
        seal.unwrap(signature + b"other")


def test_a_login_does_not_show_its_password() -> None:
    assert "secret" not in repr(LdapLogin("ntlm", "anna", "secret"))
    assert isinstance(begin(LdapLogin("ntlm", "anna", "x"), "dc1"), NtlmSeal)


def test_only_a_password_needs_tls() -> None:
    """MQDS-006"""
    assert LdapLogin("password").uses_tls
    assert not LdapLogin("ntlm").uses_tls
    assert not LdapLogin("kerberos").uses_tls


@pytest.mark.skipif(find_spec("gssapi") is not None, reason="the extra kerberos is installed")
def test_kerberos_says_what_it_needs() -> None:
    with pytest.raises(InvalidParameter, match="gssapi"):
        KerberosSeal(LdapLogin("kerberos"), "dc1")
