"""Opening a directory for asyncio."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

import openmsmq
from openmsmq import aio
from openmsmq.errors import InvalidHandle, MachineQuotaExceeded, StoreInUse


def test_a_manager_can_be_awaited(tmp_path: Path) -> None:
    async def main() -> None:
        manager = await aio.open(tmp_path, name="server1")
        assert manager.name == "server1"
        queue = await manager.create_queue("orders")
        await queue.send("x")
        assert (await queue.receive(timeout=0)).text == "x"
        await manager.close()

    asyncio.run(main())


def test_a_manager_is_closed_when_its_block_ends(tmp_path: Path) -> None:
    async def main() -> None:
        async with aio.open(tmp_path) as manager:
            with pytest.raises(StoreInUse):
                await aio.open(tmp_path)
        with pytest.raises(InvalidHandle):
            await manager.queues()
        async with aio.open(tmp_path):
            pass

    asyncio.run(main())


def test_queues_cursors_and_transactions_are_closed_by_their_blocks(tmp_path: Path) -> None:
    async def main() -> None:
        async with aio.open(tmp_path) as manager:
            await manager.create_queue("orders", transactional=True)
            async with await manager.open_queue("orders") as queue:
                async with manager.transaction() as transaction:
                    await queue.send("x", transaction=transaction)
                async with queue.cursor() as cursor:
                    assert (await cursor.peek(timeout=0)).text == "x"
                with pytest.raises(InvalidHandle):
                    await cursor.peek(timeout=0)
            with pytest.raises(InvalidHandle):
                await queue.peek(timeout=0)

    asyncio.run(main())


def test_a_quota_holds_for_all_queues(tmp_path: Path) -> None:
    async def main() -> None:
        async with aio.open(tmp_path, quota=1) as manager:
            queue = await manager.create_queue("orders")
            with pytest.raises(MachineQuotaExceeded):
                await queue.send(b"x" * 1024)

    asyncio.run(main())


def test_both_apis_have_the_same_names() -> None:
    for name in aio.__all__:
        ours, shadow = getattr(aio, name), getattr(openmsmq, name)
        if isinstance(ours, type):
            public = {entry for entry in vars(ours) if not entry.startswith("_")}
            assert public == {entry for entry in vars(shadow) if not entry.startswith("_")}
