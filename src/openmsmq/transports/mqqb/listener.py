"""The listener for other managers: sockets of the binary protocol ([MS-MQQB] 2.1.1)."""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import ssl
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Final

from openmsmq.capture.recorder import FLUSH_AFTER, Recorder
from openmsmq.capture.recordings import RunningRecording, Tap
from openmsmq.clock import Clock
from openmsmq.engine.arrivals.peers import Pin
from openmsmq.engine.manager import QueueManager
from openmsmq.errors import MQError
from openmsmq.net.connection import Connection
from openmsmq.net.wire import Wire
from openmsmq.packet.headers.user import NO_GUID
from openmsmq.runtime.drivers import LoopDriver
from openmsmq.runtime.listener import Listener, bind
from openmsmq.runtime.logs import log_event
from openmsmq.runtime.turns import Turns, next_count
from openmsmq.runtime.unfinished import RATE_LEAST, Unfinished
from openmsmq.service.configuration import Config
from openmsmq.service.values import split_address
from openmsmq.transports.limits import PIECES_MAX, REFUSALS_MAX
from openmsmq.transports.mqqb.events import SessionEnd
from openmsmq.transports.mqqb.link import Link
from openmsmq.transports.mqqb.network import PeerMachine
from openmsmq.transports.mqqb.transport import BinaryTransport
from openmsmq.transports.peers.addresses import PORT
from openmsmq.transports.peers.control import SessionControl
from openmsmq.transports.peers.tls import PeerCertificates
from openmsmq.transports.peers.trace import PacketTrace
from openmsmq.transports.timer import Timer
from openmsmq.types.outgoing import ConnectionStatus
from openmsmq.types.peers import SessionDetails, SessionInfo

CONNECT_WITHIN: Final = 30.0
"Seconds that another computer has to answer."
FAREWELL: Final = 2.0
"Seconds that others get to take what was sent to them when the listener closes."
PIECE: Final = 1024
"Bytes of a stranger that are handled before others get a turn, until it is known what they cost."
SINGLE_S: Final = 0.0002
"Seconds that a commit takes for a message that is not in a group, with what its sender asked for."
CLOSE_S: Final = 0.00005
"Seconds that the event loop takes to close a connection, beside the turns that this takes."
RATES_EVERY: Final = 5.0
"Seconds from one look at how fast unfinished packets come to the next."
_log: Final = logging.getLogger(__name__)


class BinaryListener:
    """Lets other managers in, and connects to them; the network of `BinaryTransport`."""

    def __init__(
        self, local: QueueManager, driver: LoopDriver, config: Config, clock: Clock
    ) -> None:
        self._driver = driver
        self._config = config
        self._listener = Listener(partial(Connection, self.accept, clock.elapsed), self)
        self._accepted: dict[Spoken, None] = {}
        "Connections that others have made, the oldest first."
        self._unfinished: Unfinished[Spoken] = Unfinished(config.pending_bytes_max)
        self.turns = Turns(driver)
        "For what strangers send."
        self._looking: asyncio.TimerHandle | None = None
        self._connecting: set[asyncio.Task[None]] = set()
        self.clock = clock
        self.recorder = None if config.record is None else Recorder(config.record)
        self._flushing: asyncio.Task[None] | None = None
        self.control = SessionControl(config.data, clock, self.call_later)
        entries = config.peers.items()
        peers = {name: split_address(entry.address, PORT) for name, entry in entries}
        own = (config.tls_cert, config.tls_key) if config.tls_cert and config.tls_key else None
        certificates = PeerCertificates(config.peer_certificates, own)
        pins = {
            name: Pin(
                entry.id, entry.relay, peers[name][0], certificates.fingerprints.get(name, "")
            )
            for name, entry in entries
        }
        self._tls = {
            place: context
            for name, place in peers.items()
            if (context := certificates.client(name)) is not None
        }
        "How places are dialled at which a certificate is pinned."
        self.tls_listener: TlsListener | None = None
        if config.binary_tls_port is not None:
            self.tls_listener = TlsListener(self, config, certificates.server())
        self.transport = driver.call(
            lambda: BinaryTransport(
                local,
                clock,
                self,
                peers=peers,
                pins=pins,
                identity=config.identity,
                answers_early=config.answers_early,
                sessions_max=config.sessions_max,
            )
        )

    async def start(self) -> tuple[str, int]:
        """Start to listen; the address."""
        assert self._config.binary_port is not None
        bound = await bind(self._config.peer_bind, self._config.binary_port)
        if self.recorder is not None:
            self._flushing = asyncio.get_running_loop().create_task(self._flush())
        self._look_again()
        return self._listener.start(bound)

    async def _flush(self) -> None:
        """Have what is recorded written, though nothing more may be said."""
        assert self.recorder is not None
        while True:
            await asyncio.sleep(FLUSH_AFTER)
            self.recorder.flush(self.clock.now())

    def accept(self, connection: Connection) -> Spoken:
        """Another manager has connected."""
        spoken = self._speak(connection, self.transport.accept, accepted=True)
        self._accepted[spoken] = None
        return spoken

    def _speak(
        self, connection: Connection, make: Callable[[Wire], PeerMachine], *, accepted: bool
    ) -> Spoken:
        taps = []
        running = self.control.recordings.running
        asked = running.recorder if running and running.is_about(connection.address) else None
        ends = connection.local, connection.remote
        for recorder in (self.recorder, asked):
            if recorder is not None:
                recording = recorder.session(*ends, self.clock.now(), accepted=accepted)
                is_asked = recorder is asked
                taps.append(Tap(recording, self.clock, from_start=True, is_asked=is_asked))
        spoken = Spoken(self, self._driver, connection, make, taps)
        self.control.add(spoken)
        return spoken

    # How much others may have of this manager

    def has_room(self) -> bool:
        """Whether one more connection may come: for a session, or for a refusal.

        The oldest connection on which no session was established gives way to it: silent
        connections do not keep others out.
        """
        limit = self._config.sessions_max
        used = len(self.transport.links) + self._listener.arriving
        if self.tls_listener is not None:
            used += self.tls_listener.arriving
        if used < limit:
            return True
        silent = next((one for one in self._accepted if one.is_silent), None)
        if silent is not None:
            silent.cut(SessionEnd.TOO_MANY, "no session was established on it")
        elif used >= limit + REFUSALS_MAX:
            self.refused(SessionEnd.TOO_MANY.value)
            return False
        return True

    def refused(self, reason: str) -> None:
        """A connection was not made."""
        self.transport.ended_by[reason] += 1

    def exhausted(self, error: OSError) -> None:
        """The system has no connection to give."""
        self.refused(SessionEnd.TOO_MANY.value)
        level = logging.ERROR
        log_event(_log, "cannot accept connections", level=level, error=error, listener="binary")

    def now(self) -> float:
        """The time of all sessions."""
        return self.clock.elapsed()

    def came(self, spoken: Spoken, size: int, pending: int) -> None:
        """Bytes came on a connection; some wait for the rest of their packet."""
        self._unfinished.note(spoken, size, pending, self.clock.elapsed())
        for other in self._unfinished.excess():
            limit = self._config.pending_bytes_max
            other.cut(
                SessionEnd.PENDING, f"all sessions together have more than {limit} bytes of them"
            )

    def gone(self, spoken: Spoken) -> None:
        """A connection is over."""
        self._unfinished.forget(spoken)
        self.control.forget(spoken)
        self._accepted.pop(spoken, None)

    def _look_again(self) -> None:
        loop = asyncio.get_running_loop()
        self._looking = loop.call_later(RATES_EVERY, self._look_again)
        for slow in self._unfinished.slow(self.clock.elapsed()):
            slow.cut(SessionEnd.TOO_SLOW, f"less than {RATE_LEAST} bytes a second")

    def connect(
        self,
        host: str,
        port: int,
        made: Callable[[Wire], PeerMachine],
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
        made: Callable[[Wire], PeerMachine],
        failed: Callable[[ConnectionStatus, str], None],
    ) -> None:
        loop = asyncio.get_running_loop()

        def make(connection: Connection) -> Spoken:
            return self._speak(connection, made, accepted=False)

        try:
            async with asyncio.timeout(CONNECT_WITHIN):
                await loop.create_connection(
                    partial(Connection, make, self.clock.elapsed),
                    host,
                    port,
                    ssl=self._tls.get((host, port)),
                )
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
        """Close all sessions, and accept no more."""
        del reason  # the protocol has no words for it
        await self._listener.close()
        self.control.close()
        if self._looking is not None:
            self._looking.cancel()
        for task in self._connecting:
            task.cancel()
        self._driver.call(self.transport.stop)
        end = asyncio.get_running_loop().time() + FAREWELL
        while self.transport.links and asyncio.get_running_loop().time() < end:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        if self.recorder is not None and self._flushing is not None:
            self._flushing.cancel()
            self.recorder.flush(self.clock.now())


class TlsListener:
    """Lets managers in that show a pinned certificate, at a port of its own."""

    def __init__(self, binary: BinaryListener, config: Config, tls: ssl.SSLContext) -> None:
        self._config = config
        self._listener = Listener(partial(Connection, binary.accept, binary.now), binary, tls=tls)

    @property
    def arriving(self) -> int:
        """Connections whose TLS handshake is under way."""
        return self._listener.arriving

    async def start(self) -> tuple[str, int]:
        """Start to listen; the address."""
        assert self._config.binary_tls_port is not None
        return self._listener.start(
            await bind(self._config.peer_bind, self._config.binary_tls_port)
        )

    async def stop(self, reason: str) -> None:
        """Accept no more; the sessions end with those of the binary port."""
        del reason
        await self._listener.close()


class Spoken:
    """A machine on a connection, whose every step is one of the manager's."""

    def __init__(
        self,
        listener: BinaryListener,
        driver: LoopDriver,
        connection: Connection,
        make: Callable[[Wire], PeerMachine],
        taps: list[Tap],
    ) -> None:
        """`taps` hear what is said."""
        self.number = listener.control.next_number()
        self._began = listener.now()
        self._listener = listener
        self._driver = driver
        self._connection = connection
        self._is_over = False
        self._later: deque[bytes | Callable[[], None]] = deque()
        "The backlog: pieces of what came, and what is done when there is no more."
        self._later_size = 0
        "Bytes of these pieces."
        self._pieces = 1
        "How many of them are handled in a turn."
        self._is_expected = listener.transport.addresses.has(connection.address)
        "It comes from where a manager is: it need not wait for others, under any name."
        self._taps = taps
        self._trace = PacketTrace(listener.clock)
        connection.tap = self._sent
        self._machine = driver.call(lambda: make(connection))
        if isinstance(self._machine, Link):
            self._machine.fingerprint = connection.fingerprint
        connection.on_eof = lambda: self._do_later(self._finish)

    def _sent(self, data: bytes) -> None:
        self._trace.note(data, is_sent=True)
        for tap in self._taps:
            tap.sent(data)

    def record(self, running: RunningRecording, clock: Clock) -> None:
        """Write down what is said from now on, if the recording is about it."""
        connection = self._connection
        if running.is_about(connection.address) and not self._is_over:
            accepted = not (isinstance(self._machine, Link) and self._machine.is_initiator)
            ends = connection.local, connection.remote
            recording = running.recorder.session(*ends, clock.now(), accepted=accepted)
            self._taps.append(Tap(recording, clock, from_start=False, is_asked=True))

    def record_no_more(self) -> None:
        """The recording that a client asked for is over."""
        for tap in [one for one in self._taps if one.is_asked]:
            self._taps.remove(tap)
            tap.close()

    def end(self) -> None:
        """End it, since an administrator has asked for that."""
        self.cut(SessionEnd.ENDED, "an administrator asked for it")

    def info(self) -> SessionInfo:
        """What is known of it."""
        connection, machine = self._connection, self._machine
        peer = machine.session.peer if isinstance(machine, Link) else NO_GUID
        name = "" if peer == NO_GUID else str(peer)
        return SessionInfo(
            id=f"m{self.number}",
            kind="manager",
            peer=connection.peer,
            name=name,
            who=self._listener.transport.known.name_of(peer),
            incoming=not (isinstance(machine, Link) and machine.is_initiator),
            is_open=machine.is_open and not self._is_over,
            age=int(self._listener.now() - self._began),
            received=connection.received,
            sent=connection.sent,
        )

    def details(self) -> SessionDetails:
        """The same with its window and its last packets."""
        packets = self._trace.packets()
        if not isinstance(self._machine, Link):
            return SessionDetails(self.info(), "not established", packets=packets)
        return replace(self._machine.details(self.info()), packets=packets)

    @property
    def is_full(self) -> bool:
        """It wants no more bytes for now."""
        return bool(self._later) or self._machine.is_full

    @property
    def next_deadline(self) -> float | None:
        """When `tick` is to be called; None for never."""
        return None if self._driver.is_closed else self._machine.next_deadline

    @property
    def is_silent(self) -> bool:
        """No session was established, and it is not on its way out."""
        return not (self._is_over or self._machine.is_open)

    @property
    def is_known(self) -> bool:
        """The other side is one of the managers that this one knows."""
        return self._machine.is_known

    @property
    def reads_paused(self) -> bool:
        """Nothing is read from it."""
        return self._connection.reads_paused

    @property
    def address(self) -> str:
        """The IP address of the other side."""
        return self._connection.address

    def resume(self, now: float) -> None:
        """The write buffer has room again."""
        self._do(lambda: self._machine.resume(now))

    def tick(self, now: float) -> None:
        """Do what is due."""
        self._do(lambda: self._machine.tick(now))

    def receive_data(self, data: bytes, now: float) -> None:
        """Take what the other side sent: of a known manager at once, of a stranger in turns.

        A manager is known once this one has dialled it; until then its configured address will do.
        """
        pending = self._pending
        is_whole = not pending
        self._trace.note(data, is_sent=False, is_whole=is_whole)
        for tap in self._taps:
            tap.received(data, is_whole=is_whole)
        if (self._is_expected or self.is_known) and not self._later:
            self._take(data, now, pending)
            return
        waiting = len(self._later)
        self._later += [data[at : at + PIECE] for at in range(0, len(data), PIECE)]
        self._later_size += len(data)
        self._listener.came(self, len(data), self._pending)
        if not waiting:
            self._listener.turns.add(self._take_turn)

    def _do_later(self, call: Callable[[], None]) -> None:
        """Do something after the backlog, when it is its turn."""
        self._later.append(call)
        if len(self._later) == 1:
            self._listener.turns.add(self._take_turn)

    def _take_turn(self) -> bool:
        """Handle some pieces; whether there are more."""
        if not self._later:
            return False  # the connection was cut
        try:
            piece = self._later[0]
            if isinstance(piece, bytes):
                self._take_pieces()
            else:
                self._later.popleft()
                piece()
        except Exception:
            self._drop_backlog()
            self._connection.abort()
            raise
        self._connection.update()
        return bool(self._later)

    def _take_pieces(self) -> None:
        """Handle as many pieces as usually fit in a turn, and learn what they cost."""
        later = self._later
        found: list[bytes] = []
        while later and len(found) < self._pieces and isinstance(piece := later[0], bytes):
            found.append(piece)
            later.popleft()
        data = b"".join(found)
        self._later_size -= len(data)
        began, singles = time.perf_counter(), self._machine.singles
        self._take(data, self._listener.now(), self._pending)
        to_come = (self._machine.singles - singles) * SINGLE_S
        self._listener.turns.charge(to_come)
        took = time.perf_counter() - began + to_come
        self._pieces = next_count(self._pieces, len(found), took, PIECES_MAX)

    def _drop_backlog(self) -> None:
        self._later.clear()
        self._later_size = 0

    def _take(self, data: bytes, now: float, waited: int) -> None:
        self._do(lambda: self._machine.receive_data(data, now))
        if not self._is_over:
            pending = self._pending
            self._listener.came(self, max(0, pending - waited), pending)

    @property
    def _pending(self) -> int:
        """Bytes that wait: for their turn, or for the rest of their packet."""
        return self._machine.pending + self._later_size

    def cut(self, reason: SessionEnd, detail: str) -> None:
        """End the session and the connection at once, whether the other side listens or not."""
        self._is_over = True
        self._drop_backlog()
        self._listener.gone(self)
        self._do(lambda: self._machine.close(reason, detail))
        self._connection.abort()

    def _finish(self) -> None:
        """Close this side, as the other one is: thousands may be closed at one moment."""
        self._listener.turns.spend(CLOSE_S)
        self._connection.finish()

    def lost(self) -> None:
        """The connection is over; what came before that still counts."""
        self._do_later(self._end)

    def _end(self) -> None:
        self._listener.gone(self)
        self._do(self._machine.lost)
        for tap in self._taps:
            tap.close()
        self._taps = []

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
