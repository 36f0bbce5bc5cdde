"""ConnectionParametersHeader."""

from __future__ import annotations

from openmsmq.packet.headers.connection_parameters import ConnectionParametersHeader


def test_every_field_stands_at_its_place() -> None:
    """MQQB-038: Reserved is sent as 0; the window is 64 by default."""
    data = ConnectionParametersHeader(500, 120_000).pack()
    assert data == bytes.fromhex("F4010000 C0D40100 0000 4000")


def test_fields_are_named_as_in_the_specification() -> None:
    names = [(field.name, field.offset) for field in ConnectionParametersHeader.FIELDS]
    assert names == [
        ("RecoverableAckTimeout", 0),
        ("AckTimeout", 4),
        ("Reserved", 8),
        ("WindowSize", 10),
    ]


def test_the_reserved_field_may_be_anything() -> None:
    """MQQB-038, MQQB-039, MQQB-040: values out of range are readable as well."""
    data = bytes.fromhex("00000000 FFFFFFFF ABCD 0000")
    header = ConnectionParametersHeader.unpack(data)
    assert (header.recoverable_ack_timeout_ms, header.ack_timeout_ms) == (0, 0xFFFFFFFF)
    assert header.window_size == 0
    assert header.pack() == data
