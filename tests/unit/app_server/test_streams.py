"""Messages that come to a program by themselves."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.unit.app_server.machines import Desk
from tests.unit.app_server.programs import (
    House,
    Program,
    bodies,
    connection_of,
    lookups,
    packet,
    refused,
    served,
    until,
)

from openmsmq.app_protocol import payloads as app
from openmsmq.app_protocol.frames import Kind
from openmsmq.app_protocol.slices import QueuedSlice, Slices
from openmsmq.app_server import streams as module
from openmsmq.app_server.context import NEXT_TURN
from openmsmq.app_server.session import AppSession
from openmsmq.engine.commit.future import Future
from openmsmq.engine.queues.slices import Parts
from openmsmq.errors import (
    AccessDenied,
    InvalidHandle,
    InvalidParameter,
    QueueDeleted,
    QueueNotAvailable,
    ReceiveTimeout,
    StorageFull,
    TransactionSequence,
)
from openmsmq.net.connection import WRITE_BUFFER


async def gather(program: Program, subscription: int, count: int) -> list[app.QueuedMessage]:
    """So many messages, as they come."""
    found: list[app.QueuedMessage] = []
    while len(found) < count:
        found += await program.delivery(subscription)
    return found


@served()
async def test_messages_come_by_themselves(house: House) -> None:
    """Those that are there, and those that arrive; held until they are ended."""
    program, other = await house.program(), await house.program()
    handle = await program.create()
    await program.send(handle, "a", "b")
    subscription = await program.subscribe(handle, 10)
    assert bodies(await program.delivery(subscription)) == ["a", "b"]
    theirs = await other.open("orders")
    await other.send(theirs, "c")
    found = await program.delivery(subscription)
    assert bodies(found) == ["c"]
    await refused(other.read(theirs), ReceiveTimeout)
    await program.end(handle, found[0].lookup_id)
    assert house.queue().messages == 2


@served()
async def test_done_comes_before_the_first_delivery(house: House) -> None:
    program = await house.program()
    handle = await program.create()
    await program.send(handle, "a")
    number = program.tell(Kind.SUBSCRIBE, app.Subscribe(handle, 1).encode())
    assert await program.next() == (Kind.DONE, number, b"")
    assert (await program.next()).kind is Kind.DELIVERY


@pytest.mark.parametrize(("credit", "goes_on"), [(1, False), (2, True)])
def test_a_stream_asks_for_another_turn_only_while_it_has_credit(
    tmp_path: Path, credit: int, goes_on: bool
) -> None:
    client = Desk(tmp_path).welcome()
    handle = client.create()
    client.tell(Kind.SEND, app.Send(handle, 0, (packet("a"),)).encode())
    client.wire.frames()
    client.tell(Kind.SUBSCRIBE, app.Subscribe(handle, credit).encode())
    assert [found.kind for found in client.wire.frames()] == [Kind.DONE, Kind.DELIVERY]
    assert (client.session.next_deadline == NEXT_TURN) is goes_on


@served()
async def test_exactly_as_many_come_as_there_is_credit_for(house: House) -> None:
    program = await house.program()
    handle = await program.create()
    await program.send(handle, *map(str, range(10)))
    subscription = await program.subscribe(handle, 3)
    found = await gather(program, subscription, 3)
    await program.ping()
    assert program.is_silent
    assert len(house.queue().holds) == 3
    await program.end(handle, *lookups(found))
    await program.ping()
    assert program.is_silent, "to end messages gives no credit"
    program.credit(subscription, 2)
    found += await gather(program, subscription, 2)
    program.credit(subscription, 0)
    await program.ping()
    assert program.is_silent
    program.credit(subscription, 0xFFFFFFFF)
    found += await gather(program, subscription, 5)
    assert bodies(found) == list(map(str, range(10)))
    assert house.metrics.requests["credit"] == 3


@served()
async def test_without_credit_it_begins_when_there_is_some(house: House) -> None:
    program = await house.program()
    handle = await program.create()
    await program.send(handle, "a")
    subscription = await program.subscribe(handle, 0)
    await program.ping()
    assert program.is_silent
    program.credit(subscription, 1)
    assert bodies(await program.delivery(subscription)) == ["a"]


@served()
async def test_credit_given_while_it_waits_counts(house: House) -> None:
    program = await house.program()
    handle = await program.create()
    subscription = await program.subscribe(handle, 1)
    program.credit(subscription, 1)
    await program.send(handle, "a", "b", "c")
    assert bodies(await gather(program, subscription, 2)) == ["a", "b"]
    await program.ping()
    assert program.is_silent


@served()
async def test_messages_come_in_the_order_of_the_queue(house: House) -> None:
    program, other = await house.program(), await house.program()
    handle = await program.create()
    theirs = await other.open("orders")
    count = 3000
    await program.send(handle, *(f"{n:04}" for n in range(1000)))
    subscription = await program.subscribe(handle, count)
    for start in range(1000, count, 100):
        other.begin_send(theirs, *(packet(f"{n:04}") for n in range(start, start + 100)))
    found = await gather(program, subscription, count)
    assert bodies(found) == [f"{n:04}" for n in range(count)]


@served()
async def test_subscribers_share_what_comes(house: House) -> None:
    programs = [await house.program() for _ in range(3)]
    await programs[0].create()
    subscriptions = []
    for program in programs:
        handle = 1 if program is programs[0] else await program.open("orders")
        subscriptions.append(await program.subscribe(handle, 4))
    await programs[0].send(1, *map(str, range(12)))
    found = [bodies(await gather(p, s, 4)) for p, s in zip(programs, subscriptions, strict=True)]
    assert sorted(int(text) for texts in found for text in texts) == list(range(12))
    assert all(texts == sorted(texts, key=int) for texts in found)


@served()
async def test_returned_messages_come_again(house: House) -> None:
    program = await house.program()
    handle = await program.create()
    await program.send(handle, "a")
    subscription = await program.subscribe(handle, 2)
    for _ in range(2):
        found = await program.delivery(subscription)
        assert bodies(found) == ["a"]
        await program.end(handle, *lookups(found), action=app.Action.RETURN)
    await program.ping()
    assert program.is_silent


@served()
async def test_what_came_can_be_ended_in_a_transaction(house: House) -> None:
    program = await house.program()
    handle = await program.create(transactional=True)
    work = await program.transaction()
    await program.send(handle, "a", transaction=work)
    await program.call("commit", transaction=work)
    found = await program.delivery(await program.subscribe(handle, 5))
    work = await program.transaction()
    await program.end(handle, *lookups(found), transaction=work)
    await program.call("commit", transaction=work)
    assert not house.queue().messages


@served()
async def test_a_delivery_has_half_a_mebibyte_at_most_or_one_message(house: House) -> None:
    program = await house.program()
    handle = await program.create()
    await program.send(handle, *[bytes(100_000)] * 10, bytes(700_000), recoverable=False)
    subscription = await program.subscribe(handle, 100)
    sizes: list[int] = []
    counts: list[int] = []
    while sum(counts) < 11:
        found = await program.answer(subscription)
        sizes.append(len(found.payload))
        counts.append(len(found.messages))
    assert counts == [5, 5, 1]
    assert max(sizes[:2]) <= module.DELIVERY_SIZE + 1000


@served()
async def test_and_not_too_many_messages(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "DELIVERED", (10, 10))
    program = await house.program()
    handle = await program.create()
    await program.send(handle, *map(str, range(25)))
    subscription = await program.subscribe(handle, 100)
    assert [len(await program.delivery(subscription)) for _ in range(3)] == [10, 10, 5]


@pytest.mark.parametrize(("credit", "found"), [(100, [64, 36]), (400, [100] * 4), (9, [9])])
@served()
async def test_what_is_taken_at_once_comes_in_parts(
    house: House, credit: int, found: list[int]
) -> None:
    program = await house.program()
    handle = await program.create()
    await program.send(handle, *map(str, range(400)), recoverable=False)
    subscription = await program.subscribe(handle, credit)
    assert [len(await program.delivery(subscription)) for _ in found] == found


# The end of a subscription


@served()
async def test_unsubscribed_no_more_come_and_what_came_stays_held(house: House) -> None:
    program, other = await house.program(), await house.program()
    handle = await program.create()
    await program.send(handle, "a")
    subscription = await program.subscribe(handle, 10)
    held = await program.delivery(subscription)
    for _ in range(2):
        await program.call("unsubscribe", subscription=subscription)
    program.credit(subscription, 5)
    await program.send(handle, "b")
    await program.ping()
    assert program.is_silent
    assert not house.queue().waiters
    theirs = await other.open("orders")
    assert await other.peek(theirs) == ["b"]
    await program.end(handle, *lookups(held))
    assert await other.peek(theirs) == ["b"]


@served()
async def test_unsubscribed_between_two_deliveries(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "DELIVERED", (1, 1))
    program = await house.program()
    handle = await program.create()
    await program.send(handle, "a", "b")
    number = program.tell(Kind.SUBSCRIBE, app.Subscribe(handle, 10).encode())
    program.begin("unsubscribe", subscription=number)
    await program.ping()
    assert len(house.queue().holds) == 1


@served()
async def test_with_the_queue_what_is_subscribed_to_is_closed(house: House) -> None:
    program = await house.program()
    handle = await program.create()
    another = await program.open("orders")
    await program.send(handle, "a")
    subscription = await program.subscribe(handle, 1)
    assert bodies(await program.delivery(subscription)) == ["a"]
    for credit in (0, 5):
        await program.subscribe(handle, credit)
    kept = await program.subscribe(another, 0)
    await program.call("close_queue", handle=handle)
    assert program.is_silent, "who closes a queue needs no error"
    assert not house.queue().waiters
    assert await program.peek(another) == ["a"], "what was held is back"
    program.credit(kept, 1)
    assert bodies(await program.delivery(kept)) == ["a"]


@served()
async def test_a_queue_that_is_deleted_ends_it_with_an_error(house: House) -> None:
    program, other = await house.program(), await house.program()
    handle = await program.create()
    subscription = await program.subscribe(handle, 10)
    await other.call("delete_queue", name="orders")
    await refused(program.answer(subscription), QueueDeleted)
    program.credit(subscription, 5)
    await program.ping()
    assert program.is_silent, "once"


@served()
async def test_deleted_while_there_is_no_credit_it_ends_when_there_is(house: House) -> None:
    """And the connection does not."""
    program = await house.program()
    handle = await program.create()
    subscription = await program.subscribe(handle, 0)
    await program.call("delete_queue", name="orders")
    await program.ping()
    assert program.is_silent
    program.credit(subscription, 5)
    await refused(program.answer(subscription), QueueNotAvailable)
    again = await program.ask(Kind.SUBSCRIBE, app.Subscribe(handle, 5).encode())
    await refused(program.answer(again.id), QueueNotAvailable)
    await program.ping()


@served()
async def test_deleted_between_two_deliveries(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "DELIVERED", (1, 1))
    program = await house.program()
    handle = await program.create()
    await program.send(handle, "a", "b")
    number = program.tell(Kind.SUBSCRIBE, app.Subscribe(handle, 10).encode())
    deleting = program.begin("delete_queue", name="orders")
    await program.answer(deleting)
    kinds = [found.kind for found in program._aside if found.id == number]
    assert kinds == [Kind.DONE, Kind.DELIVERY, Kind.ERROR]


@served()
async def test_an_error_that_is_none_of_ours_is_not_hidden(house: House) -> None:
    program = await house.program()
    handle = await program.create()
    await program.subscribe(handle, 1)
    [session] = house.server.sessions
    [subscription] = session.streams._found.values()
    failed: Future[Parts] = Future()
    failed.error = ZeroDivisionError()
    with pytest.raises(ZeroDivisionError):
        session.streams._came(subscription, failed)
    await program.call("close_queue", handle=handle)


# What is refused


@served()
async def test_to_subscribe_needs_a_handle_opened_to_receive(house: House) -> None:
    program = await house.program()
    await program.create()
    for access in ("peek", "send"):
        handle = await program.open("orders", access)
        await refused(program.subscribe(handle, 1), AccessDenied)
    await refused(program.subscribe(99, 1), InvalidHandle)
    await program.subscribe(await program.open("orders", "receive"), 1)


@served()
async def test_the_id_of_a_subscription_cannot_be_that_of_another(house: House) -> None:
    """No one could tell their messages apart."""
    program = await house.program()
    handle = await program.create()
    number = await program.subscribe(handle, 1)
    program.tell(Kind.SUBSCRIBE, app.Subscribe(handle, 1).encode(), number=number)
    await refused(program.answer(number), InvalidParameter)
    await program.send(handle, "a", "b")
    assert bodies(await program.delivery(number)) == ["a"]
    await program.ping()
    assert program.is_silent


@served()
async def test_credit_for_what_is_not_there_is_ignored(house: House) -> None:
    program = await house.program()
    program.credit(4711, 1)
    await program.ping()


@served()
async def test_what_cannot_be_committed_harms_no_subscription(house: House) -> None:
    program = await house.program()
    handle = await program.create()
    subscription = await program.subscribe(handle, 10)
    house.store.refuse = {"commit": StorageFull("broken")}
    await refused(program.send(handle, "a"), StorageFull)
    await program.send(handle, "b")
    found = await program.delivery(subscription)
    assert bodies(found) == ["b"]
    house.store.refuse = {"commit": StorageFull("broken")}
    await refused(program.end(handle, *lookups(found)), StorageFull)
    again = await program.delivery(subscription)
    assert bodies(again) == ["b"], "it was back in its place"
    await program.end(handle, *lookups(again))
    await refused(program.end(handle, *lookups(found)), TransactionSequence)


# Those who do not take what comes


def stuck(house: House) -> list[AppSession]:
    """The sessions whose programs do not read."""
    return [session for session in house.server.sessions if connection_of(session)._is_blocked]


async def deaf(house: House, megabytes: int) -> tuple[Program, int, int]:
    """A program that has subscribed to much and reads nothing of it: handle and subscription."""
    program = await house.program()
    handle = await program.create()
    for _ in range(megabytes // 5):
        await program.send(handle, *[bytes(1 << 20)] * 5, recoverable=False)
    subscription = program.tell(Kind.SUBSCRIBE, app.Subscribe(handle, 1000).encode())
    await until(lambda: stuck(house))
    return program, handle, subscription


@served()
async def test_who_does_not_take_messages_gets_no_more_and_others_do(house: House) -> None:
    await deaf(house, 30)
    other = await house.program()
    theirs = await other.open("orders")
    held = len(house.queue().holds)
    assert held << 20 < 8 * WRITE_BUFFER
    found = await other.read(theirs, count=2)
    assert len(found) == 2
    assert len(house.queue().holds) == held + 2


@served()
async def test_when_it_takes_them_again_all_come(house: House) -> None:
    program, handle, subscription = await deaf(house, 15)
    assert (await program.answer(subscription)).kind is Kind.DONE
    found = await gather(program, subscription, 15)
    await program.end(handle, *lookups(found))
    assert not house.queue().holds


@served()
async def test_what_arrives_meanwhile_is_for_others(house: House) -> None:
    """A subscription that waited when its program stopped reading takes nothing."""
    program, other = await house.program(), await house.program()
    handle = await program.create()
    subscription = await program.subscribe(handle, 10)
    program.tell(Kind.PING, bytes(6 << 20))
    await until(lambda: stuck(house))
    theirs = await other.open("orders")
    waiting = other.begin_read(theirs)
    await other.send(theirs, "a")
    assert bodies((await other.answer(waiting)).messages) == ["a"]
    await other.send(theirs, "b")
    assert await other.peek(theirs) == ["b"]
    assert (await program.next()).kind is Kind.PONG
    assert bodies(await program.delivery(subscription)) == ["b"]


@served()
async def test_cut_off_in_the_midst_all_is_back(house: House) -> None:
    program, _, _ = await deaf(house, 15)
    program.cut()
    await until(lambda: not house.server.clients)
    assert not house.queue().holds
    assert len(house.queue().express) == 15


@served()
async def test_many_subscriptions_end_with_their_connection(house: House) -> None:
    program = await house.program()
    handles = [await program.create(f"q{n}") for n in range(20)]
    for handle in handles:
        await program.subscribe(handle, 1)
    await program.send(handles[0], "a")
    program.cut()
    await until(lambda: not house.server.clients)
    other = await house.program()
    for n in range(20):
        queue = house.queue(f"q{n}")
        assert not queue.waiters
        assert not queue.modes
    assert await other.peek(await other.open("q0")) == ["a"]


# Slices of runs

LETTERS = tuple("abcdefgh")


async def slices(program: Program, number: int, kind: Kind) -> tuple[QueuedSlice, ...]:
    found = await program.answer(number)
    assert found.kind is kind
    return Slices.decode(found.payload).slices


def texts(found: tuple[QueuedSlice, ...]) -> list[str]:
    queued = [
        app.QueuedMessage(one.lookup_id, 0, 0, 0, 0, packet)
        for one in found
        for packet in one.split()
    ]
    return bodies(queued)


@served()
async def test_messages_of_a_run_come_as_one_slice(house: House) -> None:
    program = await house.program(capabilities=("runs",))
    handle = await program.create()
    await program.send(handle, *LETTERS)
    await program.send(handle, "x")
    subscription = await program.subscribe(handle, 9)
    found = await slices(program, subscription, Kind.DELIVERED_SLICES)
    assert [one.messages for one in found] == [8, 1]
    assert texts(found) == [*LETTERS, "x"]
    first = found[0].lookup_id
    await program.end_ranges(handle, (first + 2, first + 5))
    assert house.queue().messages == 6
    await program.end(handle, first, first + 7)
    await program.end_ranges(handle, (first + 1, first + 2), action=app.Action.RETURN)
    assert house.queue().messages == 4
    assert await program.peek(handle) == ["b"]


@served()
async def test_a_program_that_does_not_know_runs_gets_single_messages(house: House) -> None:
    program = await house.program()
    handle = await program.create()
    await program.send(handle, *LETTERS)
    subscription = await program.subscribe(handle, 10)
    found = await program.delivery(subscription)
    assert bodies(found) == [*LETTERS]
    assert [one.lookup_id - found[0].lookup_id for one in found] == [*range(8)]
    await program.end(handle, *lookups(found)[:3])
    await program.end(handle, *lookups(found)[3:])
    assert house.queue().messages == 0


@served()
async def test_slices_are_cut_by_credit_and_by_a_reader_of_others(house: House) -> None:
    program, other = await house.program(capabilities=("runs",)), await house.program()
    handle = await program.create()
    theirs = await other.open("orders")
    await program.send(handle, *LETTERS)
    number = program.begin_read(handle, count=5, timeout=0)
    found = await slices(program, number, Kind.SLICES)
    assert texts(found) == [*LETTERS[:5]]
    assert bodies(await other.read(theirs, count=10)) == [*LETTERS[5:]]
    first = found[0].lookup_id
    await refused(other.end_ranges(theirs, (first, first + 2)), TransactionSequence)
    await refused(program.end_ranges(handle, (first, first + 6)), TransactionSequence)
    await refused(program.end_ranges(handle, (first, first + 0xFFFFFFFF)), TransactionSequence)
    await refused(
        program.end_ranges(handle, (first, first + 2), (first, first + 1)), InvalidParameter
    )
    await program.end_ranges(handle, (first, first + 2), (first + 4, first + 5))
    assert house.queue().messages == 5
    await program.call("close_queue", handle=handle)
    assert await other.peek(theirs) == ["c", "d"]
