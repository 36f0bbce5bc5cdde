"""What administrators do with a service, over its socket."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import pytest
from tests.unit.app_server.test_control_calls import CLIENT, Dependents, sessions
from tests.unit.client.services import Service

from openmsmq import aio
from openmsmq.client._async.manager import Manager
from openmsmq.errors import InvalidParameter, UnsupportedOperation
from openmsmq.transports.peers.control import SessionControl
from openmsmq.types.settings import ConfigurationEntry


def with_service(folder: Path, test: Callable[[Manager, SessionControl], Awaitable[None]]) -> None:
    service = Service(folder)
    control = service.server.control = sessions(folder)[0]
    entry = ConfigurationEntry("app.port", "1811", "1811", True, False, False, "A port.")
    service.server.configured = lambda: [entry]
    service.server.dependents = Dependents()

    async def run() -> None:
        async with await aio.connect(service.address) as manager:
            await test(manager, control)

    try:
        asyncio.run(run())
    finally:
        service.close()


def test_sessions_and_recordings(tmp_path: Path) -> None:
    async def test(manager: Manager, control: SessionControl) -> None:
        service = manager.control
        assert [one.id for one in await service.sessions()] == ["m3", "p1", "d5"]
        assert await service.dependents() == [CLIENT]
        await service.end_session("m3")
        begun = await service.start_recording(30, peer="10.0.0.7")
        assert (begun.state, begun.peer) == ("running", "10.0.0.7")
        running = control.recordings.running
        assert running is not None
        session = running.recorder.session(("10.0.0.1", 1), ("10.0.0.7", 2), 5.0)
        for _ in range(30):
            session.sent(bytes(60_000), 5.0)
        ended = await service.stop_recording(begun.id)
        assert await service.recordings() == [ended]
        (file,) = ended.files
        parts = [part async for part in service.read_recording(begun.id, file.name)]
        assert len(parts) == 2
        assert sum(map(len, parts)) == file.size
        await service.remove_recording(begun.id)
        with pytest.raises(InvalidParameter):
            await service.stop_recording(begun.id)

    with_service(tmp_path, test)


def test_tokens_and_configuration(tmp_path: Path) -> None:
    async def test(manager: Manager, control: SessionControl) -> None:
        service = manager.control
        made, secret = await service.create_token("send", ["orders"], label="x", expires=1 << 33)
        assert made.id in secret
        assert (await service.tokens()) == [made]
        assert await service.check_access(made.id, "send", "orders")
        assert not await service.check_access(made.id, "peek", "orders")
        assert await service.revoke_token(made.id) == made
        assert [one.place for one in await service.configuration()] == ["app.port"]

    with_service(tmp_path, test)


def test_a_directory_is_no_service(tmp_path: Path) -> None:
    async def test() -> None:
        async with aio.open(tmp_path) as manager:
            with pytest.raises(UnsupportedOperation, match="only a service"):
                await manager.control.sessions()

    asyncio.run(test())
