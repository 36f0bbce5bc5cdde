"""`openmsmq spark`."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner

from openmsmq.cli.main import main


def test_the_archive_is_written(tmp_path: Path) -> None:
    path = tmp_path / "openmsmq.zip"
    result = CliRunner().invoke(main, ["spark", "package", str(path)])
    assert result.exit_code == 0
    assert result.stdout.startswith(f"wrote {path}: ")
    found = json.loads(CliRunner().invoke(main, ["spark", "package", str(path), "--json"]).stdout)
    assert found["path"] == str(path)
    assert found["modules"] > 200
    assert found["bytes"] == path.stat().st_size


def test_a_missing_folder_is_reported(tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["spark", "package", str(tmp_path / "no" / "a.zip")])
    assert result.exit_code == 1
    assert "No such file" in result.stderr
