"""Messages sent under ids arrive once, however often the line breaks.

A real service, real sockets, and a proxy between that ends connections at any byte: a request that
was not even read, one whose answer is lost, an answer that is half there.
"""

from __future__ import annotations

import contextlib
import random
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import pytest

import openmsmq
from tests.e2e.managers import PATIENCE, ManagerProcess

THREADS: Final = 8
BYTES_MAX: Final = 40_000
"What goes through a connection before it breaks, at most."


class BreakingProxy:
    """Carries bytes to a Unix socket, and breaks each connection at a random one."""

    def __init__(self, target: str, seed: int) -> None:
        self._target = target
        self._chance = random.Random(seed)
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self._lock = threading.Lock()
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self.broken = 0
        self.is_gentle = False
        "No connection breaks any more."
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.socket(socket.AF_UNIX)
                server.connect(self._target)
                _Line(self, client, server, self._chance.randrange(200, BYTES_MAX)).start()

    def close(self) -> None:
        self._listener.close()


class _Line:
    """One connection."""

    def __init__(
        self, proxy: BreakingProxy, client: socket.socket, server: socket.socket, left: int
    ) -> None:
        self._proxy = proxy
        self._ends = client, server
        self._left = left
        self._lock = threading.Lock()

    def start(self) -> None:
        client, server = self._ends
        for one, other in ((client, server), (server, client)):
            threading.Thread(target=self._carry, args=(one, other), daemon=True).start()

    def _carry(self, one: socket.socket, other: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := one.recv(1 << 16):
                part = self._part(len(data))
                other.sendall(data[:part])
                if part < len(data):
                    self._proxy.broken += 1
                    break
        for end in self._ends:
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
                end.close()

    def _part(self, size: int) -> int:
        """How much still gets through."""
        if self._proxy.is_gentle:
            return size
        with self._lock:
            part = min(size, self._left)
            self._left -= part
            return part


@pytest.fixture
def service(tmp_path: Path) -> Iterator[ManagerProcess]:
    made = ManagerProcess(tmp_path, "shop").start()
    yield made
    made.kill()


def send_all(service: ManagerProcess, count: int, seed: int) -> int:
    """Send this many messages through the proxy, each under an id; how often the line broke."""
    proxy = BreakingProxy(service.app.removeprefix("unix:"), seed)
    try:
        with (
            openmsmq.connect(proxy.address, reconnect=PATIENCE, timeout=PATIENCE) as manager,
            ThreadPoolExecutor(THREADS) as threads,
        ):
            queue = manager.open_queue("orders", access=openmsmq.Access.SEND)

            def send(number: int) -> str:
                return queue.send(f"order {number}", dedup_id=f"order-{number}")

            ids = list(threads.map(send, range(count), timeout=10 * PATIENCE))
            proxy.is_gentle = True
            assert len(set(ids)) == count, "each message has an id of its own"
    finally:
        proxy.close()
    return proxy.broken


@pytest.mark.slow
@pytest.mark.parametrize("count", [4_000, pytest.param(10_000, marks=pytest.mark.torture)])
def test_each_of_many_messages_arrives_once_through_a_line_that_breaks(
    service: ManagerProcess, count: int
) -> None:
    with openmsmq.connect(service.app) as manager:
        queue = manager.create_queue("orders")
        broken = send_all(service, count, seed=17)
        assert broken > 20, "the line hardly broke"
        assert queue.info().messages == count
        found: list[str | None] = []
        while messages := queue.receive_many(1000, 0):
            found += [message.text for message in messages]
        assert sorted(map(str, found)) == sorted(f"order {number}" for number in range(count))
        assert manager.statistics()["repeated sends"] > 0, "no answer was lost"


def test_a_service_that_is_killed_between_keeps_the_ids(service: ManagerProcess) -> None:
    with openmsmq.connect(service.app, reconnect=PATIENCE) as manager:
        queue = manager.create_queue("orders")
        first = [queue.send(str(number), dedup_id=str(number)) for number in range(50)]
        service.kill()
        service.start()
        again = [queue.send(str(number), dedup_id=str(number)) for number in range(50)]
        assert again == first
        assert all(one.duplicate for one in again)
        assert queue.info().messages == 50


def test_what_is_waiting_comes_to_the_moment_without_anyone_asking(service: ManagerProcess) -> None:
    with openmsmq.connect(service.app, reconnect=PATIENCE) as manager:
        queue = manager.create_queue("orders")
        queue.send("later", deliver_at=1.5)
        queue.send("much later", deliver_at=3600)
        service.kill()
        service.start()
        assert queue.receive(PATIENCE).text == "later"
        assert queue.info().delayed == 1
