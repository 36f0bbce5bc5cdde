"""Addresses of services."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest
from tests.certificates import make_certificates

from openmsmq.client.address import Address
from openmsmq.errors import InvalidParameter


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("shop01", Address("shop01", 1811)),
        ("shop01:4000", Address("shop01", 4000)),
        ("127.0.0.1:65535", Address("127.0.0.1", 65535)),
        ("[::1]", Address("::1", 1811)),
        ("[fe80::1%eth0]:99", Address("fe80::1%eth0", 99)),
        ("unix:/run/openmsmq.sock", Address(socket="/run/openmsmq.sock")),
        ("unix:here/app", Address(socket="here/app")),
        ("/run/openmsmq.sock", Address(socket="/run/openmsmq.sock")),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_an_address_is_a_host_or_a_unix_socket(text: str, found: Address) -> None:
    assert Address.parse(text) == found
    assert Address.parse(str(found)) == found


@pytest.mark.parametrize(
    "text",
    [
        *("", ":1811", "host:", "host:0", "host:65536", "host:x", "host:-1", "host:١٢", "a b"),
        *("::1", "[]:1", "[::1", "::1]", "unix:", "host:1811\n"),
    ],
)
def test_what_is_no_address_is_refused(text: str) -> None:
    with pytest.raises(InvalidParameter, match="HOST:PORT"):
        Address.parse(text)


def test_a_token_is_not_shown() -> None:
    address = Address.parse("shop01", token="omq_secret")
    assert address.token == "omq_secret"
    assert "secret" not in repr(address) + str(address)


def test_tls_is_asked_for_in_several_ways(tmp_path: Path) -> None:
    make_certificates(tmp_path)
    own = ssl.create_default_context()
    assert Address.parse("host", tls=own).tls is own
    for none in (None, False):
        assert Address.parse("host", tls=none).tls is None
    system = Address.parse("host", tls=True).tls
    assert system is not None
    assert system.check_hostname
    with_ca = Address.parse("host", tls=tmp_path / "ca.pem").tls
    assert with_ca is not None
    assert [ca["subject"] for ca in with_ca.get_ca_certs()] == [((("commonName", "Shop CA"),),)]


def test_a_ca_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        Address.parse("host", tls=tmp_path / "none.pem")
