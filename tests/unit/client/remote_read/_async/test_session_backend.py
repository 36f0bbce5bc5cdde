"""A queue that someone else has opened."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from uuid import UUID

import pytest
from tests.unit.client.remote_read.managers import LOGIN, RemoteManager, remote_manager

from openmsmq.client.remote_read._async.association import RpcAssociation
from openmsmq.client.remote_read._async.session_backend import SessionBackend
from openmsmq.client.remote_read.place import RemotePlace
from openmsmq.errors import InvalidHandle, InvalidParameter, ServiceNotAvailable
from openmsmq.interfaces.qm2qm.stubs import QMCOMM, OpenedRemoteQueue, OpenRemoteQueue, QmcommOpnum
from openmsmq.interfaces.queue_format import QueueFormatArgument
from openmsmq.types.access import Access, Mode
from openmsmq.types.read import Read

IDENTITY = UUID(int=7)
MODE = Mode(Access.RECEIVE)


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[RemoteManager]:
    with remote_manager(tmp_path) as made:
        yield made


def test_a_queue_is_read_by_the_numbers_of_the_one_who_opened_it(elsewhere: RemoteManager) -> None:
    """MQQP-197, MQQP-216: and is lost with its connections."""
    place = RemotePlace.of("127.0.0.1", port=elsewhere.port, **LOGIN)
    name = place.queue_name("orders")
    elsewhere.send("one", "two")

    async def read() -> list[bytes]:
        opener = RpcAssociation(place, 1, QMCOMM)
        asked = OpenRemoteQueue(QueueFormatArgument.of(name), 0, 1, 0, IDENTITY, 0x400)
        opened = await opener.call(QmcommOpnum.OPEN_REMOTE_QUEUE, asked, OpenedRemoteQueue)
        reader = SessionBackend(place, IDENTITY, connections_max=4)
        with pytest.raises(InvalidParameter):
            await reader.take(name, MODE, (opened.queue, opened.pointer, 0))
        numbers = opened.queue, opened.pointer, opened.context
        handle = await reader.take(name, MODE, numbers)
        await opener.close()
        cursor = await reader.open_cursor(handle)
        found = await reader.read(handle, Read(take=False, timeout=0), None, cursor)
        found += await reader.read(handle, Read(take=True, timeout=0), None, None)
        await reader.close_cursor(cursor)
        with pytest.raises(InvalidHandle):
            await reader.close_cursor(cursor)
        elsewhere.cut()
        for _ in range(2):
            with pytest.raises(ServiceNotAvailable):
                await reader.read(handle, Read(take=True, timeout=0), None, None)
        await reader.close()
        return [one.body for one in found]

    assert asyncio.run(read()) == [b"one", b"one"]
    assert elsewhere.count() == 1
