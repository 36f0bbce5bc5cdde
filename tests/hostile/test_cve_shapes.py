"""Packets of the shapes that public advisories about MSMQ describe, each refused as malformed.

Most advisories say no more than that one crafted packet stops the service or runs code; where a
field is public, the test names it. The shapes are those by which a parser of length-prefixed
headers can be led astray: sums and products that wrap at 32 bits, places outside the packet,
headers that do not advance, counts without contents, and packets that end anywhere.
"""

from __future__ import annotations

import contextlib
import tracemalloc
from collections.abc import Callable, Iterator
from struct import pack
from typing import Final

import pytest
from tests.samples import (
    CONNECTOR_TRANSACTION,
    MESSAGES,
    MULTI_QUEUE,
    OTHER,
    SECURITY,
    SESSION,
    SOAP,
    SOURCE,
    STORED,
    TARGET,
    patch,
    properties,
    user_message,
)

from openmsmq import limits
from openmsmq.errors import IllegalFormatName, Malformed
from openmsmq.packet.connection import (
    ConnectionParameters,
    EstablishConnection,
    InternalPacket,
    SessionAck,
)
from openmsmq.packet.describe import describe
from openmsmq.packet.framing import PacketFramer
from openmsmq.packet.headers.connection_parameters import ConnectionParametersHeader
from openmsmq.packet.headers.establish_connection import EstablishConnectionHeader
from openmsmq.packet.headers.trailer import (
    DeadLetterHeader,
    ExtendedAddressHeader,
    SubqueueHeader,
    Trailer,
)
from openmsmq.packet.message import StoredMessage
from openmsmq.packet.packet import decode_packet
from openmsmq.packet.ping import PING_SIGNATURE, PingPacket
from openmsmq.packet.view import PacketView
from openmsmq.wire.reader import decode_whole

pytestmark = pytest.mark.timeout(60)  # a hang is a failure

ALL: Final = MESSAGES["all"].encode()
TRAILER: Final = Trailer.make(
    SubqueueHeader(), ExtendedAddressHeader(), DeadLetterHeader.make(r"host\private$\dead")
).encode()
KEPT: Final = STORED[:0xBC] + TRAILER
"A stored message with every header of its trailer."
INTERNAL: Final[dict[str, InternalPacket]] = {
    "EstablishConnection": EstablishConnection(EstablishConnectionHeader(SOURCE, TARGET, 1)),
    "ConnectionParameters": ConnectionParameters(ConnectionParametersHeader(500, 20_000)),
    "SessionAck": SessionAck(SESSION),
}
PACKETS: Final = {
    **{name: message.encode() for name, message in MESSAGES.items()},
    **{name: packet.encode() for name, packet in INTERNAL.items()},
}
PING: Final = PingPacket(0, PING_SIGNATURE, 7, SOURCE).pack()
MEMORY: Final = 1 << 20
"Bytes that looking at a hostile packet may take, beside some copies of it."
HUGE: Final = (0xFFFF_FFFF, 0xFFFF_FFF0, 0x8000_0000, 0x7FFF_FFFF, 0x4000_0001)


def view(data: bytes) -> None:
    """Every field through the view, which reads by offset."""
    found = PacketView.parse(data)
    for name in dir(PacketView):
        if isinstance(getattr(PacketView, name), property):
            with contextlib.suppress(IllegalFormatName):
                getattr(found, name)
    found.message()


def stored(data: bytes) -> None:
    decode_whole(data, StoredMessage.read)


def framed(data: bytes) -> None:
    """A stream that the packet stands in, in two pieces."""
    framer = PacketFramer()
    for piece in (data[:40], data[40:] + PACKETS["SessionAck"]):
        framer.receive_data(piece)
        for packet in framer.packets():
            decode_packet(packet)


def described(data: bytes) -> None:
    for description in describe(data):
        if description.error is not None:
            raise description.error


READERS: Final[tuple[Callable[[bytes], object], ...]] = (
    decode_packet,
    view,
    stored,
    framed,
    described,
)


@contextlib.contextmanager
def frugal(size: int) -> Iterator[None]:
    """Nothing is allocated by the numbers in a packet, only by its true size."""
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] <= MEMORY + 16 * size
    finally:
        tracemalloc.stop()


def read_all_ways(data: bytes) -> list[str]:
    """The fields at fault, by reader; anything but `Malformed` escapes."""
    faults = []
    with frugal(len(data)):
        for read in READERS:
            try:
                read(data)
            except Malformed as error:
                faults.append(error.field)
    return faults


def assert_refused(data: bytes, field: str) -> None:
    """Every reader of messages refuses the packet, the decoder because of `field`."""
    faults = read_all_ways(data)
    assert len(faults) == len(READERS)
    assert faults[0] == field


def place(data: bytes, path: str) -> int:
    """Where a field stands in a sound packet."""
    [description] = describe(data)
    return next(field.offset for field in description.fields if field.path == path)


def with_u32(data: bytes, path: str, value: int) -> bytes:
    return patch(data, place(data, path), pack("<I", value & 0xFFFF_FFFF))


def test_the_packets_are_sound_before_they_are_changed() -> None:
    for data in PACKETS.values():
        assert decode_packet(data).encode() == data
    assert decode_whole(KEPT, StoredMessage.read).encode() == KEPT


# Lengths in units of two bytes: the product wraps.


@pytest.mark.parametrize("length", [0x8000_0000, 0x8000_0004, 0x7FFF_FFFF, *HUGE, 5, 200_000])
def test_the_length_of_an_srmp_envelope_wraps(length: int) -> None:
    """CVE-2023-21554 (QueueJumper): SRMPEnvelopeHeader.DataLength, doubled, wraps at 32 bits.

    0x80000004 doubled is the true 8 bytes to the one who counts in 32 bits.
    """
    message = MESSAGES["over HTTP"].encode()
    bad = with_u32(message, "SRMPEnvelopeHeader.DataLength", length)
    if length == 5:  # one character too many moves all that follows
        assert len(read_all_ways(bad)) == len(READERS)
    else:
        assert_refused(bad, "SRMPEnvelopeHeader.Data")


@pytest.mark.parametrize("part", ["Header", "Body"])
@pytest.mark.parametrize("length", [*HUGE, 200_000])
def test_the_length_of_a_soap_text_wraps(part: str, length: int) -> None:
    """The same product as in CVE-2023-21554, in the other header that counts characters."""
    message = user_message(soap=SOAP).encode()
    path = f"SoapHeader.{part}DataLength"
    true = int.from_bytes(message[place(message, path) :][:4], "little")
    for value in (length, 0x8000_0000 + true):
        assert_refused(with_u32(message, path, value), f"SoapHeader.{part}")


# Sums that wrap.


@pytest.mark.parametrize(
    ("size", "body_size", "body_offset", "field"),
    [
        (0xFFFF_FFFF, 4, 6, "Data"),
        (0xFFFF_FFF0, 4, 6, "Data"),
        (0x1_0000_0000 - 16, 0, 0, "Data"),
        (10, 0x14, 0xFFFF_FFF0, "MsgBodySize"),
        (10, 0xFFFF_FFFF, 1, "MsgBodySize"),
        (10, 4, 0xFFFF_FFFF, "MsgBodySize"),
        (10, 0, 11, "MsgBodySize"),
        (10, 11, 0, "MsgBodySize"),
    ],
)
def test_the_body_of_a_compound_message_lies_outside(
    size: int, body_size: int, body_offset: int, field: str
) -> None:
    """CVE-2023-21554 concerns the header before it; here offset and size wrap together."""
    message = MESSAGES["over HTTP"].encode()
    start = place(message, "CompoundMessageHeader.HTTPBodySize")
    bad = patch(message, start, pack("<III", size, body_size, body_offset))
    assert_refused(bad, f"CompoundMessageHeader.{field}")


@pytest.mark.parametrize("value", HUGE)
@pytest.mark.parametrize(
    ("field", "fault"),
    [
        ("ExtensionSize", "ExtensionData"),
        ("MessageSize", "AllocationBodySize"),
    ],
)
def test_a_message_property_is_larger_than_the_packet(field: str, fault: str, value: int) -> None:
    header = "MessagePropertiesHeader"
    bad = with_u32(MESSAGES["plain"].encode(), f"{header}.{field}", value)
    assert_refused(bad, f"{header}.{fault}")


@pytest.mark.parametrize("value", HUGE)
def test_a_body_is_larger_than_the_packet_in_both_its_sizes(value: int) -> None:
    message = MESSAGES["plain"].encode()
    start = place(message, "MessagePropertiesHeader.MessageSize")
    assert_refused(
        patch(message, start, pack("<II", value, value)), "MessagePropertiesHeader.MessageBody"
    )


def test_label_extension_and_body_wrap_to_their_true_sum() -> None:
    """Each size alone is absurd; added at 32 bits they fit."""
    message = user_message(header=properties(b"body", "L", b"ext.")).encode()
    sizes = place(message, "MessagePropertiesHeader.MessageSize")
    bad = patch(message, sizes, pack("<II", 0x8000_0004, 0x8000_0004))
    bad = with_u32(bad, "MessagePropertiesHeader.ExtensionSize", 0x8000_0004)
    assert_refused(bad, "MessagePropertiesHeader.ExtensionData")


def test_a_label_is_longer_than_labels_can_be() -> None:
    message = user_message(header=properties(b"x" * 600)).encode()
    start = place(message, "MessagePropertiesHeader.LabelLength")
    assert_refused(patch(message, start, b"\xff"), "MessagePropertiesHeader.LabelLength")
    assert_refused(patch(message, start, b"\xfa"), "MessagePropertiesHeader.Label")


# Headers whose sizes do not agree.


@pytest.mark.parametrize(
    ("field", "value", "fault"),
    [
        ("SenderIdSize", b"\xff\xff", "SecurityData.SecurityID"),
        ("EncryptionKeySize", b"\xff\xff", "SecurityData.EncryptionKey"),
        ("SignatureSize", b"\xff\xff", "SecurityData.Signature"),
        ("SenderCertSize", b"\xff\xff\0\0", "SecurityData.SenderCert"),
        ("SenderCertSize", b"\0\0\x01\0", "SenderCertSize"),
        ("SenderCertSize", b"\xff\xff\xff\xff", "SenderCertSize"),
        ("ProviderInfoSize", b"\xff\xff\xff\xff", "SecurityData.ProviderInfo"),
        ("ProviderInfoSize", b"\xfd\xff\xff\xff", "SecurityData.ProviderInfo"),
        ("ProviderInfoSize", b"\0\0\0\x80", "SecurityData.ProviderInfo"),
    ],
)
def test_the_sizes_of_a_security_header_lie(field: str, value: bytes, fault: str) -> None:
    """0xFFFFFFFD, rounded up to a multiple of 4 in 32 bits, is 0."""
    message = user_message(security=SECURITY).encode()
    bad = patch(message, place(message, f"SecurityHeader.{field}"), value)
    assert_refused(bad, f"SecurityHeader.{fault}")


def test_all_sizes_of_a_security_header_are_the_largest() -> None:
    message = user_message(security=SECURITY).encode()
    start = place(message, "SecurityHeader.SenderIdSize")
    sizes = b"\xff\xff" * 3 + pack("<II", 0xFFFF, 0xFFFF_FFFF)
    assert_refused(patch(message, start, sizes), "SecurityHeader.SecurityData.SecurityID")


def test_a_transaction_header_announces_a_guid_that_is_not_there() -> None:
    message = user_message(transaction=CONNECTOR_TRANSACTION).encode()
    start = place(message, "TransactionHeader.ConnectorQMGuid")
    assert_refused(
        patch(message[: start + 8], 8, pack("<I", start + 8)),
        "TransactionHeader.ConnectorQMGuid",
    )


@pytest.mark.parametrize("bit", range(32))
@pytest.mark.parametrize("name", ["plain", "all"])
def test_flags_announce_headers_that_are_not_there(name: str, bit: int) -> None:
    """CVE-2023-21769, CVE-2023-28302: one packet stops the service; no field is public."""
    data = PACKETS[name]
    for start, size in ((60, 4), (2, 2)):
        if bit < 8 * size:
            flags = int.from_bytes(data[start : start + size], "little") ^ 1 << bit
            read_all_ways(patch(data, start, flags.to_bytes(size, "little")))


# Lists of names.


@pytest.mark.parametrize("part", ["Destination", "Administration", "Response"])
@pytest.mark.parametrize("count", [4097, 0x1000_0000, 0x2AAA_AAAB, *HUGE])
def test_a_list_counts_more_names_than_can_be(part: str, count: int) -> None:
    """A count multiplied by the size of a name wraps; no table is made for it."""
    message = user_message(multi_queue=MULTI_QUEUE).encode()
    path = f"MultiQueueFormatHeader.{part}.ElementCount"
    assert_refused(with_u32(message, path, count), path)


def test_a_list_counts_names_that_are_not_there() -> None:
    message = user_message(multi_queue=MULTI_QUEUE).encode()
    for count in (4, 100, limits.MULTI_QUEUE_ELEMENTS_MAX):
        bad = with_u32(message, "MultiQueueFormatHeader.Destination.ElementCount", count)
        assert len(read_all_ways(bad)) == len(READERS)


@pytest.mark.parametrize("part", ["Destination", "Administration", "Response"])
@pytest.mark.parametrize("size", [0, 1, 11, 13, 100_000, *HUGE])
def test_a_list_does_not_advance_or_ends_outside(part: str, size: int) -> None:
    """A size of 0 must not have the same bytes read for ever."""
    message = user_message(multi_queue=MULTI_QUEUE).encode()
    bad = with_u32(message, f"MultiQueueFormatHeader.{part}.HeaderSize", size)
    assert len(read_all_ways(bad)) == len(READERS)


@pytest.mark.parametrize("size", [4, 0xFFFF_FFF8, *HUGE])
def test_the_signature_of_the_lists_ends_outside(size: int) -> None:
    message = user_message(multi_queue=MULTI_QUEUE).encode()
    bad = with_u32(message, "MultiQueueFormatHeader.Signature.Size", size)
    assert_refused(bad, "MultiQueueFormatHeader.Signature.Signature")


@pytest.mark.parametrize("count", [0, 1, 53, 0xFFFE, 0xFFFF])
def test_a_direct_name_has_a_length_that_cannot_be(count: int) -> None:
    bad = patch(MESSAGES["plain"].encode(), 64, pack("<H", count))
    text = "DirectFormatName" if count == 0xFFFE else "Count"
    assert_refused(bad, f"UserHeader.DestinationQueue.{text}")


# The size of the packet.


@pytest.mark.parametrize("name", PACKETS)
@pytest.mark.parametrize("size", [0, 1, 15, limits.PACKET_SIZE_MAX + 1, *HUGE])
def test_a_packet_says_that_it_is_too_small_or_too_large(name: str, size: int) -> None:
    """One of size 0 would be found again at the same place, for ever."""
    assert_refused(patch(PACKETS[name], 8, pack("<I", size)), "BaseHeader.PacketSize")


@pytest.mark.parametrize("name", INTERNAL)
@pytest.mark.parametrize("change", [-16, -1, 1, 16])
def test_an_internal_packet_has_the_size_of_another(name: str, change: int) -> None:
    """A SessionAck with the size of an EstablishConnection would be read past its end."""
    data = PACKETS[name]
    bad = patch(data, 8, pack("<I", len(data) + change))
    with pytest.raises(Malformed, match="PacketSize"):
        decode_packet(bad + bytes(32))
    read_all_ways(bad)


@pytest.mark.parametrize("kind", range(16))
@pytest.mark.parametrize("name", INTERNAL)
def test_an_internal_packet_claims_to_be_another(name: str, kind: int) -> None:
    data = PACKETS[name]
    if data[18] & 0x0F != kind:
        bad = patch(data, 18, bytes([kind]))
        assert read_all_ways(bad)[0] in ("InternalHeader.Flags", "BaseHeader.PacketSize")


def test_a_packet_ends_before_its_headers_do() -> None:
    """PacketSize bounds every header, whatever bytes follow in the stream."""
    message = MESSAGES["several queues"].encode()
    for size in range(16, len(message), 3):
        assert read_all_ways(patch(message, 8, pack("<I", size)))


def test_a_promise_of_4_mib_takes_no_memory() -> None:
    data = patch(ALL, 8, pack("<I", limits.PACKET_SIZE_MAX))
    with frugal(len(data)):
        framers = [PacketFramer() for _ in range(100)]
        for framer in framers:
            framer.receive_data(data)
            assert list(framer.packets()) == []


def test_a_session_that_was_refused_stays_refused() -> None:
    """CVE-2024-30080: after a crafted packet, what was given up is used again.

    Nothing that follows the packet, nor the packet sent anew, is looked at.
    """
    framer = PacketFramer()
    framer.receive_data(patch(ALL, 8, bytes(4)))
    for _ in range(3):
        with pytest.raises(Malformed):
            list(framer.packets())
        framer.receive_data(ALL)


# Trailers of stored messages.


@pytest.mark.parametrize("value", [0, 11, 13, *HUGE])
@pytest.mark.parametrize(
    ("start", "field"),
    [
        (0, "ExtensionHeader.HeaderSize"),
        (4, "ExtensionHeader.RemainingHeadersSize"),
        (12, "SubqueueHeader.HeaderSize"),
        (160, "DeadLetterHeader.HeaderSize"),
    ],
)
def test_a_trailer_does_not_advance_or_ends_outside(start: int, field: str, value: int) -> None:
    bad = patch(KEPT, 0xBC + start, pack("<I", value))
    with frugal(len(bad)), pytest.raises(Malformed) as caught:
        stored(bad)
    if field == "ExtensionHeader.RemainingHeadersSize" and value < 16:
        field = "SubqueueHeader"  # which does not fit
    assert caught.value.field.startswith(field)


def test_a_dead_letter_queue_has_a_name_without_end() -> None:
    at = 0xBC + 164
    bad = KEPT[:at] + b"x" * (len(KEPT) - at)
    with frugal(len(bad)), pytest.raises(Malformed, match="terminating null"):
        stored(bad)


# Everything, everywhere.


@pytest.mark.parametrize("name", PACKETS)
def test_a_packet_ends_anywhere(name: str) -> None:
    """Every truncation, as it is and with a PacketSize that agrees with it."""
    data = PACKETS[name]
    sound = 0
    with frugal(len(data)):
        for size in range(len(data)):
            with pytest.raises(Malformed):
                decode_packet(data[:size])
            cut = data[:size] if size < 16 else patch(data[:size], 8, pack("<I", size))
            for read in (framed, decode_packet):
                with contextlib.suppress(Malformed):
                    read(cut)
                    sound += read is decode_packet
    assert sound < 32  # bytes that may be surplus


@pytest.mark.parametrize(("data", "read"), [(KEPT, StoredMessage.read), (PING, PingPacket.read)])
def test_what_is_no_packet_of_a_session_ends_anywhere(
    data: bytes, read: Callable[..., object]
) -> None:
    """A message without any of its trailer is whole."""
    for size in set(range(len(data))) - {0xBC}:
        with pytest.raises(Malformed):
            decode_whole(data[:size], read)


@pytest.mark.slow
@pytest.mark.parametrize("value", [0, 0xFFFF_FFFF, 0x8000_0000, 0x0001_0001])
@pytest.mark.parametrize("data", [ALL, KEPT], ids=["message", "stored"])
def test_any_word_is_a_hostile_number(data: bytes, value: int) -> None:
    """CVE-2023-21769, CVE-2023-28302: one packet stops the service; no field is public.

    Every word of a packet with all headers, one after the other.
    """
    with frugal(len(data)):
        for start in range(0, len(data) - 3, 4):
            bad = patch(data, start, pack("<I", value))
            for read in (decode_packet, view, stored):
                with contextlib.suppress(Malformed):
                    read(bad)


# Work that grows faster than the packet.


def largest(part: bytes) -> bytes:
    """A message as large as messages can be, with lists of names that begin with `part`."""
    message = user_message(
        header=properties(b""), multi_queue=MULTI_QUEUE, surplus=bytes(3_000_000)
    ).encode()
    start = place(message, "MultiQueueFormatHeader.Destination.HeaderSize")
    rest = (part * (len(message) // len(part)))[: len(message) - start - 12]
    head = pack("<IHHI", len(rest) + 12, 0x64, 0, limits.MULTI_QUEUE_ELEMENTS_MAX)
    return message[:start] + head + rest


@pytest.mark.parametrize(
    "part",
    [
        b"\x03\0" + b"\x01\0\0\x01" * 700_000,
        b"\x03\0x\0\0\0",
        b"\x03\0\0\0",
        b"\x01\0" + OTHER.bytes_le,
    ],
    ids=["no end", "short names", "empty names", "public names"],
)
def test_the_largest_packet_is_judged_in_a_moment(part: bytes) -> None:
    """The test has a time limit; what is looked at is linear in the packet."""
    data = largest(part)
    for read in (decode_packet, view):
        with contextlib.suppress(Malformed):
            read(data)
