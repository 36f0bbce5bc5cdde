"""A disk that fails: a manager ends at once, says why, and has what it acknowledged."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tools.generate_docs import ROOT

import openmsmq
from openmsmq import Message
from openmsmq.errors import MQError
from openmsmq.store.commit_log import LOG_FILE
from tests.e2e.managers import PATIENCE

pytestmark = pytest.mark.slow

COUNT = 100
"Messages, more than are sent before the disk fails."
DATA, LOG = "data.mdb", LOG_FILE
FAULTS = [
    *(((DATA, LOG), f"pwrite64:error=EIO:when={number}+") for number in range(15, 19)),
    ((LOG,), "pwrite64:error=EIO:when=8+"),
    ((LOG,), "fdatasync:error=EIO:when=8+"),
]
"LMDB writes pages, and the one that makes the commit count; the commit is added to the log."
Fault = tuple[tuple[str, ...], str]

EMBEDDED = """
import sys
import openmsmq
from openmsmq import Message
from openmsmq.errors import StorageError
manager = openmsmq.open(sys.argv[1])
queue = manager.open_queue("orders")
for number in range(int(sys.argv[2])):
    try:
        queue.send(Message(b"%d" % number))
    except StorageError:
        break
    print(number, flush=True)
for call in (lambda: queue.send(Message(b"later")), lambda: queue.receive(timeout=0)):
    try:
        call()
    except StorageError:
        print("refused", flush=True)
manager.close()
manager.close()
print("closed", flush=True)
"""


def traced(fault: Fault, folder: Path, command: list[str]) -> list[str]:
    """A command whose calls on these files fail."""
    strace = shutil.which("strace")
    if strace is None:
        pytest.skip("strace is not installed")
    files, calls = fault
    quiet = ["-o", "/dev/null", *(part for name in files for part in ("-P", str(folder / name)))]
    return [strace, "-f", *quiet, "-e", f"inject={calls}", *command]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A directory with a queue, so that the next start has little to write."""
    with openmsmq.open(tmp_path / "data") as manager:
        manager.create_queue("orders")
    return tmp_path / "data"


def bodies(data: Path) -> list[int]:
    """What a new process finds in the queue."""
    with openmsmq.open(data) as manager:
        found = manager.open_queue("orders").receive_many(2 * COUNT, timeout=0)
        return [int(message.body) for message in found]


def check(data: Path, acknowledged: list[int]) -> None:
    """All that was acknowledged is there, and perhaps the one on its way."""
    assert acknowledged == list(range(len(acknowledged)))
    assert 0 < len(acknowledged) < COUNT
    found = bodies(data)
    assert found in (acknowledged, [*acknowledged, len(acknowledged)])


@pytest.mark.parametrize("fault", FAULTS)
def test_an_embedded_manager_is_closed(data: Path, fault: Fault) -> None:
    command = traced(fault, data, [sys.executable, "-c", EMBEDDED, str(data), str(COUNT)])
    done = subprocess.run(
        command, check=False, capture_output=True, text=True, cwd=ROOT, timeout=2 * PATIENCE
    )
    if "ptrace" in done.stderr:
        pytest.skip("processes cannot be traced here")
    assert done.returncode == 0, done.stderr
    *numbers, first, second, end = done.stdout.split()
    assert (first, second, end) == ("refused", "refused", "closed")
    assert "cannot go on" in done.stderr
    check(data, [int(number) for number in numbers])


def send(queue: openmsmq.Queue) -> list[int]:
    """Send until it is refused; what was acknowledged."""
    for number in range(COUNT):
        try:
            queue.send(Message(b"%d" % number))
        except MQError:
            return list(range(number))
    raise AssertionError("the disk never failed")


@pytest.mark.parametrize("fault", FAULTS)
def test_a_service_ends_with_an_error(data: Path, fault: Fault) -> None:
    ready, socket = data.parent / "ready", data.parent / "app"
    serve = [sys.executable, "-m", "openmsmq", "serve", "--data", str(data)]
    listeners = ["--app-port", "off", "--binary-port", "off", "--console-port", "off"]
    options = [*listeners, "--app-socket", str(socket), "--ready-file", str(ready)]
    command = traced(fault, data, [*serve, *options])
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, cwd=ROOT) as process:
        while not ready.exists():
            if process.poll() is not None:
                assert process.stderr is not None
                words = process.stderr.read()
                if "ptrace" in words:
                    pytest.skip("processes cannot be traced here")
                raise AssertionError(words)
        with openmsmq.connect(f"unix:{socket}") as manager:
            acknowledged = send(manager.open_queue("orders"))
        _, words = process.communicate(timeout=2 * PATIENCE)
    assert process.returncode == 1, words
    assert "cannot go on" in words
    assert not ready.exists()
    check(data, acknowledged)
