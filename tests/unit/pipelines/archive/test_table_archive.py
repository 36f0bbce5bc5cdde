"""What tables have in common."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from tests.unit.client.services import Service
from tests.unit.pipelines.archive.lakes import grown

from openmsmq import Manager
from openmsmq.pipelines.archive.verify import verify
from openmsmq.pipelines.tables import PipelineFileError


def test_a_batch_counts_once(manager: Manager, service: Service, tmp_path: Path) -> None:
    store = grown(manager, service, tmp_path / "lake", "delta", 3)
    last = store.last()
    assert last is not None
    assert store.add(last.batch, last.query, {}, lambda data: 1 / 0) == last  # type: ignore[arg-type,return-value]
    with pytest.raises(PipelineFileError, match="goes on with 7"):
        store.add(7, last.query, {}, lambda data: [])


def test_rows_that_are_missing_or_there_twice_are_found(
    manager: Manager, service: Service, tmp_path: Path
) -> None:
    store = grown(manager, service, tmp_path / "lake", "delta", 3, 2)
    first, second = store.files()
    store.replace([second], [])
    assert verify(tmp_path / "lake").faults == (
        "batch 2 has 0 rows, not 2",
        "there are 3 rows, and 5 were added",
    )
    copy = first.path.replace("-00000-", "-00001-")
    content = (store.data.path / first.path).read_bytes()
    (store.data.path / copy).write_bytes(content)
    store.replace([], [second, replace(first, path=copy)])
    twice, *_ = verify(tmp_path / "lake").faults
    assert twice.startswith(r"batch 1 has position 1 of .\private$\orders of ")
    assert twice.endswith(" twice")
