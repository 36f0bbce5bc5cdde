"""`openmsmq assets`."""

from __future__ import annotations

import json
from pathlib import Path

from click.testing import CliRunner

from openmsmq.assets import ASSETS
from openmsmq.cli.main import main


def test_every_asset_is_copied_to_a_new_directory(tmp_path: Path) -> None:
    target = tmp_path / "share" / "openmsmq"
    result = CliRunner().invoke(main, ["assets", str(target)])
    assert result.exit_code == 0, result.output
    assert {path.name for path in target.iterdir()} == set(ASSETS)
    assert (target / "openmsmq.service").read_text().startswith("# A queue manager")
    assert [line.partition(": ")[0] for line in result.stdout.splitlines()] == [
        str(target / name) for name in ASSETS
    ]


def test_existing_files_are_overwritten_only_with_force(tmp_path: Path) -> None:
    file = tmp_path / "alerts.yml"
    file.write_text("mine")
    refused = CliRunner().invoke(main, ["assets", str(tmp_path)])
    assert refused.exit_code == 1
    assert f"{file} exists; use --force" in refused.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["alerts.yml"]
    assert file.read_text() == "mine"
    forced = CliRunner().invoke(main, ["assets", str(tmp_path), "--force", "--json"])
    assert forced.exit_code == 0
    shown = [json.loads(line) for line in forced.stdout.splitlines()]
    assert [entry["path"] for entry in shown] == [str(tmp_path / name) for name in ASSETS]
    assert file.read_text() != "mine"
