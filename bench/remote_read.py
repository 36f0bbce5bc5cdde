"""Remote read: `python -m bench.remote_read`.

A two-step receive of a message of 1 KiB (R_StartReceive, R_EndReceive), express and recoverable,
against calls of the same runtime that do nothing (R_GetServerPort), all by one client over
loopback, and against the least it can take: two such calls, and what the same receive takes in a
manager of the same process, its commit included. A message of 4 MB; reads that wait, with the
memory and the processor time they cost; and receives through the supporting server ([MS-MQMP])
against remote reads, in alternating pairs: what they cost the manager and the client in processor
time.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from statistics import median
from typing import Any, Final

import openmsmq
from openmsmq import aio
from openmsmq.access.users import Users
from openmsmq.client.remote_read._sync.association import RpcAssociation
from openmsmq.client.remote_read.place import RemotePlace
from openmsmq.interfaces.remote_read import stubs
from openmsmq.interfaces.remote_read.stubs import ReadOpnum
from openmsmq.service.configuration import CONFIG_FILE

CALLS: Final = 2000
PAIRS: Final = 3
LARGE: Final = 4_000_000
CLIENTS, EACH = 20, 50
"Managers that clients connect to at the same time, and reads that wait in each: 1,000 in all."
LOGIN: Final[dict[str, Any]] = {"computer": "shop", "user": "bench", "password": "secret"}
LEVELS: Final = {
    "connect": "RPC_C_AUTHN_LEVEL_CONNECT",
    "privacy": "RPC_C_AUTHN_LEVEL_PKT_PRIVACY",
}
PAGE: Final = os.sysconf("SC_PAGE_SIZE")
TICK: Final = os.sysconf("SC_CLK_TCK")


@contextmanager
def served() -> Iterator[tuple[openmsmq.Manager, int, int]]:
    """A service in a process of its own: its manager, the port of remote calls, its process."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        Users(folder / "data").add("bench", "secret", "read")
        (folder / "data" / CONFIG_FILE).write_text("[rpc]\nconnections_max = 2000\n")
        ready = folder / "ready.json"
        off = ("--app-port", "off", "--console-port", "off", "--binary-port", "off")
        command = (sys.executable, "-m", "openmsmq", "serve", "--data", str(folder / "data"), *off)
        places = ("--app-socket", str(folder / "app"), "--rpc-port", "0", "--name", "shop")
        supporting = ("--supporting-server",)
        quiet = ("--log-level", "error", "--ready-file", str(ready))
        with subprocess.Popen((*command, *places, *supporting, *quiet)) as process:
            try:
                while not ready.exists():
                    time.sleep(0.02)
                port = json.loads(ready.read_text())["rpc"][1]
                with openmsmq.connect(f"unix:{folder / 'app'}") as manager:
                    yield manager, port, process.pid
            finally:
                process.kill()


def login(port: int, level: str = "privacy") -> RemotePlace:
    """Where the service is."""
    return RemotePlace.of("127.0.0.1", port=port, level=level, **LOGIN)


def empty_calls(port: int, level: str) -> float:
    """Calls a second that do nothing."""
    calls = RpcAssociation(login(port, level))
    calls.connect()
    start = time.perf_counter()
    for _ in range(CALLS):
        calls.call(ReadOpnum.GET_SERVER_PORT, stubs.NoArguments(), stubs.Status32)
    rate = CALLS / (time.perf_counter() - start)
    calls.close()
    return rate


def impacket_calls(port: int, level: str) -> float:
    """Empty calls a second by the client of impacket."""
    rpcrt: Any = import_module("impacket.dcerpc.v5.rpcrt")
    transport: Any = import_module("impacket.dcerpc.v5.transport")
    uuid: Any = import_module("impacket.uuid")
    binding = transport.DCERPCTransportFactory(f"ncacn_ip_tcp:127.0.0.1[{port}]")
    binding.set_credentials(LOGIN["user"], LOGIN["password"])
    client = binding.get_dce_rpc()
    client.set_auth_level(getattr(rpcrt, LEVELS[level]))
    client.connect()
    client.bind(uuid.uuidtup_to_bin((str(stubs.REMOTE_READ.uuid), "1.0")))
    start = time.perf_counter()
    for _ in range(CALLS):
        client.call(ReadOpnum.GET_SERVER_PORT, b"")
        client.recv()
    rate = CALLS / (time.perf_counter() - start)
    client.disconnect()
    return rate


def receives(manager: openmsmq.Manager, port: int, level: str, *, recoverable: bool) -> float:
    """Messages a second that are received in two steps."""
    queue = manager.create_queue("orders", exist_ok=True)
    queue.send_many([openmsmq.Message(bytes(1024), recoverable=recoverable)] * CALLS)
    with openmsmq.connect_remote("127.0.0.1", port=port, level=level, **LOGIN) as remote:
        orders = remote.open_queue("orders")
        start = time.perf_counter()
        for _ in range(CALLS):
            orders.receive(timeout=0)
        return CALLS / (time.perf_counter() - start)


def receives_here(*, recoverable: bool) -> float:
    """Messages a second that are received one by one from a manager in this process."""
    with tempfile.TemporaryDirectory() as name, openmsmq.open(name) as manager:
        queue = manager.create_queue("orders")
        queue.send_many([openmsmq.Message(bytes(1024), recoverable=recoverable)] * CALLS)
        start = time.perf_counter()
        for _ in range(CALLS):
            queue.receive(timeout=0)
        return CALLS / (time.perf_counter() - start)


def large(manager: openmsmq.Manager, port: int) -> float:
    """Seconds for a message of 4 MB."""
    manager.create_queue("large", exist_ok=True).send(openmsmq.Message(bytes(LARGE)))
    with openmsmq.connect_remote("127.0.0.1", port=port, **LOGIN) as remote:
        queue = remote.open_queue("large")
        start = time.perf_counter()
        assert len(queue.receive(timeout=0).body) == LARGE
        return time.perf_counter() - start


def memory(pid: int) -> int:
    """Bytes that a process has in memory."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * PAGE


def processor(pid: int) -> float:
    """Seconds that a process has computed."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def costs(connect: Callable[..., openmsmq.Manager], port: int, pid: int) -> tuple[float, float]:
    """Seconds that the manager and this client compute for a receive."""
    with connect("127.0.0.1", port=port, **LOGIN) as remote:
        orders = remote.open_queue("orders")
        there, here = processor(pid), time.process_time()
        for _ in range(CALLS):
            orders.receive(timeout=0)
        return (processor(pid) - there) / CALLS, (time.process_time() - here) / CALLS


def supported(manager: openmsmq.Manager, port: int, pid: int) -> tuple[float, float]:
    """A receive through the supporting server in remote reads: at the manager, and in all."""
    queue = manager.create_queue("orders", exist_ok=True)
    found: dict[str, list[tuple[float, float]]] = {"remote": [], "dependent": []}
    for _ in range(PAIRS):
        for name, connect in (
            ("remote", openmsmq.connect_remote),
            ("dependent", openmsmq.connect_dependent),
        ):
            queue.send_many([openmsmq.Message(bytes(1024))] * CALLS)
            found[name].append(costs(connect, port, pid))
    there = {name: median(one for one, _ in pairs) for name, pairs in found.items()}
    both = {name: median(sum(pair) for pair in pairs) for name, pairs in found.items()}
    return there["dependent"] / there["remote"], both["dependent"] / both["remote"]


async def wait_all(port: int, pid: int) -> tuple[float, float]:
    """Bytes for each of 1,000 reads that wait, and the share of a processor they take."""
    before = memory(pid)
    managers = [await aio.connect_remote("127.0.0.1", port=port, **LOGIN) for _ in range(CLIENTS)]
    queues = [await manager.open_queue("orders") for manager in managers]
    reads = [asyncio.ensure_future(queue.receive()) for queue in queues for _ in range(EACH)]
    await asyncio.sleep(15)
    used = memory(pid) - before
    begun = processor(pid)
    await asyncio.sleep(5)
    idle = (processor(pid) - begun) / 5
    for read in reads:
        read.cancel()
    await asyncio.gather(*reads, return_exceptions=True)
    for manager in managers:
        await manager.close()
    return used / len(reads), idle


def main() -> None:
    """Print all of it."""
    print("remote read, one client over loopback")
    with served() as (manager, port, pid):
        for recoverable in (False, True):
            here = receives_here(recoverable=recoverable)
            kind = "recoverable" if recoverable else "express"
            print(f"  {kind}: {here:,.0f} receives/s in a process")
            for level in ("connect", "privacy"):
                empty = empty_calls(port, level)
                found = receives(manager, port, level, recoverable=recoverable)
                least = 1 / (2 / empty + 1 / here)
                print(
                    f"    {level:8} {empty:7,.0f} empty calls/s {found:7,.0f} receives/s: "
                    f"{found / empty:.2f} of them, {found / least:.2f} of two and a receive"
                )
        for level in LEVELS:
            print(f"  impacket, {level}: {impacket_calls(port, level):,.0f} empty calls/s")
        print(f"  4 MB message {large(manager, port):.3f} s")
        at_manager, in_all = supported(manager, port, pid)
        print(
            f"  a receive through the supporting server: {at_manager:.2f} x the processor time of a"
            f" remote read at the manager, {in_all:.2f} x with the client (at most 1.5)"
        )
        used, idle = asyncio.run(wait_all(port, pid))
        print(f"  1,000 reads that wait: {used:,.0f} bytes each, {idle:.1%} of a processor")


if __name__ == "__main__":
    main()
