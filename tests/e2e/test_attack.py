"""An attacker without a login, beside a program that sends durable messages.

Whatever it sends: memory, descriptors and log stay bounded, each refusal is counted, health checks
are answered, and of the program's messages none is lost.
"""

from __future__ import annotations

import asyncio
import os
import re
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.request import urlopen

import pytest
from bench.attacker import PART, SHAPES, VICTIM, Attacker, Shape

import openmsmq
from openmsmq import Message
from openmsmq.engine.arrivals.limits import UNSOLICITED_MAX
from openmsmq.service.limits import CONSOLE_MAX
from tests.certificates import make_certificates
from tests.e2e.managers import PATIENCE, ManagerProcess, running, until
from tests.e2e.test_serve import running as service

pytestmark = pytest.mark.slow

DESCRIPTORS = 512
"How many the service may have open: far fewer than connections are made."
PENDING_MAX = 16 << 20
MEMORY_MAX = 128 << 20
"Bytes that the service may grow by, unfinished packets among them."
LOG_MAX = 1 << 20
COUNTS = {"unfinished packets": 300, "silent connections": DESCRIPTORS + 200}
"Of these, more than there is room for; of all other shapes as many as make up the total."


def count_of(shape: Shape, total: int) -> int:
    """How many of a shape are sent."""
    others = [one for one in SHAPES if one.name not in COUNTS]
    return COUNTS.get(shape.name) or -(-(total - sum(COUNTS.values())) // len(others))


class Victim(ManagerProcess):
    """A service with TLS, few descriptors, and someone who looks at what it takes."""

    def __init__(self, folder: Path) -> None:
        make_certificates(folder)
        data = folder / "shop01" / "data"
        options = (
            *("--app-port", "0", "--console-port", "0"),
            *("--tls-cert", str(folder / "server.pem"), "--tls-key", str(folder / "server.key")),
        )
        super().__init__(folder, "shop01", options=options)
        # It starts with a soft limit that would not do, and raises it to the hard one.
        limited = f'ulimit -Sn 64 && ulimit -Hn {DESCRIPTORS} && exec "$0" "$@"'
        self._command = ["sh", "-c", limited, *self._command]
        data.mkdir()
        (data / "openmsmq.toml").write_text(f"[binary]\npending_bytes_max = {PENDING_MAX}\n")
        self._trust = ssl.create_default_context(cafile=folder / "ca.pem")
        self.descriptors = self.memory = 0

    def look(self) -> None:
        """Remember the most that it had open and allocated."""
        process = Path(f"/proc/{self.pid}")
        self.descriptors = max(self.descriptors, len(os.listdir(process / "fd")))
        [line] = re.findall(r"RssAnon:\s+(\d+) kB", (process / "status").read_text())
        self.memory = max(self.memory, int(line) << 10)

    def ask(self, path: str) -> str:
        """What the console answers."""
        host, port = self.ready["console"]
        address = f"https://{host}:{port}{path}"
        with urlopen(address, timeout=PATIENCE, context=self._trust) as answer:
            return str(answer.read().decode())

    def metric(self, name: str, reason: str) -> int:
        """What has been counted."""
        line = rf'^{name}{{\w+="{re.escape(reason)}"}} (\S+)$'
        [value] = re.findall(line, self.ask("/metrics"), re.MULTILINE)
        return int(float(value))


class Program(threading.Thread):
    """Sends durable messages until it is asked to stop, and looks at the service meanwhile."""

    def __init__(self, victim: Victim) -> None:
        super().__init__()
        self._victim = victim
        self._is_enough = threading.Event()
        self.acknowledged = 0

    def run(self) -> None:
        with openmsmq.connect(self._victim.app) as manager:
            orders = manager.open_queue("orders")
            while not self._is_enough.is_set():
                orders.send(Message(b"order"))
                self.acknowledged += 1
                self._victim.look()

    def stop(self) -> None:
        self._is_enough.set()
        self.join(PATIENCE)
        assert not self.is_alive()


@pytest.fixture
def victim(tmp_path: Path) -> Iterator[Victim]:
    made = Victim(tmp_path)
    with running(made):
        with openmsmq.connect(made.app) as manager:
            manager.create_queue("orders")
            manager.create_queue(VICTIM, transactional=True)
        yield made


def least(shape: Shape, count: int) -> int:
    """How many of them have to be refused: all but those for which there is room."""
    if shape.name == "unfinished packets":
        return count - PENDING_MAX // PART
    if shape.name == "messages with forged sources":
        return count - -(-count // shape.each)  # one on each connection is of the session's own
    return count - DESCRIPTORS if shape.stays else count


async def attack(victim: Victim, shape: Shape, count: int, *, after: int) -> int:
    """Send some of a shape, and wait until they are counted; how many were sent before."""
    attacker = Attacker()
    host, port = victim.ready[shape.port]
    before = victim.metric(shape.metric, shape.reason)
    await attacker.send(shape, (host, port), range(after, after + count))
    assert attacker.sent == count
    expected = before + least(shape, count)
    # While the connections that stay are still there.
    await asyncio.to_thread(
        until, lambda: victim.metric(shape.metric, shape.reason) >= expected, shape.name
    )
    assert victim.ask("/healthz") == '{"state": "ready"}'
    await attacker.release()
    return after + count


@pytest.mark.parametrize("total", [4_000, pytest.param(10_000, marks=pytest.mark.torture)])
def test_an_attacker_takes_neither_memory_nor_descriptors_nor_the_log(
    victim: Victim, total: int
) -> None:
    victim.look()
    memory, victim.memory = victim.memory, 0
    program = Program(victim)
    program.start()
    try:
        sent = 0
        for shape in SHAPES:
            sent = asyncio.run(attack(victim, shape, count_of(shape, total), after=sent))
    finally:
        program.stop()
    assert sent >= total
    assert victim.memory - memory < MEMORY_MAX
    assert victim.descriptors < DESCRIPTORS
    log = (victim.folder / "log").read_text()
    assert len(log) < LOG_MAX
    assert "cannot accept connections" not in log, "there was a descriptor for each"
    with openmsmq.connect(victim.app) as manager:
        assert program.acknowledged > 0
        assert manager.open_queue("orders").info().messages == program.acknowledged
        assert len(manager.outgoing()) <= UNSOLICITED_MAX
    victim.stop()


def test_silent_connections_do_not_shut_a_health_check_out(tmp_path: Path) -> None:
    """256 of them did, where the console speaks no TLS."""
    with service(tmp_path) as found, ExitStack() as silent:
        host, port = found.ready()["console"]
        for _ in range(CONSOLE_MAX + 50):
            silent.enter_context(socket.create_connection((host, port), PATIENCE))
        assert found.health() == 200
        reason = 'openmsmq_rejected_total{reason="too many console connections"} '
        [line] = [line for line in found.metrics().splitlines() if line.startswith(reason)]
        assert float(line.removeprefix(reason)) >= 50


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_shapes_are_what_they_say(shape: Shape) -> None:
    """Packets that a session takes differ from each other; refusals are counted somewhere."""
    if shape.has_session and shape.each > 1:
        assert len({shape.data(number) for number in range(shape.each)}) == shape.each
    assert shape.metric
    assert shape.reason
