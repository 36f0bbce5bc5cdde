from __future__ import annotations

import pytest

from openmsmq.directory.ldap.controller import Controller, Domain, parse_place
from openmsmq.errors import InvalidParameter


def test_addresses_of_controllers() -> None:
    """MQDS-004: port 389 unless another is given."""
    assert Controller.parse("ldap://dc1") == ("dc1", 389, False)
    assert Controller.parse("ldaps://dc1/") == ("dc1", 636, True)
    assert str(Controller.parse("ldap://dc1:3389")) == "ldap://dc1:3389"
    for wrong in ("dc1", "http://dc1", "ldap://", "ldap://dc1/base", "ldap://dc1:x"):
        with pytest.raises(InvalidParameter):
            Controller.parse(wrong)


def test_short_names_of_controllers() -> None:
    """MQMP-301: 1 to 15 characters; an address is no name."""
    names = {
        "ldap://dc1.example.com": "DC1",
        "ldaps://dc-munich": "DC-MUNICH",
        "ldap://192.0.2.7": "",
        "ldap://[2001:db8::7]": "",
        "ldap://a-name-of-16-char.example.com": "",
        "ldap://a-name-of-15-ch.example.com": "A-NAME-OF-15-CH",
    }
    for url, name in names.items():
        assert Controller.parse(url).netbios_name == name, url


def test_a_name_is_a_domain_and_a_url_a_controller() -> None:
    """MQDS-001"""
    assert parse_place("example.com") == Domain("example.com")
    assert str(parse_place("corp.example.com")) == "corp.example.com"
    assert parse_place("ldap://example.com") == Controller("example.com", 389, False)
    for wrong in ("dc1", "example..com", "dc1.example.com:389", "a b.c", "http://dc1"):
        with pytest.raises(InvalidParameter):
            parse_place(wrong)
