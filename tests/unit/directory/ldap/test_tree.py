from __future__ import annotations

from openmsmq.directory.ldap.tree import LdapEntry, LdapError


def test_attributes_are_found_in_any_case() -> None:
    entry = LdapEntry("CN=x", {"msmqcost": (b"3",), "member": (b"a", b"b")})
    assert entry.text("mSMQCost") == "3"
    assert entry.values("Member") == (b"a", b"b")
    assert entry.first("cn") is None
    assert entry.text("cn") == ""


def test_an_error_names_its_code() -> None:
    assert str(LdapError(32, "gone\n")) == "no such object: gone"
    assert str(LdapError(99)) == "result code 99"
