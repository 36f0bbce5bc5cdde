"""Small files put together."""

from __future__ import annotations

from pathlib import Path

from tests.unit.client.services import Service
from tests.unit.pipelines.archive.lakes import grown

from openmsmq import Manager
from openmsmq.pipelines.archive.compaction import Compaction, compact
from openmsmq.pipelines.archive.rows import rows_of_batches
from openmsmq.pipelines.archive.verify import verify


def test_rows_stay_in_their_order(manager: Manager, service: Service, tmp_path: Path) -> None:
    store = grown(manager, service, tmp_path / "lake", "delta", 3, 2, 1)
    size = sum(file.bytes for file in store.files()) - 1
    assert compact(store, size) == Compaction(2, 1), "the third does not fit"
    assert [file.batches for file in store.files()] == [(1, 2), (3, 3)]
    assert rows_of_batches(store) == {1: 3, 2: 2, 3: 1}
    assert verify(tmp_path / "lake").faults == ()
    assert compact(store) == Compaction(2, 1)
    assert compact(store) == Compaction()
    assert verify(tmp_path / "lake").faults == ()
    assert store.vacuum(0) == 4
    assert verify(tmp_path / "lake").rows == 6
