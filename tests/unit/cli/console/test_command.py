"""`openmsmq console`."""

from __future__ import annotations

import time
from pathlib import Path

from click.testing import CliRunner

from openmsmq.cli.main import main
from openmsmq.console.sessions import Sessions, load_key, write_place


def test_a_link_logs_in(tmp_path: Path) -> None:
    key = load_key(tmp_path)
    write_place(tmp_path, 4321)
    done = CliRunner().invoke(main, ["console", "login", "--data", str(tmp_path)])
    place, _, code = done.output.strip().partition("/login#")
    assert place == "http://127.0.0.1:4321"
    assert Sessions(key, time.time).redeem(code)


def test_without_a_console_there_is_no_link(tmp_path: Path) -> None:
    done = CliRunner().invoke(main, ["console", "login", "--data", str(tmp_path)])
    assert done.exit_code == 1
    assert "is openmsmq serve running there?" in done.output


def test_a_console_needs_a_manager() -> None:
    assert CliRunner().invoke(main, ["console"]).exit_code == 2
