"""`openmsmq message move`: between a queue and its subqueues."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final

import click

from openmsmq import Manager, Queue
from openmsmq.cli.messages.read import walk
from openmsmq.cli.options import ManagerLocation, manager_options, queue_argument
from openmsmq.cli.output import count_text, print_json, progress

BATCH: Final = 1000
"Messages that one transaction moves."


@click.command()
@queue_argument
@click.option("--lookup-id", type=int, help="The message with this place in the queue.")
@click.option("--all", "everything", is_flag=True, help="All messages.")
@click.option("--to", "target", required=True, help='A subqueue; "" is the queue itself.')
@manager_options
def move(
    name: str,
    *,
    location: ManagerLocation,
    as_json: bool,
    lookup_id: int | None,
    everything: bool,
    target: str,
) -> None:
    """Move messages between a queue and its subqueues.

    A message keeps its id, its lookup id and all its properties. A subqueue is there as long as it
    holds messages.

    \b
    Examples:
      openmsmq message move orders --lookup-id 108086391056891905 --to poison
      openmsmq message move 'orders;poison' --all --to ''
    """
    if everything == (lookup_id is not None):
        raise click.UsageError("Give either --lookup-id or --all.")
    with location.open() as manager, manager.open_queue(name) as queue:
        if lookup_id is not None:
            queue.move(lookup_id, target)
            moved = 1
        else:
            moved = _move_all(manager, queue, target)
    if as_json:
        print_json({"name": queue.name, "to": target, "moved": moved})
    else:
        click.echo(f"moved {count_text(moved)}")


def _move_all(manager: Manager, queue: Queue, target: str) -> int:
    """Move what is there now, from the first message on."""
    info = queue.info()
    moved = 0
    ids = (message.lookup_id for message in walk(queue))
    with progress("moving", info.messages) as advance:
        while moved < info.messages and (batch := list(islice(ids, BATCH))):
            _move_batch(manager, queue, iter(batch), target, transactional=info.transactional)
            moved += len(batch)
            advance(len(batch))
    return moved


def _move_batch(
    manager: Manager, queue: Queue, ids: Iterator[int], target: str, *, transactional: bool
) -> None:
    if not transactional:
        for lookup_id in ids:
            queue.move(lookup_id, target)
        return
    with manager.transaction() as transaction:
        for lookup_id in ids:
            queue.move(lookup_id, target, transaction=transaction)
