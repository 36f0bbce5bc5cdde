"""One program's connection: the greeting, requests and their credit, sending, and the end."""

from __future__ import annotations

import asyncio
import json
import random
from typing import Any

import pytest
from tests.unit.app_server.programs import (
    FOREVER,
    House,
    bodies,
    connection_of,
    frame,
    lookups,
    packet,
    refused,
    served,
    until,
)

from openmsmq.app_protocol import payloads as app
from openmsmq.app_protocol.frames import FRAME_SIZE_FIRST, Kind
from openmsmq.app_protocol.limits import FRAME_SIZE_MAX
from openmsmq.app_protocol.slices import SendRun
from openmsmq.app_server import context as module
from openmsmq.app_server.session import READ_AHEAD, AppSession
from openmsmq.client.payloads import signed_destination
from openmsmq.engine.storage.tables import Table
from openmsmq.errors import (
    AccessDenied,
    IllegalPropertyValue,
    InvalidHandle,
    InvalidParameter,
    MessageTooLarge,
    OperationCancelled,
    QueueNotAvailable,
    ReceiveTimeout,
    StorageFull,
    TransactionSequence,
    TransactionUsage,
)
from openmsmq.net.connection import WRITE_BUFFER
from openmsmq.packet.view import PacketView
from openmsmq.types.message import Message
from openmsmq.types.pack import Packer
from openmsmq.types.received import ReceivedMessage


def session_of(house: House) -> AppSession:
    """The other side of the only program."""
    [found] = house.server.sessions
    return found


def greeting(**members: Any) -> bytes:
    """The payload of a HELLO."""
    return json.dumps({"protocol": 1, "client": "test", **members}).encode()


# The greeting


@served(requests_max=7, request_bytes_max=123456)
async def test_the_welcome_says_what_a_program_needs_to_know(house: House) -> None:
    program = await house.connect()
    welcome = await program.hello()
    assert welcome.pop("server").startswith("openmsmq ")
    assert welcome == {
        "protocol": 1,
        "manager": str(house.local.identity),
        "name": "HOST",
        "max_frame": FRAME_SIZE_MAX,
        "requests": 7,
        "bytes": 123456,
        "role": "admin",
        "capabilities": [
            *("subscribe", "two-phase", "epochs", "pages", "reserve", "units", "post"),
            *("owners", "runs", "reader-runs", "redirect", "peek-back", "reject", "send-runs"),
            "operate",
        ],
    }


@served()
async def test_the_version_is_the_highest_that_both_know(house: House) -> None:
    program = await house.connect()
    found = await program.ask(Kind.HELLO, greeting(protocol=99, whatever=[1]))
    assert found.members["protocol"] == 1


@pytest.mark.parametrize(
    ("payload", "why"),
    [
        (b"", "JSON"),
        (b"[]", "not an object"),
        (b'{"protocol":1}', "client at offset 0: is missing"),
        (greeting(protocol=0), "is not from 1"),
        (greeting(protocol="1"), "is not a whole number"),
        (greeting(token=1), "is not a text"),
        (b"[" * 1000, "deeper"),
        (b"\xff\xfe", "UTF-8"),
    ],
    ids=["nothing", "a list", "no client", "0", "text", "no text", "deep", "no UTF-8"],
)
@served()
async def test_a_greeting_that_cannot_be_read_ends_it(
    house: House, payload: bytes, why: str
) -> None:
    program = await house.connect()
    program.tell(Kind.HELLO, payload)
    reason = await program.closing()
    assert reason.startswith("malformed: ")
    assert why in reason
    assert house.metrics.rejected == {"malformed frame": 1}


@pytest.mark.parametrize("kind", [Kind.CALL, Kind.SEND, Kind.PING, Kind.CREDIT, Kind.PONG])
@served()
async def test_a_connection_begins_with_a_greeting(house: House, kind: Kind) -> None:
    program = await house.connect()
    program.tell(kind, b'{"call":"queues"}')
    assert await program.closing() == "a connection begins with HELLO"
    assert house.metrics.rejected == {"no hello": 1}


@served()
async def test_a_second_greeting_has_no_place(house: House) -> None:
    program = await house.program()
    program.tell(Kind.HELLO, greeting())
    assert "HELLO with the id 2 has no place here" in await program.closing()


@served()
async def test_requests_may_come_with_the_greeting(house: House) -> None:
    """They are done in the name of who greets."""
    first = await house.program()
    handle = await first.create()
    program = await house.connect()
    program.tell(Kind.HELLO, greeting(client="quick"))
    program.begin("open_queue", name="orders")  # the first handle of a connection is 1
    sent = program.begin_send(handle, packet("a"))
    welcome, opened = await program.next(), await program.next()
    assert (welcome.kind, opened.members["handle"]) == (Kind.WELCOME, 1)
    found = app.Sent.decode((await program.answer(sent)).payload)
    message_id = f"{house.local.identity}\\{found.first_id}"
    [event] = (await first.call("explain", message_id=message_id))["events"]
    assert event["by"] == "quick at a local socket"


@pytest.mark.parametrize(
    ("client", "shown"),
    [
        ("billing 2.1 (münchen)", "billing 2.1 (münchen)"),
        ("half \ud800 pair", "half ? pair"),
        ("two\nlines\x1f", "two?lines?"),
        ("x" * 1000, "x" * 60),
        ("", ""),
    ],
    ids=["plain", "surrogate", "controls", "long", "empty"],
)
@served()
async def test_the_history_names_who_did_it(house: House, client: str, shown: str) -> None:
    """Whatever a program calls itself, it is written down, and harms unanswered."""
    program = await house.program(client=client)
    handle = await program.create()
    sent = await program.send(handle, "a", "b")
    await program.end(handle, *lookups(await program.read(handle)))
    message_id = f"{house.local.identity}\\{sent.first_id}"
    events = (await program.call("explain", message_id=message_id))["events"]
    assert [event["by"] for event in events] == [f"{shown} at a local socket"] * 2


# Frames


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"GET / HTTP/1.1\r\n\r\n", "0x2f is not one to be sent here"),
        (b"\0" * 20, "0x00 is not one"),
        (frame(Kind.ANSWER, 5, b"{}"), "0x82 is not one"),
        (b"\x04\0\0\0\x02\1\0\0\0", "is 4, outside"),
        ((FRAME_SIZE_MAX + 1).to_bytes(4, "little") + b"\x03\1\0\0\0", "is 8388609, outside"),
        (frame(Kind.CALL, 0, b'{"call":"queues"}'), "CALL with the id 0"),
        (frame(Kind.CALL, 5, b'{"call":3}'), "is not a text"),
        (frame(Kind.CALL, 5, b"{}"), "call at offset 0: is missing"),
        (frame(Kind.CALL, 5, b"NaN"), "NaN"),
        (frame(Kind.READ, 5, bytes(33)), "Seek"),
        (frame(Kind.READ, 5, app.ReadRequest(1, mode=2).encode()), "Mode"),
        (frame(Kind.READ, 5, app.ReadRequest(1, seek=9).encode()), "Seek"),
        (frame(Kind.END, 5, app.End(1, 0, 2, ()).encode()), "action"),
        (frame(Kind.END, 5, bytes(13) + b"\xff\xff\xff\xff"), "lookups"),
        (frame(Kind.SEND, 5, bytes(12) + b"\xff\xff\xff\xff"), "do not fit"),
        (frame(Kind.SUBSCRIBE, 5, bytes(9)), "end"),
        (frame(Kind.CREDIT, 0, bytes(3)), "Subscription"),
        (frame(Kind.CANCEL, 5, b""), "Request"),
    ],
    ids=[
        "HTTP",
        "zeros",
        "what only servers send",
        "too small",
        "too large",
        "no id",
        "a call that is no text",
        "no call",
        "not a number",
        "a short READ",
        "no such mode",
        "no such seek",
        "no such action",
        "too many lookups",
        "too many packets",
        "a long SUBSCRIBE",
        "a short CREDIT",
        "a short CANCEL",
    ],
)
@served()
async def test_a_frame_that_breaks_the_rules_ends_the_connection(
    house: House, data: bytes, why: str
) -> None:
    """And no other connection."""
    other = await house.program()
    program = await house.program()
    program.writer.write(data)
    reason = await program.closing()
    assert reason.startswith("malformed: ")
    assert why in reason, reason
    assert house.metrics.rejected == {"malformed frame": 1}
    await other.ping()


def scrambled(dice: random.Random) -> bytes:
    """A request with some bytes changed, or cut short."""
    calls = [
        {"call": "open_queue", "name": "orders"},
        {"call": "move", "handle": 1, "lookup_id": 1, "target": "x"},
        {"call": "begin", "xid": "x"},
        {"call": "commit", "transaction": 1},
        {"call": "close_queue", "handle": 1},
    ]
    kind, payload = dice.choice(
        [
            (Kind.READ, app.ReadRequest(1, timeout=dice.choice((0, 5, FOREVER))).encode()),
            (Kind.READ, app.ReadRequest(1, mode=0, seek=dice.randrange(7), timeout=0).encode()),
            (Kind.END, app.End(1, 0, dice.randrange(2), (1, 2)).encode()),
            (Kind.SEND, app.Send(1, 0, (packet("a"), packet("b"))).encode()),
            (Kind.SEND_RUN, SendRun(1, 0, 5, packet("a") * 5).encode()),
            (Kind.POST, app.Post(1, 0, 0, 5, (packet("a"),), ("x",)).encode()),
            (Kind.SUBSCRIBE, app.Subscribe(1, 5).encode()),
            (Kind.CREDIT, app.Credit(dice.randrange(9), 5).encode()),
            (Kind.CANCEL, app.Cancel(dice.randrange(9)).encode()),
            (Kind.CALL, json.dumps(dice.choice(calls)).encode()),
        ]
    )
    found = bytearray(payload)
    for _ in range(dice.choice((0, 0, 1, 3))):
        found[dice.randrange(len(found))] = dice.randrange(256)
    cut = dice.choice((0, 0, 0, dice.randrange(len(found))))
    return frame(kind, dice.randrange(50), bytes(found[: len(found) - cut]))


@pytest.mark.parametrize("seed", range(4))
@served()
async def test_whatever_a_program_sends_the_service_goes_on(house: House, seed: int) -> None:
    """And nothing is left of it."""
    dice = random.Random(seed)
    steady = await house.program()
    await steady.create()
    for _ in range(25):
        program = await house.program()
        await program.open("orders")
        program.writer.write(b"".join(scrambled(dice) for _ in range(8)))
        await program.writer.drain()
        program.writer.write_eof()
        await program.closing()
    await until(lambda: house.server.clients == 1)
    await steady.send(1, "still there")
    assert (await steady.peek(1))[-1] == "still there"


@served()
async def test_what_came_before_it_is_answered_first(house: House) -> None:
    program = await house.program()
    number = program.begin("queues")
    program.writer.write(b"garbage!!")
    program.begin("queues")
    assert (await program.next()).id == number
    assert "malformed" in await program.closing()


@served()
async def test_an_id_is_not_used_again_while_it_is_unanswered(house: House) -> None:
    program = await house.program()
    handle = await program.create()
    number = program.begin_read(handle)
    program.tell(Kind.CALL, b'{"call":"queues"}', number=number)
    assert f"CALL with the id {number} has no place" in await program.closing()


@served()
async def test_before_the_welcome_frames_are_small(house: House) -> None:
    program = await house.connect()
    program.tell(Kind.HELLO, greeting(whatever="x" * FRAME_SIZE_FIRST))
    assert f"outside 5 to {FRAME_SIZE_FIRST}" in await program.closing()
    program = await house.program()
    await refused(program.call("queues", whatever="x" * FRAME_SIZE_FIRST), InvalidParameter)


@served()
async def test_a_frame_may_come_in_pieces(house: House) -> None:
    program = await house.connect()
    data = frame(Kind.HELLO, 1, greeting()) + frame(Kind.PING, 2, b"x")
    for at in range(len(data)):
        program.writer.write(data[at : at + 1])
        await program.writer.drain()
        await asyncio.sleep(0)
    assert [(await program.next()).kind for _ in range(2)] == [Kind.WELCOME, Kind.PONG]


@served()
async def test_half_a_frame_holds_up_no_one(house: House) -> None:
    """Its sender may be silent for as long as it likes, then go on or be cut off."""
    slow, other = await house.program(), await house.program()
    data = frame(Kind.CALL, 9, b'{"call":"queues"}')
    slow.writer.write(data[:12])
    for _ in range(3):
        await other.ping()
    assert house.server.clients == 2
    slow.writer.write(data[12:])
    assert (await slow.next()).members == {"queues": []}
    slow.writer.write(data[:12])
    slow.cut()
    await until(lambda: house.server.clients == 1)
    assert house.metrics.rejected == {}


@served()
async def test_pings_are_answered_and_pongs_are_not(house: House) -> None:
    program = await house.program()
    program.tell(Kind.PONG, b"?", number=0)
    program.tell(Kind.PING, b"\0\xff", number=0)
    assert await program.next() == (Kind.PONG, 0, b"\0\xff")


@served()
async def test_requests_are_counted_by_kind(house: House) -> None:
    program = await house.program()
    handle = await program.create()
    await program.send(handle, "a")
    await program.end(handle, *lookups(await program.read(handle)))
    await program.ping()
    counts = {"hello": 1, "call": 2, "send": 1, "read": 1, "end": 1, "ping": 1}
    assert house.metrics.requests == counts


# Sending


@served()
async def test_messages_get_ids_that_count_up(house: House) -> None:
    program = await house.program()
    handle = await program.create()
    first = await program.send(handle, "a")
    more = await program.send(handle, "b", "c", recoverable=False)
    assert (first.count, more.count, more.first_id) == (1, 2, first.first_id + 1)
    found = await program.read(handle, count=9, mode=app.PEEK)
    received = [ReceivedMessage(m.packet, lookup_id=m.lookup_id) for m in found]
    assert [m.id for m in received] == [
        f"{house.local.identity}\\{first.first_id + at}" for at in range(3)
    ]
    assert bodies(found) == ["a", "b", "c"]


@served()
async def test_messages_may_come_in_one_piece(house: House) -> None:
    program = await house.program()
    handle = await program.create()
    first = await program.send(handle, "a")
    packer = Packer(house.local.identity, computer="HOST")
    group = [Message(f"{n}".encode()) for n in range(5)]
    run = packer.pack_run(group, signed_destination(".\\private$\\orders"))
    assert run is not None
    number = program.tell(Kind.SEND_RUN, SendRun(handle, 0, 5, run.packets).encode())
    answer = await program.answer(number)
    assert app.Sent.decode(answer.payload) == app.Sent(first.first_id + 1, 5)
    found = await program.read(handle, count=9, mode=app.PEEK)
    assert bodies(found) == ["a", "0", "1", "2", "3", "4"]
    assert len(house.store.committed.tables[Table.RUNS]) == 1
    number = program.tell(Kind.SEND_RUN, SendRun(handle, 0, 4, packet("x") * 4).encode())
    assert (await program.answer(number)).kind is Kind.SENT, "with any destination"
    program.tell(Kind.SEND_RUN, SendRun(handle, 0, 4, packet("x") * 5).encode())
    assert (await program.closing()).startswith("malformed: ")


@served()
async def test_to_send_nothing_is_done_at_once(house: House) -> None:
    program = await house.program()
    handle = await program.create()
    assert (await program.send(handle)).count == 0
    assert await program.call("queue_info", handle=handle)


@served()
async def test_messages_are_posted_once_and_later(house: House) -> None:
    program = await house.program()
    handle = await program.create()

    async def post(*texts: str, after: int = 0, dedup_ids: tuple[str, ...] = ()) -> list[bool]:
        packets = tuple(map(packet, texts))
        payload = app.Post(handle, 0, 0, after, packets, dedup_ids).encode()
        answer = await program.answer(program.tell(Kind.POST, payload))
        return [one.duplicate for one in app.Posted.decode(answer.payload).messages]

    assert await post("a", "b", dedup_ids=("1", "2")) == [False, False]
    assert await post("b", "c", dedup_ids=("2", "3")) == [True, False]
    assert await post("d", after=3_600_000) == [False]
    assert await program.peek(handle) == ["a", "b", "c"]
    info = (await program.call("queue_info", handle=handle))["queue"]
    assert (info["messages"], info["delayed"]) == (3, 1)
    await refused(post("e", after=1 << 50), IllegalPropertyValue)
    await refused(post("e", dedup_ids=("x" * 401,)), InvalidParameter)
    handle = await program.open("orders", "receive")
    await refused(post("e", dedup_ids=("4",)), AccessDenied)


@served()
async def test_messages_of_a_transaction_are_there_when_it_commits(house: House) -> None:
    program = await house.program()
    handle = await program.create(transactional=True)
    await refused(program.send(handle, "alone"), TransactionUsage)
    work = await program.transaction()
    assert (await program.send(handle, "a", "b", transaction=work)).count == 2
    await refused(program.read(handle), ReceiveTimeout)
    await program.call("commit", transaction=work)
    found = await program.read(handle, count=9)
    assert bodies(found) == ["a", "b"]
    assert all(PacketView(m.packet).priority == 0 for m in found)
    await refused(program.send(handle, "late", transaction=work), TransactionSequence)


@served()
async def test_a_message_goes_to_several_queues_at_once(house: House) -> None:
    program = await house.program()
    one, two = await program.create("one"), await program.create("two")
    names = "DIRECT=OS:.\\private$\\one,DIRECT=OS:.\\private$\\two"
    several = await program.open(names, "send")
    sent = await program.send(several, "a", "b")
    assert sent.count == 4, "messages times destinations"
    first, second = await program.read(one, count=9), await program.read(two, count=9)
    assert bodies(first) == bodies(second) == ["a", "b"]
    ids = [PacketView(m.packet).identifier[-4:] for m in (*first, *second)]
    assert [int.from_bytes(i, "little") for i in ids] == [sent.first_id + n for n in range(4)]
    await program.call("delete_queue", name="two")
    await refused(program.send(several, "c"), QueueNotAvailable)
    await program.end(one, *lookups(first))
    await refused(program.read(one), ReceiveTimeout)


@served()
async def test_a_message_may_go_elsewhere(house: House) -> None:
    program = await house.program()
    away = await program.open("DIRECT=OS:elsewhere\\private$\\q", "send")
    await program.send(away, "a")
    found = (await program.call("queues", everything=True))["queues"]
    assert [queue["messages"] for queue in found if queue["kind"] == "outgoing"] == [1]


@pytest.mark.parametrize(
    "wrong",
    [
        b"x" * 120,
        packet("a")[:-4] + b"\0" * 8,
        packet("a")[:4] + b"LIOX" + packet("a")[8:],
        packet("a")[:2] + b"\x08\0" + packet("a")[4:],
    ],
    ids=["garbage", "another size", "signature", "an internal packet"],
)
@served()
async def test_a_malformed_packet_ends_the_connection(house: House, wrong: bytes) -> None:
    """All of a SEND is sent or none."""
    program, other = await house.program(), await house.program()
    handle = await program.create()
    watching = await other.open("orders")
    program.begin_send(handle, packet("good"), wrong)
    assert (await program.closing()).startswith("malformed: ")
    assert house.metrics.rejected == {"malformed frame": 1}
    await refused(other.read(watching), ReceiveTimeout)


@served()
async def test_a_packet_that_the_managers_headers_make_too_large_is_refused(house: House) -> None:
    program = await house.program()
    handle = await program.create()
    largest = (4 << 20) - len(packet("")) - 4
    await refused(program.send(handle, bytes(largest)), MessageTooLarge)
    await program.send(handle, bytes(largest - 20))
    [found] = await program.read(handle)
    assert len(found.packet) > largest


@served()
async def test_to_send_needs_a_handle_opened_for_it(house: House) -> None:
    program = await house.program()
    await program.create()
    await refused(program.send(77, "a"), InvalidHandle)
    reader = await program.open("orders", "receive")
    await refused(program.send(reader, "a"), AccessDenied)
    handle = await program.open("orders")
    await refused(program.send(handle, "a", transaction=5), TransactionSequence)


@pytest.mark.parametrize("where", ["begin", "write", "commit"])
@served()
async def test_what_cannot_be_stored_is_refused(house: House, where: str) -> None:
    program = await house.program()
    handle = await program.create()
    house.store.refuse = {where: StorageFull("full")}
    await refused(program.send(handle, "a"), StorageFull)
    await program.send(handle, "b")
    assert await program.peek(handle) == ["b"]


@served()
async def test_an_error_that_is_none_of_ours_is_not_hidden(house: House) -> None:
    await house.program()
    with pytest.raises(ZeroDivisionError):
        session_of(house).fail(1, ZeroDivisionError())


# Credit


@served(requests_max=1000)
async def test_ten_thousand_requests_at_once_are_all_answered(house: House) -> None:
    """Those that wait for the disk are begun as far as the credit goes, and in order."""
    program = await house.program()
    handle = await program.create()
    numbers = [program.begin_send(handle, packet(str(n))) for n in range(2500)]
    numbers += [program.begin("prepared") for n in range(7500)]
    found = [await program.next() for _ in numbers]
    assert sorted(f.id for f in found) == numbers
    sent = [app.Sent.decode(f.payload).first_id for f in found if f.kind is Kind.SENT]
    assert len(sent) == 2500
    assert sent == sorted(sent)
    assert await program.peek(handle, count=3) == ["0", "1", "2"]


@served(requests_max=2)
async def test_what_goes_beyond_the_credit_waits_for_answers(house: House) -> None:
    program = await house.program()
    handle = await program.create()
    first, second = program.begin_read(handle), program.begin_read(handle)
    third = program.begin("queues")
    session = session_of(house)
    await until(lambda: session._framer.pending)
    assert house.metrics.requests["call"] == 2, "the third is not even looked at"
    other = await house.program()
    await other.send(await other.open("orders"), "a")
    assert (await program.next()).id == first
    assert (await program.next()).id == third
    await other.send(1, "b")
    assert (await program.next()).id == second


@served(requests_max=1)
async def test_who_goes_far_beyond_it_is_not_read_any_further(house: House) -> None:
    """Until there are answers; then all of it is done."""
    program = await house.program()
    handle = await program.create()
    waiting = program.begin_read(handle)
    count = 1000
    for number in range(count):
        program.tell(Kind.PING, bytes(1000), number=number)
    session = session_of(house)
    await until(lambda: session.is_full)
    assert connection_of(session).reads_paused
    assert READ_AHEAD < session._framer.pending <= READ_AHEAD + (256 << 10)
    read = session._framer.pending
    other = await house.program()
    await other.ping()
    assert session._framer.pending == read
    assert house.metrics.requests["ping"] == 1
    await other.send(await other.open("orders"), "a")
    assert (await program.next()).id == waiting
    assert [(await program.next()).id for _ in range(count)] == list(range(count))
    assert not connection_of(session).reads_paused


@served(request_bytes_max=1000)
async def test_bytes_count_as_well(house: House) -> None:
    program = await house.program()
    handle = await program.create()
    house.store.gate.clear()
    first = program.begin_send(handle, packet(bytes(1000)))
    second = program.begin_send(handle, packet("b"))
    await until(lambda: session_of(house)._framer.pending)
    assert house.metrics.requests["send"] == 1
    house.store.gate.set()
    assert (await program.next()).id == first
    assert (await program.next()).id == second


@served(requests_max=2)
async def test_a_program_that_is_cut_off_is_missed_also_when_its_credit_is_used_up(
    house: House,
) -> None:
    """No one would see it who does not read."""
    program = await house.program()
    handle = await program.create()
    for _ in range(2):
        program.begin_read(handle)
    await until(lambda: len(house.queue().waiters) == 2)
    program.cut()
    await until(lambda: not house.server.clients)
    assert not house.queue().waiters


@served()
async def test_what_comes_while_there_is_no_credit_is_kept_for_later(house: House) -> None:
    """As it does from TLS, which has more in hand when it is asked to pause."""
    program = await house.program()
    session = session_of(house)
    session._requests.update(dict.fromkeys(range(1000, 3000), 0))
    for number in (1, 2, 3):
        session.receive_data(frame(Kind.PING, number), 0.0)
    assert house.metrics.requests["ping"] == 0
    for number in range(1000, 3000):
        session.answer(number, Kind.DONE)
    await program.answer(3)
    assert house.metrics.requests["ping"] == 3


@served()
async def test_a_program_that_does_not_take_its_answers_gets_no_more(house: House) -> None:
    """Few bytes ask for many: 600 requests of 40 bytes for 600 MB."""
    program, other = await house.program(), await house.program()
    handle = await program.create()
    await program.send(handle, bytes(1 << 20), recoverable=False)
    session = next(s for s in house.server.sessions if s.handles)
    written = 0
    write = connection_of(session).write

    def count(data: bytes) -> None:
        nonlocal written
        written += len(data)
        write(data)

    connection_of(session).write = count  # type: ignore[method-assign]
    numbers = [program.begin_read(handle, mode=app.PEEK) for _ in range(600)]
    await until(lambda: connection_of(session)._is_blocked)
    for _ in range(20):
        await other.ping()
    assert written < 8 * WRITE_BUFFER
    assert connection_of(session).reads_paused
    handle = await other.open("orders")
    assert len(await other.read(handle)) == 1, "others go on"
    program.cut()
    await until(lambda: house.server.clients == 1)
    assert len(numbers) == 600


@served()
async def test_when_it_takes_them_again_all_come(house: House) -> None:
    program = await house.program()
    handle = await program.create()
    await program.send(handle, bytes(1 << 20), recoverable=False)
    numbers = [program.begin_read(handle, mode=app.PEEK) for _ in range(20)]
    await until(lambda: connection_of(session_of(house))._is_blocked)
    assert [(await program.next()).id for _ in numbers] == numbers
    await program.ping()


@served()
async def test_the_echo_of_large_pings_is_bounded_too(house: House) -> None:
    program = await house.program()
    for _ in range(8):
        program.tell(Kind.PING, bytes(2 << 20))
    session = session_of(house)
    await until(lambda: connection_of(session)._is_blocked)
    transport = connection_of(session)._transport
    assert transport is not None
    assert transport.get_write_buffer_size() < 3 << 20
    for _ in range(8):
        assert len((await program.next()).payload) == 2 << 20


# What is open


@served()
async def test_no_one_opens_without_end(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "HANDLES_MAX", 3)
    program = await house.program()
    handle = await program.create()
    for _ in range(2):
        await program.open("orders")
    assert "at most 3" in await refused(program.open("orders"), InvalidParameter)
    await program.call("close_queue", handle=handle)
    handle = await program.open("orders")
    for _ in range(3):
        await program.call("open_cursor", handle=handle)
        await program.transaction()
        await program.subscribe(handle, 0)
    await refused(program.call("open_cursor", handle=handle), InvalidParameter)
    await refused(program.transaction(), InvalidParameter)
    await refused(program.subscribe(handle, 0), InvalidParameter)


@served()
async def test_handles_belong_to_their_connection(house: House) -> None:
    program, other = await house.program(), await house.program()
    handle = await program.create()
    work = await program.transaction()
    await refused(other.read(handle), InvalidHandle)
    mine = await other.open("orders")
    await refused(other.read(mine, transaction=work + 50), TransactionSequence)


@served()
async def test_an_answer_too_large_for_a_frame_is_an_error(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "ANSWER_SIZE_MAX", 400)
    program = await house.program()
    number = program.begin("settings")
    assert (await program.answer(number)).kind is Kind.ANSWER
    await program.create()
    number = program.begin("queues")
    found = await program.next()
    assert (found.id, found.kind) == (number, Kind.ERROR)
    assert found.members["error"] == "UserBufferTooSmall"


# The end


@served()
async def test_cut_off_all_is_given_back(house: House) -> None:
    """Messages that were read, in any way, are in their places: who waits for them gets them."""
    program, other = await house.program(client="gone"), await house.program()
    handle = await program.create(transactional=True)
    work = await program.transaction()
    await program.send(handle, "a", "b", "c", "d", transaction=work)
    await program.call("commit", transaction=work)
    assert bodies(await program.read(handle)) == ["a"]
    subscription = await program.subscribe(handle, 1)
    assert bodies(await program.delivery(subscription)) == ["b"]
    work = await program.transaction()
    assert bodies(await program.read(handle, transaction=work)) == ["c"]
    mine = await other.open("orders")
    assert await other.peek(mine) == ["d"]
    [last] = await other.read(mine)
    waiting = other.begin_read(mine, count=9)
    await other.ping()
    program.cut()
    assert bodies((await other.answer(waiting)).messages) == ["a", "b"]
    await other.end(mine, last.lookup_id, action=app.Action.RETURN)
    await until(lambda: len(house.queue().holds) == 2)
    found = await other.read(mine, count=9)
    assert bodies(found) == ["c", "d"]
    assert [m.abort_count for m in found] == [1, 0]


@served()
async def test_cut_off_its_transactions_are_aborted_and_nothing_waits(house: House) -> None:
    program, other = await house.program(), await house.program()
    handle = await program.create(transactional=True)
    work = await program.transaction()
    await program.send(handle, "never", transaction=work)
    assert house.metrics.transactions == 1
    program.begin_read(handle, timeout=FOREVER)
    program.begin_read(handle, timeout=1_000_000, mode=app.PEEK)
    for _ in range(2):
        await program.subscribe(handle, 10)
    cursor = (await program.call("open_cursor", handle=handle))["cursor"]
    program.begin_read(handle, cursor=cursor, mode=app.PEEK)
    await program.ping()
    queue = house.queue()
    assert len(queue.waiters) == 5
    assert queue.reserved
    program.cut()
    await until(lambda: house.server.clients == 1)
    assert not queue.waiters
    assert not queue.modes
    assert house.metrics.transactions == 0
    await until(lambda: not queue.reserved)
    handle = await other.open("orders")
    await refused(other.read(handle), ReceiveTimeout)


@served()
async def test_cut_off_what_is_prepared_stays(house: House) -> None:
    program, other = await house.program(), await house.program()
    handle = await program.create(transactional=True)
    work = await program.transaction("tx-1")
    await program.send(handle, "kept", transaction=work)
    await program.call("prepare", transaction=work)
    program.cut()
    await until(lambda: house.server.clients == 1)
    assert (await other.call("prepared"))["xids"] == ["tx-1"]
    await other.call("commit_prepared", xid="tx-1")
    assert await other.peek(await other.open("orders")) == ["kept"]


@served()
async def test_cut_off_while_it_prepares_it_is_prepared(house: House) -> None:
    program, other = await house.program(), await house.program()
    handle = await program.create(transactional=True)
    work = await program.transaction("tx-1")
    await program.send(handle, "kept", transaction=work)
    house.store.gate.clear()
    program.begin("prepare", transaction=work)
    await program.ping()
    program.cut()
    await until(lambda: house.server.clients == 1)
    assert house.metrics.transactions == 0
    house.store.gate.set()
    await other.call("create_queue", name="later")
    await other.call("commit_prepared", xid="tx-1")
    assert await other.peek(await other.open("orders")) == ["kept"]
    assert house.metrics.transactions == 0


@pytest.mark.parametrize("how", ["commit", "prepare"])
@served()
async def test_cut_off_while_it_ends_and_that_fails_it_is_aborted(house: House, how: str) -> None:
    """No one else could end it."""
    program, other = await house.program(), await house.program()
    handle = await program.create(transactional=True)
    mine = await other.open("orders")
    work = await program.transaction()
    await program.send(handle, "a", transaction=work)
    await program.call("commit", transaction=work)
    work = await program.transaction("tx-1")
    await program.read(handle, transaction=work)
    house.store.gate.clear()
    house.store.refuse = {"commit": StorageFull("broken")}
    program.begin(how, transaction=work)
    await program.ping()
    program.cut()
    await until(lambda: house.server.clients == 1)
    house.store.gate.set()
    await until(lambda: not house.queue().holds)
    [found] = await other.read(mine)
    assert bodies([found]) == ["a"]
    assert found.abort_count == 1


@served()
async def test_cut_off_at_the_very_end_of_the_service_nothing_is_aborted_any_more(
    house: House,
) -> None:
    """The store is closed, and the next start knows nothing of what was not prepared."""
    program = await house.program()
    handle = await program.create(transactional=True)
    work = await program.transaction()
    await program.send(handle, "a", transaction=work)
    house.store.gate.clear()
    program.begin("commit", transaction=work)
    await program.ping()
    house.store.refuse = {"commit": StorageFull("broken")}
    closing = asyncio.create_task(house.driver.close())
    await asyncio.sleep(0)
    program.cut()
    await until(lambda: not house.server.clients)
    house.store.gate.set()
    await closing
    house.queue().modes.clear()
    house.metrics.transactions = 0


@served()
async def test_a_message_whose_end_was_asked_for_is_gone_although_the_program_is_too(
    house: House,
) -> None:
    program, other = await house.program(), await house.program()
    handle = await program.create()
    await program.send(handle, "a")
    places = lookups(await program.read(handle))
    house.store.gate.clear()
    program.tell(Kind.END, app.End(handle, 0, app.Action.REMOVE, places).encode())
    await program.ping()
    program.cut()
    await until(lambda: house.server.clients == 1)
    house.store.gate.set()
    mine = await other.open("orders")
    await refused(other.read(mine), ReceiveTimeout)
    await until(lambda: not house.queue().messages)


@pytest.mark.parametrize("is_cut", [True, False], ids=["cut off", "closed"])
@served()
async def test_what_was_purged_while_it_was_held_goes_when_it_is_given_back(
    house: House, is_cut: bool
) -> None:
    """Although no one else has anything committed."""
    program = await house.program()
    handle = await program.create()
    await program.send(handle, "a")
    await program.read(handle)
    await program.call("purge", handle=handle)
    assert house.queue().messages == 1
    if is_cut:
        program.cut()
    else:
        await program.call("close_queue", handle=handle)
    await until(lambda: not house.queue().messages)


@served()
async def test_answers_to_a_program_that_is_gone_go_nowhere(house: House) -> None:
    program = await house.program()
    handle = await program.create()
    house.store.gate.clear()
    for _ in range(3):
        program.begin_send(handle, packet("a"))
    await program.ping()
    program.cut()
    await until(lambda: not house.server.clients)
    house.store.gate.set()
    await until(lambda: house.queue().messages == 3)


@served()
async def test_what_comes_after_the_end_is_not_even_kept(house: House) -> None:
    await house.program()
    session = session_of(house)
    session.close("enough")
    session.receive_data(frame(Kind.PING, 1), 0.0)
    assert session._framer.pending == 0


@served()
async def test_turned_away_for_a_mistake_a_program_holds_nothing_any_longer(house: House) -> None:
    """Not even while it does not take the farewell."""
    program, other = await house.program(), await house.program()
    handle = await program.create()
    await program.send(handle, "a")
    await program.read(handle)
    mine = await other.open("orders")
    waiting = other.begin_read(mine)
    program.tell(Kind.PING, bytes(6 << 20))
    await until(lambda: any(connection_of(s)._is_blocked for s in house.server.sessions))
    blocked = next(s for s in house.server.sessions if connection_of(s)._is_blocked)
    blocked.close("a mistake")
    assert bodies((await other.answer(waiting)).messages) == ["a"]
    assert house.server.clients == 2
    blocked.close("twice")
    assert await program.closing() == "a mistake"


@served()
async def test_a_queue_deleted_meanwhile_is_closed_without_complaint(house: House) -> None:
    program, other = await house.program(), await house.program()
    handle = await program.create()
    await program.send(handle, "a", "b", recoverable=False)
    await program.send(handle, "c")
    await program.read(handle, count=2)
    waiting = program.begin_read(handle, seek=0, count=5)
    assert len((await program.answer(waiting)).messages) == 1
    await other.call("delete_queue", name="orders")
    await refused(program.read(handle), QueueNotAvailable)
    program.cut()
    await until(lambda: house.server.clients == 1)
    await other.create()
    await refused(other.read(1), ReceiveTimeout)


@served()
async def test_a_deletion_that_fails_leaves_nothing_held_by_who_is_gone(house: House) -> None:
    program, other = await house.program(), await house.program()
    handle = await program.create()
    await program.send(handle, "a")
    await program.read(handle)
    house.local.audit.limit = 0  # what shares a commit with its entries is tried again without
    house.store.gate.clear()
    house.store.refuse = {"commit": StorageFull("broken")}
    deleting = other.begin("delete_queue", name="orders")
    await other.ping()
    program.cut()
    await until(lambda: house.server.clients == 1)
    house.store.gate.set()
    await refused(other.answer(deleting), StorageFull)
    assert await other.peek(await other.open("orders")) == ["a"]


@served()
async def test_reads_that_wait_are_notified_of_the_end_of_the_manager(house: House) -> None:
    """If it ends before the listener does."""
    program = await house.program()
    handle = await program.create()
    waiting = program.begin_read(handle)
    subscription = await program.subscribe(handle, 1)
    await program.ping()
    await house.driver.close()
    await refused(program.answer(waiting), OperationCancelled)
    await refused(program.answer(subscription), OperationCancelled)
    await refused(program.open("orders"), InvalidHandle)
    again = await program.ask(Kind.SUBSCRIBE, app.Subscribe(handle, 1).encode())
    assert again.kind is Kind.DONE
    await refused(program.answer(again.id), InvalidHandle)
    house.queue().modes.clear()
