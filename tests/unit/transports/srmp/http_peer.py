"""A listener for tests, and strangers that speak to it byte by byte."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

from openmsmq.clock import SystemClock
from openmsmq.transports.srmp.exchange import PostSource, SrmpPost
from openmsmq.transports.srmp.listener import SrmpListener
from openmsmq.transports.srmp.outcomes import SrmpOutcome


class Site:
    """A listener that runs, and what was posted to it."""

    def __init__(self, **given: Any) -> None:
        self.posts: list[SrmpPost] = []
        self.sources: list[PostSource] = []
        self.outcome: SrmpOutcome | Exception = SrmpOutcome.STORED
        self.gate: asyncio.Event | None = None
        "What storing waits for."
        self.listener = SrmpListener(self._take, SystemClock(), **given)
        self.host, self.port = "", 0

    async def _take(self, post: SrmpPost, source: PostSource) -> SrmpOutcome:
        if self.gate is not None:
            await self.gate.wait()
        if isinstance(self.outcome, Exception):
            raise self.outcome
        self.posts.append(post)
        self.sources.append(source)
        return self.outcome

    async def connect(self) -> Stranger:
        """A connection of someone who has no HTTP library."""
        return Stranger(*await asyncio.open_connection(self.host, self.port))

    async def say(self, data: bytes) -> bytes:
        """Send `data` on a connection of its own; all that is answered."""
        stranger = await self.connect()
        try:
            return await stranger.say(data)
        finally:
            stranger.close()


class Stranger:
    """A connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    async def say(self, data: bytes) -> bytes:
        """Send `data`; the head of the answer, or nothing if the connection was closed."""
        with suppress(ConnectionError):
            self.writer.write(data)
            await self.writer.drain()
        try:
            async with asyncio.timeout(20):
                return await self.reader.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError as error:
            return error.partial
        except ConnectionError:
            return b""

    def close(self) -> None:
        """Go away."""
        self.writer.transport.abort()


def at_site(test: Callable[[Site], Awaitable[None]], **given: Any) -> None:
    """Run a listener, do something there, stop it."""

    async def run() -> None:
        site = Site(**given)
        site.host, site.port = await site.listener.start()
        try:
            async with asyncio.timeout(60):
                await test(site)
        finally:
            await site.listener.stop("the test is over")

    asyncio.run(run())
