"""Functions of Spark that decode bodies, headers and whole packets, many at once.

As `openmsmq.spark.functions.body_text(...)` for DataFrames, and by the same names in SQL.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

import pyarrow as pa

from openmsmq.bodies import decode
from openmsmq.bodies.headers import decode_headers
from openmsmq.errors import Malformed
from openmsmq.limits import U32_MAX
from openmsmq.packet.view import PacketView
from openmsmq.spark.arrow import HEADERS, TYPES, Columns
from openmsmq.spark.block import Block
from openmsmq.spark.columns import PACKET, READ, ddl

if TYPE_CHECKING:
    from pyspark.sql import Column, SparkSession

_STRUCT: Final = pa.struct([(name, TYPES[READ[name]]) for name in PACKET])


def body_text(body: Column | str, body_type: Column | str) -> Column:
    """A body as a person would read it; null for plain bytes."""
    return _made("body_text")(body, body_type)


def body_json(body: Column | str, body_type: Column | str) -> Column:
    """The value of a body as JSON: XML as a tree, .NET and COM values, bytes in hex."""
    return _made("body_json")(body, body_type)


def body_format(body: Column | str, body_type: Column | str) -> Column:
    """What a body looks like: `xml`, `json`, `activex:VT_I4`, `nrbf`, ..."""
    return _made("body_format")(body, body_type)


def bus_headers(extension: Column | str) -> Column:
    """The headers of NServiceBus or Rebus in an extension; null if there are none."""
    return _made("bus_headers")(extension)


def from_packet(packet: Column | str) -> Column:
    """The columns of a packet as a struct; null for bytes that are none."""
    return _made("from_packet")(packet)


def register(spark: SparkSession) -> None:
    """Let SQL call the functions by their names, from Spark 4.1 on: before it there are none."""
    from pyspark.sql.pandas import functions as arrow

    if not hasattr(arrow, "arrow_udf"):
        return
    for name in _FUNCTIONS:
        spark.udf.register(name, _made(name))


def _made(name: str) -> Callable[..., Column]:
    """A function for Spark."""
    from pyspark.sql.pandas.functions import arrow_udf

    function, kind = _FUNCTIONS[name]
    function.__name__ = name  # what Spark calls the column
    made: Callable[..., Column] = arrow_udf(function, kind)  # type: ignore[call-overload]  # its stubs want all three
    return made


def _texts(bodies: pa.Array, kinds: pa.Array) -> pa.Array:
    return _each(bodies, kinds, lambda body, kind: decode.decode_body(body, kind).text)


def _formats(bodies: pa.Array, kinds: pa.Array) -> pa.Array:
    return _each(bodies, kinds, decode.body_format)


def _jsons(bodies: pa.Array, kinds: pa.Array) -> pa.Array:
    def written(body: bytes, kind: int) -> str:
        value = decode.decode_body(body, kind).value
        return json.dumps(value, ensure_ascii=False, default=bytes.hex)

    return _each(bodies, kinds, written)


def _each(bodies: pa.Array, kinds: pa.Array, look: Callable[[bytes, int], str | None]) -> pa.Array:
    pairs = zip(bodies.to_pylist(), kinds.to_pylist(), strict=True)
    found = [None if body is None else look(body, (kind or 0) & U32_MAX) for body, kind in pairs]
    return pa.array(found, pa.string())


def _headers(extensions: pa.Array) -> pa.Array:
    found = [
        list(decode_headers(extension or b"").values.items()) or None
        for extension in extensions.to_pylist()
    ]
    return pa.array(found, HEADERS)


def _packets(packets: pa.Array) -> pa.Array:
    found = packets.to_pylist()
    sound = [packet for packet in found if _is_sound(packet)]
    batch = Columns(Block.of_packets(sound)).batch(PACKET)
    structs = pa.StructArray.from_arrays(batch.columns, fields=list(_STRUCT))
    if len(sound) == len(found):
        return structs
    places = iter(range(len(sound)))
    taken = [next(places) if _is_sound(packet) else None for packet in found]
    return structs.take(pa.array(taken, pa.int64()))


def _is_sound(packet: bytes | None) -> bool:
    if packet is None:
        return False
    try:
        PacketView.parse(packet)
    except Malformed:
        return False
    return True


_FUNCTIONS: Final = {
    "body_text": (_texts, "string"),
    "body_json": (_jsons, "string"),
    "body_format": (_formats, "string"),
    "bus_headers": (_headers, "map<string,string>"),
    "from_packet": (_packets, f"struct<{ddl(PACKET).replace(' ', ':').replace(',:', ',')}>"),
}
