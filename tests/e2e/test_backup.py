"""Backups of a store that another process works with as fast as it can."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tools.generate_docs import ROOT

import openmsmq
from openmsmq import Message, ReceivedMessage
from openmsmq.service.configuration import load_config
from openmsmq.service.maintenance import check, read_backup, restore
from tests.e2e.managers import ManagerProcess, running, until
from tests.e2e.pairs import QUEUES

pytestmark = pytest.mark.slow

BACKUPS = 5
KILLS = 4


class Worker:
    """The other process, and what it has acknowledged so far."""

    def __init__(self, directory: Path) -> None:
        command = [sys.executable, "-m", "tests.e2e.pairs", str(directory)]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "ready\n"
        self.said = {"sent": 0, "taken": 0}
        self._listener = threading.Thread(target=self._listen)
        self._listener.start()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            word, number = line.split()
            self.said[word] = int(number)

    def work_on(self, count: int) -> None:
        """Wait until it has sent more messages."""
        enough = self.said["sent"] + count
        deadline = time.monotonic() + 60
        while self.said["sent"] < enough:
            assert time.monotonic() < deadline, "it does not work any more"
            time.sleep(0.01)

    def end(self, how: signal.Signals) -> int:
        """Stop it; how it ended."""
        self._process.send_signal(how)
        self._listener.join()
        assert self._process.stdout is not None
        self._process.stdout.close()
        return self._process.wait()


@pytest.fixture
def worker(tmp_path: Path) -> Iterator[Worker]:
    """It works on the directory `data`."""
    started = Worker(tmp_path / "data")
    yield started
    started.end(signal.SIGKILL)


def start(*arguments: object) -> subprocess.Popen[str]:
    """The command line, in a process of its own."""
    command = [sys.executable, "-m", "openmsmq", *map(str, arguments)]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT
    )


def run(*arguments: object, code: int = 0) -> tuple[str, str]:
    """What a command says, if it ends with `code`."""
    with start(*arguments) as process:
        out, err = process.communicate(timeout=60)
    assert process.returncode == code, (out, err)
    return out, err


def contents(directory: Path) -> tuple[list[ReceivedMessage], list[ReceivedMessage]]:
    """The messages in both queues."""
    with openmsmq.open(directory) as manager:
        left, right = (manager.open_queue(name).peek_many(100_000, timeout=0) for name in QUEUES)
    return left, right


def numbers(directory: Path) -> range:
    """The numbers of the messages in both queues, which show one moment between transactions."""
    left, right = contents(directory)
    found = [int(message.body.split()[0]) for message in left]
    assert found == [int(message.body.split()[0]) for message in right]
    assert found == list(range(found[0], found[-1] + 1)), "a message is missing or out of order"
    assert int(left[-1].label) == found[-1], "a transaction is there by half"
    return range(found[0], found[-1] + 1)


def test_a_backup_under_load_shows_one_moment(worker: Worker, tmp_path: Path) -> None:
    data = tmp_path / "data"
    copies = [tmp_path / f"copy {number}" for number in range(BACKUPS)]
    moments = []
    for copy in copies:
        worker.work_on(300)
        before = dict(worker.said)
        document = json.loads(run("backup", copy, "--data", data, "--json")[0])
        after = dict(worker.said)
        assert after["sent"] > before["sent"], "no one worked meanwhile"
        moments.append((document, before))
    assert worker.end(signal.SIGTERM) == 0

    assert check(data).findings == ()
    final = numbers(data)
    assert final[-1] == worker.said["sent"]
    assert final[0] == worker.said["taken"] + 1
    used = {message.id for queue in contents(data) for message in queue}
    places = {message.lookup_id for queue in contents(data) for message in queue}

    last = 0
    for copy, (document, before) in zip(copies, moments, strict=True):
        back = tmp_path / f"back of {copy.name}"
        restore(copy, back)
        assert check(back).findings == ()
        found = numbers(back)
        assert found[-1] >= before["sent"], "an acknowledged message is missing"
        assert found[0] > before["taken"], "a message that was taken is back"
        assert last < found[-1] < final[-1]
        last = found[-1]
        assert document["messages"] == 2 * len(found)
        new = send_one(back)
        assert new.id not in used
        assert new.lookup_id not in places


def send_one(directory: Path) -> ReceivedMessage:
    """A new message in a restored store."""
    with openmsmq.open(directory) as manager:
        queue = manager.create_queue("new")
        queue.send(Message(b"x"))
        return queue.receive(timeout=0)


def test_a_killed_backup_harms_no_one(worker: Worker, tmp_path: Path) -> None:
    chance = random.Random(1)
    worker.work_on(300)
    for number in range(KILLS):
        copy = tmp_path / f"copy {number}"
        with start("backup", copy, "--data", tmp_path / "data") as process:
            time.sleep(0.2 + chance.random() * 0.3)
            process.kill()
            process.communicate()
        if copy.exists():
            assert read_backup(copy).messages
            restore(copy, tmp_path / f"back {number}")
            numbers(tmp_path / f"back {number}")
        worker.work_on(100)
    run("backup", tmp_path / "last", "--data", tmp_path / "data")
    assert worker.end(signal.SIGKILL) == -signal.SIGKILL
    assert numbers(tmp_path / "data")[-1] >= worker.said["sent"]
    assert check(tmp_path / "data").findings == ()
    restore(tmp_path / "last", tmp_path / "back")
    assert check(tmp_path / "back").findings == ()


def test_damaged_backups_are_refused_and_never_end_with_a_signal(tmp_path: Path) -> None:
    with openmsmq.open(tmp_path / "data") as manager:
        manager.create_queue("orders").send_many([Message(bytes(500))] * 300)
    copy, back = tmp_path / "copy", tmp_path / "back"
    run("backup", copy, "--data", tmp_path / "data")
    whole = (copy / "data.mdb").read_bytes()
    for damaged in (
        whole[: len(whole) // 2],
        whole[:9000] + bytes(4096) + whole[9000 + 4096 :],
        whole[:-100] + b"x" + whole[-99:],
    ):
        (copy / "data.mdb").write_bytes(damaged)
        out, err = run("restore", copy, "--data", back, code=1)
        assert out == ""
        assert err.startswith("openmsmq: BackupDamaged (0xC00E002A): ")
        assert not (back / "data.mdb").exists()
    (copy / "data.mdb").write_bytes(whole)
    run("restore", copy, "--data", back)
    assert "whole: 300 messages of 1 queue" in run("check", "--data", back)[0]
    run("compact", "--data", back)
    assert "whole: 300 messages of 1 queue" in run("check", "--data", back)[0]


def test_a_restored_service_comes_up_as_the_original_was_started(tmp_path: Path) -> None:
    """Its name and aliases were given on the command line, and are in the backup."""
    office = ManagerProcess(tmp_path, "office", options=("--alias", "headquarters"))
    with running(office):
        command = [sys.executable, "-m", "openmsmq", "backup", str(tmp_path / "copy")]
        subprocess.run([*command, "--data", str(office.folder / "data")], check=True)
        identity = office.id
        office.stop()
    restore(tmp_path / "copy", tmp_path / "again")
    found = load_config(None, {"data": tmp_path / "again"})
    assert (found.name, found.aliases, found.app_port) == ("office", ("headquarters",), None)
    ready = tmp_path / "ready.json"
    command = [sys.executable, "-m", "openmsmq", "serve", "--data", str(tmp_path / "again")]
    service = subprocess.Popen([*command, "--ready-file", str(ready)])
    try:
        until(ready.exists, "it did not start")
        said = json.loads(ready.read_text())
        assert (said["name"], said["id"]) == ("office", identity)
    finally:
        service.kill()
        service.wait()
