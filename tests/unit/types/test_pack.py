"""Messages written as packets of a queue manager."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.samples import DIRECT, ON_TARGET, OTHER, PUBLIC, SENT, SOURCE, TARGET
from tests.signers import ALICE, VALID, der_of, signer
from tests.unit.engine.office import Manager
from tests.unit.types.test_message import OTHERS

from openmsmq.engine.arrivals.examination import BAD_SIGNATURE, Examiner, Keyring
from openmsmq.errors import IllegalFormatName, MessageTooLarge
from openmsmq.limits import BUILDERS_MAX, PACKET_SIZE_MAX
from openmsmq.names.base import FormatName
from openmsmq.names.direct import DirectName
from openmsmq.names.format import parse_format_name
from openmsmq.packet.builder import OptionalHeaders
from openmsmq.packet.columns import numbered_packets
from openmsmq.packet.headers.debug import DebugHeader
from openmsmq.packet.headers.transaction import TransactionHeader
from openmsmq.packet.signed import find_signature, signed_fields
from openmsmq.packet.view import PacketView
from openmsmq.properties.message import Acknowledge, MessageClass, PrivacyLevel, SignatureType
from openmsmq.security.x509 import decode_certificate
from openmsmq.types.message import Message
from openmsmq.types.pack import COUNT_MIN, Packer, are_plain, are_usual
from openmsmq.types.received import ReceivedMessage

PACKER = Packer(SOURCE)


def pack(message: Message, destination: FormatName = DIRECT, **arguments: Any) -> PacketView:
    """The packet of a message, which passed the check for bytes from outside."""
    packet = PACKER.pack(message, destination, message_id=9, sent_time=SENT, **arguments)
    return PacketView.parse(packet)


def test_every_attribute_has_its_field() -> None:
    """MQQB-044, DMPR-353."""
    message = Message(
        b"body",
        body_type=17,
        label="label",
        priority=5,
        recoverable=False,
        journal=True,
        acknowledge=Acknowledge.POS_RECEIVE,
        admin_queue=PUBLIC,
        response_queue=ON_TARGET,
        correlation_id=b"c",
        app_specific=7,
        extension=b"extension",
        time_to_be_received=60,
        time_to_reach_queue=30,
    )
    view = pack(message)
    assert (view.body, view.body_type, view.label, view.priority) == (b"body", 17, "label", 5)
    assert (view.recoverable, view.journal, view.dead_letter) == (False, True, False)
    assert (view.acknowledge, view.message_class) == (2, 0)
    assert (view.admin_queue, view.response_queue) == (PUBLIC, ON_TARGET)
    assert view.correlation_id == b"c" + bytes(19)
    assert (view.app_specific, view.extension) == (7, b"extension")
    assert (view.time_to_be_received, view.time_to_reach_queue) == (60, 30)
    assert (view.source_queue_manager, view.message_id, view.sent_time) == (SOURCE, 9, SENT)
    assert not view.trace
    assert not view.transactional


def test_what_is_not_said_has_its_default_in_the_packet() -> None:
    """DMPR-056, DMPR-063, DMPR-076, DMPR-092: no report queue and no connector is a null GUID."""
    view = pack(Message())
    assert view.message_class == MessageClass.NORMAL
    assert not view.trace
    assert view.message().debug is None
    assert view.correlation_id == UUID(int=0).bytes_le + b"\0\0\0\0"
    assert view.user.connector_type is None


def test_a_traced_message_names_no_report_queue() -> None:
    """DMPR-063, DMPR-369."""
    view = pack(Message(trace=True))
    assert view.trace
    assert view.message().debug == DebugHeader(0, 0, None)


def test_a_body_goes_as_it_is_unless_privacy_is_asked_for() -> None:
    """DMPR-057."""
    body = bytes(range(256))
    view = pack(Message(body))
    assert body in view.data
    assert view.message().properties.privacy_level == PrivacyLevel.NONE
    assert view.security is None


@pytest.mark.parametrize(
    "name",
    [
        parse_format_name(rf"DIRECT=OS:a\q,PUBLIC={OTHER}"),
        parse_format_name(f"DL={OTHER}"),
    ],
    ids=["several", "list"],
)
def test_a_message_goes_to_one_queue(name: FormatName) -> None:
    """DMPR-072."""
    with pytest.raises(IllegalFormatName):
        pack(Message(), name)


def test_for_ever_and_no_correlation_have_their_values() -> None:
    view = pack(Message(dead_letter=True, trace=True))
    assert view.time_to_be_received == view.time_to_reach_queue == 0xFFFFFFFF
    assert view.correlation_id == bytes(20)
    assert (view.dead_letter, view.journal, view.trace) == (True, False, True)


@pytest.mark.parametrize(
    ("destination", "given", "expected"),
    [
        (DIRECT, TARGET, UUID(int=0)),
        (ON_TARGET, OTHER, TARGET),
        (PUBLIC, TARGET, TARGET),
    ],
)
def test_the_header_says_which_queue_manager_has_the_queue(
    destination: FormatName, given: UUID, expected: UUID
) -> None:
    """MQQB-043: zero for a direct name."""
    view = pack(Message(), destination, destination_manager=given)
    assert view.queue_manager_address == expected
    assert view.destination == destination


def test_a_transactional_message_has_room_for_its_sequence() -> None:
    """DMPR-354, DMPR-364: it is recoverable and has priority 0."""
    view = pack(Message(priority=7, recoverable=False), transactional=True)
    assert view.transaction == TransactionHeader()
    assert (view.priority, view.recoverable) == (0, True)


def test_ids_count_up_and_wrap() -> None:
    packets = PACKER.pack_many([Message()] * 3, DIRECT, first_id=0xFFFFFFFF, sent_time=SENT)
    assert [PacketView(packet).message_id for packet in packets] == [0xFFFFFFFF, 0, 1]


def test_messages_of_a_batch_may_have_different_queues_for_replies() -> None:
    messages = [
        Message(response_queue="a"),
        Message(response_queue="a", admin_queue="b"),
        Message(),
        Message(admin_queue="a"),
        Message(admin_queue="a"),
    ]
    packets = PACKER.pack_many(iter(messages), DIRECT, first_id=1, sent_time=SENT)
    found = [ReceivedMessage(packet) for packet in packets]
    assert [m.to_message() for m in found] == messages


def test_an_empty_batch_needs_a_good_destination_all_the_same() -> None:
    assert PACKER.pack_many([], DIRECT, first_id=1, sent_time=SENT) == []
    with pytest.raises(IllegalFormatName):
        PACKER.pack_many([], parse_format_name(f"DL={OTHER}"), first_id=1, sent_time=SENT)


def test_the_spelling_of_names_is_kept() -> None:
    for text in (r"DIRECT=OS:Host\q", r"DIRECT=OS:HOST\q"):
        name = parse_format_name(text)
        view = pack(Message(response_queue=name), name)
        assert str(view.destination) == str(view.response_queue) == text


def test_this_computer_is_named_for_others() -> None:
    packer = Packer(SOURCE, computer="Server1")
    here = parse_format_name(r"DIRECT=OS:.\private$\orders")
    message = Message(response_queue="answers", admin_queue=r"other\q")
    found = ReceivedMessage(packer.pack(message, here, message_id=1, sent_time=SENT))
    assert str(found.destination_queue) == r"DIRECT=OS:Server1\private$\orders"
    assert str(found.response_queue) == r"DIRECT=OS:Server1\private$\answers"
    assert str(found.admin_queue) == r"DIRECT=OS:other\q"


def test_a_received_message_is_forwarded_as_a_message_of_an_application() -> None:
    message = Message(b"x", label="a", response_queue=PUBLIC)
    first = ReceivedMessage(pack(message).data)
    again = ReceivedMessage(Packer(OTHER).pack(first, ON_TARGET, message_id=1, sent_time=SENT))
    assert again.to_message() == message
    assert again.source_manager == OTHER
    assert again.message_class == 0


def test_a_message_too_large_for_a_packet_is_refused() -> None:
    """MQQB-008."""
    with pytest.raises(MessageTooLarge):
        pack(Message(bytes(0x400000)))


def test_encoded_names_are_kept_within_a_bound() -> None:
    packer = Packer(SOURCE)
    for number in range(BUILDERS_MAX + 10):
        message = Message(response_queue=rf"host\q{number}")
        packer.pack(message, DIRECT, message_id=1, sent_time=SENT)
    assert packer._builder.cache_info().currsize == BUILDERS_MAX


def test_a_message_is_signed_or_not() -> None:
    "MSEC-010, MSEC-021, DMPR-059, DMPR-355"
    assert pack(Message(b"body")).security is None
    view = pack(Message(b"body", signer=signer(), priority=5))
    security = view.security
    assert security is not None
    assert security.sender_cert == signer().certificate
    key = decode_certificate(security.sender_cert).key
    assert key is not None
    assert find_signature(signed_fields(view.message()), key, b"body") is SignatureType.MSMQ_2_0


def test_a_message_asks_for_encryption() -> None:
    "MSEC-090: it is encrypted when it leaves, and clear until then."
    for message in (
        Message(b"body", encrypt=True),
        Message(b"body", encrypt=True, signer=signer()),
    ):
        view = pack(message)
        assert (view.privacy_level, view.is_encrypted, view.body) == (5, False, b"body")


# Many in one piece

QUEUE = DirectName.from_wire("OS:.\\private$\\orders")
HERE = Packer(SOURCE, computer="here")
labels = st.text(st.characters(min_codepoint=1), max_size=4)
plain_messages = st.builds(
    Message,
    st.binary(max_size=9),
    label=labels,
    correlation_id=st.sampled_from((b"", bytes(range(20)))),
    app_specific=st.integers(0, 0xFFFFFFFF),
    extension=st.binary(max_size=5),
    body_type=st.integers(0, 0xFFFFFFFF),
)


groups = st.lists(plain_messages, min_size=COUNT_MIN, max_size=8)


@given(groups | plain_messages.map(lambda message: [message] * 5))
def test_they_are_the_packets_that_would_be_written_one_by_one(messages: list[Message]) -> None:
    run = HERE.pack_run(messages, QUEUE)
    assert run is not None
    expected = HERE.pack_many(messages, QUEUE, first_id=7, sent_time=99)
    assert run.sizes == list(map(len, expected))
    numbered = numbered_packets(run.packets, run.sizes, first_id=7, sent_time=99)
    assert numbered == b"".join(expected)


@pytest.mark.parametrize("size", [1, 4, 1000])
def test_bodies_of_one_size_are_joined(size: int) -> None:
    messages = [Message(bytes([n]) * size, label="order", priority=6) for n in range(9)]
    run = HERE.pack_run(messages, QUEUE)
    assert run is not None
    assert (run.priority, len(set(run.sizes))) == (6, 1)
    expected = HERE.pack_many(messages, QUEUE, first_id=1, sent_time=2)
    assert numbered_packets(run.packets, run.sizes, first_id=1, sent_time=2) == b"".join(expected)


def test_queues_for_replies_are_named() -> None:
    names = {"response_queue": r".\private$\r", "admin_queue": r"DIRECT=OS:far\private$\a"}
    messages = [Message(b"x", **names) for _ in range(4)]  # type: ignore[arg-type]
    run = HERE.pack_run(messages, QUEUE)
    assert run is not None
    expected = HERE.pack_many(messages, QUEUE, first_id=1, sent_time=2)
    assert numbered_packets(run.packets, run.sizes, first_id=1, sent_time=2) == b"".join(expected)


@pytest.mark.parametrize(
    "special",
    [
        {"recoverable": False},
        {"journal": True},
        {"dead_letter": True},
        {"dead_letter_queue": r".\private$\d"},
        {"acknowledge": Acknowledge.POS_RECEIVE},
        {"time_to_be_received": 5},
        {"time_to_reach_queue": 5},
        {"trace": True},
        {"encrypt": True},
        {"priority": 7},
        {"response_queue": r".\private$\r"},
        {"admin_queue": r".\private$\r"},
    ],
    ids=lambda special: next(iter(special)),
)
def test_a_message_that_is_not_like_the_others_is_not_packed_with_them(
    special: dict[str, Any],
) -> None:
    messages = [Message(b"x")] * 5
    assert are_plain(messages)
    assert not are_plain([*messages, Message(b"x", **special)])
    assert not are_plain([Message(b"x", **special), *messages])


@given(st.lists(st.builds(Message, st.binary(max_size=3), label=labels), min_size=4, max_size=8))
def test_messages_with_nothing_but_body_and_label_are_packed_the_same(
    messages: list[Message],
) -> None:
    assert are_usual(messages)
    others = [replace(message) for message in messages]
    assert not are_usual(others)
    assert HERE.pack_run(messages, QUEUE) == HERE.pack_run(others, QUEUE)


@pytest.mark.parametrize("name", [name for name in OTHERS if name not in ("body", "label")])
def test_whatever_else_is_set_is_looked_at(name: str) -> None:
    given: dict[str, Any] = {name: OTHERS[name]}
    assert not are_usual([*[Message(b"x")] * 4, Message(b"x", **given)])


def test_few_messages_and_received_ones_go_one_by_one() -> None:
    packet = HERE.pack(Message(b"x"), QUEUE, message_id=1, sent_time=1)
    assert are_usual([Message(b"x")] * COUNT_MIN)
    assert not are_usual([Message(b"x")] * (COUNT_MIN - 1))
    assert not are_usual([*[Message(b"x")] * 4, ReceivedMessage(packet)])
    assert not are_usual([*[Message(b"x")] * 4, Message("text")])
    assert not are_plain([Message(b"x")] * (COUNT_MIN - 1))
    assert not are_plain([*[Message(b"x")] * 4, ReceivedMessage(packet)])
    assert not are_plain([])


def test_what_does_not_fit_is_for_others_to_refuse() -> None:
    large = Message(bytes(PACKET_SIZE_MAX))
    assert HERE.pack_run([large] * 4, QUEUE) is None
    assert HERE.pack_run([*[Message(b"x")] * 4, large], QUEUE) is None


def test_what_is_not_plain_makes_no_run() -> None:
    messages = [Message("x")] * COUNT_MIN
    assert PACKER.pack_run(messages, DIRECT) is not None
    assert PACKER.pack_run([*messages, Message("x", dead_letter=True)], DIRECT) is None


def test_a_transaction_leaves_other_headers_as_they_are() -> None:
    [packet] = PACKER.pack_many(
        [Message("x")],
        DIRECT,
        first_id=9,
        sent_time=SENT,
        transactional=True,
        headers=OptionalHeaders(debug=DebugHeader()),
    )
    found = PacketView.parse(packet).message()
    assert found.transaction is not None
    assert found.debug is not None


def test_the_dead_letter_queue_is_named_behind_the_packet() -> None:
    message = Message("x", dead_letter_queue="late")
    packed = Packer(SOURCE, computer="here").pack(message, DIRECT, message_id=9, sent_time=SENT)
    assert ReceivedMessage(packed, lookup_id=1).dead_letter_queue == parse_format_name(
        r"DIRECT=OS:here\private$\late"
    )


@pytest.mark.parametrize("extra", range(4))
def test_all_copies_of_a_message_carry_one_signature_behind_their_list(extra: int) -> None:
    """MSEC-018, MSEC-019, MQQB-314, DMPR-073: a receiver verifies it; the other place is empty."""
    manager, body = Manager(), b"for both"
    several = manager.open("DIRECT=OS:one\\private$\\q,DIRECT=OS:other\\private$\\a long name")
    manager.send(several, Message(body + b"x" * extra, label="order", signer=signer()))
    examiner = Examiner()
    examiner.keyring = Keyring({ALICE: (der_of(),)})
    signatures = set()
    for member in several.members:
        packet = manager.peek(member)[0].packet
        message = PacketView.parse(packet).message()
        assert message.encode() == packet
        assert message.security is not None
        assert message.multi_queue is not None
        assert (message.security.signature, message.security.sender_cert) == (b"", der_of())
        signatures.add(message.multi_queue.signature.signature)
        found = examiner.examine(packet, VALID)
        assert (found.fault, found.kind, found.sender) == (None, SignatureType.MSMQ_3_0, ALICE)
        changed = packet.replace(body, body.upper())
        assert changed != packet
        assert examiner.examine(changed, VALID).fault is BAD_SIGNATURE
    assert [len(signature) for signature in signatures] == [256]
