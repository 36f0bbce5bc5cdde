"""A supporting server in a thread of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.unit.client.adapter import Api
from tests.unit.client.remote_read.managers import LOGIN, RemoteManager

import openmsmq


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[RemoteManager]:
    made = RemoteManager(tmp_path, role="admin", supporting_clients=5)
    try:
        yield made
    finally:
        made.stop()


@pytest.fixture
def manager(elsewhere: RemoteManager, rpc_api: Api) -> openmsmq.Manager:
    return rpc_api.connect_dependent("127.0.0.1", port=elsewhere.port, **LOGIN)
