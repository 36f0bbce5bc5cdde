"""The console as a process of its own, beside several managers."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Callable, Mapping

from aiohttp import web

from openmsmq.console.application import ConsoleApplication
from openmsmq.console.links import ManagerEntry
from openmsmq.console.managers import ManagerPlace, connecting_to
from openmsmq.console.sessions import make_code
from openmsmq.console.state import ConsoleSettings, ConsoleState


class ConsoleProcess:
    """A console on a port of this computer."""

    def __init__(
        self,
        managers: Mapping[str, ManagerPlace],
        *,
        key: bytes,
        read_only: bool = False,
    ) -> None:
        """Who logs in by a link uses the token of each of `managers`, by name."""
        entries = {
            name: ManagerEntry(name, connecting_to(place)) for name, place in managers.items()
        }
        names = frozenset({"localhost", socket.gethostname().lower()})
        settings = ConsoleSettings(names, read_only=read_only, link_role="")
        self.state = ConsoleState(settings, entries, key=key)
        self._key = key
        self._kept = [name for name, place in managers.items() if is_kept(place)]

    def link(self, port: int) -> str:
        """A link that logs in, once."""
        return f"http://127.0.0.1:{port}/login#{make_code(self._key, time.time())}"

    def run(self, port: int, ready: Callable[[str], None]) -> None:
        """Serve until it is interrupted."""
        asyncio.run(self._serve(port, ready))

    async def _serve(self, port: int, ready: Callable[[str], None]) -> None:
        app = web.Application()
        ConsoleApplication(self.state).add_to(app)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", port)
        try:
            await site.start()
            for name in self._kept:
                self.state.keep_minutes(name, self.state.by_link(name))
            ready(self.link(runner.addresses[0][1]))
            await asyncio.Event().wait()
        finally:
            await runner.cleanup()


def is_kept(place: ManagerPlace) -> bool:
    """Whether the console itself may log in at a manager, to keep its numbers over a day."""
    return bool(place.token) or place.address.startswith(("unix:", "127.0.0.1:", "[::1]:"))
