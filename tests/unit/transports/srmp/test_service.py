"""Messages over HTTP in a running service."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from uuid import UUID

import pytest

from openmsmq.clock import SystemClock
from openmsmq.engine.manager import QueueManager
from openmsmq.names.format import parse_format_name
from openmsmq.packet.builder import PacketBuilder
from openmsmq.packet.view import PacketView
from openmsmq.runtime.drivers import LoopDriver
from openmsmq.soap.request import Request
from openmsmq.store.memory import MemoryStore
from openmsmq.transports.srmp.client import SrmpClient
from openmsmq.transports.srmp.delivery import SrmpTiming, Todo
from openmsmq.transports.srmp.exchange import PostResult, request_for
from openmsmq.transports.srmp.redirection import Redirections
from openmsmq.transports.srmp.service import SrmpService
from openmsmq.types.access import Access, Mode
from openmsmq.types.message import Message

ME = UUID(int=7)


class Running:
    """A manager with an HTTP port."""

    def __init__(
        self,
        name: str,
        url: str = "",
        redirections: Redirections | None = None,
        timing: SrmpTiming | None = None,
    ) -> None:
        clock = SystemClock()
        self.local = QueueManager(MemoryStore(), clock, name=name)
        self.driver = LoopDriver(self.local, self.local.clock)
        self.service = SrmpService(
            self.local,
            self.driver,
            clock,
            host="127.0.0.1",
            port=0,
            url=url,
            redirections=redirections,
            timing=timing,
        )

    async def stop(self) -> None:
        await self.service.stop("the test is over")
        await self.driver.close()


def test_a_message_goes_from_one_manager_to_another() -> None:
    """SRMP-001 to SRMP-003: and the port of a URL says which of them it is for.

    The answer is heard: nothing is left to be sent. What is stopped leaves no connection.
    """

    async def run() -> None:
        near, far = Running("near"), Running("far")
        await near.service.start()
        _, port = await far.service.start()
        await far.driver.wait(lambda: far.local.create_queue(".\\private$\\orders"))
        name = parse_format_name(f"DIRECT=HTTP://127.0.0.1:{port}/msmq/private$/orders")
        assert near.local.resolver.local(name) is None
        assert far.local.resolver.local(name) == "private$\\orders"
        handle = near.driver.call(lambda: near.local.open_queue(str(name), Mode(Access.SEND)))
        await near.driver.wait(lambda: handle.send([Message(b"<order/>")]))
        orders = far.local.find_queue(".\\private$\\orders")
        async with asyncio.timeout(20):
            while handle.queue.messages or not orders.messages:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        server = far.service.listener._server
        assert len(server.connections) == 1
        await near.stop()
        async with asyncio.timeout(20):
            while server.connections:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        await far.stop()
        assert far.service.receipts is not None
        assert far.service.receipts._is_stopped

    asyncio.run(run())


def test_messages_are_for_the_queue_that_they_are_redirected_to() -> None:
    """SRMP-168, SRMP-169: only those that came to an address of this manager."""

    async def run() -> None:
        url = "http://mq.example"
        rules = (
            (f"{url}/msmq/in*", f"{url}/msmq/private$/orders"),
            (f"{url}/msmq/away", "http://127.0.0.1:9/msmq/private$/orders"),
            ("http://elsewhere/*", f"{url}/msmq/private$/orders"),
        )
        far = Running("far", url, Redirections(incoming=rules))
        _, port = await far.service.start()
        await far.driver.wait(lambda: far.local.create_queue(".\\private$\\orders"))
        client = SrmpClient()
        statuses = []
        for to in (f"{url}/msmq/incoming", f"{url}/msmq/away", "http://elsewhere/msmq/incoming"):
            packet = PacketBuilder(ME, parse_format_name(f"DIRECT={to}")).build(b"1", message_id=7)
            asked = request_for(PacketView(packet), manager=ME, receipts_to="")
            result = await client.post(replace(asked, host=f"127.0.0.1:{port}"))
            statuses.append(result.status)
        assert statuses == [200, 200, 400], "what is for a queue elsewhere is passed on"
        orders = far.local.find_queue(".\\private$\\orders")
        assert orders.messages + len(orders.express) == 1
        await client.close()
        await far.stop()

    asyncio.run(run())


def test_the_durations_of_timers_are_those_of_the_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    """SRMP-267, SRMP-270, SRMP-274."""

    async def run() -> None:
        near = Running("near", timing=SrmpTiming(0.5, 7.0, (3.0, 4.0)))
        await near.service.start()
        requests: list[tuple[Request, Callable[[PostResult], None]]] = []
        waits: list[float] = []

        def post(
            request: Request, done: Callable[[PostResult], None], *, is_secure: bool
        ) -> _Never:
            requests.append((request, done))
            return _Never()

        def call_later(seconds: float, call: Callable[[], None]) -> _Never:
            waits.append(round(seconds))
            return _Never()

        monkeypatch.setattr(near.service, "post", post)
        monkeypatch.setattr(near.service, "call_later", call_later)
        name = "DIRECT=HTTP://elsewhere/msmq/private$/orders"
        handle = near.driver.call(lambda: near.local.open_queue(name, Mode(Access.SEND)))
        transaction = near.driver.call(near.local.begin)
        await near.driver.wait(lambda: handle.send([Message(b"1")], transaction))
        await near.driver.wait(lambda: near.local.commit(transaction))
        assert waits.pop() == 3  # until it is posted again
        near.driver.call(lambda: requests[0][1](PostResult(200)))
        transport = near.service.transport
        assert transport is not None
        delivery = next(iter(transport._routes.values())).delivery
        now = SystemClock().elapsed()
        assert delivery.tick(now + 3.5) == [Todo.RESEND]
        assert Todo.CLOSE not in delivery.tick(now + 6.5)
        assert Todo.CLOSE in delivery.tick(now + 7.5)
        for _ in range(5):
            delivery.posted(now, is_stream=False)
            delivery.answered(None, now, is_stream=False)
            assert delivery.retry_at is not None
            assert delivery.retry_at <= now + 0.5
            delivery.retry()
        assert delivery.failures == 5
        await near.stop()

    asyncio.run(run())


@pytest.mark.parametrize("url", ["", "https://mq.example.com"])
def test_streams_ask_for_receipts_at_the_address_of_the_port_or_the_one_that_was_given(
    url: str,
) -> None:
    """SRMP-106, SRMP-108, SRMP-287: by the scheme of the port, not of the destination (HTTP-56)."""

    async def run() -> None:
        near, requests = Running("near", url), list[Request]()
        await near.service.start()
        near.service.post = lambda request, done, *, is_secure: _keep(requests, request)  # type: ignore[method-assign]
        name = "DIRECT=HTTPS://elsewhere/msmq/private$/orders"
        handle = near.driver.call(lambda: near.local.open_queue(name, Mode(Access.SEND)))
        transaction = near.driver.call(near.local.begin)
        await near.driver.wait(lambda: handle.send([Message(b"1")], transaction))
        await near.driver.wait(lambda: near.local.commit(transaction))
        port = near.local.resolver.http_port
        expected = url or f"http://127.0.0.1:{port}"
        assert (
            f"<sendReceiptsTo>{expected}/msmq/private$/order_queue$<".encode()
            in requests[0].content
        )
        await near.stop()

    asyncio.run(run())


class _Never:
    def cancel(self) -> None:
        """Nothing is under way."""


def _keep(requests: list[Request], request: Request) -> _Never:
    requests.append(request)
    return _Never()
