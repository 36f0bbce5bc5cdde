"""Multicast as a part of a running service."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from hashlib import sha256
from ipaddress import IPv4Address, IPv4Network
from random import SystemRandom

from openmsmq.clock import Clock
from openmsmq.engine.manager import QueueManager
from openmsmq.errors.peer import Malformed
from openmsmq.runtime.drivers import LoopDriver
from openmsmq.transports.pgm.network import MulticastNetwork
from openmsmq.transports.pgm.packets import ReceiverPacket, decode
from openmsmq.transports.pgm.reception import MulticastReception
from openmsmq.transports.pgm.transport import PgmTransport, SourceSettings
from openmsmq.transports.srmp.exchange import Senders
from openmsmq.transports.timer import Timer


class MulticastService:
    """Sends to groups, and receives for the queues that have a group address."""

    def __init__(
        self,
        local: QueueManager,
        driver: LoopDriver,
        clock: Clock,
        network: Callable[[], MulticastNetwork],
        *,
        settings: SourceSettings,
        senders: Senders | None = None,
        may_relay: bool = False,
        allowed: tuple[IPv4Network, ...] = (),
    ) -> None:
        """`network` opens the sockets; `allowed` are the sources to listen to, all without one."""
        self._local = local
        self._driver = driver
        self._clock = clock
        self._open = network
        self._settings = settings
        self._senders = senders
        self._may_relay = may_relay
        self._allowed = allowed
        self._network: MulticastNetwork | None = None
        self.transport: PgmTransport | None = None
        self.reception: MulticastReception | None = None
        self.counts: Counter[str] = Counter()
        "Packets that were dropped, by reason."

    async def start(self) -> tuple[str, int]:
        """Open the sockets, then send and receive; the interface, and the port with UDP."""
        network = self._network = self._open()
        self._driver.call(lambda: self._begin(network))
        network.start(self._received)
        return str(network.interface), network.port or 0

    def _begin(self, network: MulticastNetwork) -> None:
        local, clock, random = self._local, self._clock, SystemRandom()
        timing = self._settings.timing
        gsi = sha256(local.identity.bytes).digest()[:6]
        self.transport = PgmTransport(
            local, local.dispatcher, clock, network, self, gsi=gsi, settings=self._settings
        )
        self.reception = MulticastReception(
            local,
            clock,
            network,
            self,
            lambda: random.uniform(timing.backoff_min_s, timing.backoff_max_s),
            timing=timing,
            senders=self._senders,
            may_relay=self._may_relay,
        )
        self.reception.rebind()
        self.transport.reception = self.reception

    async def stop(self, reason: str) -> None:
        """Send and receive no more."""
        if not self._driver.is_closed:
            self._driver.call(self._end)
        if self._network is not None:
            self._network.close()

    def _end(self) -> None:
        if self.transport is not None and self.reception is not None:
            self.transport.stop()
            self.reception.stop()

    def _received(self, data: bytes, source: IPv4Address, to: IPv4Address) -> None:
        if self._allowed and not any(source in network for network in self._allowed):
            self.counts["source not allowed"] += 1
            return
        try:
            packet = decode(data)
        except Malformed:
            self.counts["malformed"] += 1
            return
        transport, reception = self.transport, self.reception
        assert transport is not None, "it was started"
        assert reception is not None, "it was started"
        if isinstance(packet, ReceiverPacket):
            self._call(lambda: transport.receive(packet))
        if to.is_multicast:
            self._call(lambda: reception.receive(packet, source, to))

    # What transport and reception need

    def call_later(self, seconds: float, call: Callable[[], None]) -> Timer:
        """Have something done later."""
        return asyncio.get_running_loop().call_later(seconds, self._call, call)

    def _call(self, call: Callable[[], None]) -> None:
        if not self._driver.is_closed:
            self._driver.call(call)
