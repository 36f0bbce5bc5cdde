"""`openmsmq completion`."""

from __future__ import annotations

import pytest
from tests.unit.cli.commands import Cli

from openmsmq.cli.completion import SHELLS


@pytest.mark.parametrize("shell", SHELLS)
def test_a_script_for_every_shell(cli: Cli, shell: str) -> None:
    script = cli("completion", shell).stdout
    assert "_OPENMSMQ_COMPLETE" in script
    assert f"{shell}_complete" in script


def test_other_shells_are_wrong_usage(cli: Cli) -> None:
    cli("completion", "command.com", code=2)
