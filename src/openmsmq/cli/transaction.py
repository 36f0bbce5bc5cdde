"""`openmsmq transaction`: transactions that were prepared and wait for their outcome."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import click

from openmsmq.cli.options import ManagerLocation, Refusal, WrongUsage, manager_options
from openmsmq.cli.output import age_text, count_text, print_json, print_table
from openmsmq.errors import TransactionSequence

if TYPE_CHECKING:
    from openmsmq import Manager, Recovered
    from openmsmq.client._sync.participants import TwoPhaseConnection


@click.group()
def transaction() -> None:
    """Decide transactions that were prepared and wait for their outcome.

    Their messages can be neither read nor removed until then. Ask the coordinator of a transaction
    for its outcome first: to decide otherwise breaks what it promised. Units, whose names begin
    with `unit:`, are decided by a queue manager: `recover` asks it.

    \b
    Examples:
      openmsmq transaction list
      openmsmq transaction recover --database 'dbname=shop'
      openmsmq transaction commit transfer-17
    """


@transaction.command(name="list")
@manager_options
def list_(*, location: ManagerLocation, as_json: bool) -> None:
    """List transactions that are not over, for how long, and whom they wait for.

    These are transactions that are prepared, and units that this manager has committed and that
    some of their participants have not confirmed.

    \b
    Example:
      openmsmq transaction list
    """
    with location.open() as manager:
        found = list(_waiting(manager))
    if as_json:
        for item, _ in found:
            print_json(item)
    elif found:
        rows = ((item["name"], age_text(item["age"]), words) for item, words in found)
        print_table(["NAME", ">AGE", "WAITS FOR"], rows)


def _waiting(manager: Manager) -> Iterator[tuple[dict[str, Any], str]]:
    """What is not over, as JSON and in words."""
    from openmsmq.types.units import decider_of

    for name, age in manager.prepared_ages().items():
        decider = decider_of(name)
        item: dict[str, Any] = {"name": name, "state": "prepared", "age": age}
        if decider is None:
            yield item, "its outcome: prepared, its coordinator knows"
        else:
            yield (
                {**item, "decider": str(decider)},
                f"its outcome: prepared, manager {decider} knows",
            )
    for unit in manager.units():
        who = ", ".join(unit.waiting)
        words = "its program notifies them" if unit.state == "committing" else "run `recover`"
        yield {**asdict(unit), "waiting": list(unit.waiting)}, f"{who}: committed, {words}"


@transaction.command()
@click.option(
    "--database",
    "databases",
    multiple=True,
    metavar="DSN",
    help="A PostgreSQL that has parts in units: `host=db1 dbname=shop`, or a URI.",
)
@click.option(
    "--with",
    "managers",
    multiple=True,
    metavar="HOST:PORT",
    help="Another queue manager that has parts in units; --token and --tls-ca count for it, too.",
)
@manager_options
def recover(
    databases: tuple[str, ...],
    managers: tuple[str, ...],
    *,
    location: ManagerLocation,
    as_json: bool,
) -> None:
    """Finish units that were left behind by a crash.

    The manager (--manager, --data) is the one that decides: the first that the program names. Parts
    that databases and other managers have prepared are committed if it has committed the unit, and
    aborted if it has not. A unit whose program is still active is left alone. Programs do the same
    when they begin a unit; recovery is idempotent.

    \b
    Examples:
      openmsmq transaction recover --database 'host=db1 dbname=shop'
      openmsmq transaction recover --with shop02:1811 --json
    """
    import openmsmq

    with ExitStack() as opened:
        manager = opened.enter_context(location.open())
        others: list[Manager | TwoPhaseConnection] = [_connect(dsn, opened) for dsn in databases]
        for address in managers:
            there = replace(location, directory=None, address=address)
            others.append(opened.enter_context(there.open()))
        found = openmsmq.recover(manager, *others)
    _show(found, as_json=as_json)
    failed = sum(one.outcome == "failed" for one in found)
    if failed:
        raise Refusal(f"{count_text(failed, 'part')} could not be ended; try again")


def _connect(dsn: str, opened: ExitStack) -> TwoPhaseConnection:
    try:
        import psycopg
    except ImportError:
        raise WrongUsage("--database needs psycopg: pip install 'openmsmq[postgresql]'") from None
    try:
        return opened.enter_context(psycopg.connect(dsn, autocommit=True))
    except psycopg.Error as error:
        raise Refusal(f"--database: {str(error).splitlines()[0]}") from error


def _show(found: list[Recovered], *, as_json: bool) -> None:
    if as_json:
        for one in found:
            print_json(asdict(one))
    elif found:
        rows = ((one.unit, one.participant, one.outcome, one.detail) for one in found)
        print_table(["UNIT", "PARTICIPANT", "OUTCOME", ""], rows)
    else:
        click.echo("nothing was left behind")


@transaction.command()
@click.argument("name")
@manager_options
def forget(name: str, *, location: ManagerLocation, as_json: bool) -> None:
    """Forget a committed unit whose participants will never confirm it.

    For a database that is gone for good, or one whose parts you have ended yourself. A participant
    that still has a part in the unit would abort it from then on.

    \b
    Example:
      openmsmq transaction forget unit:0a69d3c2f8e94b5a8d0c6a1be4b3f7d2:5c0f3a9b7e21d4c6f80a1b2c
    """
    with location.open() as manager:
        waiting = {unit.name: unit.waiting for unit in manager.units()}
        if name not in waiting:
            raise TransactionSequence(f"no unit {name} waits to be confirmed")
        manager.backend.finish_unit(name, list(waiting[name]))
    _answer(name, "forgotten", as_json=as_json)


@transaction.command()
@click.argument("name")
@manager_options
def commit(name: str, *, location: ManagerLocation, as_json: bool) -> None:
    """Commit a prepared transaction: all that it did takes effect.

    \b
    Example:
      openmsmq transaction commit transfer-17
    """
    with location.open() as manager:
        manager.commit_prepared(name)
    _answer(name, "committed", as_json=as_json)


@transaction.command()
@click.argument("name")
@manager_options
def abort(name: str, *, location: ManagerLocation, as_json: bool) -> None:
    """Abort a prepared transaction: undo all that it did.

    \b
    Example:
      openmsmq transaction abort transfer-17
    """
    with location.open() as manager:
        manager.abort_prepared(name)
    _answer(name, "aborted", as_json=as_json)


def _answer(name: str, state: str, *, as_json: bool) -> None:
    if as_json:
        print_json({"name": name, "state": state})
    else:
        click.echo(f"{state} {name}")
