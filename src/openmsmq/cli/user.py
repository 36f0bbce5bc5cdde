"""`openmsmq user`: who may log on from other queue managers, over remote calls."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from openmsmq.access.users import ANONYMOUS, User, Users
from openmsmq.cli.options import directory_options, patterns_option
from openmsmq.cli.output import print_json, print_table, time_json, time_text
from openmsmq.types.caller import RIGHTS, Right, role_of

_password_option = click.option(
    "--password-stdin",
    "from_stdin",
    is_flag=True,
    help="Read the password from standard input instead of asking for it.",
)


@click.group()
def user() -> None:
    """Add, list and remove users, who log on over RPC (NTLM) to read queues.

    Users belong to a directory and are changed there, also while a service works with it: it uses
    the change at once, and closes the connections of users that were removed or changed.
    The file users.json holds the NT hash of each password, which is as good as the password: keep
    the directory for its owner only.

    \b
    Examples:
      openmsmq user add backend --role read --queue orders
      openmsmq user list
      openmsmq user passwd backend
      openmsmq user remove backend
    """


@user.command()
@click.argument("name")
@click.option(
    "--role",
    "rights",
    required=True,
    multiple=True,
    type=click.Choice(RIGHTS),
    help="peek: look at messages; read: receive, move and purge them, too; send: send; admin:"
    " everything. Can be given several times.",
)
@patterns_option
@_password_option
@click.option(
    "--kerberos",
    "kerberos_only",
    is_flag=True,
    help="The user has no password here, and logs on with a ticket of the domain (rpc.keytab).",
)
@directory_options
def add(
    name: str,
    *,
    directory: Path,
    as_json: bool,
    rights: tuple[Right, ...],
    queues: tuple[str, ...],
    from_stdin: bool,
    kerberos_only: bool,
) -> None:
    """Add a user; the password is asked for.

    The user anonymous has no password: its role is that of callers without a login, where the
    configuration lets them in (rpc.allow_unauthenticated, rpc.allow_anonymous).

    \b
    Examples:
      openmsmq user add backend --role read --queue "orders*"
      printf %s "$PASSWORD" | openmsmq user add backend --role read --password-stdin
      openmsmq user add anonymous --role read --queue news
      openmsmq user add alice --role read --kerberos
    """
    has_none = kerberos_only or name.lower() == ANONYMOUS
    password = "" if has_none else _password(from_stdin=from_stdin)
    users = Users.load(directory)
    made = users.add(name, password, role_of(rights), queues, kerberos_only=kerberos_only)
    _report("added", made, as_json=as_json)


@user.command(name="list")
@directory_options
def list_(*, directory: Path, as_json: bool) -> None:
    """List the users, without their passwords.

    \b
    Examples:
      openmsmq user list
      openmsmq user list --json | jq -r .name
    """
    found = list(Users.load(directory))
    if as_json:
        for one in found:
            print_json(_document(one))
    elif found:
        print_table(["NAME", "ROLE", "QUEUES", "CREATED"], map(_row, found))


@user.command()
@click.argument("name")
@_password_option
@directory_options
def passwd(name: str, *, directory: Path, as_json: bool, from_stdin: bool) -> None:
    """Change the password of a user.

    \b
    Example:
      openmsmq user passwd backend
    """
    changed = Users.load(directory).set_password(name, _password(from_stdin=from_stdin))
    _report("changed", changed, as_json=as_json)


@user.command()
@click.argument("name")
@directory_options
def remove(name: str, *, directory: Path, as_json: bool) -> None:
    """Remove a user; a service closes its connections within a second or two.

    \b
    Example:
      openmsmq user remove backend
    """
    _report("removed", Users.load(directory).remove(name), as_json=as_json)


def _password(*, from_stdin: bool) -> str:
    """The password that is given or typed, without the end of its line."""
    if from_stdin:
        found = sys.stdin.readline().rstrip("\r\n")
    else:
        found = str(click.prompt("Password", hide_input=True, confirmation_prompt=True, err=True))
    if not found:
        raise click.UsageError("the password is empty")
    return found


def _report(what: str, one: User, *, as_json: bool) -> None:
    if as_json:
        print_json(_document(one))
    else:
        click.echo(f"{what} {one.name}")


def _document(one: User) -> dict[str, Any]:
    created = time_json(one.created)
    return {"name": one.name, "role": one.role, "queues": one.queues, "created": created}


def _row(one: User) -> tuple[object, ...]:
    return one.name, one.role, ", ".join(one.queues) or "all", time_text(one.created)
