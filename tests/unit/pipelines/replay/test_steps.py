"""The steps of a replay: written down before they begin."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.pipelines.entries import add

from openmsmq.pipelines.archive.files import Folder
from openmsmq.pipelines.archive.rows import rows_of_batches
from openmsmq.pipelines.replay.steps import Steps
from openmsmq.pipelines.tables import PipelineFileError


def begun(folder: Path, **what: str) -> Steps:
    steps = Steps(folder / "replay", what)
    steps.check()
    steps.begin()
    return steps


def ranges(steps: Steps, folder: Path, size: int = 4) -> list[tuple[int, int, int]]:
    """The steps that are left, none of which is done."""
    found = steps.todo(rows_of_batches(Folder(folder)), size)
    return [(step.number, step.first, step.last) for step in found]


def test_steps_are_whole_batches(tmp_path: Path) -> None:
    for batch in range(5):
        add(tmp_path, batch, "a", "b")
    steps = begun(tmp_path)
    assert ranges(steps, tmp_path) == [(0, 0, 1), (1, 2, 3), (2, 4, 4)]


def test_a_step_that_was_begun_is_repeated_as_it_was(tmp_path: Path) -> None:
    """Also if the archive has grown, and if steps have another size now."""
    add(tmp_path, 0, "a", "b")
    steps = begun(tmp_path)
    [first] = steps.todo(rows_of_batches(Folder(tmp_path)), 4)
    add(tmp_path, 1, "c", "d")
    again = begun(tmp_path)
    assert again.id == steps.id
    repeated, following = again.todo(rows_of_batches(Folder(tmp_path)), 4)
    assert (repeated, following.number) == (first, 1)


def test_what_is_done_is_not_repeated(tmp_path: Path) -> None:
    add(tmp_path, 0, "a", "b")
    steps = begun(tmp_path)
    for step in steps.todo(rows_of_batches(Folder(tmp_path)), 4):
        steps.done(step, 2)
    assert ranges(begun(tmp_path), tmp_path) == []
    add(tmp_path, 1, "c", "d")
    assert ranges(begun(tmp_path), tmp_path) == [(1, 1, 1)]


def test_another_replay_needs_another_name(tmp_path: Path) -> None:
    begun(tmp_path, where="true")
    with pytest.raises(
        PipelineFileError, match="of a replay with where 'true', not 'false': give this"
    ):
        begun(tmp_path, where="false")
