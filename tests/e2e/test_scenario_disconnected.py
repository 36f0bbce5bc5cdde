"""Disconnected data entry ([MS-MQSO] 6.1.1): orders come from a laptop, the office opens later.

Two services in processes of their own, which are stopped and killed on the way.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from uuid import UUID

import pytest

import openmsmq
from openmsmq import Acknowledge, Manager, Message, OutgoingInfo
from openmsmq.properties.message import MessageClass

pytestmark = pytest.mark.slow
PATIENCE = 30.0
ORDERS = r"DIRECT=OS:office\private$\orders"
DEAD = r".\XactDeadLetter$"


class Site:
    """A computer with a queue manager, which runs at times."""

    def __init__(self, folder: Path, name: str) -> None:
        self._folder = folder / name
        self._folder.mkdir()
        self.name = name
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port: int = free.getsockname()[1]
        self.others: list[Site] = []
        self._process: subprocess.Popen[bytes] | None = None
        self._manager: Manager | None = None

    def start(self) -> None:
        """Run the service, until others can reach it."""
        ready = self._folder / "ready.json"
        ready.unlink(missing_ok=True)
        ports = ["--app-port", "0", "--console-port", "off", "--binary-port", str(self.port)]
        peers = [f"--peer={site.name}=127.0.0.1:{site.port}" for site in self.others]
        place = ["--data", str(self._folder / "data"), "--name", self.name]
        arguments = ["serve", *place, *ports, *peers, "--ready-file", str(ready)]
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "openmsmq", *arguments],
                stderr=log,
                env={k: v for k, v in os.environ.items() if not k.startswith("OPENMSMQ_")},
            )
        until(lambda: ready.exists() or self._process is None or self._process.poll() is not None)
        host, port = json.loads(ready.read_text())["app"]
        self._manager = openmsmq.connect(f"{host}:{port}")

    def end(self, number: signal.Signals = signal.SIGTERM) -> None:
        """The service stops, or is killed."""
        if self._manager is not None:
            self._manager.close()
            self._manager = None
        if self._process is not None:
            self._process.send_signal(number)
            self._process.wait(PATIENCE)
            self._process = None

    def restart(self) -> None:
        """It is killed, and comes back."""
        self.end(signal.SIGKILL)
        self.start()

    @property
    def manager(self) -> Manager:
        """What programs there work with."""
        assert self._manager is not None
        return self._manager

    def labels(self, name: str = "orders") -> list[str]:
        """What is in a queue, in order."""
        with self.manager.open_queue(name) as queue:
            return [message.label for message in queue.peek_many(100, timeout=0)]

    def way(self) -> OutgoingInfo | None:
        """How the way to the office stands; None if there is nothing for it."""
        found = [info for info in self.manager.outgoing() if info.name == ORDERS]
        return found[0] if found else None

    def counts(self) -> tuple[int, int, int]:
        """Orders that wait, that are under way, and that arrived and are not received."""
        way = self.way()
        return (0, 0, 0) if way is None else (way.messages, way.unacknowledged, way.unprocessed)


def until(condition: Callable[[], object]) -> None:
    """Wait for something that will happen."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "it does not happen"
        time.sleep(0.02)


@pytest.fixture
def sites(tmp_path: Path) -> Iterator[tuple[Site, Site]]:
    """The laptop and the office, which has a queue for orders and is closed."""
    laptop, office = Site(tmp_path, "laptop"), Site(tmp_path, "office")
    laptop.others, office.others = [office], [laptop]
    office.start()
    office.manager.create_queue("orders", transactional=True)
    office.end()
    laptop.start()
    yield laptop, office
    for site in (laptop, office):
        site.end(signal.SIGKILL)


def enter(laptop: Site, *labels: str, **wishes: object) -> None:
    """Enter orders, all of them or none."""
    orders = [Message(f"<{label}/>", label=label, dead_letter=True, **wishes) for label in labels]  # type: ignore[arg-type] # properties of a message
    with laptop.manager.open_queue(ORDERS) as queue, laptop.manager.transaction() as transaction:
        queue.send_many(orders, transaction=transaction)


def process(office: Site, count: int) -> list[str]:
    """Receive orders, all of them or none."""
    with office.manager.open_queue("orders") as queue:
        found: list[str] = []
        with office.manager.transaction() as transaction:
            while len(found) < count:
                found.append(queue.receive(PATIENCE, transaction=transaction).label)
        return found


def test_orders_wait_for_the_office_and_arrive_once_and_in_order(
    sites: tuple[Site, Site],
) -> None:
    """SYS-068, SYS-021, SYS-023, SYS-032, SYS-034, SYS-055, SYS-078, SYS-079, SYS-080, SYS-084."""
    laptop, office = sites
    with laptop.manager.open_queue(ORDERS) as queue:
        transaction = laptop.manager.transaction()
        queue.send(Message("x", label="never"), transaction=transaction)
        assert laptop.counts() == (0, 0, 0), "nothing is visible before the commit"
        transaction.abort()
    enter(laptop, "order 1", "order 2")
    enter(laptop, "order 3")
    assert laptop.counts() == (3, 0, 0)
    laptop.restart()
    assert laptop.counts() == (3, 0, 0)
    until(lambda: (laptop.way() or pytest.fail("it is gone")).last_error)

    office.start()
    until(lambda: laptop.counts() == (0, 0, 3))
    assert office.labels() == ["order 1", "order 2", "order 3"]
    office.restart()
    laptop.restart()
    enter(laptop, "order 4")
    until(lambda: laptop.counts() == (0, 0, 4))
    assert office.labels() == ["order 1", "order 2", "order 3", "order 4"]

    assert process(office, 4) == ["order 1", "order 2", "order 3", "order 4"]
    until(lambda: laptop.counts() == (0, 0, 0))
    assert office.labels() == []
    assert laptop.labels(DEAD) == office.labels(DEAD) == []


def test_an_order_that_cannot_arrive_in_time_comes_back_to_the_laptop(
    sites: tuple[Site, Site],
) -> None:
    """SYS-068, SYS-024, SYS-060, SYS-065."""
    laptop, office = sites
    enter(laptop, "too late", time_to_reach_queue=3)
    laptop.restart()
    until(lambda: laptop.labels(DEAD) == ["too late"])
    assert laptop.counts() == (0, 0, 0)
    office.start()
    enter(laptop, "in time")
    assert process(office, 1) == ["in time"]
    until(lambda: laptop.counts() == (0, 0, 0))
    assert office.labels() == [], "no copy ever appears"
    with laptop.manager.open_queue(DEAD) as dead:
        letter = dead.receive(0)
    assert letter.message_class == MessageClass.NACK_REACH_QUEUE_TIMEOUT
    assert letter.text == "<too late/>"


def test_an_order_that_no_one_receives_in_time_comes_back_as_well(
    sites: tuple[Site, Site],
) -> None:
    """SYS-021, SYS-024: the office tells, and the laptop has kept it until then."""
    laptop, office = sites
    office.start()
    enter(laptop, "ignored", time_to_be_received=3)
    until(lambda: laptop.counts() == (0, 0, 1))
    until(lambda: laptop.labels(DEAD) == ["ignored"])
    assert laptop.counts() == (0, 0, 0)
    assert office.labels() == []


def test_the_office_reports_and_answers(sites: tuple[Site, Site]) -> None:
    """Reports go to the admin queue that an order names, answers to its response queue."""
    laptop, office = sites
    laptop.manager.create_queue("reports")
    laptop.manager.create_queue("answers", transactional=True)
    enter(
        laptop,
        "order 1",
        acknowledge=Acknowledge.FULL_REACH_QUEUE | Acknowledge.FULL_RECEIVE,
        admin_queue=r"DIRECT=OS:laptop\private$\reports",
        response_queue=r"DIRECT=OS:laptop\private$\answers",
    )
    office.start()
    with office.manager.open_queue("orders") as queue, office.manager.transaction() as transaction:
        order = queue.receive(PATIENCE, transaction=transaction)
        assert order.response_queue is not None
        with office.manager.open_queue(str(order.response_queue)) as answers:
            answers.send(Message("done", correlation_id=_named(order.id)), transaction=transaction)
    with laptop.manager.open_queue("answers") as answers:
        answer = answers.receive(PATIENCE)
    with laptop.manager.open_queue("reports") as reports:
        found = [reports.receive(PATIENCE) for _ in range(2)]
    assert answer.text == "done"
    assert answer.correlation_id == found[0].correlation_id
    assert [report.message_class for report in found] == [
        MessageClass.ACK_REACH_QUEUE,
        MessageClass.ACK_RECEIVE,
    ]


def _named(message_id: str) -> bytes:
    """The id of a message as others refer to it ([MS-MQMQ] 2.2.8)."""
    guid, _, number = message_id.partition("\\")
    return UUID(guid).bytes_le + int(number).to_bytes(4, "little")
