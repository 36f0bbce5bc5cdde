"""The command `openmsmq`."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from importlib.metadata import version
from io import StringIO
from pathlib import Path
from subprocess import run

import click
import pytest
from click.testing import CliRunner
from tests.unit.cli.commands import Cli

from openmsmq.cli.later import Later
from openmsmq.cli.main import main


def commands(group: click.Group, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """The ways to all commands, groups among them."""
    found = []
    for name, command in sorted(group.commands.items()):
        loaded = command.load() if isinstance(command, Later) else command
        found.append((*path, name))
        if isinstance(loaded, click.Group):
            found += commands(loaded, (*path, name))
    return found


@pytest.mark.parametrize("option", ["-h", "--help"])
def test_help_lists_the_commands(option: str) -> None:
    result = CliRunner().invoke(main, [option])
    assert result.exit_code == 0
    assert "decode" in result.stdout
    assert "Create, delete, list and change queues." in result.stdout


@pytest.mark.parametrize("path", commands(main), ids=" ".join)
def test_the_help_of_every_command_has_examples(path: tuple[str, ...]) -> None:
    result = CliRunner().invoke(main, [*path, "--help"])
    assert result.exit_code == 0
    assert "Example" in result.stdout
    assert "openmsmq " in result.stdout


def test_the_version_is_that_of_the_package() -> None:
    result = CliRunner().invoke(main, ["--version"])
    assert result.exit_code == 0
    assert version("openmsmq") in result.stdout


def test_an_unknown_command_is_refused() -> None:
    assert CliRunner().invoke(main, ["nonsense"]).exit_code == 2


def test_the_directory_may_stand_before_or_after_the_command(cli: Cli, tmp_path: Path) -> None:
    for arguments in (
        ["--data", str(tmp_path / "a"), "queue", "create", "a"],
        ["queue", "create", "a", "--data", str(tmp_path / "b")],
    ):
        assert CliRunner().invoke(main, arguments).exit_code == 0
    assert (tmp_path / "a" / "data.mdb").exists()
    assert (tmp_path / "b" / "data.mdb").exists()
    cli("queue", "create", "a", "--data", str(tmp_path / "c"))
    assert not cli.directory.exists(), "the nearer one counts"


def test_the_directory_may_be_in_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENMSMQ_DATA", str(tmp_path / "a"))
    assert CliRunner().invoke(main, ["queue", "create", "orders"]).exit_code == 0
    assert (tmp_path / "a" / "data.mdb").exists()


def test_help_does_without_tables_and_colours() -> None:
    """Help is quick, as little is imported for it."""
    program = "import sys, openmsmq.cli.main; print('rich' in sys.modules)"
    done = run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_output_need_not_be_a_file() -> None:
    with redirect_stdout(StringIO()) as output:
        main(["completion", "zsh"], standalone_mode=False)
    assert "_OPENMSMQ_COMPLETE" in output.getvalue()
