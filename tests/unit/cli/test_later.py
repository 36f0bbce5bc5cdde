"""Commands that are imported when they are used."""

from __future__ import annotations

import sys

import click
import pytest
from click.testing import CliRunner

from openmsmq.cli.later import Later, LaterGroup
from openmsmq.cli.main import main


def stubs(group: click.Group) -> list[Later]:
    """All that are imported when they are used."""
    found = [command for command in group.commands.values() if isinstance(command, Later)]
    inner = [stub.load() for stub in found]
    return found + [one for each in inner if isinstance(each, click.Group) for one in stubs(each)]


@pytest.mark.parametrize("stub", stubs(main), ids=lambda stub: stub.name)
def test_a_command_that_is_not_imported_yet_says_what_it_does(stub: Later) -> None:
    command = stub.load()
    assert command.name == stub.name
    first, _, _ = " ".join((command.help or "").split()).partition(". ")
    assert stub.short_help == f"{first.removesuffix('.')}."


def test_only_the_command_that_runs_is_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "openmsmq.cli.completion", raising=False)
    entry = Later("completion", "completion:completion", "Print a script.")
    broken = Later("broken", "no_such_module:command", "Fail when it is imported.")
    group = LaterGroup("all", commands=[entry, broken])
    listed = CliRunner().invoke(group, ["--help"])
    assert "Fail when it is imported." in listed.stdout
    assert "openmsmq.cli.completion" not in sys.modules
    shown = CliRunner().invoke(group, ["completion", "--help"])
    assert shown.exit_code == 0
    assert "openmsmq.cli.completion" in sys.modules
