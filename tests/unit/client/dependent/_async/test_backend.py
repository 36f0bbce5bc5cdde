"""A dependent client for asyncio."""

from __future__ import annotations

import asyncio

import pytest
from tests.unit.client.remote_read.managers import LOGIN, RemoteManager, wait_until

from openmsmq import aio
from openmsmq.errors import ReceiveTimeout


def test_messages_and_transactions(elsewhere: RemoteManager) -> None:
    """MQMP-512"""

    async def run() -> None:
        place = {"port": elsewhere.port, **LOGIN}
        async with aio.connect_dependent("127.0.0.1", **place) as manager:
            queue = await manager.open_queue("billing")
            async with manager.transaction() as transaction:
                await queue.send(b"one", transaction=transaction)
            assert (await queue.receive(timeout=5)).body == b"one"
            with pytest.raises(ReceiveTimeout):
                await queue.receive(timeout=0)

    asyncio.run(run())


def test_a_read_that_is_given_up_takes_nothing(elsewhere: RemoteManager) -> None:
    """MQMP-495"""

    async def run() -> None:
        place = {"port": elsewhere.port, **LOGIN}
        async with aio.connect_dependent("127.0.0.1", **place) as manager:
            queue = await manager.open_queue("orders")
            waiting = asyncio.create_task(queue.receive(timeout=None))
            await asyncio.to_thread(wait_until, lambda: elsewhere.waiting() == 1)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            await asyncio.to_thread(wait_until, lambda: not elsewhere.waiting())
            elsewhere.send("kept")
            assert elsewhere.count() == 1
            assert (await queue.receive(timeout=5)).body == b"kept"

    asyncio.run(run())
