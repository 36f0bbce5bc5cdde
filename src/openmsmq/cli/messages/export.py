"""`openmsmq message export`: a queue as JSON lines."""

from __future__ import annotations

import errno
import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext, suppress
from io import UnsupportedOperation
from pathlib import Path
from typing import IO, Final

import click

from openmsmq import Manager, Queue, Transaction
from openmsmq.cli.messages.read import walk
from openmsmq.cli.options import ManagerLocation, WrongUsage, manager_options, queue_argument
from openmsmq.cli.output import count_text, print_json, progress
from openmsmq.errors import MessageNotFound
from openmsmq.types.json import to_json

BATCH: Final = 1000
"Messages that are written before they are removed."
_THREADS: Final = 32
"Calls that share one sync of the disk."
_NO_DISK: Final = (errno.EINVAL, errno.ENOTSUP)


@click.command()
@queue_argument
@click.option("--output", "-o", default="-", help="A new file; - is stdout, also if not given.")
@click.option(
    "--receive", "remove", is_flag=True, help="Remove what is written, after it is on disk."
)
@manager_options
def export(
    name: str, *, location: ManagerLocation, as_json: bool, output: str, remove: bool
) -> None:
    """Write the messages of a queue as JSON lines, one object for each.

    No property is lost: import sends them again. Without --receive they stay in the queue.
    With it, each batch is removed when it is written and synced to disk, never before; so after a
    failure a message may be in both places, but is in one for certain.

    \b
    Examples:
      openmsmq message export orders --output orders.jsonl
      openmsmq message export '.\\DeadLetter$' | jq 'select(.message_class == 49154)'
      openmsmq message export orders | openmsmq message import orders --data other
    """
    with location.open() as manager, manager.open_queue(name) as queue, _target(output) as file:
        written = _write(manager, queue, file, remove=remove)
    if output == "-":
        return
    if as_json:
        print_json({"name": queue.name, "exported": written, "removed": remove})
    else:
        click.echo(f"exported {count_text(written)} of {queue.name} to {output}")


def _target(output: str) -> AbstractContextManager[IO[str]]:
    """Where to write; a file that is there is left alone, as it may hold the only copy."""
    if output == "-":
        return nullcontext(sys.stdout)
    try:
        return Path(output).open("x", encoding="ascii")
    except FileExistsError:
        raise WrongUsage(f"{output} exists and is not overwritten") from None


def _write(manager: Manager, queue: Queue, file: IO[str], *, remove: bool) -> int:
    """Write all messages, and remove them a batch at a time; how many there were."""
    info = queue.info()
    written: list[int] = []
    count = 0

    def flush() -> None:
        file.flush()
        if remove:
            _sync(file)
            _remove(manager, queue, written, transactional=info.transactional)
        written.clear()

    with progress("exporting", info.messages, shown=not file.isatty()) as advance:
        for message in walk(queue):
            file.write(json.dumps(to_json(message)) + "\n")
            written.append(message.lookup_id)
            count += 1
            if len(written) == BATCH:
                flush()
                advance(BATCH)
        flush()
    return count


def _sync(file: IO[str]) -> None:
    """Have a file on disk; a pipe or a terminal has none."""
    try:
        os.fsync(file.fileno())
    except UnsupportedOperation:
        return
    except OSError as error:
        if error.errno not in _NO_DISK:
            raise
        return
    if file is not sys.stdout:
        directory = os.open(Path(file.name).resolve().parent, os.O_RDONLY)
        try:
            os.fsync(directory)
        finally:
            os.close(directory)


def _remove(manager: Manager, queue: Queue, lookup_ids: list[int], *, transactional: bool) -> None:
    """Receive messages by their places, together where the queue knows transactions."""
    if transactional:
        with manager.transaction() as transaction:
            for lookup_id in lookup_ids:
                _take(queue, lookup_id, transaction)
        return
    with ThreadPoolExecutor(_THREADS) as pool:
        for _ in pool.map(lambda lookup_id: _take(queue, lookup_id, None), lookup_ids):
            pass


def _take(queue: Queue, lookup_id: int, transaction: Transaction | None) -> None:
    # What expired meanwhile is gone from here already.
    with suppress(MessageNotFound):
        queue.receive_by_lookup_id(lookup_id, transaction=transaction)
