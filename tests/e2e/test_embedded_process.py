"""Programs that embed a manager and are interrupted, or fork."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tools.generate_docs import ROOT

import openmsmq
from openmsmq.store.check.check import check
from tests.e2e.managers import PATIENCE

pytestmark = pytest.mark.slow

INTERRUPTED = """
import sys, threading
import openmsmq
from openmsmq import Message
manager = openmsmq.open(sys.argv[1])
queue = manager.create_queue("orders")
other = manager.create_queue("other")
sent = []
def work():
    number = 0
    try:
        while True:
            other.send(Message(b"%d" % number))
            number += 1
            if number % 3 == 0:
                other.receive(timeout=0)
    except openmsmq.MQError:
        pass
threads = [threading.Thread(target=work) for _ in range(int(sys.argv[2]))]
for thread in threads:
    thread.start()
print("ready", flush=True)
number = 0
try:
    while True:
        queue.send(Message(b"%d" % number))
        sent.append(number)
        number += 1
except KeyboardInterrupt:
    pass
for more in range(3):
    queue.send(Message(b"%d" % -more))
manager.close()
for thread in threads:
    thread.join()
print(len(sent), flush=True)
"""
FORKED = """
import os, sys, time
import openmsmq
from openmsmq import Message
manager = openmsmq.open(sys.argv[1])
queue = manager.create_queue("orders")
queue.send(Message(b"0"))
child = os.fork()
if not child:
    if sys.argv[2] == "exit":
        sys.exit(0)
    if sys.argv[2] == "close":
        manager.close()
        sys.exit(0)
    try:
        queue.send(Message(b"child"))
    except openmsmq.MQError as error:
        sys.exit(0 if "forked" in str(error) else 5)
    sys.exit(6)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
for number in range(1, 20):
    queue.send(Message(b"%d" % number))
print(*(int(message.body) for message in queue.receive_many(100, timeout=0)), flush=True)
queue.send(Message(b"last"))
manager.close()
"""


@pytest.mark.parametrize("others", [0, 2])
@pytest.mark.parametrize("seed", range(6))
def test_ctrl_c_during_sends_harms_nothing_and_close_returns(
    tmp_path: Path, seed: int, others: int
) -> None:
    """What was sent is there, others are not disturbed, and the manager goes on if asked to."""
    command = [sys.executable, "-c", INTERRUPTED, str(tmp_path / "data"), str(others)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(random.Random(seed).random() / 5)
        process.send_signal(signal.SIGINT)
        try:
            said, _ = process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            raise
    assert process.returncode == 0
    sent = int(said)
    with openmsmq.open(tmp_path / "data") as manager:
        found = [int(m.body) for m in manager.open_queue("orders").receive_many(10**6, timeout=0)]
    before, after = found[:-3], found[-3:]
    assert before in (list(range(sent)), list(range(sent + 1)))
    assert after == [0, -1, -2]
    assert check(tmp_path / "data").is_whole


@pytest.mark.parametrize("what", ["exit", "close", "send"])
def test_a_forked_child_leaves_its_parent_alone(tmp_path: Path, what: str) -> None:
    command = [sys.executable, "-c", FORKED, str(tmp_path / "data"), what]
    done = subprocess.run(
        command, check=False, capture_output=True, text=True, cwd=ROOT, timeout=PATIENCE
    )
    assert done.returncode == 0, done.stderr
    code, *numbers = map(int, done.stdout.split())
    assert (code, numbers) == (0, list(range(20)))
    with openmsmq.open(tmp_path / "data") as manager:
        assert manager.open_queue("orders").receive(timeout=0).body == b"last"
