"""The sockets of an RPC server, and its clock."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection
from typing import Final

from openmsmq.errors import MQError
from openmsmq.interfaces.limits import LISTENER_CONNECTIONS_MAX, PENDING_BYTES_MAX
from openmsmq.names.parts import fold
from openmsmq.net.connection import Connection
from openmsmq.rpc.association import Association
from openmsmq.rpc.server import RpcServer, ServerConnection
from openmsmq.runtime.listener import Listener, bind
from openmsmq.runtime.logs import log_event
from openmsmq.runtime.unfinished import Unfinished

LOOPBACK: Final = "127.0.0.1"
_log: Final = logging.getLogger(__name__)


class RpcListener:
    """Accepts the connections of RPC clients, for one server at one port."""

    def __init__(
        self,
        server: RpcServer,
        *,
        connections_max: int = LISTENER_CONNECTIONS_MAX,
        pending_bytes_max: int = PENDING_BYTES_MAX,
    ) -> None:
        self._server = server
        self._connections_max = connections_max
        self._listener = Listener(lambda: Connection(self._accept), self)
        self._open: dict[_Guarded, None] = {}
        "Connections, the oldest first."
        self._unfinished: Unfinished[_Guarded] = Unfinished(pending_bytes_max)
        self._port = 0

    @property
    def connections(self) -> int:
        """How many clients are connected."""
        return len(self._open)

    async def start(self, port: int, host: str = LOOPBACK) -> tuple[str, int]:
        """Accept connections; the address."""
        address = self._listener.start(await bind(host, port))
        self._port = address[1]
        return address

    async def stop(self) -> None:
        """Accept no more connections, and close those that there are; what they hold returns."""
        await self._listener.close()
        for one in list(self._open):
            one.abort()
        await asyncio.sleep(0)  # so that they learn of it

    def close_users(self, names: Collection[str]) -> None:
        """Close the connections of these users, in folded case: they have no right any more."""
        for one in list(self._open):
            if user_name(one.principal) in names:
                self.refused("user removed or changed", one.address)
                one.abort()

    def of(self, association: Association) -> list[_Guarded]:
        """The connections of one client."""
        return [one for one in self._open if one.association is association]

    def _accept(self, connection: Connection) -> _Guarded:
        now = asyncio.get_running_loop().time()
        machine = ServerConnection(self._server, connection, self._port, now)
        guarded = _Guarded(self, connection, machine)
        self._open[guarded] = None
        return guarded

    # For the connections

    def came(self, one: _Guarded, size: int, pending: int, now: float) -> None:
        """Bytes came on a connection; some wait for the rest of their request."""
        self._unfinished.note(one, size, pending, now)
        for other in self._unfinished.excess():
            self.refused("too much unfinished", other.address)
            other.abort()

    def gone(self, one: _Guarded) -> None:
        """A connection is closed."""
        self._open.pop(one, None)
        self._unfinished.forget(one)

    # For the listener

    def has_room(self) -> bool:
        """Whether one more connection may come: one that is not bound gives way to it."""
        if len(self._open) + self._listener.arriving < self._connections_max:
            return True
        silent = next((one for one in self._open if not one.is_bound), None)
        if silent is None:
            self.refused("too many connections")
            return False
        silent.abort()
        return True

    def refused(self, reason: str, address: str = "") -> None:
        """A connection was not made, or is closed."""
        self._server.refuse(reason, address)

    def exhausted(self, error: OSError) -> None:
        """The system has no connection to give."""
        self.refused("out of file descriptors")
        log_event(
            _log, "cannot accept connections", level=logging.ERROR, error=error, listener="rpc"
        )


class _Guarded:
    """A machine on a connection; when the manager is closed, the connection is, too."""

    is_known = True

    def __init__(
        self, listener: RpcListener, connection: Connection, machine: ServerConnection
    ) -> None:
        self._listener = listener
        self._connection = connection
        self._machine = machine

    @property
    def is_bound(self) -> bool:
        """The client has bound an interface."""
        return self._machine.is_bound

    @property
    def association(self) -> Association | None:
        """Whose connection it is."""
        return self._machine.association

    @property
    def received(self) -> int:
        """Bytes that came."""
        return self._connection.received

    @property
    def sent(self) -> int:
        """Bytes that were sent."""
        return self._connection.sent

    @property
    def is_full(self) -> bool:
        """Nothing is read from it for now."""
        return self._machine.is_full

    @property
    def principal(self) -> str:
        """Who has logged on."""
        return self._machine.principal

    @property
    def reads_paused(self) -> bool:
        """Nothing is read from it."""
        return self._connection.reads_paused

    @property
    def address(self) -> str:
        """The IP address of the client."""
        return self._connection.address

    @property
    def next_deadline(self) -> float | None:
        """When `tick` is to be called."""
        return self._machine.next_deadline

    def receive_data(self, data: bytes, now: float) -> None:
        """Take bytes from the client."""
        self._do(lambda: self._machine.receive_data(data, now))
        self._listener.came(self, len(data), self._machine.pending, now)

    def resume(self, now: float) -> None:
        """The write buffer has room again."""
        self._do(lambda: self._machine.resume(now))
        self._listener.came(self, 0, self._machine.pending, now)

    def _do(self, call: Callable[[], None]) -> None:
        try:
            call()
        except MQError as error:  # the manager is closed
            self._listener.refused(error.name, self.address)
            self.abort()

    def tick(self, now: float) -> None:
        """Do what is due."""
        self._machine.tick(now)

    def abort(self) -> None:
        """Close the connection at once."""
        self._connection.abort()

    def lost(self) -> None:
        """The connection is closed: what the client left behind is run down."""
        self._listener.gone(self)
        try:
            self._machine.lost()
        except MQError as error:  # the manager is closed, and returns everything itself
            self._listener.refused(error.name, self.address)


def user_name(principal: str) -> str:
    """The user of a principal, in folded case; the domain is what the client calls this one."""
    return fold(principal.rpartition("\\")[2])
