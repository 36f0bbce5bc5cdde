"""`openmsmq message return`, `redirect`, `delete` and `find`: messages chosen by a filter."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from math import inf
from typing import Any, Final

import click

from openmsmq import Manager, Queue
from openmsmq.cli.messages.read import walk_on
from openmsmq.cli.messages.view import print_message
from openmsmq.cli.options import (
    ManagerLocation,
    NothingCame,
    Refusal,
    manager_options,
    queue_argument,
)
from openmsmq.cli.output import count_text, print_json, progress
from openmsmq.console.filters import parse_filter
from openmsmq.errors import MessageNotFound
from openmsmq.types.access import Access
from openmsmq.types.json import to_json
from openmsmq.types.received import ReceivedMessage

_ANY: Final = Access.ALL | Access.OPERATE
"Whatever the login allows: to operate is enough to move messages."
BATCH: Final = 500
"Messages that one commit sends again."


def _choosing(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options that tell which messages are meant."""
    options = (
        click.option(
            "--filter",
            "wanted",
            metavar="FILTER",
            help="Those that match, such as 'label:order* size:>10k'.",
        ),
        click.option("--lookup-id", "lookups", type=int, multiple=True, help="That at this place."),
        click.option("--all", "everything", is_flag=True, help="All messages."),
    )
    for option in reversed(options):
        function = option(function)
    return function


def _chosen(
    queue: Queue, wanted: str | None, lookups: tuple[int, ...], *, everything: bool
) -> list[ReceivedMessage]:
    """The messages that are there now and that are meant."""
    if (wanted is not None) + bool(lookups) + everything != 1:
        raise click.UsageError("Give one of --filter, --lookup-id and --all.")
    if lookups:
        return [queue.peek_by_lookup_id(lookup) for lookup in lookups]
    matches = parse_filter(wanted or "").matches
    return [message for message in walk_on(queue) if matches(message)]


LIFETIME = click.option(
    "--lifetime",
    metavar="SECONDS",
    help="How long the new messages may wait: seconds, or keep for that of the old ones; else for"
    " ever.",
)


def _seconds(lifetime: str | None) -> float | None:
    if lifetime == "keep":
        return None
    if lifetime is None:
        return inf
    if not lifetime.isdecimal():
        raise click.UsageError(f"--lifetime: {lifetime!r} is neither a number of seconds nor keep.")
    return int(lifetime)


@click.command(name="return")
@queue_argument
@_choosing
@LIFETIME
@manager_options
def return_(
    name: str,
    *,
    location: ManagerLocation,
    as_json: bool,
    wanted: str | None,
    lookups: tuple[int, ...],
    everything: bool,
    lifetime: str | None,
) -> None:
    """Return dead letters to the queues that they were sent to.

    Each is sent again, in the order of sending, and removed here in the same commit: interrupt it
    and run it again, and none is returned twice. The new message has a new id; explain links both.
    What expired would expire again, so that new messages live for ever, unless --lifetime says
    otherwise.

    \b
    Examples:
      openmsmq message return '.\\DeadLetter$' --all
      openmsmq message return '.\\XactDeadLetter$' --filter 'label:order* arrived:>-2h'
      openmsmq message return 'orders;poison' --lookup-id 288230376151711745 --lifetime 3600
    """
    with location.open() as manager, manager.open_queue(name, access=_ANY) as queue:
        found = _chosen(queue, wanted, lookups, everything=everything)
        found.sort(key=lambda message: (message.sent_time, message.arrival))
        groups: dict[tuple[str, bool], list[int]] = {}
        for message in found:
            if message.destination_queue is None:
                raise Refusal(f"{message.id} does not say where it was sent; use message redirect")
            key = str(message.destination_queue), message.transactional
            groups.setdefault(key, []).append(message.lookup_id)
        done = {
            target: _send_again(manager, queue, ids, target, _seconds(lifetime))
            for (target, _), ids in groups.items()
        }
    _report(as_json, queue.name, "returned", sum(done.values()), len(found), done)


@click.command()
@queue_argument
@_choosing
@click.option("--to", "target", required=True, help="The queue they go to; any will do.")
@click.option("--copy", is_flag=True, help="Leave the old ones where they are.")
@LIFETIME
@manager_options
def redirect(
    name: str,
    *,
    location: ManagerLocation,
    as_json: bool,
    wanted: str | None,
    lookups: tuple[int, ...],
    everything: bool,
    target: str,
    copy: bool,
    lifetime: str | None,
) -> None:
    """Send messages again to another queue, and remove them here in the same commit.

    Any two queues will do, on this manager or another. message move keeps ids and places, but only
    knows the subqueues of a queue.

    \b
    Examples:
      openmsmq message redirect orders --filter 'body:"ACME"' --to acme-orders
      openmsmq message redirect '.\\DeadLetter$' --all --to 'DIRECT=OS:office\\private$\\failed'
      openmsmq message redirect orders --lookup-id 288230376151711745 --to test --copy
    """
    with location.open() as manager, manager.open_queue(name, access=_ANY) as queue:
        ids = [one.lookup_id for one in _chosen(queue, wanted, lookups, everything=everything)]
        done = _send_again(manager, queue, ids, target, _seconds(lifetime), copy=copy)
    _report(as_json, queue.name, "copied" if copy else "moved", done, len(ids), {target: done})


def _send_again(
    manager: Manager,
    queue: Queue,
    ids: list[int],
    target: str,
    lifetime: float | None,
    *,
    copy: bool = False,
) -> int:
    done = 0
    with manager.open_queue(target, access=_ANY) as to, progress("sending", len(ids)) as advance:
        for start in range(0, len(ids), BATCH):
            part = ids[start : start + BATCH]
            done += len(queue.redirect(part, to, copy=copy, lifetime=lifetime))
            advance(len(part))
    return done


@click.command()
@queue_argument
@_choosing
@manager_options
def delete(
    name: str,
    *,
    location: ManagerLocation,
    as_json: bool,
    wanted: str | None,
    lookups: tuple[int, ...],
    everything: bool,
) -> None:
    """Delete messages for good; use message export first to keep a copy.

    \b
    Examples:
      openmsmq message delete '.\\DeadLetter$' --filter 'arrived:<-30d'
      openmsmq message delete orders --lookup-id 288230376151711745
    """
    with location.open() as manager, manager.open_queue(name) as queue:
        found = _chosen(queue, wanted, lookups, everything=everything)
        done = 0
        for message in found:
            try:
                queue.receive_by_lookup_id(message.lookup_id)
            except MessageNotFound:
                continue  # someone else was faster
            done += 1
    _report(as_json, queue.name, "deleted", done, len(found), {})


def _report(
    as_json: bool, name: str, word: str, done: int, count: int, targets: dict[str, int]
) -> None:
    if as_json:
        print_json({"name": name, word: done, "gone": count - done, "to": targets})
        return
    gone = f"; {count_text(count - done)} were gone" if done < count else ""
    click.echo(f"{word} {count_text(done)}{gone}")
    for target, number in targets.items():
        click.echo(f"  {number} to {target}")


@click.command()
@click.argument("wanted", metavar="FILTER")
@click.option(
    "--queue", "names", multiple=True, metavar="NAME", help="Only here; can be given several times."
)
@click.option("--count", type=click.IntRange(1), default=20, help="Show this many at most.")
@manager_options
def find(
    wanted: str, *, location: ManagerLocation, as_json: bool, names: tuple[str, ...], count: int
) -> None:
    """Find messages in all queues, or in some: by label, body, size, time and more.

    FILTER is a line of conditions: label: id: corr: from: sender: to: (texts with * and ?), app:
    class: type: priority: size: aborts: (numbers, with > and <), sent: arrived: (-2h ago, or
    2026-07-01T10:00), body: re: json: format: is:. Blanks mean and; OR, - and parentheses work.
    Exits with 3 if nothing was found.

    \b
    Examples:
      openmsmq message find 'order 4711'
      openmsmq message find 'label:order* body:"ACME" -is:transactional' --queue orders
      openmsmq message find 'class:0xC002 arrived:>-1d' --json
    """
    matches = parse_filter(wanted).matches
    with location.open() as manager:
        found = 0
        for queue, message in _hits(manager, names or _names(manager), matches, count):
            found += 1
            if as_json:
                print_json({"queue": queue, **to_json(message)})
            else:
                click.echo(f"{queue}  lookup id {message.lookup_id}")
                print_message(message)
    if not found:
        raise NothingCame(f"no message matches {wanted!r}")


def _names(manager: Manager) -> Iterator[str]:
    for info in manager.queues(everything=True):
        if info.messages and info.kind in ("private", "public", "system", "journal", "subqueue"):
            yield info.name


def _hits(
    manager: Manager,
    names: Iterable[str],
    matches: Callable[[ReceivedMessage], bool],
    count: int,
) -> Iterator[tuple[str, ReceivedMessage]]:
    for name in names:
        with manager.open_queue(name) as queue:
            for message in walk_on(queue):
                if matches(message):
                    yield queue.name, message
                    count -= 1
                if not count:
                    return
