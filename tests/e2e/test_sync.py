"""The disk is synced between the last write of a message and the answer that acknowledges it.

A kill does not show this, since the kernel outlives it; the system calls do.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tools.generate_docs import ROOT

from openmsmq.store.commit_log import LOG_FILE

pytestmark = pytest.mark.slow

PROGRAM = """
import os, sys
import openmsmq
from openmsmq import Message
with openmsmq.open(sys.argv[1]) as manager:
    queue = manager.create_queue("orders")
    books = manager.create_queue("books", transactional=True)
    os.write(1, b"MARK ready")
    queue.send(Message(b"BODY-OF-THE-MESSAGE"))
    os.write(1, b"MARK sent")
    with manager.transaction() as transaction:
        books.send(Message(b"BODY-IN-TRANSACTION"), transaction=transaction)
    os.write(1, b"MARK committed")
    queue.receive(timeout=0)
    os.write(1, b"MARK received")
"""
WRITES = {"pwrite64", "pwritev", "write", "writev"}
SYNCS = {"fsync", "fdatasync", "msync"}


@pytest.fixture
def calls(tmp_path: Path) -> list[tuple[str, str]]:
    """The writes and syncs of the program, in their order, with what they were given."""
    strace = shutil.which("strace")
    if strace is None:
        pytest.skip("strace is not installed")
    log = tmp_path / "log"
    traced = ",".join(sorted(WRITES | SYNCS | {"openat"}))
    command = [strace, "-f", "-s", "8192", "-e", f"trace={traced}", "-o", str(log)]
    program = [sys.executable, "-c", PROGRAM, str(tmp_path / "data")]
    done = subprocess.run([*command, *program], check=False, capture_output=True, cwd=ROOT)
    if done.returncode and b"ptrace" in done.stderr:
        pytest.skip("processes cannot be traced here")
    assert done.returncode == 0, done.stderr
    return re.findall(r"^\d+ +(\w+)\((.*)$", log.read_text(), re.MULTILINE)


def between(calls: list[tuple[str, str]], first: str, last: str) -> list[tuple[str, str]]:
    """The calls between two marks the program wrote."""
    marks = {text: place for place, (_, text) in enumerate(calls) if "MARK" in text}
    start = next(place for text, place in marks.items() if f"MARK {first}" in text)
    end = next(place for text, place in marks.items() if f"MARK {last}" in text)
    return calls[start + 1 : end]


def places(calls: list[tuple[str, str]], names: set[str], text: str = "") -> list[int]:
    return [place for place, (name, given) in enumerate(calls) if name in names and text in given]


def test_a_message_is_synced_before_send_returns(calls: list[tuple[str, str]]) -> None:
    made = between(calls, "ready", "sent")
    written = places(made, WRITES, "BODY-OF-THE-MESSAGE")
    synced = places(made, SYNCS)
    assert written
    assert synced
    assert max(written) < max(synced)


def test_a_transaction_is_synced_before_commit_returns(calls: list[tuple[str, str]]) -> None:
    made = between(calls, "sent", "committed")
    assert max(places(made, WRITES, "BODY-IN-TRANSACTION")) < max(places(made, SYNCS))


def test_a_removal_is_synced_before_receive_returns(calls: list[tuple[str, str]]) -> None:
    made = between(calls, "committed", "received")
    assert max(places(made, WRITES)) < max(places(made, SYNCS))


def test_a_small_commit_is_added_to_the_log_and_synced_once(calls: list[tuple[str, str]]) -> None:
    opened = [text for name, text in calls if name == "openat" and LOG_FILE in text]
    (log,) = {text.rpartition("= ")[2] for text in opened}
    for first, last in (("ready", "sent"), ("sent", "committed"), ("committed", "received")):
        made = between(calls, first, last)
        (synced,) = places(made, SYNCS)
        assert made[synced][1].partition(")")[0] == log
        assert made[places(made, WRITES)[-1]][1].partition(",")[0] == log
