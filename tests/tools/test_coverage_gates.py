"""Coverage by layer, and the gates."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tools.coverage_gates import by_layer, main


def file(covered: int, lines: int, reached: int, branches: int) -> dict[str, object]:
    summary = {
        "covered_lines": covered,
        "num_statements": lines,
        "covered_branches": reached,
        "num_branches": branches,
    }
    return {"summary": summary}


def test_lines_and_branches_of_a_folder_are_added_up() -> None:
    files = {
        "src/openmsmq/wire/reader.py": file(8, 8, 2, 2),
        "src/openmsmq/wire/fixed.py": file(9, 10, 0, 0),
        "src/openmsmq/limits.py": file(0, 0, 0, 0),
    }
    found = by_layer({"files": files})
    assert found["wire"].percent == 95.0
    assert found["limits"].percent == 100.0


@pytest.mark.parametrize(("covered", "code"), [(1000, 0), (999, 1)])
def test_a_layer_below_its_gate_fails(tmp_path: Path, covered: int, code: int) -> None:
    path = tmp_path / "coverage.json"
    files = {"src/openmsmq/wire/reader.py": file(covered, 1000, 0, 0)}
    path.write_text(json.dumps({"files": files}))
    assert main(str(path)) == code


def test_a_layer_without_a_gate_passes(tmp_path: Path) -> None:
    path = tmp_path / "coverage.json"
    path.write_text(json.dumps({"files": {"src/openmsmq/demo/show.py": file(0, 10, 0, 0)}}))
    assert main(str(path)) == 0
