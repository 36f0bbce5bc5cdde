"""Commands run on a queue manager in a directory."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.cli.commands import Cli


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """Commands on a manager that is not there yet."""
    monkeypatch.delenv("OPENMSMQ_DATA", raising=False)
    return Cli(tmp_path / "data")


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands believe that a person types and reads."""
    monkeypatch.setattr("click.testing._NamedTextIOWrapper.isatty", lambda _: True)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "200")
