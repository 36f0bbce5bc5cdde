"""A full disk: sends are refused, nothing is lost, receives go on, sends resume."""

from __future__ import annotations

import contextlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

import openmsmq
from openmsmq import Message
from openmsmq.errors import StorageFull
from openmsmq.runtime import startup as opening
from openmsmq.store.ballast import BALLAST_FILE
from openmsmq.store.check.check import check
from openmsmq.store.limits import BALLAST_SIZE

pytestmark = pytest.mark.slow

SIZE_MB = 96
BODY = bytes(100_000)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system with little room."""
    if os.geteuid() != 0:
        pytest.skip("only root can mount a small file system")
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={SIZE_MB}m", "tmpfs", str(folder)]
    if subprocess.run(mount, check=False, capture_output=True).returncode:
        pytest.skip("file systems cannot be mounted here")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def fill(queue: openmsmq.Queue) -> int:
    """Send until the disk is full; how many messages were taken."""
    count = 0
    try:
        while True:
            queue.send(Message(BODY, label=str(count)))
            count += 1
    except StorageFull:
        return count


def test_a_full_disk_refuses_sends_and_nothing_else(small_disk: Path) -> None:
    with openmsmq.open(small_disk / "data") as manager:
        queue = manager.create_queue("orders")
        sent = fill(queue)
        assert 300 < sent < SIZE_MB * 10
        assert queue.info().messages == sent
        labels = [message.label for message in queue.receive_many(sent // 2, timeout=0)]
        assert labels == [str(number) for number in range(sent // 2)]

        queue.send(Message(BODY, label="later"))
        assert queue.info().messages == sent - sent // 2 + 1

    with openmsmq.open(small_disk / "data") as manager:
        queue = manager.open_queue("orders")
        labels = [message.label for message in queue.receive_many(sent, timeout=0)]
        assert labels == [*(str(number) for number in range(sent // 2, sent)), "later"]


def test_a_disk_filled_by_others_refuses_sends_until_there_is_room(small_disk: Path) -> None:
    with openmsmq.open(small_disk / "data") as manager:
        queue = manager.create_queue("orders")
        queue.send(Message(b"first"))
        other = small_disk / "other"
        other.write_bytes(bytes((SIZE_MB - 8) << 20))
        with pytest.raises(StorageFull):
            queue.send(Message(b"second"))
        assert queue.peek(timeout=0).body == b"first"
        assert queue.receive(timeout=0).body == b"first"
        other.unlink()
        queue.send(Message(b"third"))
        assert [m.body for m in queue.receive_many(9, timeout=0)] == [b"third"]


def take_all(folder: Path) -> Path:
    """Another program takes the last byte of the disk."""
    other = folder / "other"
    with other.open("wb", buffering=0) as file:
        for size in (1 << 20, 4096, 1):
            with contextlib.suppress(OSError):
                while True:
                    file.write(bytes(size))
    assert os.statvfs(folder).f_bavail == 0
    return other


@pytest.mark.parametrize("when", ["open", "closed"])
def test_messages_are_received_though_others_took_the_last_byte(
    small_disk: Path, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    """Of the ballast that the store held; there is ballast again when there is room again."""
    monkeypatch.setattr(opening, "BALLAST_SIZE", BALLAST_SIZE)
    data = small_disk / "data"
    ballast = data / BALLAST_FILE
    manager = openmsmq.open(data)
    manager.create_queue("orders").send_many([Message(b"%d" % n) for n in range(50)])
    assert ballast.stat().st_size == BALLAST_SIZE
    if when == "closed":
        manager.close()
    other = take_all(small_disk)
    if when == "closed":
        manager = openmsmq.open(data)
    queue = manager.open_queue("orders")
    for number in range(40):
        assert queue.receive(timeout=0).body == b"%d" % number
    assert ballast.stat().st_size == 0
    with pytest.raises(StorageFull):
        queue.send(Message(b"later"))
    other.unlink()
    queue.send(Message(b"50"))
    queue.send(Message(b"51"))
    assert ballast.stat().st_size == BALLAST_SIZE
    manager.close()
    assert check(data).is_whole
    with openmsmq.open(data) as manager:
        found = manager.open_queue("orders").receive_many(99, timeout=0)
    assert [int(message.body) for message in found] == list(range(40, 52))
