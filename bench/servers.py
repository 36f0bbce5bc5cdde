"""Servers of others, on ports that nobody uses."""

from __future__ import annotations

import shutil
import socket
import subprocess
from importlib.util import find_spec

from bench import race


def is_installed(program: str, library: str) -> bool:
    """Whether a server and the library to talk to it are there."""
    return bool(shutil.which(program)) and find_spec(library) is not None


def free_port() -> int:
    """A port on loopback that nobody listens on."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


def wait_for_port(port: int, process: subprocess.Popen[bytes]) -> None:
    """Wait until a server listens."""

    def listens() -> bool:
        with socket.socket() as tried:
            return tried.connect_ex(("127.0.0.1", port)) == 0

    race.wait_until(listens, process)
