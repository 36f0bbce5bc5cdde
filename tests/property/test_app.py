"""The application protocol: whatever is said arrives, however it is cut, and nothing else does."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from uuid import UUID

from hypothesis import example, given
from hypothesis import strategies as st
from tests.samples import OTHER, SENT, SOURCE, patch
from tests.strategies.messages import carried_names, messages
from tests.strategies.names import direct_names, guids, u16, u32
from tests.strategies.packets import user_messages

from openmsmq.app_protocol.calls import (
    Call,
    Closing,
    Hello,
    RemoteError,
    Welcome,
    decode_error,
    encode_error,
)
from openmsmq.app_protocol.frames import (
    FRAME_SIZE_FIRST,
    FROM_CLIENT,
    FROM_SERVER,
    Frame,
    Framer,
    Kind,
    encode_frame,
)
from openmsmq.app_protocol.members import Arguments, Members
from openmsmq.app_protocol.payloads import (
    Action,
    Cancel,
    Credit,
    End,
    Fetch,
    Messages,
    Post,
    Posted,
    PostedMessage,
    QueuedMessage,
    ReadRequest,
    Send,
    Sent,
    Subscribe,
)
from openmsmq.engine.messages.stamp import (
    Destination,
    check_for_sending,
    in_transaction,
    stamp,
    with_destination,
    with_headers,
)
from openmsmq.engine.messages.stamper import Stamper
from openmsmq.errors import Malformed, MQError
from openmsmq.names.base import FormatName
from openmsmq.names.format import PublicName
from openmsmq.names.reference import ReferenceCode
from openmsmq.packet.builder import NO_HEADERS
from openmsmq.packet.view import PacketView
from openmsmq.types.message import Message
from openmsmq.types.pack import IN_TRANSACTION, Packer

ELSEWHERE = Destination.of(PublicName(OTHER), manager=OTHER)
PAGE = Path(__file__).parents[2] / "docs" / "app-protocol.md"
u8 = st.integers(0, 0xFF)
u64 = st.integers(0, 0xFFFFFFFFFFFFFFFF)
texts = st.text(st.characters(exclude_categories=()), max_size=20)
"Half surrogate pairs among them."
json_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False), texts).filter(
        lambda value: value not in (float("inf"), float("-inf"))
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(texts, inner, max_size=3)),
    max_leaves=10,
)
json_objects = st.dictionaries(texts, json_values, max_size=4)
arguments = st.dictionaries(texts.filter(lambda name: name != "call"), json_values, max_size=4).map(
    Arguments
)
frames = st.builds(
    Frame, st.sampled_from(sorted(FROM_CLIENT.values())), u32, st.binary(max_size=40)
)
cuts = st.lists(st.integers(0, 400), max_size=8)
some_packets = st.binary(min_size=120, max_size=140)
queued = st.builds(QueuedMessage, u64, u32, u32, u32, u16, some_packets)
PAYLOADS = st.one_of(
    st.builds(Send, u32, u64, st.lists(some_packets, max_size=4).map(tuple)),
    st.builds(Sent, u64, u32),
    st.builds(Post, u32, u64, u64, u64, st.lists(some_packets, max_size=3).map(tuple), st.just(())),
    st.builds(
        lambda packets: Post(1, 2, 3, 4, packets, tuple(map(str, range(len(packets))))),
        st.lists(some_packets, max_size=3).map(tuple),
    ),
    st.builds(
        Posted, st.lists(st.builds(PostedMessage, u64, st.booleans()), max_size=4).map(tuple)
    ),
    st.builds(ReadRequest, u32, u64, u32, u64, u32, u32, st.integers(0, 1), st.integers(0, 8)),
    st.builds(Messages, st.lists(queued, max_size=4).map(tuple)),
    st.builds(End, u32, u64, st.sampled_from(Action), st.lists(u64, max_size=4).map(tuple)),
    st.builds(Subscribe, u32, u32),
    st.builds(Credit, u32, u32),
    st.builds(Cancel, u32),
    st.builds(Fetch, u32, u64, u64),
    st.builds(Hello, texts, st.integers(1, 0xFFFFFFFF), texts),
    st.builds(
        Welcome,
        texts,
        guids(),
        texts,
        st.integers(FRAME_SIZE_FIRST, 0xFFFFFFFF),
        st.integers(1, 0xFFFFFFFF),
        st.integers(1, 0xFFFFFFFF),
        texts,
        st.lists(texts, max_size=3).map(tuple),
        st.integers(1, 0xFFFFFFFF),
    ),
    st.builds(Call, texts, arguments),
    st.builds(Closing, texts, texts),
    st.builds(Members, json_objects),
)
DECODERS = (
    Send, Sent, ReadRequest, Messages, End, Subscribe, Credit, Cancel, Fetch, Hello, Welcome, Call,
    Closing, Members, Post, Posted,
)  # fmt: skip


def taken(chunks: Sequence[bytes]) -> tuple[list[Frame], str]:
    """The frames of a stream, and what ended it."""
    framer = Framer(FROM_CLIENT, limit=1000)
    found: list[Frame] = []
    try:
        for chunk in chunks:
            framer.receive_data(chunk)
            found.extend(iter(framer.next_frame, None))
    except Malformed as error:
        return found, str(error)
    return found, ""


def pieces(data: bytes, places: list[int]) -> list[bytes]:
    ends = sorted(min(place, len(data)) for place in places)
    return [data[a:b] for a, b in zip([0, *ends], [*ends, len(data)], strict=True)]


@given(st.lists(frames, max_size=6), cuts)
def test_any_split_of_a_stream_gives_the_same_frames(sent: list[Frame], places: list[int]) -> None:
    data = b"".join(encode_frame(kind, id, payload) for kind, id, payload in sent)
    assert taken(pieces(data, places)) == (sent, "")


@given(st.lists(frames, min_size=1, max_size=4), cuts, st.integers(0), u8)
def test_a_damaged_stream_ends_the_same_however_it_is_split(
    sent: list[Frame], places: list[int], place: int, value: int
) -> None:
    data = bytearray(b"".join(encode_frame(kind, id, payload) for kind, id, payload in sent))
    data[place % len(data)] = value
    assert taken(pieces(bytes(data), places)) == taken([bytes(data)])


@given(st.binary(max_size=300), cuts)
def test_any_bytes_are_frames_or_malformed(data: bytes, places: list[int]) -> None:
    assert taken(pieces(data, places)) == taken([data])


@given(st.lists(frames, max_size=6), st.lists(st.booleans(), max_size=12), cuts)
def test_frames_may_be_taken_one_by_one_while_more_data_comes(
    sent: list[Frame], order: list[bool], places: list[int]
) -> None:
    data = b"".join(encode_frame(kind, id, payload) for kind, id, payload in sent)
    waiting = pieces(data, places)[::-1]
    framer = Framer(FROM_CLIENT)
    found: list[Frame] = []
    for take in order:
        if take:
            found.extend(islice(iter(framer.next_frame, None), 1))
        elif waiting:
            framer.receive_data(waiting.pop())
    while waiting:
        framer.receive_data(waiting.pop())
    assert [*found, *iter(framer.next_frame, None)] == sent
    assert framer.pending == 0


@given(PAYLOADS)
def test_a_payload_decodes_to_itself(
    value: Send | ReadRequest | Messages | End | Hello | Welcome | Call | Closing | Members,
) -> None:
    assert type(value).decode(value.encode()) == value


@given(st.binary(max_size=400), PAYLOADS, st.integers(0), u8)
@example(b'{"a":' * 40, Closing("x"), 0, 0)
def test_any_bytes_are_a_payload_or_malformed(
    garbage: bytes, value: Send | Closing, place: int, changed: int
) -> None:
    damaged = bytearray(value.encode())
    if damaged:
        damaged[place % len(damaged)] = changed
    for data in (garbage, bytes(damaged), bytes(damaged[: place % (len(damaged) + 1)])):
        for kind in DECODERS:
            with contextlib.suppress(Malformed):
                found = kind.decode(data)
                assert kind.decode(found.encode()) == found
        with contextlib.suppress(Malformed):
            assert isinstance(decode_error(data), MQError)


@given(texts, st.integers(1, 0xFFFFFFFF), texts)
def test_any_error_keeps_code_and_detail(name: str, code: int, detail: str) -> None:
    sent = RemoteError(name, code, detail)
    found = decode_error(encode_error(sent))
    assert (found.hresult, found.detail) == (code, detail)


def packed(message: Message, destination: FormatName, *, transactional: bool = False) -> bytes:
    """`message` as the manager writes it that keeps it."""
    return Packer(SOURCE).pack(
        message, destination, message_id=7, sent_time=SENT, transactional=transactional
    )


@given(messages(), direct_names(), direct_names(), st.booleans())
def test_a_program_that_writes_a_packet_and_a_manager_that_stamps_it_make_the_managers_own(
    message: Message, written_to: FormatName, destination: FormatName, transactional: bool
) -> None:
    """Byte for byte, whatever destination, number, time and source the program wrote."""
    written = Packer(SOURCE).pack(message, written_to, message_id=0, sent_time=0)
    written = patch(written, 16, OTHER.bytes_le)
    check_for_sending(written)
    packet = with_destination(written, Destination.of(destination))
    packet = in_transaction(packet) if transactional else packet
    packet = stamp(packet, source=SOURCE.bytes_le, message_id=7, sent_time=SENT)
    assert packet == packed(message, destination, transactional=transactional)


def leans_on_destination(view: PacketView) -> bool:
    """Whether the name of a queue means one that is private to the destination."""
    codes = (view.flags >> 13 & 7, view.flags >> 16 & 7)
    return ReferenceCode.PRIVATE_ON_DESTINATION in codes


@given(messages(), direct_names(), carried_names(), guids())
def test_any_destination_takes_the_place_of_a_direct_one(
    message: Message, written_to: FormatName, destination: FormatName, manager: UUID
) -> None:
    packet = with_destination(
        packed(message, written_to), Destination.of(destination, manager=manager)
    )
    view = PacketView.parse(packet)
    assert view.destination == destination
    if isinstance(destination, PublicName):
        assert view.queue_manager_address == manager
    before = PacketView(packed(message, written_to))
    if not leans_on_destination(before):
        assert view.admin_queue == before.admin_queue
        assert view.response_queue == before.response_queue
    assert (view.label, view.body) == (before.label, before.body)


@given(st.lists(messages(), max_size=5), direct_names(), st.booleans(), u32, u32)
def test_messages_stamped_together_are_those_that_the_manager_packs(
    batch: list[Message], destination: FormatName, transactional: bool, first: int, reach: int
) -> None:
    written = Packer(SOURCE).pack_many(batch, destination, first_id=0, sent_time=0)
    headers = IN_TRANSACTION if transactional else NO_HEADERS
    made = Stamper(SOURCE, Destination.of(destination), headers=headers, time_to_reach_queue=reach)
    expected = Packer(SOURCE).pack_many(
        batch,
        destination,
        first_id=first,
        sent_time=SENT,
        transactional=transactional,
        time_to_reach_queue=reach,
    )
    found = made.stamp(written, first_id=first, sent_time=SENT)
    assert [packet for run in found for packet in run.packets] == expected


@given(
    st.lists(messages(), min_size=1, max_size=4),
    st.lists(st.integers(0, 3), max_size=20),
    st.booleans(),
)
def test_each_of_many_messages_goes_its_own_way(
    kinds: list[Message], order: list[int], transactional: bool
) -> None:
    """A few messages that come again and again, as they do: equal ones together, and not."""
    batch = [kinds[place % len(kinds)] for place in order]
    written = Packer(SOURCE).pack_many(batch, PublicName(OTHER), first_id=0, sent_time=0)
    headers = IN_TRANSACTION if transactional else NO_HEADERS
    made = Stamper(SOURCE, ELSEWHERE, headers=headers)
    found = made.stamp(written, first_id=1, sent_time=SENT)
    alone = [made.stamp([packet], first_id=1, sent_time=SENT)[0].way for packet in written]
    assert [run.way for run in found for _ in run.packets] == alone


@given(
    st.lists(
        st.one_of(
            user_messages().map(lambda message: message.encode()),
            messages().map(lambda message: packed(message, PublicName(OTHER))),
        ),
        min_size=1,
        max_size=2,
    ),
    st.lists(st.tuples(st.integers(0), u8), max_size=2),
)
def test_the_stamper_takes_exactly_what_the_check_takes(
    batch: list[bytes], changes: list[tuple[int, int]]
) -> None:
    """Packets that peers may send, packets of programs, and damaged ones of both."""
    made = Stamper(SOURCE, ELSEWHERE, headers=IN_TRANSACTION)
    for data in batch:
        damaged = bytearray(data)
        for place, value in changes:
            damaged[place % len(damaged)] = value
        for packet in (data, bytes(damaged)):
            assert stamped(made, packet) == stamped_step_by_step(packet)


def stamped(made: Stamper, packet: bytes) -> tuple[bytes, int, int] | None:
    """What a stamper makes of a packet, apart from the first two bytes, one of them reserved."""
    try:
        ((way, (found,)),) = made.stamp([packet], first_id=7, sent_time=SENT)
    except Malformed:
        return None
    assert way.priority == 0
    return found[2:], way.flags, way.acknowledge


def stamped_step_by_step(packet: bytes) -> tuple[bytes, int, int] | None:
    """The same from the functions that it replaces."""
    try:
        check_for_sending(packet)
    except Malformed:
        return None
    packet = with_headers(with_destination(packet, ELSEWHERE), IN_TRANSACTION)
    packet = stamp(packet, source=SOURCE.bytes_le, message_id=7, sent_time=SENT)
    view = PacketView.parse(packet)
    return packet[2:], view.flags, view.acknowledge


def test_the_session_on_the_page_is_what_the_code_writes() -> None:
    """Every line of the example, byte by byte."""
    page = re.sub(r"\n {8,}", "", PAGE.read_text())
    lines = re.findall(r"^    ([<>]) ([0-9a-f]{8}) (..) ([0-9a-f]{8}) (.*)$", page, re.MULTILINE)
    assert len(lines) == 6
    for side, *header, text in lines:
        payload = text.encode() if text.startswith("{") else bytes.fromhex(text)
        frame = bytes.fromhex("".join(header)) + payload
        framer = Framer(FROM_CLIENT if side == ">" else FROM_SERVER)
        framer.receive_data(frame)
        (found,) = iter(framer.next_frame, None)
        assert framer.pending == 0
        match found.kind:
            case Kind.HELLO:
                assert Hello.decode(payload).encode() == payload
            case Kind.WELCOME:
                assert Welcome.decode(payload).encode() == payload
            case Kind.CALL:
                assert Call.decode(payload).encode() == payload
            case Kind.ANSWER:
                assert Members.decode(payload).integer("handle") == 1
            case Kind.SEND:
                (packet,) = Send.decode(payload).packets
                assert check_for_sending(packet).body == b""
            case _:
                assert Sent.decode(payload) == Sent(0x2A, 1)
