"""`openmsmq token`: who may come in from other computers."""

from __future__ import annotations

import time
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import click

from openmsmq.access.tokens import Token, Tokens
from openmsmq.cli.options import directory_options, patterns_option
from openmsmq.cli.output import print_json, print_table, time_json, time_text
from openmsmq.types.caller import RIGHTS, Right, role_of

_DAY: Final = 86_400
_DAYS_MAX: Final = 36_500
_LABEL_MAX: Final = 200


@click.group()
def token() -> None:
    """Create, list and revoke the tokens with which programs log in.

    Tokens belong to a directory and are changed there, also while a service works with it: it knows
    about new and revoked ones at once, and shows out who came in with one that is over. Only a hash
    of each is kept.

    \b
    Examples:
      openmsmq token create --role send --queue orders --label "web shop"
      openmsmq token list
      openmsmq token revoke 3f9a01c7
    """


@token.command()
@click.option(
    "--role",
    "rights",
    required=True,
    multiple=True,
    type=click.Choice(RIGHTS),
    help="watch: counts; peek: look at messages; read: receive and move them, too; send: send;"
    " operate: move messages, pause, resume, retry; admin: everything. Can be given several times.",
)
@patterns_option
@click.option("--label", default="", help="Who has it, for people.")
@click.option(
    "--expires",
    metavar="DAYS",
    type=click.IntRange(1, _DAYS_MAX),
    help="Days after which the token expires.",
)
@directory_options
def create(
    *,
    directory: Path,
    as_json: bool,
    rights: tuple[Right, ...],
    queues: tuple[str, ...],
    label: str,
    expires: int | None,
) -> None:
    """Create a token and print it; it cannot be shown again.

    A pattern is compared with the whole name of a queue, without regard to case: orders* means
    .\\private$\\orders*. Who may read a queue may read its subqueues. A token for some queues only
    does nothing that concerns the whole manager, such as to change settings.

    \b
    Examples:
      openmsmq token create --role admin --label "Anna"
      openmsmq token create --role read --role send --queue "orders*" --queue invoices
      openmsmq token create --role send --queue orders --expires 90
    """
    if len(label) > _LABEL_MAX:
        raise click.BadParameter(f"at most {_LABEL_MAX} characters", param_hint="--label")
    until = None if expires is None else int(time.time()) + expires * _DAY
    made, text = Tokens.load(directory).create(role_of(rights), queues, label=label, expires=until)
    if as_json:
        print_json({"token": text, **_document(made)})
    else:
        click.echo(text)
        click.echo(f"created {made.id}; keep it safe, it is shown only now", err=True)


@token.command(name="list")
@directory_options
def list_(*, directory: Path, as_json: bool) -> None:
    """List the tokens, without their secrets.

    \b
    Examples:
      openmsmq token list
      openmsmq token list --json | jq -r .id
    """
    found = list(Tokens.load(directory))
    if as_json:
        for one in found:
            print_json(_document(one))
    elif found:
        print_table(["ID", "ROLE", "QUEUES", "CREATED", "EXPIRES", "LABEL"], map(_row, found))


@token.command()
@click.argument("identifier", metavar="ID")
@directory_options
def revoke(identifier: str, *, directory: Path, as_json: bool) -> None:
    """Revoke a token.

    A service closes the connections of programs that use it within a second or two.

    \b
    Example:
      openmsmq token revoke 3f9a01c7
    """
    gone = Tokens.load(directory).revoke(identifier)
    if as_json:
        print_json(_document(gone))
    else:
        click.echo(f"revoked {gone.id}")


def _document(token: Token) -> dict[str, Any]:
    values = {name: value for name, value in asdict(token).items() if name not in ("salt", "hash")}
    expires = None if token.expires is None else time_json(token.expires)
    return {**values, "created": time_json(token.created), "expires": expires}


def _row(token: Token) -> tuple[object, ...]:
    expires = "never" if token.expires is None else time_text(token.expires)
    if token.is_expired(time.time()):
        expires += " (over)"
    queues = ", ".join(token.queues) or "all"
    return token.id, token.role, queues, time_text(token.created), expires, token.label
