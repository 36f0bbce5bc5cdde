"""`openmsmq queue permissions`: who may do what with a queue."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import click

from openmsmq.access.decisions import decide, entries_of
from openmsmq.access.tokens import Tokens
from openmsmq.access.users import Users
from openmsmq.cli.options import ManagerLocation, manager_options, queue_argument
from openmsmq.cli.output import print_json, print_properties, print_table
from openmsmq.security.access import QueueRights
from openmsmq.security.descriptor import Ace, AceType, Acl, SecurityDescriptor
from openmsmq.security.permissions import format_rights, parse_entry, parse_rights
from openmsmq.security.principals import (
    format_principal,
    parse_principal,
)
from openmsmq.security.sddl import format_sddl, parse_sddl
from openmsmq.security.sid import ADMINISTRATORS
from openmsmq.types.caller import Grant


@click.group()
def permissions() -> None:
    """Show, change and check who may do what with a queue.

    A queue without a list of permissions is open: then roles of tokens and users decide alone. With
    a list, both must allow what is asked for. Messages of other queue managers are anonymous,
    unless they are signed; those that come over HTTP count as everyone.

    \b
    Examples:
      openmsmq queue permissions show orders
      openmsmq queue permissions set orders --allow everyone=send --allow user:anna=receive
      openmsmq queue permissions check orders --as user:anna --may send
    """


@permissions.command()
@queue_argument
@manager_options
def show(name: str, *, location: ManagerLocation, as_json: bool) -> None:
    """Show the owner of a queue and its list of permissions, in the order that counts.

    \b
    Examples:
      openmsmq queue permissions show orders
      openmsmq queue permissions show orders --json | jq -r .sddl
    """
    queue_name, sddl = _read(location, name)
    _print(queue_name, parse_sddl(sddl), as_json=as_json)


@permissions.command(name="set")
@queue_argument
@click.option("--allow", multiple=True, metavar="WHO=RIGHTS", help="Add an entry that allows.")
@click.option("--deny", multiple=True, metavar="WHO=RIGHTS", help="Add an entry that denies.")
@click.option("--remove", multiple=True, metavar="WHO", help="Remove the entries for someone.")
@click.option("--replace", "anew", is_flag=True, help="Begin with an empty list.")
@click.option("--open", "is_open", is_flag=True, help="Remove the list: roles decide alone.")
@click.option("--owner", metavar="WHO", help="Give the queue another owner.")
@click.option("--sddl", metavar="TEXT", help="The whole descriptor in SDDL.")
@manager_options
def set_(name: str, *, location: ManagerLocation, as_json: bool, **given: Any) -> None:
    """Change the permissions of a queue.

    WHO is one of everyone, anonymous, authenticated, administrators, user:NAME, token:ID,
    certificate:NAME, unix:UID or S-1-...; RIGHTS are names separated by commas: send, peek,
    receive, receive-journal, get-properties, set-properties, delete, get-permissions,
    set-permissions, take-ownership, or read, write and full for several of them.

    Entries that deny are put first. The first list of a queue begins with full rights for
    administrators; --replace leaves these out.

    \b
    Examples:
      openmsmq queue permissions set orders --allow everyone=send --allow anonymous=send
      openmsmq queue permissions set orders --deny user:bob=receive --owner user:anna
      openmsmq queue permissions set orders --remove user:bob
      openmsmq queue permissions set orders --open
      openmsmq queue permissions set orders --sddl "O:BAD:(A;;LC;;;WD)"
    """
    if not any(given.values()):
        raise click.UsageError("Nothing to change: give at least one of the options.")
    _refuse_contradictions(**given)
    with location.open() as manager, manager.open_queue(name) as found:
        before = parse_sddl(found.permissions())
        found.set_permissions(format_sddl(_changed(before, **given)))
        after = parse_sddl(found.permissions())
        _print(found.name, after, as_json=as_json)


@permissions.command()
@queue_argument
@click.option("--as", "who", required=True, metavar="WHO", help="Who would do it.")
@click.option("--may", "rights", required=True, metavar="RIGHTS", help="What it would do.")
@manager_options
def check(name: str, *, location: ManagerLocation, as_json: bool, who: str, rights: str) -> None:
    """Check whether someone may do something, and say which entry decides.

    Exits with 0 if it is allowed, with 1 if not. With --data the role of a token or user counts,
    too: both must allow it.

    \b
    Examples:
      openmsmq queue permissions check orders --as user:anna --may receive
      openmsmq queue permissions check --as anonymous --may send orders
    """
    wanted = parse_rights(rights, QueueRights)
    queue_name, sddl = _read(location, name)
    grant = _grant(location, who)
    verdict = decide(parse_sddl(sddl), who, wanted, queue_name, grant)
    if as_json:
        print_json(
            {
                "queue": queue_name,
                "who": format_principal(parse_principal(who)),
                "rights": format_rights(wanted, QueueRights),
                "allowed": verdict.allowed,
                "entry": verdict.entry,
                "reason": verdict.reason,
                "role": None if grant is None else grant.role,
            }
        )
    else:
        click.echo(f"{'allowed' if verdict.allowed else 'denied'}: {verdict.reason}")
    if not verdict.allowed:
        raise SystemExit(1)


def _read(location: ManagerLocation, name: str) -> tuple[str, str]:
    with location.open() as manager, manager.open_queue(name) as found:
        return found.name, found.permissions()


def _grant(location: ManagerLocation, who: str) -> Grant | None:
    kind, _, name = who.partition(":")
    if location.directory is None:
        return None
    if kind == "user":
        user = Users.load(location.directory).find(name)
        return None if user is None else user.grant
    if kind == "token":
        tokens = (one for one in Tokens.load(location.directory) if one.id == name)
        return next((one.grant for one in tokens), None)
    return None


def _refuse_contradictions(*, sddl: str | None, is_open: bool, **others: Any) -> None:
    """Refuse options of which one would leave the others without effect."""
    if sddl is not None and (is_open or any(others.values())):
        raise click.UsageError("--sddl is the whole descriptor: give it alone.")
    if is_open and any(value for name, value in others.items() if name != "owner"):
        raise click.UsageError("--open removes the list: give no entries beside it.")


def _changed(
    before: SecurityDescriptor,
    *,
    allow: tuple[str, ...],
    deny: tuple[str, ...],
    remove: tuple[str, ...],
    anew: bool,
    is_open: bool,
    owner: str | None,
    sddl: str | None,
) -> SecurityDescriptor:
    """The descriptor that the options describe."""
    if sddl is not None:
        return parse_sddl(sddl)
    if owner is not None:
        before = replace(before, owner=parse_principal(owner))
    if is_open:
        return replace(before, dacl=None)
    if not (allow or deny or remove or anew):
        return before
    aces = () if before.dacl is None or anew else before.dacl.aces
    if before.dacl is None and not anew:
        aces = (Ace(AceType.ALLOWED, int(QueueRights.GENERIC_ALL), ADMINISTRATORS),)
    gone = frozenset(map(parse_principal, remove))
    kept = tuple(ace for ace in aces if ace.sid not in gone)
    denied = tuple(parse_entry(text, QueueRights, AceType.DENIED) for text in deny)
    allowed = tuple(parse_entry(text, QueueRights, AceType.ALLOWED) for text in allow)
    return replace(before, dacl=Acl((*denied, *kept, *allowed)))


def _print(name: str, descriptor: SecurityDescriptor, *, as_json: bool) -> None:
    owner = "" if descriptor.owner is None else format_principal(descriptor.owner)
    rows = entries_of(descriptor)
    sddl = format_sddl(descriptor)
    if as_json:
        entries = None if rows is None else [row._asdict() for row in rows]
        print_json({"name": name, "owner": owner, "entries": entries, "sddl": sddl})
        return
    print_properties([("name", name), ("owner", owner), ("sddl", sddl)])
    if rows is None:
        click.echo("no list: open to everyone whose role allows it")
    else:
        numbered = ((str(place), *row) for place, row in enumerate(rows, 1))
        print_table((">ENTRY", "TYPE", "WHO", "RIGHTS"), numbered)
