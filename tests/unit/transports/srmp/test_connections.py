"""Connections to other managers: what is an answer, and when one may be used again."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from openmsmq.errors import Malformed
from openmsmq.transports.srmp.connections import (
    AnswerHead,
    Connections,
    HttpConnection,
    Place,
    read_answer,
)
from openmsmq.transports.srmp.limits import ANSWER_CONTENT_MAX, ANSWER_HEAD_MAX

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
REQUEST = b"POST /msmq/q HTTP/1.1\r\nHost: there\r\nContent-Length: 2\r\n\r\nab"


@pytest.mark.parametrize(
    ("head", "expected"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 0", AnswerHead(200, 0, False)),
        (b"HTTP/1.1 200\r\ncontent-length:7 ", AnswerHead(200, 7, False)),
        (b"HTTP/1.1 204 No Content", AnswerHead(204, 0, False)),
        (b"HTTP/1.1 100 Continue", AnswerHead(100, 0, False)),
        (b"HTTP/1.0 200 OK\r\nContent-Length: 0", AnswerHead(200, 0, True)),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: Close", AnswerHead(200, 0, True)),
        (b"HTTP/1.1 200 OK", AnswerHead(200, 0, True)),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 1", AnswerHead(200, 1, True)),
        (b"HTTP/1.1 200 OK\r\nContent-Length: -1", AnswerHead(200, 0, True)),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 99999999", AnswerHead(200, 0, True)),
        (
            b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nTransfer-Encoding: chunked",
            AnswerHead(200, 0, True),
        ),
        (
            b"HTTP/1.1 400 Bad\r\nContent-Length: %d" % ANSWER_CONTENT_MAX,
            AnswerHead(400, 65536, False),
        ),
    ],
)
def test_an_answer_says_where_it_ends_or_is_the_last(head: bytes, expected: AnswerHead) -> None:
    assert read_answer(head) == expected


@pytest.mark.parametrize(
    "head",
    [
        b"",
        b"HTTP/2 200 OK",
        b"HTTP/1.1 2000 OK",
        b"HTTP/1.1 099 OK",
        b"HTTP/1.1  200 OK",
        b"HTTP/1.1 200 OK\r\nno header",
        b"HTTP/1.1 200 OK\r\n Content-Length: 0",
        b"HTTP/1.1 200 OK\r\nContent-Length : 0",
        b"HTTP/1.1 200 OK\nContent-Length: 0",
    ],
)
def test_what_is_no_answer_is_malformed(head: bytes) -> None:
    with pytest.raises(Malformed, match=r"at offset 0: (is|has the line)"):
        read_answer(head)


def test_a_connection_that_was_closed_is_not_used() -> None:
    async def run() -> None:
        connection = HttpConnection()
        connection.is_usable = True
        connection.connection_lost(None)
        assert not connection.is_usable

    asyncio.run(run())


Script = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def with_peer(
    test: Callable[[Connections, Place], Awaitable[None]],
    script: Script,
    *,
    per_host: int = 4,
    most: int = 8,
    keep_alive_s: float = 60,
) -> int:
    """How many connections there were to a peer that acts by a script."""
    made = 0

    async def run() -> None:
        writers: list[asyncio.StreamWriter] = []

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            nonlocal made
            made += 1
            writers.append(writer)
            try:
                await script(reader, writer)
            except (ConnectionError, asyncio.IncompleteReadError):
                writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        connections = Connections(most, per_host, keep_alive_s)
        try:
            await test(connections, Place("127.0.0.1", server.sockets[0].getsockname()[1]))
        finally:
            connections.close()
            for writer in writers:
                writer.close()
            server.close()

    asyncio.run(run())
    return made


def answering(*answers: bytes) -> Script:
    """Each connection gives these answers, in turn, to requests."""

    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            for answer in answers:
                await reader.readexactly(len(REQUEST))
                writer.write(answer)

    return script


def test_a_connection_is_used_again() -> None:
    async def test(connections: Connections, place: Place) -> None:
        for expected in (200, 400, 200, 400):
            assert await connections.post(place, REQUEST) == expected

    refused = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 3\r\n\r\nwhy"
    assert with_peer(test, answering(OK, refused)) == 1


def test_answers_that_only_say_that_one_will_come_are_passed_over() -> None:
    async def test(connections: Connections, place: Place) -> None:
        assert [await connections.post(place, REQUEST) for _ in range(2)] == [200, 200]

    assert with_peer(test, answering(b"HTTP/1.1 100 Continue\r\n\r\n" + OK)) == 1


@pytest.mark.parametrize(
    "answer",
    [
        OK + b"HTTP/1.1 500 An answer that was not asked for\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nabc",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"HTTP/1.0 200 OK\r\n\r\n",
    ],
)
def test_a_connection_with_more_or_less_than_an_answer_is_closed(answer: bytes) -> None:
    """Bytes behind an answer are never the answer to the next request."""

    async def test(connections: Connections, place: Place) -> None:
        assert [await connections.post(place, REQUEST) for _ in range(3)] == [200] * 3

    assert with_peer(test, answering(answer)) == 3


def test_an_answer_without_a_request_closes_the_connection() -> None:
    said = asyncio.Event()

    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(len(REQUEST))
        writer.write(OK)
        await asyncio.sleep(0)
        writer.write(b"HTTP/1.1 500 Too early\r\nContent-Length: 0\r\n\r\n")
        assert await reader.read() == b"", "it was closed"
        said.set()

    async def test(connections: Connections, place: Place) -> None:
        assert await connections.post(place, REQUEST) == 200
        await asyncio.wait_for(said.wait(), 20)
        assert await connections.post(place, REQUEST) == 200

    assert with_peer(test, script) == 2


@pytest.mark.parametrize(
    "answer",
    [
        b"X: " + b"y" * (ANSWER_HEAD_MAX + 10),
        b"HTTP/1.1 200 OK\r\nX: " + b"y" * ANSWER_HEAD_MAX + b"\r\n\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\n" * 3 + b"no answer\r\n\r\n",
    ],
)
def test_an_answer_without_end_or_form_is_none(answer: bytes) -> None:
    async def test(connections: Connections, place: Place) -> None:
        with pytest.raises(ConnectionError, match="answer"):
            await connections.post(place, REQUEST)

    assert with_peer(test, answering(answer)) == 1


def test_requests_wait_for_room_at_a_host() -> None:
    gate, at_once, most = asyncio.Event(), 0, 0

    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal at_once, most
        while True:
            await reader.readexactly(len(REQUEST))
            at_once += 1
            most = max(most, at_once)
            if at_once == 3:
                gate.set()
            await gate.wait()
            at_once -= 1
            writer.write(OK)

    async def test(connections: Connections, place: Place) -> None:
        found = await asyncio.gather(*(connections.post(place, REQUEST) for _ in range(20)))
        assert found == [200] * 20

    assert with_peer(test, script, per_host=3) == 3
    assert most == 3


def test_connections_that_are_not_used_are_closed() -> None:
    """SRMP-275."""
    closed = asyncio.Event()

    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(len(REQUEST))
        writer.write(OK)
        assert await reader.read() == b""
        closed.set()

    async def test(connections: Connections, place: Place) -> None:
        assert await connections.post(place, REQUEST) == 200
        await asyncio.wait_for(closed.wait(), 20)
        assert not connections._hosts, "nothing is left of a host without connections"

    assert with_peer(test, script, keep_alive_s=0.05) == 1


def test_a_request_that_is_given_up_leaves_no_connection() -> None:
    begun, closed = asyncio.Event(), asyncio.Event()

    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readexactly(len(REQUEST))
        begun.set()
        assert await reader.read() == b""
        closed.set()

    async def test(connections: Connections, place: Place) -> None:
        posting = asyncio.create_task(connections.post(place, REQUEST))
        await asyncio.wait_for(begun.wait(), 20)
        posting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await posting
        await asyncio.wait_for(closed.wait(), 20)
        assert not connections._hosts

    assert with_peer(test, script) == 1
