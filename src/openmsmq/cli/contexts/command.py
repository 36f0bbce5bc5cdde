"""`openmsmq context`: managers, tokens and CAs by name."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from openmsmq.cli.contexts.file import Context, Contexts, contexts_file, load, save
from openmsmq.cli.options import check_address, json_option
from openmsmq.cli.output import print_json, print_table


@click.group()
def context() -> None:
    """Give names to queue managers, with the token and the CA that they need.

    A command connects to the context in use where no --manager, --data or --context says otherwise,
    on the command line or in the environment. Contexts are in openmsmq/contexts.json of your
    configuration directory (~/.config); only you may read them, since tokens are in it.

    \b
    Examples:
      openmsmq context add shop --manager shop.example.com:1811 --tls-ca ca.pem --token "$TOKEN"
      openmsmq context use shop
      openmsmq queue list
      openmsmq queue list --context office
      openmsmq context list
    """


@context.command()
@click.argument("name")
@click.option("--manager", required=True, metavar="HOST:PORT", help="The service, or unix:PATH.")
@click.option("--token", default="", metavar="TEXT", help="The token that the service asks for.")
@click.option(
    "--token-stdin", "from_stdin", is_flag=True, help="Read the token from standard input."
)
@click.option(
    "--tls-ca",
    type=click.Path(exists=True, dir_okay=False, resolve_path=True, path_type=Path),
    help="Use TLS, and trust the certificates of this CA.",
)
@click.option("--use", "is_used", is_flag=True, help="Use it from now on.")
@json_option
def add(
    name: str,
    *,
    manager: str,
    token: str,
    from_stdin: bool,
    tls_ca: Path | None,
    is_used: bool,
    as_json: bool,
) -> None:
    """Add a context, or replace the one of that name. The first one is used at once.

    \b
    Examples:
      openmsmq context add local --manager 127.0.0.1:1811
      openmsmq context add shop --manager shop:1811 --token-stdin < token.txt
    """
    check_address(manager)
    if from_stdin:
        token = sys.stdin.readline().strip()
    path = contexts_file()
    known = load(path)
    made = Context(name, manager, token, "" if tls_ca is None else str(tls_ca))
    is_used = is_used or not known.known
    after = known.with_context(made)
    save(path, after.using(name) if is_used else after)
    _report("added", made, after.using(name) if is_used else after, as_json=as_json)


@context.command()
@click.argument("name")
@json_option
def use(name: str, *, as_json: bool) -> None:
    """Use a context by default; "-" for none.

    \b
    Examples:
      openmsmq context use shop
      openmsmq context use -
    """
    path = contexts_file()
    after = load(path).using("" if name == "-" else name)
    save(path, after)
    if after.in_use is not None:
        _report("using", after.in_use, after, as_json=as_json)
    elif not as_json:
        click.echo("using no context")


@context.command(name="list")
@json_option
def list_(*, as_json: bool) -> None:
    """List the contexts, without their tokens; a star marks the one in use.

    \b
    Examples:
      openmsmq context list
      openmsmq context list --json | jq -r .name
    """
    known = load(contexts_file())
    if as_json:
        for one in known.known:
            print_json(_document(one, known))
    elif known.known:
        rows = (_row(one, known) for one in known.known)
        print_table(["", "NAME", "MANAGER", "TOKEN", "TLS CA"], rows)


@context.command()
@click.argument("name")
@json_option
def remove(name: str, *, as_json: bool) -> None:
    """Remove a context, with its token.

    \b
    Example:
      openmsmq context remove shop
    """
    path = contexts_file()
    before = load(path)
    after = before.without(name)
    save(path, after)
    _report("removed", before.named(name), after, as_json=as_json)


def _report(what: str, one: Context, known: Contexts, *, as_json: bool) -> None:
    if as_json:
        print_json(_document(one, known))
    else:
        is_used = what == "added" and known.current == one.name
        click.echo(f"{what} {one.name} ({one.manager}{', in use' if is_used else ''})")


def _document(one: Context, known: Contexts) -> dict[str, object]:
    return {
        "name": one.name,
        "manager": one.manager,
        "tls_ca": one.tls_ca or None,
        "has_token": bool(one.token),
        "in_use": one.name == known.current,
    }


def _row(one: Context, known: Contexts) -> tuple[object, ...]:
    star = "*" if one.name == known.current else ""
    return star, one.name, one.manager, "yes" if one.token else "no", one.tls_ca or "no"
