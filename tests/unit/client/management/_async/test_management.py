"""A manager elsewhere, looked after by tasks."""

from __future__ import annotations

import asyncio

from tests.unit.client.management._sync.test_management import LOGIN
from tests.unit.client.remote_read.managers import RemoteManager

from openmsmq import aio


def test_tasks_share_a_client(elsewhere: RemoteManager) -> None:
    async def run() -> None:
        management = await aio.connect_management("127.0.0.1", port=elsewhere.port, **LOGIN)
        async with management:
            found = await asyncio.gather(*(management.queue("orders") for _ in range(5)))
            assert [info.messages for info in found] == [0] * 5

    asyncio.run(run())
