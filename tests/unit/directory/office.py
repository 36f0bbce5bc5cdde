"""A manager of an enterprise, with a directory in memory."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from uuid import UUID

from tests.directories import BASE, example

from openmsmq.clock import SystemClock
from openmsmq.directory.memory import MemoryTree
from openmsmq.directory.objects import SiteObject
from openmsmq.directory.rights import manager_descriptor
from openmsmq.directory.service import DirectoryService
from openmsmq.directory.writer import DirectoryWriter
from openmsmq.engine.arrivals.arrival import Origin
from openmsmq.engine.manager import QueueManager
from openmsmq.runtime.drivers import LoopDriver
from openmsmq.security.sid import Sid
from openmsmq.store.memory import MemoryStore
from openmsmq.types.queues import QueueKind

PATH = f"CN=msmq,CN=NEW,OU=Servers,{BASE}"


class GivenIdentity(SystemClock):
    """Gives a manager the identity that the directory has chosen."""

    def __init__(self, *guids: UUID) -> None:
        super().__init__()
        self._guids = list(guids)

    def new_guid(self) -> UUID:
        """The next one that was given, or any."""
        return self._guids.pop(0) if self._guids else super().new_guid()


class Office:
    """A manager, which has joined the enterprise of the example."""

    def __init__(self, tree: MemoryTree, identity: UUID, name: str = "NEW") -> None:
        self.tree = tree
        self.writer = DirectoryWriter(tree)
        self.store = MemoryStore()
        self.local = QueueManager(self.store, GivenIdentity(identity), name=name)
        self.driver = LoopDriver(self.local, self.local.clock)
        self.now = 1000.0
        self.service = DirectoryService(self.local, self.driver, tree, now=lambda: self.now)

    @classmethod
    async def open(cls, identity: UUID | None = None) -> Office:
        """Another identity is one that the directory does not know."""
        tree = await example()
        computer = {"objectClass": [b"computer"], "sAMAccountName": [b"NEW$"]}
        await tree.add(f"CN=NEW,OU=Servers,{BASE}", computer)
        writer = DirectoryWriter(tree)
        sites = {site.name: site.id for site in await writer.find(SiteObject)}
        raw = (await writer.computer("NEW")).first("objectSid")
        assert raw is not None
        descriptor = manager_descriptor(Sid.decode(raw)).encode()
        joined = await writer.create_manager("NEW", {"sites": (sites["HQ"],)}, descriptor)
        return cls(tree, identity or joined)

    async def another(self, name: str) -> Office:
        """A manager of the same enterprise that its directory has already."""
        return Office(self.tree, (await self.writer.manager_of(name)).id, name)

    async def close(self) -> None:
        """Stop."""
        await self.service.stop("the test is over")
        await self.driver.close()

    def packets(self) -> dict[str, list[bytes]]:
        """Express messages on their way to other managers, by the name of their queue."""
        queues = self.local.queues.by_number.values()
        outgoing = [queue for queue in queues if queue.kind is QueueKind.OUTGOING]
        return {
            queue.name: [entry.packet for entry in queue.express.after(0)] for queue in outgoing
        }

    async def take(self, packets: list[bytes], source: UUID) -> None:
        """Express messages of another manager come."""
        origin = Origin("192.0.2.1", "elsewhere", source.bytes_le)
        arrivals = self.local.arrivals
        self.driver.call(lambda: arrivals.take_express(origin, arrivals.examined(packets)))

    def names(self) -> list[str]:
        """The public queues here."""
        return [queue.name for queue in self.local.queues if "\\" not in queue.name]


def in_office(test: Callable[[Office], Awaitable[None]], identity: UUID | None = None) -> None:
    """Run a test with a manager that has joined."""

    async def run() -> None:
        office = await Office.open(identity)
        try:
            await test(office)
        finally:
            await office.close()

    asyncio.run(run())


async def until(condition: Callable[[], bool]) -> None:
    """Wait for something that happens in other tasks."""
    while not condition():  # noqa: ASYNC110
        await asyncio.sleep(0.001)
