"""The HTTP listener that messages are posted to; what becomes of each is decided elsewhere.

Anyone who can connect can post. Connections, bytes in memory and the time that a request may take
are bounded, before anything is read; a request that is not finished gives way to a new connection.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterator
from http import HTTPStatus
from ssl import SSLContext
from typing import Final

from aiohttp import web

from openmsmq.clock import Clock
from openmsmq.errors import Malformed
from openmsmq.names.base import FormatName
from openmsmq.runtime.http import HttpListener
from openmsmq.runtime.logs import log_event
from openmsmq.transports.srmp.exchange import PostSource, Senders, SrmpPost, read_post, status_of
from openmsmq.transports.srmp.limits import (
    BUFFER_SIZE_MAX,
    CONNECTIONS_MAX,
    KEEP_ALIVE_S,
    READ_S,
    REQUEST_SIZE_MAX,
)
from openmsmq.transports.srmp.outcomes import SrmpOutcome, outcome_word

READ_BUFFER: Final = 64 * 1024
"Bytes that are read ahead on a connection."
STOP_S: Final = 2.0
"Seconds that requests under way may take when the listener stops."
RETRY_AFTER_S: Final = 5

TOO_MANY: Final = "too many HTTP connections"
TOO_LARGE: Final = "HTTP request too large"
TOO_SLOW: Final = "HTTP request too slow"
TOO_BUSY: Final = "too many HTTP requests in memory"
_log: Final = logging.getLogger(__name__)


class SrmpListener(HttpListener):
    """An HTTP or HTTPS server for `POST /msmq/...` ([MC-MQSRM] 2.1.1)."""

    name = "srmp"
    too_many = TOO_MANY
    out_of_sockets = TOO_MANY

    def __init__(
        self,
        take: Callable[[SrmpPost, PostSource], Awaitable[SrmpOutcome]],
        clock: Clock,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        tls: SSLContext | None = None,
        senders: Senders | None = None,
        redirect: Callable[[str], FormatName | None] = lambda to: None,
        connections_max: int = CONNECTIONS_MAX,
        buffer_size_max: int = BUFFER_SIZE_MAX,
        read_s: float = READ_S,
    ) -> None:
        """`take` says what became of a message, when that is on disk.

        `senders` has the certificates that signatures are checked with; `redirect` may name
        another queue than the one at an address.
        """
        self.senders = senders
        self._redirect = redirect
        self._take = take
        self._clock = clock
        self._buffer_size_max = buffer_size_max
        self._read_s = read_s
        self._buffered = 0
        "Bytes that requests have, or have announced."
        self._reading: dict[asyncio.BaseProtocol, None] = {}
        "Connections whose request is being read, the oldest first."
        self._storing: Counter[asyncio.BaseProtocol] = Counter()
        self.counts: Counter[str] = Counter()
        "Messages by outcome, and what was refused by reason."
        app = web.Application(client_max_size=REQUEST_SIZE_MAX)
        app.router.add_post("/{path:.*}", self._post)
        app.on_response_prepare.append(_name_server)
        super().__init__(
            app,
            (host, port),
            connections_max=connections_max,
            tls=tls,
            shutdown_timeout=STOP_S,
            keepalive_timeout=KEEP_ALIVE_S,
            auto_decompress=False,
            read_bufsize=READ_BUFFER,
        )

    # Connections

    def replaceable(
        self, connections: Collection[asyncio.BaseProtocol]
    ) -> Iterator[asyncio.BaseProtocol]:
        """Silent connections, then those whose request is still being read.

        A message that is being stored is never cut off.
        """
        yield from (c for c in connections if c not in self._reading and c not in self._storing)
        yield from self._reading

    def refused(self, reason: str) -> None:
        """A connection or a request was refused."""
        self.counts[reason] += 1

    # Requests

    async def _post(self, request: web.Request) -> web.Response:
        """One message ([MC-MQSRM] 3.1.5.1)."""
        if not request.path.lower().startswith("/msmq/"):
            raise web.HTTPNotFound
        if request.headers.get("Content-Encoding", "identity").lower() != "identity":
            raise web.HTTPUnsupportedMediaType
        length = request.content_length
        size = REQUEST_SIZE_MAX if length is None else length
        if size > REQUEST_SIZE_MAX:
            self.refused(TOO_LARGE)
            return _answer(HTTPStatus.BAD_REQUEST, close=True)
        if self._buffered + size > self._buffer_size_max:
            self.refused(TOO_BUSY)
            return _answer(HTTPStatus.SERVICE_UNAVAILABLE, close=True)
        self._buffered += size
        try:
            return await self._handle(request)
        finally:
            self._buffered -= size

    async def _handle(self, request: web.Request) -> web.Response:
        connection = request.protocol
        self._reading[connection] = None
        try:
            if request.content.is_eof():  # it is all there: nothing to wait for
                content = await request.read()
            else:
                async with asyncio.timeout(self._read_s):
                    content = await request.read()
        except TimeoutError:
            self.refused(TOO_SLOW)
            return _answer(HTTPStatus.REQUEST_TIMEOUT, close=True)
        except web.HTTPRequestEntityTooLarge:
            self.refused(TOO_LARGE)
            return _answer(HTTPStatus.BAD_REQUEST, close=True)
        finally:
            self._reading.pop(connection, None)
        self._storing[connection] += 1
        try:
            return _answer(status_of(await self._store(request, content)))
        finally:
            self._storing[connection] -= 1
            if not self._storing[connection]:
                del self._storing[connection]

    async def _store(self, request: web.Request, content: bytes) -> SrmpOutcome:
        source = _source(request)
        try:
            now = int(self._clock.now())
            post = read_post(
                request.headers.get("Content-Type", ""),
                content,
                arrived=now,
                senders=self.senders,
                certificate=source.certificate,
                redirect=self._redirect,
            )
        except Malformed as error:
            self.refused(outcome_word(SrmpOutcome.MALFORMED))
            log_event(_log, "malformed message", address=source.address, error=error)
            return SrmpOutcome.MALFORMED
        if post.bad_signature:
            reason = post.bad_signature
            log_event(_log, "bad signature", address=source.address, reason=reason)
        outcome = await self._take(post, source)
        self.counts[outcome_word(outcome)] += 1
        return outcome


def _source(request: web.Request) -> PostSource:
    transport = request.transport
    security = None if transport is None else transport.get_extra_info("ssl_object")
    certificate = None if security is None else security.getpeercert(binary_form=True)
    return PostSource(request.remote or "", certificate or b"")


def _answer(status: HTTPStatus, *, close: bool = False) -> web.Response:
    """An empty answer, as those of Windows ([MC-MQSRM] 4.3)."""
    response = web.Response(status=status)
    if status is HTTPStatus.SERVICE_UNAVAILABLE:
        response.headers["Retry-After"] = str(RETRY_AFTER_S)
    if close:
        response.force_close()
    return response


async def _name_server(request: web.Request, response: web.StreamResponse) -> None:
    response.headers["Server"] = "OpenMSMQ"
    response.headers.popall("Content-Type", None)
