"""A service that pipelines can be checked against, without Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.unit.client.services import Service

import openmsmq
from openmsmq import Manager
from openmsmq.pipelines.file import read_pipeline
from openmsmq.pipelines.spec import Pipeline

pytest.importorskip("pyspark")


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    running = Service(tmp_path / "data")
    yield running
    running.close()


@pytest.fixture
def manager(service: Service) -> Iterator[Manager]:
    """A connection to it; it has a queue `orders`."""
    with openmsmq.connect(service.address) as connected:
        connected.create_queue("orders").close()
        yield connected


@pytest.fixture
def pipeline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Pipeline]:
    """A pipeline out of its tables."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENMSMQ_MANAGER", raising=False)

    def made(**document: Any) -> Pipeline:
        return read_pipeline({"name": "test", **document})

    return made
