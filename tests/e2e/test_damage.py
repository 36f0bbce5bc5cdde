"""A directory with a damaged or foreign file is refused with an error, never with a signal."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import openmsmq
from openmsmq import Message

PROGRAM = """
import sys
import openmsmq
for directory in sys.argv[1:]:
    try:
        with openmsmq.open(directory) as manager:
            found = manager.open_queue("orders").peek_many(1000, timeout=0)
    except openmsmq.MQError as error:
        print(type(error).__name__, flush=True)
    else:
        print(len(found), flush=True)
"""
MESSAGES = 300
PAGE = 4096
FOREIGN = {
    "text": b"this is no store\n" * 1000,
    "zeros": bytes(10 * PAGE),
    "a database of another kind": b"SQLite format 3\0" + bytes(5 * PAGE),
    "chance": random.Random(1).randbytes(8 * PAGE),
}


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with messages, not open."""
    directory = tmp_path_factory.mktemp("whole")
    with openmsmq.open(directory) as manager:
        queue = manager.create_queue("orders")
        queue.send_many(Message(b"%d" % n * 20) for n in range(MESSAGES))
    return directory


def opened(directories: list[Path]) -> Iterator[str]:
    """How many messages a process of its own finds in each, or which error it gets."""
    command = [sys.executable, "-c", PROGRAM, *map(str, directories)]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, (done.stdout, done.stderr)
    return iter(done.stdout.split())


def test_a_file_cut_short_is_damaged(store: Path, tmp_path: Path) -> None:
    size = (store / "data.mdb").stat().st_size
    lengths = [0, 1, 15, PAGE - 1, PAGE, 2 * PAGE - 1, 2 * PAGE, size // 2, size - PAGE, size - 1]
    copies = [shutil.copytree(store, tmp_path / str(length)) for length in lengths]
    for copy, length in zip(copies, lengths, strict=True):
        with (copy / "data.mdb").open("r+b") as file:
            file.truncate(length)
    found = list(opened([store, *copies]))
    # The last pages may be free ones that no one misses; nothing is lost with them.
    allowed = {"StoreDamaged", "StoreForeign", str(MESSAGES)}
    assert found[0] == str(MESSAGES)
    assert set(found[1:]) <= allowed
    assert set(found[1:9]) <= {"StoreDamaged", "StoreForeign"}


def test_a_foreign_file_is_left_alone(tmp_path: Path) -> None:
    directories = [tmp_path / name for name in FOREIGN]
    for directory, content in zip(directories, FOREIGN.values(), strict=True):
        directory.mkdir()
        (directory / "data.mdb").write_bytes(content)
    assert set(opened(directories)) == {"StoreForeign"}
    for directory, content in zip(directories, FOREIGN.values(), strict=True):
        assert (directory / "data.mdb").read_bytes() == content
