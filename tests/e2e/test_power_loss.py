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
from openmsmq.store.commit_log import LOG_FILE
from openmsmq.store.lmdb import LmdbStore
from tests.e2e.power_worker import MARK, PLAIN, look, set_up

STEPS: Final = 150
PAGE: Final = 4096
SECTOR: Final = 512
FILES: Final = ("data.mdb", LOG_FILE)
"What the names begin with of files that matter."
DATA: Final = 0
LOG: Final = 1
POINTS: Final = 100
CALLS: Final = (
    "openat,close,lseek,pwrite64,pwritev,pwritev2,write,writev,fdatasync,fsync,msync,"
    "ftruncate,fallocate,sync_file_range,rename,unlink"
)


class Write(NamedTuple):
    """Bytes that were written to a file."""

    file: int
    offset: int
    data: bytes
    is_through: bool
    "They are on disk when the call returns (O_DSYNC)."


class Sync(NamedTuple):
    """What was written to a file before this number of events is on disk."""

    file: int
    before: int


class Named(NamedTuple):
    """A name in the directory is that of another file, or of none."""

    name: str
    file: int | None


class NamesSync(NamedTuple):
    """What was changed in the directory is on disk."""


class Mark(NamedTuple):
    """A call was answered; what must be there from now on."""

    state: dict[str, Any]


Event = Write | Sync | Named | NamesSync | Mark


@dataclass(frozen=True)
class Recording:
    """What a program did with its disk."""

    base: bytes
    "The data file before, which is file 0."
    events: list[Event]


_CALL: Final = re.compile(r"^(\d+) +(\w+)\((.*)\) += (-?\d+)")
_BEGUN: Final = re.compile(r"^(\d+) +(\w+)\((.*) <unfinished \.\.\.>")
_ENDED: Final = re.compile(r"^(\d+) +<\.\.\. (\w+) resumed>(.*)\) += (-?\d+)")
_BYTES: Final = re.compile(r'"((?:\\x[0-9a-f]{2})*)"')


def _bytes(text: str) -> bytes:
    """The bytes in the arguments of a call, one after the other."""
    return b"".join(map(_unescaped, _BYTES.findall(text)))


def _unescaped(text: str) -> bytes:
    return bytes.fromhex(text.replace("\\x", ""))


class Trace:
    """What was done with the files of a directory, as strace tells it."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._files = {"data.mdb": 0}
        "By name."
        self._opened: dict[int, tuple[int, bool]] = {}
        "Descriptors: the file, and whether what is written by them is on disk at once."
        self._places: dict[int, int] = {}
        self._begun: dict[str, tuple[str, int]] = {}
        "Calls of threads that have not returned, and how many events there were before."
        self._count = 0

    def events(self, lines: Iterator[str]) -> Iterator[Event]:
        """All that matters of it."""
        for event in self._events(lines):
            self._count += 1
            yield event

    def _events(self, lines: Iterator[str]) -> Iterator[Event]:
        for line in lines:
            if begun := _BEGUN.match(line):
                self._begun[begun[1]] = begun[3], self._count
            elif ended := _ENDED.match(line):
                given, before = self._begun.pop(ended[1])
                yield from self._call(ended[2], given + ended[3], int(ended[4]), before)
            elif found := _CALL.match(line):
                yield from self._call(found[2], found[3], int(found[4]), self._count)

    def _call(self, name: str, given: str, result: int, before: int) -> Iterator[Event]:
        if name in ("openat", "rename", "unlink"):
            if result >= 0:
                yield from self._names(name, given, result)
            return
        file = int(given.partition(",")[0])
        if name == "write" and file == 1:
            text = _bytes(given).decode()
            assert text.startswith(MARK)
            yield Mark(json.loads(text.removeprefix(MARK)))
        elif file in self._opened:
            assert result >= 0, (name, given[:200])
            yield from self._use(name, file, given, result, before)

    def _names(self, name: str, given: str, result: int) -> Iterator[Event]:
        """Open a file of the directory, or give it another name or none."""
        paths = [Path(_unescaped(text).decode()) for text in _BYTES.findall(given)]
        if paths[0] == self._directory:
            self._opened[result] = (-1, False)
        if paths[0].parent != self._directory or not paths[0].name.startswith(FILES):
            return
        if name == "openat":
            if paths[0].name not in self._files:
                self._files[paths[0].name] = max(self._files.values()) + 1
                yield Named(paths[0].name, self._files[paths[0].name])
            self._opened[result] = (self._files[paths[0].name], "DSYNC" in given)
        else:
            file = self._files.pop(paths[0].name)
            yield Named(paths[0].name, None)
            if name == "rename":
                self._files[paths[1].name] = file
                yield Named(paths[1].name, file)

    def _use(
        self, name: str, descriptor: int, given: str, result: int, before: int
    ) -> Iterator[Event]:
        file, is_through = self._opened[descriptor]
        if name == "close":
            del self._opened[descriptor]
        elif name == "lseek":
            self._places[descriptor] = result
        elif "write" in name:
            written = _bytes(given)
            assert len(written) == result
            if name.startswith("p"):
                offset = int(given.rpartition(", ")[2])
            else:
                offset = self._places[descriptor]
                self._places[descriptor] += result
            yield Write(file, offset, written, is_through)
        elif name != "sync_file_range":  # which begins to write and promises nothing
            assert name in ("fdatasync", "fsync"), name
            yield NamesSync() if file < 0 else Sync(file, before)


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
    trace = [strace, "-f", "-xx", "-s", "100000000", "-e", f"trace={CALLS}", "-o", str(log)]
    done = subprocess.run([*trace, *program], check=False, capture_output=True, cwd=ROOT)
    if done.returncode and b"ptrace" in done.stderr:
        pytest.skip("processes cannot be traced here")
    assert done.returncode == 0, done.stderr
    with log.open() as lines:
        events = list(Trace(data).events(lines))
    log.unlink()
    assert sum(isinstance(event, Mark) for event in events) == STEPS + 1
    return Recording(base, events)


def parts(write: Write) -> Iterator[tuple[int, bytes]]:
    """What a write touches, piece by piece: the disk may take any of them.

    LMDB counts on pages that are written whole; the log does not.
    """
    size_max = SECTOR if write.file else PAGE
    offset, data = write.offset, write.data
    while data:
        size = size_max - offset % size_max
        yield offset, data[:size]
        offset, data = offset + size, data[size:]


class Disk:
    """What has been written, and what of it a power cut leaves."""

    def __init__(self, base: bytes) -> None:
        self._files = {0: bytearray(base)}
        self._names: dict[str, int | None] = {"data.mdb": 0}
        self._pending: list[tuple[int, Write]] = []
        "With the number of their events."
        self._renamed: list[Named] = []
        "Changes of the directory that are not on disk, in their order."

    def apply(self, number: int, event: Event, *, syncs: bool) -> None:
        """Let an event happen; without `syncs`, the disk takes no notice of them."""
        if isinstance(event, Write):
            self._pending.append((number, event))
            if event.is_through and syncs:
                self._put(event)
        elif isinstance(event, Named):
            self._renamed.append(event)
        elif isinstance(event, Sync) and syncs:
            for began, write in self._pending:
                if write.file == event.file and began < event.before:
                    self._put(write)
            self._pending = [
                each
                for each in self._pending
                if each[1].file != event.file or each[0] >= event.before
            ]
        elif isinstance(event, NamesSync) and syncs:
            self._rename(len(self._renamed))

    def _put(self, write: Write, likely: float = 1.0, chance: random.Random | None = None) -> None:
        disk = self._files.setdefault(write.file, bytearray())
        for offset, data in parts(write):
            if chance is None or chance.random() < likely:
                disk.extend(bytes(max(0, offset - len(disk))))
                disk[offset : offset + len(data)] = data

    def _rename(self, count: int) -> None:
        for change in self._renamed[:count]:
            self._names[change.name] = change.file
        del self._renamed[:count]

    def cut(self, chance: random.Random) -> dict[str, bytes]:
        """The files that are there afterwards."""
        likely = chance.choice((0.0, 0.1, 0.5, 0.9, 1.0))
        for _, write in self._pending:
            self._put(write, likely, chance)
        self._rename(chance.randint(0, len(self._renamed)))
        return {
            name: bytes(self._files.get(file, b""))
            for name, file in self._names.items()
            if file is not None
        }


def cut(
    recording: Recording, at: int, chance: random.Random, *, syncs: bool = True
) -> dict[str, bytes]:
    """The files after a power cut while event number `at` was under way.

    Without `syncs`, the disk is one that takes no notice of them.
    """
    disk = Disk(recording.base)
    for number, event in enumerate(recording.events[:at]):
        disk.apply(number, event, syncs=syncs)
    under_way = recording.events[at]
    if isinstance(under_way, Write | Named):
        disk.apply(at, under_way, syncs=False)
    return disk.cut(chance)


def lay(files: dict[str, bytes], folder: Path) -> None:
    """Make a directory with these files."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name, content in files.items():
        (folder / name).write_bytes(content)


def wrong(recording: Recording, at: int, disk: dict[str, bytes], folder: Path) -> str:
    """What a start on such a disk shows that it must not; nothing if all is well."""
    lay(disk, folder)
    report = check(folder)
    if not report.is_whole:
        return f"check: {report.findings}"
    lay(disk, folder)  # a check does again what is in the log; so does a start
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
    synced = [event.file for event in recording.events if isinstance(event, Sync)]
    assert synced.count(LOG) > STEPS // 2 > synced.count(DATA) > 10


@pytest.mark.slow
def test_it_makes_runs_and_cuts_them(recording: Recording, tmp_path: Path) -> None:
    """Of messages that came together some are gone, in the middle too."""
    marks = [place for place, event in enumerate(recording.events) if isinstance(event, Mark)]
    found: list[MessageRun] = []
    for number, at in enumerate(marks[20::10]):
        folder = tmp_path / str(number)
        lay(cut(recording, at, random.Random(1)), folder)
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
