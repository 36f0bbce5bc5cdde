"""Two managers, one of which is killed again and again: what is sent arrives once, and in order."""

from __future__ import annotations

import os
import random
import threading
import time
from collections import Counter
from pathlib import Path

import pytest

import openmsmq
from openmsmq import Manager, Message, Queue
from openmsmq.errors import ConnectionLost, TransactionSequence
from tests.e2e.managers import (
    PATIENCE,
    ManagerProcess,
    free_port,
    is_everything_sent,
    running,
    texts,
    until,
)

pytestmark = pytest.mark.slow

KILLS, COUNT = 6, 3000
MANY_KILLS = int(os.environ.get("OPENMSMQ_KILLS", "40"))
MANY = 20_000
BATCH = 20
TRANSACTIONAL, RECOVERABLE = r"DIRECT=OS:b\private$\t", r"DIRECT=OS:b\private$\r"


class Sender(threading.Thread):
    """Sends numbered messages to another manager, as many as it is allowed to."""

    def __init__(self, near: ManagerProcess, *, transactional: bool) -> None:
        super().__init__(daemon=True)
        self._near = near
        self._transactional = transactional
        self._number = 0
        self.acknowledged: list[str] = []
        self.unknown: set[str] = set()
        "Those of which the connection has taken the outcome with it."
        self.allowed = 0
        self.is_over = threading.Event()

    def run(self) -> None:
        with self._near.connect() as manager:
            queue = manager.open_queue(TRANSACTIONAL if self._transactional else RECOVERABLE)
            while not self.is_over.is_set():
                if self._number < self.allowed:
                    self._send(manager, queue)
                else:
                    time.sleep(0.005)

    def _send(self, manager: Manager, queue: Queue) -> None:
        numbers = [str(self._number + n) for n in range(BATCH)]
        self._number += BATCH
        messages = [Message(number + "." * random.randrange(300)) for number in numbers]
        transaction = manager.transaction() if self._transactional else None
        try:
            queue.send_many(messages, transaction=transaction)
        except (ConnectionLost, TransactionSequence):
            if transaction is None:
                self.unknown.update(numbers)
            return  # a transaction is aborted for certain
        try:
            if transaction is not None:
                transaction.commit()
            self.acknowledged += numbers
        except TransactionSequence:
            return
        except ConnectionLost:
            self.unknown.update(numbers)


def arrived(manager: Manager, name: str) -> list[str]:
    """The numbers of the messages in a queue."""
    return [text.rstrip(".") for text in texts(manager, name)]


def survive(folder: Path, kills: int, count: int) -> None:
    chance = random.Random(kills)
    ports = free_port(), free_port()
    near = ManagerProcess(folder, "a", port=ports[0], peers={"b": ("127.0.0.1", ports[1])})
    far = ManagerProcess(folder, "b", port=ports[1], peers={"a": ("127.0.0.1", ports[0])})
    with running(far, near):
        with far.connect() as b:
            b.create_queue("t", transactional=True)
            b.create_queue("r")
        senders = [Sender(near, transactional=kind) for kind in (True, False)]
        for sender in senders:
            sender.start()
        for _ in range(kills):
            for sender in senders:
                sender.allowed += count // kills
            time.sleep(chance.random() * 0.5)
            victim = chance.choice((near, far))
            victim.kill()
            time.sleep(chance.random() * 0.3)
            victim.start()
        for sender in senders:
            finish(sender)
        with near.connect() as a:
            until(lambda: is_everything_sent(a), "something is left at the sender")
        near.stop()
        far.stop()
    with openmsmq.open(far.folder / "data") as b:
        check(senders[0], arrived(b, "t"), ordered=True)
        check(senders[1], arrived(b, "r"), ordered=False)


def finish(sender: Sender) -> None:
    """Let a sender come to its end."""
    until(lambda: sender._number >= sender.allowed, "the sender gets nothing done")
    sender.is_over.set()
    sender.join(PATIENCE)
    assert not sender.is_alive()
    assert sender.acknowledged


def check(sender: Sender, found: list[str], *, ordered: bool) -> None:
    """All that was acknowledged arrived, once, and nothing else but what is unknown."""
    assert [number for number, times in Counter(found).items() if times > 1] == []
    acknowledged = set(sender.acknowledged)
    assert acknowledged - set(found) == set(), "lost"
    assert set(found) <= acknowledged | sender.unknown
    if ordered:
        assert found == sorted(found, key=int)


def test_messages_arrive_once_and_in_order_though_managers_are_killed(tmp_path: Path) -> None:
    """MQQB-226, MQQB-229, MQQB-258, MQQB-259, MQQB-281, MQQB-284, MQQB-349, MQQB-350, MQQB-351."""
    survive(tmp_path, KILLS, COUNT)


@pytest.mark.torture
@pytest.mark.timeout(3600)
def test_also_when_they_are_killed_again_and_again(tmp_path: Path) -> None:
    survive(tmp_path, MANY_KILLS, MANY)
