"""Rows of a DataFrame as messages to send."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from operator import itemgetter
from typing import Any, Final

import pyarrow as pa

from openmsmq.bodies.headers import decode_headers, encode_nservicebus, encode_rebus
from openmsmq.errors import InvalidParameter, Malformed
from openmsmq.packet.view import PacketView
from openmsmq.spark.columns import WRITE
from openmsmq.spark.options import FORMATS
from openmsmq.types.message import FIELDS, Message
from openmsmq.types.received import ReceivedMessage

_FIELDS: Final = {"value": "body", "delivery": "recoverable"}
"Columns that a message has under another name."


def messages(
    batch: pa.RecordBatch, queue: str, headers: str = FORMATS[0]
) -> Iterator[tuple[str, list[Message]]]:
    """The messages of a batch, in its order, by the queues that they go to.

    `queue` is for all rows that name none; `headers` is the format of bus headers, empty to leave
    them out. Columns that can only be read are left out.
    """
    found = {name.lower(): place for place, name in enumerate(batch.schema.names)}
    if not headers:
        found.pop("headers", None)
    values = {
        _FIELDS.get(name, name): batch.column(place).to_pylist()
        for name, place in found.items()
        if name in WRITE
    }
    if "headers" in values:
        given = values.pop("headers")
        extensions = values.get("extension") or [None] * len(given)
        values["extension"] = [
            _extension(*row, headers) for row in zip(given, extensions, strict=True)
        ]
    names, columns = list(values), list(values.values())
    if "recoverable" in names:
        place = names.index("recoverable")
        columns[place] = [_is_recoverable(word) for word in columns[place]]
    where = columns.pop(names.index("queue")) if "queue" in names else None
    names = [name for name in names if name != "queue"]
    made = _made(names, columns)
    if where is None:
        yield queue, list(made)
        return
    for target, rows in groupby(zip(where, made, strict=True), itemgetter(0)):
        yield target or queue, [message for _, message in rows]


def _extension(
    headers: list[tuple[str, str]] | None, extension: bytes | None, wanted: str
) -> bytes | None:
    """The extension with these headers, as the bus writes them that wrote the one there was."""
    if not headers:
        return extension
    has, values = decode_headers(extension or b""), dict(headers)
    if dict(has.values) == values:
        return extension
    return (encode_rebus if (has.kind or wanted) == "rebus" else encode_nservicebus)(values)


def _is_recoverable(delivery: str | None) -> bool | None:
    if delivery not in ("recoverable", "express", None):
        raise InvalidParameter(f"column delivery: {delivery!r} is not recoverable or express")
    return None if delivery is None else delivery == "recoverable"


def _again(packet: bytes | None) -> ReceivedMessage:
    """A message that was in a queue, to send it again."""
    try:
        PacketView.parse(packet or b"")
    except Malformed as error:
        raise InvalidParameter(f"column packet: {error}") from None
    return ReceivedMessage(packet or b"")


def _changed(message: Message, changes: dict[str, Any]) -> Message:
    fields = {name: getattr(message, name) for name in FIELDS}
    if "body" in changes:
        del fields["body_type"]  # it is about the old one
    return Message(**fields | changes)


def _made(names: list[str], columns: list[list[Any]]) -> Iterable[Message]:
    if "packet" in names:
        columns = list(columns)
        packets = map(_again, columns.pop(names.index("packet")))
        others = [name for name in names if name != "packet"]
        return map(_changed, packets, _given(others, columns)) if others else packets
    if names == ["body"]:
        return (Message(b"" if body is None else body) for body in columns[0])
    return (Message(**given) for given in _given(names, columns))


def _given(names: list[str], columns: list[list[Any]]) -> Iterator[dict[str, Any]]:
    """What each row says; null says nothing."""
    for row in zip(*columns, strict=True):
        yield {name: value for name, value in zip(names, row, strict=True) if value is not None}
