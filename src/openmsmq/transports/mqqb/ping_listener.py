"""The listener for pings: datagrams that ask whether a session would be accepted."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from uuid import UUID

from openmsmq.capture.recorder import Recorder
from openmsmq.clock import Clock, SystemClock
from openmsmq.transports.mqqb.ping import answer_ping


class PingListener(asyncio.DatagramProtocol):
    """Answers pings ([MS-MQQB] 3.1.7.7)."""

    def __init__(
        self,
        identity: UUID,
        host: str,
        port: int,
        *,
        refuses: Callable[[], bool] = lambda: True,
        recorder: Recorder | None = None,
        clock: Clock | None = None,
    ) -> None:
        """`refuses` says if a session would be; `recorder` writes what is asked and answered."""
        self._identity = identity
        self._refuses = refuses
        self._place = host, port
        self._recorder = recorder
        self._clock = clock or SystemClock()
        self._transport: asyncio.DatagramTransport | None = None

    async def start(self) -> tuple[str, int]:
        """Answer from now on; where."""
        loop = asyncio.get_running_loop()
        transport, _ = await loop.create_datagram_endpoint(lambda: self, local_addr=self._place)
        self._place = transport.get_extra_info("sockname")[:2]
        return self._place

    def connection_made(self, transport: asyncio.DatagramTransport) -> None:  # type: ignore[override] # of this kind
        self._transport = transport

    def datagram_received(self, data: bytes, addr: tuple[str, int]) -> None:
        answer = answer_ping(data, self._identity, refuses=self._refuses())
        if answer is None or self._transport is None:
            return
        self._transport.sendto(answer, addr)
        if self._recorder is not None:
            own, other, now = self._place, addr[:2], self._clock.now()
            self._recorder.datagram(other, own, data, now)
            self._recorder.datagram(own, other, answer, now)

    async def stop(self, reason: str) -> None:
        """Answer no longer."""
        del reason
        if self._transport is not None:
            self._transport.close()
        if self._recorder is not None:
            self._recorder.flush(self._clock.now())
