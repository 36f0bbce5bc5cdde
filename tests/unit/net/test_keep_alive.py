"""TCP keep-alive."""

from __future__ import annotations

import socket

import pytest

from openmsmq.net import keep_alive
from openmsmq.net.keep_alive import KEEP_ALIVE, enable_keep_alive


def test_a_tcp_socket_probes_a_silent_peer() -> None:
    with socket.socket() as connected:
        enable_keep_alive(connected)
        assert connected.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        for name, value in KEEP_ALIVE.items():
            if hasattr(socket, name):
                assert connected.getsockopt(socket.IPPROTO_TCP, getattr(socket, name)) == value


def test_an_option_that_the_platform_lacks_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keep_alive, "KEEP_ALIVE", {"TCP_NO_SUCH_THING": 1})
    with socket.socket() as connected:
        enable_keep_alive(connected)
        assert connected.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)


def test_sockets_of_other_kinds_are_left_alone() -> None:
    enable_keep_alive(None)
    near, far = socket.socketpair()
    with near, far:
        enable_keep_alive(near)
        is_local = near.family == getattr(socket, "AF_UNIX", None)
        assert bool(near.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)) is not is_local
