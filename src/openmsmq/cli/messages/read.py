"""`openmsmq message peek` and `receive`."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Any, Final

import click

from openmsmq import Queue, Transaction
from openmsmq.cli.messages.view import print_message
from openmsmq.cli.options import ManagerLocation, NothingCame, manager_options, queue_argument
from openmsmq.cli.output import print_json
from openmsmq.console.filters import parse_filter
from openmsmq.errors import ReceiveTimeout
from openmsmq.types.json import to_json
from openmsmq.types.received import ReceivedMessage

BATCH: Final = 100
"Messages that are taken before they are printed."


def _reading(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options of both."""
    options = (
        click.option(
            "--count",
            type=click.IntRange(1),
            default=1,
            help="Read at most this many messages.",
        ),
        click.option(
            "--timeout",
            type=click.FloatRange(0),
            default=0,
            help="Seconds to wait for the first message; 0 unless given.",
        ),
        click.option("--lookup-id", type=int, help="The one with this place in the queue."),
        manager_options,
    )
    for option in reversed(options):
        function = option(function)
    return function


@click.command()
@queue_argument
@click.option("--newest", is_flag=True, help="Begin with the newest.")
@click.option(
    "--filter", "wanted", metavar="FILTER", help="Those that match; see message find --help."
)
@_reading
def peek(
    name: str,
    *,
    location: ManagerLocation,
    as_json: bool,
    count: int,
    timeout: float,
    lookup_id: int | None,
    newest: bool,
    wanted: str | None,
) -> None:
    """Show messages and leave them where they are.

    Exits with 0 if there was any, with 3 if none came in time.

    \b
    Examples:
      openmsmq message peek orders --count 5
      openmsmq message peek orders --newest --filter 'label:order* size:>10k'
      openmsmq message peek '.\\DeadLetter$' --count 1000 --json | jq -r .label
    """
    with location.open() as manager, manager.open_queue(name) as queue:
        if lookup_id is not None:
            _show([queue.peek_by_lookup_id(lookup_id)], as_json=as_json)
            return
        if not _show(
            islice(_sought(queue, timeout, wanted, newest=newest), count), as_json=as_json
        ):
            raise _nothing_came(queue, timeout)


@click.command()
@queue_argument
@click.option(
    "--transaction",
    "in_transaction",
    is_flag=True,
    help="Remove them, all together, when all are printed.",
)
@_reading
def receive(
    name: str,
    *,
    location: ManagerLocation,
    as_json: bool,
    count: int,
    timeout: float,
    lookup_id: int | None,
    in_transaction: bool,
) -> None:
    """Take messages out of a queue and show them.

    Exits with 0 if there was any, with 3 if none came in time. With --transaction, for
    transactional queues, the messages stay in the queue if they cannot be printed.

    \b
    Examples:
      openmsmq message receive orders --timeout 5
      openmsmq message receive orders --transaction --count 100 --json > orders.jsonl
      openmsmq message receive orders --lookup-id 108086391056891905
    """
    with location.open() as manager, manager.open_queue(name) as queue:

        def take(transaction: Transaction | None) -> int:
            if lookup_id is not None:
                taken = queue.receive_by_lookup_id(lookup_id, transaction=transaction)
                return _show([taken], as_json=as_json)
            found = _received(queue, count, timeout, transaction)
            return _show(found, as_json=as_json)

        if in_transaction:
            with manager.transaction() as transaction:
                shown = take(transaction)
        else:
            shown = take(None)
        if not shown:
            raise _nothing_came(queue, timeout)


def _nothing_came(queue: Queue, timeout: float) -> NothingCame:
    waited = f"no message arrived in {queue.name} within {timeout:g} s"
    return NothingCame(waited if timeout else f"{queue.name} is empty")


def _sought(
    queue: Queue, timeout: float, wanted: str | None, *, newest: bool
) -> Iterator[ReceivedMessage]:
    """The messages that a peek shows, in the order in which it does."""
    if wanted is not None:
        return filter(parse_filter(wanted).matches, walk_back(queue) if newest else walk_on(queue))
    return walk_back(queue) if newest else walk(queue, timeout)


def walk_back(queue: Queue) -> Iterator[ReceivedMessage]:
    """Peek at all messages of a queue, the last first."""
    before: int | None = None
    while batch := queue.peek_back(BATCH, before=before):
        yield from batch
        before = batch[-1].lookup_id


def walk_on(queue: Queue) -> Iterator[ReceivedMessage]:
    """Peek at the messages that are in a queue now, the first first."""
    after, count = 0, queue.info().messages
    while count > 0 and (batch := queue.peek_many(BATCH, timeout=0, after=after)):
        yield from batch
        after, count = batch[-1].lookup_id, count - len(batch)


def walk(queue: Queue, timeout: float = 0) -> Iterator[ReceivedMessage]:
    """Every message of a queue, one at a time; waits for the first only."""
    with queue.cursor() as cursor:
        try:
            yield cursor.peek(timeout)
            while True:
                yield cursor.next(0)
        except ReceiveTimeout:
            return


def _received(
    queue: Queue, count: int, timeout: float, transaction: Transaction | None
) -> Iterator[ReceivedMessage]:
    while count > 0:
        taken = queue.receive_many(min(count, BATCH), timeout, transaction=transaction)
        if not taken:
            return
        yield from taken
        count -= len(taken)
        timeout = 0


def _show(messages: Iterable[ReceivedMessage], *, as_json: bool) -> int:
    """Print messages until all of them are out of this process; how many there were."""
    number = 0
    for number, message in enumerate(messages, 1):
        if as_json:
            print_json(to_json(message))
        else:
            print_message(message, first=number == 1)
    sys.stdout.flush()
    return number
