"""A TCP connection of a thread."""

from __future__ import annotations

import socket

import pytest

from openmsmq.client.remote_read._sync.tcp_socket import TcpSocket


def test_bytes_go_both_ways_until_the_end() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        ours = TcpSocket.open("127.0.0.1", server.getsockname()[1], 5)
        theirs, _ = server.accept()
        assert ours._socket.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        with theirs:
            with pytest.raises(TimeoutError):
                ours.receive(0.01)
            ours.send(b"hello")
            assert theirs.recv(10) == b"hello"
            theirs.sendall(b"world")
            assert ours.receive(5) == b"world"
        assert ours.receive(None) == b""
        ours.close()
        ours.close()
