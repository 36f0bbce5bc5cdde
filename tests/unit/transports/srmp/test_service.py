"""Messages over HTTP in a running service."""

from __future__ import annotations

import asyncio

from openmsmq.clock import SystemClock
from openmsmq.engine.manager import QueueManager
from openmsmq.names.format import parse_format_name
from openmsmq.runtime.drivers import LoopDriver
from openmsmq.store.memory import MemoryStore
from openmsmq.transports.srmp.service import SrmpService
from openmsmq.types.access import Access, Mode
from openmsmq.types.message import Message


class Running:
    """A manager with an HTTP port."""

    def __init__(self, name: str) -> None:
        clock = SystemClock()
        self.local = QueueManager(MemoryStore(), clock, name=name)
        self.driver = LoopDriver(self.local, self.local.tick)
        self.service = SrmpService(self.local, self.driver, clock, host="127.0.0.1", port=0)

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
