"""One suite, two APIs."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.unit.client.adapter import Api, AsyncApi, AsyncServiceApi, ServiceApi, SyncApi
from tests.unit.manager.stores import SlowStore

import openmsmq
from openmsmq.clock import SystemClock
from openmsmq.manager.local import LocalManager


@pytest.fixture(
    params=[SyncApi, AsyncApi, ServiceApi, AsyncServiceApi],
    ids=["sync", "aio", "service", "aio service"],
)
def api(request: pytest.FixtureRequest) -> Iterator[Api]:
    """The sync API, then the async one."""
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
    return api.over(LocalManager(store, SystemClock(), name="server1"))
