"""`openmsmq manage`: looks after a manager elsewhere, over remote calls (MS-MQMR)."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import asdict
from functools import wraps
from typing import Any, Final, TypeVar

import click

from openmsmq import RemoteManagement, connect_management
from openmsmq.cli.options import json_option
from openmsmq.cli.output import (
    count_text,
    print_json,
    print_properties,
    print_table,
    size_text,
    time_text,
)
from openmsmq.properties.managed import ManagedQueueInfo, SequencePosition

Function = TypeVar("Function", bound=Callable[..., Any])
OK_STATUSES: Final = ("connecting", "answered", "connected")
"What the first numbers of an attempt mean; all others are failures."


@click.group()
@click.argument("host")
@click.pass_context
def manage(context: click.Context, host: str) -> None:
    """Manage a queue manager on another computer, MSMQ or OpenMSMQ, over RPC.

    HOST is its computer. You need to be an administrator there: of OpenMSMQ, a user with the role
    admin (`openmsmq user add`) of a service with --rpc-port. The password is asked for.

    \b
    Examples:
      openmsmq manage HOST show --user admin
      openmsmq manage HOST pause 'DIRECT=OS:office\\private$\\orders' --user admin
    """
    context.obj = host


def _place_options(function: Callable[..., None]) -> Callable[..., None]:
    """How to get there, and who one is; the command gets the open connection."""

    @wraps(function)
    @click.pass_context
    def run(
        context: click.Context,
        /,
        *args: Any,
        user: str,
        password_stdin: bool,
        kerberos: bool,
        port: int,
        mapper_port: int,
        computer: str,
        level: str,
        **given: Any,
    ) -> None:
        password = "" if kerberos or level == "none" else _password(from_stdin=password_stdin)
        with connect_management(
            context.obj,
            port=port,
            user=user,
            password=password,
            auth="kerberos" if kerberos else "ntlm",
            level=level,
            computer=computer,
            mapper_port=mapper_port,
        ) as management:
            function(management, *args, **given)

    options = (
        click.option("--user", default="", help="Who logs on, USER or DOMAIN\\USER."),
        click.option(
            "--password-stdin",
            is_flag=True,
            help="Read the password from standard input instead of asking for it.",
        ),
        click.option("--kerberos", is_flag=True, help="Log on with the ticket of kinit."),
        click.option(
            "--port",
            type=click.IntRange(0, 65535),
            default=0,
            help="The port for remote calls; without it the endpoint mapper is asked.",
        ),
        click.option(
            "--mapper-port",
            type=click.IntRange(1, 65535),
            default=135,
            show_default=True,
            help="The port of the endpoint mapper.",
        ),
        click.option(
            "--computer", default="", help="What the manager calls its computer, if not HOST."
        ),
        click.option(
            "--level",
            type=click.Choice(["privacy", "integrity", "none"]),
            default="privacy",
            show_default=True,
            help="How calls are protected.",
        ),
    )
    made: Callable[..., None] = run
    for option in reversed(options):
        made = option(made)
    return made


def _password(*, from_stdin: bool) -> str:
    if from_stdin:
        return sys.stdin.readline().rstrip("\n")
    found: str = click.prompt("Password", hide_input=True, err=True)
    return found


name_argument: Final = click.argument("name")


@manage.command()
@json_option
@_place_options
def show(management: RemoteManagement, *, as_json: bool) -> None:
    """Show the properties of the manager.

    \b
    Example:
      openmsmq manage HOST show --user admin --port 2103
    """
    found = management.machine()
    if as_json:
        print_json(asdict(found))
        return
    shown = [
        ("network", "connected" if found.connected else "disconnected"),
        ("private queues", f"{len(found.private_queues):,}"),
        ("active queues", f"{len(found.active_queues):,}"),
        ("size", "" if found.bytes is None else size_text(found.bytes)),
        ("directory", found.directory_server or ""),
        ("type", found.type),
    ]
    print_properties([(name, value) for name, value in shown if value])


@manage.command()
@json_option
@_place_options
def queues(management: RemoteManagement, *, as_json: bool) -> None:
    """List private queues and all active ones: outgoing queues, and queues that are open.

    \b
    Examples:
      openmsmq manage HOST queues --user admin
      openmsmq manage HOST queues --user admin --json | jq .messages
    """
    machine = management.machine()
    named = {fold_name(path): path for path in machine.private_queues}
    for name in machine.active_queues:
        named.setdefault(fold_name(name), name)
    found = [management.queue(name) for name in named.values()]
    if as_json:
        for info in found:
            print_json(asdict(info))
        return
    columns = ("NAME", "STATE", ">MESSAGES", ">SIZE", "TYPE")
    print_table(columns, map(_row, found))


def fold_name(name: str) -> str:
    r"""What is the same in `HOST\private$\orders` and `DIRECT=OS:HOST\private$\orders`."""
    return name.lower().removeprefix("direct=os:")


@manage.command()
@name_argument
@json_option
@_place_options
def queue(management: RemoteManagement, name: str, *, as_json: bool) -> None:
    """Show a queue; for an outgoing one also the state of its messages and its connection.

    NAME is a queue of the manager, or the format name that messages are sent to.

    \b
    Examples:
      openmsmq manage HOST queue orders --user admin
      openmsmq manage HOST queue 'DIRECT=OS:office\\private$\\orders' --user admin
    """
    found = management.queue(name)
    if as_json:
        print_json(asdict(found))
    else:
        print_properties(_shown(found))


@manage.command()
@_place_options
def connect(management: RemoteManagement) -> None:
    """Bring the manager online: it sends and receives messages again.

    \b
    Example:
      openmsmq manage HOST connect --user admin
    """
    management.connect_network()
    click.echo("connected")


@manage.command()
@_place_options
def disconnect(management: RemoteManagement) -> None:
    """Take the manager offline: nothing is sent or received until it is connected or restarted.

    \b
    Example:
      openmsmq manage HOST disconnect --user admin
    """
    management.disconnect_network()
    click.echo("disconnected")


@manage.command()
@_place_options
def tidy(management: RemoteManagement) -> None:
    """Have the manager release storage that it does not need.

    OpenMSMQ removes no message. For others, MS-MQMR can be read so that all queues are purged.

    \b
    Example:
      openmsmq manage HOST tidy --user admin
    """
    management.tidy()
    click.echo("tidied")


@manage.command()
@name_argument
@_place_options
def pause(management: RemoteManagement, name: str) -> None:
    """Send nothing from an outgoing queue until it is resumed.

    NAME is the format name that messages are sent to, as they were sent.

    \b
    Example:
      openmsmq manage HOST pause 'DIRECT=OS:office\\private$\\orders' --user admin
    """
    management.pause(name)
    click.echo(f"paused {name}")


@manage.command()
@name_argument
@_place_options
def resume(management: RemoteManagement, name: str) -> None:
    """Resume sending from an outgoing queue that was paused.

    \b
    Example:
      openmsmq manage HOST resume 'DIRECT=OS:office\\private$\\orders' --user admin
    """
    management.resume(name)
    click.echo(f"resumed {name}")


@manage.command()
@name_argument
@_place_options
def resend(management: RemoteManagement, name: str) -> None:
    """Resend transactional messages that are not acknowledged yet, now.

    \b
    Example:
      openmsmq manage HOST resend 'DIRECT=OS:office\\private$\\orders' --user admin
    """
    management.resend(name)
    click.echo(f"sent again {name}")


def _row(info: ManagedQueueInfo) -> tuple[object, ...]:
    return (
        info.path_name if info.location == "LOCAL" else info.format_name,
        (info.state or "").lower(),
        f"{info.messages or 0:,}",
        size_text(info.bytes or 0),
        (info.type or "").lower(),
    )


def _shown(info: ManagedQueueInfo) -> list[tuple[str, object]]:
    shown: list[tuple[str, object]] = [
        ("name", info.path_name or info.format_name or ""),
        ("format name", info.format_name or ""),
        ("type", (info.type or "").lower()),
        ("transactional", (info.transactional or "").lower()),
        ("state", (info.state or "").lower()),
        ("messages", count_text(info.messages or 0)),
        ("size", size_text(info.bytes or 0)),
        ("journal", count_text(info.journal_messages) if info.journal_messages else ""),
        ("subqueues", ", ".join(info.subqueues or ())),
        ("next hops", ", ".join(info.next_hops or ())),
        ("unacknowledged", info.unacknowledged or ""),
        ("unprocessed", info.unread or ""),
        ("first unacknowledged", _position(info.first_unacknowledged)),
        ("last unacknowledged", _position(info.last_unacknowledged)),
        ("last acknowledged", _position(info.last_ack)),
        ("acknowledged at", time_text(info.last_ack_time) if info.last_ack_time else ""),
        ("next", _position(info.next)),
        ("sent again at", time_text(info.resend_time) if info.resend_time else ""),
    ]
    for stream in info.incoming or ():
        words = f"{stream.number:,} from {stream.sender}, {count_text(stream.rejects, 'reject')}"
        shown.append(("incoming", words))
    for attempt in info.attempts or ():
        status = f"failed (0x{attempt.status:08X})"
        if attempt.status < len(OK_STATUSES):
            status = OK_STATUSES[attempt.status]
        words = f"{time_text(attempt.time)}  {status}  {', '.join(attempt.addresses)}"
        shown.append(("attempt", words))
    return [(name, value) for name, value in shown if value != ""]


def _position(place: SequencePosition | None) -> str:
    return f"{place.number:,}" if place is not None and place.number else ""
