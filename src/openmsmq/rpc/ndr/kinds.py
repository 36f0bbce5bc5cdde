"""The kinds of NDR values, from integers to unions ([MS-RPCE] 2.2.4; C706 14.2, 14.3).

A kind reads and writes one value. What it has to agree with, a count or the selector of a union,
is a field of the structure around it; `scope` has the fields by name. What a pointer points to is
put into the scope when it has been read; a value that holds pointers is at first a function, which
makes the value when all pointees have been read.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Callable, Mapping
from struct import Struct
from typing import Any, Final
from uuid import UUID

from openmsmq.rpc.ndr.stream import NdrReader, NdrWriter, Scope, layout_of
from openmsmq.wire.text import decode_utf16, encode_utf16z

CODES: Final = {"B": 1, "H": 2, "I": 4, "Q": 8, "b": 1, "h": 2, "i": 4, "q": 8}
"Bytes of the integers, by their code of `struct`."


class NdrKind:
    """One kind of value."""

    alignment: int = 1
    "Where its first byte may stand."
    widest: int = 1
    "The alignment it asks of the structure it lies in."

    def read(self, reader: NdrReader, name: str, scope: Scope) -> Any:
        """The value, or a function that makes it; a pointer puts it into the scope later."""
        raise NotImplementedError

    def write(self, writer: NdrWriter, value: Any, scope: Scope) -> None:
        """Write a value."""
        raise NotImplementedError


def made(value: Any) -> Any:
    """A value that was read, all pointees being there."""
    return value() if callable(value) else value


class Integer(NdrKind):
    """An integer, perhaps with a range ([MS-RPCE] 2.2.4.10)."""

    def __init__(self, code: str, least: int | None = None, most: int | None = None) -> None:
        assert (least is None) == (most is None), "a range has two ends"
        self.code = code
        self.alignment = self.widest = CODES[code]
        self.least, self.most = least, most
        self._unpack = {order: Struct(order + code).unpack_from for order in ("<", ">")}
        self._pack = Struct("<" + code).pack

    def read(self, reader: NdrReader, name: str, scope: Scope) -> int:
        """The next integer, at its alignment; most values are integers."""
        size = self.alignment
        start = reader.offset + -reader.offset % size
        if start + size > reader.end:
            reader.number(self.code, name)  # says what is wrong
        reader.offset = start + size
        value: int = self._unpack[reader.order](reader.data, start)[0]
        if self.least is not None or self.most is not None:
            self.check(reader, name, value)
        return value

    def check(self, reader: NdrReader, name: str, value: int) -> None:
        """Refuse a value out of its range ([MS-MQRR] 3.1.4.9, 3.1.4.12, 3.1.4.15).

        (Also [MS-MQMP] 2.2.3.5, 3.1.4.5, 3.1.4.12, 3.1.4.21.)
        """
        if self.least is not None and value < self.least:
            reader.fail(name, f"{value} is less than {self.least}")
        if self.most is not None and value > self.most:
            reader.fail(name, f"{value} is more than {self.most}")

    def write(self, writer: NdrWriter, value: int, scope: Scope) -> None:
        out = writer.out
        if gap := -len(out) % self.alignment:
            out += bytes(gap)
        out += self._pack(value)


class FixedBytes(NdrKind):
    """Bytes of a fixed number, as they are."""

    def __init__(self, size: int) -> None:
        self.size = size

    def read(self, reader: NdrReader, name: str, scope: Scope) -> bytes:
        return reader.take(self.size, name)

    def write(self, writer: NdrWriter, value: bytes, scope: Scope) -> None:
        """Write them without alignment (XACTUOW: [MS-MQMP] 2.2.3.1)."""
        assert len(value) == self.size, f"{len(value)} bytes are not {self.size}"
        writer.out += value


class Uuid(NdrKind):
    """A UUID: an integer of 4 bytes, two of 2 bytes, 8 bytes ([MS-RPCE] 2.2.4.7)."""

    alignment = widest = 4

    def read(self, reader: NdrReader, name: str, scope: Scope) -> UUID:
        reader.align_to(4)
        return reader.uuid(reader.take(16, name))

    def write(self, writer: NdrWriter, value: UUID, scope: Scope) -> None:
        writer.align_to(4)
        writer.out += value.bytes_le


class HandleKind(NdrKind):
    """A context handle: attributes that mean nothing, and a UUID ([MS-RPCE] 2.2.1.1.4)."""

    alignment = widest = 4

    def read(self, reader: NdrReader, name: str, scope: Scope) -> UUID:
        reader.align_to(4)
        reader.take(4, name)
        return reader.uuid(reader.take(16, name))

    def write(self, writer: NdrWriter, value: UUID, scope: Scope) -> None:
        writer.number("I", 0)
        writer.out += value.bytes_le


def checked_size(reader: NdrReader, name: str, count: int, most: int, size_is: int | None) -> int:
    """A max_count within bounds that agrees with its field (C706 14.3.3; [MS-MQRR] 3.1.4)."""
    if count > most:
        reader.fail(name, f"{count} elements are more than {most}")
    if size_is is not None and count != size_is:
        reader.fail(name, f"max_count {count} is not {size_is}, as the call says elsewhere")
    return count


def varying_counts(
    reader: NdrReader,
    name: str,
    most: int,
    size_is: int | None = None,
    length_is: int | None = None,
) -> int:
    """An actual_count behind a max_count and an offset that has to be 0 (C706 14.3.3.4)."""
    maximum, offset, count = reader.numbers("III", f"{name}.counts")
    checked_size(reader, name, maximum, most, size_is)
    if offset:
        reader.fail(name, f"offset {offset} is not 0")
    if count > maximum:
        reader.fail(name, f"actual_count {count} is more than max_count {maximum}")
    if length_is is not None and count != length_is:
        reader.fail(name, f"actual_count {count} is not {length_is}, as the call says elsewhere")
    return count


class Sized(NdrKind):
    """An array whose number of elements travels with it, conformant and perhaps varying."""

    alignment = widest = 4

    def __init__(
        self,
        *,
        most: int,
        size_is: str | None = None,
        length_is: str | None = None,
        varying: bool = False,
    ) -> None:
        """`size_is` and `length_is` name fields of the same structure."""
        self.most = most
        self.size_is, self.length_is = size_is, length_is
        self.varying = varying or length_is is not None

    def read_counts(self, reader: NdrReader, name: str, scope: Scope) -> int:
        """The number of elements that follow."""
        size_is = scope.get(self.size_is or "")
        if self.varying:
            length_is = scope.get(self.length_is or "")
            return varying_counts(reader, name, self.most, size_is, length_is)
        count = reader.number("I", f"{name}.max_count")
        return checked_size(reader, name, count, self.most, size_is)

    def write_counts(self, writer: NdrWriter, count: int, scope: Scope) -> None:
        """The counts of an array; those that are fields, too, have to agree."""
        maximum = scope.get(self.size_is or "", count)
        assert count == maximum or (self.varying and count < maximum), f"{count} of {maximum}"
        if self.varying:
            writer.numbers("III", maximum, 0, count)
        else:
            writer.number("I", maximum)


class ByteArray(Sized):
    """An array of bytes."""

    def read(self, reader: NdrReader, name: str, scope: Scope) -> bytes:
        return reader.take(self.read_counts(reader, name, scope), name)

    def write(self, writer: NdrWriter, value: bytes, scope: Scope) -> None:
        self.write_counts(writer, len(value), scope)
        writer.out += value


class IntegerArray(Sized):
    """An array of integers, a tuple here."""

    def __init__(self, code: str, **sized: Any) -> None:
        super().__init__(**sized)
        self.code = code

    def read(self, reader: NdrReader, name: str, scope: Scope) -> tuple[int, ...]:
        count = self.read_counts(reader, name, scope)
        if not count:
            return ()
        reader.align_to(CODES[self.code])
        found = array(self.code, reader.take(count * CODES[self.code], name))
        if (reader.order == "<") != (sys.byteorder == "little"):
            found.byteswap()
        return tuple(found)

    def write(self, writer: NdrWriter, value: tuple[int, ...], scope: Scope) -> None:
        self.write_counts(writer, len(value), scope)
        if value:
            writer.align_to(CODES[self.code])
            writer.out += layout_of(f"<{len(value)}{self.code}").pack(*value)


class WideString(NdrKind):
    """`[string] wchar_t*` without the pointer: text with a null ([MS-RPCE] 2.2.4.1.1).

    `most` counts the null, too.
    """

    alignment = widest = 4

    def __init__(self, *, most: int) -> None:
        self.most = most

    def read(self, reader: NdrReader, name: str, scope: Scope) -> str:
        raw = reader.take(2 * varying_counts(reader, name, self.most), name)
        if raw[-2:] != b"\0\0":
            reader.fail(name, "text without its terminating null")
        if reader.order == ">":
            swapped = bytearray(len(raw))
            swapped[0::2], swapped[1::2] = raw[1::2], raw[0::2]
            raw = bytes(swapped)
        return decode_utf16(raw)

    def write(self, writer: NdrWriter, value: str, scope: Scope) -> None:
        raw = encode_utf16z(value)
        writer.numbers("III", len(raw) // 2, 0, len(raw) // 2)
        writer.out += raw


class NdrArray(Sized):
    """An array of values of another kind, a tuple here."""

    def __init__(self, element: NdrKind, **sized: Any) -> None:
        super().__init__(**sized)
        self.element = element
        self.widest = max(4, element.widest)

    def read(self, reader: NdrReader, name: str, scope: Scope) -> Callable[[], tuple[Any, ...]]:
        count = self.read_counts(reader, name, scope)
        if count > reader.remaining:  # no element is empty
            reader.fail(name, f"{count} elements cannot lie in {reader.remaining} bytes")
        return read_elements(reader, self.element, name, count)

    def write(self, writer: NdrWriter, value: tuple[Any, ...], scope: Scope) -> None:
        self.write_counts(writer, len(value), scope)
        for one in value:
            self.element.write(writer, one, {})


def read_elements(
    reader: NdrReader, element: NdrKind, name: str, count: int
) -> Callable[[], tuple[Any, ...]]:
    """The elements of an array, which may hold pointers."""
    values: Scope = {}
    for at in range(count):
        place = f"{name}[{at}]"
        values[place] = element.read(reader, place, values)
    return lambda: tuple(made(value) for value in values.values())


class _NoElements:
    """What NULL stands for where an array could be."""

    def __init__(self, size_is: str) -> None:
        self._size_is = size_is

    def read(self, reader: NdrReader, name: str, scope: Scope) -> None:
        """NULL cannot have elements ([MS-RPCE] 3.1.1.5.3.3.1.2; [MS-MQRR] 3.1.4)."""
        if size := scope.get(self._size_is, 0):
            reader.fail(name, f"NULL where {size} elements are announced")


class Pointer(NdrKind):
    """A unique pointer: NULL, or what it points to, later ([MS-RPCE] 2.2.4.9; C706 14.3.12).

    A reference pointer is written as what it points to and needs no kind of its own.
    """

    alignment = widest = 4

    def __init__(self, target: NdrKind, *, sizes_null: bool = False) -> None:
        """`sizes_null` says that NULL may have a size beside it, which means nothing."""
        self.target = target
        size_is = target.size_is if isinstance(target, Sized) and not sizes_null else None
        self._null = _NoElements(size_is) if size_is else None

    def read(self, reader: NdrReader, name: str, scope: Scope) -> Any:
        """Read a referent, and have what it leads to put into the scope."""
        return self.follow(reader, reader.number("I", name), name, scope)

    def follow(self, reader: NdrReader, referent: int, name: str, scope: Scope) -> Any:
        """Have what a referent leads to put into the scope; None until then, and for NULL."""
        if referent:
            reader.defer(self.target, name, scope)
        elif self._null is not None:
            reader.defer(self._null, name, scope)

    def write(self, writer: NdrWriter, value: Any, scope: Scope) -> None:
        """Write a referent now, and what it leads to behind the fixed part.

        ([MS-MQMP] 2.2.3.2, 3.1.4.17, 3.1.4.23)
        """
        writer.number("I", self.lead(writer, value, scope))

    def lead(self, writer: NdrWriter, value: Any, scope: Scope) -> int:
        """A referent, with what it leads to written later; 0 for NULL."""
        if value is None:
            return 0
        writer.defer(self.target, value, scope)
        return writer.referent()


class FullPointer(Pointer):
    """A pointer that may repeat another: its pointee travels once (C706 14.3.10)."""

    def follow(self, reader: NdrReader, referent: int, name: str, scope: Scope) -> Any:
        known = reader.full_pointers.get(referent)
        if known is not None:
            target, known_name, known_scope = known
            if target is not self.target:
                reader.fail(name, "repeats a pointer to something else")
            return lambda: made(known_scope[known_name])
        if referent:
            reader.full_pointers[referent] = self.target, name, scope
        return super().follow(reader, referent, name, scope)


class Union(NdrKind):
    """A union whose selector is a field before it; the selector travels again as its tag.

    Tag and arm stand at their own alignment, as without `ms_union` ([MS-RPCE] 2.2.4.5, 2.2.4.8;
    C706 14.3.8; [MS-MQRR] 3.1.4). `None` among `arms` is an arm that is empty.
    """

    def __init__(self, switch: str, code: str, arms: Mapping[int, NdrKind | None]) -> None:
        self.switch, self.code = switch, code
        self.arms = arms
        self.alignment = CODES[code]
        self.widest = max([self.alignment, *(arm.widest for arm in arms.values() if arm)])

    def read(self, reader: NdrReader, name: str, scope: Scope) -> Any:
        """Read the tag, which has to be the selector, and its arm ([MS-MQMP] 2.2.3.5)."""
        tag = reader.number(self.code, f"{name}.tag")
        if tag != scope[self.switch]:
            reader.fail(name, f"tag {tag} is not {self.switch}, which is {scope[self.switch]}")
        if tag not in self.arms:
            reader.fail(name, f"there is no arm {tag}")
        arm = self.arms[tag]
        return None if arm is None else arm.read(reader, name, scope)

    def write(self, writer: NdrWriter, value: Any, scope: Scope) -> None:
        tag: int = scope[self.switch]
        writer.number(self.code, tag)
        arm = self.arms[tag]
        if arm is None:
            assert value is None, f"arm {tag} is empty"
        else:
            arm.write(writer, value, scope)
