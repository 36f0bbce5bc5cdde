"""A remote reader or its manager ends in the middle of a receive: the message is there once."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

import openmsmq
from openmsmq.access.users import Users
from openmsmq.client.remote_read._sync.association import RpcLink
from openmsmq.client.remote_read._sync.tcp_socket import TcpSocket
from openmsmq.client.remote_read.place import RemotePlace
from openmsmq.interfaces.queue_format import QueueFormatArgument
from openmsmq.interfaces.remote_read import stubs
from openmsmq.interfaces.remote_read.stubs import REMOTE_READ, ReadOpnum
from openmsmq.rpc.ndr.structure import Structure

pytestmark = pytest.mark.slow

PATIENCE = float(os.environ.get("OPENMSMQ_TEST_PATIENCE", "60"))
MANY = int(os.environ.get("OPENMSMQ_KILLS", "30"))
STEPS = ("opened", "asked", "received", "acknowledged", "answered")
"How far a receive has come: the request for a message, and its acknowledgement, may be unanswered."


class Service:
    """A manager in a process of its own."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        Users(directory / "data").add("backend", "secret", "read")
        self.start()

    def start(self) -> None:
        ready = self.directory / "ready.json"
        ready.unlink(missing_ok=True)
        command = (sys.executable, "-m", "openmsmq", "serve", "--data", self.directory / "data")
        off = (
            *("--app-port", "off", "--console-port", "off", "--binary-port", "off"),
            *("--log-level", "error", "--rpc-port", "0", "--name", "shop"),
        )
        sockets = ("--app-socket", self.directory / "app", "--ready-file", ready)
        self.process = subprocess.Popen(list(map(str, (*command, *off, *sockets))))
        end = time.monotonic() + PATIENCE
        while not ready.exists():
            assert self.process.poll() is None, "the service ended"
            assert time.monotonic() < end, "the service did not start"
            time.sleep(0.02)
        self.port = json.loads(ready.read_text())["rpc"][1]

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(PATIENCE)

    def connect(self) -> openmsmq.Manager:
        return openmsmq.connect(f"unix:{self.directory / 'app'}")


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    made = Service(tmp_path)
    with made.connect() as manager:
        manager.create_queue("orders")
    try:
        yield made
    finally:
        made.kill()


class Reader:
    """A remote reader that can stop at any step of a receive."""

    def __init__(self, service: Service) -> None:
        place = RemotePlace.of("127.0.0.1", port=service.port, user="backend", password="secret")
        self.socket = TcpSocket.open(place.host, place.port, PATIENCE)
        self.link = RpcLink(self.socket, place.host, REMOTE_READ, place.channel(), 0)
        self.link.bind(PATIENCE)

    def call(self, opnum: int, arguments: Structure) -> bytes:
        return self.link.call(opnum, arguments.encode(), PATIENCE)

    def tell(self, opnum: int, arguments: Structure) -> None:
        """Make a call and do not wait for its answer."""
        self.link.machine.call(opnum, arguments.encode(), lambda _: None)
        self.link.flush()

    def receive(self, until: str) -> None:
        """Receive a message, as far as a step."""
        place = RemotePlace.of("shop", user="backend", password="secret")
        queue_format = QueueFormatArgument.of(place.queue_name("orders"))
        opening = stubs.OpenArguments(queue_format, 1, 0, uuid4(), 1, 6, 1, 0, 1)
        opened = self.call(ReadOpnum.OPEN_QUEUE, opening)
        handle = stubs.QueueContextArgument.decode(opened).context
        most = stubs.INFINITE_MS
        start = stubs.StartReceive(handle, 0, 0, 0, 5000, 1, most, most)
        end = stubs.EndReceive(handle, stubs.ACK, 1)
        if until == "asked":
            self.tell(ReadOpnum.START_RECEIVE, start)
        if until not in ("opened", "asked"):
            found = stubs.ReceiveResults.decode(self.call(ReadOpnum.START_RECEIVE, start))
            assert found.result == 0
        if until == "acknowledged":
            self.tell(ReadOpnum.END_RECEIVE, end)
        if until == "answered":
            ended = stubs.Status32.decode(self.call(ReadOpnum.END_RECEIVE, end))
            assert ended.result == 0


def check(service: Service, step: str) -> None:
    """The message is in its place once, unless its receive may have come to its end."""
    with service.connect() as manager, manager.open_queue("orders") as queue:
        counts = {"acknowledged": (0, 1), "answered": (0,)}.get(step, (1,))
        found: list[bytes] = []
        end = time.monotonic() + PATIENCE
        while True:  # a manager notices in a moment that its client is gone
            found += [message.body for message in queue_contents(queue)]
            if len(found) in counts or time.monotonic() > end:
                break
            time.sleep(0.02)
        assert len(found) in counts, step
        assert set(found) <= {b"order"}


def queue_contents(queue: openmsmq.Queue) -> list[openmsmq.ReceivedMessage]:
    try:
        return queue.receive_many(10, timeout=0)
    except openmsmq.ReceiveTimeout:
        return []


def send(service: Service) -> None:
    with service.connect() as manager, manager.open_queue("orders") as queue:
        queue.send(openmsmq.Message(b"order", recoverable=True))


def run_client_cut(service: Service, step: str) -> None:
    send(service)
    reader = Reader(service)
    reader.receive(step)
    reader.link.close()
    check(service, step)


def run_server_killed(service: Service, step: str) -> None:
    send(service)
    reader = Reader(service)
    reader.receive(step)
    service.kill()
    service.start()
    reader.link.close()
    check(service, step)


def test_a_reader_that_is_cut_at_any_step_leaves_the_message_once(service: Service) -> None:
    for step in STEPS:
        run_client_cut(service, step)


@pytest.mark.parametrize("step", ["received", "answered"])
def test_a_manager_that_is_killed_has_the_message_once(service: Service, step: str) -> None:
    run_server_killed(service, step)


@pytest.mark.torture
def test_readers_and_managers_end_at_every_step_many_times(service: Service) -> None:
    for number in range(MANY):
        step = STEPS[number % len(STEPS)]
        run_client_cut(service, step)
        run_server_killed(service, step)
