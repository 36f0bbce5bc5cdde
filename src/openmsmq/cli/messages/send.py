"""`openmsmq message send`: one message or many."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import islice, repeat
from typing import IO, Any, Final
from uuid import UUID

import click

from openmsmq import Manager, Queue
from openmsmq.cli.options import ManagerLocation, manager_options, queue_argument, say
from openmsmq.cli.output import Advance, print_json, progress
from openmsmq.errors import AccessDenied
from openmsmq.packet.signer import MessageSigner
from openmsmq.properties.message import Acknowledge
from openmsmq.properties.vartype import VarType
from openmsmq.security.principals import parse_principal
from openmsmq.types.access import Access
from openmsmq.types.ids import SentId
from openmsmq.types.json import renewed
from openmsmq.types.message import Message

NUMBER: Final = "{n}"
BATCH: Final = 1000
"Messages that go in one call,"
BATCH_BYTES: Final = 1 << 20
"or as many as have this size."
EXPRESS: Final = "express messages are in memory only, and gone when this command ends"
ACKNOWLEDGE: Final = {
    "none": Acknowledge.NONE,
    "arrival": Acknowledge.POS_ARRIVAL,
    "receive": Acknowledge.POS_RECEIVE,
    "negative-arrival": Acknowledge.NEG_ARRIVAL,
    "negative-receive": Acknowledge.NEG_RECEIVE,
    "negative": Acknowledge.NEG_ARRIVAL | Acknowledge.NEG_RECEIVE,
    "nack-reach-queue": Acknowledge.NACK_REACH_QUEUE,
    "nack-receive": Acknowledge.NACK_RECEIVE,
    "full-reach-queue": Acknowledge.FULL_REACH_QUEUE,
    "full-receive": Acknowledge.FULL_RECEIVE,
}


class AcknowledgeType(click.ParamType[Acknowledge]):
    """Words of `ACKNOWLEDGE`, between commas."""

    name = "words"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> Acknowledge:
        """All that was asked for, together."""
        found = Acknowledge.NONE
        for word in str(value).lower().replace("_", "-").split(","):
            if word.strip() not in ACKNOWLEDGE:
                self.fail(f"{word!r} is none of {', '.join(ACKNOWLEDGE)}", param, ctx)
            found |= ACKNOWLEDGE[word.strip()]
        return found


class CorrelationType(click.ParamType[bytes]):
    r"""Hexadecimal digits, or the `guid\number` of another message."""

    name = "hex"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> bytes:
        """The bytes; those of a message's id as a queue manager compares them."""
        text = str(value)
        guid, backslash, number = text.partition("\\")
        try:
            if backslash:
                return UUID(guid).bytes_le + int(number).to_bytes(4, "little")
            return bytes.fromhex(text)
        except (ValueError, OverflowError):
            self.fail(f"{text!r} is neither hexadecimal nor the id of a message", param, ctx)


class BodyType(click.ParamType[int]):
    """A number, or the name of a type such as `VT_BSTR`."""

    name = "type"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The number."""
        text = str(value).upper()
        for name in (text, f"VT_{text}"):
            if name in VarType.__members__:
                return VarType[name]
        try:
            return int(text, 0)
        except ValueError:
            self.fail(f"{value!r} is neither a number nor a name such as VT_BSTR", param, ctx)


class MomentType(click.ParamType[datetime]):
    """A date and time as ISO 8601 has it; without a zone, the computer's own."""

    name = "time"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> datetime:
        """The moment."""
        try:
            return datetime.fromisoformat(str(value)).astimezone()
        except ValueError:
            self.fail(f"{value!r} is no time such as 2030-01-31T08:00", param, ctx)


_SECONDS = click.FloatRange(0)
_BY_DEFAULT: Final = click.core.ParameterSource.DEFAULT


@click.command()
@queue_argument
@click.option("--body", help="The body as text.")
@click.option("--body-file", type=click.File("rb"), help="The body as a file; - is stdin.")
@click.option("--body-type", type=BodyType(), help="What the body is: 8 or VT_BSTR, ...")
@click.option(
    "--like",
    nargs=2,
    metavar="QUEUE LOOKUP-ID",
    help="All that is not given is as in this message, but for its lifetime.",
)
@click.option("--count", type=click.IntRange(1), default=1, help="How many messages.")
@click.option("--start", type=int, default=0, help="The number that {n} begins with.")
@click.option("--label", default="", help="At most 249 characters.")
@click.option("--priority", type=click.IntRange(0, 7), help="7 is read first; 3 unless given.")
@click.option(
    "--recoverable/--express",
    default=True,
    help="On disk (the default), or only in memory.",
)
@click.option("--journal", is_flag=True, help="Keep a copy in the sender's journal.")
@click.option("--dead-letter", is_flag=True, help="If it fails, keep it as a dead letter.")
@click.option(
    "--dead-letter-queue",
    help="The same in this queue of the sending manager instead of the system's.",
)
@click.option(
    "--acknowledge",
    type=AcknowledgeType(),
    help="What to report, with commas between: arrival, receive, negative-arrival,"
    " negative-receive, negative (both), full-reach-queue, full-receive.",
)
@click.option("--admin-queue", help="The queue that gets the reports.")
@click.option("--response-queue", help="The queue that answers shall go to.")
@click.option("--correlation-id", type=CorrelationType(), help="20 bytes, or a message's id.")
@click.option("--app-specific", type=int, help="A number of the application's own.")
@click.option("--extension-file", type=click.File("rb"), help="More data beside the body.")
@click.option("--time-to-be-received", type=_SECONDS, help="Seconds until it must be received.")
@click.option("--time-to-reach-queue", type=_SECONDS, help="Seconds until it must have arrived.")
@click.option("--trace", is_flag=True, help="Report its way to the sender's report queue.")
@click.option(
    "--encrypt",
    is_flag=True,
    help="Its body leaves this computer encrypted, or not at all (openmsmq key).",
)
@click.option(
    "--sign",
    "signer",
    metavar="FILE",
    type=click.File("rb"),
    help="Sign it with the certificate and key in FILE (openmsmq certificate create).",
)
@click.option(
    "--sender",
    metavar="WHO",
    help="With --sign: who the certificate is registered for, if not for the user it names.",
)
@click.option("--transactional", is_flag=True, help="Send in a transaction to a queue elsewhere.")
@click.option(
    "--dedup-id", help="A deduplication id: a second message with the same id is discarded."
)
@click.option("--delay", type=_SECONDS, help="Seconds until it can be read.")
@click.option("--deliver-at", type=MomentType(), help="When it can be read: 2030-01-31T08:00.")
@manager_options
def send(
    name: str,
    *,
    location: ManagerLocation,
    as_json: bool,
    body: str | None,
    body_file: IO[bytes] | None,
    like: tuple[str, str] | None,
    extension_file: IO[bytes] | None,
    signer: IO[bytes] | None,
    sender: str | None,
    count: int,
    start: int,
    transactional: bool,
    dedup_id: str | None,
    delay: float | None,
    deliver_at: datetime | None,
    **properties: Any,
) -> None:
    """Send a message, or many.

    {n} in the label, in a body given as text and in --dedup-id is replaced by the running number.
    A file is sent unchanged. All messages to a transactional queue are sent in one transaction.
    The ids of the messages are printed when they are on disk; explain shows what became of each.

    \b
    Examples:
      openmsmq message send orders --body '<order/>' --label 'order 1'
      openmsmq message send orders --count 1000 --label 'order {n}' --start 1
      openmsmq message send orders --body-file order.xml --time-to-be-received 60 --dead-letter
      openmsmq message send orders --body '<order/>' --dedup-id order-17 --delay 3600
      openmsmq message send "DIRECT=OS:there\\private$\\orders" --sign anna.pem --encrypt
      openmsmq message send orders --like '.\\DeadLetter$' 108086391056891905 --body '<order/>'
      echo '{"id": 1}' | openmsmq message send orders --body-file -
    """
    if body is not None and body_file is not None:
        raise click.UsageError("Give --body or --body-file, not both.")
    if delay is not None and deliver_at is not None:
        raise click.UsageError("Give --delay or --deliver-at, not both.")
    if dedup_id is not None and count > 1 and NUMBER not in dedup_id:
        raise click.UsageError(f"--dedup-id must contain {NUMBER}: each message needs its own id.")
    given = _given(properties, only_said=like is not None)
    if extension_file is not None:
        given["extension"] = extension_file.read()
    if signer is not None:
        who = None if sender is None else parse_principal(sender)
        given["signer"] = MessageSigner.from_pem(signer.read(), sender=who)
    elif sender is not None:
        raise click.UsageError("--sender needs --sign.")
    if body_file is not None:
        given["body"] = body_file.read()
    numbers = range(start, start + count)
    terms = Terms(dedup_id, numbers, delay if deliver_at is None else deliver_at)
    with location.open() as manager, manager.open_queue(name, access=Access.SEND) as queue:
        messages, recoverable = _messages(manager, like, body, given, numbers)
        together = transactional or _is_transactional(queue)
        if location.is_embedded and not (together or recoverable):
            say(EXPRESS)
        with progress("sending", count, shown=not sys.stdout.isatty()) as advance:
            send_all = _send_together if together else _send
            for ids in send_all(manager, queue, messages, terms, advance):
                _print_ids(queue.name, ids, as_json=as_json)


def _is_transactional(queue: Queue) -> bool:
    """Whether messages are sent together; who may only send cannot see it, and sends each."""
    try:
        return queue.info().transactional
    except AccessDenied:
        return False


def _given(properties: dict[str, Any], *, only_said: bool) -> dict[str, Any]:
    """The properties that are given: also by defaults, or only those that were said."""
    source = click.get_current_context().get_parameter_source
    return {
        name: value
        for name, value in properties.items()
        if value is not None and not (only_said and source(name) is _BY_DEFAULT)
    }


def _messages(
    manager: Manager,
    like: tuple[str, str] | None,
    text: str | None,
    given: dict[str, Any],
    numbers: range,
) -> tuple[Iterator[Message], bool]:
    """The messages, like one in a queue or new ones, and whether they are recoverable."""
    if like is None:
        given.setdefault("body", text or b"")
        return _numbered(given, numbers), given["recoverable"]
    place, lookup = like
    if not (lookup.isascii() and lookup.isdecimal()):
        raise click.UsageError(f"--like: {lookup!r} is not a lookup identifier.")
    with manager.open_queue(place, access=Access.PEEK) as queue:
        same = renewed(queue.peek_by_lookup_id(int(lookup)), text=text, **given)
    return repeat(same, len(numbers)), same.recoverable


def _numbered(given: dict[str, Any], numbers: range) -> Iterator[Message]:
    """The messages; all the same one if nothing in it is numbered."""
    texts = {
        field: value
        for field, value in given.items()
        if field in ("body", "label") and isinstance(value, str) and NUMBER in value
    }
    same = Message(**given)
    for number in numbers:
        if not texts:
            yield same
            continue
        changes = {field: text.replace(NUMBER, str(number)) for field, text in texts.items()}
        yield Message(**{**given, **changes})


class Terms:
    """Deduplication ids and delivery time of the messages of one command."""

    def __init__(self, dedup_id: str | None, numbers: range, deliver_at: datetime | float | None):
        self._dedup_id = dedup_id
        self._ids = (str(dedup_id).replace(NUMBER, str(number)) for number in numbers)
        self._deliver_at = deliver_at

    def of(self, batch: list[Message]) -> dict[str, Any]:
        """The arguments for the next messages."""
        ids = None if self._dedup_id is None else list(islice(self._ids, len(batch)))
        return {"dedup_ids": ids, "deliver_at": self._deliver_at}


def _send(
    _: Manager, queue: Queue, messages: Iterator[Message], terms: Terms, advance: Advance
) -> Iterator[Sequence[SentId]]:
    """Send batch by batch; the ids of each."""
    for batch in _batches(messages):
        yield queue.send_many(batch, **terms.of(batch))
        advance(len(batch))


def _batches(messages: Iterator[Message]) -> Iterator[list[Message]]:
    """As many messages as go in one call, also to a service."""
    batch: list[Message] = []
    size = 0
    for message in messages:
        batch.append(message)
        size += len(message.body) + len(message.extension)
        if len(batch) == BATCH or size >= BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _send_together(
    manager: Manager, queue: Queue, messages: Iterator[Message], terms: Terms, advance: Advance
) -> Iterator[Sequence[SentId]]:
    """Send in one transaction; the ids when it is committed."""
    ids: list[Sequence[SentId]] = []
    with manager.transaction() as transaction:
        for batch in _batches(messages):
            ids.append(queue.send_many(batch, transaction=transaction, **terms.of(batch)))
            advance(len(batch))
    yield from ids


def _print_ids(queue: str, ids: Sequence[SentId], *, as_json: bool) -> None:
    if not as_json:
        click.echo("\n".join(ids))
        return
    for message_id in ids:
        print_json({"id": message_id, "queue": queue, "duplicate": message_id.duplicate})
