"""The console beside several managers."""

from __future__ import annotations

import asyncio
from contextlib import suppress

import aiohttp

from openmsmq.console.managers import ManagerPlace
from openmsmq.console.process import ConsoleProcess


def test_it_serves_and_shows_managers_that_are_away() -> None:
    async def test() -> None:
        process = ConsoleProcess(
            {"a": ManagerPlace("127.0.0.1:1"), "b": ManagerPlace("127.0.0.1:2")}, key=b"k" * 32
        )
        ready: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        serving = asyncio.create_task(process._serve(0, ready.set_result))
        place, _, code = (await ready).partition("/login#")
        headers = {"X-OpenMSMQ": "1"}
        jar = aiohttp.CookieJar(unsafe=True)
        async with aiohttp.ClientSession(headers=headers, cookie_jar=jar) as browser:
            async with browser.post(f"{place}/api/v1/session", json={"code": code}) as answer:
                assert (await answer.json())["managers"] == ["a", "b"]
            async with browser.get(f"{place}/api/v1/managers") as answer:
                assert [one["state"] for one in await answer.json()] == ["away", "away"]
        serving.cancel()
        with suppress(asyncio.CancelledError):
            await serving

    asyncio.run(test())
