"""The headers behind a stored message."""

from __future__ import annotations

from dataclasses import replace
from struct import pack

import pytest
from tests.samples import MESSAGES, patch, refusal

from openmsmq.packet.headers.trailer import (
    DeadLetterHeader,
    ExtendedAddressHeader,
    ExtensionFlags,
    ExtensionHeader,
    SubqueueBits,
    SubqueueHeader,
    Trailer,
    letter_path,
    letter_trailer,
    split_stored,
)
from openmsmq.packet.message import StoredMessage
from openmsmq.wire.reader import Reader, decode_whole
from openmsmq.wire.text import encode_utf16z
from openmsmq.wire.trace import TracingReader

PATH = r"host\private$\dead"
"With its null 38 bytes: two are missing to a multiple of 4."
SUBQUEUE = SubqueueHeader(
    flags=0xC004 << 1,
    abort_counter=1,
    move_counter=2,
    last_move_time=0x65000000,
    subqueue_name_utf16=encode_utf16z("poison").ljust(64, b"\0"),
    target_subqueue_name_utf16=encode_utf16z("retry").ljust(64, b"\0"),
)
ADDRESS = ExtendedAddressHeader(address_length=16, address_type=6, address_scope=3)
PLAIN = Trailer.make(SubqueueHeader(), ExtendedAddressHeader()).encode()
FULL = Trailer.make(SUBQUEUE, ADDRESS, DeadLetterHeader.make(PATH)).encode()


def read(data: bytes) -> Trailer:
    """The trailer that `data` is, and the proof that it encodes to the same."""
    reader = Reader(data)
    found = Trailer.read(reader)
    assert reader.remaining == 0
    assert found.encode() == data
    return found


def dead_letter(size: int, name: bytes) -> bytes:
    return pack("<I", size) + name


def test_two_headers_always_follow_the_extension() -> None:
    """MQQB-165, MQQB-166, MQQB-168: 12, 148 and 28 bytes."""
    assert PLAIN[:12] == pack("<IIB3x", 12, 176, 0x12)
    assert PLAIN[12:160] == pack("<I", 148) + bytes(144)
    assert PLAIN[160:] == pack("<I", 28) + bytes(24)
    found = read(PLAIN)
    assert (found.subqueue, found.extended_address) == (SubqueueHeader(), ExtendedAddressHeader())
    assert found.dead_letter is None


def test_a_dead_letter_queue_stands_between_them() -> None:
    """MQQB-165, MQQB-166, MQQB-170: with its padding counted."""
    assert FULL[:12] == pack("<IIB3x", 12, 176 + 44, 0x13)
    assert FULL[160:204] == pack("<I", 44) + encode_utf16z(PATH) + bytes(2)
    found = read(FULL)
    assert found.dead_letter is not None
    assert found.dead_letter.path_name == PATH
    assert (found.subqueue, found.extended_address) == (SUBQUEUE, ADDRESS)


def test_an_invalid_dead_letter_queue_is_marked() -> None:
    """MQQB-167."""
    name = DeadLetterHeader.make(PATH)
    good = Trailer.make(SUBQUEUE, ADDRESS, name)
    bad = Trailer.make(SUBQUEUE, ADDRESS, name, dead_letter_is_valid=False)
    none = Trailer.make(SUBQUEUE, ADDRESS, dead_letter_is_valid=False)
    marked = [bool(item.extension.flags & ExtensionFlags.DI) for item in (good, bad, none)]
    assert marked == [False, True, False]


def test_the_word_of_a_subqueue_holds_the_class_from_bit_1() -> None:
    """MQQB-168, AMB-14: class 0xC004 is written 08 80 01 00."""
    assert SUBQUEUE.pack()[4:8] == bytes.fromhex("08800100")
    assert SUBQUEUE.acknowledgement_class == 0xC004
    assert SubqueueBits.split(0x00018009) == {
        "TM": 1,
        "AcknowledgementClass": 0xC004,
        "Reserved": 0,
    }


def test_reserved_bits_do_not_change_the_class() -> None:
    """AMB-14."""
    header = replace(SUBQUEUE, flags=0xFFFE0001 | SUBQUEUE.flags)
    assert header.acknowledgement_class == 0xC004


def test_names_of_subqueues_fill_64_bytes() -> None:
    """MQQB-168, MQQB-169, AMB-14: an empty one stands for none; 31 characters and a null fit."""
    assert (SUBQUEUE.subqueue_name, SUBQUEUE.target_subqueue_name) == ("poison", "retry")
    assert (SubqueueHeader().subqueue_name, SubqueueHeader().target_subqueue_name) == ("", "")
    longest = replace(SUBQUEUE, subqueue_name_utf16=encode_utf16z("n" * 31))
    assert len(longest.pack()) == 148
    assert SubqueueHeader.unpack(longest.pack()).subqueue_name == "n" * 31


def test_the_last_move_is_in_seconds() -> None:
    """AMB-15: 32 bits, right behind the two counters."""
    assert SUBQUEUE.pack()[8:20] == pack("<III", 1, 2, 0x65000000)


def test_fields_are_listed_with_names_as_text() -> None:
    """MQQB-168."""
    reader = TracingReader(FULL)
    Trailer.read(reader)
    found = {field.path: field.value for field in reader.fields}
    assert found["SubqueueHeader.SubqueueName"] == "poison"
    assert found["SubqueueHeader.TargetSubqueueName"] == "retry"
    assert found["DeadLetterHeader.DeadLetterPathName"] == PATH
    assert found["ExtendedAddressHeader.AddressType"] == 6


def test_an_address_says_its_kind_and_scope() -> None:
    """MQQB-171."""
    assert ADDRESS.pack() == pack("<IHHI", 28, 16, 6, 3) + bytes(16)


@pytest.mark.parametrize(
    ("flags", "headers"),
    [
        (0x00, b""),
        (0x02, SUBQUEUE.pack()),
        (0x10, ADDRESS.pack()),
        (0x01, dead_letter(8, b"d\0\0\0")),
        (0xE4, b""),
        (0x00, b"later"),
    ],
)
def test_the_flags_decide_what_is_read(flags: int, headers: bytes) -> None:
    """MQQB-166: unused bits tell nothing; what is left over is kept."""
    found = read(pack("<IIB", 12, len(headers), flags) + b"\xaa\xbb\xcc" + headers)
    assert (found.subqueue is not None) == bool(flags & 2)
    assert (found.dead_letter is not None) == bool(flags & 1)
    assert (found.extended_address is not None) == bool(flags & 16)
    assert found.surplus == (headers if flags == 0 else b"")


def test_a_trailer_ends_where_it_says() -> None:
    """MQQB-165: the next message may follow."""
    reader = Reader(FULL + b"next")
    assert Trailer.read(reader).encode() == FULL
    assert reader.remaining == 4


@pytest.mark.parametrize("padding", [b"\0\0", b"\xaa\xbb", b"", b"\0" * 6])
def test_a_dead_letter_header_comes_back_however_it_is_padded(padding: bytes) -> None:
    """MQQB-170."""
    name = encode_utf16z(PATH)
    data = pack("<I", 4 + len(name) + len(padding)) + name + padding
    header = DeadLetterHeader.read(Reader(data))
    assert header.path_name == PATH
    assert header.encode() == data


@pytest.mark.parametrize(
    ("data", "field", "offset"),
    [
        (dead_letter(5, b"d\0\0\0"), "HeaderSize", 2),
        (dead_letter(7, b"d\0\0\0"), "HeaderSize", 2),
        (dead_letter(9, b"d\0\0\0"), "HeaderSize", 2),
        (dead_letter(0xFFFFFFFF, b"d\0\0\0"), "HeaderSize", 2),
        (dead_letter(8, b"d\0e\0"), "DeadLetterPathName", 6),
        (b"\0\0\0", "HeaderSize", 2),
    ],
)
def test_a_dead_letter_header_that_does_not_fit_is_refused(
    data: bytes, field: str, offset: int
) -> None:
    """MQQB-170."""
    found = refusal(DeadLetterHeader.read, b"--" + data, start=2)
    assert found == (f"DeadLetterHeader.{field}", offset)


@pytest.mark.parametrize(
    ("data", "field", "offset"),
    [
        (PLAIN[:11], "ExtensionHeader.Reserved", 11),
        (patch(PLAIN, 0, b"\x0d"), "ExtensionHeader.HeaderSize", 2),
        (patch(PLAIN, 4, pack("<I", 177)), "ExtensionHeader.RemainingHeadersSize", 6),
        (patch(PLAIN, 4, b"\xff" * 4), "ExtensionHeader.RemainingHeadersSize", 6),
        (patch(PLAIN, 12, b"\x93"), "SubqueueHeader.HeaderSize", 14),
        (patch(PLAIN, 160, b"\x1d"), "ExtendedAddressHeader.HeaderSize", 162),
        (patch(PLAIN, 4, pack("<I", 147)), "SubqueueHeader.TargetSubqueueName", 98),
        (patch(PLAIN, 4, pack("<I", 175)), "ExtendedAddressHeader.Address", 174),
        (patch(PLAIN, 4, pack("<I", 148)), "ExtendedAddressHeader.HeaderSize", 162),
    ],
)
def test_a_trailer_that_does_not_fit_is_refused(data: bytes, field: str, offset: int) -> None:
    """MQQB-165, MQQB-168, MQQB-171."""
    assert refusal(Trailer.read, b"--" + data, start=2) == (field, offset)


def test_a_new_extension_announces_what_is_always_there() -> None:
    """MQQB-166."""
    assert ExtensionHeader().pack() == pack("<IIB3x", 12, 0, 0x12)


def test_a_packet_and_what_is_kept_behind_it_are_reported_apart() -> None:
    """[MS-MQRR] 2.2.5: PacketSize says where the packet ends."""
    packet = MESSAGES["plain"].encode()
    trailer = letter_trailer("shop01\\private$\\dead")
    assert split_stored(packet) == (packet, b"")
    assert split_stored(packet + trailer) == (packet, trailer)
    assert letter_path(packet) == ""
    assert letter_path(packet + trailer) == "shop01\\private$\\dead"
    assert decode_whole(packet + trailer, StoredMessage.read).encode() == packet + trailer


def test_a_trailer_may_name_no_dead_letter_queue() -> None:
    trailer = Trailer.make(SubqueueHeader(), ExtendedAddressHeader()).encode()
    assert letter_path(MESSAGES["plain"].encode() + trailer) == ""
