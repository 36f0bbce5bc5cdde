"""Waiting, of both kinds."""

from __future__ import annotations

import asyncio
import time

from openmsmq.client._async import sleep as waiting_aio
from openmsmq.client._sync import sleep as waiting_sync


def test_a_pause_takes_its_time() -> None:
    before = time.monotonic()
    asyncio.run(waiting_aio.pause(0.02))
    waiting_sync.pause(0.02)
    assert time.monotonic() - before >= 0.035


def test_one_is_let_in_at_a_time() -> None:
    async def main() -> None:
        lock = waiting_aio.run_once()
        async with lock:
            assert lock.locked()
        assert not lock.locked()

    asyncio.run(main())
    lock = waiting_sync.run_once()
    with lock:
        assert not lock.acquire(blocking=False)
    assert lock.acquire(blocking=False)
