"""Where batches begin and end."""

from __future__ import annotations

import json
from pathlib import Path

from tests.unit.client.services import Service

from openmsmq import Manager
from openmsmq.pipelines.offsets import offsets_of
from openmsmq.spark.offsets import key


def test_where_a_batch_begins_and_ends(service: Service, manager: Manager, tmp_path: Path) -> None:
    queue = manager.open_queue("orders")
    queue.send_many([b"1", b"2", b"3"])
    lake = queue.subscription("lake")
    lake.reserve(0, 3)
    lake.commit(1)
    name = key(manager.id, str(queue.info().id))
    other = "m/q"
    offsets = (
        {f"{service.address} {queue.name}": 2},  # of before there were owners
        {"owner": "me", "positions": {name: 3, other: 4}},
    )
    (tmp_path / "offsets").mkdir()
    for batch, offset in enumerate(offsets):
        text = "\n".join(("v1", "{}", json.dumps(offset)))
        (tmp_path / "offsets" / str(batch)).write_text(text)
    options = {"manager": service.address, "queue": "orders", "subscription": "lake"}
    first = offsets_of(tmp_path, 0, options)
    assert first.positions == {name: (1, 2)}, "behind what was done"
    assert first.end == offsets[0]
    second = offsets_of(tmp_path, 1, options)
    assert second.positions == {name: (2, 3), other: (4, 4)}
    assert (second.start, second.end) == offsets
