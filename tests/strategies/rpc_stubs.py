"""A structure with every kind of NDR value, and values of it."""

from __future__ import annotations

from typing import Annotated
from uuid import UUID

from hypothesis import strategies as st

from openmsmq.rpc.ndr.kinds import (
    ByteArray,
    FullPointer,
    IntegerArray,
    NdrArray,
    Pointer,
    Union,
    WideString,
)
from openmsmq.rpc.ndr.structure import ContextHandle, IntegerRange, Structure, nested, structure
from openmsmq.wire.fixed import U8, U16, U32, U64, Bytes16, Guid

TEXT = WideString(most=64)


@structure
class Leaf(Structure):
    """Two fields of fixed size, with a gap."""

    flag: U8
    number: U64


@structure
class Branch(Structure):
    """Pointers of a structure in an array."""

    size: U32
    data: Annotated[bytes | None, Pointer(ByteArray(most=64, size_is="size"))]
    name: Annotated[str | None, FullPointer(TEXT)]


@structure
class Chosen(Structure):
    """A union by its selector."""

    kind: U8
    reserved: U16
    value: Annotated[
        object,
        Union("kind", "B", {0: None, 1: nested(Leaf), 2: nested(Branch), 3: Pointer(TEXT)}),
    ]


@structure
class Everything(Structure):
    """Arguments with every kind of value."""

    context: ContextHandle
    ranged: Annotated[int, "H", IntegerRange(1, 300)]
    guid: Guid
    leaf: Leaf
    unit: Bytes16
    chosen: Chosen
    count: U32
    branches: Annotated[
        tuple[Branch, ...] | None, Pointer(NdrArray(nested(Branch), most=8, size_is="count"))
    ]
    numbers: Annotated[tuple[int, ...], IntegerArray("Q", most=16)]
    text: Annotated[str, TEXT]
    varying: Annotated[bytes, ByteArray(most=64, varying=True)]
    result: U32


def unsigned(size: int) -> st.SearchStrategy[int]:
    """Integers of this many bytes."""
    return st.integers(0, 2 ** (8 * size) - 1)


TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20)
GUIDS = st.integers(0, 2**128 - 1).map(lambda number: UUID(int=number))
LEAVES = st.builds(Leaf, unsigned(1), unsigned(8))


@st.composite
def branches(draw: st.DrawFn) -> Branch:
    """Pointees that agree with their size."""
    data = draw(st.none() | st.binary(max_size=20))
    return Branch(len(data or b""), data, draw(st.none() | TEXTS))


@st.composite
def chosen(draw: st.DrawFn) -> Chosen:
    """A union with the value of its selector."""
    kind = draw(st.integers(0, 3))
    arms: list[st.SearchStrategy[object]] = [st.none(), LEAVES, branches(), st.none() | TEXTS]
    return Chosen(kind, draw(unsigned(2)), draw(arms[kind]))


@st.composite
def everything(draw: st.DrawFn) -> Everything:
    """Arguments that can be written."""
    found = draw(st.none() | st.lists(branches(), max_size=4).map(tuple))
    return Everything(
        draw(GUIDS),
        draw(st.integers(1, 300)),
        draw(GUIDS),
        draw(LEAVES),
        draw(st.binary(min_size=16, max_size=16)),
        draw(chosen()),
        len(found or ()),
        found,
        draw(st.lists(unsigned(8), max_size=6).map(tuple)),
        draw(TEXTS),
        draw(st.binary(max_size=20)),
        draw(unsigned(4)),
    )
