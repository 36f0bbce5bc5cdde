"""One suite for both APIs: `adapter.py` lets tests call the one for asyncio like the other.

A test is written once and runs with each of them, so that no test is generated from another. What
is in `_sync/` is about threads, and what calls `asyncio` in `_async/` is about tasks.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.unit.client.adapter import Api, AsyncApi, AsyncServiceApi, ServiceApi, SyncApi
from tests.unit.client.fakes import Line
from tests.unit.client.services import AsyncClients, Clients, Relay, Service, SyncClients
from tests.unit.service.stores import SlowStore

import openmsmq
from openmsmq.clock import SystemClock
from openmsmq.engine.manager import QueueManager


@pytest.fixture(
    params=[SyncApi, AsyncApi, ServiceApi, AsyncServiceApi],
    ids=["sync", "aio", "service", "aio service"],
)
def api(request: pytest.FixtureRequest) -> Iterator[Api]:
    """The sync API, then the async one."""
    made: Api = request.param()
    yield made
    made.close()


@pytest.fixture(params=[SyncApi, AsyncApi], ids=["sync", "aio"])
def rpc_api(request: pytest.FixtureRequest) -> Iterator[Api]:
    """The same for clients that use RPC, to which an application server means nothing."""
    made: Api = request.param()
    yield made
    made.close()


@pytest.fixture
def store() -> SlowStore:
    """Where the messages of `manager` are: in memory, for speed."""
    return SlowStore()


@pytest.fixture
def manager(api: Api, store: SlowStore) -> openmsmq.Manager:
    """A new manager."""
    return api.over(QueueManager(store, SystemClock(), name="server1"))


@pytest.fixture(params=[False, True], ids=["sync", "aio"])
def line(request: pytest.FixtureRequest) -> Iterator[Line]:
    """A line to a fake server, for threads, then for asyncio."""
    made = Line(is_async=request.param)
    yield made
    made.close()


@pytest.fixture(params=[SyncClients, AsyncClients], ids=["sync", "aio"])
def clients(request: pytest.FixtureRequest) -> Iterator[Clients]:
    """Programs with the sync API, then with the async one."""
    made: Clients = request.param()
    yield made
    made.close()


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    """A service on a store of its own."""
    made = Service(tmp_path / "data")
    yield made
    made.close()


@pytest.fixture
def relay(service: Service) -> Iterator[Relay]:
    """A line to the service that can break."""
    made = Relay(service)
    yield made
    made.close()
