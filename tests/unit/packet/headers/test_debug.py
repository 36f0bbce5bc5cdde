"""DebugHeader."""

from __future__ import annotations

import pytest
from tests.samples import OTHER, refusal

from openmsmq.packet.headers.debug import DebugFlags, DebugHeader
from openmsmq.wire.reader import Reader


def test_a_header_without_report_queue_has_4_bytes() -> None:
    """MQQB-085."""
    reader = Reader(bytes(20))
    header = DebugHeader.read(reader)
    assert reader.offset == 4
    assert header.queue_identifier is None
    assert header.encode() == DebugHeader().encode() == bytes(4)


def test_a_header_with_report_queue_has_20_bytes() -> None:
    """MQQB-085."""
    data = b"\x01\0\0\0" + OTHER.bytes_le
    header = DebugHeader.read(Reader(data))
    assert header == DebugHeader(1, 0, OTHER)
    assert header.encode() == data


def test_unused_bits_and_reserved_are_kept_and_tell_nothing() -> None:
    """MQQB-086."""
    data = b"\xfc\xff\xab\xcd"
    header = DebugHeader.read(Reader(data))
    assert DebugFlags.split(header.flags) == {"QT": 0, "X": 0x3FFF}
    assert header.queue_identifier is None
    assert header.encode() == data


@pytest.mark.parametrize("kind", [2, 3])
def test_another_kind_of_queue_is_refused(kind: int) -> None:
    """MQQB-085: what follows could not be known."""
    data = b"--" + bytes([kind, 0, 0, 0]) + bytes(16)
    assert refusal(DebugHeader.read, data, start=2) == ("DebugHeader.Flags", 2)


def test_a_missing_queue_is_refused() -> None:
    """MQQB-010, MQQB-085."""
    found = refusal(DebugHeader.read, b"\x01\0\0\0" + bytes(15))
    assert found == ("DebugHeader.QueueIdentifier", 4)
