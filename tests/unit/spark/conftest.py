"""A queue manager in this process, where Spark's readers and writers would connect to one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import openmsmq
from openmsmq import Manager
from openmsmq.spark import batch_reader, fleet, stream_reader, writers
from openmsmq.spark.options import Options


class Lasting:
    """A manager that does not mind being closed."""

    def __init__(self, manager: Manager) -> None:
        self._manager = manager

    def __getattr__(self, name: str) -> object:
        return getattr(self._manager, name)

    def __enter__(self) -> Manager:
        return self._manager

    def __exit__(self, *_: object) -> None:
        """Stay open."""

    def close(self) -> None:
        """Stay open."""


@contextmanager
def lasting(manager: Manager, monkeypatch: pytest.MonkeyPatch) -> Iterator[Manager]:
    def connect(
        options: Options, address: str, *, patient: bool, wait: float | None = None
    ) -> Lasting:
        return Lasting(manager)

    for module in (batch_reader, fleet, stream_reader, writers):
        monkeypatch.setattr(module, "connect", connect)
    yield manager


@pytest.fixture
def manager(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Manager]:
    with openmsmq.open(tmp_path / "data", name="shop01") as opened, lasting(opened, monkeypatch):
        yield opened
