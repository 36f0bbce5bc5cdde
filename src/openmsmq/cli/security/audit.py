"""`openmsmq audit`: who did what, and what was denied to whom."""

from __future__ import annotations

import json
import os
from collections import deque
from collections.abc import Iterator
from dataclasses import asdict
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, Final

import click

from openmsmq import Manager
from openmsmq.cli.options import ManagerLocation, manager_options
from openmsmq.cli.output import print_json, print_table, time_json, time_text
from openmsmq.names.parts import fold
from openmsmq.types.history import AuditEntry

_TIMES: Final = ["%Y-%m-%d", "%Y-%m-%dT%H:%M", "%Y-%m-%dT%H:%M:%S"]
_TAIL: Final = 64 * 1024
"Bytes at the end of an exported file that hold its last line."


@click.command()
@click.option("--who", metavar="PATTERN", help="Of these principals only: 'user:*'.")
@click.option("--act", metavar="PATTERN", help="Of these acts only: 'set*'.")
@click.option("--target", metavar="PATTERN", help="About these queues only: '*orders*'.")
@click.option("--denied", is_flag=True, help="Only what was denied.")
@click.option("--since", type=click.DateTime(_TIMES), help="From this time on, in UTC.")
@click.option("--until", type=click.DateTime(_TIMES), help="Before this time, in UTC.")
@click.option("--after", type=click.IntRange(0), default=0, help="Behind the entry of this number.")
@click.option("--last", type=click.IntRange(1), help="Show only the last N of these.")
@click.option(
    "--export",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Append them to a file, one JSON object a line; goes on where it ended the last time.",
)
@manager_options
def audit(
    *,
    location: ManagerLocation,
    as_json: bool,
    after: int,
    last: int | None,
    export: Path | None,
    **given: Any,
) -> None:
    """Show the audit log: access that was denied, and what administrators did.

    An entry is written with what it is about and never changed; the oldest are dropped when the log
    takes more than the setting audit says (16 MiB). Setting audit_opens records also who opens
    which queue. It is for administrators.

    \b
    Examples:
      openmsmq audit --denied --last 20
      openmsmq audit --who 'token:*' --act 'set*' --since 2026-01-31
      openmsmq audit --json | jq -r 'select(.act == "delete queue") | .who'
      openmsmq audit --export /var/log/openmsmq-audit.jsonl
    """
    if export is not None:
        after = max(after, _last_number(export))
    with location.open() as manager:
        found: Iterator[AuditEntry] | deque[AuditEntry] = (
            entry for entry in _entries(manager, after) if _matches(entry, **given)
        )
        if last is not None:
            found = deque(found, last)
        if export is not None:
            click.echo(f"{_append(export, found):,} exported")
        elif as_json:
            for entry in found:
                print_json(_json(entry))
        else:
            columns = (">NUMBER", "TIME", "WHO", "ACT", "TARGET", "OUTCOME", "WHY")
            print_table(columns, map(_row, found))


def _entries(manager: Manager, after: int) -> Iterator[AuditEntry]:
    while found := manager.audit(after=after):
        yield from found
        after = found[-1].number


def _matches(
    entry: AuditEntry,
    *,
    who: str | None,
    act: str | None,
    target: str | None,
    denied: bool,
    since: datetime | None,
    until: datetime | None,
) -> bool:
    asked = ((who, entry.who), (act, entry.act), (target, entry.target))
    return (
        not (denied and entry.allowed)
        and all(one is None or fnmatchcase(fold(text), fold(one)) for one, text in asked)
        and (since is None or entry.time >= since.replace(tzinfo=UTC))
        and (until is None or entry.time < until.replace(tzinfo=UTC))
    )


def _json(entry: AuditEntry) -> dict[str, Any]:
    return {**asdict(entry), "time": time_json(entry.time)}


def _row(entry: AuditEntry) -> tuple[object, ...]:
    outcome = "allowed" if entry.allowed else "denied"
    by = f" (by {entry.by})" if entry.by else ""
    return (
        entry.number,
        time_text(entry.time),
        entry.who,
        entry.act,
        entry.target,
        outcome,
        f"{entry.reason}{by}".strip(),
    )


def _last_number(path: Path) -> int:
    """The number of the last entry in a file that was exported before; 0 if there is none."""
    try:
        with path.open("rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - _TAIL))
            lines = file.read().splitlines()
        return int(json.loads(lines[-1])["number"]) if lines else 0
    except FileNotFoundError:
        return 0
    except (ValueError, KeyError, TypeError):
        raise click.UsageError(f"{path}: its last line is no entry of an audit log.") from None


def _append(path: Path, found: Iterator[AuditEntry] | deque[AuditEntry]) -> int:
    """Append entries to a file that only its owner can read; how many."""
    count = 0
    with open(path, "a", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
        for entry in found:
            file.write(json.dumps(_json(entry)) + "\n")
            count += 1
        file.flush()
        os.fsync(file.fileno())
    return count
