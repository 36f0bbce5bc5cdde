"""The messages of one SEND, stamped in one go."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from struct import pack
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.samples import (
    DIRECT,
    MESSAGES,
    MULTI_QUEUE,
    OTHER,
    PUBLIC,
    SENT,
    SOURCE,
    TARGET,
    patch,
    user_message,
)
from tests.signers import der_of, signer

from openmsmq.client.payloads import signed_destination, signed_list
from openmsmq.engine.messages.stamp import Destination
from openmsmq.engine.messages.stamper import Stamped, Stamper
from openmsmq.errors import FailVerifySignatureEx, Malformed, MessageTooLarge
from openmsmq.limits import PACKET_SIZE_MAX
from openmsmq.names.direct import DirectName
from openmsmq.names.format import parse_format_name
from openmsmq.packet.builder import NO_HEADERS, OptionalHeaders
from openmsmq.packet.columns import split_packets
from openmsmq.packet.headers.base import BaseFlags
from openmsmq.packet.headers.multi_queue import MultiQueueFormatHeader
from openmsmq.packet.headers.trailer import (
    ExtendedAddressHeader,
    SubqueueHeader,
    Trailer,
    letter_trailer,
    split_stored,
)
from openmsmq.packet.signed import find_signature, signed_fields
from openmsmq.packet.view import PacketView
from openmsmq.packet.walk import marked
from openmsmq.properties.message import Acknowledge, SignatureType
from openmsmq.security.x509 import decode_certificate
from openmsmq.types.message import Message
from openmsmq.types.pack import IN_TRANSACTION, Packer

BATCH = [
    Message(b"one", label="first", priority=1),
    Message(b"two", priority=7, recoverable=False),
    Message(b"three", trace=True, priority=2),
    Message(b"four", response_queue=r"DIRECT=OS:host\private$\r", time_to_be_received=9),
    Message(b"five", label="", time_to_reach_queue=5, acknowledge=Acknowledge.POS_RECEIVE),
    Message(b"six", label="last", journal=True, dead_letter=True),
]
PACKETS = Packer(OTHER).pack_many(BATCH, PUBLIC, first_id=0, sent_time=0)
SEVERAL = OptionalHeaders(multi_queue=MULTI_QUEUE)
PLAIN = MESSAGES["plain"].encode()
PROPERTIES = PLAIN.index(b"L\0") - 56


def stamper(headers: OptionalHeaders = NO_HEADERS, source: UUID = SOURCE) -> Stamper:
    return Stamper(source, Destination.of(DIRECT), headers=headers, time_to_reach_queue=77)


@pytest.mark.parametrize("transactional", [False, True])
@pytest.mark.parametrize("headers", [NO_HEADERS, SEVERAL], ids=["one queue", "several"])
def test_packets_become_those_that_the_manager_would_have_written(
    headers: OptionalHeaders, transactional: bool
) -> None:
    expected = Packer(SOURCE).pack_many(
        BATCH,
        DIRECT,
        first_id=0xFFFFFFFE,
        sent_time=SENT,
        transactional=transactional,
        time_to_reach_queue=77,
        headers=headers,
    )
    added = IN_TRANSACTION.transaction if transactional else None
    own = OptionalHeaders(transaction=added, multi_queue=headers.multi_queue)
    made = stamper(own)
    for _ in range(2):
        found = made.stamp(PACKETS, first_id=0xFFFFFFFE, sent_time=SENT)
        assert [packet for run in found for packet in run.packets] == expected


@pytest.mark.parametrize("headers", [NO_HEADERS, IN_TRANSACTION], ids=["plain", "transaction"])
def test_what_decides_about_a_message_is_reported(headers: OptionalHeaders) -> None:
    for way, packets in stamper(headers).stamp(PACKETS, first_id=1, sent_time=SENT):
        for view in map(PacketView.parse, packets):
            assert way == (
                view.priority,
                view.time_to_reach_queue,
                view.time_to_be_received,
                view.flags,
                view.acknowledge,
                "",
                False,
            )


SPECIAL = {shape: message.encode() for shape, message in MESSAGES.items()} | {
    "traced": patch(PLAIN, 3, bytes([BaseFlags.TR >> 8])),
    "of a class": patch(PLAIN, PROPERTIES + 2, b"\xff\x01"),
}


@pytest.mark.parametrize("shape", SPECIAL)
def test_alike_messages_of_any_shape_are_stamped_as_each_alone(shape: str) -> None:
    """Those that are special are looked at one by one, also when many are the same."""
    packet = SPECIAL[shape]
    try:
        alone = [stamper().stamp([packet], first_id=n, sent_time=SENT)[0] for n in range(1, 5)]
    except Malformed:
        with pytest.raises(Malformed):
            stamper().stamp([packet] * 4, first_id=1, sent_time=SENT)
        return
    (together,) = stamper().stamp([packet] * 4, first_id=1, sent_time=SENT)
    assert together.packets == [run.packets[0] for run in alone]


def test_messages_that_follow_each_other_and_go_the_same_way_are_together() -> None:
    urgent = patch(PLAIN, 2, b"\x07")
    packets = [PLAIN, PLAIN, PLAIN, urgent, urgent, PLAIN]
    found = stamper().stamp(packets, first_id=1, sent_time=SENT)
    assert [(run.way.priority, len(run.packets)) for run in found] == [(3, 3), (7, 2), (3, 1)]


def test_a_message_like_earlier_ones_does_not_go_the_way_of_the_last() -> None:
    urgent, calm = PACKETS[1], [PACKETS[0], PACKETS[0]]
    assert len(urgent) != len(calm[0])
    found = stamper().stamp([*calm, urgent, *calm], first_id=1, sent_time=SENT)
    assert [(run.way.priority, len(run.packets)) for run in found] == [(1, 2), (7, 1), (1, 2)]


@pytest.mark.parametrize("headers", [NO_HEADERS, IN_TRANSACTION], ids=["plain", "transaction"])
def test_what_is_stamped_like_others_is_as_if_it_were_stamped_alone(
    headers: OptionalHeaders,
) -> None:
    """All places at which two packets of one size may differ, after packets that are the same."""
    made = stamper(headers)
    for place in range(len(PLAIN)):
        other = patch(PLAIN, place, bytes([PLAIN[place] ^ 1]))
        packets = [PLAIN, PLAIN, PLAIN, other]
        try:
            alone = made.stamp([other], first_id=4, sent_time=SENT)
        except Malformed:
            with pytest.raises(Malformed):
                made.stamp(packets, first_id=1, sent_time=SENT)
            continue
        together = made.stamp(packets, first_id=1, sent_time=SENT)
        assert together[-1].packets[-1] == alone[0].packets[0]
        assert together[-1].way == alone[0].way


def test_nothing_becomes_nothing() -> None:
    assert stamper().stamp([], first_id=1, sent_time=SENT) == []


@pytest.mark.parametrize("place", [0, 1, 2])
@pytest.mark.parametrize("shape", ["transaction", "surplus", "session inside"])
def test_one_packet_that_may_not_be_sent_spoils_all(shape: str, place: int) -> None:
    packets = [PLAIN, PLAIN]
    packets.insert(place, MESSAGES[shape].encode())
    with pytest.raises(Malformed):
        stamper().stamp(packets, first_id=1, sent_time=SENT)


DAMAGE = {
    "version": (0, b"\x11"),
    "priority with an internal packet": (2, b"\x0b"),
    "signature": (4, b"LION"),
    "size": (8, pack("<I", len(PLAIN) + 4)),
    "label too long": (PROPERTIES + 1, b"\xfb"),
    "label without a null": (PROPERTIES + 58, b"xx"),
    "class of no one": (PROPERTIES + 2, b"\x00\x02"),
    "class of a manager": (PROPERTIES + 2, b"\xff\x00"),
    "more body than room": (PROPERTIES + 32, pack("<I", 6)),
    "more room than body": (PROPERTIES + 36, pack("<I", 6)),
    "more room than packet": (PROPERTIES + 36, pack("<I", 0xFFFFFFFF)),
    "privacy": (PROPERTIES + 40, b"\x01"),
    "extension": (PROPERTIES + 52, pack("<I", 100)),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_damage_is_found_also_behind_a_front_that_is_known(damage: str) -> None:
    place, new = DAMAGE[damage]
    made = stamper()
    assert len(made.stamp([PLAIN], first_id=1, sent_time=SENT)) == 1
    with pytest.raises(Malformed):
        made.stamp([patch(PLAIN, place, new)], first_id=1, sent_time=SENT)


@pytest.mark.parametrize("damage", DAMAGE)
def test_damage_is_found_behind_packets_that_are_alike(damage: str) -> None:
    """What two in a row have in common is not looked at again in the third."""
    place, new = DAMAGE[damage]
    with pytest.raises(Malformed):
        stamper().stamp([PLAIN, PLAIN, patch(PLAIN, place, new)], first_id=1, sent_time=SENT)


def test_a_label_without_a_null_is_found_behind_labels_of_any_length() -> None:
    for length in range(1, 60):
        packet = split_packets(of_program([Message(b"body", label="x" * length)] * 6), 6)[0]
        null = packet.index("x".encode("utf-16-le") * length + bytes(2)) + 2 * length
        alike = [packet, packet, patch(packet, null, b"x")]
        with pytest.raises(Malformed):
            at_home().stamp(alike, first_id=1, sent_time=SENT)


def test_a_packet_cut_short_is_found_wherever_it_ends() -> None:
    made = stamper()
    for size in range(len(PLAIN)):
        assert len(made.stamp([PLAIN], first_id=1, sent_time=SENT)) == 1
        with pytest.raises(Malformed):
            made.stamp([PLAIN[:size]], first_id=1, sent_time=SENT)


def test_a_known_front_is_no_excuse_for_other_flags() -> None:
    """The names stay, one bit before them changes."""
    made = stamper()
    made.stamp([PLAIN], first_id=1, sent_time=SENT)
    with pytest.raises(Malformed):
        made.stamp([user_message(flags=0x80).encode()], first_id=1, sent_time=SENT)


def test_a_class_of_an_application_is_kept() -> None:
    packet = patch(PLAIN, PROPERTIES + 2, b"\xff\x01")
    found = stamper().stamp([PLAIN, packet], first_id=1, sent_time=SENT)
    (run,) = found
    assert [PacketView.parse(packet).message_class for packet in run.packets] == [0, 0x1FF]


def test_what_a_reserved_byte_holds_does_not_matter() -> None:
    packet = patch(PLAIN, 1, b"\xaa")
    found = stamper().stamp([packet], first_id=1, sent_time=SENT)
    assert PacketView.parse(found[0].packets[0]).body == b"hello"


def test_a_packet_that_grows_too_large_is_refused() -> None:
    largest = Message(bytes(PACKET_SIZE_MAX - len(PACKETS[1]) - 60))
    packets = Packer(SOURCE).pack_many([largest], DIRECT, first_id=0, sent_time=0)
    added = PACKET_SIZE_MAX - len(packets[0])
    fitting = Message(bytes(len(largest.body) + added))
    packets = Packer(SOURCE).pack_many([fitting], DIRECT, first_id=0, sent_time=0)
    (run,) = stamper().stamp(packets, first_id=1, sent_time=SENT)
    assert len(run.packets[0]) == PACKET_SIZE_MAX
    with pytest.raises(MessageTooLarge):
        stamper(IN_TRANSACTION).stamp(packets, first_id=1, sent_time=SENT)


def test_a_public_destination_names_its_manager() -> None:
    made = Stamper(SOURCE, Destination.of(PUBLIC, manager=TARGET))
    view = PacketView.parse(made.stamp([PLAIN], first_id=3, sent_time=SENT)[0].packets[0])
    assert (view.destination, view.queue_manager_address) == (PUBLIC, TARGET)
    assert (view.source_queue_manager, view.message_id, view.sent_time) == (SOURCE, 3, SENT)


def test_a_dead_letter_queue_of_its_own_stays_behind_the_packet() -> None:
    """[MS-MQRR] 2.2.5.4: and the manager is given which it is."""
    trailer = letter_trailer(".\\private$\\dead")
    packets = [PLAIN, PLAIN + trailer, PLAIN + trailer, PLAIN]
    plain = stamper(IN_TRANSACTION).stamp([PLAIN] * 4, first_id=1, sent_time=SENT)
    found = stamper(IN_TRANSACTION).stamp(packets, first_id=1, sent_time=SENT)
    assert [run.way.letters for run in found] == ["", ".\\private$\\dead", ""]
    expected = [packet for run in plain for packet in run.packets]
    kept = [packet for run in found for packet in run.packets]
    assert [split_stored(packet)[0] for packet in kept] == expected
    assert [split_stored(packet)[1] for packet in kept] == [b"", trailer, trailer, b""]


@pytest.mark.parametrize(
    "trailer", [b"abcd", Trailer.make(SubqueueHeader(), ExtendedAddressHeader()).encode()]
)
def test_nothing_else_may_follow_a_packet(trailer: bytes) -> None:
    with pytest.raises(Malformed):
        stamper(NO_HEADERS).stamp([PLAIN + trailer], first_id=1, sent_time=SENT)


# In one piece

RUN = [Message(bytes([n]) * 20, label="same", app_specific=n) for n in range(6)]
UNEVEN = [Message(bytes([n]) * n, label="x" * (n % 3), app_specific=n) for n in range(6)]
HERE = DirectName.from_wire("OS:here\\private$\\orders")
THERE = DirectName.from_wire("OS:.\\private$\\orders")


def of_program(messages: list[Message], source: UUID = SOURCE) -> bytes:
    """The packets of a program that knows its manager, one after the other."""
    run = Packer(source, computer="here").pack_run(messages, THERE)
    assert run is not None
    return run.packets


def at_home() -> Stamper:
    return Stamper(SOURCE, Destination.of(HERE))


def in_transaction() -> Stamper:
    return stamper(IN_TRANSACTION)


def one_by_one(packets: bytes, count: int, first_id: int = 7) -> list[Stamped]:
    return at_home().stamp(split_packets(packets, count), first_id=first_id, sent_time=SENT)


@pytest.mark.parametrize("messages", [RUN, UNEVEN], ids=["equal", "uneven"])
def test_packets_in_one_piece_become_the_same_as_one_by_one(messages: list[Message]) -> None:
    packets = of_program(messages)
    found = at_home().stamp_run(packets, len(messages), first_id=7, sent_time=SENT)
    (expected,) = one_by_one(packets, len(messages))
    assert found is not None
    assert found.way == expected.way
    assert found.packets == b"".join(expected.packets)
    assert found.sizes == list(map(len, expected.packets))


@pytest.mark.parametrize("messages", [RUN, UNEVEN], ids=["equal", "uneven"])
@pytest.mark.parametrize("transactional", [False, True])
def test_so_do_packets_that_get_another_destination_or_a_transaction(
    messages: list[Message], transactional: bool
) -> None:
    packets, headers = of_program(messages), IN_TRANSACTION if transactional else NO_HEADERS
    mark = 0x1230 if transactional else 0
    found = stamper(headers).stamp_run(packets, 6, first_id=7, sent_time=SENT, mark=mark)
    one_by_one = stamper(headers).stamp(split_packets(packets, 6), first_id=7, sent_time=SENT)
    expected = [marked(packet, mark) if mark else packet for packet in one_by_one[0].packets]
    assert found is not None
    assert found.way == one_by_one[0].way
    assert found.packets == b"".join(expected)
    assert found.sizes == list(map(len, expected))


@pytest.mark.parametrize("place", range(1, 6))
def test_a_label_in_a_run_ends_with_a_null(place: int) -> None:
    """Packets of which one does not are looked at one by one, which says what is wrong."""
    packets = of_program(RUN)
    size = len(packets) // len(RUN)
    null = packets.index("same\0".encode("utf-16-le")) + 8
    damaged = patch(packets, place * size + null, b"x")
    assert at_home().stamp_run(damaged, len(RUN), first_id=7, sent_time=SENT) is None
    with pytest.raises(Malformed):
        one_by_one(damaged, len(RUN))


def test_packets_that_their_headers_make_too_large_are_stamped_one_by_one() -> None:
    size = PACKET_SIZE_MAX - len(of_program(RUN[:1] * 6)) // 6 + 20
    packets = of_program([*RUN[:5], Message(bytes(size), label="same")])
    assert at_home().stamp_run(packets, 6, first_id=7, sent_time=SENT) is not None
    assert stamper(IN_TRANSACTION).stamp_run(packets, 6, first_id=7, sent_time=SENT) is None


def test_packets_of_a_program_that_does_not_know_its_manager_are_stamped_together() -> None:
    packets = of_program(RUN, OTHER)
    found = at_home().stamp_run(packets, len(RUN), first_id=7, sent_time=SENT)
    assert found is not None
    assert found.packets == b"".join(one_by_one(packets, len(RUN))[0].packets)
    packets = of_program(UNEVEN, OTHER)
    found = at_home().stamp_run(packets, len(UNEVEN), first_id=7, sent_time=SENT)
    assert found is not None
    assert found.packets == b"".join(one_by_one(packets, len(UNEVEN))[0].packets)


def test_identifiers_go_on_behind_32_bits_and_never_begin_anew_in_a_run() -> None:
    packets = of_program(RUN)
    first = (1 << 32) + 5
    found = at_home().stamp_run(packets, len(RUN), first_id=first, sent_time=SENT)
    assert found is not None
    assert found.packets == b"".join(one_by_one(packets, len(RUN), 5)[0].packets)
    assert at_home().stamp_run(packets, len(RUN), first_id=first - 8, sent_time=SENT) is None


@pytest.mark.parametrize(
    "special",
    [
        {"priority": 5},
        {"recoverable": False},
        {"journal": True},
        {"trace": True},
        {"time_to_be_received": 9},
        {"time_to_reach_queue": 9},
        {"acknowledge": Acknowledge.POS_RECEIVE},
        {"response_queue": r"DIRECT=OS:host\private$\r"},
        {"encrypt": True},
    ],
    ids=lambda special: next(iter(special)),
)
@pytest.mark.parametrize("place", [1, 5])
def test_messages_that_go_another_way_are_stamped_one_by_one(
    special: dict[str, Any], place: int
) -> None:
    messages = [Message(b"x" * 20, **(special if n == place else {})) for n in range(6)]
    packer = Packer(SOURCE, computer="here")
    packets = b"".join(packer.pack_many(messages, THERE, first_id=0, sent_time=0))
    assert at_home().stamp_run(packets, 6, first_id=7, sent_time=SENT) is None


def test_signed_packets_are_stamped_one_by_one() -> None:
    signed = [Message(b"x" * 20, signer=signer()) for _ in range(5)]
    packer = Packer(SOURCE, computer="here")
    packets = b"".join(packer.pack_many(signed, THERE, first_id=0, sent_time=0))
    assert at_home().stamp_run(packets, 5, first_id=7, sent_time=SENT) is None
    assert packer.pack_run(signed, THERE) is None


def test_each_signature_is_looked_at_also_behind_others_that_are_alike() -> None:
    good = signed_for(BOTH)
    bad = good.replace(b"for both", b"for none")
    made = stamper(OptionalHeaders(multi_queue=TO_BOTH))
    assert len(made.stamp([good] * 3, first_id=1, sent_time=SENT)[0].packets) == 3
    with pytest.raises(FailVerifySignatureEx):
        made.stamp([good, good, bad], first_id=1, sent_time=SENT)


def signed_for(names: str, **properties: Any) -> bytes:
    """What a program elsewhere sends to several queues, which it knows by these names."""
    message = Message(b"for both", signer=signer(), **properties)
    several = signed_list(names)
    packer = Packer(SOURCE, computer="here")
    [packet] = packer.pack_many(
        [message], signed_destination(names), first_id=0, sent_time=0, signed_list=several
    )
    return packet


BOTH = "DIRECT=OS:one\\private$\\q,DIRECT=OS:other\\private$\\quite a long name"
TO_BOTH = MultiQueueFormatHeader.to(parse_format_name(BOTH).elements)  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    "headers",
    [OptionalHeaders(multi_queue=TO_BOTH), replace(IN_TRANSACTION, multi_queue=TO_BOTH)],
    ids=["plain", "in a transaction"],
)
def test_a_signature_for_several_queues_goes_behind_their_list(headers: OptionalHeaders) -> None:
    "MSEC-018, MQQB-314, DMPR-073: the manager writes the list that the program has signed."
    packet = signed_for(BOTH, priority=0, label="order")
    [found] = stamper(headers).stamp([packet], first_id=7, sent_time=SENT)
    [whole] = found.packets
    message = PacketView.parse(whole).message()
    assert message.encode() == whole
    assert message.security is not None
    assert message.multi_queue is not None
    assert (message.security.signature, message.security.sender_cert) == (b"", der_of())
    assert len(message.multi_queue.signature.signature) == 256
    key = decode_certificate(der_of()).key
    assert key is not None
    assert find_signature(signed_fields(message), key, b"for both") is SignatureType.MSMQ_3_0


@pytest.mark.parametrize(
    "packet",
    [
        lambda: signed_for(BOTH.replace("other", "another")),
        lambda: signed_for(BOTH, priority=1)[:2] + b"\0" + signed_for(BOTH, priority=1)[3:],
        lambda: signed_for(BOTH).replace(b"for both", b"for none"),
        lambda: signed_for(BOTH).replace(pack("<I", 0x800E), pack("<I", 0x1234)),
        lambda: signed_for("DIRECT=OS:one\\private$\\q"),
    ],
    ids=["another list", "another priority", "another body", "an unknown hash", "one queue"],
)
def test_a_message_signed_for_other_queues_is_refused(packet: Callable[[], bytes]) -> None:
    "MSEC-018: the receivers would find a wrong signature."
    with pytest.raises(FailVerifySignatureEx, match="list of queues"):
        stamper(OptionalHeaders(multi_queue=TO_BOTH)).stamp([packet()], first_id=7, sent_time=SENT)


def test_several_destinations_and_other_numbers_of_packets_are_left_to_others() -> None:
    packets = of_program(RUN)
    assert stamper(SEVERAL).stamp_run(packets, len(RUN), first_id=7, sent_time=SENT) is None
    for count in (0, 5, 7, 1 << 31):
        assert at_home().stamp_run(packets, count, first_id=7, sent_time=SENT) is None
    assert at_home().stamp_run(b"", 6, first_id=7, sent_time=SENT) is None


@given(st.data())
def test_no_byte_can_be_changed_so_that_the_piece_is_taken_for_something_else(
    data: st.DataObject,
) -> None:
    """Either the result is that of one by one, or the piece is left to it, which then refuses."""
    packets = bytearray(of_program(data.draw(st.sampled_from((RUN, UNEVEN)))))
    front = len(packets) // 6 if data.draw(st.booleans()) else len(packets)
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, front - 1))
        packets[place] = data.draw(st.sampled_from((0, 1, 0x40, 0xFF, packets[place] ^ 1)))
    whole = bytes(packets)
    make = data.draw(st.sampled_from((at_home, stamper, in_transaction)))
    try:
        found = make().stamp_run(whole, 6, first_id=7, sent_time=SENT)
    except Malformed:
        found = None
    if found is not None:
        (expected,) = make().stamp(split_packets(whole, 6), first_id=7, sent_time=SENT)
        assert (found.way, found.packets) == (expected.way, b"".join(expected.packets))
        assert found.sizes == list(map(len, expected.packets))
