"""`[archive]` without Spark."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.unit.client.services import Service
from tests.unit.pipelines.entries import add

from openmsmq import Manager
from openmsmq.pipelines.archive.archive import FACTS, check
from openmsmq.pipelines.spec import Pipeline
from openmsmq.pipelines.tables import PipelineFileError
from openmsmq.spark.columns import READ

SOURCE = {"queue": "orders"}


def test_the_table(pipeline: Callable[..., Pipeline]) -> None:
    found = pipeline(source=SOURCE, archive={"path": "x", "columns": ["body"]})
    assert found.settings.place.location.path == Path.cwd() / "x"
    with pytest.raises(
        PipelineFileError, match=r"has 'bdy', which is no column; did you mean 'body'\?"
    ):
        pipeline(source=SOURCE, archive={"path": "x", "columns": ["bdy"]})


def test_all_columns_are_kept_or_in_the_packet() -> None:
    assert set(READ) - set(FACTS) == {"body", "body_text", "body_format", "extension", "headers"}


def test_an_archive_of_another_stream_is_refused(
    service: Service, manager: Manager, pipeline: Callable[..., Pipeline], tmp_path: Path
) -> None:
    source = {**SOURCE, "manager": service.address}
    found = pipeline(source=source, archive={"path": str(tmp_path / "x")})
    check(found)
    add(tmp_path / "x", 0, "a")
    with pytest.raises(PipelineFileError, match="whose checkpoint is not in"):
        check(found)
