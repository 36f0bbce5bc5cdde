"""`openmsmq subscription`: readers that keep their place in a queue under a name."""

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
    """List and drop subscriptions: readers that keep their place in a queue under a name.

    A subscription, such as that of a Spark query, is given messages, and is given the same ones
    again until it is done with them. It lasts until it is dropped.

    \b
    Examples:
      openmsmq subscription list
      openmsmq subscription drop lake orders
    """


@subscription.command(name="list")
@click.argument("pattern", required=False)
@manager_options
def list_(pattern: str | None, *, location: ManagerLocation, as_json: bool) -> None:
    """List subscriptions, all or those whose names are like PATTERN.

    They take messages out of their queue or get copies. DONE is the position up to which the reader
    is done with them, END the one up to which it was given them; those between wait for it. BEHIND
    counts those of the queue that it was not given yet (at least so many, if they are copies of
    many). UNREAD counts messages that its owner said it was done with and had never read: they
    stay with it. IDLE tells how long ago it was last done with some.

    \b
    Examples:
      openmsmq subscription list
      openmsmq subscription list 'lake*' --json | jq .waiting
    """
    with location.open() as manager:
        found = manager.subscriptions()
    chosen = [info for info in found if pattern is None or is_like(info.name, pattern)]
    if as_json:
        for info in chosen:
            print_json(asdict(info))
    elif chosen:
        counts = (">DONE", ">END", ">WAITING", ">UNREAD", ">SIZE", ">BEHIND", ">IDLE")
        print_table(("NAME", "QUEUE", "WAY", *counts), map(_row, chosen))


def _row(info: SubscriptionInfo) -> tuple[object, ...]:
    way = "copy" if info.copy else "take"
    size = size_text(info.bytes)
    idle = age_text(info.idle)
    waits = info.waiting, info.unread, size, info.behind
    return info.name, info.queue, way, info.done, info.end, *waits, idle


def _complete_subscription(
    context: click.Context, _: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """The names of subscriptions that begin so, with their queues."""

    def names(manager: Manager) -> list[tuple[str, str]]:
        return [(info.name, info.queue) for info in manager.subscriptions()]

    return complete(context, incomplete, names)


@subscription.command()
@click.argument("name", shell_complete=_complete_subscription)
@click.argument("queue", shell_complete=complete_queue)
@click.option(
    "--unread", is_flag=True, help="Only give back what was never read; the subscription goes on."
)
@yes_option
@manager_options
def drop(
    name: str, queue: str, *, location: ManagerLocation, as_json: bool, yes: bool, unread: bool
) -> None:
    """End the subscription NAME of QUEUE.

    Messages that it has taken and is not done with are back in the queue, at their old places;
    copies are gone. If the queue is deleted, all of them are. A reader that goes on under this name
    begins anew. If there are such messages it asks first; off a terminal it needs --yes then.

    With --unread it does not end. Only those messages are back that its owner, a Spark query, said
    it was done with and had never read, because its sink has skipped them.

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
        if waiting := info.waiting + info.unread:
            question = f"{info.name} is not done with {count_text(waiting)}. Drop it?"
            confirm(question, yes=yes)
        dropped = manager.drop_subscription(info.name, info.queue)
    if as_json:
        print_json({"name": info.name, "queue": info.queue, "state": "dropped", "waiting": dropped})
    else:
        not_done = f", which was not done with {count_text(dropped)}" if dropped else ""
        click.echo(f"dropped {info.name} of {info.queue}{not_done}")


def _tell_unread(info: SubscriptionInfo, count: int, *, as_json: bool) -> None:
    if as_json:
        print_json({"name": info.name, "queue": info.queue, "unread": count})
    else:
        gone = "dropped" if info.copy else "gave back"
        click.echo(f"{gone} {count_text(count)} of {info.queue} that {info.name} never read")


def _find(manager: Manager, name: str, queue: str) -> SubscriptionInfo:
    path = fold(str(parse_name(queue)))
    for info in manager.subscriptions():
        if fold(info.name) == fold(name) and fold(info.queue) == path:
            return info
    raise QueueNotFound(f"{queue} has no subscription {name}")
