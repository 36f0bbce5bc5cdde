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
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from hashlib import file_digest
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote

from openmsmq.pipelines.lines import JsonLinesFile
from openmsmq.pipelines.tables import PipelineFileError
from openmsmq.store.directories import sync_directory
from openmsmq.store.lock import DirectoryLock

MANIFEST: Final = "manifest.jsonl"
DATA: Final = "data"
STAGING: Final = "staging"
Write = Callable[[Path], "Iterable[File]"]
"Writes files below a folder, and tells which, in the order of their rows."
Positions = Mapping[str, tuple[int, int]]
"For each queue, behind which position of the subscription a batch begins, and where it ends."


@dataclass(frozen=True, slots=True)
class File:
    """A file of a batch."""

    path: str
    "Below `data`; below `staging` until its batch is whole."
    rows: int
    bytes: int
    sha256: str
    staged: str = ""
    "Where it was written, below `staging`."


@dataclass(frozen=True, slots=True)
class ManifestEntry:
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
    def of(cls, line: Mapping[str, Any]) -> ManifestEntry:
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
        self._manifest = JsonLinesFile(root / MANIFEST)

    def entries(self) -> Iterator[ManifestEntry]:
        """The batches that count, in their order."""
        return map(ManifestEntry.of, self._manifest)

    def last(self) -> ManifestEntry | None:
        """The newest batch that counts."""
        found = self._manifest.last()
        return None if found is None else ManifestEntry.of(found)

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
        self, batch: int, query: str, positions: Positions, write: Write, *, is_all: bool = False
    ) -> ManifestEntry:
        """Write a batch, unless it counts already; `is_all`: there is a row for each position."""
        with alone(self.root):
            last = self.last()
            if last is not None and _is_known(last, batch, query, self.root):
                return last
            shutil.rmtree(self.root / STAGING, ignore_errors=True)
            staging = self.root / STAGING / f"{batch:08}"
            staging.mkdir(parents=True)
            files = tuple(_numbered(batch, write(staging)))
            rows = sum(file.rows for file in files)
            written = datetime.now(UTC).isoformat(timespec="seconds")
            entry = ManifestEntry(batch, query, rows, written, is_all, positions, files)
            if is_all and rows != entry.expected:
                raise PipelineFileError(
                    f"batch {batch} has {rows} rows of {entry.expected} messages"
                )
            self._sync(staging / file.staged for file in files)
            self._manifest.append(asdict(entry))
            self._place(entry)
            shutil.rmtree(self.root / STAGING, ignore_errors=True)
            return entry

    def _place(self, entry: ManifestEntry) -> None:
        """Move the files of a batch that counts to where readers look for them."""
        for file in entry.files:
            target = self.data / file.path
            target.parent.mkdir(parents=True, exist_ok=True)
            with suppress(FileNotFoundError):  # it was moved before
                (self.root / STAGING / f"{entry.batch:08}" / file.staged).rename(target)
        self._sync(self.data / file.path for file in entry.files)

    def _sync(self, files: Iterable[Path]) -> None:
        """Let the names of files, and of the folders they are in, survive a power failure."""
        folders = {folder for file in files for folder in file.parents}
        for folder in folders:
            if folder == self.root or self.root in folder.parents:
                sync_directory(folder)


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


def query_id(checkpoint: Path) -> str:
    """The identifier of the stream that has this checkpoint; empty if it has not begun."""
    try:
        found: str = json.loads((checkpoint / "metadata").read_text())["id"]
    except FileNotFoundError:
        return ""
    return found


def check_checkpoint(folder: Folder, checkpoint: Path) -> None:
    """`PipelineFileError` if a folder was filled from another checkpoint than this one."""
    last = folder.last()
    if last is None or last.query == query_id(checkpoint):
        return
    raise PipelineFileError(
        f"{folder.root} has batches of a stream whose checkpoint is not in {checkpoint}: bring it"
        " back, or choose another path"
    )


def _is_known(last: ManifestEntry, batch: int, query: str, root: Path) -> bool:
    if last.query != query:
        raise PipelineFileError(f"{root} has batches of another stream, {last.query}")
    if batch > last.batch + 1 or batch < last.batch:
        raise PipelineFileError(
            f"{root} ends with batch {last.batch}, and the stream goes on with {batch}"
        )
    return batch == last.batch


def described(staging: Path, path: Path, rows: int) -> File:
    """A file that was written below `staging`, safe on disk."""
    with path.open("rb") as file:
        checksum = file_digest(file, "sha256").hexdigest()
        os.fsync(file.fileno())
        size = os.fstat(file.fileno()).st_size
    return File(str(path.relative_to(staging)), rows, size, checksum)


def _numbered(batch: int, files: Iterable[File]) -> Iterator[File]:
    """Files with the names they will have: the number of the batch, and their own."""
    for number, file in enumerate(files):
        path = Path(file.path).with_name(f"{batch:08}-{number:05}.parquet")
        yield replace(file, path=str(path), staged=file.path)
