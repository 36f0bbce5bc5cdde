"""`openmsmq outgoing`: messages on their way to other computers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any, Final

import click

from openmsmq import Manager, Queue
from openmsmq.cli.options import (
    ManagerLocation,
    Refusal,
    WrongUsage,
    manager_options,
    outgoing_argument,
)
from openmsmq.cli.output import (
    age_text,
    count_text,
    is_like,
    print_json,
    print_properties,
    print_table,
    size_text,
    time_json,
    time_text,
)
from openmsmq.names.format import parse_format_name
from openmsmq.names.parse import parse_name
from openmsmq.names.path import PathName
from openmsmq.types.access import Access
from openmsmq.types.outgoing import OutgoingInfo, TransferState

HELD: Final = (str(TransferState.ON_HOLD), str(TransferState.LOCKED))
"States of queues from which nothing is sent until they are resumed."


@click.group()
def outgoing() -> None:
    """List, pause, resume and retry queues of messages for other computers.

    There is one for each queue elsewhere that messages wait for. NAME is the name of that queue,
    as list shows it; quote it for the shell.

    \b
    Examples:
      openmsmq outgoing list
      openmsmq outgoing retry 'DIRECT=OS:office\\private$\\orders'
    """


@outgoing.command(name="list")
@click.argument("pattern", required=False)
@manager_options
def list_(pattern: str | None, *, location: ManagerLocation, as_json: bool) -> None:
    """List outgoing queues, all or those whose names match PATTERN.

    WAITING messages are still to be sent. UNACKNOWLEDGED ones were sent, and are sent again if
    their arrival is not confirmed. UNPROCESSED ones have reached their queue; they are kept until
    they are received there, since their sender asked for a report if they are not.

    \b
    Examples:
      openmsmq outgoing list
      openmsmq outgoing list '*office*' --json | jq .last_error
    """
    with location.open() as manager:
        found = manager.outgoing()
    chosen = [info for info in found if pattern is None or is_like(info.name, pattern)]
    if as_json:
        for info in chosen:
            print_json(outgoing_json(info))
        return
    counts = (">WAITING", ">UNACKNOWLEDGED", ">UNPROCESSED", ">SIZE", ">OLDEST")
    print_table(("NAME", "STATE", *counts, "NEXT HOP", "NOTES"), map(_row, chosen))


@outgoing.command()
@outgoing_argument(required=True)
@manager_options
def show(name: str, *, location: ManagerLocation, as_json: bool) -> None:
    """Show an outgoing queue with the last attempts to connect.

    \b
    Example:
      openmsmq outgoing show 'DIRECT=OS:office\\private$\\orders'
    """
    with location.open() as manager:
        info = _find(manager.outgoing(), name)
    if as_json:
        print_json(outgoing_json(info))
    else:
        print_properties(_shown(info))


def _all_option(function: Callable[..., Any]) -> Callable[..., Any]:
    option = click.option("--all", "everything", is_flag=True, help="All outgoing queues.")
    return option(function)


@outgoing.command()
@outgoing_argument(required=False)
@_all_option
@manager_options
def pause(name: str | None, *, everything: bool, location: ManagerLocation, as_json: bool) -> None:
    """Send nothing from an outgoing queue until it is resumed, or the service starts again.

    New messages are accepted and wait.

    \b
    Examples:
      openmsmq outgoing pause 'DIRECT=OS:office\\private$\\orders'
      openmsmq outgoing pause --all
    """
    chosen = _Chosen(name, everything, location, lambda info: info.state not in HELD)
    chosen.act(Queue.pause, "paused", as_json=as_json)


@outgoing.command()
@outgoing_argument(required=False)
@_all_option
@manager_options
def resume(name: str | None, *, everything: bool, location: ManagerLocation, as_json: bool) -> None:
    """Resume sending from an outgoing queue that was paused.

    \b
    Examples:
      openmsmq outgoing resume 'DIRECT=OS:office\\private$\\orders'
      openmsmq outgoing resume --all
    """
    chosen = _Chosen(name, everything, location, lambda info: info.state in HELD)
    chosen.act(Queue.resume, "resumed", as_json=as_json)


@outgoing.command()
@outgoing_argument(required=False)
@_all_option
@manager_options
def retry(name: str | None, *, everything: bool, location: ManagerLocation, as_json: bool) -> None:
    """Retry now instead of waiting until the next attempt is due.

    list tells how it went.

    \b
    Examples:
      openmsmq outgoing retry 'DIRECT=OS:office\\private$\\orders'
      openmsmq outgoing retry --all
    """
    chosen = _Chosen(name, everything, location, lambda info: info.state not in HELD)
    chosen.act(Queue.retry, "trying", as_json=as_json)


class _Chosen:
    """The outgoing queues that a command is about."""

    def __init__(
        self,
        name: str | None,
        everything: bool,
        location: ManagerLocation,
        is_meant: Callable[[OutgoingInfo], bool],
    ) -> None:
        """`is_meant` says for which of all queues there is something to do."""
        if (name is None) is not everything:
            raise click.UsageError("Which queue? Give NAME or --all.")
        if location.is_embedded:
            raise WrongUsage("Only a service sends: give --manager HOST:PORT instead of --data.")
        self._name = name
        self._location = location
        self._is_meant = is_meant

    def act(self, call: Callable[[Queue], None], done: str, *, as_json: bool) -> None:
        """Do something with each of them, and say so."""
        with self._location.open() as manager:
            for info in self._of(manager):
                with manager.open_queue(info.name, access=Access.OPERATE) as queue:
                    call(queue)
                    if as_json:
                        print_json(outgoing_json(_find(manager.outgoing(), info.name)))
                    else:
                        click.echo(f"{done} {info.name}")

    def _of(self, manager: Manager) -> list[OutgoingInfo]:
        found = manager.outgoing()
        if self._name is not None:
            return [_find(found, self._name)]
        return [info for info in found if self._is_meant(info)]


def _find(found: list[OutgoingInfo], name: str) -> OutgoingInfo:
    wanted = parse_name(name)
    key = (wanted.to_direct() if isinstance(wanted, PathName) else wanted).key
    for info in found:
        if parse_format_name(info.name).key == key:
            return info
    raise Refusal(f"there is no outgoing queue for {name}; `openmsmq outgoing list` shows all")


def outgoing_json(info: OutgoingInfo) -> dict[str, Any]:
    """An outgoing queue as a JSON object."""
    found = asdict(info)
    if info.connected_since is not None:
        found["connected_since"] = time_json(info.connected_since)
    for attempt in found["attempts"]:
        attempt["time"] = time_json(attempt["time"])
    return found


def _row(info: OutgoingInfo) -> tuple[object, ...]:
    return (
        info.name,
        info.state,
        f"{info.messages:,}",
        f"{info.unacknowledged:,}",
        f"{info.unprocessed:,}",
        size_text(info.bytes),
        age_text(info.oldest_age),
        info.next_hop,
        "; ".join(notes(info)),
    )


def notes(info: OutgoingInfo) -> list[str]:
    """What else people should know of an outgoing queue."""
    found = []
    if info.last_error:
        found.append(info.last_error)
    if info.resends:
        found.append(f"sent again {count_text(info.resends, 'time')} without an acknowledgement")
    if info.next_retry is not None:
        found.append(f"next try in {age_text(info.next_retry)}")
    return found


def _shown(info: OutgoingInfo) -> list[tuple[str, object]]:
    since = info.connected_since
    shown: list[tuple[str, object]] = [
        ("name", info.name),
        ("state", info.state),
        ("waiting", count_text(info.messages)),
        ("unacknowledged", count_text(info.unacknowledged)),
        ("unprocessed", count_text(info.unprocessed)),
        ("size", size_text(info.bytes)),
        ("oldest", age_text(info.oldest_age)),
        ("next hop", info.next_hop),
        ("connected since", "" if since is None else time_text(since)),
        ("failures", f"{info.failures:,}" if info.failures else ""),
        ("notes", "; ".join(notes(info))),
    ]
    tried = [("", f"{time_text(a.time)}  {a.status}  {a.address}") for a in info.attempts]
    if tried:
        tried[0] = "attempts", tried[0][1]
    return [(name, value) for name, value in (*shown, *tried) if value != ""]
