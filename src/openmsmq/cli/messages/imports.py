"""`openmsmq message import`: JSON lines as messages."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import IO, Final

import click

from openmsmq import Manager, Queue
from openmsmq.cli.options import (
    ManagerLocation,
    Refusal,
    describe,
    manager_options,
    queue_argument,
    say,
)
from openmsmq.cli.output import Advance, count_text, print_json, progress
from openmsmq.errors import MQError
from openmsmq.types.json import from_json
from openmsmq.types.message import Message

BATCH: Final = 1000
"Messages that go in one call,"
BATCH_BYTES: Final = 1024 * 1024
"or as many as have this size: in packets it may be twice as much, and a last large message."
LINE_MAX: Final = 32 * 1024 * 1024
"Bytes of a line: a message of 4 MiB in base64, and as text in escapes."

LONG_FILE: Final = 4 * 1024 * 1024
"Bytes that take long enough for a progress bar."

Line = tuple[int, Message]
"A message and the number of its line."


@click.command(name="import")
@queue_argument
@click.argument("file", type=click.File("rb"), default="-")
@click.option("--keep-going", is_flag=True, help="Leave bad lines out, and say which they are.")
@manager_options
def import_(
    name: str, file: IO[bytes], *, location: ManagerLocation, as_json: bool, keep_going: bool
) -> None:
    """Send the messages in a file of JSON lines, as written by export.

    FILE is - for stdin, also if not given. An object has the fields of a message; those left out
    have their defaults, and text stands for a body. What only received messages have, such as an
    id, is ignored: each message is a new one, and its lifetimes begin anew. Lines are sent in
    batches, to a transactional queue in transactions.

    Express messages are kept on disk like others if there is no service, for they would be gone
    when this command ends.

    A bad line ends it with exit code 1, after the lines before it were sent; so the rest can be
    imported from there.

    \b
    Examples:
      openmsmq message import orders orders.jsonl
      echo '{"label": "order 1", "text": "hello"}' | openmsmq message import orders
    """
    with location.open() as manager, manager.open_queue(name) as queue:
        work = _Import(manager, queue, keep_going=keep_going, keep_express=not location.is_embedded)
        size = _size(file)
        with progress("importing", size, shown=size > LONG_FILE) as advance:
            work.run(file, advance)
    if as_json:
        print_json({"name": queue.name, "imported": work.sent, "refused": work.refused})
    else:
        click.echo(f"imported {count_text(work.sent)} to {queue.name}")
    if work.refused:
        raise Refusal(f"{count_text(work.refused, 'line')} left out")


class _Import:
    """The way of lines into a queue."""

    def __init__(
        self, manager: Manager, queue: Queue, *, keep_going: bool, keep_express: bool
    ) -> None:
        self._manager = manager
        self._queue = queue
        self._transactional = queue.info().transactional
        self._keep_going = keep_going
        self._keep_express = keep_express
        self.sent = 0
        self.refused = 0

    def run(self, file: IO[bytes], advance: Advance) -> None:
        """Send all lines."""
        batch: list[Line] = []
        size = 0
        for number, raw in enumerate(iter(lambda: file.readline(LINE_MAX), b""), 1):
            advance(len(raw))
            if raw.isspace():
                continue
            try:
                message = _message(raw)
                if not (message.recoverable or self._keep_express):
                    message = replace(message, recoverable=True)
            except (ValueError, MQError) as error:
                self._send(batch)
                self._refuse(number, error)
                batch, size = [], 0
                continue
            batch.append((number, message))
            size += len(raw)
            if len(batch) == BATCH or size >= BATCH_BYTES:
                self._send(batch)
                batch, size = [], 0
        self._send(batch)

    def _send(self, batch: list[Line]) -> None:
        """Send a batch; if it is refused, one by one, to find out which line it was."""
        try:
            if batch:
                self._deliver([message for _, message in batch])
                self.sent += len(batch)
        except MQError as error:
            if len(batch) == 1:
                self._refuse(batch[0][0], error)
                return
            for line in batch:
                self._send([line])

    def _deliver(self, messages: list[Message]) -> None:
        if not self._transactional:
            self._queue.send_many(messages)
            return
        with self._manager.transaction() as transaction:
            self._queue.send_many(messages, transaction=transaction)

    def _refuse(self, number: int, error: Exception) -> None:
        words = describe(error) if isinstance(error, MQError) else str(error)
        if not self._keep_going:
            before = f"{count_text(self.sent)} of the lines before it imported"
            raise Refusal(f"line {number}: {words} ({before})")
        say(f"line {number}: {words}")
        self.refused += 1


def _message(raw: bytes) -> Message:
    """The message a line stands for; `ValueError` or `MQError` if it is none."""
    if len(raw) == LINE_MAX and not raw.endswith(b"\n"):
        raise ValueError(f"longer than {LINE_MAX:,} bytes")
    try:
        document = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"not JSON: {error}") from None
    return from_json(document)


def _size(file: IO[bytes]) -> int:
    """How many bytes there are to read; 0 if that is unknown."""
    if not file.seekable():
        return 0
    position = file.tell()
    size = file.seek(0, 2)
    file.seek(position)
    return size - position
