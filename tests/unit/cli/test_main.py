"""The command `openmsmq`."""

from __future__ import annotations

from importlib.metadata import version

import pytest
from click.testing import CliRunner

from openmsmq.cli.main import main


@pytest.mark.parametrize("option", ["-h", "--help"])
def test_help_lists_the_commands(option: str) -> None:
    result = CliRunner().invoke(main, [option])
    assert result.exit_code == 0
    assert "decode" in result.stdout


def test_the_version_is_that_of_the_package() -> None:
    result = CliRunner().invoke(main, ["--version"])
    assert result.exit_code == 0
    assert version("openmsmq") in result.stdout


def test_an_unknown_command_is_refused() -> None:
    assert CliRunner().invoke(main, ["nonsense"]).exit_code == 2
