"""What programs may do that show a certificate."""

from __future__ import annotations

import pytest

from openmsmq.access.certificates import Certificates, certificate_names, read_clients
from openmsmq.types.caller import Grant

SHOP = {
    "subject": ((("countryName", "DE"),), (("commonName", "web shop"),)),
    "issuer": ((("commonName", "Shop CA"),),),
    "subjectAltName": (("DNS", "Shop.Example"), ("IP Address", "192.0.2.7"), ("DNS", "www.shop")),
}
"As `ssl` shows a certificate."


def test_names_are_those_of_the_subject_and_its_hosts() -> None:
    assert certificate_names(SHOP) == ("CN=web shop", "DNS=shop.example", "DNS=www.shop")
    assert certificate_names({}) == ()


def test_a_name_has_rights_for_all_queues_or_for_some() -> None:
    text = {
        "CN=web shop": {"rights": ["send"], "queues": ["orders*"]},
        "DNS=Reports.Example": ["read"],
        "CN=both": ["read", "send"],
        "CN=anna": ["admin"],
    }
    assert read_clients(text) == {
        "CN=web shop": Grant("send", (r"private$\orders*",), certificate="CN=web shop"),
        "DNS=reports.example": Grant("read", certificate="DNS=reports.example"),
        "CN=both": Grant("read+send", certificate="CN=both"),
        "CN=anna": Grant("admin", certificate="CN=anna"),
    }


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("CN=x", "a table of different names"),
        ({"x": ["read"]}, '"CN=common name" or "DNS=host name"'),
        ({"CN=": ["read"]}, '"CN=common name" or "DNS=host name"'),
        ({"DNS=a": ["read"], "DNS=A": ["send"]}, "a table of different names"),
        ({"CN=x": "read"}, "CN=x: a list of rights, or a table"),
        ({"CN=x": {"queues": ["a"]}}, "CN=x: a list of rights, or a table"),
        ({"CN=x": {"rights": ["read"], "role": 1}}, "CN=x: a list of rights, or a table"),
        ({"CN=x": []}, "CN=x: a list of watch, peek, read, send, operate, admin"),
        ({"CN=x": ["write"]}, "CN=x: a list of watch, peek, read, send, operate, admin"),
        ({"CN=x": {"rights": "read"}}, "CN=x: a list of watch, peek, read, send, operate, admin"),
        ({"CN=x": {"rights": ["read"], "queues": "a"}}, "CN=x: a list of patterns"),
        ({"CN=x": {"rights": ["read"], "queues": [1]}}, "CN=x: a list of patterns"),
        ({"CN=x": {"rights": ["read"], "queues": []}}, "leave it out for all queues"),
        ({"CN=x": {"rights": ["read"], "queues": [""]}}, "a pattern of queue names is needed"),
    ],
)
def test_what_makes_no_sense_is_refused_in_words(given: object, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        read_clients(given)


def test_the_first_entry_for_one_of_the_names_counts() -> None:
    names = certificate_names(SHOP)
    host, common = read_clients({"DNS=www.shop": ["read"], "CN=web shop": ["admin"]}).values()
    assert Certificates({host.certificate: host, common.certificate: common}).check(names) == host
    assert Certificates({common.certificate: common, host.certificate: host}).check(names) == common


@pytest.mark.parametrize("name", ["CN=Web Shop", "CN=Shop CA", "DNS=web shop", "DNS=*.example"])
def test_a_name_that_is_not_one_of_its_own_gives_nothing(name: str) -> None:
    assert Certificates(read_clients({name: ["admin"]})).check(certificate_names(SHOP)) is None
    assert Certificates({}).check(certificate_names(SHOP)) is None


def test_an_entry_that_was_changed_or_removed_is_missed() -> None:
    certificates = Certificates(read_clients({"CN=web shop": ["send"]}))
    grant = certificates.check(["CN=web shop"])
    assert grant is not None
    assert certificates.has(grant)
    certificates.entries = read_clients({"CN=web shop": ["read"]})
    assert not certificates.has(grant)
    certificates.entries = {}
    assert not certificates.has(grant)


def test_who_has_a_grant_is_a_token_or_a_certificate() -> None:
    assert Grant("read", (), "3f9a01c7").holder == "3f9a01c7"
    assert Grant("read", certificate="CN=x").holder == "CN=x"
    assert Grant("admin").holder == ""
