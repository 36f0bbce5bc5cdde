"""A connection of an event loop, and the machine that speaks on it.

The machine takes bytes and gives bytes; here they come from a socket and go to it, gathered into as
few writes as possible. Memory is bounded on both sides: nothing is read while the machine is full,
or while the peer does not read what is written.
"""

from __future__ import annotations

import asyncio
import hashlib
import select
from collections.abc import Callable, Mapping
from math import inf
from typing import Any, Final, cast

from openmsmq.net.keep_alive import enable_keep_alive
from openmsmq.net.unix_user import unix_user
from openmsmq.net.wire import Machine

WRITE_BUFFER: Final = 1 << 20
"Bytes that may wait to be sent before nothing more is read."
LINGER: Final = 5.0
"Seconds that the peer has to read what was sent before the connection is closed."
MUCH: Final = 64 * 1024
"""Bytes from which on there is probably more to read: an event loop may read all of that first, and
the peer would wait for its answer meanwhile.
"""
_HANGUP: Final = getattr(select, "POLLRDHUP", 0)
"On platforms other than Linux only a reset is noticed."

NOWHERE: Final = ("", 0)


class Connection(asyncio.Protocol):
    """One connection, from either side (`openmsmq.net.wire.Wire`)."""

    write_buffer_full = False
    "So much waits to be sent that nothing should be added; it is asked several times a message."
    received = sent = 0
    "Bytes that came, and that were sent."
    address = ""
    "The IP address of the peer."

    def __init__(
        self,
        make: Callable[[Connection], Machine],
        now: Callable[[], float] | None = None,
        *,
        reads_always: bool = False,
    ) -> None:
        """`make` gives the machine once connected; `now` is its clock, else that of the loop.

        With `reads_always` it reads although the write buffer is full: the peer may wait for that.
        """
        self._make = make
        self._reads_always = reads_always
        self._machine: Machine | None = None
        self._transport: asyncio.Transport | None = None
        self._loop = asyncio.get_running_loop()
        self._now = now or self._loop.time
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = inf
        "When it calls `tick`."
        self._ticks_soon = False
        "`tick` is called in the next round of the event loop."
        self._out: list[bytes] = []
        self._out_bytes = 0
        self._is_blocked = False
        "The peer does not read what is sent."
        self._reads_paused = False
        self._is_closing = False
        self._linger: asyncio.TimerHandle | None = None
        self.on_eof: Callable[[], None] | None = None
        "Called instead of `finish` when the peer has closed its side."
        self.peer = ""
        "The peer's address, for people."
        self.local = self.remote = NOWHERE
        "IP address and port of both sides, if they have one."
        self.tap: Callable[[bytes], None] | None = None
        "Hears what is sent."
        self.certificate: Mapping[str, Any] = {}
        "The certificate that the peer showed and that was verified; empty for none."

    @property
    def unix(self) -> tuple[int, ...]:
        """The user of this computer that the peer is, and its groups; empty if unknown."""
        found = self._transport
        return () if found is None else unix_user(found.get_extra_info("socket"))

    @property
    def fingerprint(self) -> str:
        """What identifies the certificate that the peer showed; empty for none."""
        found = self._transport and self._transport.get_extra_info("ssl_object")
        shown = found.getpeercert(binary_form=True) if found else None
        return hashlib.sha256(shown).hexdigest() if shown else ""

    @property
    def reads_paused(self) -> bool:
        """Nothing is read, since the machine or the write buffer is full."""
        return self._reads_paused

    @property
    def peer_gone(self) -> bool:
        """The peer has closed the connection, which is not noticed while nothing is read."""
        if not self._reads_paused or self._transport is None:
            return False
        poll = select.poll()
        poll.register(self._transport.get_extra_info("socket"), _HANGUP)
        return bool(poll.poll(0))

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # Not asserted: those of other event loops are no instances of it.
        self._transport = transport = cast(asyncio.Transport, transport)
        name = transport.get_extra_info("peername")
        self.peer = _shown(name)
        self.remote = _endpoint(name)
        self.address = self.remote[0]
        self.local = _endpoint(transport.get_extra_info("sockname"))
        self.certificate = transport.get_extra_info("peercert") or {}
        transport.set_write_buffer_limits(high=WRITE_BUFFER)
        enable_keep_alive(transport.get_extra_info("socket"))
        self._machine = self._make(self)
        self.update()

    def data_received(self, data: bytes) -> None:
        assert self._machine is not None
        self.received += len(data)
        if not self._is_closing:
            self._machine.receive_data(data, self._now())
            if self._out and len(data) >= MUCH:
                self._flush()
            self.update()

    def eof_received(self) -> bool:
        (self.on_eof or self.finish)()
        return not self._is_closing  # else the transport closes

    def finish(self) -> None:
        """Close this side, as the peer has closed the other."""
        self._flush()
        self.close()

    def write(self, data: bytes) -> None:
        """Send bytes, together with all others of this round of the event loop."""
        if self.tap is not None:
            self.tap(data)
        if not self._out:
            self._loop.call_soon(self._flush)
        self._out.append(data)
        self._out_bytes += len(data)
        if self._out_bytes > WRITE_BUFFER:
            self.write_buffer_full = True

    def _flush(self) -> None:
        out, self._out = self._out, []
        was_full = self.write_buffer_full
        self.sent += self._out_bytes
        self._out_bytes = 0
        self.write_buffer_full = self._is_blocked
        if out and self._transport is not None and not self._transport.is_closing():
            self._transport.write(out[0] if len(out) == 1 else b"".join(out))
            if was_full and not self.write_buffer_full:
                self._resume()

    def close(self) -> None:
        """Send what was written, then close the connection."""
        if not self._is_closing:
            self._is_closing = True
            self._loop.call_soon(self._close)

    def _close(self) -> None:
        self._flush()
        if self._transport is not None:
            self._transport.close()
            self._linger = self._loop.call_later(LINGER, self._transport.abort)

    def abort(self) -> None:
        """Close the connection at once; what was written and not sent is dropped."""
        self._is_closing = True
        if self._transport is not None:
            self._transport.abort()

    def update(self) -> None:
        """Pause or resume reading, and set the timer, as the machine is now."""
        machine, transport = self._machine, self._transport
        if machine is None or transport is None or transport.is_closing():
            return
        pause = machine.is_full or (self.write_buffer_full and not self._reads_always)
        if pause != self._reads_paused:
            self._reads_paused = pause
            if pause:
                transport.pause_reading()
            else:
                transport.resume_reading()
        deadline = machine.next_deadline
        if deadline is not None and deadline < self._timer_at:
            self._set_timer(deadline)

    def _set_timer(self, deadline: float) -> None:
        """Have `tick` called at a deadline that is earlier than the last one."""
        left = deadline - self._now()
        if left > 0:
            if self._timer is not None:
                self._timer.cancel()
            self._timer_at = deadline
            self._timer = self._loop.call_later(left, self._on_timer)
        elif not self._ticks_soon:
            self._ticks_soon = True
            self._loop.call_soon(self._on_turn)

    def _on_timer(self) -> None:
        deadline = self._timer_at  # has come, even if the clock of the timer is a little ahead
        self._timer, self._timer_at = None, inf
        self._tick(max(deadline, self._now()))

    def _on_turn(self) -> None:
        self._ticks_soon = False
        self._tick(self._now())

    def _tick(self, now: float) -> None:
        if not self._is_closing:
            assert self._machine is not None
            self._machine.tick(now)
            self.update()

    def pause_writing(self) -> None:
        self._is_blocked = self.write_buffer_full = True
        self.update()

    def resume_writing(self) -> None:
        self._is_blocked = False
        self.write_buffer_full = self._out_bytes > WRITE_BUFFER
        if not self.write_buffer_full:
            self._resume()

    def _resume(self) -> None:
        """There is room in the write buffer again."""
        assert self._machine is not None
        if not self._is_closing:
            self._machine.resume(self._now())
        self.update()

    def connection_lost(self, error: Exception | None) -> None:
        self._is_closing = True
        self._transport = None
        for timer in (self._linger, self._timer):
            if timer is not None:
                timer.cancel()
        machine = self._machine
        assert machine is not None
        # Who refers to this is referred to no more: the garbage collector has nothing to find.
        self._machine = self.on_eof = self.tap = None
        machine.lost()


def _endpoint(name: object) -> tuple[str, int]:
    """IP address and port; an address of one link alone comes with the number of that link."""
    if not isinstance(name, tuple):
        return NOWHERE
    host, port, *rest = name
    return (f"{host}%{rest[1]}" if rest[1:] and rest[1] else host), port


def _shown(name: object) -> str:
    """An address for people."""
    if not isinstance(name, tuple):
        return "a local socket"
    host, port = name[:2]
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
