"""What captured frames carry."""

from __future__ import annotations

from struct import pack

import pytest
from tests.samples import patch

from openmsmq.capture.capture import read_frames
from openmsmq.capture.ip import Datagram, Segment, read_frame
from openmsmq.capture.pcap import FILE_HEADER, Conversation, Endpoint, datagram
from openmsmq.errors import Malformed

SHORT = ("192.0.2.1", 1801), ("192.0.2.7", 50_000)
LONG = ("2001:db8::1", 1801), ("2001:db8::7", 50_000)
RAW = 101


def packet(records: bytes) -> bytes:
    """The first packet of some records."""
    return next(read_frames([FILE_HEADER + records])).data


def tcp(ends: tuple[Endpoint, Endpoint], data: bytes = b"data") -> bytes:
    return packet(Conversation(*ends).sent(data, 0.0))


TCP4, TCP6 = tcp(SHORT), tcp(LONG)
UDP4, UDP6 = (packet(datagram(*ends, b"data", 0.0)) for ends in (SHORT, LONG))


def with_extension(kind: int, header: bytes) -> bytes:
    """The IPv6 packet with a header before what it carries."""
    length = len(TCP6) - 40 + len(header)
    return TCP6[:4] + pack("!HB", length, kind) + TCP6[7:40] + header + TCP6[40:]


@pytest.mark.parametrize(
    ("link", "before"),
    [
        (0, b"\x02\0\0\0"),
        (0, b"\0\0\0\x1e"),
        (108, b"\0\0\0\x02"),
        (1, bytes(12) + b"\x08\x00"),
        (1, bytes(12) + b"\x81\x00\x00\x05\x08\x00"),
        (1, bytes(12) + b"\x88\xa8\x00\x05\x81\x00\x00\x07\x86\xdd"),
        (12, b""),
        (14, b""),
        (101, b""),
        (228, b""),
        (229, b""),
        (113, bytes(14) + b"\x08\x00"),
        (276, b"\x08\x00" + bytes(18)),
    ],
)
@pytest.mark.parametrize("data", [TCP4, TCP6], ids=["IPv4", "IPv6"])
def test_packets_are_found_on_every_link(link: int, before: bytes, data: bytes) -> None:
    found = read_frame(link, before + data)
    assert isinstance(found, Segment)
    assert found.data == b"data"


def test_an_unknown_link_is_refused() -> None:
    with pytest.raises(Malformed, match="link type at offset 0: 147 is not supported"):
        read_frame(147, TCP4)


@pytest.mark.parametrize("data", [TCP4, TCP6, UDP4, UDP6])
def test_padding_of_the_link_is_no_data(data: bytes) -> None:
    found = read_frame(RAW, data + bytes(20))
    assert found is not None
    assert found.data == b"data"


@pytest.mark.parametrize(("data", "place"), [(TCP4, 2), (TCP6, 4)], ids=["IPv4", "IPv6"])
def test_a_packet_without_a_length_ends_with_its_frame(data: bytes, place: int) -> None:
    """As those that a network card cuts are captured before it does."""
    found = read_frame(RAW, patch(data, place, b"\0\0") + b" and more")
    assert found is not None
    assert found.data == b"data and more"


def test_options_are_passed_over() -> None:
    data = b"\x46" + TCP4[1:20] + bytes(4) + TCP4[20:32] + b"\x60" + TCP4[33:40] + bytes(4) + b"x"
    found = read_frame(RAW, patch(data, 2, pack("!H", len(data))))
    assert isinstance(found, Segment)
    assert (found.source, found.target, found.data) == (*SHORT, b"x")


@pytest.mark.parametrize(
    ("kind", "header"),
    [
        (0, b"\x06\0" + bytes(6)),
        (60, b"\x06\x01" + bytes(14)),
        (43, b"\x3c\0" + bytes(6) + b"\x06\0" + bytes(6)),
        (51, b"\x06\x04" + bytes(22)),
        (44, b"\x06\0\0\0" + bytes(4)),
    ],
)
def test_extensions_are_passed_over(kind: int, header: bytes) -> None:
    found = read_frame(RAW, with_extension(kind, header))
    assert isinstance(found, Segment)
    assert (found.source, found.target, found.data) == (*LONG, b"data")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        patch(TCP4, 6, b"\x20\0"),
        patch(TCP4, 6, b"\x00\x01"),
        patch(TCP4, 0, b"\x44"),
        patch(TCP4, 0, b"\x55"),
        patch(TCP4, 9, b"\x01"),
        patch(TCP4, 32, b"\x40"),
        patch(TCP4, 2, b"\0\x10"),
        with_extension(44, b"\x06\0\0\x01" + bytes(4)),
        with_extension(0, b"\x06\xff" + bytes(6)),
        with_extension(59, b""),
        b"\0" * 60,
    ],
)
def test_what_is_no_whole_packet_is_passed_over(data: bytes) -> None:
    assert read_frame(RAW, data) is None


@pytest.mark.parametrize("link", [0, 1, 101, 113, 276])
@pytest.mark.parametrize("data", [TCP4, TCP6, UDP4, UDP6])
def test_a_frame_cut_short_gives_what_is_there_or_nothing(link: int, data: bytes) -> None:
    before = {0: 4, 1: 14, 101: 0, 113: 16, 276: 20}[link]
    for size in range(before + len(data)):
        found = read_frame(link, (bytes(before) + data)[:size])
        assert found is None or b"data".startswith(found.data)


def test_flags_are_distinguished() -> None:
    assert [Segment(*SHORT, 0, flags, b"").opens for flags in (0x02, 0x12, 0x10)] == [1, 1, 0]
    assert [Segment(*SHORT, 0, flags, b"").acknowledges for flags in (0x02, 0x12)] == [0, 1]


def test_a_datagram_ends_where_it_says() -> None:
    assert read_frame(RAW, patch(UDP4, 24, pack("!H", 10))) == Datagram(*SHORT, b"da")
    assert read_frame(RAW, patch(UDP4, 24, b"\0\0")) == Datagram(*SHORT, b"data")
