"""Multicast in running services, over UDP on the loopback interface."""

from __future__ import annotations

import asyncio
from ipaddress import IPv4Address, IPv4Network

from tests.unit.transports.pgm.test_network import LOOPBACK, free_port

from openmsmq.clock import SystemClock
from openmsmq.engine.manager import QueueManager
from openmsmq.runtime.drivers import LoopDriver
from openmsmq.store.memory import MemoryStore
from openmsmq.transports.pgm.network import MulticastNetwork
from openmsmq.transports.pgm.service import MulticastService
from openmsmq.transports.pgm.timers import PgmTiming
from openmsmq.transports.pgm.transport import SourceSettings
from openmsmq.types.access import Access, Mode
from openmsmq.types.message import Message


class Running:
    """A manager that takes part in multicast."""

    def __init__(self, name: str, port: int, *allowed: str) -> None:
        clock = SystemClock()
        self.local = QueueManager(MemoryStore(), clock, name=name)
        self.driver = LoopDriver(self.local, self.local.clock)
        self.service = MulticastService(
            self.local, self.driver, clock,
            lambda: MulticastNetwork(LOOPBACK, udp_port=port, ttl=1, is_alert=True),
            settings=SourceSettings(PgmTiming(rate=10_000_000, window_s=10.0)),
            allowed=tuple(map(IPv4Network, allowed)),
        )  # fmt: skip

    async def listen(self) -> None:
        await self.service.start()
        await self.driver.wait(
            lambda: self.local.create_queue(".\\private$\\a", multicast="239.192.7.9:8001")
        )

    def count(self) -> int:
        queue = self.local.find_queue(".\\private$\\a")
        return queue.messages + len(queue.express)

    async def stop(self) -> None:
        await self.service.stop("the test is over")
        await self.driver.close()


def test_messages_go_from_one_manager_to_others() -> None:
    """PGM-139: and a source that is not allowed is not heard."""

    async def run() -> None:
        port = free_port()
        sender, first, second = Running("a", port), Running("b", port), Running("c", port)
        closed = Running("d", port, "10.0.0.0/8")
        await sender.service.start()
        for one in (first, second, closed):
            await one.listen()
        name = "MULTICAST=239.192.7.9:8001"
        handle = sender.driver.call(lambda: sender.local.open_queue(name, Mode(Access.SEND)))
        messages = [Message(bytes(3000), label=f"{n}") for n in range(50)]
        await sender.driver.wait(lambda: handle.send(messages))
        async with asyncio.timeout(20):
            while first.count() < 50 or second.count() < 50:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        assert closed.count() == 0
        assert closed.service.counts["source not allowed"] > 0
        for one in (sender, first, second, closed):
            await one.stop()

    asyncio.run(run())


def test_garbage_is_counted() -> None:
    """PGM-133."""

    async def run() -> None:
        service = Running("a", free_port())
        await service.service.start()
        service.service._received(b"garbage", IPv4Address("10.0.0.1"), IPv4Address("239.0.0.1"))
        assert service.service.counts["malformed"] == 1
        service.service._allowed = (IPv4Network("127.0.0.0/8"),)
        for source in ("10.0.0.1", "127.0.0.1"):
            service.service._received(b"garbage", IPv4Address(source), IPv4Address("239.0.0.1"))
        assert service.service.counts["source not allowed"] == 1
        assert service.service.counts["malformed"] == 2
        await service.stop()

    asyncio.run(run())
