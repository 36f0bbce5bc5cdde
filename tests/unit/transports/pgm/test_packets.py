"""Packets: what vectors do not show."""

from __future__ import annotations

from contextlib import suppress
from ipaddress import IPv4Address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openmsmq.errors.peer import Malformed
from openmsmq.transports.pgm.packets import (
    Nak,
    Ncf,
    OptionType,
    PacketOption,
    PgmData,
    Spm,
    Tsi,
    checksum,
    decode,
    nak_list,
)

TSI = Tsi(b"source", 49153)
HERE, GROUP = IPv4Address("10.77.0.1"), IPv4Address("234.1.1.1")


@pytest.mark.parametrize("kind", [Nak, Ncf])
def test_requests_and_their_confirmations_are_read_as_they_were_written(
    kind: type[Nak | Ncf],
) -> None:
    """PGM-015: a port of the source, and one that it sends to."""
    packet = kind(TSI, 8001, (), (7,), HERE, GROUP)
    found = decode(packet.pack())
    assert isinstance(found, kind)
    assert (found.tsi, found.port, found.numbers) == (TSI, 8001, (7,))


def test_all_options_are_read_as_they_were_written() -> None:
    """PGM-015: the last one says that it is."""
    options = tuple(PacketOption(kind, bytes([kind] * 4)) for kind in (0x54, 0x56, 0x58))
    found = decode(PgmData(TSI, 8001, options, 7, 1, b"data").pack())
    assert isinstance(found, PgmData)
    assert found.options == options


def words(data: bytes) -> int:
    """The checksum as RFC 1071 adds it up."""
    total = sum(int.from_bytes(data[at : at + 2].ljust(2, b"\0")) for at in range(0, len(data), 2))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return 0xFFFF - total or 0xFFFF


@given(st.binary(min_size=1, max_size=99))
def test_the_checksum_is_that_of_the_internet(data: bytes) -> None:
    """PGM-007, PGM-008."""
    assert checksum(data) == words(data)


@given(st.binary(max_size=99))
def test_garbage_is_malformed(data: bytes) -> None:
    """PGM-133."""
    with suppress(Malformed):
        decode(data)


@given(st.binary(max_size=60), st.integers(0, 255), st.integers(0, 1500))
def test_a_changed_packet_is_malformed_or_read(extra: bytes, value: int, at: int) -> None:
    """PGM-015, PGM-133: with a checksum that is right again."""
    raw = bytearray(PgmData(TSI, 8001, (PacketOption(0x55, extra),), 7, 1, extra).pack())
    raw[at % len(raw)] = value
    raw[6:8] = bytes(2)
    raw[6:8] = checksum(raw).to_bytes(2)
    with suppress(Malformed):
        decode(bytes(raw))


def damaged(packet: PgmData | Spm | Nak, changes: dict[int, int]) -> bytes:
    """A packet with other bytes at some places; its checksum is right unless it is one of them."""
    raw = bytearray(packet.pack())
    for at, value in changes.items():
        raw[at] = value
    if not changes.keys() & {6, 7}:
        raw[6:8] = bytes(2)
        raw[6:8] = checksum(raw).to_bytes(2)
    return bytes(raw)


def with_option(kind: int, size: int) -> PgmData:
    """A data packet with an option that holds zeros."""
    return PgmData(TSI, 8001, (PacketOption(kind, bytes(size)),), 7, 1, b"data")


def with_list(content: bytes) -> Nak:
    """A request for number 1 and those of a list."""
    return Nak(TSI, 8001, (PacketOption(OptionType.NAK_LIST, content),), (1,), HERE, GROUP)


@pytest.mark.parametrize(
    ("packet", "changes", "words"),
    [
        (PgmData(TSI, 8001, (), 7, 1, b"data"), {6: 0, 7: 0}, "PGM.Checksum at offset 6: a data"),
        (PgmData(TSI, 8001, (), 7, 1, b"data"), {6: 1}, "PGM.Checksum at offset 6: it is wrong"),
        (PgmData(TSI, 8001, (), 7, 1, b"data"), {15: 9}, "PGM.TSDULength at offset 14: 9 is not 4"),
        (Spm(TSI, 8001, (), 1, 1, 1, HERE), {4: 0x42}, "PGM.Type at offset 4: 0x42 is none"),
        (Spm(TSI, 8001, (), 1, 1, 1, HERE), {29: 2}, "PGM.AFI at offset 28: 2 is not IPv4"),
        (Nak(TSI, 8001, (), (1,), HERE, GROUP), {21: 2}, "PGM.AFI at offset 20: 2 is not IPv4"),
        (Nak(TSI, 8001, (), (1,), HERE, GROUP), {29: 2}, "PGM.AFI at offset 28: 2 is not IPv4"),
        (with_option(OptionType.FRAGMENT, 4), {}, "PGM.OPT_FRAGMENT at offset 24: it has 8 bytes"),
        (with_option(OptionType.FRAGMENT, 12), {39: 1}, "PGM.OPT_FRAGMENT at offset 24: first 0"),
        (with_option(0x55, 0), {24: 0x55}, "PGM.OPT_LENGTH at offset 24: type 85, length 4"),
        (with_option(0x55, 0), {25: 5}, "PGM.OPT_LENGTH at offset 24: type 0, length 5"),
        (with_option(0x55, 0), {27: 7}, "PGM.OPT_LENGTH at offset 24: type 0, length 4, total 7"),
        (with_option(0x55, 0), {29: 3}, "PGM.Options at offset 28: an option of 3 bytes"),
        (with_option(0x55, 4), {29: 4}, "PGM.Options at offset 32: there are 4 bytes behind"),
        (with_list(b""), {}, "PGM.OPT_NAK_LIST at offset 36: it has 0 bytes"),
        (with_list(b"\0\0\0\1"), {}, "PGM.OPT_NAK_LIST at offset 36: numbers do not ascend"),
    ],
)
def test_a_fault_is_named_with_its_place(
    packet: PgmData | Spm | Nak, changes: dict[int, int], words: str
) -> None:
    """PGM-015, PGM-133."""
    with pytest.raises(Malformed) as caught:
        decode(damaged(packet, changes))
    assert str(caught.value).startswith(words)


def test_options_that_are_unknown_are_passed_over() -> None:
    """PGM-037."""
    packet = decode(PgmData(TSI, 8001, (PacketOption(0x55, b"1234"),), 7, 1, b"data").pack())
    assert isinstance(packet, PgmData)
    assert (packet.data, packet.fragment) == (b"data", None)


@pytest.mark.parametrize("numbers", [(5, 5), (5, 4), (0, 0x8000_0000)])
def test_a_request_names_each_number_once_and_in_order(numbers: tuple[int, ...]) -> None:
    """PGM-031."""
    raw = Nak(TSI, 8001, nak_list(numbers), numbers, HERE, GROUP).pack()
    with pytest.raises(Malformed, match="ascend"):
        decode(raw)


@pytest.mark.parametrize("count", [2, 63])
def test_a_request_has_a_list(count: int) -> None:
    """PGM-031, PGM-032: which is network-significant."""
    numbers = tuple(range(0xFFFF_FFF0, 0xFFFF_FFF0 + count))
    numbers = tuple(number & 0xFFFF_FFFF for number in numbers)
    raw = Nak(TSI, 8001, nak_list(numbers), numbers, HERE, GROUP).pack()
    packet = decode(raw)
    assert isinstance(packet, Nak)
    assert packet.numbers == numbers
    assert raw[5] == 3


@pytest.mark.parametrize("content", [b"", b"123"])
def test_a_list_has_whole_numbers(content: bytes) -> None:
    """PGM-031."""
    options = (PacketOption(OptionType.NAK_LIST, content),)
    with pytest.raises(Malformed, match="OPT_NAK_LIST"):
        decode(Nak(TSI, 8001, options, (1,), HERE, GROUP).pack())


def test_there_are_16_options_at_the_most() -> None:
    """PGM-029."""
    options = tuple(PacketOption(0x20 + kind) for kind in range(17))
    assert len(decode(PgmData(TSI, 8001, options[:16], 1, 1).pack()).options) == 16
    with pytest.raises(Malformed, match="the last one is missing"):
        decode(PgmData(TSI, 8001, options, 1, 1).pack())


def test_an_spm_may_say_nothing_about_the_window() -> None:
    """PGM-020."""
    assert not Spm(TSI, 8001, (), 1, 0, 0x8000_0000, HERE).has_window
    assert Spm(TSI, 8001, (), 1, 1, 0, HERE).has_window


def test_a_reset_has_a_code() -> None:
    """PGM-035."""
    option = PacketOption(OptionType.RST, specific=0x45)
    packet = decode(Spm(TSI, 8001, (option,), 1, 1, 0, HERE).pack())
    found = packet.option(OptionType.RST)
    assert found is not None
    assert found.specific & 0x3F == 5
