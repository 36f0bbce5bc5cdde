"""From one manager to another over HTTP, beside a plain POST/200 loop with the same bodies.

`python -m bench.http_transfer [MESSAGES]`, 5,000 unless told otherwise. The plain loop keeps
nothing: aiohttp posts, aiohttp answers 200, with as many requests at a time. Messages are on the
disks of both managers.
"""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from uuid import UUID

import aiohttp

import openmsmq
from bench.servers import free_port
from bench.transfer import BODY, Manager, fill
from openmsmq.names.format import parse_format_name
from openmsmq.packet.builder import PacketBuilder
from openmsmq.packet.view import PacketView
from openmsmq.soap.request import Request
from openmsmq.transports.srmp.exchange import request_for
from openmsmq.transports.srmp.limits import POSTS_MAX

KINDS = ("recoverable", "transactional")
SERVER = """
import sys
from aiohttp import web

async def post(request):
    await request.read()
    return web.Response()

app = web.Application()
app.router.add_post("/{path:.*}", post)
web.run_app(app, host="127.0.0.1", port=int(sys.argv[1]), print=None, access_log=None)
"""


def request(port: int) -> Request:
    """A request like those of the managers."""
    name = parse_format_name(f"DIRECT=HTTP://127.0.0.1:{port}/msmq/private$/recoverable")
    packet = PacketBuilder(UUID(int=1), name).build(BODY, label="order", message_id=7)
    return request_for(PacketView(packet), manager=UUID(int=1), receipts_to="")


async def post_all(port: int, count: int) -> float:
    """Posts a second, several at a time."""
    one = request(port)
    url = f"http://127.0.0.1:{port}{one.target}"
    left = iter(range(count))
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=POSTS_MAX)) as session:

        async def loop() -> None:
            for _ in left:
                async with session.post(url, data=one.content, headers=one.headers) as answer:
                    assert answer.status == 200

        for _ in range(1200):  # a minute, on a busy machine
            try:
                async with session.post(url, data=b""):
                    break
            except aiohttp.ClientError:
                await asyncio.sleep(0.05)
        start = time.perf_counter()
        await asyncio.gather(*(loop() for _ in range(POSTS_MAX)))
        return count / (time.perf_counter() - start)


def plain(count: int) -> tuple[float, float, float]:
    """Posts a second of a loop that keeps nothing, and the processor time of client and server."""
    port = free_port()
    server = subprocess.Popen([sys.executable, "-c", SERVER, str(port)])
    try:
        asyncio.run(post_all(port, 200))  # all is loaded
        before = time.process_time(), processor_time(server.pid)
        rate = asyncio.run(post_all(port, count))
        client, there = time.process_time() - before[0], processor_time(server.pid) - before[1]
        return rate, client / count * 1e6, there / count * 1e6
    finally:
        server.terminate()
        server.wait()


def processor_time(pid: int) -> float:
    """Seconds of the processor that a process has used (Linux)."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / 100


def measure(
    sender: Manager, receiver: Manager, port: int, kind: str, count: int
) -> tuple[float, float, float]:
    """Messages a second, and microseconds of the processor for each at sender and receiver."""
    with openmsmq.connect(sender.address) as manager, openmsmq.connect(receiver.address) as there:
        queue = manager.open_queue(f"DIRECT=HTTP://127.0.0.1:{port}/msmq/private$/{kind}")
        queue.pause()
        fill(manager, queue, kind, count)
        arrived = there.open_queue(kind)
        before = list(map(processor_time, (sender.pid, receiver.pid)))
        queue.resume()
        start = time.perf_counter()
        while arrived.info().messages < count:  # asked seldom: answers take time of its process
            time.sleep(max(0.05, (time.perf_counter() - start) / 50))
        seconds = time.perf_counter() - start
        while queue.info().messages:
            time.sleep(0.05)
        after = list(map(processor_time, (sender.pid, receiver.pid)))
        arrived.purge()
    used = [(end - begin) / count * 1e6 for begin, end in zip(before, after, strict=True)]
    return count / seconds, used[0], used[1]


def main(count: int = 5000) -> None:
    """Measure both kinds, beside the plain loop."""
    raw, client, server = plain(count)
    titles = f"{'of plain':>21}{'CPU: sender':>14}{'receiver':>11}{'of plain':>11}"
    print(f"{'manager to manager over HTTP, 1 KiB':<52}{titles}")
    used = f"{client:>19,.0f} us{server:>8,.0f} us"
    print(f"  {f'aiohttp POST/200, {POSTS_MAX} at a time (plain)':<50}{raw:>12,.0f}/s{used}")
    folder = Path(tempfile.mkdtemp())
    ports = free_port(), free_port()
    sender = Manager(folder, "a", 0, {}, ["--srmp-port", str(ports[0])])
    receiver = Manager(folder, "b", 0, {}, ["--srmp-port", str(ports[1])])
    try:
        sender.start()
        receiver.start()
        with openmsmq.connect(receiver.address) as manager:
            for kind in KINDS:
                manager.create_queue(kind, transactional=kind == "transactional")
        for kind in KINDS:
            rate, here, there = measure(sender, receiver, ports[1], kind, count)
            used = f"{here:>10,.0f} us{there:>8,.0f} us{(client + server) / (here + there):>10.2f}x"
            print(f"  {kind:<50}{rate:>12,.0f}/s{rate / raw:>8.2f}x{used}", flush=True)
    finally:
        sender.stop()
        receiver.stop()
        shutil.rmtree(folder)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
