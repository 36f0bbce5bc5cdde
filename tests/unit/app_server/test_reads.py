"""What a program reads, and what becomes of it."""

from __future__ import annotations

import asyncio
import time

import pytest
from tests.unit.app_server.programs import (
    FOREVER,
    House,
    Program,
    bodies,
    lookups,
    packet,
    refused,
    served,
    until,
)

from openmsmq.app_protocol import payloads as app
from openmsmq.app_protocol.frames import Kind
from openmsmq.app_protocol.limits import BATCH_SIZE_MAX
from openmsmq.app_protocol.payloads import COUNT_MAX, room_for
from openmsmq.engine.handle import QueueHandle
from openmsmq.errors import (
    AccessDenied,
    IllegalCursorAction,
    InvalidHandle,
    InvalidParameter,
    MessageAlreadyReceived,
    MessageNotFound,
    OperationCancelled,
    QueueDeleted,
    QueueNotAvailable,
    ReceiveTimeout,
    StorageFull,
    TransactionSequence,
    TransactionUsage,
)
from openmsmq.types.lookup import ARRIVAL_MASK
from openmsmq.types.read import Seek

PEEK = app.PEEK
RETURN = app.Action.RETURN


async def filled(program: Program, *texts: str) -> int:
    """A queue with messages in it."""
    handle = await program.create()
    await program.send(handle, *texts)
    return handle


async def filled_in(program: Program, *texts: str) -> int:
    """A transactional one."""
    handle = await program.create(transactional=True)
    work = await program.transaction()
    await program.send(handle, *texts, transaction=work)
    await program.call("commit", transaction=work)
    return handle


# READ


@served()
async def test_to_peek_changes_nothing(house: House) -> None:
    program = await house.program()
    handle = await filled(program, "a", "b", "c")
    for _ in range(2):
        assert bodies(await program.read(handle, mode=PEEK)) == ["a"]
        assert bodies(await program.read(handle, mode=PEEK, count=2)) == ["a", "b"]
    assert not house.queue().holds


@served()
async def test_what_is_taken_is_held_for_the_program(house: House) -> None:
    program, other = await house.program(), await house.program()
    handle = await filled(program, "a", "b", "c")
    assert bodies(await program.read(handle, count=2)) == ["a", "b"]
    assert await other.peek(await other.open("orders")) == ["c"]
    assert house.queue().messages == 3


@served()
async def test_a_message_comes_with_all_that_is_known_of_it(house: House) -> None:
    program = await house.program()
    handle = await filled_in(program, "a", "b")
    work = await program.transaction()
    await program.read(handle, transaction=work)
    await program.call("abort", transaction=work)
    first, second = await program.read(handle, count=2, mode=PEEK)
    assert (first.abort_count, second.abort_count) == (1, 0)
    assert (first.move_count, first.message_class) == (0, 0)
    assert first.arrived == house.clock.time
    assert second.lookup_id & ARRIVAL_MASK == (first.lookup_id & ARRIVAL_MASK) + 1


@served()
async def test_the_most_urgent_come_first(house: House) -> None:
    program = await house.program()
    handle = await filled(program, "normal")
    await program.send(handle, "urgent", priority=7)
    await program.send(handle, "later", priority=0)
    assert await program.peek(handle) == ["urgent", "normal", "later"]


@served()
async def test_nothing_there_is_an_error_when_the_time_is_over(house: House) -> None:
    program = await house.program()
    handle = await program.create()
    for mode in (app.PEEK, app.TAKE):
        await refused(program.read(handle, mode=mode), ReceiveTimeout)
        begun = time.monotonic()
        await refused(program.read(handle, mode=mode, timeout=20), ReceiveTimeout)
        assert time.monotonic() - begun >= 0.019
    assert not house.queue().waiters


@pytest.mark.parametrize("mode", [app.PEEK, app.TAKE], ids=["peek", "take"])
@pytest.mark.parametrize("timeout", [FOREVER, 1_000_000], ids=["for ever", "long"])
@served()
async def test_a_read_waits_and_holds_up_nothing(house: House, mode: int, timeout: int) -> None:
    program = await house.program()
    handle = await program.create()
    waiting = program.begin_read(handle, mode=mode, timeout=timeout, count=5)
    await program.send(handle, "a", "b")
    found = await program.answer(waiting)
    assert bodies(found.messages) == ["a", "b"]
    assert len(house.queue().holds) == 2 * mode
    assert not _timers(house)


def _kept(house: House) -> list[int]:
    """What is remembered of messages that programs hold."""
    return [
        lookup
        for session in house.server.sessions
        for opened in session.handles.values()
        if isinstance(opened, QueueHandle)
        for lookup in opened.queue.holds.read_by(opened)
    ]


def _timers(house: House) -> int:
    return sum(len(session._reads._deadlines) for session in house.server.sessions)


@served()
async def test_readers_are_served_in_their_order(house: House) -> None:
    program, other = await house.program(), await house.program()
    handle = await program.create()
    await other.open("orders")
    first, second = program.begin_read(handle), other.begin_read(1)
    await asyncio.gather(program.ping(), other.ping())
    third = program.begin_read(handle)
    await program.send(handle, "a", "b", "c")
    for reader, number, text in (
        (program, first, "a"),
        (other, second, "b"),
        (program, third, "c"),
    ):
        assert bodies((await reader.answer(number)).messages) == [text]


@served()
async def test_a_frame_of_messages_has_four_mebibytes_at_most(house: House) -> None:
    """All of it: what stands before each message counts as well."""
    program = await house.program()
    handle = await program.create()
    await program.send(handle, *[bytes((1 << 20) - 300)] * 6, recoverable=False)
    for mode in (app.PEEK, app.TAKE):
        number = program.begin_read(handle, count=100, mode=mode)
        found = await program.answer(number)
        assert 3 <= len(found.messages) <= 4
        assert len(found.payload) <= BATCH_SIZE_MAX


@served()
async def test_a_single_message_may_be_larger(house: House) -> None:
    program = await house.program()
    handle = await program.create()
    largest = (4 << 20) - len(packet("")) - 24
    await program.send(handle, bytes(largest), "b")
    number = program.begin_read(handle, count=100)
    found = await program.answer(number)
    assert len(found.messages) == 1
    assert len(found.payload) > room_for(1)


def test_however_many_are_asked_for_they_fit_into_a_frame() -> None:
    smallest = 120
    assert room_for(COUNT_MAX) // smallest <= COUNT_MAX + 1
    assert room_for(1) == BATCH_SIZE_MAX - 4 - 26


@served()
async def test_to_ask_for_more_than_there_can_be_is_to_ask_for_all(house: House) -> None:
    program = await house.program()
    handle = await filled(program, "a", "b")
    assert bodies(await program.read(handle, count=FOREVER)) == ["a", "b"]


@served()
async def test_to_ask_for_no_message_is_a_mistake(house: House) -> None:
    program = await house.program()
    handle = await filled(program, "a")
    await refused(program.read(handle, count=0), InvalidParameter)


@served()
async def test_a_handle_reads_what_it_was_opened_for(house: House) -> None:
    program = await house.program()
    await filled(program, "a")
    sender = await program.open("orders", "send")
    peeker = await program.open("orders", "peek")
    receiver = await program.open("orders", "receive")
    await refused(program.read(sender, mode=PEEK), AccessDenied)
    await refused(program.read(peeker), AccessDenied)
    assert await program.peek(peeker) == ["a"]
    assert await program.peek(receiver) == ["a"], "to receive is to peek as well"
    await refused(program.read(99), InvalidHandle)


# By lookup identifier


@served()
async def test_messages_are_found_by_their_identifier(house: House) -> None:
    program = await house.program()
    handle = await filled(program, "a", "b", "c")
    a, b, c = lookups(await program.read(handle, count=3, mode=PEEK))

    async def found(seek: int, lookup: int = 0, mode: int = PEEK) -> list[str]:
        got = await program.read(
            handle, seek=seek, lookup=lookup, mode=mode, count=9, timeout=FOREVER
        )
        return bodies(got)

    assert await found(app.SEEK_CODES[Seek.CURRENT], b) == ["b"]
    assert await found(app.SEEK_CODES[Seek.NEXT], b) == ["c"]
    assert await found(app.SEEK_CODES[Seek.PREVIOUS], b) == ["a"]
    assert await found(app.SEEK_CODES[Seek.FIRST]) == ["a"]
    assert await found(app.SEEK_CODES[Seek.LAST]) == ["c", "b", "a"]
    assert await found(app.SEEK_CODES[Seek.BEHIND], a) == ["b", "c"]
    assert await found(app.SEEK_CODES[Seek.BEHIND], a - 1) == ["a", "b", "c"]
    assert await found(app.SEEK_CODES[Seek.AHEAD], c) == ["b", "a"]
    assert await found(app.SEEK_CODES[Seek.AHEAD], (1 << 64) - 1) == ["c", "b", "a"]
    for seek, lookup in (
        (app.SEEK_CODES[Seek.CURRENT], c + 1),
        (app.SEEK_CODES[Seek.NEXT], c),
        (app.SEEK_CODES[Seek.PREVIOUS], a),
        (app.SEEK_CODES[Seek.CURRENT], 0),
        (app.SEEK_CODES[Seek.CURRENT], (1 << 64) - 1),
        (app.SEEK_CODES[Seek.AHEAD], a),
    ):
        await refused(found(seek, lookup), MessageNotFound)
    assert await found(app.SEEK_CODES[Seek.CURRENT], b, app.TAKE) == ["b"]
    assert await program.peek(handle) == ["a", "c"]
    await program.end(handle, b)
    await refused(found(app.SEEK_CODES[Seek.CURRENT], b), MessageNotFound)


@served()
async def test_a_message_that_are_held_is_not_found(house: House) -> None:
    program = await house.program()
    handle = await filled(program, "a")
    [place] = lookups(await program.read(handle))
    asked = program.read(handle, seek=app.SEEK_CODES[Seek.CURRENT], lookup=place)
    await refused(asked, MessageNotFound)
    asked = program.read(handle, seek=app.SEEK_CODES[Seek.CURRENT], lookup=place, mode=PEEK)
    await refused(asked, TransactionUsage)


# Cursors


@served()
async def test_a_cursor_goes_from_message_to_message(house: House) -> None:
    program = await house.program()
    handle = await filled(program, "a", "b", "c")
    cursor = (await program.call("open_cursor", handle=handle))["cursor"]

    async def peek(seek: int = app.FOLLOWING) -> list[str]:
        return bodies(await program.read(handle, cursor=cursor, mode=PEEK, seek=seek, count=9))

    await refused(peek(), IllegalCursorAction)
    assert await peek(app.HEAD) == ["a"]
    assert await peek() == ["b"]
    assert await peek(app.HEAD) == ["b"]
    taken = await program.read(handle, cursor=cursor)
    assert bodies(taken) == ["b"]
    await program.end(handle, *lookups(taken))
    assert await peek(app.HEAD) == ["c"]
    await program.call("purge", handle=handle)
    await refused(peek(app.HEAD), MessageAlreadyReceived)
    await refused(peek(), ReceiveTimeout)


@served()
async def test_a_cursor_waits_as_well(house: House) -> None:
    program = await house.program()
    handle = await program.create()
    cursor = (await program.call("open_cursor", handle=handle))["cursor"]
    waiting = program.begin_read(handle, cursor=cursor, mode=PEEK)
    await program.send(handle, "a")
    assert bodies((await program.answer(waiting)).messages) == ["a"]
    waiting = program.begin_read(handle, cursor=cursor, mode=PEEK, seek=app.FOLLOWING)
    await program.ping()
    await program.call("close_cursor", cursor=cursor)
    await refused(program.answer(waiting), OperationCancelled)
    await refused(program.read(handle, cursor=cursor), InvalidHandle)


@served()
async def test_a_cursor_reads_in_a_transaction(house: House) -> None:
    program = await house.program()
    handle = await filled_in(program, "a", "b")
    cursor = (await program.call("open_cursor", handle=handle))["cursor"]
    work = await program.transaction()
    assert bodies(await program.read(handle, cursor=cursor, transaction=work)) == ["a"]
    await program.call("commit", transaction=work)
    assert await program.peek(handle) == ["b"]


@served()
async def test_a_cursor_belongs_to_its_handle(house: House) -> None:
    program = await house.program()
    handle = await filled(program, "a")
    another = await program.open("orders")
    cursor = (await program.call("open_cursor", handle=handle))["cursor"]
    await refused(program.read(another, cursor=cursor), InvalidHandle)
    await refused(program.read(handle, cursor=cursor + 1), InvalidHandle)


@pytest.mark.parametrize("seek", [1, 2, 3, 4, 5, 7, 8])
@served()
async def test_a_cursor_knows_no_identifiers(house: House, seek: int) -> None:
    program = await house.program()
    handle = await filled(program, "a")
    cursor = (await program.call("open_cursor", handle=handle))["cursor"]
    for mode in (app.PEEK, app.TAKE):
        asked = program.read(handle, cursor=cursor, seek=seek, mode=mode, lookup=1)
        await refused(asked, InvalidParameter)


@served()
async def test_only_who_peeks_with_a_cursor_goes_on_to_the_next(house: House) -> None:
    program = await house.program()
    handle = await filled(program, "a")
    cursor = (await program.call("open_cursor", handle=handle))["cursor"]
    await refused(program.read(handle, cursor=cursor, seek=app.FOLLOWING), InvalidParameter)
    for mode in (app.PEEK, app.TAKE):
        await refused(program.read(handle, seek=app.FOLLOWING, mode=mode), InvalidParameter)


# Transactions


@served()
async def test_what_a_transaction_takes_is_its_own(house: House) -> None:
    program = await house.program()
    handle = await filled_in(program, "a", "b")
    work = await program.transaction()
    [message] = await program.read(handle, transaction=work)
    assert not _kept(house)
    await refused(program.end(handle, message.lookup_id), TransactionSequence)
    await program.call("abort", transaction=work)
    assert await program.peek(handle) == ["a", "b"]
    work = await program.transaction()
    assert bodies(await program.read(handle, transaction=work, count=9)) == ["a", "b"]
    await program.call("commit", transaction=work)
    await refused(program.read(handle), ReceiveTimeout)
    await refused(program.read(handle, transaction=work), TransactionSequence)


@served()
async def test_a_transaction_waits_for_messages_too(house: House) -> None:
    program = await house.program()
    handle = await program.create(transactional=True)
    work, sending = await program.transaction(), await program.transaction()
    waiting = program.begin_read(handle, transaction=work)
    await program.send(handle, "a", transaction=sending)
    await program.call("commit", transaction=sending)
    assert bodies((await program.answer(waiting)).messages) == ["a"]
    await program.call("commit", transaction=work)
    assert not house.queue().messages


@served()
async def test_a_transaction_reads_from_transactional_queues(house: House) -> None:
    program = await house.program()
    handle = await filled(program, "a")
    work = await program.transaction("tx")
    await refused(program.read(handle, transaction=work), TransactionUsage)
    await program.call("prepare", transaction=work)
    await refused(program.read(handle, transaction=work, mode=PEEK), TransactionSequence)


# END


@served()
async def test_removed_messages_are_gone(house: House) -> None:
    program = await house.program()
    handle = await program.create(journal=True)
    await program.send(handle, "a", "b")
    await program.send(handle, "c", recoverable=False)
    found = await program.read(handle, count=3)
    await program.end(handle, *lookups(found))
    assert not house.queue().messages
    assert not house.queue().express
    assert not _kept(house)
    await until(lambda: not house.queue().holds)
    journal = await program.open(".\\private$\\orders\\Journal$", "peek")
    assert sorted(await program.peek(journal)) == ["a", "b", "c"]


@served()
async def test_returned_messages_are_in_their_places(house: House) -> None:
    program, other = await house.program(), await house.program()
    handle = await filled(program, "a", "b", "c")
    places = lookups(await program.read(handle, count=3))
    mine = await other.open("orders")
    waiting = other.begin_read(mine, mode=PEEK)
    await other.ping()
    await program.end(handle, places[1], places[0], action=RETURN)
    assert bodies((await other.answer(waiting)).messages) == ["a"]
    assert await program.peek(handle) == ["a", "b"]


@served()
async def test_removed_in_a_transaction_they_go_with_it(house: House) -> None:
    program = await house.program()
    handle = await filled_in(program, "a", "b")
    for outcome, left in (("abort", ["a", "b"]), ("commit", [])):
        places = lookups(await program.read(handle, count=2))
        work = await program.transaction()
        await program.end(handle, *places, transaction=work)
        assert not _kept(house)
        await refused(program.end(handle, places[0]), TransactionSequence)
        await program.call(outcome, transaction=work)
        if left:
            assert await program.peek(handle) == left
    await refused(program.read(handle), ReceiveTimeout)


@served()
async def test_what_a_transaction_cannot_have_stays_held(house: House) -> None:
    program = await house.program()
    handle = await filled(program, "a")
    places = lookups(await program.read(handle))
    work = await program.transaction()
    await refused(program.end(handle, *places, transaction=work), TransactionUsage)
    await refused(program.end(handle, *places, transaction=work + 1), TransactionSequence)
    await program.end(handle, *places, transaction=work, action=RETURN)
    assert await program.peek(handle) == ["a"]


@served()
async def test_only_what_is_held_can_be_ended(house: House) -> None:
    """By this handle, once, and all that is named or nothing."""
    program, other = await house.program(), await house.program()
    handle = await filled(program, "a", "b")
    another = await program.open("orders")
    theirs = await other.open("orders")
    [place] = lookups(await program.read(handle))
    [unread] = lookups(await program.read(handle, mode=PEEK))
    for action in app.Action:
        await refused(program.end(another, place, action=action), TransactionSequence)
        await refused(other.end(theirs, place, action=action), TransactionSequence)
        await refused(program.end(handle, place, unread, action=action), TransactionSequence)
        await refused(program.end(handle, place, place, action=action), InvalidParameter)
        await refused(program.end(77, place, action=action), InvalidHandle)
    await program.end(handle)
    await program.end(handle, place)
    await refused(program.end(handle, place), TransactionSequence)
    assert await program.peek(handle) == ["b"]


@served()
async def test_what_could_not_be_removed_is_back(house: House) -> None:
    program = await house.program()
    handle = await filled(program, "a")
    places = lookups(await program.read(handle))
    house.store.refuse = {"commit": StorageFull("broken")}
    await refused(program.end(handle, *places), StorageFull)
    assert await program.peek(handle) == ["a"]


@served()
async def test_what_is_purged_meanwhile_is_gone_whatever_is_said(house: House) -> None:
    program = await house.program()
    handle = await filled(program, "a", "b")
    places = lookups(await program.read(handle, count=2))
    await program.call("purge", handle=handle)
    await program.end(handle, places[0])
    await program.end(handle, places[1], action=RETURN)
    await refused(program.read(handle), ReceiveTimeout)
    await until(lambda: not house.queue().messages)


@served()
async def test_nothing_can_be_ended_in_a_queue_that_is_deleted(house: House) -> None:
    """If it is not deleted after all, what was held still is."""
    program = await house.program()
    handle = await filled(program, "a")
    places = lookups(await program.read(handle))
    house.local.audit.limit = 0  # what shares a commit with its entries is tried again without
    house.store.gate.clear()
    house.store.refuse = {"commit": StorageFull("broken")}
    deleting = program.begin("delete_queue", name="orders")
    for _ in range(2):
        await refused(program.end(handle, *places), QueueNotAvailable)
    house.store.gate.set()
    await refused(program.answer(deleting), StorageFull)
    await program.end(handle, *places)
    assert not house.queue().messages


# CANCEL


@served()
async def test_a_read_that_waits_can_be_given_up(house: House) -> None:
    program = await house.program()
    handle = await program.create()
    for timeout in (FOREVER, 1_000_000):
        waiting = program.begin_read(handle, timeout=timeout)
        asked = program.tell(Kind.CANCEL, app.Cancel(waiting).encode())
        first, second = await program.next(), await program.next()
        assert (first.id, first.kind, first.members["error"]) == (
            waiting,
            Kind.ERROR,
            "OperationCancelled",
        )
        assert second == (Kind.DONE, asked, b"")
    assert not house.queue().waiters
    assert not _timers(house)


@served()
async def test_too_late_it_changes_nothing(house: House) -> None:
    program = await house.program()
    handle = await program.create()
    waiting = program.begin_read(handle)
    await program.send(handle, "a")
    found = await program.ask(Kind.CANCEL, app.Cancel(waiting).encode())
    assert found.kind is Kind.DONE
    assert bodies((await program.answer(waiting)).messages) == ["a"]
    for request in (waiting, 4711, 0):
        found = await program.ask(Kind.CANCEL, app.Cancel(request).encode())
        assert found.kind is Kind.DONE


@served()
async def test_what_does_not_wait_for_messages_cannot_be_given_up(house: House) -> None:
    program = await house.program()
    handle = await program.create()
    house.store.gate.clear()
    sending = program.begin("purge", handle=handle)
    found = await program.ask(Kind.CANCEL, app.Cancel(sending).encode())
    assert found.kind is Kind.DONE
    house.store.gate.set()
    assert (await program.answer(sending)).kind is Kind.ANSWER


@served()
async def test_a_queue_that_is_deleted_ends_reads_that_wait(house: House) -> None:
    program, other = await house.program(), await house.program()
    handle = await program.create()
    waiting = program.begin_read(handle, timeout=1_000_000)
    await program.ping()
    await other.call("delete_queue", name="orders")
    await refused(program.answer(waiting), QueueDeleted)
    assert not _timers(house)


@served()
async def test_reads_that_wait_end_with_their_connection(house: House) -> None:
    program = await house.program()
    handle = await program.create()
    for timeout in (FOREVER, 1_000_000):
        program.begin_read(handle, timeout=timeout)
    await program.ping()
    [session] = house.server.sessions
    program.cut()
    await until(lambda: not house.server.clients)
    assert not house.queue().waiters
    assert not session._reads._deadlines
