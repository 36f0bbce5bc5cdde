"""TCP keep-alive: finds out that the other computer is gone although nothing is sent."""

from __future__ import annotations

import socket
from typing import Final

KEEP_ALIVE: Final = {"TCP_KEEPIDLE": 60, "TCP_KEEPINTVL": 15, "TCP_KEEPCNT": 4}
"Seconds of silence, seconds between probes, and how many of them remain unanswered."


def enable_keep_alive(connected: socket.socket | None) -> None:
    """Probe the other side of a silent connection; sockets of other kinds are left alone."""
    if connected is not None and connected.family in (socket.AF_INET, socket.AF_INET6):
        connected.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for name, value in KEEP_ALIVE.items():
            if hasattr(socket, name):  # not on every platform
                connected.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
