"""Which manager gets the messages of an outgoing queue next, and which ones are passed over.

Hops that could not be connected to are avoided for a while, so that another way is taken at once;
if none is left, the one that failed longest ago is tried again (RT-02, RT-29).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple
from uuid import UUID

from openmsmq.engine.core import Core
from openmsmq.engine.queues.queue import ManagedQueue, Purpose
from openmsmq.transports.limits import FAILED_HOPS_MAX
from openmsmq.transports.peers.addresses import Addresses, next_hops
from openmsmq.transports.peers.peer import LinkT, Peer, PeerKey, PublicQueue, peer_key_of

NO_ROUTE: Final = "no route to "
"What the key of a peer begins with that cannot be dialled: no name of a computer has spaces."
AVOIDED: Final = 30.0
"Seconds for which a hop is passed over that could not be connected to."


CLEARED_EVERY: Final = 256
"New queues after which those are forgotten that are gone."


class _Failed(NamedTuple):
    at: float
    failures: int


class Hops:
    """The hop of each outgoing queue; for destinations outside the topology, the destination."""

    def __init__(
        self,
        core: Core,
        addresses: Addresses,
        now: Callable[[], float],
        ready: Callable[[ManagedQueue], None],
    ) -> None:
        """`ready` is called for a queue whose hop has changed."""
        self._core = core
        self._addresses = addresses
        addresses.route_by(core.routes.topology)
        self._ready = ready
        self._now = now
        self._chosen: dict[ManagedQueue, PeerKey] = {}
        self._failed: dict[UUID, _Failed] = {}
        "Hops that could not be connected to, the oldest first."

    def key_of(self, queue: ManagedQueue) -> PeerKey | None:
        """The peer that messages of a queue go to now; None if none from here."""
        chosen = self._chosen.get(queue)
        if chosen is not None:
            return chosen
        key = self._goal(queue)
        if not isinstance(key, UUID) or not self.is_routed(key):
            return key
        if len(self._chosen) % CLEARED_EVERY == 0:
            self._chosen = {item: hop for item, hop in self._chosen.items() if not item.deleted}
        self._chosen[queue] = found = self._choose(queue, key)
        return found

    def _goal(self, queue: ManagedQueue) -> PeerKey | None:
        """The peer that messages of a queue are for; of a public queue, what the directory says.

        ([MS-MQQB] 3.1.7.4; RT-19)
        """
        found = peer_key_of(queue.name)
        if isinstance(found, PublicQueue):
            return self._core.directory.owners.get(found.id)
        return found

    def is_routed(self, goal: UUID) -> bool:
        """Whether the topology decides about the way to a manager."""
        routes = self._core.routes
        return routes.manager is not None and goal in routes.topology.managers

    def hops(self, queue: ManagedQueue) -> tuple[UUID, ...]:
        """Where messages of a queue may go, the best first; nothing if they are not routed."""
        goal = self._goal(queue)
        if not isinstance(goal, UUID) or not self.is_routed(goal):
            return ()
        is_sideways = queue.properties.purpose is Purpose.FORWARD_NEARER
        return self._core.routes.decide(goal, is_sideways=is_sideways).hops

    def _choose(self, queue: ManagedQueue, goal: UUID) -> PeerKey:
        hops = self.hops(queue)
        if not hops:
            return f"{NO_ROUTE}{self._core.routes.topology.name_of(goal)}"
        fresh = [hop for hop in hops if not self._is_avoided(hop)]
        return fresh[0] if fresh else min(hops, key=lambda hop: self._failed[hop].at)

    def _is_avoided(self, hop: UUID) -> bool:
        failed = self._failed.get(hop)
        return failed is not None and self._now() < failed.at + AVOIDED

    def failures(self, key: PeerKey) -> int:
        """Attempts in a row that failed, as far as a hop is concerned."""
        return self._failed[key].failures if isinstance(key, UUID) and key in self._failed else 0

    def failed(self, key: PeerKey, failures: int) -> None:
        """A hop could not be connected to."""
        if isinstance(key, UUID):
            self._failed.pop(key, None)
            self._failed[key] = _Failed(self._now(), failures)
            if len(self._failed) > FAILED_HOPS_MAX:
                del self._failed[next(iter(self._failed))]

    def answered(self, key: PeerKey) -> None:
        """A hop is connected to."""
        if isinstance(key, UUID):
            self._failed.pop(key, None)

    def forget(self, queue: ManagedQueue) -> None:
        """The next connection begins with the best hop again (RT-29)."""
        self._chosen.pop(queue, None)

    def show(
        self, peer: Peer[LinkT], candidates: Callable[[PeerKey], list[tuple[str, int]]]
    ) -> None:
        """While queues wait for a peer, they show the addresses of all their hops, its own first.

        (NextHops, [MS-MQMQ] 2.3.12.12)
        """
        shown: dict[tuple[UUID, ...], tuple[str, ...]] = {}
        for queue in peer.queues:
            if queue.transfer is None:
                continue
            hops = self.hops(queue)
            if hops not in shown:
                others = [place for hop in hops if hop != peer.key for place in candidates(hop)]
                shown[hops] = next_hops(host for host, _ in (*peer.candidates, *others))
            queue.transfer.next_hops = shown[hops]

    # From hop to hop

    def leave(self, peer: Peer[LinkT]) -> None:
        """A hop cannot be connected to: its queues take another way, if there is one (RT-02)."""
        if peer.candidates:
            return  # there is another address of it
        self.failed(peer.key, peer.failures + 1)
        for queue in [queue for queue, carrier in peer.queues.items() if carrier is None]:
            if any(not self._is_avoided(hop) for hop in self.hops(queue) if hop != peer.key):
                del peer.queues[queue]
                self.forget(queue)
                self._ready(queue)

    def choose_again(self, peer: Peer[LinkT], only: ManagedQueue | None = None) -> None:
        """Give queues that no link carries the hop that is the best now."""
        if only is None and (peer.link is not None or peer.is_connecting):
            return
        for queue in list(peer.queues) if only is None else [only]:
            if peer.queues[queue] is None and self.hops(queue):
                self.forget(queue)
                if self.key_of(queue) != peer.key:
                    del peer.queues[queue]
                    self._ready(queue)

    def route_anew(
        self,
        peers: Iterable[Peer[LinkT]],
        drop: Callable[[LinkT | None, ManagedQueue], None],
    ) -> None:
        """Another topology counts: queues leave hops that are none any more.

        ([MS-MQQB] 3.1.6.2; RT-29)

        `drop` takes back what the link of a queue has, if there is one.
        """
        self._addresses.route_by(self._core.routes.topology)
        self._chosen.clear()
        self._failed.clear()
        for peer in list(peers):
            for queue, link in list(peer.queues.items()):
                if link is not None and peer.key in self.hops(queue):
                    self._chosen[queue] = peer.key  # an open session stays in use
                elif self.key_of(queue) != peer.key:
                    del peer.queues[queue]
                    drop(link, queue)
                    self._ready(queue)
