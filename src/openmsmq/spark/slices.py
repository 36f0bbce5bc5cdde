"""Fields and slices of many packets that lie in one piece of memory, without a loop over them.

What was scattered becomes records of one size, of which a field is every nth item. Numbers are
arrays of NumPy; what Spark gets is made of their memory, without a step for each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Final, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from openmsmq.errors import Malformed
from openmsmq.limits import U32_MAX

Kind = Literal["B", "H", "I", "i", "Q", "q"]
"The code of a number for `struct`."
_KINDS: Final[dict[Kind, np.dtype[Any]]] = {kind: np.dtype(f"<{kind}") for kind in "BHIiQq"}  # type: ignore[misc]
Places: TypeAlias = npt.NDArray[np.int64]
"Where something begins, or how large it is."
Numbers: TypeAlias = npt.NDArray[Any]
Records: TypeAlias = npt.NDArray[np.uint8]
"Bytes in rows of one size."


def array_of(values: Numbers, kind: pa.DataType) -> pa.Array:
    """Numbers as an array of Arrow, without `pyarrow.array`, which imports pandas.

    That would be half a second in every worker that only plans.
    """
    raw = pa.py_buffer(np.ascontiguousarray(values))
    return pa.Array.from_buffers(kind, len(values), [None, raw])


def nullable(values: Numbers, is_there: npt.NDArray[np.bool_], kind: pa.DataType) -> pa.Array:
    """The same, null where there is none."""
    bits, raw = pa.py_buffer(_bits(is_there)), pa.py_buffer(np.ascontiguousarray(values))
    return pa.Array.from_buffers(kind, len(values), [bits, raw])


def booleans(values: npt.NDArray[np.bool_]) -> pa.BooleanArray:
    """Truths as an array of Arrow."""
    return pa.Array.from_buffers(pa.bool_(), len(values), [None, pa.py_buffer(_bits(values))])


def _bits(values: npt.NDArray[np.bool_]) -> Records:
    return np.packbits(values, bitorder="little")


def slices(data: pa.Buffer, starts: Places, sizes: Places | int) -> pa.BinaryArray:
    """Slices of `data`, which must not overlap and lie in rising order, as one array.

    `pyarrow.ArrowInvalid` if they do not: nothing is read outside of `data`.
    """
    count = len(starts)
    if not (count and np.any(sizes)):
        return nothing(count)
    edges = np.empty(2 * count, np.int32)
    edges[0::2] = starts
    edges[1::2] = starts + sizes
    buffers = [None, pa.py_buffer(edges), data]
    between = pa.Array.from_buffers(pa.binary(), 2 * count - 1, buffers)
    between.validate(full=True)
    return between.take(_every_other(count))


@lru_cache(maxsize=32)
def _every_other(count: int) -> pa.Array:
    return array_of(np.arange(0, 2 * count, 2, dtype=np.int32), pa.int32())


@lru_cache(maxsize=8)
def nothing(count: int) -> pa.BinaryArray:
    """As many values without a byte."""
    return pa.Array.from_buffers(pa.binary(), count, [None, _evenly(count, 0), pa.py_buffer(b"")])


def _evenly(count: int, size: int) -> pa.Buffer:
    """Where values of one size end."""
    return pa.py_buffer(np.arange(count + 1, dtype=np.int32) * np.int32(size))


def records(data: pa.Buffer, starts: Places, size: int) -> Records:
    """Slices of one size as rows; `Malformed` if one is not inside of `data`."""
    if not len(starts):
        return np.empty((0, size), np.uint8)
    if starts.min() < 0 or starts.max() + size > data.size:
        raise Malformed("packets", int(starts.max()), f"a part of {size} bytes is not in them")
    every = np.ndarray((data.size - size + 1,), np.dtype((np.void, size)), data, strides=(1,))
    return every[starts].view(np.uint8).reshape(len(starts), size)


def field(rows: Records, kind: Kind, offset: int) -> Numbers:
    """A number in every row, whose size is a multiple of that of the number."""
    values = rows.view(_KINDS[kind])
    return values[:, offset // values.itemsize]


def contents(values: pa.BinaryArray) -> pa.Buffer:
    """The bytes of all slices, one behind the other."""
    _, ends, data = values.buffers()
    if data is None or not len(values):
        return pa.py_buffer(b"")
    return data.slice(0, int(np.frombuffer(ends, np.int32)[len(values)]))


def ends_of(values: pa.BinaryArray) -> npt.NDArray[np.int32]:
    """Where the slices end in their contents, from 0 on."""
    count = len(values) + 1
    raw = values.buffers()[1]
    return np.frombuffer(raw, np.int32, count) if raw is not None else np.zeros(count, np.int32)


def texts(values: Sequence[str | None]) -> pa.StringArray:
    """Texts as an array of Arrow; see `array_of` for why they are put together here."""
    found = [b"" if value is None else value.encode() for value in values]
    ends = np.cumsum([0, *map(len, found)], dtype=np.int32)
    bits = _bits(np.array([value is not None for value in values], np.bool_))
    buffers = [pa.py_buffer(bits), pa.py_buffer(ends), pa.py_buffer(b"".join(found))]
    return pa.Array.from_buffers(pa.string(), len(found), buffers)


def by_distinct(values: pa.Array, decode: Callable[[bytes], str | None]) -> pa.Array:
    """Each value decoded, the same ones once; `values` may be encoded by a dictionary already."""
    coded = values.dictionary_encode()
    decoded = texts([decode(value) for value in coded.dictionary.to_pylist()])
    return decoded.take(coded.indices)


def common(rows: Records) -> bytes | None:
    """What all rows are, of which there is at least one; None if some differ."""
    words = rows.view(np.uint32) if rows.shape[1] % 4 == 0 else rows
    return rows[0].tobytes() if (words == words[0]).all() else None


@lru_cache(maxsize=16)
def repeated(value: str | None, count: int) -> pa.Array:
    """The same text for all; most blocks have as many messages as the last one."""
    if value is None:
        return nulls(count, pa.string())
    text = value.encode()
    buffers = [None, _evenly(count, len(text)), pa.py_buffer(text * count)]
    return pa.Array.from_buffers(pa.string(), count, buffers)


@lru_cache(maxsize=16)
def nulls(count: int, kind: pa.DataType) -> pa.Array:
    """Nothing for any."""
    return pa.nulls(count, kind)


def numbered(text: str, numbers: Numbers) -> pa.StringArray:
    """A text with a number behind it for each; together, if all have as many digits."""
    width = len(str(numbers.max(initial=0)))
    if width != len(str(numbers.min(initial=U32_MAX))):
        found = array_of(numbers, pa.uint32()).cast(pa.string())
        return pc.binary_join_element_wise(repeated(text, len(found)), found, "")
    start, count = text.encode(), len(numbers)
    rows = np.empty((count, len(start) + width), np.uint8)
    rows[:, : len(start)] = np.frombuffer(start, np.uint8)
    left = numbers
    for place in range(1, width + 1):
        tens = left // np.uint32(10)
        rows[:, -place] = left - tens * np.uint32(10) + np.uint32(ord("0"))
        left = tens
    buffers = [None, _evenly(count, rows.shape[1]), pa.py_buffer(rows)]
    return pa.Array.from_buffers(pa.string(), count, buffers)
