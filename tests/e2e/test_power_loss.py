"""A power cut at any moment: the disk has what was synced, and any part of the rest.

A program works with a real store while its system calls are written down. Of these calls the disk
is made anew as a power cut could have left it: what was written and not synced yet is there or not,
each page on its own. The next start shows what was answered before, or one call more; never a part
of one, and nothing that `openmsmq check` complains of.
"""

from __future__ import annotations

import json
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest
from tools.generate_docs import ROOT

import openmsmq
from openmsmq.engine.storage.runs import MessageRun
from openmsmq.engine.storage.tables import Table
from openmsmq.store.check.check import check
from openmsmq.store.lmdb import LmdbStore
from tests.e2e.power_worker import MARK, PLAIN, look, set_up

STEPS: Final = 150
PAGE: Final = 4096
POINTS: Final = 100
CALLS: Final = (
    "openat,close,lseek,pwrite64,pwritev,pwritev2,write,writev,fdatasync,fsync,msync,"
    "ftruncate,fallocate,sync_file_range"
)


class Write(NamedTuple):
    """Bytes that were written to the data file."""

    offset: int
    data: bytes
    is_through: bool
    "They are on disk when the call returns (O_DSYNC)."


class Sync(NamedTuple):
    """All that was written before is on disk."""


class Mark(NamedTuple):
    """A call was answered; what must be there from now on."""

    state: dict[str, Any]


Event = Write | Sync | Mark


@dataclass(frozen=True)
class Recording:
    """What a program did with its disk."""

    base: bytes
    "The data file before."
    events: list[Event]


_CALL: Final = re.compile(r"^(?:\d+ +)?(\w+)\((.*)\) += (-?\d+)")
_BYTES: Final = re.compile(r'"((?:\\x[0-9a-f]{2})*)"')


def _bytes(text: str) -> bytes:
    """The bytes in the arguments of a call, one after the other."""
    return b"".join(bytes.fromhex(part.replace("\\x", "")) for part in _BYTES.findall(text))


class Trace:
    """What was done with a file, as strace tells it."""

    def __init__(self, data: Path) -> None:
        self._data = data
        self._through: dict[int, bool] = {}
        "Its descriptors, and whether what is written by them is on disk at once."
        self._places: dict[int, int] = {}

    def events(self, lines: Iterator[str]) -> Iterator[Event]:
        """All that matters of it."""
        for line in lines:
            assert "unfinished" not in line, "the program has one thread"
            found = _CALL.match(line)
            if found is None:
                continue
            name, given, result = found[1], found[2], int(found[3])
            if name == "openat":
                if result >= 0 and Path(_bytes(given).decode()) == self._data:
                    self._through[result] = "DSYNC" in given
                continue
            file = int(given.partition(",")[0])
            if name == "write" and file == 1:
                text = _bytes(given).decode()
                assert text.startswith(MARK)
                yield Mark(json.loads(text.removeprefix(MARK)))
            elif file in self._through:
                assert result >= 0, line[:200]
                yield from self._event(name, file, given, result)

    def _event(self, name: str, file: int, given: str, result: int) -> Iterator[Event]:
        if name == "close":
            del self._through[file]
        elif name == "lseek":
            self._places[file] = result
        elif "write" in name:
            written = _bytes(given)
            assert len(written) == result
            if name.startswith("p"):
                offset = int(given.rpartition(", ")[2])
            else:
                offset = self._places[file]
                self._places[file] += result
            yield Write(offset, written, self._through[file])
        else:
            assert name in ("fdatasync", "fsync"), name
            yield Sync()


@lru_cache(maxsize=1)
def record(folder: Path, seed: int) -> Recording:
    """Let a program work, and write down what it does with its disk."""
    strace = shutil.which("strace")
    if strace is None:
        pytest.skip("strace is not installed")
    data = folder / f"data{seed}"
    with openmsmq.open(data) as manager:
        set_up(manager)
    base, log = (data / "data.mdb").read_bytes(), folder / f"log{seed}"
    program = [sys.executable, "-m", "tests.e2e.power_worker", str(data), str(seed), str(STEPS)]
    trace = [strace, "-xx", "-s", "100000000", "-e", f"trace={CALLS}", "-o", str(log)]
    done = subprocess.run([*trace, *program], check=False, capture_output=True, cwd=ROOT)
    if done.returncode and b"ptrace" in done.stderr:
        pytest.skip("processes cannot be traced here")
    assert done.returncode == 0, done.stderr
    with log.open() as lines:
        events = list(Trace(data / "data.mdb").events(lines))
    log.unlink()
    assert sum(isinstance(event, Mark) for event in events) == STEPS + 1
    return Recording(base, events)


def pages(write: Write) -> Iterator[tuple[int, bytes]]:
    """The pages that a write touches, each with its bytes: the disk may take any of them."""
    offset, data = write.offset, write.data
    while data:
        size = PAGE - offset % PAGE
        yield offset, data[:size]
        offset, data = offset + size, data[size:]


def put(disk: bytearray, offset: int, data: bytes) -> None:
    if len(disk) < offset:
        disk.extend(bytes(offset - len(disk)))
    disk[offset : offset + len(data)] = data


def cut(recording: Recording, at: int, chance: random.Random, *, syncs: bool = True) -> bytes:
    """The disk after a power cut while event number `at` was under way.

    Without `syncs`, it is one that takes no notice of them.
    """
    disk = bytearray(recording.base)
    pending: list[Write] = []

    def quiesce(likely: float) -> None:
        for write in pending:
            for offset, data in pages(write):
                if chance.random() < likely:
                    put(disk, offset, data)
        pending.clear()

    for event in recording.events[:at]:
        if isinstance(event, Sync) and syncs:
            quiesce(1.0)
        elif isinstance(event, Write):
            if event.is_through and syncs:
                put(disk, event.offset, event.data)
            else:
                pending.append(event)
    under_way = recording.events[at]
    if isinstance(under_way, Write):
        pending.append(under_way)
    quiesce(chance.choice((0.0, 0.1, 0.5, 0.9, 1.0)))
    return bytes(disk)


def wrong(recording: Recording, at: int, disk: bytes, folder: Path) -> str:
    """What a start on such a disk shows that it must not; nothing if all is well."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    (folder / "data.mdb").write_bytes(disk)
    report = check(folder)
    if not report.is_whole:
        return f"check: {report.findings}"
    with openmsmq.open(folder) as manager:
        seen = look(manager)
    marks = [place for place, event in enumerate(recording.events) if isinstance(event, Mark)]
    before = [place for place in marks if place < at]
    following = [place for place in marks if place >= at][:1]
    allowed = [recording.events[place] for place in before[-1:] + following]
    if Mark(seen) in allowed:
        return ""
    return f"{seen} is neither of {allowed}"


def first(recording: Recording) -> int:
    """The first moment at which something was answered."""
    return next(n for n, event in enumerate(recording.events) if isinstance(event, Mark)) + 1


def try_points(recording: Recording, folder: Path, seed: int, count: int) -> None:
    """Cut the power at many moments."""
    chance = random.Random(seed)
    for _ in range(count):
        at = chance.randrange(first(recording), len(recording.events))
        found = wrong(recording, at, cut(recording, at, chance), folder)
        assert not found, f"event {at}: {found}"


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    return record(tmp_path_factory.mktemp("power"), 1)


@pytest.mark.slow
def test_the_program_does_all_it_should(recording: Recording) -> None:
    """Else the other tests would mean little."""
    states = [event.state for event in recording.events if isinstance(event, Mark)]
    assert any(state["prepared"] for state in states)
    assert any(state["queues"]["a;later"] for state in states)
    assert any(done for done, _ in (state["reader"] for state in states))
    assert any(state["queues"]["t"] for state in states)
    lengths = [[len(state["queues"][name]) for state in states] for name in PLAIN]
    purges = [old > 3 and not new for each in lengths for old, new in pairwise(each)]
    assert any(purges)
    assert any(isinstance(event, Write) and event.is_through for event in recording.events)
    assert any(isinstance(event, Sync) for event in recording.events)


@pytest.mark.slow
def test_it_makes_runs_and_cuts_them(recording: Recording, tmp_path: Path) -> None:
    """Of messages that came together some are gone, in the middle too."""
    marks = [place for place, event in enumerate(recording.events) if isinstance(event, Mark)]
    found: list[MessageRun] = []
    for number, at in enumerate(marks[20::10]):
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "data.mdb").write_bytes(cut(recording, at, random.Random(1)))
        store = LmdbStore.open(folder)
        rows = store.snapshot.scan(Table.RUNS, b"", b"\xff" * 12)
        found += [MessageRun.unpack(key, row) for key, row in rows]
        store.close()
    assert any(not run.gone for run in found)
    assert any(run.gone & run.gone + 1 for run in found)


@pytest.mark.slow
def test_a_power_cut_leaves_what_was_answered(recording: Recording, tmp_path: Path) -> None:
    """DMPR-001."""
    try_points(recording, tmp_path / "cut", 1, POINTS)


@pytest.mark.slow
def test_a_disk_that_takes_no_notice_of_syncs_is_noticed(
    recording: Recording, tmp_path: Path
) -> None:
    """The same moments show it, so that they mean something."""
    chance = random.Random(1)
    for _ in range(POINTS):
        at = chance.randrange(first(recording), len(recording.events))
        disk = cut(recording, at, chance, syncs=False)
        if wrong(recording, at, disk, tmp_path / "cut"):
            return
    raise AssertionError("nothing was wrong")


@pytest.mark.torture
@pytest.mark.parametrize("seed", range(2, 22))
def test_so_do_two_thousand(tmp_path: Path, seed: int) -> None:
    try_points(record(tmp_path, seed), tmp_path / "cut", seed, POINTS)
