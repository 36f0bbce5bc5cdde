"""The steps of a replay: written down before they begin."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.pipelines.entries import add

from openmsmq.pipelines.archive.files import Folder
from openmsmq.pipelines.archive.rows import rows_of_batches
from openmsmq.pipelines.replay.steps import FILE, Steps
from openmsmq.pipelines.tables import PipelineFileError


def begun(folder: Path, **what: str) -> Steps:
    steps = Steps(folder / "replay", what, name="again", archive=str(folder))
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


def test_archives_have_steps_of_their_own(tmp_path: Path) -> None:
    """Two replays with one name, of two archives, do not take each other's steps for done."""
    names = set()
    for place in ("here", "there"):
        add(tmp_path / place, 0, "a")
        steps = begun(tmp_path / place)
        [step] = steps.todo(rows_of_batches(Folder(tmp_path / place)), 4)
        names.add(steps.name_of(step))
    assert len(names) == 2


def test_steps_keep_their_names(tmp_path: Path) -> None:
    """Where the archive is moved to, and if they were begun by an older version."""
    add(tmp_path, 0, "a")
    steps = begun(tmp_path)
    [step] = steps.todo(rows_of_batches(Folder(tmp_path)), 4)
    moved = Steps(tmp_path / "replay", {}, name="again", archive="elsewhere")
    moved.begin()
    assert moved.name_of(step) == steps.name_of(step)
    (tmp_path / "replay" / FILE).write_text('{"id": "1", "what": {}}\n')
    older = begun(tmp_path)
    assert (older.id, older.name_of(step)) == ("1", "replay/again/0")
