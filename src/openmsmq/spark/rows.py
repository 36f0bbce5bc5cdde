"""Rows of a DataFrame as messages to send.

Rows that say little more than body and label become packets column by column, without an object
for each; all others become messages one by one.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from operator import itemgetter
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from openmsmq.bodies.headers import decode_headers, encode_nservicebus, encode_rebus
from openmsmq.errors import InvalidParameter, Malformed
from openmsmq.limits import LABEL_UNITS_MAX, PACKET_SIZE_MAX, U32_MAX
from openmsmq.names.format import parse_format_name
from openmsmq.packet.columns import JoinedPackets
from openmsmq.packet.headers.base import SIGNATURE, VERSION, BaseHeader
from openmsmq.packet.headers.properties import MessagePropertiesStart
from openmsmq.packet.headers.user import NO_GUID, UserFlags
from openmsmq.packet.view import PacketView
from openmsmq.packet.walk import DIRECT, NAMES, SIZES, PlainRun
from openmsmq.properties.message import PRIORITY_DEFAULT, PRIORITY_MAX
from openmsmq.spark.block import Block
from openmsmq.spark.columns import WRITE
from openmsmq.spark.options import FORMATS
from openmsmq.spark.slices import array_of, contents, ends_of, field
from openmsmq.types.fields import LPWSTR
from openmsmq.types.message import FIELDS, Message
from openmsmq.types.pack import Packer
from openmsmq.types.received import ReceivedMessage

_ANYWHERE: Final = parse_format_name("DIRECT=OS:.\\private$\\x")
_TEMPLATE: Final = Packer(NO_GUID).pack(Message(), _ANYWHERE, message_id=0, sent_time=0)
"A packet without label and body; the manager writes all that is not the message itself."
_FRONT: Final = len(_TEMPLATE)
_PROPERTIES: Final = _FRONT - MessagePropertiesStart.SIZE
_CLASS: Final = MessagePropertiesStart.offset_of("MessageClass")
_PRIVACY: Final = MessagePropertiesStart.offset_of("PrivacyLevel")
_PADS: Final = pa.Array.from_buffers(
    pa.binary(), 4, [None, pa.py_buffer(array("i", [0, 0, 3, 5, 6])), pa.py_buffer(bytes(6))]
)
"What makes the size of a packet a multiple of 4, by the remainder of its size."
_PLACED: Final = frozenset({"body", "value", "label", "priority", "body_type", "app_specific"})
"Columns that have their places in every packet."
_USUAL: Final[Mapping[str, object]] = {
    "delivery": "recoverable",
    "journal": False,
    "dead_letter": False,
    "trace": False,
    "acknowledge": 0,
}
"What need not be said, as it is so anyway."
_SENDABLE: Final = (
    *(UserFlags.DQ, UserFlags.AQ, UserFlags.RQ, UserFlags.DM),
    *(UserFlags.JN, UserFlags.JP, UserFlags.MP),
)
_SIGNATURE: Final = BaseHeader.offset_of("Signature")
_EMPTY: Final = pa.nulls(0, pa.binary())
_NOT_SENDABLE: Final = U32_MAX - sum(int(flag) for flag in _SENDABLE)
"Flags of packets that cannot be sent again as they are."

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


class _UnusualRowError(Exception):
    """A row has a value that cannot be, or that needs a look of its own."""


def packets(
    batch: pa.RecordBatch, queue: str, headers: str = FORMATS[0]
) -> list[tuple[str, Sequence[bytes]]] | None:
    """The same as packets, if all rows are simple enough; None if some are not.

    Those that follow each other to one queue stay together.
    """
    columns = {
        name.lower(): batch.column(place)
        for place, name in enumerate(batch.schema.names)
        if name.lower() in WRITE and (headers or name.lower() != "headers")
    }
    where = columns.pop("queue", None)
    said = {name: values for name, values in columns.items() if not _is_silent(name, values)}
    try:
        found = _again_all(said) if "packet" in said else _packed(said, batch.num_rows)
    except _UnusualRowError:
        return None
    joined, ends = contents(found).to_pybytes(), ends_of(found)
    parts: list[tuple[str, Sequence[bytes]]] = []
    first = 0
    for target, count in _targets(where, len(found)):
        start, first, end = ends[first], first + count, ends[first + count]
        parts.append((target or queue, JoinedPackets(joined[start:end], count)))
    return parts


def _targets(where: pa.StringArray | None, count: int) -> list[tuple[str | None, int]]:
    """Queues that rows go to, and how many follow each other to each."""
    if where is None:
        return [(None, count)]
    found = pc.run_end_encode(where, run_end_type=pa.int32())
    ends = [0, *found.run_ends.to_pylist()]
    counts = [end - start for start, end in pairwise(ends)]
    return list(zip(found.values.to_pylist(), counts, strict=True))


def _is_silent(name: str, values: pa.Array) -> bool:
    """Whether a column says nothing: it is null, or as it is anyway."""
    if values.null_count == len(values):
        return True
    if name not in _USUAL:
        return False
    return bool(pc.all(pc.equal(values, pa.scalar(_USUAL[name], values.type))).as_py())


def _again_all(said: Mapping[str, pa.Array]) -> pa.BinaryArray:
    """Packets to send again, if nothing in them is of the manager that sent them before."""
    if len(said) > 1 or said["packet"].null_count:
        raise _UnusualRowError
    found = pa.concat_arrays([said["packet"], _EMPTY])  # in a memory of its own
    ends = ends_of(found).astype(np.int64)
    block = Block(contents(found), ends[:-1], np.diff(ends))
    if not _are_plain(block, found.to_pylist()):
        raise _UnusualRowError
    names = {flags >> shift & 7 for flags in block.distinct_flags for shift in (13, 16)}
    highest = field(block.head, "H", BaseHeader.offset_of("Flags")).max()
    is_marked = block.property_field("H", _CLASS).any()
    is_private = block.property_field("I", _PRIVACY).any()
    room = block.property_field("I", MessagePropertiesStart.offset_of("AllocationBodySize"))
    is_padded = (room != block.property_field("I", SIZES)).any()
    if block.any_has(_NOT_SENDABLE) or names - {0, 1, DIRECT} or highest > PRIORITY_MAX:
        raise _UnusualRowError
    if is_marked or is_private or is_padded:
        raise _UnusualRowError
    return found


def _are_plain(block: Block, packets: list[bytes]) -> bool:
    """Whether all are whole packets without the rarer headers (see `is_plain`)."""
    if not len(block) or block.sizes.min() < NAMES:
        return False
    version, signature = field(block.head, "B", 0), field(block.head, "I", _SIGNATURE)
    is_like = (version == VERSION) & (signature == SIGNATURE) & (block.packet_sizes == block.sizes)
    if not is_like.all() or block.sizes.max() > PACKET_SIZE_MAX:
        return False
    return all(map(PlainRun().fits, packets))


def _packed(said: Mapping[str, pa.Array], count: int) -> pa.BinaryArray:
    """Packets with these fields."""
    if said.keys() - _PLACED:
        raise _UnusualRowError
    labels = _labels(said["label"]) if "label" in said else _nothing(count)
    bodies, kind = _bodies(said, count)
    units, size = pc.binary_length(labels), pc.binary_length(bodies)
    total = pc.add(pc.add(units, size), _i32(_FRONT))
    pads = _PADS.take(pc.bit_wise_and(total, _i32(3)))
    total = pc.bit_wise_and(pc.add(total, _i32(3)), _i32(~3))
    if pc.max(total).as_py() > PACKET_SIZE_MAX or pc.max(units).as_py() > 2 * LABEL_UNITS_MAX:
        raise _UnusualRowError
    fields = {
        BaseHeader.offset_of("PacketSize"): total,
        _property("BodyType"): kind,
        _property("MessageSize"): size,
        _property("AllocationBodySize"): size,
    }
    if "app_specific" in said:
        fields[_property("ApplicationTag")] = _whole(said["app_specific"], 0, U32_MAX)
    octets = {_property("LabelLength"): pc.shift_right(units, _i32(1))}
    if "priority" in said:
        priorities = _whole(said["priority"], PRIORITY_DEFAULT, PRIORITY_MAX)
        octets[BaseHeader.offset_of("Flags")] = priorities
    fronts = _fronts(count, fields, octets)
    return pc.binary_join_element_wise(fronts, labels, bodies, pads, pa.scalar(b"", pa.binary()))


def _property(name: str) -> int:
    return _PROPERTIES + MessagePropertiesStart.offset_of(name)


def _fronts(
    count: int, fields: Mapping[int, pa.Array], octets: Mapping[int, pa.Array]
) -> pa.BinaryArray:
    """All that is before the labels: numbers of 32 and of 8 bits at these places."""
    data = bytearray(_TEMPLATE * count)
    view = memoryview(data)
    for place, values in fields.items():
        own = memoryview(values.buffers()[1]).cast("B").cast("i")
        view.cast("i")[place // 4 :: _FRONT // 4] = own[values.offset : values.offset + count]
    for place, values in octets.items():
        view[place::_FRONT] = memoryview(values.cast(pa.uint8()).buffers()[1]).cast("B")[:count]
    ends = np.arange(0, (count + 1) * _FRONT, _FRONT, dtype=np.int32)
    buffers = [None, pa.py_buffer(ends), pa.py_buffer(data)]
    return pa.Array.from_buffers(pa.binary(), count, buffers)


def _bodies(said: Mapping[str, pa.Array], count: int) -> tuple[pa.BinaryArray, pa.Int32Array]:
    """The bodies, and what they are."""
    given = said.get("body", said.get("value"))
    kinds = said.get("body_type")
    kind = _zeros(count) if kinds is None else _whole(kinds, 0, U32_MAX)
    if given is None:
        return _nothing(count), kind
    if not pa.types.is_string(given.type):
        return pc.fill_null(given, pa.scalar(b"", pa.binary())), kind
    if kinds is not None:
        raise _UnusualRowError
    text = pa.scalar(LPWSTR, pa.int32())
    return _utf16(_texts(given)), pc.if_else(pc.is_null(given), _i32(0), text)


def _labels(given: pa.StringArray) -> pa.BinaryArray:
    """Labels as packets have them, with a null at their end if they are not empty."""
    found = _texts(given)
    if b"\0" in contents(found).to_pybytes():
        raise _UnusualRowError
    ended = pc.binary_join_element_wise(found, "\0", "")
    return _utf16(pc.if_else(pc.equal(found, ""), "", ended))


def _texts(given: pa.StringArray) -> pa.StringArray:
    """Texts, null as none, in a memory of their own: what was given may be a slice of more."""
    return pc.if_else(pc.is_null(given), "", given)


def _utf16(texts: pa.StringArray) -> pa.BinaryArray:
    """Texts as UTF-16; only plain ASCII keeps its places."""
    raw = contents(texts).to_pybytes()
    if not raw.isascii():
        raise _UnusualRowError
    places = pa.py_buffer(ends_of(texts) << 1)
    data = pa.py_buffer(raw.decode("ascii").encode("utf-16-le"))
    return pa.Array.from_buffers(pa.binary(), len(texts), [None, places, data])


def _whole(values: pa.Array, default: int, most: int) -> pa.Int32Array:
    """Numbers from 0 up to `most`, of 32 bits."""
    found = pc.fill_null(values.cast(pa.int64()), pa.scalar(default, pa.int64()))
    if pc.min(found).as_py() < 0 or pc.max(found).as_py() > most:
        raise _UnusualRowError
    return found.cast(pa.uint32()).view(pa.int32())


def _nothing(count: int) -> pa.BinaryArray:
    return pa.repeat(pa.scalar(b"", pa.binary()), count)


def _zeros(count: int) -> pa.Int32Array:
    return array_of(np.zeros(count, np.int32), pa.int32())


def _i32(value: int) -> pa.Int32Scalar:
    return pa.scalar(value, pa.int32())


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
