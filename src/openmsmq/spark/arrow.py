"""Messages as columns of Arrow: only those that are asked for, and no object for each message.

Numbers and flags come from the bytes by arithmetic; names, senders and managers are decoded once
each; text that is not plain ASCII, bus headers and the meaning of bodies, one by one.
"""

from __future__ import annotations

from codecs import utf_16_le_decode
from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from types import MappingProxyType
from typing import Final
from uuid import UUID

import pyarrow as pa
import pyarrow.compute as pc

from openmsmq.bodies.decode import body_format, decode_body
from openmsmq.bodies.headers import decode_headers
from openmsmq.bodies.text import encodable
from openmsmq.errors import IllegalFormatName, Malformed
from openmsmq.names.path import parse_path_name
from openmsmq.packet.headers.base import BaseFlags
from openmsmq.packet.headers.properties import NO_CORRELATION, MessagePropertiesStart
from openmsmq.packet.headers.security import SecurityFlags, SecurityHeaderStart
from openmsmq.packet.headers.trailer import Trailer
from openmsmq.packet.headers.user import UserFlags, UserHeaderStart
from openmsmq.packet.view import PacketView
from openmsmq.packet.walk import FLAGS, LABEL, NAMES, USER
from openmsmq.properties.message import INFINITE, SenderIdType
from openmsmq.security.sid import Sid
from openmsmq.spark.block import FACTS, Block
from openmsmq.spark.slices import (
    Kind,
    by_distinct,
    contents,
    every,
    field,
    offsets,
    records,
    signed,
    slices,
)
from openmsmq.types.lookup import ARRIVAL_MASK
from openmsmq.wire.reader import decode_whole

TIME: Final = pa.timestamp("us", tz="UTC")
HEADERS: Final = pa.map_(pa.string(), pa.string())
TYPES: Final[Mapping[str, pa.DataType]] = MappingProxyType(
    {
        "bigint": pa.int64(),
        "int": pa.int32(),
        "string": pa.string(),
        "binary": pa.binary(),
        "boolean": pa.bool_(),
        "timestamp": TIME,
        "map<string,string>": HEADERS,
    }
)
"What Spark's types are in Arrow."
_SIMPLE_NAMES: Final = frozenset({0, 1, 7})
"Kinds of queue names that need nothing but themselves: none, the other one, a direct one."


class Columns:
    """The columns of a block of messages."""

    def __init__(self, block: Block, *, queue: str = "", manager: str = "") -> None:
        self._block = block
        self._queue = queue
        self._manager = manager

    def batch(self, names: Iterable[str]) -> pa.RecordBatch:
        """The columns with these names, in this order."""
        chosen = list(names)
        return pa.RecordBatch.from_arrays([self.column(name) for name in chosen], names=chosen)

    def column(self, name: str) -> pa.Array:
        """The column with this name, however its case is."""
        return _COLUMNS[name.lower()](self)

    # What only the queue knows.

    def _lookup_id(self) -> pa.Array:
        return self._block.lookups

    def _arrival(self) -> pa.Array:
        return pc.bit_wise_and(self._lookup_id(), pa.scalar(ARRIVAL_MASK, pa.int64()))

    def _arrived_time(self) -> pa.Array:
        return _time(field(self._block.facts, "I", 8, FACTS))

    def _abort_count(self) -> pa.Array:
        return field(self._block.facts, "i", 12, FACTS)

    def _move_count(self) -> pa.Array:
        return field(self._block.facts, "i", 16, FACTS)

    def _from_queue(self) -> pa.Array:
        return pa.repeat(pa.scalar(self._queue, pa.string()), len(self._block))

    def _from_manager(self) -> pa.Array:
        return pa.repeat(pa.scalar(self._manager, pa.string()), len(self._block))

    # BaseHeader and UserHeader.

    def _head(self, kind: Kind, offset: int) -> pa.Array:
        return field(self._block.head, kind, offset, NAMES)

    def _user(self, kind: Kind, name: str) -> pa.Array:
        return self._head(kind, USER + UserHeaderStart.offset_of(name))

    def _priority(self) -> pa.Array:
        return pc.bit_wise_and(self._head("B", 2), pa.scalar(7, pa.uint8())).cast(pa.int32())

    def _trace(self) -> pa.Array:
        bit = pc.bit_wise_and(self._head("H", 2), pa.scalar(int(BaseFlags.TR), pa.uint16()))
        return pc.not_equal(bit, pa.scalar(0, pa.uint16()))

    def _time_to_reach_queue(self) -> pa.Array:
        return _seconds(self._head("I", 12))

    def _time_to_be_received(self) -> pa.Array:
        return _seconds(self._user("I", "TimeToBeReceived"))

    def _sent_time(self) -> pa.Array:
        return _time(self._user("I", "SentTime"))

    @cached_property
    def _sources(self) -> pa.Array:
        starts = every(len(self._block), NAMES, USER)
        return by_distinct(slices(self._block.head, starts, 16), _guid, pa.string())

    def _source_manager(self) -> pa.Array:
        return self._sources

    def _message_id(self) -> pa.Array:
        number = self._user("I", "MessageID").cast(pa.string())
        return pc.binary_join_element_wise(self._sources, number, "\\")

    def _delivery(self) -> pa.Array:
        return pc.if_else(self._block.has(UserFlags.DM), "recoverable", "express")

    def _transactional(self) -> pa.Array:
        return self._block.has(UserFlags.TH)

    def _journal(self) -> pa.Array:
        return self._block.has(UserFlags.JP)

    def _dead_letter(self) -> pa.Array:
        return self._block.has(UserFlags.JN)

    def _dead_letter_queue(self) -> pa.Array:
        block = self._block
        if block.sizes.equals(block.packet_sizes):
            return pa.nulls(len(block), pa.string())
        return by_distinct(block.trailers, _letters, pa.string())

    @cached_property
    def _names(self) -> tuple[pa.DictionaryArray, int]:
        """What names a message's queues, each once, and where it begins in the packet."""
        block = self._block
        codes = {flags >> shift & 7 for flags in block.distinct_flags for shift in (10, 13, 16)}
        begin = FLAGS if codes <= _SIMPLE_NAMES else USER
        starts = pc.add(block.starts, _i32(begin))
        names = slices(block.data, starts, pc.subtract(block.after_names, starts))
        return names.dictionary_encode(), begin

    def _queue_name(self, kind: str) -> pa.Array:
        names, begin = self._names
        before = bytes(begin)

        def decode(header: bytes) -> str | None:
            try:
                name = getattr(PacketView(before + header), kind)
            except IllegalFormatName:
                return None
            return None if name is None else encodable(str(name))

        return by_distinct(names, decode, pa.string())

    def _destination_queue(self) -> pa.Array:
        return self._queue_name("destination")

    def _response_queue(self) -> pa.Array:
        return self._queue_name("response_queue")

    def _admin_queue(self) -> pa.Array:
        return self._queue_name("admin_queue")

    def _sender_id(self) -> pa.Array:
        block = self._block
        if not block.any_has(UserFlags.SH):
            return pa.nulls(len(block), pa.string())
        start = SecurityHeaderStart.SIZE
        size = field(records(block.data, block.security, start), "H", 2, start).cast(pa.int32())
        size = pc.if_else(block.has(UserFlags.SH), pc.add(size, _i32(start)), _i32(0))
        return by_distinct(slices(block.data, block.security, size), _sender, pa.string())

    # MessagePropertiesHeader.

    def _property(self, kind: Kind, name: str) -> pa.Array:
        return self._block.property_field(kind, MessagePropertiesStart.offset_of(name))

    def _acknowledge(self) -> pa.Array:
        flags = self._block.property_field("B", 0)
        return pc.bit_wise_and(flags, pa.scalar(0x0F, pa.uint8())).cast(pa.int32())

    def _message_class(self) -> pa.Array:
        reason = field(self._block.facts, "H", 20, FACTS)
        own = self._property("H", "MessageClass")
        found = pc.if_else(pc.equal(reason, pa.scalar(0, pa.uint16())), own, reason)
        return found.cast(pa.int32())

    def _correlation_id(self) -> pa.Array:
        starts = every(len(self._block), LABEL, MessagePropertiesStart.offset_of("CorrelationID"))
        found = slices(self._block.record, starts, len(NO_CORRELATION))
        none = pa.scalar(None, pa.binary())
        return pc.if_else(pc.equal(found, pa.scalar(NO_CORRELATION, pa.binary())), none, found)

    def _body_type(self) -> pa.Array:
        return signed(self._property("I", "BodyType"))

    def _app_specific(self) -> pa.Array:
        return self._property("I", "ApplicationTag").cast(pa.int64())

    def _label(self) -> pa.Array:
        block = self._block
        units = pc.max_element_wise(pc.subtract(block.label_units, _i32(1)), _i32(0))
        starts = pc.add(block.properties, _i32(LABEL))
        return _texts(slices(block.data, starts, pc.multiply(units, _i32(2))))

    def _extension(self) -> pa.Array:
        return self._block.extensions

    def _headers(self) -> pa.Array:
        extensions = self._block.extensions
        if not contents(extensions).size:
            return pa.nulls(len(extensions), HEADERS)
        found = [_headers_of(extension) for extension in extensions.to_pylist()]
        return pa.array(found, HEADERS)

    def _body(self) -> pa.Array:
        return self._block.bodies

    def _of_bodies(self, look: Callable[[bytes, int], str | None]) -> pa.Array:
        kinds = self._property("I", "BodyType").to_pylist()
        return pa.array(map(look, self._block.bodies.to_pylist(), kinds), pa.string())

    def _body_text(self) -> pa.Array:
        return self._of_bodies(lambda body, kind: decode_body(body, kind).text)

    def _body_format(self) -> pa.Array:
        return self._of_bodies(body_format)

    def _packet(self) -> pa.Array:
        return self._block.packets


_COLUMNS: Final[Mapping[str, Callable[[Columns], pa.Array]]] = {
    name.removeprefix("_"): found
    for name, found in vars(Columns).items()
    if name.startswith("_") and not name.startswith("__") and callable(found)
}


def _time(seconds: pa.Array) -> pa.Array:
    """Seconds since 1970 as times."""
    return pc.multiply(seconds.cast(pa.int64()), pa.scalar(1_000_000, pa.int64())).view(TIME)


def _seconds(values: pa.Array) -> pa.Array:
    """Seconds, none for ever."""
    for_ever = pc.equal(values, pa.scalar(INFINITE, pa.uint32()))
    return pc.if_else(for_ever, pa.scalar(None, pa.int64()), values.cast(pa.int64()))


def _texts(values: pa.Array) -> pa.Array:
    """Texts of UTF-16 as those of Arrow; plain ones all at once."""
    raw = contents(values).to_pybytes()
    text = utf_16_le_decode(raw, "replace", True)[0]
    if text.isascii() and "\0" not in text:
        places = pc.shift_right(offsets(values), _i32(1))
        buffers = [None, places.buffers()[1], pa.py_buffer(text.encode())]
        return pa.Array.from_buffers(pa.string(), len(values), buffers)
    found = [
        utf_16_le_decode(value, "replace", True)[0].partition("\0")[0]
        for value in values.to_pylist()
    ]
    return pa.array(found, pa.string())


def _guid(raw: bytes) -> str:
    return str(UUID(bytes_le=raw))


def _sender(header: bytes) -> str | None:
    """The sender of a SecurityHeader that ends after the SecurityID; none if there is none."""
    if not header:
        return None
    start = SecurityHeaderStart.unpack(header)
    if start.flags & SecurityFlags.ST != SenderIdType.SID:
        return None
    try:
        return str(Sid.decode(header[SecurityHeaderStart.SIZE :]))
    except Malformed:
        return None


def _letters(trailer: bytes) -> str | None:
    """The dead-letter queue that is named behind a packet, as a format name."""
    header = decode_whole(trailer, Trailer.read).dead_letter if trailer else None
    return None if header is None else encodable(str(parse_path_name(header.path_name).to_direct()))


def _headers_of(extension: bytes) -> list[tuple[str, str]] | None:
    return list(decode_headers(extension).values.items()) or None


def _i32(value: int) -> pa.Int32Scalar:
    return pa.scalar(value, pa.int32())
