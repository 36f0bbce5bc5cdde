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
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from hashlib import file_digest
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from openmsmq.pipelines.archive.batches import (
    LAST,
    File,
    ManifestEntry,
    Positions,
    Write,
    is_known,
    new_entry,
)
from openmsmq.pipelines.lines import JsonLinesFile
from openmsmq.pipelines.location import DataFolder
from openmsmq.pipelines.tables import PipelineFileError
from openmsmq.store.directories import sync_directory
from openmsmq.store.lock import DirectoryLock

if TYPE_CHECKING:
    import pyarrow as pa

MANIFEST: Final = "manifest.jsonl"
DATA: Final = "data"
STAGING: Final = "staging"


class Folder:
    """The folder, for the one who writes and for readers."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.location = DataFolder(str(root))
        self._data = root / DATA
        self._manifest = JsonLinesFile(root / MANIFEST)

    @property
    def data(self) -> DataFolder:
        """Where readers of Parquet look."""
        return DataFolder(str(self._data))

    def entries(self) -> Iterator[ManifestEntry]:
        """The batches that count, in their order."""
        return map(ManifestEntry.of, self._manifest)

    def last(self) -> ManifestEntry | None:
        """The newest batch that counts."""
        found = self._manifest.last()
        return None if found is None else ManifestEntry.of(found)

    def files(self, first: int = 0, last: int = LAST) -> list[File]:
        """The files of some batches, in their order."""
        return [
            replace(file, batches=(entry.batch, entry.batch))
            for entry in self.entries()
            if first <= entry.batch <= last
            for file in entry.files
        ]

    def prepare(self, schema: pa.Schema | None = None) -> None:
        """Tidy up after a writer that was killed; files may have any columns."""
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
        batch: int,
        query: str,
        positions: Positions,
        write: Write,
        *,
        is_all: bool = False,
        offset: Mapping[str, Any] | None = None,
    ) -> ManifestEntry:
        """Write a batch, unless it counts already; `is_all`: there is a row for each position."""
        with alone(self.root):
            last = self.last()
            if last is not None and is_known(last, batch, query, self.root):
                return last
            shutil.rmtree(self.root / STAGING, ignore_errors=True)
            staging = self.root / STAGING / f"{batch:08}"
            staging.mkdir(parents=True)
            files = tuple(_numbered(batch, write(DataFolder(str(staging)))))
            entry = new_entry(last, batch, query, positions, files, is_all=is_all, offset=offset)
            sync(self.root, (f"{STAGING}/{batch:08}/{file.staged}" for file in files))
            self._manifest.append(asdict(entry))
            self._place(entry)
            shutil.rmtree(self.root / STAGING, ignore_errors=True)
            return entry

    def _place(self, entry: ManifestEntry) -> None:
        """Move the files of a batch that counts to where readers look for them."""
        for file in entry.files:
            target = self._data / file.path
            target.parent.mkdir(parents=True, exist_ok=True)
            with suppress(FileNotFoundError):  # it was moved before
                (self.root / STAGING / f"{entry.batch:08}" / file.staged).rename(target)
        sync(self.root, (f"{DATA}/{file.path}" for file in entry.files))


def sync(root: Path, paths: Iterable[str], *, contents: bool = False) -> None:
    """Let the names of files, and of the folders they are in, survive a power failure."""
    folders = {root}
    for path in paths:
        place = root / path
        folders |= {folder for folder in place.parents if root in folder.parents}
        folders.add(place.parent)
        if contents:
            with place.open("rb") as file:
                os.fsync(file.fileno())
    for folder in folders:
        sync_directory(folder)


@contextmanager
def alone(folder: Path) -> Iterator[None]:
    """Work in a folder without another process that does; `StoreInUse` if there is one."""
    lock = DirectoryLock(folder)
    try:
        yield
    finally:
        lock.release()


def query_id(checkpoint: Path) -> str:
    """The identifier of the stream that has this checkpoint; empty if it has not begun."""
    try:
        found: str = json.loads((checkpoint / "metadata").read_text())["id"]
    except FileNotFoundError:
        return ""
    return found


def written_offset(checkpoint: Path, batch: int) -> dict[str, Any]:
    """What Spark has written down for a batch: a version, facts, and a line for each source."""
    try:
        lines = (checkpoint / "offsets" / str(batch)).read_text().splitlines()
    except FileNotFoundError:
        return {}
    found: dict[str, Any] = json.loads(lines[2])
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
