"""`[sink]` without Spark."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.unit.client.services import Service
from tests.unit.pipelines.entries import add

from openmsmq import Manager
from openmsmq.errors import QueueNotFound
from openmsmq.pipelines.custom import check, find_function
from openmsmq.pipelines.spec import Pipeline
from openmsmq.pipelines.tables import PipelineFileError


@pytest.fixture
def plain(
    service: Service, manager: Manager, pipeline: Callable[..., Pipeline]
) -> Callable[..., Pipeline]:
    def made(python: str = "", **sink: Any) -> Pipeline:
        source = {"queue": "orders", "manager": service.address}
        transform = {"python": python}
        return pipeline(checkpoint="c", source=source, transform=transform, sink=sink)

    return made


def test_sinks_of_all_kinds(plain: Callable[..., Pipeline], service: Service) -> None:
    queue = plain(kind="queue", queue="orders", manager=service.address)
    files = plain(kind="parquet", path="x", partition_by=["label"])
    for found in (queue, files, plain(kind="console", rows=5)):
        check(found)
    assert files.settings.path == Path.cwd() / "x"
    assert files.settings.partitions == ("label",)
    with pytest.raises(QueueNotFound, match=r"sink.queue: there is no queue 'x'"):
        check(plain(kind="queue", queue="x", manager=service.address))


def test_files_of_another_stream_are_refused(
    plain: Callable[..., Pipeline], tmp_path: Path
) -> None:
    add(tmp_path / "x", 0, "a")
    with pytest.raises(PipelineFileError, match="whose checkpoint is not in"):
        check(plain(kind="parquet", path="x"))


def test_the_function_of_a_transform(plain: Callable[..., Pipeline], tmp_path: Path) -> None:
    (tmp_path / "mine_for_test.py").write_text("def shout(frame): return frame\nx = 1\n")
    found = find_function(plain("mine_for_test:shout", kind="console"))
    assert found.__name__ == "shout"
    for wrong, words in (
        ("mine_for_test:nothing", "transform.python: AttributeError"),
        ("mine_for_test:x", "is no function"),
        ("nowhere_at_all:x", "transform.python: ModuleNotFoundError"),
    ):
        with pytest.raises(PipelineFileError, match=words):
            check(plain(wrong, kind="console"))
