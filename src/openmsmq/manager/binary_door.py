"""The door for other managers: sockets on which the binary protocol is spoken ([MS-MQQB] 2.1.1)."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Final

from openmsmq.clock import Clock
from openmsmq.errors import MQError
from openmsmq.manager.config import Config, split_address
from openmsmq.manager.drivers import LoopDriver
from openmsmq.manager.local import LocalManager
from openmsmq.manager.network import Machine, Timer, Wire
from openmsmq.manager.recorder import FLUSH_AFTER, Recorder, Recording
from openmsmq.manager.transfers import Transfers
from openmsmq.manager.ways import PORT
from openmsmq.model.transfer import ConnectionStatus
from openmsmq.net.connection import Connection

CONNECT_WITHIN: Final = 30.0
"Seconds that another computer has to answer."
FAREWELL: Final = 2.0
"Seconds that others get to take what was sent to them when the door closes."
BACKLOG: Final = 1024


class BinaryDoor:
    """Lets other managers in, and connects to them; the network of `Transfers`."""

    def __init__(
        self, local: LocalManager, driver: LoopDriver, config: Config, clock: Clock
    ) -> None:
        self._driver = driver
        self._config = config
        self._server: asyncio.Server | None = None
        self._connecting: set[asyncio.Task[None]] = set()
        self._clock = clock
        self.recorder = None if config.record is None else Recorder(config.record)
        self._flushing: asyncio.Task[None] | None = None
        peers = {name: split_address(where, PORT) for name, where in config.peers.items()}
        self.transfers = driver.call(
            lambda: Transfers(
                local,
                clock,
                self,
                peers=peers,
                answers_early=config.answers_early,
                sessions_max=config.sessions_max,
            )
        )

    async def start(self) -> tuple[str, int]:
        """Let other managers in; where they find the door."""
        loop = asyncio.get_running_loop()
        config = self._config
        make = partial(Connection, self._accept)
        host = config.binary_bind or config.bind
        self._server = await loop.create_server(make, host, config.binary_port, backlog=BACKLOG)
        if self.recorder is not None:
            self._flushing = loop.create_task(self._flush())
        host, port = self._server.sockets[0].getsockname()[:2]
        return host, port

    async def _flush(self) -> None:
        """Have what is recorded written, though nothing more may be said."""
        assert self.recorder is not None
        while True:
            await asyncio.sleep(FLUSH_AFTER)
            self.recorder.flush(self._clock.now())

    def _accept(self, connection: Connection) -> Spoken:
        return self._speak(connection, self.transfers.accept, accepted=True)

    def _speak(
        self, connection: Connection, make: Callable[[Wire], Machine], *, accepted: bool
    ) -> Spoken:
        if self.recorder is None:
            return Spoken(self._driver, connection, make)
        ends = connection.local, connection.remote
        recording = self.recorder.session(*ends, self._clock.now(), accepted=accepted)
        return Spoken(self._driver, connection, make, Tap(connection, recording, self._clock))

    def connect(
        self,
        host: str,
        port: int,
        made: Callable[[Wire], Machine],
        failed: Callable[[ConnectionStatus, str], None],
    ) -> None:
        """Connect to a computer, at whichever of its addresses answers."""
        task = asyncio.get_running_loop().create_task(self._connect(host, port, made, failed))
        self._connecting.add(task)
        task.add_done_callback(self._connecting.discard)

    async def _connect(
        self,
        host: str,
        port: int,
        made: Callable[[Wire], Machine],
        failed: Callable[[ConnectionStatus, str], None],
    ) -> None:
        loop = asyncio.get_running_loop()

        def make(connection: Connection) -> Spoken:
            return self._speak(connection, made, accepted=False)

        try:
            async with asyncio.timeout(CONNECT_WITHIN):
                await loop.create_connection(partial(Connection, make), host, port)
        except (OSError, UnicodeError) as error:  # a TimeoutError is an OSError, too
            status, words = _why(error)
            if not self._driver.is_closed:
                self._driver.call(lambda: failed(status, words))

    def call_later(self, seconds: float, call: Callable[[], None]) -> Timer:
        """Have something done later."""
        return asyncio.get_running_loop().call_later(seconds, self._call, call)

    def _call(self, call: Callable[[], None]) -> None:
        if not self._driver.is_closed:
            self._driver.call(call)

    async def stop(self, reason: str) -> None:
        """Close all sessions, and let nobody in any longer."""
        del reason  # the protocol has no words for it
        if self._server is not None:
            self._server.close()
        for task in self._connecting:
            task.cancel()
        self._driver.call(self.transfers.stop)
        end = asyncio.get_running_loop().time() + FAREWELL
        while self.transfers.links and asyncio.get_running_loop().time() < end:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        if self.recorder is not None and self._flushing is not None:
            self._flushing.cancel()
            self.recorder.flush(self._clock.now())


class Tap:
    """A connection whose every byte is recorded."""

    def __init__(self, connection: Connection, recording: Recording, clock: Clock) -> None:
        self._connection = connection
        self._recording = recording
        self._clock = clock

    @property
    def is_stuck(self) -> bool:
        """So much waits to be sent that nothing should be added."""
        return self._connection.is_stuck

    @property
    def address(self) -> str:
        """The IP address of the other side."""
        return self._connection.address

    def write(self, data: bytes) -> None:
        """Send bytes."""
        self._recording.sent(data, self._clock.now())
        self._connection.write(data)

    def received(self, data: bytes) -> None:
        """Bytes came."""
        self._recording.received(data, self._clock.now())

    def close(self) -> None:
        """Send what is to be sent, and end it."""
        self._connection.close()

    def adjust(self) -> None:
        """How much the machine on this side can take has changed."""
        self._connection.adjust()

    def lost(self) -> None:
        """The connection is over."""
        self._recording.closed(self._clock.now())


class Spoken:
    """A machine on a connection, whose every step is one of the manager's."""

    def __init__(
        self,
        driver: LoopDriver,
        connection: Connection,
        make: Callable[[Wire], Machine],
        tap: Tap | None = None,
    ) -> None:
        self._driver = driver
        self._tap = tap
        self._machine = driver.call(lambda: make(tap or connection))
        connection.on_room = lambda: self._do(self._machine.room)

    @property
    def is_full(self) -> bool:
        """It wants no more bytes for now."""
        return self._machine.is_full

    def receive_data(self, data: bytes) -> None:
        """Take what the other side sent."""
        if self._tap is not None:
            self._tap.received(data)
        self._do(lambda: self._machine.receive_data(data))

    def lost(self) -> None:
        """The connection is over."""
        self._do(self._machine.lost)
        if self._tap is not None:
            self._tap.lost()

    def _do(self, call: Callable[[], None]) -> None:
        with suppress(MQError):  # the manager is closed
            self._driver.call(call)


def _why(error: OSError | UnicodeError) -> tuple[ConnectionStatus, str]:
    if isinstance(error, UnicodeError):
        return ConnectionStatus.DNS_FAILURE, "no host can have this name"
    if isinstance(error, socket.gaierror):
        return ConnectionStatus.DNS_FAILURE, f"{error.strerror}"
    if isinstance(error, TimeoutError):
        return ConnectionStatus.SOCKET_CONNECT_FAILURE, "no answer in time"
    words = os.strerror(error.errno) if error.errno else str(error)
    return ConnectionStatus.SOCKET_CONNECT_FAILURE, words
