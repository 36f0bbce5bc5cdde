"""Frames in capture files."""

from __future__ import annotations

import contextlib
from struct import pack

import pytest

from openmsmq.capture.capture import CapturedFrame, is_capture, read_frames
from openmsmq.capture.limits import BLOCK_SIZE_MAX, FRAME_SIZE_MAX, INTERFACES_MAX
from openmsmq.errors import Malformed

ORDERS = pytest.mark.parametrize("order", ["<", ">"], ids=["little", "big"])
SECONDS = 1_700_000_000
TIME = SECONDS * 1_000_000_000


def pcap(order: str = "<", magic: int = 0xA1B2C3D4, link: int = 101, *, data: bytes = b"") -> bytes:
    return pack(f"{order}IHHiIII", magic, 2, 4, 0, 0, 65535, link) + data


def record(order: str, data: bytes, fraction: int = 0) -> bytes:
    return pack(f"{order}IIII", SECONDS, fraction, len(data), len(data)) + data


def block(order: str, kind: int, content: bytes) -> bytes:
    content += bytes(-len(content) % 4)
    size = pack(f"{order}I", 12 + len(content))
    return pack(f"{order}I", kind) + size + content + size


def section(order: str) -> bytes:
    return block(order, 0x0A0D0D0A, pack(f"{order}IHHq", 0x1A2B3C4D, 1, 0, -1))


def interface(order: str, link: int = 101, options: bytes = b"", snapshot: int = 0) -> bytes:
    return block(order, 1, pack(f"{order}HHI", link, 0, snapshot) + options)


def enhanced(order: str, data: bytes, ticks: int = SECONDS * 1_000_000, number: int = 0) -> bytes:
    start = pack(f"{order}IIIII", number, ticks >> 32, ticks & 0xFFFFFFFF, len(data), len(data))
    return block(order, 6, start + data)


def read(data: bytes, size: int = 1 << 20) -> list[CapturedFrame]:
    return list(read_frames(data[i : i + size] for i in range(0, len(data), size)))


def refusal(data: bytes) -> tuple[str, int]:
    with pytest.raises(Malformed) as caught:
        read(data)
    return caught.value.field, caught.value.offset


@ORDERS
@pytest.mark.parametrize(("magic", "unit"), [(0xA1B2C3D4, 1000), (0xA1B23C4D, 1)])
def test_pcap_files_of_all_kinds_are_read(order: str, magic: int, unit: int) -> None:
    data = pcap(order, magic, 113, data=record(order, b"one", 5) + record(order, b"", 6))
    assert is_capture(data)
    assert read(data) == [
        CapturedFrame(TIME + 5 * unit, 113, b"one"),
        CapturedFrame(TIME + 6 * unit, 113, b""),
    ]


def test_what_else_the_link_type_says_is_left_out() -> None:
    [frame] = read(pcap(link=0xF400_0001, data=record("<", b"x")))
    assert frame.link == 1


@ORDERS
def test_pcapng_files_are_read(order: str) -> None:
    data = section(order) + interface(order, 1) + interface(order, 276)
    data += enhanced(order, b"first", number=1) + block(order, 5, b"statistics")
    data += enhanced(order, b"second!!", ticks=SECONDS * 1_000_000 + 7)
    assert is_capture(data)
    assert read(data) == [
        CapturedFrame(TIME, 276, b"first"),
        CapturedFrame(TIME + 7000, 1, b"second!!"),
    ]


@ORDERS
def test_older_and_simple_blocks_are_read(order: str) -> None:
    old = pack(f"{order}HHIIII", 0, 0xFFFF, 0, 5, 3, 3) + b"old"
    data = section(order) + interface(order, snapshot=4) + block(order, 2, old)
    data += block(order, 3, pack(f"{order}I", 3) + b"new")
    data += block(order, 3, pack(f"{order}I", 1000) + b"newer")
    assert read(data) == [
        CapturedFrame(5000, 101, b"old"),
        CapturedFrame(0, 101, b"new"),
        CapturedFrame(0, 101, b"newe"),
    ]


def test_each_section_has_its_order_and_interfaces() -> None:
    data = section("<") + interface("<", 1) + enhanced("<", b"a")
    data += section(">") + interface(">", 113) + enhanced(">", b"b")
    assert [(frame.link, frame.data) for frame in read(data)] == [(1, b"a"), (113, b"b")]
    assert refusal(data + section("<") + enhanced("<", b"c"))[0] == "interface"


@ORDERS
@pytest.mark.parametrize(
    ("resolution", "ticks"), [(6, 10**6), (9, 10**9), (0, 1), (0x8A, 1024), (0x80, 1)]
)
def test_times_are_counted_as_the_interface_says(order: str, resolution: int, ticks: int) -> None:
    option = pack(f"{order}HHBxxx", 9, 1, resolution) + pack(f"{order}HH", 0, 0)
    data = section(order) + interface(order, options=option)
    [frame] = read(data + enhanced(order, b"x", ticks=SECONDS * ticks))
    assert frame.time == TIME


@ORDERS
@pytest.mark.parametrize(("shift", "time"), [(60, 60), (-60, 0)])
def test_times_may_be_shifted(order: str, shift: int, time: int) -> None:
    option = pack(f"{order}HHxxxx", 2, 3) + pack(f"{order}HHq", 14, 8, shift)
    data = section(order) + interface(order, options=option) + enhanced(order, b"x", ticks=0)
    assert read(data) == [CapturedFrame(time * 1_000_000_000, 101, b"x")]


@pytest.mark.parametrize(
    "options", [b"\x09\0\x01\0", b"\x09\0\x02\0\x09\x09", b"\x0e\0\x08\0abc", b"\xff" * 9, b"\x09"]
)
def test_options_that_make_no_sense_are_passed_over(options: bytes) -> None:
    data = section("<") + interface("<", options=options) + enhanced("<", b"x")
    assert read(data) == [CapturedFrame(TIME, 101, b"x")]


@pytest.mark.parametrize("size", [1, 3, 16, 17, 100])
def test_any_cut_of_the_file_gives_the_same_frames(size: int) -> None:
    files = [
        pcap(data=record("<", b"a" * 50) + record("<", b"b")),
        section("<") + interface("<") + enhanced("<", b"a" * 50) + enhanced("<", b"b"),
    ]
    for data in files:
        assert read(data, size) == read(data)


@pytest.mark.parametrize(
    "data",
    [
        pcap(data=record("<", b"a" * 50) + record("<", b"bcd")),
        section("<") + interface("<") + enhanced("<", b"a" * 50) + enhanced("<", b"bcd"),
    ],
    ids=["pcap", "pcapng"],
)
def test_a_file_that_is_cut_off_gives_the_frames_before(data: bytes) -> None:
    good = read(data)
    ends = [0]
    for size in range(len(data)):
        found: list[CapturedFrame] = []
        with contextlib.suppress(Malformed):
            for frame in read_frames([data[:size]]):
                found.append(frame)
            ends.append(size)
        assert found == good[: len(found)]
    assert refusal(data[:-1])[1] < len(data)
    assert [read(data[:size]) for size in ends[1:]][-2:] == [[], good[:1]]


@pytest.mark.parametrize("data", [b"", b"\xd4\xc3", b"PK\x03\x04", b"\x10\0\0\0LIOR"])
def test_other_files_are_no_captures(data: bytes) -> None:
    assert not is_capture(data)
    assert refusal(data) == ("magic number", 0)


@ORDERS
def test_a_frame_has_a_limit(order: str) -> None:
    assert len(read(pcap(order, data=record(order, bytes(FRAME_SIZE_MAX))))) == 1
    head = pack(f"{order}IIII", 0, 0, FRAME_SIZE_MAX + 1, 0)
    assert refusal(pcap(order, data=head)) == ("captured length", 32)


@ORDERS
@pytest.mark.parametrize("size", [0, 4, 8, 11, 13, 0xFFFFFFFC, BLOCK_SIZE_MAX + 4])
def test_a_block_has_a_size_that_can_be(order: str, size: int) -> None:
    data = section(order)
    bad = pack(f"{order}II", 6, size) + bytes(40)
    assert refusal(data + bad) == ("block length", len(data) + 4)
    bad_section = pack(f"{order}III", 0x0A0D0D0A, size, 0x1A2B3C4D) + bytes(40)
    assert refusal(bad_section) == ("block length", 4)


def test_the_smallest_block_is_passed_over() -> None:
    assert read(section("<") + block("<", 0x0BAD, b"")) == []


@pytest.mark.parametrize(
    ("bad", "field"),
    [
        (b"\x0a\x0d\x0d\x0a" + pack("<II", 28, 0x11223344) + bytes(16), "byte order"),
        (b"\x0a\x0d\x0d\x0a" + pack("<II", 28, 0x1A2B3C4D) + bytes(16), "section length"),
        (b"\x0a\x0d\x0d\x0a" + pack("<II", 12, 0x1A2B3C4D) + bytes(16), "section length"),
        (pack("<II", 6, 16) + bytes(4) + pack("<I", 20), "block length"),
        (block("<", 1, b"abcd"), "interface"),
        (block("<", 6, bytes(16)), "block"),
        (block("<", 3, b""), "block"),
        (enhanced("<", b"x", number=1), "interface"),
        (block("<", 6, pack("<IIIII", 0, 0, 0, 9, 9) + b"12345678"), "captured length"),
        (block("<", 6, pack("<IIIII", 0, 0, 0, 0xFFFFFFFF, 9) + b"1234"), "captured length"),
    ],
)
def test_a_block_that_is_wrong_is_refused(bad: bytes, field: str) -> None:
    assert refusal(section("<") + interface("<") + bad)[0] == field


def test_interfaces_have_a_limit() -> None:
    data = section("<") + interface("<") * INTERFACES_MAX
    assert read(data) == []
    assert refusal(data + interface("<"))[0] == "interface"
