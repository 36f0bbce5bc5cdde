"""Fields and slices of many packets that lie in one piece of memory, without a loop over them.

Arrow copies any slices of a buffer behind one another: what was scattered becomes records of one
size, of which a field is every nth item.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable
from functools import lru_cache
from typing import Final, Literal

import pyarrow as pa
import pyarrow.compute as pc

Kind = Literal["B", "H", "I", "i", "Q", "q"]
"The code of a number for `struct`."
_SIZES: Final[dict[Kind, int]] = {"B": 1, "H": 2, "I": 4, "i": 4, "Q": 8, "q": 8}
_TYPES: Final[dict[Kind, pa.DataType]] = {
    "B": pa.uint8(),
    "H": pa.uint16(),
    "I": pa.uint32(),
    "i": pa.int32(),
    "Q": pa.uint64(),
    "q": pa.int64(),
}


def integers(values: array[int]) -> pa.Array:
    """An array of Python's own as Arrow's, without a copy."""
    return pa.Array.from_buffers(pa.int32(), len(values), [None, pa.py_buffer(values)])


def slices(data: pa.Buffer, starts: pa.Array, sizes: pa.Array | int) -> pa.BinaryArray:
    """Slices of `data`, which must not overlap and lie in rising order, as one array.

    `pyarrow.ArrowInvalid` if they do not: nothing is read outside of `data`.
    """
    count = len(starts)
    if isinstance(sizes, int):
        sizes = pa.scalar(sizes, pa.int32())
    edges = array("i", bytes(8 * count))
    places = memoryview(edges)
    places[0::2] = _items(starts)
    places[1::2] = _items(pc.add(starts, sizes))
    if not count:
        return pa.array([], pa.binary())
    buffers = [None, pa.py_buffer(edges), data]
    between = pa.Array.from_buffers(pa.binary(), 2 * count - 1, buffers)
    between.validate(full=True)
    return between.take(every(count, 2, 0))


def records(data: pa.Buffer, starts: pa.Array, size: int) -> pa.Buffer:
    """Slices of one size behind one another."""
    return contents(slices(data, starts, size))


def contents(values: pa.BinaryArray) -> pa.Buffer:
    """The bytes of all slices, one behind the other."""
    _, ends, data = values.buffers()
    if data is None:
        return pa.py_buffer(b"")
    size = memoryview(ends).cast("B").cast("i")[len(values)] if len(values) else 0
    return data.slice(0, size)


def field(data: pa.Buffer, kind: Kind, offset: int, stride: int) -> pa.Array:
    """A number in every record."""
    size = _SIZES[kind]
    found = memoryview(data).cast("B").cast(kind)[offset // size :: stride // size].tobytes()
    return pa.Array.from_buffers(_TYPES[kind], len(found) // size, [None, pa.py_buffer(found)])


def signed(values: pa.Array) -> pa.Array:
    """Numbers of 32 bits as Spark has them: the same bits with a sign."""
    return values.view(pa.int32())


def offsets(values: pa.BinaryArray) -> pa.Array:
    """Where the slices end in their contents, from 0 on."""
    return pa.Array.from_buffers(pa.int32(), len(values) + 1, [None, values.buffers()[1]])


def by_distinct(
    values: pa.Array, decode: Callable[[bytes], str | None], kind: pa.DataType
) -> pa.Array:
    """Each value decoded, the same ones once; `values` may be encoded by a dictionary already."""
    coded = values.dictionary_encode()
    decoded = pa.array([decode(value) for value in coded.dictionary.to_pylist()], kind)
    return decoded.take(coded.indices)


def _items(values: pa.Array) -> memoryview:
    return memoryview(values.buffers()[1]).cast("B").cast("i")[: len(values)]


@lru_cache(maxsize=32)
def every(count: int, stride: int, first: int) -> pa.Array:
    """The place of a field in each of `count` records."""
    return integers(array("i", range(first, first + count * stride, stride)))
