"""`openmsmq apply`: queues and settings as code."""

from __future__ import annotations

import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import click

from openmsmq import Manager
from openmsmq.cli.options import ManagerLocation, Refusal, WrongUsage, manager_options, yes_option
from openmsmq.cli.output import count_text, print_json, print_table
from openmsmq.client.plan import FileError, Impossible, Step, Wanted, make_plan, read_plan
from openmsmq.types.queues import PRIVACY

_SIGNS: Final = {"create": "+", "change": "~", "delete": "-", "keep": " "}


@click.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--dry-run", is_flag=True, help="Show the plan and do nothing.")
@click.option("--prune", is_flag=True, help="Delete queues that the file does not have.")
@click.option("--force", is_flag=True, help="With --prune: even if there are messages in them.")
@yes_option
@manager_options
def apply(
    file: Path,
    *,
    location: ManagerLocation,
    as_json: bool,
    dry_run: bool,
    prune: bool,
    force: bool,
    yes: bool,
) -> None:
    """Bring queues and settings to the state that a TOML file describes.

    It shows the plan and asks; without a terminal it needs --yes. What the file does not mention
    stays as it is. A second time there is nothing to do. Nothing is done if anything in the file is
    wrong: exit code 2 names the line or the key. Exit code 1 says what cannot be reached: a queue
    is transactional for life, and --prune leaves queues with messages to --force.

    \b
    A file, with all keys; with the first line an editor checks it (openmsmq assets):
      #:schema apply.schema.json
      [settings]
      quota = 1048576             # KiB for all messages, or "none"
      journal_quota = "none"
      history = 64                # MiB of what explain tells; 0 switches it off
      audit = 16                  # MiB of the audit log; 0 switches it off
      audit_opens = false         # record also who opens which queue
      time_to_reach_queue = 345600  # seconds, for messages that do not say
      confirmation_grace = 2      # seconds after its time to be received
      dedup_count = 100000        # deduplication ids that are remembered,
      dedup_time = 86400          # and for how many seconds
      clock_tolerance = 60        # seconds that other managers' clocks may be behind
      keep_refused = true         # keep messages that are not accepted in Refused$
      reports = false             # send reports about traced messages
      insecure_nacks = false      # say also that a queue does not exist
      hardened = false            # transfer over HTTP only, from the next start on
      new_queues = "open"         # or restricted, recommended, spec (docs/security.md)
      permissions = ""            # of the manager itself, in SDDL; "" for all open
      inherited_names = []        # earlier names of this computer
      [queue.orders]              # .\\private$\\orders
      transactional = true
      journal = true
      quota = 10240               # KiB, or "none"
      journal_quota = 10240
      label = "orders of the shop"
      authenticate = false
      privacy = "optional"        # none, optional, body
      base_priority = 0
      type = "6fa1c2b3-8e1d-4f0a-9c57-2b1d3e4f5a6b"
      abort_limit = 5             # aborts until a message is poison; 0 for never
      retry_delay = 10            # seconds before it is read again after an abort
      poison = "subqueue"         # or "dead-letter"
      [queue.prices]
      multicast = "234.1.1.1:8001"  # gets what is sent to this address
      [queue.'private$\\invoices']

    \b
    Examples:
      openmsmq apply shop.toml --dry-run
      openmsmq apply shop.toml --yes --prune
    """
    try:
        wanted = read_plan(file.read_text(encoding="utf-8"))
    except (FileError, UnicodeDecodeError) as error:
        raise WrongUsage(f"{file}: {error}") from None
    with ExitStack() as stack:
        manager = stack.enter_context(location.open()) if location.exists else None
        steps = _plan(wanted, manager, prune=prune, force=force)
        _print_plan(steps, as_json=as_json)
        todo = [step for step in steps if step.action != "keep"]
        if dry_run or not todo:
            return
        _agree(yes=yes)
        manager = manager or stack.enter_context(location.open(create=True))
        for step in todo:
            _carry_out(manager, step)
    if not as_json:
        click.echo(f"done: {count_text(len(todo), 'change')}")


def _plan(wanted: Wanted, manager: Manager | None, *, prune: bool, force: bool) -> list[Step]:
    queues = manager.queues() if manager else []
    settings = manager.settings() if manager else None
    try:
        return make_plan(wanted, queues, settings, prune=prune, force=force)
    except Impossible as error:
        raise Refusal(str(error)) from None


def _agree(*, yes: bool) -> None:
    if yes:
        return
    if not sys.stdin.isatty():
        raise WrongUsage("nothing was done; give --yes to carry the plan out")
    click.confirm("Carry this out?", abort=True, err=True)


def _carry_out(manager: Manager, step: Step) -> None:
    match step.action:
        case "create":
            manager.create_queue(step.name, **step.queue_values).close()
        case "delete":
            manager.delete_queue(step.name)
        case "change" if step.name:
            with manager.open_queue(step.name) as queue:
                queue.set(**step.queue_values)
        case _:
            manager.configure(**step.values)


def _print_plan(steps: list[Step], *, as_json: bool) -> None:
    if as_json:
        for step in steps:
            print_json(_step_json(step))
        return
    rows = [(_SIGNS[s.action], s.action, s.name or "settings", _details(s)) for s in steps]
    if rows:
        print_table(("", "ACTION", "NAME", "DETAILS"), rows)
    if all(step.action == "keep" for step in steps):
        click.echo("nothing to do")


def _step_json(step: Step) -> dict[str, Any]:
    document: dict[str, Any] = {"action": step.action, "name": step.name or None}
    if step.action == "delete":
        document["messages"] = step.messages
    if step.changes:
        document["changes"] = {
            key: {"from": _json_value(old), "to": _json_value(new)}
            for key, (old, new) in step.changes.items()
        }
    return document


def _json_value(value: Any) -> Any:
    return str(value) if isinstance(value, UUID) else value


def _details(step: Step) -> str:
    if step.action == "delete":
        return f"with {count_text(step.messages)}" if step.messages else ""
    if step.action == "create":
        return ", ".join(f"{key} {_words(key, new)}" for key, new in step.values.items())
    return ", ".join(
        f"{key} {_words(key, old)} -> {_words(key, new)}"
        for key, (old, new) in step.changes.items()
    )


def _words(key: str, value: Any) -> str:
    if key == "privacy" and isinstance(value, int):
        return PRIVACY[value]
    if isinstance(value, bool):
        return "on" if value else "off"
    return "none" if value is None else str(value) or '""'
