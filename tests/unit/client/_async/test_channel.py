"""Channels of both kinds, and what only those for asyncio can: to be cancelled."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from functools import partial
from typing import TypeVar

import pytest
from tests.unit.client.adapter import PATIENCE, start
from tests.unit.client.fakes import WELCOME, FakeServer, Line, Peer, lookups, messages

from openmsmq.app_protocol.calls import Call, Closing, encode_error
from openmsmq.app_protocol.frames import Frame, Kind, encode_frame
from openmsmq.app_protocol.payloads import Action, Cancel, End, Subscribe
from openmsmq.client._async import channel as channel_aio
from openmsmq.client._async.channel import Channel
from openmsmq.client._sync.channel import Channel as SyncChannel
from openmsmq.client.address import Address
from openmsmq.client.requests import Deliveries
from openmsmq.errors import (
    ConnectionLost,
    InsufficientResources,
    InvalidHandle,
    OperationCancelled,
    ReceiveTimeout,
    ServiceNotAvailable,
)
from openmsmq.net.connection import WRITE_BUFFER

T = TypeVar("T")
LARGE = 5 << 20
"More bytes than any buffer on the way takes."


def asking(channel: SyncChannel, payload: bytes = b"", patience: float = 0) -> Future[Frame]:
    """A request under way."""
    return start(lambda: channel.request(Kind.CALL, payload, wait=patience))


def reason(found: Future[T], kind: type[Exception]) -> str:
    """Why something failed."""
    with pytest.raises(kind) as error:
        found.result(PATIENCE)
    return str(error.value)


# To open one


def test_an_open_channel_knows_who_welcomed_it(line: Line) -> None:
    channel, _ = line.welcomed()
    assert channel.welcome == WELCOME
    assert channel.is_open


def test_where_no_one_listens_there_is_no_channel(line: Line) -> None:
    """SYS-126."""
    unanswered = Address(socket=line.server.address.socket + "-none")
    line.server.address = unanswered
    with pytest.raises(ServiceNotAvailable, match=r"app-none: .*No such file") as info:
        line.open()
    assert info.value.hresult == 0xC00E000B


@pytest.mark.parametrize(
    ("kind", "payload", "said"),
    [
        (Kind.CLOSING, Closing("the token is wrong").encode(), "the token is wrong"),
        (Kind.WELCOME, b"{}", "server at offset 0: is missing"),
        (Kind.ERROR, encode_error(InvalidHandle("no entry")), "no entry"),
    ],
    ids=["closing", "unreadable", "error"],
)
def test_who_is_not_welcome_hears_why(line: Line, kind: Kind, payload: bytes, said: str) -> None:
    opening = start(line.open)
    peer = line.server.accept()
    peer.answer(kind, peer.request().id, payload)
    assert said in reason(opening, ServiceNotAvailable)
    assert peer.is_left()


def test_something_that_speaks_otherwise_is_no_service(line: Line) -> None:
    opening = start(line.open)
    peer = line.server.accept()
    peer.socket.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
    assert "looks like the console port" in reason(opening, ServiceNotAvailable)
    assert peer.is_left()


def test_a_service_that_says_nothing_is_given_up(line: Line) -> None:
    opening = start(lambda: line.open(patience=0.05))
    peer = line.server.accept()
    assert "no answer" in reason(opening, ServiceNotAvailable)
    assert peer.is_left()


# To ask


def test_answers_find_who_asked_whatever_their_order(line: Line) -> None:
    channel, peer = line.welcomed()
    asked = [asking(channel, bytes([number])) for number in range(5)]
    requests = [peer.request() for _ in asked]
    for request in reversed(requests):
        peer.answer(Kind.ANSWER, request.id, request.payload)
    assert [found.result(PATIENCE).payload for found in asked] == [bytes([n]) for n in range(5)]


def test_an_error_is_raised_for_who_asked_only(line: Line) -> None:
    channel, peer = line.welcomed()
    asked = asking(channel)
    peer.answer(Kind.ERROR, peer.request().id, encode_error(InvalidHandle("7")))
    assert "7" in reason(asked, InvalidHandle)
    assert channel.is_open


def test_an_answer_that_does_not_come_ends_the_connection(line: Line) -> None:
    channel, peer = line.welcomed(patience=0.1)
    waiting = start(lambda: channel.read(b"", wait=None))
    peer.request()
    asked = asking(channel)
    assert "no answer came within 0 seconds" in reason(asked, ConnectionLost)
    assert "no answer came" in reason(waiting, ConnectionLost)
    assert not channel.is_open
    assert peer.is_left()


def test_who_waits_for_messages_has_more_patience(line: Line) -> None:
    channel, peer = line.welcomed(patience=0.5)
    asked = asking(channel, patience=PATIENCE)
    request = peer.request()
    with pytest.raises(TimeoutError):
        asked.result(0.6)
    peer.answer(Kind.ANSWER, request.id)
    asked.result(PATIENCE)


def test_a_ping_is_answered_while_someone_waits(line: Line) -> None:
    channel, peer = line.welcomed()
    asked = asking(channel)
    request = peer.request()
    peer.answer(Kind.PING, 77, b"there?")
    assert peer.request() == Frame(Kind.PONG, 77, b"there?")
    peer.answer(Kind.ANSWER, request.id)
    asked.result(PATIENCE)


def test_both_sides_can_send_much_at_once(line: Line) -> None:
    """The server reads nothing as long as its own words are not taken."""
    channel, peer = line.welcomed()
    number, deliveries = subscribed(channel, peer)
    asked = asking(channel, b"x" * LARGE, patience=PATIENCE)
    for _ in range(2):
        peer.answer(Kind.PONG, 0, b"x" * LARGE)
    peer.answer(Kind.DELIVERY, number, messages(1))
    request = peer.request()
    assert request.payload == b"x" * LARGE
    peer.answer(Kind.ANSWER, request.id)
    asked.result(PATIENCE)
    assert lookups(channel.next(deliveries, PATIENCE)) == [1]


def test_no_more_reads_wait_than_the_server_bears(line: Line) -> None:
    channel, peer = line.welcomed()  # which bears 8 requests
    waiting = [start(lambda: channel.read(b"", wait=None)) for _ in range(4)]
    requests = [peer.request() for _ in waiting]
    with pytest.raises(InsufficientResources):
        channel.read(b"", wait=1)
    there = start(lambda: channel.read(b"", wait=0))
    peer.answer(Kind.MESSAGES, peer.request().id)
    there.result(PATIENCE)
    for request in requests:
        peer.answer(Kind.MESSAGES, request.id)
    for found in waiting:
        found.result(PATIENCE)


# When it ends


def test_a_lost_connection_is_reported_to_all(line: Line) -> None:
    channel, peer = line.welcomed()
    asked = [asking(channel) for _ in range(3)]
    for _ in asked:
        peer.request()
    peer.socket.close()
    for found in asked:
        assert "the other side closed the connection" in reason(found, ConnectionLost)
    assert not channel.is_open
    with pytest.raises(ConnectionLost):
        channel.request(Kind.CALL)


@pytest.mark.parametrize("words", [Closing("the service stops").encode(), b"?"], ids=["", "odd"])
def test_a_farewell_is_heard_although_the_socket_stays_open(line: Line, words: bytes) -> None:
    channel, peer = line.welcomed()
    asked = asking(channel)
    peer.request()
    peer.answer(Kind.CLOSING, 0, words)
    assert ("the service stops" if words != b"?" else "invalid frame") in reason(
        asked, ConnectionLost
    )
    assert not channel.is_open
    assert peer.is_left()


def test_to_close_it_ends_what_is_waiting(line: Line) -> None:
    channel, peer = line.welcomed()
    asked = asking(channel)
    peer.request()
    channel.aclose()
    reason(asked, OperationCancelled)
    assert peer.is_left()
    channel.aclose()
    channel.close()
    assert not channel.is_open


# To take messages


def test_messages_are_removed_when_that_is_answered(line: Line) -> None:
    channel, peer = line.welcomed()
    removing = start(lambda: channel.remove(3, [10, 11]))
    request = peer.request()
    assert End.decode(request.payload) == End(3, 0, Action.REMOVE, (10, 11))
    assert not removing.done()
    peer.answer(Kind.DONE, request.id)
    removing.result(PATIENCE)


def test_messages_that_may_be_removed_are_the_callers(line: Line) -> None:
    channel, peer = line.welcomed()
    removing = start(lambda: channel.remove(3, [10]))
    peer.request()
    peer.socket.close()
    removing.result(PATIENCE)


def test_messages_that_cannot_be_removed_are_not(line: Line) -> None:
    channel, peer = line.welcomed()
    removing = start(lambda: channel.remove(3, [10]))
    peer.answer(Kind.ERROR, peer.request().id, encode_error(InvalidHandle()))
    reason(removing, InvalidHandle)


# Subscriptions


def subscribed(channel: SyncChannel, peer: Peer) -> tuple[int, Deliveries]:
    subscribing = start(lambda: channel.subscribe(Subscribe(3, 100).encode(), 3))
    peer.answer(Kind.DONE, peer.request().id)
    return subscribing.result(PATIENCE)


def test_messages_come_by_themselves(line: Line) -> None:
    channel, peer = line.welcomed()
    number, deliveries = subscribed(channel, peer)
    peer.answer(Kind.DELIVERY, number, messages(1, 2))
    assert lookups(channel.next(deliveries, PATIENCE)) == [1, 2]
    coming = start(lambda: channel.next(deliveries, None))
    peer.answer(Kind.DELIVERY, number, messages(3))
    assert lookups(coming.result(PATIENCE)) == [3]
    with pytest.raises(ReceiveTimeout):
        channel.next(deliveries, 0.01)


def test_when_the_connection_is_lost_no_more_come(line: Line) -> None:
    channel, peer = line.welcomed()
    number, deliveries = subscribed(channel, peer)
    coming = start(lambda: channel.next(deliveries, None))
    peer.answer(Kind.CLOSING, 0, Closing("stop").encode())
    assert "stop" in reason(coming, ConnectionLost)
    with pytest.raises(ConnectionLost):
        channel.unsubscribe(number, deliveries, 3)


def test_what_was_not_taken_is_returned(line: Line) -> None:
    """Also what came after the request to stop."""
    channel, peer = line.welcomed()
    number, deliveries = subscribed(channel, peer)
    peer.answer(Kind.DELIVERY, number, messages(1, 2))
    stopping = start(lambda: channel.unsubscribe(number, deliveries, 3))
    request = peer.request()
    assert Call.decode(request.payload).arguments.values == {"subscription": number}
    peer.answer(Kind.DELIVERY, number, messages(3))
    peer.answer(Kind.ANSWER, request.id, b"{}")
    returned = peer.request()
    assert End.decode(returned.payload) == End(3, 0, Action.RETURN, (1, 2, 3))
    peer.answer(Kind.DONE, returned.id)
    stopping.result(PATIENCE)


def test_a_subscription_that_is_refused_leaves_nothing(line: Line) -> None:
    channel, peer = line.welcomed()
    subscribing = start(lambda: channel.subscribe(Subscribe(3, 100).encode(), 3))
    peer.answer(Kind.ERROR, peer.request().id, encode_error(InvalidHandle()))
    peer.answer(Kind.ANSWER, peer.request().id, b"{}")
    reason(subscribing, InvalidHandle)


# Cancelled


def with_channel(work: Callable[[Channel, Peer], Awaitable[None]]) -> None:
    """Do something with a channel for asyncio in its loop."""

    async def main(server: FakeServer) -> None:
        opening = asyncio.create_task(Channel.open(server.address, PATIENCE))
        peer = await asyncio.to_thread(server.accept)
        await asyncio.to_thread(peer.welcome)
        channel = await opening
        await work(channel, peer)
        await channel.aclose()

    server = FakeServer()
    try:
        asyncio.run(main(server))
    finally:
        server.close()


async def asked_of(peer: Peer) -> Frame:
    return await asyncio.to_thread(peer.request)


async def cancelled(task: asyncio.Task[T]) -> None:
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def test_a_cancelled_read_is_cancelled_there_too() -> None:
    async def work(channel: Channel, peer: Peer) -> None:
        reading = asyncio.create_task(channel.read(b"", wait=None, held=3))
        read = await asked_of(peer)
        await cancelled(reading)
        cancel = await asked_of(peer)
        assert Cancel.decode(cancel.payload).request == read.id
        peer.answer(Kind.MESSAGES, read.id, messages(10, 11))  # it was too late
        assert End.decode((await asked_of(peer)).payload) == End(3, 0, Action.RETURN, (10, 11))

    with_channel(work)


@pytest.mark.parametrize("is_late", [False, True], ids=["before", "after"])
def test_a_read_cancelled_at_the_moment_of_its_answer_takes_nothing(is_late: bool) -> None:
    """The answer is there and the task has not gone on yet, or just the other way round."""

    async def work(channel: Channel, peer: Peer) -> None:
        reading = asyncio.create_task(channel.read(b"", wait=None, held=3))
        read = await asked_of(peer)
        if is_late:
            reading.cancel()
        channel._link.receive_data(encode_frame(Kind.MESSAGES, read.id, messages(10)))
        await cancelled(reading)
        assert End.decode((await asked_of(peer)).payload) == End(3, 0, Action.RETURN, (10,))

    with_channel(work)


def test_a_cancelled_peek_has_nothing_to_return() -> None:
    async def work(channel: Channel, peer: Peer) -> None:
        peeking = asyncio.create_task(channel.read(b"", wait=None))
        read = await asked_of(peer)
        await cancelled(peeking)
        assert (await asked_of(peer)).kind is Kind.CANCEL
        peer.answer(Kind.MESSAGES, read.id, messages(10))
        asking = asyncio.create_task(channel.request(Kind.CALL, b"next"))
        request = await asked_of(peer)
        assert request.payload == b"next"
        peer.answer(Kind.ANSWER, request.id)
        await asking

    with_channel(work)


@pytest.mark.parametrize("is_late", [False, True], ids=["before", "after"])
def test_a_read_cancelled_when_all_is_over_is_just_cancelled(is_late: bool) -> None:
    async def work(channel: Channel, peer: Peer) -> None:
        reading = asyncio.create_task(channel.read(b"", wait=None, held=3))
        await asked_of(peer)
        if is_late:
            reading.cancel()
        channel.close()
        await cancelled(reading)

    with_channel(work)


def test_who_is_cancelled_while_messages_go_gets_them_and_hears_of_it_later() -> None:
    async def work(channel: Channel, peer: Peer) -> None:
        done: list[str] = []

        async def receive() -> None:
            await channel.remove(3, [10])
            done.append("removed")
            await channel.request(Kind.CALL)
            done.append("asked")

        receiving = asyncio.create_task(receive())
        end = await asked_of(peer)
        for _ in range(2):
            receiving.cancel()
            await asyncio.sleep(0.01)
        assert not receiving.done()
        peer.answer(Kind.DONE, end.id)
        with pytest.raises(asyncio.CancelledError):
            await receiving
        assert done == ["removed"]

    with_channel(work)


def test_a_time_limit_that_comes_while_messages_go_is_forgotten() -> None:
    async def work(channel: Channel, peer: Peer) -> None:
        async def receive() -> None:
            async with asyncio.timeout(0.01):
                await channel.remove(3, [10])
            await channel.request(Kind.CALL)

        receiving = asyncio.create_task(receive())
        end = await asked_of(peer)
        await asyncio.sleep(0.05)
        peer.answer(Kind.DONE, end.id)
        peer.answer(Kind.ANSWER, (await asked_of(peer)).id)
        await receiving

    with_channel(work)


def test_a_cancelled_subscription_leaves_nothing_held() -> None:
    async def work(channel: Channel, peer: Peer) -> None:
        begin = partial(channel.subscribe, Subscribe(3, 100).encode(), 3)
        subscribing = asyncio.create_task(begin())
        subscribe = await asked_of(peer)
        peer.answer(Kind.DELIVERY, subscribe.id, messages(10))
        await cancelled(subscribing)
        peer.answer(Kind.DONE, subscribe.id)
        peer.answer(Kind.ANSWER, (await asked_of(peer)).id, b"{}")
        assert End.decode((await asked_of(peer)).payload) == End(3, 0, Action.RETURN, (10,))

    with_channel(work)


# More than can be sent


def waiting_in(channel: Channel) -> int:
    """Bytes that wait to be sent."""
    transport = channel._connection._transport
    assert transport is not None
    return channel._connection._out_bytes + transport.get_write_buffer_size()


def test_who_floods_the_connection_waits_until_it_is_drained() -> None:
    async def work(channel: Channel, peer: Peer) -> None:
        payload = bytes(64 << 10)
        tasks = [
            asyncio.create_task(channel.request(Kind.SEND, number.to_bytes(4), payload))
            for number in range(200)
        ]
        most = WRITE_BUFFER + 2 * len(payload)
        for number in range(200):
            request = await asked_of(peer)
            assert waiting_in(channel) < most
            assert int.from_bytes(request.payload[:4]) == number, "in the order they came"
            peer.answer(Kind.SENT, request.id)
        assert len(await asyncio.gather(*tasks)) == 200
        assert not channel._queueing.locked()

    with_channel(work)


async def flooded(channel: Channel) -> list[asyncio.Task[Frame]]:
    """Send more than the other side takes; the last request waits for room."""
    payloads = (bytes(LARGE), bytes(LARGE), b"late")
    tasks = [asyncio.create_task(channel.request(Kind.SEND, payload)) for payload in payloads]
    await asyncio.sleep(0.01)
    assert waiting_in(channel) < 2 * LARGE, "the second one waits, too"
    return tasks


def test_who_gives_up_waiting_for_room_has_sent_nothing() -> None:
    async def work(channel: Channel, peer: Peer) -> None:
        *sending, late = await flooded(channel)
        await cancelled(late)
        reading = asyncio.create_task(channel.read(b"read", wait=None, held=3))
        removing = asyncio.create_task(channel.remove(3, [10]))
        kinds = []
        for _ in range(4):
            request = await asked_of(peer)
            kinds.append(request.kind)
            peer.answer(Kind.DONE, request.id)
        assert kinds == [Kind.SEND, Kind.END, Kind.SEND, Kind.READ], "an END does not wait"
        await asyncio.gather(*sending, reading, removing)

    with_channel(work)


@pytest.mark.parametrize("how", ["lost", "closed", "patience"])
def test_when_the_connection_ends_no_one_waits_for_room(
    how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(channel_aio, "SLOW", 0.0)
    expected = OperationCancelled if how == "closed" else ConnectionLost

    async def work(channel: Channel, peer: Peer) -> None:
        if how == "patience":
            channel._patience = 0.05
        asked = await flooded(channel)
        if how == "lost":
            peer.socket.close()
        elif how == "closed":
            channel._link.closed()
            closing = asyncio.create_task(channel.aclose())
        found = await asyncio.gather(*asked, return_exceptions=True)
        assert {type(error) for error in found} == {expected}
        if how == "closed":
            peer.socket.close()
            await closing

    with_channel(work)
