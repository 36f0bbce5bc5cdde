"""Dependent clients as people see them: what each has open, and which of its reads wait."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Protocol

from openmsmq.interfaces.limits import QUEUES_SHOWN_MAX
from openmsmq.interfaces.supporting_server.clients import DependentClient
from openmsmq.interfaces.supporting_server.open_queues import DependentQueue
from openmsmq.interfaces.supporting_server.queue_proxies import QueueProxy
from openmsmq.interfaces.supporting_server.server import SupportingServer
from openmsmq.rpc.association import Association
from openmsmq.types.access import Access
from openmsmq.types.peers import DependentInfo, DependentQueueInfo


class OpenConnection(Protocol):
    """A connection of a client."""

    @property
    def received(self) -> int:
        """Bytes that came."""
        ...

    @property
    def sent(self) -> int:
        """Bytes that were sent."""
        ...

    def abort(self) -> None:
        """Close it at once."""
        ...


class DependentRoster:
    """The dependent clients of a supporting server, listed and ended."""

    def __init__(
        self,
        server: SupportingServer,
        connections_of: Callable[[Association], list[OpenConnection]],
        now: Callable[[], float],
    ) -> None:
        self._server = server
        self._connections_of = connections_of
        self._now = now

    def all(self) -> list[DependentInfo]:
        """Those that have a queue or a transaction open, the oldest first."""
        queues: dict[Association, list[DependentQueue | QueueProxy]] = {}
        for queue in self._server.queues:
            queues.setdefault(queue.association, []).append(queue)
        units = Counter(unit.association for unit in self._server.units)
        found, room = [], QUEUES_SHOWN_MAX
        for client in self._server.clients:
            association = client.association
            opened = queues.get(association, [])
            found.append(self._info(client, units[association], opened, room))
            room = max(0, room - len(opened))
        return found

    def end(self, number: int) -> bool:
        """Cut the connections of one, whose handles run down; whether there was one."""
        found = [one for one in self._server.clients if one.number == number]
        for client in found:
            for connection in self._connections_of(client.association):
                connection.abort()
        return bool(found)

    def _info(
        self,
        client: DependentClient,
        units: int,
        opened: Sequence[DependentQueue | QueueProxy],
        room: int,
    ) -> DependentInfo:
        association = client.association
        connections = self._connections_of(association)
        return DependentInfo(
            id=f"d{client.number}",
            peer=association.address,
            who=client.who,
            age=int(self._now() - client.began),
            connections=len(connections),
            received=sum(one.received for one in connections),
            sent=sum(one.sent for one in connections),
            transactions=units,
            waiting=sum(len(queue.waiting) for queue in opened),
            open_queues=len(opened),
            queues=tuple(map(self._queue, opened[:room])),
        )

    def _queue(self, queue: DependentQueue | QueueProxy) -> DependentQueueInfo:
        longest = int(self._now() - min(queue.waiting.values())) if queue.waiting else None
        access = access_word(queue.mode.access)
        return DependentQueueInfo(str(queue.name), access, len(queue.waiting), longest)


def access_word(access: Access) -> str:
    """What a queue is open for; who may receive may peek, too."""
    if access is Access.SEND:
        return "send"
    return "receive" if Access.RECEIVE in access else "peek"
