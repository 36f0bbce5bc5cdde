from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from openmsmq.directory.ldap.controller import Controller, Domain
from openmsmq.directory.ldap.controllers import KNOWN_FOR, ControllerList, record_names
from openmsmq.directory.ldap.resolver import ServiceRecord
from openmsmq.directory.ldap.tree import ConnectionFailed
from openmsmq.directory.limits import CONTROLLERS_MAX

ALL, NEAR = "_ldap._tcp.dc._msdcs.example.com", "_ldap._tcp.HQ._sites.dc._msdcs.example.com"
EXAMPLE = Domain("example.com")


class Names:
    """What DNS says, and what it was asked for."""

    def __init__(self, **hosts: list[str]) -> None:
        self.hosts = hosts
        self.asked: list[str] = []
        self.is_down = False
        self.now = 0.0

    async def look_up(self, name: str) -> list[ServiceRecord]:
        self.asked.append(name)
        if self.is_down:
            raise ConnectionFailed("no name server answers")
        found = self.hosts.get("near" if "_sites" in name else "all", [])
        return [ServiceRecord(host, 389) for host in found]

    def listed(self, *places: Controller | Domain, site: str = "") -> ControllerList:
        return ControllerList(places, site=site, lookup=self.look_up, now=lambda: self.now)


def hosts(found: tuple[Controller, ...]) -> list[str]:
    return [controller.host for controller in found]


def run(test: Callable[[], Awaitable[None]]) -> None:
    async def go() -> None:
        await test()

    asyncio.run(go())


def test_dns_is_asked_for_the_controllers_of_a_domain() -> None:
    """MQDS-001, MQDS-002: those of the own site first, each once."""
    names = Names(near=["dc2"], all=["dc1", "dc2", "dc3"])

    async def test() -> None:
        assert hosts(await names.listed(EXAMPLE).current()) == ["dc1", "dc2", "dc3"]
        assert names.asked == [ALL]
        assert hosts(await names.listed(EXAMPLE, site="HQ").current()) == ["dc2", "dc1", "dc3"]
        assert names.asked[1:] == [NEAR, ALL]

    run(test)
    assert record_names("example.com", "", catalog=True) == ["_ldap._tcp.gc._msdcs.example.com"]


def test_the_list_is_renewed_every_day() -> None:
    """MQDS-003, SYS-106, DMPR-375, DMPR-376: and kept while DNS does not answer."""
    names = Names(all=["dc1"])

    async def test() -> None:
        listed = names.listed(EXAMPLE)
        assert hosts(await listed.current()) == ["dc1"]
        names.hosts["all"] = ["dc1", "dc2"]
        names.now = KNOWN_FOR - 1
        assert hosts(await listed.current()) == ["dc1"]
        names.now = KNOWN_FOR
        names.is_down = True
        assert hosts(await listed.current()) == ["dc1"]
        names.is_down = False
        assert hosts(await listed.current()) == ["dc1", "dc2"]
        names.hosts["all"] = ["dc3"]
        listed.expire()
        assert hosts(await listed.current()) == ["dc3"]

    run(test)


def test_without_dns_and_without_controllers_it_says_so() -> None:
    names = Names()

    async def test() -> None:
        with pytest.raises(ConnectionFailed, match=r"no domain controllers of example\.com"):
            await names.listed(EXAMPLE).current()
        names.is_down = True
        with pytest.raises(ConnectionFailed, match="no name server answers"):
            await names.listed(EXAMPLE).current()
        named = Controller("dc9", 389, False)
        assert await names.listed(named).current() == (named,)

    run(test)


def test_one_that_failed_is_tried_last_and_the_list_is_bounded() -> None:
    names = Names(all=[f"dc{at}" for at in range(200)])

    async def test() -> None:
        listed = names.listed(EXAMPLE)
        found = await listed.current()
        assert len(found) == CONTROLLERS_MAX
        listed.put_last(found[0])
        listed.put_last(Controller("unknown", 389, False))
        assert await listed.current() == (*found[1:], found[0])

    run(test)
