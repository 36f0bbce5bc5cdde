from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from tests.name_server import REFUSED, TRUNCATED, NameServer, words

from openmsmq.directory.ldap import resolver
from openmsmq.directory.ldap.dns import ServiceRecord
from openmsmq.directory.ldap.resolver import find_services, name_servers
from openmsmq.directory.ldap.tree import ConnectionFailed

NAME = "_ldap._tcp.dc._msdcs.example.com"
DC1 = ServiceRecord(0, 100, 389, "dc1.example.com")
MANY = [ServiceRecord(0, 100, 389, f"dc{at}.example.com") for at in range(100)]


def test_the_name_servers_of_this_computer() -> None:
    text = "# a comment\nsearch a.b\nnameserver 10.0.0.1\nnameserver fe80::1%eth0\nnameserver\n"
    assert name_servers(text) == ["10.0.0.1", "fe80::1%eth0"]
    assert name_servers("") == ["127.0.0.1"]
    assert len(name_servers("nameserver 10.0.0.1\n" * 9)) == 3


def test_servers_come_over_udp_and_long_lists_over_tcp() -> None:
    """MQDS-001: an answer to another question, or none at all, is passed over."""

    async def run() -> None:
        async with NameServer({NAME: MANY}) as server:
            server.noise = [b"", b"x", words(0, 0x8000, 0, 0, 0, 0) * 2]
            assert await find_services(NAME, [server.place]) == MANY
            server.flags = TRUNCATED
            assert await find_services(NAME, [server.place]) == MANY
            assert await find_services("_ldap._tcp.nowhere", [server.place]) == []

    asyncio.run(run())


def test_another_name_server_is_asked_for_one_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resolver, "DNS_WITHIN", 0.5)

    async def run() -> None:
        async with NameServer({NAME: [DC1]}) as first, NameServer({NAME: [DC1]}) as second:
            first.flags = REFUSED
            assert await find_services(NAME, [first.place, second.place]) == [DC1]
            assert (len(first.asked), len(second.asked)) == (1, 1)
            with pytest.raises(ConnectionFailed, match=r"127.0.0.1: response code 5$"):
                await find_services(NAME, [first.place])
        with pytest.raises(ConnectionFailed, match=r"127\.0\.0\.1"):
            await find_services(NAME, [first.place])

    asyncio.run(run())


def test_the_settings_of_this_computer_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def run() -> None:
        async with NameServer({NAME: [DC1]}) as server:
            (tmp_path / "resolv.conf").write_text(f"nameserver {server.place[0]}\n")
            monkeypatch.setattr(resolver, "SETTINGS", tmp_path / "resolv.conf")
            monkeypatch.setattr(resolver, "PORT", server.place[1])
            assert await find_services(NAME) == [DC1]
            monkeypatch.setattr(resolver, "SETTINGS", tmp_path / "none")
            assert await find_services(NAME) == [DC1]

    asyncio.run(run())
