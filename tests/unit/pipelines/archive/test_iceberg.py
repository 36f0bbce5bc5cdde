"""Archives as Iceberg tables, without Spark."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.client.services import Service
from tests.unit.pipelines.archive.lakes import check_table, empty, grown

from openmsmq import Manager
from openmsmq.pipelines.faults import PipelineError

pytest.importorskip("pyiceberg")


def test_batches_are_commits(manager: Manager, service: Service, tmp_path: Path) -> None:
    store = grown(manager, service, tmp_path / "lake", "iceberg", 3, 2)
    check_table(store)
    last = store.last()
    assert last is not None
    store.commit(empty(last))
    with pytest.raises(PipelineError, match=r"batch 3 was not added to .*: another archive writes"):
        store.commit(empty(last))
