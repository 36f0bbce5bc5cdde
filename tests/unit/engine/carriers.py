"""Transports for tests: one that remembers what it was given, one that carries in memory."""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from openmsmq.engine.outgoing.dispatch import Dispatcher
from openmsmq.engine.outgoing.transport import (
    AddressKind,
    PeerSessions,
    ResendStatus,
    RouteStatus,
)
from openmsmq.engine.queues.queue import ManagedQueue


class FakeTransport:
    """Remembers what the engine reported to it."""

    def __init__(self) -> None:
        self.reported: list[tuple[str, ManagedQueue]] = []

    @property
    def heard(self) -> list[str]:
        """What it was given, with the last letter of each queue's name; and forget it."""
        found = [f"{call} {queue.name[-1]}" for call, queue in self.reported]
        self.reported = []
        return found

    def ready(self, queue: ManagedQueue) -> None:
        self.reported.append(("ready", queue))

    def withdrawn(self, queue: ManagedQueue) -> None:
        self.reported.append(("withdrawn", queue))

    def offline(self) -> None:
        """There are no sessions."""

    def retry(self, queue: ManagedQueue) -> None:
        self.reported.append(("retry", queue))

    def route(self, queue: ManagedQueue) -> RouteStatus:
        return RouteStatus("connected", next_hop="memory")

    def resend(self, queue: ManagedQueue) -> None:
        self.reported.append(("resend", queue))

    def resend_status(self, queue: ManagedQueue) -> ResendStatus:
        return ResendStatus(12.5, 30.0)

    def sessions(self) -> dict[UUID, PeerSessions]:
        return {}


class MemoryTransport(FakeTransport):
    """Carries messages into a list, as soon as they are there."""

    def __init__(self, dispatcher: Dispatcher, kinds: Iterable[AddressKind], peer: UUID) -> None:
        super().__init__()
        self.carried: list[tuple[str, bytes]] = []
        "Name of the queue, and packet."
        self.is_open = True
        self._dispatcher = dispatcher
        self._peer = peer
        dispatcher.register(kinds, self)

    def ready(self, queue: ManagedQueue) -> None:
        super().ready(queue)
        if self.is_open:
            entries = self._dispatcher.take(queue, 100, 1 << 20, self._peer)
            self.carried += [(queue.name, entry.packet) for entry in entries]
            self._dispatcher.delivered(queue, entries)

    def retry(self, queue: ManagedQueue) -> None:
        self.ready(queue)
