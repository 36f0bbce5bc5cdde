"""A connection of an event loop and the machine that speaks on it.

The machine gets bytes and gives bytes; here they come from a socket and go there, gathered into as
few writes as possible. Neither side can fill the memory: nothing is read while the machine has more
to do than it wants, or the other side does not take what is written.
"""

from __future__ import annotations

import asyncio
import select
from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol, cast

from openmsmq.net.keep_alive import enable_keep_alive

WRITE_BUFFER: Final = 1 << 20
"Bytes that may wait to be sent before nothing more is read."
LINGER: Final = 5.0
"Seconds that the other side gets to take what was sent before the end."
_LEFT: Final = getattr(select, "POLLRDHUP", 0)
"Elsewhere than on Linux only a reset is seen."


NOWHERE: Final = ("", 0)


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
        self._waiting = 0
        "Bytes in it."
        self._is_blocked = False
        "The other side does not take what is sent."
        self._is_paused = False
        self._is_closing = False
        self._farewell: asyncio.TimerHandle | None = None
        self.on_room: Callable[[], None] = _nothing
        "What the machine does when `is_crowded` is over."
        self.on_eof: Callable[[], None] = self.finish
        "What is done when the other side sends no more."
        self.peer = ""
        "Who is on the other side, for people."
        self.local = self.remote = NOWHERE
        "IP address and port of both sides, if they have one."
        self.certificate: Mapping[str, Any] = {}
        "The one that the other side has shown and that was found to be good; empty for none."

    @property
    def address(self) -> str:
        """The IP address of the other side."""
        return self.remote[0]

    @property
    def is_crowded(self) -> bool:
        """So much waits to be sent that nothing should be added."""
        return self._is_blocked or self._waiting > WRITE_BUFFER

    is_stuck = is_crowded
    "Nothing is read until that is over."

    @property
    def is_paused(self) -> bool:
        """Nothing is read, for one of the two reasons."""
        return self._is_paused

    @property
    def is_deserted(self) -> bool:
        """Nothing is read, and so nobody has noticed that the other side is gone."""
        if not self._is_paused or self._transport is None:
            return False
        asked = select.poll()
        asked.register(self._transport.get_extra_info("socket"), _LEFT)
        return bool(asked.poll(0))

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # Not asserted: those of other event loops are no instances of it.
        self._transport = transport = cast(asyncio.Transport, transport)
        name = transport.get_extra_info("peername")
        self.peer = _shown(name)
        self.remote = _endpoint(name)
        self.local = _endpoint(transport.get_extra_info("sockname"))
        self.certificate = transport.get_extra_info("peercert") or {}
        transport.set_write_buffer_limits(high=WRITE_BUFFER)
        enable_keep_alive(transport.get_extra_info("socket"))
        self._machine = self._make(self)

    def data_received(self, data: bytes) -> None:
        assert self._machine is not None
        if not self._is_closing:
            self._machine.receive_data(data)
            self.adjust()

    def eof_received(self) -> bool:
        self.on_eof()
        return not self._is_closing  # else the transport closes

    def finish(self) -> None:
        """The other side sends no more: so does this one."""
        self._flush()
        self.close()

    def write(self, data: bytes) -> None:
        """Send bytes, together with all others of this moment."""
        if not self._out:
            self._loop.call_soon(self._flush)
        self._out.append(data)
        self._waiting += len(data)

    def _flush(self) -> None:
        out, self._out = self._out, []
        was_crowded = self.is_crowded
        self._waiting = 0
        if out and self._transport is not None and not self._transport.is_closing():
            self._transport.write(out[0] if len(out) == 1 else b"".join(out))
            if was_crowded and not self.is_crowded:
                self._go_on()

    def close(self) -> None:
        """Send what is to be sent, and end the connection."""
        if not self._is_closing:
            self._is_closing = True
            self._loop.call_soon(self._close)

    def _close(self) -> None:
        self._flush()
        if self._transport is not None:
            self._transport.close()
            self._farewell = self._loop.call_later(LINGER, self._transport.abort)

    def abort(self) -> None:
        """End the connection at once."""
        self._is_closing = True
        if self._transport is not None:
            self._transport.abort()

    def adjust(self) -> None:
        """Read, or do not, as both sides can bear it."""
        assert self._machine is not None
        transport = self._transport
        if transport is None or transport.is_closing():
            return
        pause = self.is_stuck or self._machine.is_full
        if pause != self._is_paused:
            self._is_paused = pause
            if pause:
                transport.pause_reading()
            else:
                transport.resume_reading()

    def pause_writing(self) -> None:
        self._is_blocked = True
        self.adjust()

    def resume_writing(self) -> None:
        self._is_blocked = False
        if not self.is_crowded:
            self._go_on()

    def _go_on(self) -> None:
        """There is room for more."""
        if not self._is_closing:
            self.on_room()
        self.adjust()

    def connection_lost(self, error: Exception | None) -> None:
        self._is_closing = True
        self._transport = None
        if self._farewell is not None:
            self._farewell.cancel()
        assert self._machine is not None
        self._machine.lost()


def _endpoint(name: object) -> tuple[str, int]:
    return (name[0], name[1]) if isinstance(name, tuple) else NOWHERE


def _shown(name: object) -> str:
    """An address for people."""
    if not isinstance(name, tuple):
        return "a local socket"
    host, port = name[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _nothing() -> None:
    """Nobody waits for room."""
