from __future__ import annotations

import asyncio
import builtins
import sys
from typing import Any

import pytest
from tests.name_server import REFUSED, TRUNCATED, NameServer, Row, words

from openmsmq.directory.ldap import resolver
from openmsmq.directory.ldap.resolver import ServiceRecord, find_services
from openmsmq.directory.ldap.tree import ConnectionFailed

NAME = "_ldap._tcp.dc._msdcs.example.com"
DC1 = Row(0, 100, 389, "dc1.example.com")
MANY = [Row(at, 100, 389, f"dc{at}.example.com") for at in range(100)]
FOUND = [ServiceRecord(one.host, one.port) for one in MANY]


def test_servers_come_over_udp_and_long_lists_over_tcp() -> None:
    """MQDS-001: by priority; an answer to another question, or none at all, is passed over."""

    async def run() -> None:
        async with NameServer({NAME: MANY[::-1]}) as server:
            server.noise = [b"", b"x", words(0, 0x8000, 0, 0, 0, 0) * 2]
            assert await find_services(NAME, [server.place]) == FOUND
            server.flags = TRUNCATED
            assert await find_services(NAME, [server.place]) == FOUND
            assert await find_services("_ldap._tcp.nowhere", [server.place]) == []

    asyncio.run(run())


def test_a_service_that_is_said_not_to_be_there_has_no_servers() -> None:
    """RFC 2782: a target that is the root."""

    async def run() -> None:
        async with NameServer({NAME: [Row(0, 0, 0, "")], "_a._tcp.example.com": []}) as server:
            assert await find_services(NAME, [server.place]) == []
            assert await find_services("_a._tcp.example.com", [server.place]) == []

    asyncio.run(run())


def test_another_name_server_is_asked_for_one_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resolver, "DNS_WITHIN", 1.0)

    async def run() -> None:
        async with NameServer({NAME: [DC1]}) as first, NameServer({NAME: [DC1]}) as second:
            first.flags = REFUSED
            found = await find_services(NAME, [first.place, second.place])
            assert found == [ServiceRecord("dc1.example.com", 389)]
            assert first.asked
            assert second.asked
            with pytest.raises(ConnectionFailed, match=r"REFUSED"):
                await find_services(NAME, [first.place])
        with pytest.raises(ConnectionFailed, match=NAME):
            await find_services(NAME, [first.place])

    asyncio.run(run())


@pytest.mark.parametrize("name", ["a..b", "x" * 64, ".".join(["x" * 60] * 5)])
def test_what_is_no_name_is_not_asked_for(name: str) -> None:
    with pytest.raises(ConnectionFailed, match="DNS was asked for"):
        asyncio.run(find_services(name, [("127.0.0.1", 9)]))


def test_without_the_package_it_says_what_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *more: Any) -> Any:
        if name.split(".")[0] == "dns":
            raise ImportError(name)
        return real(name, *more)

    for module in [name for name in sys.modules if name.split(".")[0] == "dns"]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ConnectionFailed, match=r"openmsmq\[directory\]"):
        asyncio.run(find_services(NAME))
