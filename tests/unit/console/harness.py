"""A console over a manager of the same process, and a client that talks HTTP to it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import wraps
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from openmsmq import aio
from openmsmq.client._async.manager import Manager
from openmsmq.console.application import ConsoleApplication
from openmsmq.console.links import ManagerEntry
from openmsmq.console.sessions import make_code
from openmsmq.console.state import ConsoleSettings, ConsoleState
from openmsmq.types.caller import Grant

KEY = b"k" * 32
TOKEN = "omq_aa_secret"
AS_PROGRAM = {"Authorization": f"Bearer {TOKEN}"}


class Desk:
    """A console, its manager, and someone who uses it."""

    def __init__(self, manager: Manager, state: ConsoleState, client: TestClient[Any, Any]) -> None:
        self.manager = manager
        self.state = state
        self.client = client
        self.acts: list[tuple[str, str, str, str]] = []

    async def ask(
        self, method: str, path: str, body: Any = None, status: int = 200, **headers: str
    ) -> Any:
        """What the API answers to a program."""
        given = {**AS_PROGRAM, **{name.replace("_", "-"): text for name, text in headers.items()}}
        async with self.client.request(
            method, f"/api/v1{path}", json=body, headers=given
        ) as answer:
            text = await answer.text(errors="replace")
            assert answer.status == status, f"{answer.status}: {text}"
            self.headers = answer.headers
            is_json = "json" in answer.content_type and "ndjson" not in answer.content_type
            return await answer.json() if is_json else text

    def code(self, now: float) -> str:
        """What a one-time link carries."""
        return make_code(KEY, now)


@asynccontextmanager
async def desk(**settings: Any) -> AsyncIterator[Desk]:
    """A console with one manager, `here`."""
    with TemporaryDirectory() as directory:
        async with aio.open(Path(directory)) as manager:

            async def connect(token: str) -> Manager:
                return manager

            hosts = frozenset({"localhost"})
            state = ConsoleState(
                ConsoleSettings(hosts, **settings),
                {"here": ManagerEntry("here", connect)},
                key=KEY,
                grant_of=lambda token: Grant("admin") if token == TOKEN else None,
            )
            app = web.Application()
            ConsoleApplication(state).add_to(app)
            async with TestClient(TestServer(app)) as client:
                found = Desk(manager, state, client)
                state.keep_audit = lambda *act: found.acts.append(act)
                yield found


def at_desk(test: Callable[[Desk], Awaitable[None]]) -> Callable[[], None]:
    """A test with a console."""

    @wraps(test)
    def run() -> None:
        async def inside() -> None:
            async with desk() as found:
                await test(found)

        asyncio.run(inside())

    del run.__wrapped__  # pytest looks at its parameters
    return run
