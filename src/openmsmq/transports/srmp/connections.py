"""HTTP connections to other managers, used again: a request goes out whole, a status comes back.

A client of its own: for each message a general one costs as much processor time as all the rest of
sending it.
"""

from __future__ import annotations

import asyncio
import re
import socket
from functools import lru_cache
from ssl import SSLContext
from typing import Final, NamedTuple, cast

from openmsmq.errors import Malformed
from openmsmq.net.keep_alive import enable_keep_alive
from openmsmq.transports.srmp.limits import (
    ANSWER_CONTENT_MAX,
    ANSWER_HEAD_MAX,
    CONNECT_S,
    HOST_ADDRESSES_MAX,
)

_HEAD_END: Final = b"\r\n\r\n"
_STATUS: Final = re.compile(rb"HTTP/1\.([01]) ([1-9][0-9]{2})(?: [^\r\n]*)?")
_HEADER: Final = re.compile(rb"([!#-'*+.^_`|~0-9A-Za-z-]+):[ \t]*([^\r\n]*?)[ \t]*")
_SIZE: Final = re.compile(rb"[0-9]{1,10}")
_WITHOUT_CONTENT: Final = (204, 304)


class AnswerHead(NamedTuple):
    """What an answer says before its content, which means nothing."""

    status: int
    size: int
    "Bytes of content."
    is_last: bool
    "The connection cannot be used after it."


@lru_cache(maxsize=64)
def read_answer(head: bytes) -> AnswerHead:
    """An answer up to its empty line ([RFC 9112] 4, 6.3, 9.3); `Malformed`.

    Where the content ends has to be said in one way only, lest another answer be seen in it.
    """
    first, *lines = head.split(b"\r\n")
    found = _STATUS.fullmatch(first)
    if found is None:
        raise Malformed("status line", 0, f"is {first!r:.60}")
    headers: dict[bytes, bytes] = {}
    is_last = found[1] == b"0"
    for line in lines:
        header = _HEADER.fullmatch(line)
        if header is None:
            raise Malformed("answer", 0, f"has the line {line!r:.60}")
        name = header[1].lower()
        is_last |= name == b"content-length" and name in headers
        headers[name] = header[2].lower()
    status, size = int(found[2]), headers.get(b"content-length", b"")
    is_last |= b"close" in headers.get(b"connection", b"") or b"transfer-encoding" in headers
    if status in _WITHOUT_CONTENT or status < 200:
        return AnswerHead(status, 0, is_last)
    is_known = _SIZE.fullmatch(size) is not None and int(size) <= ANSWER_CONTENT_MAX
    return AnswerHead(status, int(size) if is_known else 0, is_last or not is_known)


class HttpConnection(asyncio.Protocol):
    """One connection: a request, its answer, the next request."""

    def __init__(self) -> None:
        self._transport: asyncio.Transport | None = None
        self._answered: asyncio.Future[int] | None = None
        self._received = b""
        self.idle_since = 0.0
        self.is_usable = False
        "Whether a request can be posted."

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """It is open."""
        self._transport = cast(asyncio.Transport, transport)
        enable_keep_alive(transport.get_extra_info("socket"))
        self.is_usable = True

    async def post(self, request: bytes) -> int:
        """Send a request; the status of its answer."""
        assert self.is_usable, "one request at a time"
        assert self._transport is not None
        self.is_usable = False
        answered: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._answered = answered
        self._transport.write(request)
        try:
            return await answered
        finally:
            self._answered = None
            if not self.is_usable:
                self.close()

    def data_received(self, data: bytes) -> None:
        """A part of an answer; what was not asked for ends the connection."""
        answered = self._answered
        if answered is None or answered.done():
            self.close()
            return
        self._received = received = self._received + data if self._received else data
        try:
            answer = self._take_answer()
        except Malformed as error:
            answered.set_exception(ConnectionError(f"the answer is none: {error}"))
            return
        if answer is not None:
            assert self._transport is not None
            is_whole = len(self._received) == answer.size
            is_sent = not self._transport.get_write_buffer_size()
            self.is_usable = is_whole and is_sent and not answer.is_last
            self._received = b""
            answered.set_result(answer.status)
        elif len(received) > ANSWER_HEAD_MAX:
            answered.set_exception(ConnectionError("the head of the answer does not end"))

    def _take_answer(self) -> AnswerHead | None:
        """The answer, if it is there; those that only say that it will come are passed over."""
        while (end := self._received.find(_HEAD_END)) >= 0:
            if end > ANSWER_HEAD_MAX:
                raise Malformed("answer", 0, f"has {end} bytes before its content")
            answer = read_answer(self._received[:end])
            self._received = self._received[end + len(_HEAD_END) :]
            if answer.status >= 200:
                return answer
        return None

    def connection_lost(self, error: Exception | None) -> None:
        """It is closed."""
        self.is_usable = False
        if self._answered is not None and not self._answered.done():
            reason = "the connection was closed without an answer"
            self._answered.set_exception(error or ConnectionError(reason))

    def close(self) -> None:
        """End it; requests that are not sent yet are forgotten."""
        self.is_usable = False
        if self._transport is not None:
            self._transport.abort()


class Place(NamedTuple):
    """Where requests go."""

    host: str
    port: int
    tls: SSLContext | None = None


class _Host:
    """The connections to one place."""

    def __init__(self, connections_max: int) -> None:
        self.room = asyncio.Semaphore(connections_max)
        self.users = 0
        self.idle: list[HttpConnection] = []
        "The one that was used last is the last."


class Connections:
    """Connections to many places; requests wait where there are too many."""

    def __init__(self, connections_max: int, per_host_max: int, keep_alive_s: float) -> None:
        """They are made inside of an event loop."""
        self._room = asyncio.Semaphore(connections_max)
        self._idle_max = connections_max
        self._per_host_max = per_host_max
        self._keep_alive_s = keep_alive_s
        self._hosts: dict[Place, _Host] = {}
        self._idle: dict[HttpConnection, Place] = {}
        "The one that is idle longest is the first."
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None

    async def post(self, place: Place, request: bytes) -> int:
        """Post a request; the status of its answer."""
        host = self._hosts.get(place)
        if host is None:
            host = self._hosts[place] = _Host(self._per_host_max)
        host.users += 1
        try:
            async with host.room, self._room:
                connection = self._take(host) or await connect(place)
                status = await connection.post(request)
                if connection.is_usable:
                    self._keep(place, host, connection)
                return status
        finally:
            host.users -= 1
            self._forget(place, host)

    def close(self) -> None:
        """End all that are idle; requests under way have to be cancelled."""
        if self._timer is not None:
            self._timer.cancel()
        for connection in self._idle:
            connection.close()
        self._idle.clear()
        self._hosts.clear()

    def _take(self, host: _Host) -> HttpConnection | None:
        while host.idle:
            connection = host.idle.pop()
            del self._idle[connection]
            if connection.is_usable:
                return connection
        return None

    def _keep(self, place: Place, host: _Host, connection: HttpConnection) -> None:
        connection.idle_since = self._loop.time()
        host.idle.append(connection)
        self._idle[connection] = place
        if len(self._idle) > self._idle_max:
            self._drop(next(iter(self._idle)))
        if self._timer is None:
            self._timer = self._loop.call_later(self._keep_alive_s, self._sweep)

    def _sweep(self) -> None:
        """Close what was not used for too long (Session Cleanup Timer, [MC-MQSRM] 3.1.6.4)."""
        now, self._timer = self._loop.time(), None
        for connection in list(self._idle):
            wait = connection.idle_since + self._keep_alive_s - now
            if wait > 0:
                self._timer = self._loop.call_later(wait, self._sweep)
                break
            self._drop(connection)

    def _drop(self, connection: HttpConnection) -> None:
        place = self._idle.pop(connection)
        host = self._hosts[place]
        host.idle.remove(connection)
        connection.close()
        self._forget(place, host)

    def _forget(self, place: Place, host: _Host) -> None:
        if not host.users and not host.idle:
            self._hosts.pop(place, None)


async def connect(place: Place) -> HttpConnection:
    """A new connection, to the first address of the host that answers.

    Each of them has its share of the time.
    """
    loop = asyncio.get_running_loop()
    host, port, tls = place
    try:
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise ConnectionError(f"{host} has no address: {error}") from error
    addresses = list(dict.fromkeys(address[4][0] for address in found))[:HOST_ADDRESSES_MAX]
    name = None if tls is None else host
    failed: OSError | None = None
    for address in addresses:
        try:
            async with asyncio.timeout(CONNECT_S / len(addresses)):
                _, connection = await loop.create_connection(
                    HttpConnection, str(address), port, ssl=tls, server_hostname=name
                )
                return connection
        except OSError as error:  # a TimeoutError, too
            reason = str(error) or "no answer in time"
            failed = ConnectionError(f"cannot connect to {host} at {address}:{port}: {reason}")
    assert failed is not None, "a host has an address, or there is an error"
    raise failed
