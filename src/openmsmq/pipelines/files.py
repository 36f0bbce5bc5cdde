"""A folder of Parquet files that grows by whole batches, each of them once.

    data/date=2026-07-01/queue=.../00000012-00000.parquet    what any reader of Parquet reads
    manifest.jsonl     a line for every batch: its files, rows, checksums, and where it came from
    staging/           a batch that is being written

A batch is written aside. Its line in the manifest is the moment from which it counts: who is
killed before begins it anew, who is killed after only moves its files to their places. So a file
in `data` is whole and belongs to a batch that counts, and its name says to which.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from hashlib import file_digest
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

from openmsmq.pipelines.lines import Lines, sync
from openmsmq.pipelines.tables import FileError
from openmsmq.store.lock import DirectoryLock

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

MANIFEST: Final = "manifest.jsonl"
DATA: Final = "data"
STAGING: Final = "staging"
_SETTINGS: Final = {
    "spark.sql.parquet.outputTimestampType": "TIMESTAMP_MICROS",  # every reader knows these
    "spark.sql.maxConcurrentOutputFileWriters": "64",  # no sort of rows by their folders
}

Positions = Mapping[str, tuple[int, int]]
"For each queue, behind which position of the subscription a batch begins, and where it ends."


@dataclass(frozen=True, slots=True)
class File:
    """A file of a batch."""

    path: str
    "Below `data`."
    rows: int
    bytes: int
    sha256: str
    staged: str = ""
    "Where it was written, below `staging`."


@dataclass(frozen=True, slots=True)
class Entry:
    """A batch that counts."""

    batch: int
    query: str
    "The stream, by the identifier that its checkpoint gives it."
    rows: int
    written: str
    is_all: bool = False
    "There is a row for each position."
    positions: Positions = field(default_factory=dict)
    files: tuple[File, ...] = ()

    @classmethod
    def of(cls, line: Mapping[str, Any]) -> Entry:
        """A line of the manifest."""
        files = tuple(File(**each) for each in line["files"])
        positions = {key: (after, last) for key, (after, last) in line["positions"].items()}
        return cls(**{**line, "files": files, "positions": positions})

    @property
    def expected(self) -> int:
        """How many messages there are between its positions."""
        return sum(last - after for after, last in self.positions.values())


class Folder:
    """The folder, for the one who writes and for readers."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.data = root / DATA
        self._manifest = Lines(root / MANIFEST)

    def entries(self) -> Iterator[Entry]:
        """The batches that count, in their order."""
        return map(Entry.of, self._manifest)

    def last(self) -> Entry | None:
        """The newest batch that counts."""
        found = self._manifest.last()
        return None if found is None else Entry.of(found)

    def prepare(self) -> None:
        """Tidy up after a writer that was killed."""
        self.root.mkdir(parents=True, exist_ok=True)
        with alone(self.root):
            self._tidy_up()

    def _tidy_up(self) -> None:
        self._manifest.mend()
        last = self.last()
        if last is not None:
            self._place(last)
        shutil.rmtree(self.root / STAGING, ignore_errors=True)

    def add(
        self,
        frame: DataFrame,
        batch: int,
        query: str,
        partitions: tuple[str, ...],
        positions: Positions,
        *,
        is_all: bool = False,
    ) -> Entry:
        """Write a batch, unless it counts already; `is_all`: there is a row for each position."""
        with alone(self.root):
            return self._add(frame, batch, query, partitions, positions, is_all=is_all)

    def _add(
        self,
        frame: DataFrame,
        batch: int,
        query: str,
        partitions: tuple[str, ...],
        positions: Positions,
        *,
        is_all: bool,
    ) -> Entry:
        last = self.last()
        if last is not None and _is_known(last, batch, query, self.root):
            return last
        shutil.rmtree(self.root / STAGING, ignore_errors=True)
        staging = self.root / STAGING / f"{batch:08}"
        settings = frame.sparkSession.conf
        for name, value in _SETTINGS.items():
            settings.set(name, value)
        writer = frame.write.option("compression", "zstd")
        writer.partitionBy(*partitions).parquet(staging.as_uri())
        files = tuple(_described(staging, batch))
        rows = sum(file.rows for file in files)
        written = datetime.now(UTC).isoformat(timespec="seconds")
        entry = Entry(batch, query, rows, written, is_all, positions, files)
        if is_all and rows != entry.expected:
            raise FileError(f"batch {batch} has {rows} rows of {entry.expected} messages")
        self._manifest.append(asdict(entry))
        self._place(entry)
        shutil.rmtree(self.root / STAGING, ignore_errors=True)
        return entry

    def _place(self, entry: Entry) -> None:
        """Move the files of a batch that counts to where readers look for them."""
        folders: set[Path] = set()
        for file in entry.files:
            target = self.data / file.path
            target.parent.mkdir(parents=True, exist_ok=True)
            with suppress(FileNotFoundError):  # it was moved before
                (self.root / STAGING / f"{entry.batch:08}" / file.staged).rename(target)
            folders.update(p for p in (target.parent, *target.parent.parents) if _inside(p, self))
        for folder in folders:
            sync(folder)


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Work in a folder without another process that does; `StoreInUse` if there is one."""
    lock = DirectoryLock(folder)
    try:
        yield
    finally:
        lock.release()


def partition_of(path: str, name: str) -> str:
    """What the path of a file says about a partition."""
    [found] = [part for part in Path(path).parts if part.startswith(f"{name}=")]
    return unquote(found.partition("=")[2])


def positions_of(checkpoint: Path, batch: int, first: Callable[[], Mapping[str, int]]) -> Positions:
    """Where a batch begins and ends, as the checkpoint says; `first` says where queues begin that
    no batch before had."""
    ends, starts = _offsets(checkpoint, batch), _offsets(checkpoint, batch - 1)
    if ends.keys() - starts.keys():
        starts = {**first(), **starts}
    return {key: (starts.get(key, 0), end) for key, end in ends.items()}


def query_id(checkpoint: Path) -> str:
    """The identifier of the stream that has this checkpoint; empty if it has not begun."""
    try:
        found: str = json.loads((checkpoint / "metadata").read_text())["id"]
    except FileNotFoundError:
        return ""
    return found


def check_checkpoint(folder: Folder, checkpoint: Path) -> None:
    """`FileError` if a folder was filled from another checkpoint, which cannot go on here."""
    last = folder.last()
    if last is None or last.query == query_id(checkpoint):
        return
    raise FileError(
        f"{folder.root} has batches of a stream whose checkpoint is not in {checkpoint}: bring it"
        " back, or choose another path"
    )


def _offsets(checkpoint: Path, batch: int) -> dict[str, int]:
    """What Spark has written down for a batch: a version, facts, and a line for each source."""
    try:
        lines = (checkpoint / "offsets" / str(batch)).read_text().splitlines()
    except FileNotFoundError:
        return {}
    found = json.loads(lines[2])
    return {key: int(position) for key, position in found.items()}


def _is_known(last: Entry, batch: int, query: str, root: Path) -> bool:
    if last.query != query:
        raise FileError(f"{root} has batches of another stream, {last.query}")
    if batch > last.batch + 1 or batch < last.batch:
        raise FileError(f"{root} ends with batch {last.batch}, and the stream goes on with {batch}")
    return batch == last.batch


def _described(staging: Path, batch: int) -> Iterator[File]:
    """The files of a staged batch, safe on disk, in the order of their rows."""
    from pyarrow.parquet import read_metadata

    found = sorted(staging.rglob("*.parquet"), key=lambda path: (path.name, str(path.parent)))
    for number, path in enumerate(found):
        staged = path.relative_to(staging)
        with path.open("rb") as file:
            checksum = file_digest(file, "sha256").hexdigest()
            os.fsync(file.fileno())
        name = f"{batch:08}-{number:05}.parquet"
        rows = read_metadata(path).num_rows
        size = path.stat().st_size
        yield File(str(staged.with_name(name)), rows, size, checksum, str(staged))


def _inside(path: Path, folder: Folder) -> bool:
    return path == folder.root or folder.root in path.parents
