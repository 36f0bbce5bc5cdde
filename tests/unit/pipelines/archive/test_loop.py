"""The stream of an archive."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.spark.archiver import archived
from tests.unit.client.services import Service
from tests.unit.pipelines.archive.lakes import grown

from openmsmq import Manager, Message
from openmsmq.errors import SubscriptionTaken
from openmsmq.pipelines.archive.batches import ManifestEntry
from openmsmq.pipelines.archive.loop import first_offset
from openmsmq.pipelines.spec import Pipeline
from openmsmq.pipelines.tables import PipelineFileError


def test_where_a_stream_goes_on(pipeline: Callable[..., Pipeline], tmp_path: Path) -> None:
    made = pipeline(source={"queue": "orders", "subscription": "lake"}, archive={"path": "x"})
    owner, offset = first_offset(None, made)
    assert offset == {"owner": owner, "positions": {}, "subscription": "lake"}
    last = ManifestEntry(3, "me", 0, "", offset={"owner": "me"})
    assert first_offset(last, made) == ("me", {"owner": "me"})
    with pytest.raises(PipelineFileError, match="whose checkpoint is not in"):
        first_offset(ManifestEntry(3, "me", 0, ""), made)


def test_a_second_archive_of_one_subscription_is_refused(
    manager: Manager, service: Service, tmp_path: Path
) -> None:
    grown(manager, service, tmp_path / "lake", "delta", 3)
    manager.open_queue("orders").send(Message(b"x"))
    source = {"manager": service.address, "queue": "orders", "on_commit": "keep"}
    with pytest.raises(SubscriptionTaken):
        archived({"name": "x", "source": source, "archive": {"path": str(tmp_path / "other")}})


def test_once_is_one_batch(manager: Manager, service: Service, tmp_path: Path) -> None:
    manager.open_queue("orders").send_many(Message(b"x") for _ in range(9))
    source = {"manager": service.address, "queue": "orders", "max_messages_per_trigger": 4}
    archive = {"path": str(tmp_path / "lake")}
    document = {"name": "lake", "source": source, "archive": archive}
    assert [one.rows for one in archived({**document, "trigger": "once"})] == [9]
    manager.open_queue("orders").send_many(Message(b"x") for _ in range(6))
    assert [(one.rows, one.lag) for one in archived(document)] == [(4, 2), (2, 0)]
    assert manager.open_queue("orders").info().messages == 0
