"""The commands as people and scripts use them: real processes, pipes, signals, kills."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import openmsmq
from openmsmq import Message
from openmsmq.types.message import FIELDS
from tests.strategies.messages import messages

DEAD_LETTERS = r".\DeadLetter$"
RECEIVE_TIMEOUT = 0xC002


@dataclass(frozen=True)
class Shell:
    """Runs commands in processes of their own, on one manager."""

    directory: Path

    def command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "openmsmq", *arguments]

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, "OPENMSMQ_DATA": str(self.directory)}

    def run(self, *arguments: str, code: int = 0, stdin: str = "") -> str:
        """What a command prints; it must exit with `code`."""
        done = subprocess.run(
            self.command(*arguments),
            env=self.environment,
            input=stdin,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == code, (done.stdout, done.stderr)
        return done.stdout if code == 0 else done.stdout + done.stderr

    def objects(self, *arguments: str) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.run(*arguments, "--json").splitlines()]

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            self.command(*arguments),
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """A shell in which OPENMSMQ_DATA is set."""
    return Shell(tmp_path / "data")


@pytest.mark.slow
def test_the_first_steps_of_a_new_user(shell: Shell) -> None:
    shell.run("queue", "create", "orders", "--transactional", "--label", "orders of the shop")
    shell.run("queue", "create", "offers")
    ids = shell.run("message", "send", "orders", "--count", "3", "--label", "order {n}").split()
    assert len(ids) == 3

    [first] = shell.objects("message", "receive", "orders", "--transaction")
    assert (first["id"], first["label"]) == (ids[0], "order 0")
    assert "order 1" in shell.run("message", "receive", "orders")
    assert shell.objects("queue", "show", "orders")[0]["messages"] == 1

    offer = shell.run(
        "message", "send", "offers", "--body", "today only", "--time-to-be-received", "1",
        "--dead-letter",
    ).strip()  # fmt: skip
    time.sleep(2.1)
    assert "offers is empty" in shell.run("message", "receive", "offers", code=3)
    [letter] = shell.objects("message", "peek", DEAD_LETTERS)
    assert (letter["id"], letter["message_class"]) == (offer, RECEIVE_TIMEOUT)
    assert "the message was not received in time" in shell.run("message", "peek", DEAD_LETTERS)

    events = [event["event"] for event in shell.objects("explain", offer)]
    assert len(events) >= 2
    reported = shell.run("explain", offer)
    assert r".\private$\offers" in reported
    assert "in time" in reported or "expired" in reported
    assert "1 dead letter" in shell.run("doctor", code=1)
    shell.run("queue", "purge", DEAD_LETTERS, "--yes")
    assert "no problems found" in shell.run("doctor")


def test_a_pipe_that_closes_early_is_no_error_to_talk_about(shell: Shell) -> None:
    shell.run("queue", "create", "orders")
    shell.run("message", "send", "orders", "--count", "5000", "--body", "x" * 100)
    with shell.start("message", "export", "orders") as export:
        assert export.stdout is not None
        assert export.stderr is not None
        export.stdout.readline()
        export.stdout.close()
        assert export.wait() == 1
        assert export.stderr.read() == ""


def test_a_full_disk_is_said_and_takes_nothing_away(shell: Shell) -> None:
    shell.run("queue", "create", "orders", "--transactional")
    shell.run("message", "send", "orders")
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            shell.command("message", "receive", "orders", "--transaction", "--json"),
            env=shell.environment,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert (done.returncode, done.stderr) == (1, "openmsmq: [Errno 28] No space left on device\n")
    assert len(shell.objects("message", "peek", "orders")) == 1


def test_an_interruption_is_quiet(shell: Shell) -> None:
    shell.run("queue", "create", "orders")
    with shell.start("message", "receive", "orders", "--timeout", "60") as waiting:
        while f"process {waiting.pid} " not in (shell.directory / "openmsmq.lock").read_text():
            time.sleep(0.05)
        time.sleep(0.5)
        waiting.send_signal(signal.SIGINT)
        output, errors = waiting.communicate(timeout=10)
    assert (waiting.returncode, output, errors) == (130, "", "")


@pytest.mark.slow
@pytest.mark.parametrize("transactional", [False, True], ids=["plain", "transactional"])
@pytest.mark.parametrize(
    ("count", "kills"), [(8_000, 2), pytest.param(20_000, 4, marks=pytest.mark.torture)]
)
def test_an_export_that_is_killed_loses_nothing(
    shell: Shell, tmp_path: Path, *, transactional: bool, count: int, kills: int
) -> None:
    """What is not in the file is in the queue."""
    kind = ["--transactional"] if transactional else []
    shell.run("queue", "create", "orders", *kind)
    shell.run("message", "send", "orders", "--count", str(count), "--label", "{n}")
    found = set()
    for number in range(kills):
        output = tmp_path / f"{number}.jsonl"
        with shell.start("message", "export", "orders", "-o", str(output), "--receive") as export:
            while not (output.exists() and output.stat().st_size > 500_000 * (number + 1)):
                time.sleep(0.005)
            export.kill()
        whole = [line for line in output.read_text().splitlines(keepends=True) if line[-1] == "\n"]
        found |= {json.loads(line)["label"] for line in whole}
    left = {message["label"] for message in shell.objects("message", "export", "orders")}
    assert found | left == {str(number) for number in range(count)}
    assert 0 < len(left) < count


def lasting(message: Message) -> Message:
    """The same, but so that it is there when it is read."""
    return replace(
        message,
        recoverable=True,
        time_to_be_received=long(message.time_to_be_received),
        time_to_reach_queue=long(message.time_to_reach_queue),
    )


def long(seconds: int | None) -> int | None:
    return None if seconds is None else min(seconds + 10_000, 0xFFFF_FFFE)


def fields(directory: Path, queue: str, count: int) -> list[tuple[object, ...]]:
    """All that senders can set, of all messages in a queue."""
    with openmsmq.open(directory) as manager:
        found = manager.open_queue(queue).peek_many(count + 1, timeout=0)
    return [tuple(getattr(message, name) for name in FIELDS) for message in found]


@pytest.mark.parametrize("transactional", [False, True], ids=["plain", "transactional"])
@pytest.mark.parametrize("count", [1_500, pytest.param(100_000, marks=pytest.mark.torture)])
def test_export_and_import_keep_every_property(*, transactional: bool, count: int) -> None:
    @settings(max_examples=1, phases=[Phase.generate])
    @given(st.lists(messages(), min_size=60, max_size=60))
    def check(kinds: list[Message]) -> None:
        with TemporaryDirectory() as folder:
            there_and_back(Path(folder), [lasting(kind) for kind in kinds], count, transactional)

    check()


def there_and_back(folder: Path, kinds: list[Message], count: int, transactional: bool) -> None:
    """Send many messages, and have them in another queue by way of a file."""
    shell = Shell(folder / "data")
    with openmsmq.open(shell.directory) as manager:
        first = manager.create_queue("first", transactional=transactional)
        manager.create_queue("second", transactional=transactional)
        for start in range(0, count, 1000):
            numbers = range(start, min(start + 1000, count))
            batch = [replace(kinds[n % len(kinds)], app_specific=n) for n in numbers]
            if transactional:
                with manager.transaction() as transaction:
                    first.send_many(batch, transaction=transaction)
            else:
                first.send_many(batch)
    file = str(folder / "messages.jsonl")
    shell.run("message", "export", "first", "--output", file)
    imported = shell.objects("message", "import", "second", file)[0]
    assert imported["imported"] == count
    sent = fields(shell.directory, "first", count)
    assert len(sent) == count
    assert fields(shell.directory, "second", count) == sent
