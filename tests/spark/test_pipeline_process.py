"""`openmsmq pipeline` as processes: killed, stopped and asked how they are."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from openmsmq import Manager, Message, Queue
from openmsmq.pipelines.archive.files import Folder
from openmsmq.pipelines.archive.verify import verify
from tests.e2e.managers import ManagerProcess, running
from tests.spark.conftest import SOURCES
from tests.spark.mixed import all_sent, mixed

pytestmark = pytest.mark.slow
QUEUES = ("orders", "bills")
DEAD = r".\DeadLetter$"
PATIENCE = 240.0
"Seconds: a process with Spark in it is slow to start where others work, too."


def until(condition: Callable[[], object], process: subprocess.Popen[bytes] | None = None) -> None:
    """Wait for something, as long as the process is there that shall do it."""
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, "it never happened"
        assert process is None or process.poll() is None, process.communicate()
        time.sleep(0.02)


class Commands:
    """The command line, in a folder of files and runs."""

    def __init__(self, folder: Path, manager: ManagerProcess) -> None:
        self.folder = folder
        self.manager = manager
        self._started: list[subprocess.Popen[bytes]] = []

    def write(self, name: str, text: str) -> None:
        """A file that begins with what all have in common."""
        self.folder.joinpath(f"{name}.toml").write_text(f'master = "local[2]"\n{text}')

    def start(self, *arguments: str) -> subprocess.Popen[bytes]:
        environment = {
            **os.environ,
            "PYTHONPATH": f"{SOURCES}{os.pathsep}{os.environ.get('PYTHONPATH', '')}",
            "OPENMSMQ_RUNS": str(self.folder / "runs"),
            "OPENMSMQ_MANAGER": self.manager.app,
        }
        command = [sys.executable, "-m", "openmsmq", "pipeline", *arguments]
        pipe = subprocess.PIPE
        process = subprocess.Popen(
            command, cwd=self.folder, env=environment, stdout=pipe, stderr=pipe
        )
        self._started.append(process)
        return process

    def end(self) -> None:
        """Nothing outlives the test."""
        for process in self._started:
            if process.poll() is None:
                kill(process)

    def __call__(self, *arguments: str, code: int = 0) -> list[dict[str, Any]]:
        """What a command answers with `--json`."""
        process = self.start(*arguments, "--json")
        out, err = process.communicate()
        assert process.returncode == code, err.decode()
        return [json.loads(line) for line in out.splitlines()]

    def refused(self, *arguments: str, code: int) -> str:
        """What a command that fails says, in one line."""
        process = self.start(*arguments)
        _, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == code, err.decode()
        [line] = err.decode().splitlines()
        return line


@pytest.fixture
def commands(tmp_path: Path) -> Iterator[Commands]:
    process = ManagerProcess(tmp_path, "shop01")
    with running(process):
        made = Commands(tmp_path, process)
        yield made
        made.end()


@pytest.fixture
def manager(commands: Commands) -> Iterator[Manager]:
    with commands.manager.connect() as connected:
        yield connected


def fill(manager: Manager, count: int, seed: int) -> int:
    """Messages of all kinds in two queues, some of which are received; how many die."""
    random = Random(seed)
    for name in QUEUES:
        queue = manager.open_queue(name)
        queue.send_many(mixed(number, random) for number in range(count))
        queue.send_many(
            Message(b"late", time_to_be_received=1, dead_letter=True, app_specific=number)
            for number in range(count // 20)
        )
        queue.receive_many(count // 10, timeout=0)
    return len(QUEUES) * (count // 20)


def kill(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=PATIENCE)


@pytest.mark.acceptance
@pytest.mark.timeout(900)
def test_an_archive_and_its_replay_survive_kills(commands: Commands, manager: Manager) -> None:
    keep_and_bring_back(commands, manager, count=400, batch=250, kills=1)


@pytest.mark.torture
@pytest.mark.timeout(7200)
def test_a_million_messages_survive_five_kills(commands: Commands, manager: Manager) -> None:
    keep_and_bring_back(commands, manager, count=480_000, batch=60_000, kills=5)


def keep_and_bring_back(
    commands: Commands, manager: Manager, *, count: int, batch: int, kills: int
) -> None:
    """What is replayed is what was archived: all that senders set, in the order of the queue."""
    for name in QUEUES:
        manager.create_queue(name, journal=True)
    parts = range(0, count, 10_000)
    dead = sum(fill(manager, min(10_000, count - part), part) for part in parts)
    letters = manager.open_queue(DEAD)
    until(lambda: letters.info().messages == dead)
    died = Counter(everything(letters))
    names = [rf".\private$\{name}" for name in QUEUES]
    names += [*(rf"{name}\Journal$" for name in names), DEAD]
    targets = {name: f"again-{number}" for number, name in enumerate(names)}
    for target in targets.values():
        manager.create_queue(target)
    commands.write(
        "lake",
        f"""
        [source]
        queue = {json.dumps(names)}
        on_commit = "keep"
        max_messages_per_trigger = {batch}
        [archive]
        path = "archive"
        """,
    )
    moved = "\n".join(f"'{name}' = '{target}'" for name, target in targets.items())
    commands.write("again", f"[replay]\npath = 'archive'\n[replay.queues]\n{moved}\n")
    archive = commands.folder / "archive"
    for number in range(kills):
        killed_in_batch(commands, archive, later=number % 2)
    commands("run", "lake.toml")
    found = verify(archive)
    assert found.faults == ()
    assert found.queues == {name: manager.open_queue(name).info().messages for name in names}
    for number in range(kills):
        steps = archive / "replays" / "again" / "steps.jsonl"
        killed_in_step(commands, manager, steps, later=number % 2)
    commands("run", "again.toml")
    again = targets.pop(DEAD)
    for name, target in targets.items():
        compare(manager, name, target)
    # Messages that live a second only began to live again, and died again.
    until(lambda: letters.info().messages == 2 * dead)
    assert Counter(everything(letters)) == died + died
    assert manager.open_queue(again).info().messages == 0
    assert manager.prepared() == []


def killed_in_batch(commands: Commands, archive: Path, later: int) -> None:
    """Kill the archive while it writes its next batch, or one after it."""
    process = commands.start("run", "lake.toml")

    def batches() -> int:
        return len(list(Folder(archive).entries()))

    want = batches() + later
    until(lambda: batches() >= want and (archive / "staging").exists(), process)
    kill(process)
    [lost] = [one for one in commands("list") if one["name"] == "lake"]
    assert lost["state"] == "lost"


def killed_in_step(commands: Commands, manager: Manager, steps: Path, later: int) -> None:
    """Kill the replay when tasks have prepared messages that do not count yet; or after a step."""
    process = commands.start("run", "again.toml")

    def done() -> int:
        return steps.read_text().count("done") if steps.exists() else 0

    want = done() + later
    until(lambda: done() >= want and manager.prepared(), process)
    kill(process)


def compare(manager: Manager, name: str, target: str) -> None:
    """Two queues have the same messages, in the same order."""
    first, second = manager.open_queue(name), manager.open_queue(target)
    assert first.info().messages == second.info().messages
    for left, right in zip(everything(first), everything(second), strict=True):
        assert left == right, name


def everything(queue: Queue) -> Iterator[tuple[object, ...]]:
    """What was sent to a queue, in its order."""
    after = 0
    while found := queue.peek_many(5_000, timeout=0, after=after):
        yield from all_sent(found)
        after = found[-1].lookup_id


def test_a_pipeline_is_watched_and_stopped(commands: Commands, manager: Manager) -> None:
    orders, done = manager.create_queue("orders"), manager.create_queue("done")
    orders.send_many(Message(str(number)) for number in range(10))
    commands.write(
        "copy",
        """
        trigger = 1
        checkpoint = "checkpoint"
        [source]
        queue = "orders"
        [transform]
        sql = "select body, body_type from source"
        [sink]
        kind = "queue"
        queue = "done"
        """,
    )
    process = commands.start("run", "copy.toml", "--json")
    until(lambda: done.info().messages == 10, process)
    until(lambda: commands("status", "copy")[0]["rows"] == 10)
    [status] = commands("list")
    assert (status["name"], status["kind"], status["state"]) == ("copy", "sink", "running")
    assert "runs already, as process" in commands.refused("run", "copy.toml", code=1)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, err) == (0, b"")
    batch, *_, end = [json.loads(line) for line in out.splitlines()]
    assert (batch["event"], batch["rows"], batch["lag"]) == ("batch", 10, 0)
    assert (end["event"], end["state"], end["rows"]) == ("end", "stopped", 10)
    assert sorted(int(str(m.text)) for m in done.peek_many(99, timeout=0)) == list(range(10))


def test_what_is_wrong_is_one_line(commands: Commands, manager: Manager) -> None:
    manager.create_queue("orders")
    sink = 'checkpoint = "c"\n[sink]\nkind = "console"\n'
    commands.write("key", f'{sink}[source]\nquue = "orders"\n')
    line = commands.refused("run", "key.toml", code=2)
    assert line.endswith("key.toml: source.queue is missing; is it 'quue'?")
    commands.write("queue", f'{sink}[source]\nqueue = "ordres"\n')
    line = commands.refused("run", "queue.toml", code=1)
    assert r"source.queue: there is no queue 'ordres'; did you mean '.\\private$\\orders'?" in line
