"""Connections to managers, one for each login."""

from __future__ import annotations

import asyncio
from typing import cast

import pytest

from openmsmq.client._async.manager import Manager
from openmsmq.console.limits import LINK_IDLE_S, LINKS_MAX
from openmsmq.console.links import Links, ManagerEntry
from openmsmq.console.problems import RequestRefused


class Fake:
    """A manager that remembers whether it was closed."""

    def __init__(self, token: str) -> None:
        self.token = token
        self.is_closed = False

    async def close(self) -> None:
        self.is_closed = True


def house() -> tuple[Links, list[Fake], list[float]]:
    made: list[Fake] = []
    clock = [0.0]

    async def connect(token: str) -> Manager:
        made.append(Fake(token))
        return cast(Manager, made[-1])

    entries = {name: ManagerEntry(name, connect) for name in ("a", "b")}
    return Links(entries, lambda: clock[0]), made, clock


def test_logins_do_not_share_connections() -> None:
    async def test() -> None:
        links, made, _ = house()
        first = links.find("a", "one")
        assert links.find("a", "one") is first
        await asyncio.gather(first.manager(), first.manager())
        await links.find("a", "two").manager()
        await links.find("b", "one").manager()
        assert [one.token for one in made] == ["one", "two", "one"]
        await links.close()
        assert all(one.is_closed for one in made)

    asyncio.run(test())


def test_what_is_idle_or_too_much_is_closed() -> None:
    async def test() -> None:
        links, made, clock = house()
        await links.find("a", "old").manager()
        clock[0] += LINK_IDLE_S + 1
        links.find("a", "new")
        assert len(links.all()) == 1
        for number in range(LINKS_MAX + 5):
            links.find("b", str(number))
        assert len(links.all()) == LINKS_MAX
        await links.close()
        assert made[0].is_closed

    asyncio.run(test())


def test_a_manager_that_is_not_known_is_refused() -> None:
    links, _, _ = house()
    with pytest.raises(RequestRefused, match="knows no manager"):
        links.find("c", "")
