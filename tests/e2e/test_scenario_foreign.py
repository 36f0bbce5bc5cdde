"""Business to business with a foreign system ([MS-MQSO] 6.1.9), each manager in a process.

A customer's server sends to a queue of a foreign system, which it knows by its name only. A gateway
of its enterprise is the connector server: its connector takes the messages and sends the answers.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import pytest
from bench.peer_rabbitmq import RabbitMQ

from openmsmq import Access, Manager, Message, Queue, ReceivedMessage
from tests.e2e.managers import ManagerProcess, free_port, is_everything_sent, running, until

CONNECTOR: Final = Path(__file__).parents[2] / "docs" / "examples" / "rabbitmq_connector.py"
SITE: Final = UUID("0f0e0d0c-0b0a-4908-8706-050403020100")
SYSTEM: Final = UUID("5d1f0c92-8d0b-4f7e-9f43-0c5b1d7e2a10")
TO: Final = f"PRIVATE={SYSTEM}\\00000005"
"A queue of the foreign system: what the number means is for its connector to know."
PLAIN, ORDERED = f"CONNECTOR={SITE}", f"CONNECTOR={SITE};XACTONLY"
COUNT: Final = 40
TOPOLOGY: Final = """
[[sites]]
name = "hq"
[[sites]]
name = "mainframe"
id = "{site}"
foreign = true
[[links]]
site1 = "hq"
site2 = "mainframe"
gates = ["gateway"]
[[managers]]
name = "customer"
id = "{customer.id}"
sites = ["hq"]
address = "127.0.0.1:{customer.place[1]}"
[[managers]]
name = "gateway"
id = "{gateway.id}"
sites = ["hq", "mainframe"]
router = true
address = "127.0.0.1:{gateway.place[1]}"
[[managers]]
name = "MAINFRAME"
id = "{system}"
sites = ["mainframe"]
foreign = true
"""


@contextmanager
def enterprise(folder: Path) -> Iterator[tuple[ManagerProcess, ManagerProcess]]:
    """The customer and the gateway, which have a topology."""
    customer, gateway = (
        ManagerProcess(folder, name, port=free_port()) for name in ("customer", "gateway")
    )
    with running(customer, gateway):
        text = TOPOLOGY.format(site=SITE, system=SYSTEM, customer=customer, gateway=gateway)
        for process in (customer, gateway):
            with process.connect() as manager:
                manager.configure(topology=text)
        yield customer, gateway


def answer_queue(manager: Manager, name: str, *, transactional: bool) -> str:
    """A queue for answers, by the name that the gateway finds it by."""
    manager.create_queue(name, transactional=transactional)
    (info,) = [item for item in manager.queues() if item.name.endswith(name)]
    return info.format_name


def order(manager: Manager, answers: dict[bool, str], start: int, count: int) -> None:
    """Send orders, in a transaction and not, in turns; as to any other queue."""
    queue = manager.open_queue(TO, access=Access.SEND)
    for number in range(start, start + count):
        queue.send(Message(f"plain {number}", response_queue=answers[False]))
        with manager.transaction() as transaction:
            message = Message(f"ordered {number}", response_queue=answers[True], journal=True)
            queue.send(message, transaction=transaction)


def waiting(manager: Manager, name: str) -> list[str]:
    """What is in a queue."""
    queue = manager.open_queue(name, access=Access.PEEK)
    return [str(message.text) for message in queue.peek_many(10_000, timeout=0)]


def expected(kind: str, count: int = COUNT) -> list[str]:
    """The orders of a kind, or the answers to them."""
    return [f"{kind} {number}" for number in range(count)]


@pytest.mark.slow
def test_a_foreign_destination_goes_through_the_connector_queue_and_back(tmp_path: Path) -> None:
    """SYS-076, MQBR-156, MQBR-170, MQBR-173: with the gateway away, and with its connector away."""
    with enterprise(tmp_path) as (customer, gateway), customer.connect() as sender:
        answers = {
            kind: answer_queue(sender, f"answers-{kind}".lower(), transactional=kind)
            for kind in (False, True)
        }
        order(sender, answers, 0, COUNT // 2)
        gateway.kill()
        order(sender, answers, COUNT // 2, COUNT - COUNT // 2)
        assert any(info.messages for info in sender.outgoing())  # they wait before it
        gateway.start()
        with gateway.connect() as gate:  # no connector is there yet: they wait in its queues
            until(lambda: len(waiting(gate, ORDERED)) == COUNT, "not all came")
            until(lambda: len(waiting(gate, PLAIN)) == COUNT, "not all came")
            assert waiting(gate, ORDERED) == expected("ordered")
            assert sorted(waiting(gate, PLAIN)) == sorted(expected("plain"))
            for name in (PLAIN, ORDERED):
                connect(gate, name)
        until(lambda: waiting(sender, "answers-true") == expected("done ordered"), "no answers")
        until(lambda: len(waiting(sender, "answers-false")) == COUNT, "no answers")
        until(lambda: is_everything_sent(sender), "the gateway did not confirm all")
        (journal,) = [item for item in sender.queues(everything=True) if item.name == ".\\Journal$"]
        assert journal.messages == COUNT  # a FinalAck came for each that the connector received
        (first, *_) = sender.open_queue("answers-true").peek_many(1, timeout=0)
        assert str(first.source_manager) == gateway.id


def connect(gate: Manager, name: str) -> None:
    """A connector to a system that answers at once."""
    queue = gate.open_queue(name, access=Access.RECEIVE)
    for _ in range(COUNT):
        with gate.transaction() as transaction:
            is_ordered = name == ORDERED
            message = queue.receive(timeout=5, transaction=transaction if is_ordered else None)
            assert str(message.destination_queue) == TO
            reply = Message(f"done {message.text}", correlation_id=message.identifier)
            target = gate.open_queue(str(message.response_queue), access=Access.SEND)
            target.send(reply, transaction=transaction if is_ordered else None)
            target.close()


# RabbitMQ


class Connector:
    """The connector of the documentation, which can be killed and started again."""

    def __init__(self, manager: ManagerProcess, direction: str, name: str, port: str) -> None:
        url = f"amqp://guest:guest@127.0.0.1:{port}/"
        self._command = [sys.executable, str(CONNECTOR), manager.app, direction, name, url]
        self._process = subprocess.Popen(self._command)

    def kill(self) -> None:
        """End it without a warning."""
        self._process.kill()
        self._process.wait()

    def restart(self) -> None:
        """Kill it, and start another one."""
        self.kill()
        self._process = subprocess.Popen(self._command)


class Consumer:
    """A program of RabbitMQ: it takes each order once, by its message_id, and answers."""

    def __init__(self, port: str) -> None:
        pika = self._pika = import_module("pika")
        self._connection = pika.BlockingConnection(
            pika.ConnectionParameters("127.0.0.1", int(port))
        )
        self.channel = self._connection.channel()
        self.channel.queue_declare(TO, durable=True)
        self.seen: dict[str, str] = {}
        self.repeated = 0

    def step(self) -> bool:
        """Take what is there; whether all orders have come."""
        while True:
            method, properties, body = self.channel.basic_get(TO)
            if method is None:
                return len(self.seen) == 2 * COUNT
            if properties.message_id in self.seen:
                self.repeated += 1
            self.seen.setdefault(properties.message_id, body.decode("utf-16-le"))
            self._answer(properties, body)
            self.channel.basic_ack(method.delivery_tag)

    def _answer(self, properties: Any, body: bytes) -> None:
        text = f"done {body.decode('utf-16-le')}"
        back = self._pika.BasicProperties(
            message_id=f"answer to {properties.message_id}",
            correlation_id=properties.correlation_id,
            headers=properties.headers,
        )
        for _ in range(2):  # a service that answers twice, as one would after a crash
            self.channel.basic_publish("", properties.reply_to, text.encode(), back)

    def close(self) -> None:
        """Log off."""
        self._connection.close()


def has_all(queue: Queue) -> bool:
    """Whether all answers of a kind have come."""
    return len(queue.peek_many(1000, timeout=0)) >= COUNT


def bodies(messages: list[ReceivedMessage]) -> list[str]:
    """What the answers of RabbitMQ say."""
    return [message.body.decode() for message in messages]


@pytest.mark.acceptance
def test_a_connector_to_rabbitmq_is_killed_and_nothing_is_lost(tmp_path: Path) -> None:
    """SYS-076: orders at least once and in order, answers once."""
    rabbit = RabbitMQ()
    if not rabbit.is_installed() or find_spec("pika") is None:
        pytest.skip("rabbitmq-server of Debian and pika are needed (make bench-peers gets them)")
    broker = tmp_path / "rabbitmq"
    broker.mkdir()
    port = rabbit.start(broker)
    connectors: list[Connector] = []
    try:
        with enterprise(tmp_path) as (customer, gateway), customer.connect() as sender:
            answers = {
                kind: answer_queue(sender, f"answers-{kind}".lower(), transactional=kind)
                for kind in (False, True)
            }
            connectors += [
                Connector(gateway, "forward", PLAIN, port),
                Connector(gateway, "forward", ORDERED, port),
                Connector(gateway, "answer", "msmq-answers", port),
            ]
            consumer = Consumer(port)
            for at, one in enumerate((*connectors, None)):
                start, end = (COUNT * place // 4 for place in (at, at + 1))
                order(sender, answers, start, end - start)
                consumer.step()
                if one is not None:
                    one.restart()
            gateway.kill()
            gateway.start()
            for one in connectors:
                one.restart()
            until(consumer.step, "not all came to RabbitMQ")
            ordered = [text for text in consumer.seen.values() if text.startswith("ordered")]
            assert ordered == expected("ordered")
            assert sorted(consumer.seen.values()) == sorted(expected("ordered") + expected("plain"))
            for kind, name in ((False, "plain"), (True, "ordered")):
                queue = sender.open_queue(f"answers-{kind}".lower())
                until(partial(has_all, queue), "not all were answered")
                found = bodies(queue.peek_many(1000, timeout=0))
                assert sorted(found) == sorted(expected(f"done {name}"))
            consumer.close()
    finally:
        for one in connectors:
            one.kill()
        rabbit.stop()
