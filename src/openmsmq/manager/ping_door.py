"""The door for pings: datagrams that ask whether a session would be accepted."""

from __future__ import annotations

import asyncio

from openmsmq.manager.local import LocalManager
from openmsmq.session.ping import answer_ping


class PingDoor(asyncio.DatagramProtocol):
    """Answers pings ([MS-MQQB] 3.1.7.7)."""

    def __init__(self, local: LocalManager, host: str, port: int) -> None:
        self._local = local
        self._place = host, port
        self._transport: asyncio.DatagramTransport | None = None

    async def start(self) -> tuple[str, int]:
        """Answer from now on; where."""
        loop = asyncio.get_running_loop()
        transport, _ = await loop.create_datagram_endpoint(lambda: self, local_addr=self._place)
        host, port = transport.get_extra_info("sockname")[:2]
        return host, port

    def connection_made(self, transport: asyncio.DatagramTransport) -> None:  # type: ignore[override] # of this kind
        self._transport = transport

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        transfers = self._local.transfers
        refuses = transfers is None or transfers.is_full or transfers.is_away
        answer = answer_ping(data, self._local.core.identity, refuses=refuses)
        if answer is not None and self._transport is not None:
            self._transport.sendto(answer, addr)

    async def stop(self, reason: str) -> None:
        """Answer no longer."""
        del reason
        if self._transport is not None:
            self._transport.close()
