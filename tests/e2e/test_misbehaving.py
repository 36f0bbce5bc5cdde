"""Programs that misbehave: the service stays small, says what goes on, and serves the others."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

import openmsmq
from openmsmq.app_protocol.calls import Call, Closing
from openmsmq.app_protocol.frames import Kind, encode_frame
from openmsmq.app_protocol.members import Arguments, Members
from openmsmq.app_protocol.payloads import PEEK, ReadRequest
from tests.e2e.test_serve import PATIENCE, Program, Running, program, running

pytestmark = pytest.mark.slow

GROWTH_MAX = 64 << 20
"Bytes that the service may grow by, whatever one program does."
LATENCY_MAX = 5.0
"Seconds that others may have to wait on a busy computer."
LARGE = 1 << 20


class Bystander(threading.Thread):
    """A program that sends and receives as if nothing was the matter."""

    def __init__(self, address: str) -> None:
        super().__init__()
        self._address = address
        self._is_enough = threading.Event()
        self.rounds = 0
        self.slowest = 0.0

    def run(self) -> None:
        with openmsmq.connect(self._address) as manager:
            queue = manager.create_queue("bystander")
            while not self._is_enough.is_set():
                begun = time.monotonic()
                queue.send("hello")
                queue.receive(timeout=PATIENCE)
                self.slowest = max(self.slowest, time.monotonic() - begun)
                self.rounds += 1

    def stop(self) -> None:
        self._is_enough.set()
        self.join(PATIENCE)


class Scene:
    """A service with a bystander."""

    def __init__(self, service: Running) -> None:
        self._service = service
        self.address = service.ready()["app"]
        self.bystander = Bystander(f"{self.address[0]}:{self.address[1]}")
        self.bystander.start()
        service.until(lambda: self.bystander.rounds > 10)
        self._before = self._memory()

    def _memory(self) -> int:
        """What the process has allocated, without the pages of the store."""
        status = Path(f"/proc/{self._service.process.pid}/status").read_text()
        [line] = [line for line in status.splitlines() if line.startswith("RssAnon:")]
        return int(line.split()[1]) << 10

    def metric(self, name: str) -> float:
        """What is reported under a name."""
        found = [line for line in self._service.metrics().splitlines() if line.startswith(name)]
        return sum(float(line.rsplit(" ", 1)[1]) for line in found)

    def until(self, name: str, least: float) -> None:
        """Wait until something is to be seen."""
        self._service.until(lambda: self.metric(name) >= least)

    def check(self) -> None:
        """All is well, but for the one who misbehaves."""
        rounds = self.bystander.rounds
        for _ in range(10):
            assert self._memory() - self._before < GROWTH_MAX
            time.sleep(0.1)
        self._service.until(lambda: self.bystander.rounds > rounds)
        assert self.bystander.slowest < LATENCY_MAX


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    with running(tmp_path) as service:
        made = Scene(service)
        try:
            yield made
        finally:
            made.bystander.stop()
        assert made.bystander.rounds
        service.process.terminate()
        assert service.ends() == 0
        assert "Traceback" not in service.log()


@contextmanager
def opened(scene: Scene, name: str) -> Iterator[tuple[Program, int]]:
    """A connection, and the handle of a queue with one large message."""
    with openmsmq.connect(f"{scene.address[0]}:{scene.address[1]}") as manager:
        manager.create_queue(name).send(bytes(LARGE))
    with program(scene.address) as client:
        client.hello()
        handle = ask(client, "open_queue", name=name)["handle"]
        client._framer.limit = 8 << 20
        yield client, handle


def ask(client: Program, call: str, **arguments: Any) -> dict[str, Any]:
    """Make a call."""
    payload = Call(call, Arguments(arguments)).encode()
    client.connection.sendall(encode_frame(Kind.CALL, 2, payload))
    answer = client.frame()
    assert answer is not None
    return dict(Members.decode(answer.payload).values)


def pour(connection: socket.socket, data: bytes) -> None:
    """Send as much as the other side takes."""
    connection.settimeout(0.5)
    with suppress(TimeoutError):
        connection.sendall(data)
    connection.settimeout(PATIENCE)


def test_one_that_does_not_read(scene: Scene) -> None:
    with opened(scene, "large") as (client, handle):
        peeks = [
            encode_frame(Kind.READ, number, ReadRequest(handle, timeout=0, mode=PEEK).encode())
            for number in range(10, 5_010)
        ]
        pour(client.connection, b"".join(peeks))
        scene.until("openmsmq_held_up_clients", 1)
        scene.check()
        for _ in range(20):  # as soon as it reads again it is served
            answer = client.frame()
            assert answer is not None
            assert answer.kind is Kind.MESSAGES
    scene.check()


def test_some_that_send_garbage(scene: Scene) -> None:
    for _ in range(50):
        with program(scene.address) as client:
            pour(client.connection, b"GET / HTTP/1.1\r\nHost: here\r\n\r\n")
            last = client.frame()
            assert last is not None
            assert "malformed" in Closing.decode(last.payload).reason
    assert scene.metric('openmsmq_rejected_total{reason="malformed frame"}') == 50
    scene.check()


def test_some_that_send_half_a_frame(scene: Scene) -> None:
    half = encode_frame(Kind.SEND, 3, bytes(6 << 20))[: 3 << 20]
    with ExitStack() as stack:
        for _ in range(4):
            client = stack.enter_context(program(scene.address))
            client.hello()
            client.connection.sendall(half)
        scene.until("openmsmq_request_bytes", 4 * len(half))
        scene.check()
    deadline = time.monotonic() + PATIENCE
    while scene.metric("openmsmq_request_bytes") > LARGE:
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_one_with_ten_thousand_requests(scene: Scene) -> None:
    with opened(scene, "empty") as (client, handle):
        ask(client, "purge", handle=handle)
        reads = [
            encode_frame(Kind.READ, number, ReadRequest(handle).encode())
            for number in range(10, 10_010)
        ]
        pour(client.connection, b"".join(reads))
        scene.until("openmsmq_held_up_clients", 1)
        waiting = 'openmsmq_waiting_readers{name="'
        assert 1024 <= scene.metric(waiting) <= 1025, "and perhaps the bystander"
        scene.check()
    deadline = time.monotonic() + PATIENCE
    while scene.metric(waiting) > 1:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    scene.check()
