"""Many managers connected to one, and nothing to say: what does that cost?

`python -m bench.sessions [SESSIONS]`, 500 unless told otherwise. All sessions are open and idle;
the CPU time of the manager over ten seconds and its memory are read from /proc.
"""

from __future__ import annotations

import os
import resource
import shutil
import socket
import sys
import tempfile
import time
from pathlib import Path
from uuid import UUID

from bench.servers import free_port
from bench.transfer import Manager
from openmsmq.packet.connection import ConnectionParameters, EstablishConnection
from openmsmq.packet.headers.connection_parameters import ConnectionParametersHeader
from openmsmq.packet.headers.establish_connection import EstablishConnectionHeader
from openmsmq.packet.headers.user import NO_GUID

SESSIONS = 500
SECONDS = 10.0
SPARE = 50
"Files that are open for other reasons."


def open_session(port: int, number: int) -> socket.socket:
    """Another manager connects, up to the open session."""
    connection = socket.create_connection(("127.0.0.1", port), 30)
    header = EstablishConnectionHeader(UUID(int=number), NO_GUID, 0, 0x0310)
    connection.sendall(EstablishConnection(header).encode())
    take(connection, 572)
    parameters = ConnectionParametersHeader(500, 20_000, window_size=64)
    connection.sendall(ConnectionParameters(parameters).encode())
    take(connection, 32)
    return connection


def take(connection: socket.socket, size: int) -> None:
    """So many bytes of an answer."""
    while size:
        data = connection.recv(size)
        assert data, "the manager has closed the connection"
        size -= len(data)


def cpu_seconds(pid: int) -> float:
    """What a process has used so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory(pid: int) -> float:
    """MiB of a process that are in memory."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 2**20


def idle_cpu(pid: int) -> float:
    """The part of one CPU that a process uses now, in percent."""
    before = cpu_seconds(pid)
    time.sleep(SECONDS)
    return (cpu_seconds(pid) - before) / SECONDS * 100


def show(what: str, value: str) -> None:
    """One line of the result."""
    print(f"  {what:<50}{value:>14}")


def main(count: int = 500) -> None:
    """Open the sessions, wait, and say what they cost."""
    limit, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    if limit < count + SPARE:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(count + SPARE, most), most))
    folder, port = Path(tempfile.mkdtemp()), free_port()
    manager = Manager(folder, "a", port, {})
    connections: list[socket.socket] = []
    try:
        manager.start()
        alone, rest = memory(manager.pid), idle_cpu(manager.pid)
        started = time.perf_counter()
        for number in range(count):
            connections.append(open_session(port, number + 1))
        opened = time.perf_counter() - started
        show("sessions opened", f"{count / opened:,.0f}/s")
        show("CPU of a manager without sessions", f"{rest:.1f} %")
        show(f"CPU with {count} idle ones", f"{idle_cpu(manager.pid):.1f} %")
        used = memory(manager.pid)
        show("memory of it", f"{used:,.0f} MiB")
        show("of that for each session", f"{(used - alone) * 1024 / count:,.0f} KiB")
    finally:
        for connection in connections:
            connection.close()
        manager.stop()
        shutil.rmtree(folder)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else SESSIONS)
