"""Connections of one client that share handles."""

from __future__ import annotations

import asyncio

import pytest
from tests.unit.client.remote_read.managers import LOGIN, RemoteManager

from openmsmq.client.remote_read._async.association import RpcAssociation
from openmsmq.client.remote_read.place import RemotePlace
from openmsmq.errors import InsufficientResources, ServiceNotAvailable
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


def test_an_interface_that_is_not_there_is_told(elsewhere: RemoteManager) -> None:
    async def run() -> None:
        calls = RpcAssociation(place(elsewhere))
        with pytest.raises(ServiceNotAvailable, match="does not accept interface"):
            await calls.call(0, stubs.NoArguments(), stubs.Status32, syntax=UNKNOWN)
        await calls.close()

    asyncio.run(run())
