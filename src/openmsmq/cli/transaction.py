"""`openmsmq transaction`: transactions that were prepared and wait for their outcome."""

from __future__ import annotations

import click

from openmsmq.cli.options import Location, manager_options
from openmsmq.cli.output import age_text, print_json, print_table


@click.group()
def transaction() -> None:
    """Decide transactions that were prepared and wait for their outcome.

    Their messages can be neither read nor removed until then. Ask the coordinator of a transaction
    for its outcome first: to decide otherwise breaks what it promised.

    \b
    Examples:
      openmsmq transaction list
      openmsmq transaction commit transfer-17
    """


@transaction.command(name="list")
@manager_options
def list_(*, location: Location, as_json: bool) -> None:
    """List prepared transactions, and for how long each waits.

    \b
    Example:
      openmsmq transaction list
    """
    with location.open() as manager:
        ages = manager.prepared_ages()
    if as_json:
        for name, age in ages.items():
            print_json({"name": name, "state": "prepared", "age": age})
    elif ages:
        print_table(["NAME", ">AGE"], ((name, age_text(age)) for name, age in ages.items()))


@transaction.command()
@click.argument("name")
@manager_options
def commit(name: str, *, location: Location, as_json: bool) -> None:
    """Let all that a prepared transaction did take effect.

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
def abort(name: str, *, location: Location, as_json: bool) -> None:
    """Undo all that a prepared transaction did.

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
