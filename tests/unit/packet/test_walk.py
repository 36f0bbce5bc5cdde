"""Where the parts of a message begin."""

from __future__ import annotations

from dataclasses import replace
from struct import pack
from uuid import UUID

import pytest
from tests.samples import (
    MESSAGES,
    OTHER,
    SECURITY,
    SESSION,
    direct,
    patch,
    properties,
    user_message,
)
from tests.unit.engine.station import parcel

from openmsmq.errors.peer import Malformed
from openmsmq.names.reference import QueueReference, ReferenceCode
from openmsmq.packet.builder import OptionalHeaders
from openmsmq.packet.connection import SessionAck
from openmsmq.packet.headers.properties import MessagePropertiesHeader
from openmsmq.packet.headers.security import SecurityHeader
from openmsmq.packet.headers.transaction import TransactionFlags, TransactionHeader, TxSequenceID
from openmsmq.packet.message import UserMessage
from openmsmq.packet.packet import decode_packet, read_packet
from openmsmq.packet.view import PacketView
from openmsmq.packet.walk import (
    FLAGS,
    PlainRun,
    ProtectedLayout,
    after_names,
    after_security,
    after_transaction,
    check_delivery,
    is_plain,
    marked,
    numbered,
    one_hop_more,
    properties_offset,
    round_up,
    u32,
)
from openmsmq.wire.trace import TracingReader

NOT_PLAIN = {
    "debug",
    "over HTTP",
    "soap",
    "several queues",
    "surplus",
    "session",
    "session inside",
    "all",
}
PLAIN = MESSAGES["plain"].encode()
REFERENCES = [QueueReference(ReferenceCode(code), OTHER, 12) for code in range(7)]
FRONT = ("TransactionHeader", "SecurityHeader", "MessagePropertiesHeader")


def starts(message: UserMessage) -> dict[str, int]:
    """Where the full decoder finds the headers."""
    reader = TracingReader(message.encode())
    read_packet(reader)
    found: dict[str, int] = {}
    for field in reader.fields:
        found.setdefault(field.path.partition(".")[0], field.offset)
    return found


def with_flags(data: bytes, *, clear: int = 0, add: int = 0) -> bytes:
    flags = int.from_bytes(data[60:64], "little") & ~clear | add
    return patch(data, 60, pack("<I", flags))


@pytest.mark.parametrize(("size", "rounded"), [(0, 0), (1, 4), (3, 4), (4, 4), (5, 8)])
def test_sizes_are_rounded_up_to_four(size: int, rounded: int) -> None:
    """MQQB-009."""
    assert round_up(size) == rounded


@pytest.mark.parametrize("shape", MESSAGES)
def test_the_front_headers_are_found(shape: str) -> None:
    """MQQB-009, MQQB-051, MQQB-052, MQQB-058, MQQB-078, MQQB-092."""
    message = MESSAGES[shape]
    data, flags, found = message.encode(), message.user.flags, starts(message)
    names_end = after_names(data, flags)
    transaction_end = after_transaction(data, flags, names_end)
    security_end = after_security(data, flags, transaction_end)
    assert names_end == next(found[header] for header in FRONT if header in found)
    assert transaction_end == next(found[header] for header in FRONT[1:] if header in found)
    assert security_end == properties_offset(data) == found["MessagePropertiesHeader"]


@pytest.mark.parametrize("text", ["OS:a", "OS:ab", "OS:abc", r"TCP:192.0.2.1\q"])
def test_direct_names_end_on_a_boundary_of_4(text: str) -> None:
    """MQQB-055: also where a direct destination is all there is."""
    message = user_message(destination=direct(text))
    assert properties_offset(message.encode()) == starts(message)["MessagePropertiesHeader"]


@pytest.mark.parametrize("destination", [0, 3, 5, 7])
@pytest.mark.parametrize("admin", [0, 2, 3, 5, 6, 7])
@pytest.mark.parametrize("response", range(8))
def test_names_of_all_kinds_are_stepped_over(destination: int, admin: int, response: int) -> None:
    """MQQB-049 to MQQB-052, MQQB-055 to MQQB-057."""
    names = [
        direct("OS:ab") if code == 7 else REFERENCES[code]
        for code in (destination, admin, response)
    ]
    message = user_message(destination=names[0], admin=names[1], response=names[2])
    data = message.encode()
    assert properties_offset(data) == starts(message)["MessagePropertiesHeader"]
    assert is_plain(data)


@pytest.mark.parametrize(
    "message",
    [
        user_message(destination=direct("")),
        user_message(header=properties(label="x" * 249)),
        user_message(header=replace(properties(), correlation_id=b"\xff" * 20)),
    ],
)
def test_values_at_their_bounds_are_plain(message: UserMessage) -> None:
    """MQQB-055, MQQB-063, MQQB-066."""
    assert is_plain(message.encode())


@pytest.mark.parametrize("shape", MESSAGES)
def test_messages_without_rare_headers_are_plain(shape: str) -> None:
    assert is_plain(MESSAGES[shape].encode()) == (shape not in NOT_PLAIN)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        PLAIN[:63],
        PLAIN[:-1],
        PLAIN + b"\0",
        patch(PLAIN, 0, b"\x11"),
        patch(PLAIN, 4, b"LIAR"),
        patch(PLAIN, 8, pack("<I", len(PLAIN) - 1)),
        patch(PLAIN, 2, pack("<H", 0x08)),
        patch(PLAIN, 2, pack("<H", 0x10)),
        patch(PLAIN, 2, pack("<H", 0x20)),
        with_flags(PLAIN, clear=0x00200000),
        with_flags(PLAIN, add=0x00800000),
        with_flags(PLAIN, add=0x02000000),
        with_flags(PLAIN, add=0x10000000),
        with_flags(PLAIN, clear=0x1C00, add=0x0400),
        with_flags(PLAIN, add=0x2000),
        with_flags(PLAIN, add=0x00080000),
        with_flags(PLAIN, add=0x00100000),
        patch(PLAIN, 64, pack("<H", 0)),
        patch(PLAIN, 64, pack("<H", 53)),
        patch(PLAIN, 64, pack("<H", 52)),
        patch(PLAIN, 64, pack("<H", 0xFFFE)),
        SessionAck(SESSION).encode(),
    ],
)
def test_what_is_not_surely_sound_is_looked_at_closer(data: bytes) -> None:
    """MQQB-010: each check of the quick test, one by one."""
    assert not is_plain(data)


def test_a_packet_over_the_limit_is_not_plain() -> None:
    """MQQB-008."""
    largest = user_message(header=properties(bytes(0x400000 - 176), ""))
    assert largest.base.packet_size == 0x400000
    assert is_plain(largest.encode())
    over = user_message(header=properties(bytes(0x400000), ""))
    assert not is_plain(over.encode())


@pytest.mark.parametrize(
    "header",
    [
        replace(properties(b"hello"), message_size=6),
        replace(properties(), extension_size=1000),
        replace(properties(), label_utf16=b"L\0L\0"),
        replace(properties(), allocation_body_size=100),
        replace(
            properties(bytes(504), ""), label_length=251, message_size=0, allocation_body_size=0
        ),
    ],
)
def test_properties_that_do_not_fit_are_not_plain(header: MessagePropertiesHeader) -> None:
    """MQQB-063, MQQB-064, MQQB-068, MQQB-069: one check each, PacketSize being right."""
    assert not is_plain(user_message(header=header).encode())


def test_a_certificate_over_the_limit_is_not_plain() -> None:
    """MQQB-093."""
    largest = replace(SECURITY, sender_cert_size=0xFFFF, sender_cert=bytes(0xFFFF))
    over = replace(SECURITY, sender_cert_size=0x10000, sender_cert=bytes(0x10000))
    assert is_plain(user_message(security=largest).encode())
    assert not is_plain(user_message(security=over).encode())


@pytest.mark.parametrize("shape", sorted(MESSAGES.keys() - NOT_PLAIN))
@pytest.mark.parametrize("value", [0x00, 0x01, 0x7F, 0xFF])
def test_what_is_called_plain_can_be_decoded(shape: str, value: int) -> None:
    """MQQB-010: no byte can be changed so that only the quick test accepts the message."""
    data = MESSAGES[shape].encode()
    accepted = 0
    for offset in range(len(data)):
        changed = patch(data, offset, bytes([value]))
        if is_plain(changed):
            assert decode_packet(changed).encode() == changed
            accepted += 1
    assert 0 < accepted < len(data)


@pytest.mark.parametrize("shape", sorted(MESSAGES.keys() - NOT_PLAIN))
def test_a_plain_message_cut_short_is_not_plain(shape: str) -> None:
    """MQQB-010: not even when PacketSize agrees with the cut."""
    data = MESSAGES[shape].encode()
    for size in range(64, len(data)):
        assert not is_plain(patch(data[:size], 8, pack("<I", size)))


def test_messages_in_a_row_are_judged_as_each_would_be() -> None:
    """MQQB-010: whatever came before."""
    run = PlainRun()
    shapes = [MESSAGES[shape].encode() for shape in sorted(MESSAGES)]
    for first in shapes:
        for second in shapes:
            assert [run.fits(first), run.fits(second)] == [is_plain(first), is_plain(second)]


@pytest.mark.parametrize("shape", sorted(MESSAGES.keys() - NOT_PLAIN))
@pytest.mark.parametrize("value", [0x00, 0x01, 0x7F, 0xFF])
def test_no_byte_makes_a_difference_to_that(shape: str, value: int) -> None:
    """MQQB-010: apart from those a framer has read."""
    data = MESSAGES[shape].encode()
    for offset in (2, 3, *range(12, len(data))):
        run = PlainRun()
        assert run.fits(data)
        changed = patch(data, offset, bytes([value]))
        assert run.fits(changed) == is_plain(changed)


@pytest.mark.parametrize(
    ("mode", "number", "field"),
    [(2, 1, "UserHeader.Flags"), (0, 1, "UserHeader.Flags"), (1, 0, "TransactionHeader")],
)
def test_a_transactional_message_has_a_mode_and_a_number(
    mode: int, number: int, field: str
) -> None:
    """MQQB-047, MQQB-081."""
    header = TransactionHeader(0, TxSequenceID(1, 1), number, 0)
    data = user_message(flags=mode << 5, transaction=header).encode()
    with pytest.raises(Malformed) as caught:
        check_delivery(data, u32(data, FLAGS)[0])
    assert caught.value.field.startswith(field)


@pytest.mark.parametrize("shape", ["simple", "recoverable"])
def test_other_messages_have_a_mode_only(shape: str) -> None:
    """MQQB-047."""
    data = user_message(flags=(shape == "recoverable") << 5).encode()
    check_delivery(data, u32(data, FLAGS)[0])
    flags = u32(data, FLAGS)[0] | 0x40
    with pytest.raises(Malformed, match="DM is"):
        check_delivery(data, flags)


def test_a_place_in_a_sequence_and_marks_are_written_into_a_packet() -> None:
    place = TransactionHeader(0, TxSequenceID(1, 2), 1, 0)
    packet = user_message(transaction=place).encode()
    found = decode_packet(marked(numbered([packet], 7, 8, [9], [6])[0], 0x10))
    assert isinstance(found, UserMessage)
    assert found.transaction == replace(
        place,
        flags=0x10,
        tx_sequence_id=TxSequenceID(7, 8),
        tx_sequence_number=9,
        previous_tx_sequence_number=6,
    )


def test_messages_of_a_sequence_get_their_places_together() -> None:
    """Whether their names are as long as those before or not."""
    place = TransactionHeader(0, TxSequenceID(1, 2), 1, 0)
    packets = [
        user_message(transaction=place, destination=direct(name)).encode()
        for name in ("OS:a", "OS:a", "OS:somewhere", "OS:a", "OS:b")
    ]
    found = numbered(packets, 7, 8, [1, 2, 5, 6, 9], [0, 1, 2, 5, 6])
    for packet, data, number, before in zip(
        packets, found, [1, 2, 5, 6, 9], [0, 1, 2, 5, 6], strict=True
    ):
        other, same = decode_packet(packet), decode_packet(data)
        assert isinstance(other, UserMessage)
        assert isinstance(same, UserMessage)
        expected = TransactionHeader(0, TxSequenceID(7, 8), number, before)
        assert same == replace(other, transaction=expected)


def test_a_transactional_packet_with_a_number_may_travel() -> None:
    packet = user_message(
        flags=1 << 5, transaction=TransactionHeader(0, TxSequenceID(1, 2), 1, 0)
    ).encode()
    check_delivery(packet, u32(packet, FLAGS)[0])


def test_a_packet_that_is_cut_is_not_like_the_one_before() -> None:
    run = PlainRun()
    assert run.fits(PLAIN)
    assert not run.fits(PLAIN[: properties_offset(PLAIN) + 2])
    assert run.fits(PLAIN)


def test_a_router_counts_a_hop() -> None:
    found = decode_packet(one_hop_more(PLAIN))
    assert isinstance(found, UserMessage)
    assert found.user.flags == MESSAGES["plain"].user.flags + 1


# Messages with a SecurityHeader

SIGNED = {"security_id": b"sender", "signature": b"one", "sender_cert": b"a certificate"}


def protected(
    body: str = "body", flags: int = 0x41, place: bool = False, **changed: bytes
) -> bytes:
    header = SecurityHeader.make(flags, **{**SIGNED, **changed})
    return parcel(
        body, place=(1, 1, 0) if place else None, headers=OptionalHeaders(security=header)
    )


@pytest.mark.parametrize("place", [False, True], ids=["plain", "transactional"])
def test_the_parts_are_where_a_reader_finds_them(place: bool) -> None:
    "[MS-MQMQ] 2.2.20.6"
    packet = protected(place=place, encryption_key=b"a key")
    layout, view = ProtectedLayout(packet), PacketView.parse(packet)
    security = view.message().security
    assert security is not None
    assert layout.security == view.security_offset
    assert layout.properties == properties_offset(packet)
    assert packet[layout.key] == security.encryption_key == b"a key"
    assert packet[layout.signature] == security.signature == b"one"
    assert layout.header == security
    start, size, taken, *_ = layout.values(packet)
    assert packet[start : start + size] == view.body
    assert (start, size) == (view.body_offset, taken)


@pytest.mark.parametrize("place", [False, True], ids=["plain", "transactional"])
def test_what_differs_in_signature_key_and_body_fits(place: bool) -> None:
    layout = ProtectedLayout(protected(place=place, encryption_key=b"1234"))
    assert layout.fits(
        protected("other body", place=place, encryption_key=b"5678", signature=b"two")
    )


@pytest.mark.parametrize(
    "other",
    [
        protected(flags=0xC1),
        protected(security_id=b"no one"),
        protected(signature=b"four"),
        protected(sender_cert=b"a_certificate"),
        protected(provider_info=b"provider"),
        protected(encryption_key=b"key"),
        protected(place=True),
        parcel("body"),
        parcel("body", to="DIRECT=OS:here\\other"),
        protected()[:60],
    ],
)
def test_nothing_else_does(other: bytes) -> None:
    layout = ProtectedLayout(protected())
    assert layout.fits(protected())
    assert not layout.fits(other)


def test_another_source_does_not_fit() -> None:
    header = SecurityHeader.make(0x41, **SIGNED)
    other = parcel("body", source=UUID(int=5), headers=OptionalHeaders(security=header))
    assert not ProtectedLayout(protected()).fits(other)


def test_a_message_of_a_connector_fits_none() -> None:
    "Its TransactionHeader is longer ([MS-MQMQ] 2.2.20.5)."
    plain = protected(place=True)
    at = after_names(plain, u32(plain, 60)[0])
    longer = bytearray(plain[: at + 20] + bytes(16) + plain[at + 20 :])
    longer[at] |= TransactionFlags.CG
    longer[8:12] = len(longer).to_bytes(4, "little")
    packet = bytes(longer)
    PacketView.parse(packet)
    assert ProtectedLayout(packet).header == ProtectedLayout(plain).header
    assert not ProtectedLayout(packet).fits(packet)
    assert not ProtectedLayout(plain).fits(packet)
