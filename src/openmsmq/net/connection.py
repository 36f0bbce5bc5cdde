"""A connection of an event loop and the machine that speaks on it.

The machine gets bytes and gives bytes; here they come from a socket and go there, gathered into as
few writes as possible. Neither side can fill the memory: nothing is read while the machine has more
to do than it wants, or the other side does not take what is written.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final, Protocol

WRITE_BUFFER: Final = 1 << 20
"Bytes that may wait to be sent before nothing more is read."


class Machine(Protocol):
    """What speaks on a connection."""

    @property
    def is_full(self) -> bool:
        """It wants no more bytes for now."""
        ...

    def receive_data(self, data: bytes) -> None:
        """Take what the other side sent."""
        ...

    def lost(self) -> None:
        """The connection is over."""
        ...


class Connection(asyncio.Protocol):
    """One connection, from either side."""

    def __init__(self, make: Callable[[Connection], Machine]) -> None:
        """`make` gives the machine once the connection is there."""
        self._make = make
        self._machine: Machine | None = None
        self._transport: asyncio.Transport | None = None
        self._loop = asyncio.get_running_loop()
        self._out: list[bytes] = []
        self._is_stuck = False
        self._is_paused = False
        self._is_closing = False

    @property
    def peer(self) -> str:
        """Who is on the other side, for people."""
        assert self._transport is not None
        name = self._transport.get_extra_info("peername")
        return f"{name[0]}:{name[1]}" if isinstance(name, tuple) else "a local socket"

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        transport.set_write_buffer_limits(high=WRITE_BUFFER)
        self._machine = self._make(self)

    def data_received(self, data: bytes) -> None:
        assert self._machine is not None
        if not self._is_closing:
            self._machine.receive_data(data)
            self.adjust()

    def write(self, data: bytes) -> None:
        """Send bytes, together with all others of this moment."""
        if not self._out:
            self._loop.call_soon(self._flush)
        self._out.append(data)

    def _flush(self) -> None:
        out, self._out = self._out, []
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(out[0] if len(out) == 1 else b"".join(out))

    def close(self) -> None:
        """Send what is to be sent, and end the connection."""
        if not self._is_closing:
            self._is_closing = True
            self._loop.call_soon(self._close)

    def _close(self) -> None:
        if self._out:
            self._flush()
        if self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        """End the connection at once."""
        self._is_closing = True
        if self._transport is not None:
            self._transport.abort()

    def adjust(self) -> None:
        """Read, or do not, as both sides can bear it."""
        assert self._machine is not None
        assert self._transport is not None
        pause = self._is_stuck or self._machine.is_full
        if pause != self._is_paused and not self._transport.is_closing():
            self._is_paused = pause
            if pause:
                self._transport.pause_reading()
            else:
                self._transport.resume_reading()

    def pause_writing(self) -> None:
        self._is_stuck = True
        self.adjust()

    def resume_writing(self) -> None:
        self._is_stuck = False
        self.adjust()

    def connection_lost(self, error: Exception | None) -> None:
        self._is_closing = True
        if self._machine is not None:
            self._machine.lost()
