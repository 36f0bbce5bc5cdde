"""Messages over HTTP in a running service."""

from __future__ import annotations

import asyncio

import pytest

from openmsmq.clock import SystemClock
from openmsmq.engine.manager import QueueManager
from openmsmq.names.format import parse_format_name
from openmsmq.runtime.drivers import LoopDriver
from openmsmq.soap.request import Request
from openmsmq.store.memory import MemoryStore
from openmsmq.transports.srmp.service import SrmpService
from openmsmq.types.access import Access, Mode
from openmsmq.types.message import Message


class Running:
    """A manager with an HTTP port."""

    def __init__(self, name: str, url: str = "") -> None:
        clock = SystemClock()
        self.local = QueueManager(MemoryStore(), clock, name=name)
        self.driver = LoopDriver(self.local, self.local.tick)
        self.service = SrmpService(
            self.local, self.driver, clock, host="127.0.0.1", port=0, url=url
        )

    async def stop(self) -> None:
        await self.service.stop("the test is over")
        await self.driver.close()


def test_a_message_goes_from_one_manager_to_another() -> None:
    """SRMP-001 to SRMP-003: and the port of a URL says which of them it is for."""

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
            while not orders.messages:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        await near.stop()
        await far.stop()

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
