"""A server whose every answer the test writes, and channels of both kinds behind one face."""

from __future__ import annotations

import contextlib
import inspect
import shutil
import socket
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast
from uuid import UUID

from tests.unit.client.adapter import PATIENCE, start
from tests.unit.client.services import Loop

from openmsmq.app_protocol.calls import Welcome
from openmsmq.app_protocol.frames import FROM_CLIENT, Frame, Framer, Kind, encode_frame
from openmsmq.app_protocol.limits import FRAME_SIZE_MAX
from openmsmq.app_protocol.payloads import Messages, QueuedMessage
from openmsmq.client._async import channel as channel_aio
from openmsmq.client._sync import channel as channel_sync
from openmsmq.client.address import Address
from openmsmq.names.format import parse_format_name
from openmsmq.packet.builder import PacketBuilder
from openmsmq.types.received import ReceivedMessage

MANAGER = UUID("aaaaaaaa-bbbb-4ccc-8ddd-eeeeffff0000")
WELCOME = Welcome("a fake", MANAGER, "HOST", FRAME_SIZE_MAX, 8, 1 << 24, "admin")


class Peer:
    """The server's side of a connection."""

    def __init__(self, connection: socket.socket) -> None:
        connection.settimeout(PATIENCE)
        self.socket = connection
        self._framer = Framer(FROM_CLIENT, limit=FRAME_SIZE_MAX)

    def request(self) -> Frame:
        """The next thing that the client asks for."""
        while True:
            for frame in iter(self._framer.next_frame, None):
                return frame
            data = self.socket.recv(1 << 16)
            assert data, "the client has gone"
            self._framer.receive_data(data)

    def answer(self, kind: Kind, number: int, payload: bytes = b"") -> None:
        """Send a frame."""
        self.socket.sendall(encode_frame(kind, number, payload))

    def welcome(self, welcome: Welcome = WELCOME) -> None:
        """Answer the greeting."""
        self.answer(Kind.WELCOME, self.request().id, welcome.encode())

    def is_left(self) -> bool:
        """Whether the client ends the connection."""
        with contextlib.suppress(ConnectionError):
            while self.socket.recv(1 << 16):
                pass
        return True


class FakeServer:
    """Waits for a client."""

    def __init__(self) -> None:
        self._folder = Path(tempfile.mkdtemp())
        self.address = Address(socket=str(self._folder / "app"))
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.settimeout(PATIENCE)
        self._listener.bind(self.address.socket)
        self._listener.listen()
        self._peers: list[Peer] = []

    def accept(self) -> Peer:
        """The next client."""
        peer = Peer(self._listener.accept()[0])
        self._peers.append(peer)
        return peer

    def close(self) -> None:
        """End it."""
        for peer in self._peers:
            peer.socket.close()
        self._listener.close()
        shutil.rmtree(self._folder)


class Face:
    """A channel for asyncio whose calls are made by its loop and waited for."""

    def __init__(self, loop: Loop, channel: channel_aio.Channel) -> None:
        self._loop = loop
        self._channel = channel

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._channel, name)
        if not inspect.ismethod(found):
            return found

        async def call(*values: Any, **named: Any) -> Any:
            answer = found(*values, **named)
            return await answer if inspect.isawaitable(answer) else answer

        return lambda *values, **named: self._loop.run(call(*values, **named))


class Line:
    """Makes channels to a fake server."""

    def __init__(self, *, is_async: bool) -> None:
        self.server = FakeServer()
        self._loop = Loop() if is_async else None
        self._opened: list[channel_sync.Channel] = []

    def open(self, patience: float = PATIENCE) -> channel_sync.Channel:
        """A channel; the server must welcome it meanwhile."""
        address, loop = self.server.address, self._loop
        if loop is None:
            made = channel_sync.Channel.open(address, patience)
        else:
            opened = loop.run(channel_aio.Channel.open(address, patience))
            made = cast(channel_sync.Channel, Face(loop, opened))
        self._opened.append(made)
        return made

    def welcomed(
        self, welcome: Welcome = WELCOME, patience: float = PATIENCE
    ) -> tuple[channel_sync.Channel, Peer]:
        """A channel, and the server's side of it."""
        opening = start(lambda: self.open(patience))
        peer = self.server.accept()
        peer.welcome(welcome)
        return opening.result(PATIENCE), peer

    def close(self) -> None:
        """End everything."""
        for channel in self._opened:
            channel.aclose()
        if self._loop is not None:
            self._loop.close()
        self.server.close()


def messages(*lookups: int) -> bytes:
    """The payload of messages with these lookup identifiers."""
    builder = PacketBuilder(MANAGER, parse_format_name(r"DIRECT=OS:host\private$\orders"))
    packet = builder.build(b"x", message_id=1)
    return Messages(tuple(QueuedMessage(lookup, 0, 0, 0, 0, packet) for lookup in lookups)).encode()


def lookups(found: Sequence[QueuedMessage | ReceivedMessage]) -> list[int]:
    """Which messages these are."""
    return [message.lookup_id for message in found]
