"""Connections of one client that share handles."""

from __future__ import annotations

import asyncio
from pathlib import Path
from uuid import UUID

import pytest
from tests.unit.client.remote_read.managers import (
    LOGIN,
    RemoteManager,
    remote_manager,
    wait_until,
)

from openmsmq.client.remote_read._async.association import RpcAssociation
from openmsmq.client.remote_read.messages import mapped_port
from openmsmq.client.remote_read.place import RemotePlace
from openmsmq.errors import InsufficientResources, InvalidHandle, ServiceNotAvailable
from openmsmq.interfaces.endpoint_mapper.stubs import Listed, MapResults
from openmsmq.interfaces.limits import CLIENT_CONNECTIONS_MAX
from openmsmq.interfaces.remote_read import stubs
from openmsmq.interfaces.remote_read.stubs import ReadOpnum
from openmsmq.rpc.syntax import SyntaxId

UNKNOWN = SyntaxId.of("11111111-2222-3333-4444-555555555555", 1)


def place(elsewhere: RemoteManager) -> RemotePlace:
    return RemotePlace.of("127.0.0.1", port=elsewhere.port, **LOGIN)


async def port_of(calls: RpcAssociation) -> int:
    found = await calls.call(ReadOpnum.GET_SERVER_PORT, stubs.NoArguments(), stubs.Status32)
    return found.result


def test_calls_at_the_same_time_have_connections_of_their_own(elsewhere: RemoteManager) -> None:
    async def run() -> None:
        calls = RpcAssociation(place(elsewhere))
        ports = await asyncio.gather(*(port_of(calls) for _ in range(10)))
        assert ports == [elsewhere.port] * 10
        assert await port_of(calls) == elsewhere.port
        await calls.close()
        assert calls.generation == 1

    asyncio.run(run())


def test_more_calls_than_connections_are_refused(elsewhere: RemoteManager) -> None:
    async def run() -> None:
        calls = RpcAssociation(place(elsewhere))
        many = [port_of(calls) for _ in range(CLIENT_CONNECTIONS_MAX + 5)]
        found = await asyncio.gather(*many, return_exceptions=True)
        assert len([one for one in found if isinstance(one, InsufficientResources)]) <= 5
        assert found.count(elsewhere.port) >= CLIENT_CONNECTIONS_MAX
        await calls.close()

    asyncio.run(run())


def test_a_connection_that_is_made_during_close_is_closed(elsewhere: RemoteManager) -> None:
    """No one else would close it: the server would keep its association, and what it holds."""

    async def run() -> None:
        calls = RpcAssociation(place(elsewhere))
        called = asyncio.create_task(port_of(calls))
        await asyncio.sleep(0)  # it connects
        await calls.close()
        with pytest.raises(InvalidHandle, match="the queue manager is closed"):
            await called
        assert calls.generation == 0
        await asyncio.to_thread(wait_until, lambda: elsewhere.connections() == [0])

    asyncio.run(run())


def test_the_port_is_asked_for(tmp_path: Path) -> None:
    """MQRR-012: the endpoint mapper names one, R_GetServerPort there another, which is used."""

    async def run(manager: RemoteManager) -> None:
        assert manager.mapper_port
        where = RemotePlace.of("127.0.0.1", port=0, mapper_port=manager.mapper_port, **LOGIN)
        calls = RpcAssociation(where)
        assert await port_of(calls) == manager.alternate_port != manager.port
        await asyncio.to_thread(wait_until, lambda: manager.connections() == [0, 1, 0])
        await calls.close()

    with remote_manager(tmp_path, is_mapped=True) as manager:
        asyncio.run(run(manager))


def test_a_mapper_that_does_not_know_the_interface_is_named() -> None:
    results = MapResults(UUID(int=0), 0, Listed(4, (b"no tower", None)), 0x16C9A0D6)
    with pytest.raises(ServiceNotAvailable, match="shop01"):
        mapped_port(results, "shop01")


def test_an_interface_that_is_not_there_is_reported(elsewhere: RemoteManager) -> None:
    async def run() -> None:
        calls = RpcAssociation(place(elsewhere))
        with pytest.raises(ServiceNotAvailable, match="does not accept interface"):
            await calls.call(0, stubs.NoArguments(), stubs.Status32, syntax=UNKNOWN)
        await calls.close()

    asyncio.run(run())
