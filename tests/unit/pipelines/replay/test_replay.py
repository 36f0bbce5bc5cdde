"""`[replay]` without Spark."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.unit.client.services import Service
from tests.unit.pipelines.entries import QUEUE, add

from openmsmq import Manager
from openmsmq.errors import QueueNotFound
from openmsmq.pipelines.archive.files import Folder
from openmsmq.pipelines.replay.replay import check, queues_of
from openmsmq.pipelines.spec import Pipeline
from openmsmq.pipelines.tables import PipelineFileError

ORDERS = r".\private$\orders"


@pytest.fixture
def replay(
    service: Service, manager: Manager, pipeline: Callable[..., Pipeline], tmp_path: Path
) -> Callable[..., Pipeline]:
    add(tmp_path / "archive", 0, "a")

    def made(**settings: Any) -> Pipeline:
        return pipeline(replay={"path": "archive", "manager": service.address, **settings})

    return made


def test_where_messages_go(replay: Callable[..., Pipeline]) -> None:
    assert replay().settings.target(ORDERS) == ORDERS
    assert replay(queue="x").settings.target(ORDERS) == "x"
    some = replay(queues={ORDERS: "y"}).settings
    assert (some.target(ORDERS), some.target("other")) == ("y", "")
    both = replay(queue="x", queues={ORDERS: "y"}).settings
    assert (both.target(ORDERS), both.target("other")) == ("y", "x")


def test_queues_of_the_archive_are_known(replay: Callable[..., Pipeline], tmp_path: Path) -> None:
    check(replay())
    add(tmp_path / "archive", 1, "b")
    assert queues_of(Folder(tmp_path / "archive")) == {ORDERS}
    with pytest.raises(
        PipelineFileError, match=r"'.\\\\private\$\\\\ordres' is not in the archive; did"
    ):
        check(replay(queues={r".\private$\ordres": "orders"}))


def test_targets_must_be_there(replay: Callable[..., Pipeline]) -> None:
    with pytest.raises(QueueNotFound, match=r"replay.queue: there is no queue 'x'"):
        check(replay(queue="x"))


def test_nothing_goes_back_to_a_journal(
    replay: Callable[..., Pipeline], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.unit.pipelines.entries.QUEUE", f"{QUEUE}%5CJournal$")
    add(tmp_path / "archive", 1, "b")
    with pytest.raises(PipelineFileError, match=r"nothing can be sent to .*Journal\$: say where"):
        check(replay())
    check(replay(queue="orders"))


def test_an_archive_must_be_there(
    pipeline: Callable[..., Pipeline], replay: Callable[..., Pipeline]
) -> None:
    with pytest.raises(PipelineFileError, match=r"replay.path: there is no archive in"):
        check(replay(path="nowhere"))
    assert replay().checkpoint == Path.cwd() / "archive" / "replays" / "test"
