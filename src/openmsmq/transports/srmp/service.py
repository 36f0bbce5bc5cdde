"""Messages over HTTP as a part of a running service: one listener, one sender."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from ssl import SSLContext
from typing import Final, NamedTuple

from yarl import URL

from openmsmq.clock import Clock
from openmsmq.engine.manager import QueueManager
from openmsmq.names.base import FormatName
from openmsmq.names.direct import DirectName
from openmsmq.names.parts import host_key
from openmsmq.net.addresses import is_loopback
from openmsmq.runtime.drivers import LoopDriver
from openmsmq.soap.addresses import destination_at
from openmsmq.soap.request import Request
from openmsmq.soap.signature import Signer
from openmsmq.transports.srmp.client import ClientSettings, SrmpClient
from openmsmq.transports.srmp.delivery import SrmpTiming
from openmsmq.transports.srmp.exchange import PostResult, PostSource, Senders, SrmpPost
from openmsmq.transports.srmp.listener import SrmpListener
from openmsmq.transports.srmp.outcomes import SrmpOutcome
from openmsmq.transports.srmp.receipt_sender import ReceiptSender
from openmsmq.transports.srmp.reception import SrmpReception, WaitingPost
from openmsmq.transports.srmp.redirection import Redirections
from openmsmq.transports.srmp.transport import SrmpTransport
from openmsmq.transports.timer import Timer

ORDER_QUEUE: Final = "/msmq/private$/order_queue$"
"Where stream receipts are sent to ([MC-MQSRM] 3.1.7.2.4)."


class Signatures(NamedTuple):
    """What messages are signed with, and what signatures of others are checked with."""

    signer: Signer | None = None
    senders: Senders | None = None


class SrmpService:
    """Listens for messages over HTTP, and sends those of outgoing queues."""

    def __init__(
        self,
        local: QueueManager,
        driver: LoopDriver,
        clock: Clock,
        *,
        host: str,
        port: int,
        url: str = "",
        tls: SSLContext | None = None,
        settings: ClientSettings | None = None,
        signatures: Signatures | None = None,
        redirections: Redirections | None = None,
        timing: SrmpTiming | None = None,
    ) -> None:
        """`url` is where others reach the listener, without path; `tls` makes it one for HTTPS."""
        self._redirections = redirections or Redirections()
        self._timing = timing or SrmpTiming()
        self._signatures = signatures or Signatures()
        self._settings = settings or ClientSettings()
        self._local = local
        self._driver = driver
        self._clock = clock
        self._url = url
        self._scheme = "http" if tls is None else "https"
        self.listener = SrmpListener(
            self.take,
            clock,
            host=host,
            port=port,
            tls=tls,
            senders=self._signatures.senders,
            redirect=self._redirected,
        )
        self._client: SrmpClient | None = None
        self._posting: set[asyncio.Task[None]] = set()
        self._posts: list[tuple[SrmpPost, PostSource, asyncio.Future[SrmpOutcome]]] = []
        "Messages that came in this turn of the loop."
        self._answers: list[tuple[Callable[[PostResult], None], PostResult]] = []
        "Answers that came in this turn of the loop."
        self.reception: SrmpReception | None = None
        self.transport: SrmpTransport | None = None
        self.receipts: ReceiptSender | None = None

    async def start(self) -> tuple[str, int]:
        """Listen, then send; where the listener is."""
        self._client = SrmpClient(self._settings, keep_alive_s=self._timing.clean_up)
        address = await self.listener.start()
        self._driver.call(lambda: self.begin(*address))
        return address

    def begin(self, host: str, port: int) -> None:
        """Take part in the transfer of messages, with a listener at an address."""
        local, clock = self._local, self._clock
        local.resolver.http_port = port
        # At a loopback address only this computer reaches it: no name is needed for that.
        named = host if is_loopback(host) else local.name
        url = self._url or f"{self._scheme}://{f'[{named}]' if ':' in named else named}:{port}"
        if self._url:
            local.resolver.http_place = _place(self._url)
        self.receipts = ReceiptSender(local, clock, self)
        self.transport = SrmpTransport(
            local,
            local.dispatcher,
            local.confirmations,
            clock,
            self,
            receipts_to=url + ORDER_QUEUE,
            posts_max=lambda host: self._settings.of(host).posts_max,
            signer=self._signatures.signer,
            redirections=self._redirections,
            timing=self._timing,
        )
        self.transport.received = self.listener.counts
        received = self.transport.received_receipts
        self.reception = SrmpReception(
            local, clock, self.receipts, received, self._redirections.is_forwarded
        )
        self.receipts.resume()

    async def stop(self, reason: str) -> None:
        """Take and send nothing more."""
        if not self._driver.is_closed:
            self._driver.call(self._end)
        await self.listener.stop(reason)
        for task in self._posting:
            task.cancel()
        await asyncio.gather(*self._posting, return_exceptions=True)
        if self._client is not None:
            await self._client.close()

    def _end(self) -> None:
        if self.transport is not None and self.receipts is not None:
            self.transport.stop()
            self.receipts.stop()

    async def take(self, post: SrmpPost, source: PostSource) -> SrmpOutcome:
        """What became of a message; one that must not be lost is on disk then."""
        reception = self.reception
        if reception is None or self._driver.is_closed:
            return SrmpOutcome.BUSY
        outcome: asyncio.Future[SrmpOutcome] = asyncio.get_running_loop().create_future()
        if not self._posts:  # those that come together are taken together
            asyncio.get_running_loop().call_soon(self._take_all, reception)
        self._posts.append((post, source, outcome))
        return await outcome

    def _take_all(self, reception: SrmpReception) -> None:
        posts, self._posts = self._posts, []

        def take() -> None:
            reception.take_all(
                WaitingPost(post, source, partial(_set, outcome), partial(_fail, outcome))
                for post, source, outcome in posts
            )

        if self._driver.is_closed:
            for _, _, outcome in posts:
                _set(outcome, SrmpOutcome.BUSY)
        else:
            self._driver.call(take)

    def _redirected(self, to: str) -> FormatName | None:
        """Another queue for a message to an address of this manager ([MC-MQSRM] 3.1.5.1.3)."""
        if not self._redirections.incoming:
            return None
        name = destination_at(to)
        if not isinstance(name, DirectName) or self._local.resolver.local(name) is None:
            return None
        return self._redirections.destination(name)

    # What the transport needs

    def post(
        self, request: Request, done: Callable[[PostResult], None], *, is_secure: bool
    ) -> Timer:
        """Post a request: `done` is called once, later, unless it is cancelled."""
        task = asyncio.get_running_loop().create_task(self._post(request, done, is_secure))
        self._posting.add(task)
        task.add_done_callback(self._posting.discard)
        return _Posted(task)

    async def _post(
        self, request: Request, done: Callable[[PostResult], None], is_secure: bool
    ) -> None:
        assert self._client is not None, "it was started"
        result = await self._client.post(request, is_secure=is_secure)
        if not self._answers:  # answers that come together are passed on together
            asyncio.get_running_loop().call_soon(self._tell)
        self._answers.append((done, result))

    def _tell(self) -> None:
        answers, self._answers = self._answers, []

        def tell() -> None:
            for done, result in answers:
                done(result)

        self._call(tell)

    def call_later(self, seconds: float, call: Callable[[], None]) -> Timer:
        """Have something done later."""
        return asyncio.get_running_loop().call_later(seconds, self._call, call)

    def _call(self, call: Callable[[], None]) -> None:
        if not self._driver.is_closed:
            self._driver.call(call)


def _set(outcome: asyncio.Future[SrmpOutcome], found: SrmpOutcome) -> None:
    if not outcome.done():
        outcome.set_result(found)


def _fail(outcome: asyncio.Future[SrmpOutcome], error: Exception) -> None:
    if not outcome.done():
        outcome.set_exception(error)


def _place(url: str) -> tuple[str, int]:
    """Host and port of a URL."""
    parsed = URL(url)
    return host_key(parsed.host or ""), parsed.port or 0


class _Posted:
    """A request under way."""

    def __init__(self, task: asyncio.Task[None]) -> None:
        self._task = task

    def cancel(self) -> None:
        """Give it up."""
        self._task.cancel()
