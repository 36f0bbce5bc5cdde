"""Looking into queues for reports; tests/spark/test_reports.py does it with Spark."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.unit.client.services import Service

import openmsmq
from openmsmq.errors import QueueNotFound, ServiceNotAvailable
from openmsmq.pipelines.reports.queues import check_readable, moment
from openmsmq.pipelines.spec import ManagerOptions


@pytest.fixture
def address(tmp_path: Path) -> Iterator[str]:
    made = Service(tmp_path / "served")
    with openmsmq.connect(made.address) as manager:
        manager.create_queue("orders", journal=True)
    yield made.address
    made.close()


def test_queues_that_can_be_looked_into_are_fine(address: str) -> None:
    check_readable(
        ManagerOptions((address,)), ("orders", r".\private$\orders\Journal$", ".\\DeadLetter$")
    )
    check_readable(ManagerOptions((address,)), ("ord*",))


def test_a_queue_that_is_not_there_is_reported(address: str) -> None:
    with pytest.raises(QueueNotFound, match="did you mean"):
        check_readable(ManagerOptions((address,)), ("order",))


def test_a_manager_that_is_not_there_is_reported() -> None:
    with pytest.raises(ServiceNotAvailable):
        check_readable(ManagerOptions(("127.0.0.1:1",)), ("orders",))


def test_a_moment_is_in_utc() -> None:
    assert moment(1_700_000_000) == "2023-11-14 22:13:20"
    assert moment(None) == ""
