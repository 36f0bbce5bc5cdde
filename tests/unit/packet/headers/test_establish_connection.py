"""EstablishConnectionHeader."""

from __future__ import annotations

from tests.samples import SOURCE, TARGET

from openmsmq.packet.headers.establish_connection import EstablishConnectionHeader, OperatingSystem


def test_every_field_stands_at_its_place() -> None:
    """MQQB-030, MQQB-032, MQQB-036, MQQB-037: RE 0x10, Reserved 0, padding of 0x5A."""
    data = EstablishConnectionHeader(SOURCE, TARGET, 0x01020304).pack()
    assert data[:16] == SOURCE.bytes_le
    assert data[16:32] == TARGET.bytes_le
    assert data[32:40] == b"\x04\x03\x02\x01" + b"\x10\x00" + b"\0\0"
    assert data[40:] == b"\x5a" * 512


def test_the_operating_system_is_four_facts() -> None:
    """MQQB-032, MQQB-033, MQQB-034."""
    found = OperatingSystem.split(0x0310)
    assert found == {"RE": 0x10, "SE": 1, "OS": 1, "QS": 0, "X11_X15": 0}
    assert OperatingSystem.split(0x0400)["QS"] == 1


def test_reserved_bits_and_padding_of_a_request_may_be_anything() -> None:
    """MQQB-035, MQQB-036, MQQB-037."""
    data = bytes(36) + b"\x10\xf8" + b"\xab\xcd" + bytes(range(256)) * 2
    assert EstablishConnectionHeader.unpack(data).pack() == data
