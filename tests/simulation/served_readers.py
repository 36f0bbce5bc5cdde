"""The server of remote readers in a simulated manager, and their connections."""

from __future__ import annotations

from contextlib import suppress
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Final

from openmsmq.app_server.wire import ProgramWire
from openmsmq.errors import MQError
from openmsmq.interfaces.driver import EngineDriver
from openmsmq.interfaces.levels import LevelPolicy
from openmsmq.interfaces.remote_read.server import RemoteReadServer
from openmsmq.interfaces.supporting_server.server import SupportingServer
from openmsmq.rpc.auth.context import AuthLevel
from openmsmq.rpc.interface import RpcClient
from openmsmq.rpc.server import RpcServer, ServerConnection
from openmsmq.types.caller import Caller
from tests.simulation.events import Scheduler
from tests.strategies.rpc import numbers

if TYPE_CHECKING:
    from tests.simulation.node import Node

CLEANUP_S: Final = 60.0
"Messages that readers were given and do not end are back in their place after so long."
IDLE_LIMIT_S: Final = 20.0
"Transactions of readers are aborted that are not used for so long."
LOOK_EVERY_S: Final = 2.0


class ServedReaders:
    """What a manager does for remote readers, while its process lives."""

    def __init__(self, node: Node, scheduler: Scheduler, driver: EngineDriver) -> None:
        assert node.local is not None
        self._node = node
        self._generation = node.generation
        self._scheduler = scheduler
        self._sessions: dict[ReaderSession, None] = {}
        self._ticks_at = inf
        self._server = RemoteReadServer(
            node.local,
            driver,
            port=2103,
            now=node.elapsed,
            random_bytes=numbers(),
            caller_of=_caller_of,
            policy=LevelPolicy(allow_unauthenticated=True),
            cleanup_after=CLEANUP_S,
        )
        self._supporting = SupportingServer(
            node.local,
            driver,
            caller_of=_caller_of,
            policy=LevelPolicy(allow_unauthenticated=True),
            clients_max=100,
            now=node.elapsed,
            random_bytes=numbers(),
            opening={},
        )
        self._server.reads.on_deadline = self._supporting.messages.on_deadline = self._plan
        interfaces = [
            self._server.interface,
            self._server.transactions.interface,
            self._supporting.interface,
            self._supporting.message_interface,
        ]
        self._rpc = RpcServer(interfaces, numbers(), lambda _: None, lambda _: AuthLevel.NONE)

    @property
    def associations(self) -> int:
        """Those that are there."""
        return len(self._rpc.associations)

    def accept(self, wire: ProgramWire) -> ReaderSession:
        """A reader has connected."""
        session = ReaderSession(self, self._rpc, wire, self._node.elapsed())
        if not self._sessions:
            self._scheduler.after(LOOK_EVERY_S, self._look)
        self._sessions[session] = None
        return session

    def gone(self, session: ReaderSession) -> None:
        """A connection is over."""
        self._sessions.pop(session, None)

    def stop(self) -> None:
        """Close all connections."""
        for session in list(self._sessions):
            session.stop()

    @property
    def _is_alive(self) -> bool:
        return self._generation == self._node.generation and not self._node.is_stopping

    def _look(self) -> None:
        """Abort transactions that are idle, as long as there are readers."""
        if self._is_alive and self._sessions:
            for part in (self._server.transactions, self._supporting.units):
                self._node.enter(self._generation, partial(part.abort_idle, IDLE_LIMIT_S))
            self._scheduler.after(LOOK_EVERY_S, self._look)

    def _plan(self) -> None:
        """Let waits end, and messages return, when that is due."""
        parts = self._server.reads, self._supporting.messages
        at = min(
            (part.next_deadline for part in parts if part.next_deadline is not None), default=inf
        )
        if at >= self._ticks_at:
            return
        self._ticks_at = at

        def tick() -> None:
            if self._ticks_at == at and self._is_alive:
                self._ticks_at = inf
                for part in parts:
                    tick_part = partial(part.tick, self._node.elapsed())
                    self._node.enter(self._generation, tick_part)
                self._plan()

        self._scheduler.after(max(0.0, at - self._node.elapsed()), tick)


class ReaderSession(ServerConnection):
    """A connection of a reader, which is closed with the manager."""

    def __init__(
        self, readers: ServedReaders, server: RpcServer, wire: ProgramWire, now: float
    ) -> None:
        super().__init__(server, wire, 2103, now)
        self._readers = readers
        self._end = wire

    def receive_data(self, data: bytes, now: float) -> None:
        """Take what the reader sent."""
        try:
            super().receive_data(data, now)
        except MQError:  # the manager is closed
            self.stop()

    def lost(self) -> None:
        """The connection is over."""
        self._readers.gone(self)
        with suppress(MQError):
            super().lost()

    def stop(self) -> None:
        """Close the connection."""
        self.lost()
        self._end.abort()


def _caller_of(client: RpcClient) -> Caller:
    return Caller(f"reader {client.address}")
