"""Files of the directory that only its owner may read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from openmsmq.access.limits import CHANGES_MAX
from openmsmq.access.owner_file import OwnerFile, read_changes
from openmsmq.errors import StorageError


class Damaged(StorageError):
    """The file cannot be read."""


def make(path: Path) -> OwnerFile[str]:
    def decode(values: dict[str, Any]) -> tuple[str, str]:
        return values["key"], values["value"]

    return OwnerFile(path, "things", decode, lambda one: {"key": one[0], "value": one}, Damaged)


def test_what_one_process_writes_another_reads(tmp_path: Path) -> None:
    ours, theirs = make(tmp_path / "things.json"), make(tmp_path / "things.json")
    assert not theirs.refresh()
    with ours.changing() as values:
        values["a"] = "abc"
    assert theirs.refresh()
    assert theirs.values == {"a": "abc"}
    assert not theirs.refresh()
    assert (tmp_path / "things.json").stat().st_mode & 0o777 == 0o600


def test_a_change_that_fails_is_not_written(tmp_path: Path) -> None:
    file = make(tmp_path / "things.json")
    with pytest.raises(ZeroDivisionError), file.changing() as values:
        values["a"] = str(1 / 0)
    assert not (tmp_path / "things.json").exists()


@pytest.mark.parametrize("text", ["", "[]", '{"format": 3, "things": []}', '{"format": 1}'])
def test_a_file_that_makes_no_sense_has_no_values(tmp_path: Path, text: str) -> None:
    file = make(tmp_path / "things.json")
    with file.changing() as values:
        values["a"] = "abc"
    (tmp_path / "things.json").write_text(text)
    with pytest.raises(Damaged):
        file.refresh()
    assert file.values == {}


def test_a_file_remembers_the_last_changes(tmp_path: Path) -> None:
    path = tmp_path / "things.json"
    file = make(path)
    with file.changing() as values:
        values["a"] = "abc"
        for number in range(CHANGES_MAX + 5):
            file.note("change", str(number), "why")
    changes, digest, is_sealed = read_changes(path.read_bytes())
    assert is_sealed
    assert digest
    assert [change.target for change in changes] == [str(n + 5) for n in range(CHANGES_MAX)]
    numbers = [change.number for change in changes]
    assert sorted(set(numbers)) == numbers


@pytest.mark.parametrize("changes", ["[[]]", "[1]", '[["1", 1, "", "", "", "", ""]]'])
def test_changes_that_make_no_sense_are_a_fault(tmp_path: Path, changes: str) -> None:
    path = tmp_path / "things.json"
    path.write_text(f'{{"format": 2, "things": [], "changes": {changes}}}')
    with pytest.raises(Damaged):
        make(path).refresh()
