"""Messages as columns of Arrow: only those that are asked for, and no object for each message.

Numbers and flags come from the bytes by arithmetic; names, senders and managers are decoded once
each; text that is not plain ASCII, bus headers and the meaning of bodies, one by one.
"""

from __future__ import annotations

from codecs import utf_16_le_decode
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from types import MappingProxyType
from typing import Final
from uuid import UUID

import numpy as np
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
from openmsmq.packet.walk import FLAGS, LABEL, USER
from openmsmq.properties.message import INFINITE, SenderIdType
from openmsmq.security.sid import Sid
from openmsmq.spark.block import Block
from openmsmq.spark.slices import (
    Kind,
    Numbers,
    Places,
    array_of,
    booleans,
    by_distinct,
    common,
    contents,
    ends_of,
    field,
    nullable,
    nulls,
    numbered,
    records,
    repeated,
    slices,
    texts,
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
_I32: Final = pa.int32()
_I64: Final = pa.int64()
_SIMPLE_NAMES: Final = frozenset({0, 1, 7})
"Kinds of queue names that need nothing but themselves: none, the other one, a direct one."


class Columns:
    """The columns of a block of messages."""

    def __init__(
        self, block: Block, *, queues: Sequence[tuple[str, int]] = (), manager: str = ""
    ) -> None:
        self._block = block
        self._queues = queues
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
        return array_of(self._block.lookups, _I64)

    def _arrival(self) -> pa.Array:
        return array_of(self._block.lookups & ARRIVAL_MASK, _I64)

    def _arrived_time(self) -> pa.Array:
        return _time(self._block.facts.arrived)

    def _abort_count(self) -> pa.Array:
        return _int(self._block.facts.aborts)

    def _move_count(self) -> pa.Array:
        return _int(self._block.facts.moves)

    def _from_queue(self) -> pa.Array:
        names = [name for name, _ in self._queues]
        if len(names) < 2:
            return repeated("".join(names), len(self._block))
        return texts(names).take(array_of(self.each_queue(range(len(names))), _I64))

    def each_queue(self, values: Iterable[int]) -> Places:
        """For each message the value of its queue."""
        counts = [count for _, count in self._queues]
        return np.repeat(np.fromiter(values, np.int64, len(counts)), counts)

    def _from_manager(self) -> pa.Array:
        return repeated(self._manager, len(self._block))

    # BaseHeader and UserHeader.

    def _head(self, kind: Kind, offset: int) -> Numbers:
        return field(self._block.head, kind, offset)

    def _user(self, kind: Kind, name: str) -> Numbers:
        return self._head(kind, USER + UserHeaderStart.offset_of(name))

    def _priority(self) -> pa.Array:
        return _int(self._head("B", 2) & np.uint8(7))

    def _trace(self) -> pa.Array:
        return booleans(self._head("H", 2) & np.uint16(BaseFlags.TR) != 0)

    def _time_to_reach_queue(self) -> pa.Array:
        return _seconds(self._head("I", 12))

    def _time_to_be_received(self) -> pa.Array:
        return _seconds(self._user("I", "TimeToBeReceived"))

    def _sent_time(self) -> pa.Array:
        return _time(self._user("I", "SentTime"))

    @cached_property
    def _source(self) -> str | None:
        """What all come from; None if from several."""
        guids = self._block.head[:, USER : USER + 16]
        same = common(guids) if len(guids) else None
        return None if same is None else _guid(same)

    @cached_property
    def _sources(self) -> pa.Array:
        block = self._block
        if self._source is not None:
            return repeated(self._source, len(block))
        return by_distinct(slices(block.data, block.starts + USER, 16), _guid)

    def _source_manager(self) -> pa.Array:
        return self._sources

    def _message_id(self) -> pa.Array:
        numbers = self._user("I", "MessageID")
        if self._source is not None:
            return numbered(f"{self._source}\\", numbers)
        number = array_of(numbers, pa.uint32()).cast(pa.string())
        return pc.binary_join_element_wise(self._sources, number, repeated("\\", len(number)))

    def _delivery(self) -> pa.Array:
        is_recoverable = self._block.has(UserFlags.DM)
        if is_recoverable.all():
            return repeated("recoverable", len(self._block))
        names = texts(["express", "recoverable"])
        return names.take(array_of(is_recoverable.astype(np.int32), _I32))

    def _transactional(self) -> pa.Array:
        return booleans(self._block.has(UserFlags.TH))

    def _journal(self) -> pa.Array:
        return booleans(self._block.has(UserFlags.JP))

    def _dead_letter(self) -> pa.Array:
        return booleans(self._block.has(UserFlags.JN))

    def _dead_letter_queue(self) -> pa.Array:
        block = self._block
        if (block.sizes == block.packet_sizes).all():
            return nulls(len(block), pa.string())
        return by_distinct(block.trailers, _letters)

    @cached_property
    def _names(self) -> tuple[bytes | pa.DictionaryArray, int]:
        """What names a message's queues, each once, and where it begins in the packet.

        It is bytes if all messages have the same.
        """
        block = self._block
        codes = {flags >> shift & 7 for flags in block.distinct_flags for shift in (10, 13, 16)}
        begin = FLAGS if codes <= _SIMPLE_NAMES else USER
        if block.front is not None:
            same = common(block.front.rows[:, begin : block.front.names])
            if same is not None:
                return same, begin
        starts = block.starts + begin
        sizes = block.after_names - starts
        if len(block) and (sizes == sizes[0]).all():
            same = common(records(block.data, starts, int(sizes[0])))
            if same is not None:
                return same, begin
        return slices(block.data, starts, sizes).dictionary_encode(), begin

    def _queue_name(self, kind: str) -> pa.Array:
        names, begin = self._names

        def decode(header: bytes) -> str | None:
            return _name_in(header, begin, kind)

        if isinstance(names, bytes):
            return repeated(decode(names), len(self._block))
        return by_distinct(names, decode)

    def _destination_queue(self) -> pa.Array:
        return self._queue_name("destination")

    def _response_queue(self) -> pa.Array:
        return self._queue_name("response_queue")

    def _admin_queue(self) -> pa.Array:
        return self._queue_name("admin_queue")

    def _sender_id(self) -> pa.Array:
        block = self._block
        if not block.any_has(UserFlags.SH):
            return nulls(len(block), pa.string())
        start = SecurityHeaderStart.SIZE
        size = field(records(block.data, block.security, start), "H", 2).astype(np.int64)
        size = block.has(UserFlags.SH) * (size + start)
        return by_distinct(slices(block.data, block.security, size), _sender)

    # MessagePropertiesHeader.

    def _property(self, kind: Kind, name: str) -> Numbers:
        return self._block.property_field(kind, MessagePropertiesStart.offset_of(name))

    def _acknowledge(self) -> pa.Array:
        return _int(self._block.property_field("B", 0) & np.uint8(0x0F))

    def _message_class(self) -> pa.Array:
        reason = self._block.facts.reasons
        return _int(np.where(reason == 0, self._property("H", "MessageClass"), reason))

    def _correlation_id(self) -> pa.Array:
        place, size = MessagePropertiesStart.offset_of("CorrelationID"), len(NO_CORRELATION)
        found = self._block.record[:, place : place + size]
        words = found.view(np.uint32) != np.frombuffer(NO_CORRELATION, np.uint32)
        if not words.any():
            return nulls(len(found), pa.binary())
        is_there = words.any(axis=1)
        ends = array_of(np.concatenate([[0], np.cumsum(is_there) * size]).astype(np.int32), _I32)
        bits, data = booleans(is_there).buffers()[1], pa.py_buffer(found[is_there].tobytes())
        return pa.Array.from_buffers(pa.binary(), len(found), [bits, ends.buffers()[1], data])

    def _body_type(self) -> pa.Array:
        return _int(self._property("i", "BodyType"))

    def _app_specific(self) -> pa.Array:
        return array_of(self._property("I", "ApplicationTag").astype(np.int64), _I64)

    def _label(self) -> pa.Array:
        block = self._block
        units = np.maximum(block.label_units - 1, 0)
        return _texts(slices(block.data, block.properties + LABEL, units * 2))

    def _extension(self) -> pa.Array:
        return self._block.extensions

    def _headers(self) -> pa.Array:
        extensions = self._block.extensions
        if not contents(extensions).size:
            return nulls(len(extensions), HEADERS)
        found = [_headers_of(extension) for extension in extensions.to_pylist()]
        return pa.array(found, HEADERS)

    def _body(self) -> pa.Array:
        return self._block.bodies

    def _of_bodies(self, look: Callable[[bytes, int], str | None]) -> pa.Array:
        kinds = self._property("I", "BodyType").tolist()
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


def _int(values: Numbers) -> pa.Int32Array:
    """Numbers of 32 bits as Spark has them, with a sign."""
    return array_of(values.astype(np.int32), _I32)


def _time(seconds: Numbers) -> pa.Array:
    """Seconds since 1970 as times."""
    return array_of(seconds.astype(np.int64) * 1_000_000, TIME)


def _seconds(values: Numbers) -> pa.Array:
    """Seconds, none for ever."""
    is_there = values != INFINITE
    if not is_there.any():
        return nulls(len(values), _I64)
    return nullable(values.astype(np.int64), is_there, _I64)


def _texts(values: pa.Array) -> pa.Array:
    """Texts of UTF-16 as those of Arrow; plain ones all at once."""
    units = np.frombuffer(contents(values), "<u2")
    if units.max(initial=0) < 128 and units.all():
        places, text = pa.py_buffer(ends_of(values) >> 1), pa.py_buffer(units.astype(np.uint8))
        return pa.Array.from_buffers(pa.string(), len(values), [None, places, text])
    found = [
        utf_16_le_decode(value, "replace", True)[0].partition("\0")[0]
        for value in values.to_pylist()
    ]
    return pa.array(found, pa.string())


@lru_cache(maxsize=256)
def _name_in(header: bytes, begin: int, kind: str) -> str | None:
    """A name that a packet has, of which this begins at `begin`."""
    try:
        name = getattr(PacketView(bytes(begin) + header), kind)
    except IllegalFormatName:
        return None
    return None if name is None else encodable(str(name))


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
