"""Cursors over NDR data."""

from __future__ import annotations

from uuid import UUID

import pytest

from openmsmq.errors import Malformed
from openmsmq.rpc.limits import DEPTH_MAX
from openmsmq.rpc.ndr.stream import NdrReader, NdrWriter, Scope


@pytest.mark.parametrize(("order", "value"), [("<", 0x04030201), (">", 0x01020304)])
def test_integers_are_read_in_either_byte_order(order: str, value: int) -> None:
    reader = NdrReader(bytes([1, 2, 3, 4]), "<" if order == "<" else ">")
    assert reader.number("I", "n") == value


def test_alignment_is_counted_from_the_start_of_the_stub_and_its_bytes_mean_nothing() -> None:
    """MQRR-029"""
    reader = NdrReader(b"\x07\xff\xfe\xfd\x01\0\0\0")
    assert (reader.u8("a"), reader.number("I", "b")) == (7, 1)


def test_an_integer_that_is_cut_short_is_malformed() -> None:
    """MQRR-022"""
    with pytest.raises(Malformed, match=r"^n at offset 0: needs 4 bytes, 3 are left"):
        NdrReader(b"\0\0\0").number("I", "n")


def test_a_uuid_follows_the_byte_order() -> None:
    guid = UUID("00112233-4455-6677-8899-aabbccddeeff")
    assert NdrReader(b"", "<").uuid(guid.bytes_le) == guid
    assert NdrReader(b"", ">").uuid(guid.bytes) == guid


class Outer:
    """Writes its value, and defers what lies in it."""

    def write(self, writer: NdrWriter, value: str, scope: Scope) -> None:
        scope[value] = len(scope)
        if value == "outer":
            writer.defer(self, "inner", scope)


def test_pointees_follow_depth_first() -> None:
    writer, order = NdrWriter(), Scope()
    writer.defer(Outer(), "outer", order)
    writer.defer(Outer(), "second", order)
    writer.flush()
    assert list(order) == ["outer", "inner", "second"]


class Deeper:
    """A pointee that points to another."""

    def read(self, reader: NdrReader, name: str, scope: Scope) -> None:
        reader.defer(self, name, scope)


def test_pointees_that_lie_too_deep_are_malformed() -> None:
    reader = NdrReader(b"")
    reader.defer(Deeper(), "x", {})
    with pytest.raises(Malformed, match=f"more than {DEPTH_MAX} deep"):
        reader.flush()


def test_written_gaps_are_zeros_and_referents_differ() -> None:
    writer = NdrWriter()
    writer.number("B", 1)
    writer.number("Q", 2)
    assert writer.out.hex() == "01000000000000000200000000000000"
    assert writer.referent() != writer.referent()
