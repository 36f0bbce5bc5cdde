"""The pages about remote calls add users with commands that work as they stand."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner

from openmsmq.access.users import Users
from openmsmq.cli.main import main

DOCS = Path(__file__).parents[2] / "docs"
ROLES = {"dependent-clients.md": ("analyst", "read+send"), "management.md": ("admin", "admin")}


@pytest.mark.parametrize("page", ROLES)
def test_the_user_of_a_page_is_added(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    lines = re.findall(r"^openmsmq (user add .*)$", (DOCS / page).read_text(), re.MULTILINE)
    assert lines
    for line in lines:
        words = [*shlex.split(line), "--password-stdin"]
        done = CliRunner().invoke(main, words, input="secret\n")
        assert done.exit_code == 0, done.output
    found = Users.load(tmp_path / "data").find(ROLES[page][0])
    assert found is not None
    assert found.role == ROLES[page][1]
