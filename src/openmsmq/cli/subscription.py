"""`openmsmq subscription`: durable subscriptions of queues."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from openmsmq import Manager
from openmsmq.cli.options import (
    ManagerLocation,
    complete,
    complete_queue,
    confirm,
    manager_options,
    yes_option,
)
from openmsmq.cli.output import age_text, count_text, is_like, print_json, print_table, size_text
from openmsmq.errors import QueueNotFound
from openmsmq.names.parse import parse_name
from openmsmq.names.parts import fold
from openmsmq.types.subscriptions import SubscriptionInfo

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem


@click.group()
def subscription() -> None:
    """List and drop durable subscriptions: consumers with a name and a position in a queue.

    Messages are reserved for a subscription, such as that of a Spark query, and can be read again
    until they are committed. A subscription lasts until it is dropped.

    \b
    Examples:
      openmsmq subscription list
      openmsmq subscription drop lake orders
    """


@subscription.command(name="list")
@click.argument("pattern", required=False)
@manager_options
def list_(pattern: str | None, *, location: ManagerLocation, as_json: bool) -> None:
    """List subscriptions, all or those whose names match PATTERN.

    The MODE is take (messages leave the queue) or copy. COMMITTED and RESERVED are positions;
    UNCOMMITTED counts the messages between them. LAG counts messages of the queue that are not
    reserved yet (for copies, a lower bound). UNREAD counts messages that the owner committed
    without reading them; they are kept. IDLE is the time since the last commit.

    \b
    Examples:
      openmsmq subscription list
      openmsmq subscription list 'lake*' --json | jq .uncommitted
    """
    with location.open() as manager:
        found = manager.subscriptions()
    chosen = [info for info in found if pattern is None or is_like(info.name, pattern)]
    if as_json:
        for info in chosen:
            print_json(asdict(info))
    elif chosen:
        counts = (">COMMITTED", ">RESERVED", ">UNCOMMITTED", ">UNREAD", ">SIZE", ">LAG", ">IDLE")
        print_table(("NAME", "QUEUE", "MODE", *counts), map(_row, chosen))


def _row(info: SubscriptionInfo) -> tuple[object, ...]:
    way = "copy" if info.copy else "take"
    size = size_text(info.bytes)
    idle = age_text(info.idle)
    counts = info.uncommitted, info.unread, size, info.lag
    return info.name, info.queue, way, info.committed, info.reserved, *counts, idle


def _complete_subscription(
    context: click.Context, _: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """The names of subscriptions with this prefix, and their queues."""

    def names(manager: Manager) -> list[tuple[str, str]]:
        return [(info.name, info.queue) for info in manager.subscriptions()]

    return complete(context, incomplete, names)


@subscription.command()
@click.argument("name", shell_complete=_complete_subscription)
@click.argument("queue", shell_complete=complete_queue)
@click.option(
    "--unread",
    is_flag=True,
    help="Only return messages that were never read; the subscription stays.",
)
@yes_option
@manager_options
def drop(
    name: str, queue: str, *, location: ManagerLocation, as_json: bool, yes: bool, unread: bool
) -> None:
    """Drop the subscription NAME of QUEUE.

    Messages that it has taken and not committed return to their places in the queue; copies are
    deleted. If the queue was deleted, all of them are. A reader that uses the name again starts a
    new subscription. If there are such messages, the command asks first; without a terminal it
    needs --yes.

    With --unread the subscription stays. Only messages return that its owner, a Spark query,
    committed without reading them because its sink skipped them.

    \b
    Examples:
      openmsmq subscription drop lake orders
      openmsmq subscription drop lake orders --unread
      openmsmq subscription drop lake orders --yes
    """
    with location.open() as manager:
        info = _find(manager, name, queue)
        if unread:
            count = manager.drop_subscription(info.name, info.queue, unread=True)
            _tell_unread(info, count, as_json=as_json)
            return
        if waiting := info.uncommitted + info.unread:
            question = f"{info.name} has {count_text(waiting)} uncommitted. Drop it?"
            confirm(question, yes=yes)
        dropped = manager.drop_subscription(info.name, info.queue)
    if as_json:
        print_json(
            {"name": info.name, "queue": info.queue, "state": "dropped", "uncommitted": dropped}
        )
    else:
        rest = f" with {count_text(dropped)} uncommitted" if dropped else ""
        click.echo(f"dropped {info.name} of {info.queue}{rest}")


def _tell_unread(info: SubscriptionInfo, count: int, *, as_json: bool) -> None:
    if as_json:
        print_json({"name": info.name, "queue": info.queue, "unread": count})
    else:
        verb = "dropped" if info.copy else "returned"
        click.echo(f"{verb} {count_text(count)} of {info.queue} that {info.name} never read")


def _find(manager: Manager, name: str, queue: str) -> SubscriptionInfo:
    path = fold(str(parse_name(queue)))
    for info in manager.subscriptions():
        if fold(info.name) == fold(name) and fold(info.queue) == path:
            return info
    raise QueueNotFound(f"{queue} has no subscription {name}")
