"""A TCP connection of a task."""

from __future__ import annotations

import asyncio
from socket import SO_KEEPALIVE, SOL_SOCKET

import pytest

from openmsmq.client.remote_read._async.tcp_socket import TcpSocket


def test_bytes_go_both_ways_until_the_end() -> None:
    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(await reader.readexactly(5))
        writer.close()

    async def run() -> None:
        server = await asyncio.start_server(echo, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        socket = await TcpSocket.open("127.0.0.1", port, 5)
        plain = socket._writer.get_extra_info("socket")
        assert plain.getsockopt(SOL_SOCKET, SO_KEEPALIVE)
        with pytest.raises(TimeoutError):
            await socket.receive(0.01)
        await socket.send(b"hello")
        assert await socket.receive(5) == b"hello"
        assert await socket.receive(None) == b""
        socket.close()
        socket.close()
        server.close()

    asyncio.run(run())
