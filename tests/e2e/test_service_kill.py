"""A service that is killed during load: its clients come back, and nothing acknowledged is lost."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import pytest

import openmsmq
from openmsmq import Manager
from openmsmq.errors import ConnectionLost, MQError, TransactionSequence

pytestmark = pytest.mark.slow

PATIENCE = 60.0
KILLS = 5
MANY = int(os.environ.get("OPENMSMQ_KILLS", "30"))


class Service:
    """A real process that is killed and started again on the same directory and socket."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.socket = directory / "app"
        self.address = f"unix:{self.socket}"
        self.start()

    def start(self) -> None:
        ready = self.directory / "ready.json"
        ready.unlink(missing_ok=True)
        options = ("--data", str(self.directory / "data"), "--app-socket", str(self.socket))
        off = (
            *("--app-port", "off", "--console-port", "off", "--binary-port", "off"),
            *("--log-level", "error"),
        )
        command = (sys.executable, "-m", "openmsmq", "serve", *options, *off)
        self.process = subprocess.Popen((*command, "--ready-file", str(ready)))
        end = time.monotonic() + PATIENCE
        while not ready.exists():
            assert self.process.poll() is None, "the service ended"
            assert time.monotonic() < end, "the service did not start"
            time.sleep(0.02)
        assert json.loads(ready.read_text())["pid"] == self.process.pid

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(PATIENCE)

    def stop(self) -> None:
        self.process.terminate()
        assert self.process.wait(PATIENCE) == 0


class Sender(threading.Thread):
    """Sends pairs in transactions and remembers what was acknowledged."""

    def __init__(self, service: Service, name: str) -> None:
        super().__init__(daemon=True)
        self._service = service
        self._who = name
        self.acknowledged: list[str] = []
        self.unknown: set[str] = set()
        "Those whose outcome the connection took with it."
        self.is_over = threading.Event()

    def run(self) -> None:
        with openmsmq.connect(self._service.address, reconnect=PATIENCE) as manager:
            one, two = manager.open_queue("one"), manager.open_queue("two")
            number = 0
            while not self.is_over.is_set():
                text = f"{self._who} {number}"
                number += 1
                transaction = manager.transaction()
                try:
                    one.send(text, transaction=transaction)
                    two.send(text, transaction=transaction)
                except (ConnectionLost, TransactionSequence):
                    continue  # it is aborted for certain
                try:
                    transaction.commit()
                    self.acknowledged.append(text)
                except TransactionSequence:
                    continue
                except ConnectionLost:
                    self.unknown.add(text)


class Receiver(threading.Thread):
    """Takes messages out of one of the queues, one transaction each."""

    def __init__(self, service: Service) -> None:
        super().__init__(daemon=True)
        self._service = service
        self.taken: list[str] = []
        self.unknown: set[str] = set()
        self.is_over = threading.Event()

    def run(self) -> None:
        with openmsmq.connect(self._service.address, reconnect=PATIENCE) as manager:
            queue = manager.open_queue("two")
            while not self.is_over.is_set():
                transaction = manager.transaction()
                try:
                    found = queue.receive_many(20, timeout=0.1, transaction=transaction)
                except MQError:
                    continue
                texts = [str(message.text) for message in found]
                try:
                    transaction.commit()
                    self.taken += texts
                except TransactionSequence:
                    continue
                except ConnectionLost:
                    self.unknown.update(texts)


def contents(manager: Manager, name: str) -> list[str]:
    return [str(m.text) for m in manager.open_queue(name).peek_many(1_000_000, timeout=0)]


def survive(tmp_path: Path, kills: int) -> None:
    service = Service(tmp_path)
    with openmsmq.connect(service.address) as manager:
        for name in ("one", "two", "kept"):
            manager.create_queue(name, transactional=True)
        hidden = manager.tpc("hidden")
        manager.open_queue("kept").send("secret", transaction=hidden)
        hidden.tpc_prepare()
    senders = [Sender(service, f"sender{n}") for n in range(3)]
    receiver = Receiver(service)
    threads: list[Sender | Receiver] = [*senders, receiver]
    for thread in threads:
        thread.start()
    for _ in range(kills):
        seen = sum(len(sender.acknowledged) for sender in senders)
        end = time.monotonic() + PATIENCE
        while sum(len(sender.acknowledged) for sender in senders) < seen + 30:
            assert time.monotonic() < end, "no one gets anything done"
            time.sleep(0.01)
        service.kill()
        service.start()
    for thread in threads:
        thread.is_over.set()
    for thread in threads:
        thread.join(PATIENCE)
        assert not thread.is_alive()
    with openmsmq.connect(service.address) as manager:
        check(manager, senders, receiver)
    service.stop()


def check(manager: Manager, senders: list[Sender], receiver: Receiver) -> None:
    one, two = contents(manager, "one"), contents(manager, "two")
    acknowledged = {text for sender in senders for text in sender.acknowledged}
    perhaps = {text for sender in senders for text in sender.unknown}
    assert max(Counter(one).values()) == 1, "nothing was sent twice"
    assert acknowledged <= set(one) <= acknowledged | perhaps
    for sender in senders:
        own = [text for text in one if text in set(sender.acknowledged)]
        assert own == sender.acknowledged, "those of one sender are in their order"
    gone = set(receiver.taken)
    assert len(receiver.taken) == len(gone), "nothing was received twice"
    assert gone <= set(one), "transactions are whole"
    missing = set(one) - set(two) - gone
    assert missing <= receiver.unknown
    assert set(two) <= set(one)
    assert not set(two) & gone
    assert manager.prepared() == ["hidden"]
    assert contents(manager, "kept") == []
    for _ in range(2):
        manager.commit_prepared("hidden")
    assert contents(manager, "kept") == ["secret"]


def test_nothing_acknowledged_is_lost_when_the_service_is_killed(tmp_path: Path) -> None:
    """SYS-021, SYS-034, SYS-036."""
    survive(tmp_path, KILLS)


@pytest.mark.torture
def test_nor_when_it_is_killed_again_and_again(tmp_path: Path) -> None:
    survive(tmp_path, MANY)
