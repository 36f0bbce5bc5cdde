"""Connections to a manager that share queue handles ([MS-RPCE] 3.3.1.5.7), one call on each."""

from __future__ import annotations

import asyncio
from time import monotonic
from typing import TypeVar

from openmsmq.client.remote_read._async.tcp_socket import TcpSocket
from openmsmq.client.remote_read.messages import (
    NoSuchInterface,
    WireBuffer,
    error_of,
    map_arguments,
    mapped_port,
)
from openmsmq.client.remote_read.place import RemotePlace
from openmsmq.errors import (
    ConnectionLost,
    InsufficientResources,
    InvalidHandle,
    MQError,
    ServiceNotAvailable,
)
from openmsmq.interfaces.endpoint_mapper.stubs import ENDPOINT_MAPPER, MapperOpnum, MapResults
from openmsmq.interfaces.limits import CLIENT_CONNECTIONS_MAX
from openmsmq.interfaces.remote_read import stubs
from openmsmq.interfaces.remote_read.stubs import REMOTE_READ, ReadOpnum
from openmsmq.rpc.auth.channel import SecureChannel
from openmsmq.rpc.client import ClientConnection
from openmsmq.rpc.ndr.structure import Structure
from openmsmq.rpc.syntax import SyntaxId

StructureT = TypeVar("StructureT", bound=Structure)


class RpcLink:
    """A connection, bound to one interface, with one call at a time."""

    def __init__(
        self, socket: TcpSocket, host: str, syntax: SyntaxId, channel: SecureChannel, group: int
    ) -> None:
        self.syntax = syntax
        self._socket = socket
        self._wire = WireBuffer(host)
        now = monotonic()
        self.machine = ClientConnection(self._wire, syntax, now, channel=channel, group=group)

    async def bind(self, timeout: float) -> None:
        """Have the server accept the interface."""
        limit = monotonic() + timeout
        while not self.machine.is_ready:
            await self._exchange(limit)
            if self.machine.is_closed:
                kind = NoSuchInterface if self.machine.is_refused else ServiceNotAvailable
                raise kind(self.machine.failure)

    async def call(self, opnum: int, stub: bytes, timeout: float | None) -> bytes:
        """Make a call; the stub of its results."""
        answers: list[bytes | Exception] = []
        limit = None if timeout is None else monotonic() + timeout
        self.machine.call(opnum, stub, answers.append)
        while not answers:
            await self._exchange(limit)
        [answer] = answers
        if isinstance(answer, Exception):
            raise error_of(answer)
        return answer

    async def _exchange(self, limit: float | None) -> None:
        """Send what there is to send, then take what comes."""
        try:
            await self._socket.send(self._wire.take())
            data = await self._socket.receive(None if limit is None else limit - monotonic())
        except TimeoutError as error:
            raise ServiceNotAvailable("the manager did not answer in time") from error
        except OSError as error:
            raise ConnectionLost(str(error)) from error
        if data:
            self.machine.receive_data(data, monotonic())
        else:
            self.machine.lost()

    async def flush(self) -> None:
        """Send what is left to be sent, such as the last token of a login."""
        try:
            await self._socket.send(self._wire.take())
        except OSError as error:
            raise ConnectionLost(str(error)) from error

    def close(self) -> None:
        """Close the connection."""
        self._socket.close()


class RpcAssociation:
    """The connections of a client; handles are good as long as one of them is open."""

    is_translated = False
    "Calls that name no interface are made as calls of others."

    def __init__(
        self,
        place: RemotePlace,
        connections_max: int = CLIENT_CONNECTIONS_MAX,
        interface: SyntaxId = REMOTE_READ,
    ) -> None:
        """`interface` is the one that is called unless a call names another."""
        self._place = place
        self._interface = interface
        self._connections_max = connections_max
        self._idle: list[RpcLink] = []
        self._open: set[RpcLink] = set()
        self._group = 0
        self._port = place.port
        "0 until the manager was asked."
        self._connecting = asyncio.Lock()
        self._is_closed = False
        self.generation = 0
        "Rises when all handles are lost with the last connection."

    async def call(
        self,
        opnum: int,
        arguments: Structure,
        kind: type[StructureT],
        *,
        wait: float | None = 0,
        syntax: SyntaxId | None = None,
        abandoned: list[RpcLink] | None = None,
    ) -> StructureT:
        """Make a call on a connection that is free; the server may wait this many seconds.

        A connection whose call ended in no answer is closed. If the caller gave up and has a list
        for it, the connection is added there instead: handles would be lost with the last one.
        """
        if syntax is None and self.is_translated:
            found = await self._translate(opnum, arguments, wait, abandoned)
            assert isinstance(found, kind)
            return found
        link = await self._take(syntax or self._interface)
        timeout = None if wait is None else wait + self._place.timeout
        try:
            stub = await link.call(opnum, arguments.encode(), timeout)
        except ServiceNotAvailable:
            self._lost(link)
            raise
        except MQError:  # that is the answer
            self._idle.append(link)
            raise
        except BaseException:  # the call was cancelled
            if abandoned is None:
                self.drop(link)
            else:
                abandoned.append(link)
            raise
        self._idle.append(link)
        return kind.decode(stub)

    async def _translate(
        self, opnum: int, arguments: Structure, wait: float | None, abandoned: list[RpcLink] | None
    ) -> Structure:
        """Make a call that names no interface as calls of others."""
        raise NotImplementedError

    def _lost(self, link: RpcLink) -> None:
        """A connection failed."""
        self.drop(link)

    async def connect(self) -> None:
        """Have a connection, made if there is none."""
        self._idle.append(await self._take(self._interface))

    async def _take(self, syntax: SyntaxId) -> RpcLink:
        """A free connection for an interface, made if there is none."""
        for link in reversed(self._idle):
            if link.syntax == syntax:
                self._idle.remove(link)
                return link
        async with self._connecting:
            self._check_open()
            if len(self._open) >= self._connections_max:
                raise InsufficientResources(f"{self._connections_max} calls are under way")
            return await self._make(syntax)

    async def _make(self, syntax: SyntaxId) -> RpcLink:
        port = await self._port_of(syntax)
        link = await self._connect(port, syntax, self._place.channel(), self._group)
        try:
            self._check_open()
        except InvalidHandle:  # it was closed meanwhile, and would not be closed again
            link.close()
            raise
        self._group = link.machine.group
        self._open.add(link)
        return link

    def _check_open(self) -> None:
        if self._is_closed:
            raise InvalidHandle("the queue manager is closed")

    async def _port_of(self, syntax: SyntaxId) -> int:
        """Where an interface is called; the others are where the first one is."""
        if not self._port:
            self._port = await self._find_port(self._interface)
        return self._port

    async def _connect(
        self, port: int, syntax: SyntaxId, channel: SecureChannel, group: int = 0
    ) -> RpcLink:
        place = self._place
        try:
            socket = await TcpSocket.open(place.host, port, place.timeout)
        except OSError as error:
            raise ServiceNotAvailable(f"{place.host}:{port}: {error}") from error
        link = RpcLink(socket, place.host, syntax, channel, group)
        try:
            await link.bind(place.timeout)
            await link.flush()
        except BaseException:
            link.close()
            raise
        return link

    async def _find_port(self, interface: SyntaxId) -> int:
        """Ask the endpoint mapper, then R_GetServerPort there ([MS-MQRR] 3.1.4.1, 3.2.4.1).

        Other interfaces have no such operation ([MS-MQMR] 2.1).
        """
        place = self._place
        asked = map_arguments(interface)
        link = await self._connect(place.mapper_port, ENDPOINT_MAPPER, SecureChannel())
        try:
            stub = await link.call(MapperOpnum.MAP, asked.encode(), place.timeout)
        finally:
            link.close()
        port = mapped_port(MapResults.decode(stub), place.host)
        if interface != REMOTE_READ:
            return port
        link = await self._connect(port, REMOTE_READ, place.channel())
        try:
            arguments = stubs.NoArguments().encode()
            stub = await link.call(ReadOpnum.GET_SERVER_PORT, arguments, place.timeout)
        finally:
            link.close()
        return stubs.Status32.decode(stub).result & 0xFFFF or port

    def drop(self, link: RpcLink) -> None:
        """Close a connection; with the last one all handles are lost."""
        link.close()
        self._open.discard(link)
        if not self._open:
            self._group = 0
            self.generation += 1

    async def close(self) -> None:
        """Close all connections; what was read and not ended returns to its place."""
        self._is_closed = True
        self._idle.clear()
        for link in list(self._open):
            self.drop(link)
