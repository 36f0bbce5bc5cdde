"""`openmsmq doctor`: what is wrong or risky."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import Final

import click
from rich.text import Text

from openmsmq.cli.doctor.findings import Finding, Level, check_up
from openmsmq.cli.options import ManagerLocation, manager_options
from openmsmq.cli.output import console, count_text, print_json, printable

_STYLES: Final = {Level.NOTE: "cyan", Level.RISK: "yellow", Level.PROBLEM: "bold red"}
_WIDTH: Final = max(len(level) for level in Level) + 2


@click.command()
@manager_options
def doctor(*, location: ManagerLocation, as_json: bool) -> None:
    """Find what is wrong or risky in a queue manager, and suggest what to do.

    It looks at quotas, dead letters, journals, old messages, prepared transactions, subscriptions
    and the history, in a directory also at the disk. Exits with 0 if all is well, with 1 if
    something needs attention.

    \b
    Examples:
      openmsmq doctor
      openmsmq doctor --data data
      openmsmq doctor --json | jq -r 'select(.level == "problem") | .text'
    """
    attention = 0
    for finding in check_up(location):
        attention += finding.needs_attention
        if as_json:
            print_json(asdict(finding))
        else:
            _print(finding)
    if not as_json:
        click.echo(f"\n{count_text(attention, 'problem') if attention else 'no problems'} found")
    sys.exit(1 if attention else 0)


def _print(finding: Finding) -> None:
    text = Text(f"{finding.level:{_WIDTH}}", style=_STYLES.get(finding.level, "green"))
    line = Text.assemble(text, (printable(finding.subject), "bold"), ": ", printable(finding.text))
    if finding.advice:
        line.append(f"\n{'':{_WIDTH}}{printable(finding.advice)}", style="dim")
    console().print(line)
