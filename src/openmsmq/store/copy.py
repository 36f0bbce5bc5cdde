"""Copying a store: all of it at one moment, even while it is in use.

LMDB lets a second process read the file: it sees what the last commit left, and the pages it reads
are not used again before it is done. Copies hold no unused pages.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import lmdb

from openmsmq.engine.storage.tables import Table
from openmsmq.errors import StorageError, StoreDamaged, StoreInUse, StoreMissing
from openmsmq.store import files, pages
from openmsmq.store.commit_log import LOG_FILE
from openmsmq.store.directories import sync_directory
from openmsmq.store.faults import storage_error
from openmsmq.store.format import FORMAT_KEY, read_format
from openmsmq.store.limits import MAP_SIZE
from openmsmq.store.lock import DirectoryLock, is_held, keep_files
from openmsmq.store.pages import DATA_FILE
from openmsmq.store.recovery import needs_recovery, recover, recover_alone
from openmsmq.store.rows import LmdbSnapshot

if TYPE_CHECKING:
    from openmsmq.store.rows import Transaction

Progress = Callable[[str, int, int], None]
"Called with the step, how much of it is done, and of how much."
COPYING: Final = "copying"
CHECKING: Final = "checking pages"
_BLOCK: Final = 1 << 20
_STAGING: Final = "openmsmq.staging"


def no_progress(what: str, done: int, total: int) -> None:
    """Show no progress."""


@dataclass(frozen=True, slots=True)
class Copied:
    """A file that was written and synced."""

    size: int
    sha256: str


class StoreReader:
    """A store as it was when this was made, whatever is written to it meanwhile."""

    def __init__(self, environment: lmdb.Environment) -> None:
        self._environment = environment
        tables = files.open_tables(environment)
        self._transaction: Transaction = environment.begin()
        self.snapshot = LmdbSnapshot(self._transaction, tables, environment)
        row = self.snapshot.get(Table.META, FORMAT_KEY)
        self.format = read_format(row, environment.path())
        self.rows = sum(self._transaction.stat(table)["entries"] for table in tables)
        "How many rows all tables have together."

    def copy(self, target: Path, progress: Progress = no_progress) -> Copied:
        """Write a copy to a file that is not there yet."""
        source, sink = os.pipe()
        failed: list[lmdb.Error] = []

        def send() -> None:
            try:
                self._environment.copyfd(sink, compact=True, txn=self._transaction)
            except lmdb.Error as error:
                failed.append(error)
            finally:
                os.close(sink)

        sender = threading.Thread(target=send, name="openmsmq-copy")
        sender.start()
        try:
            copied = _write(source, target, self._size(), progress)
        finally:
            os.close(source)  # a writer gets an error
            sender.join()
        if failed:
            raise storage_error(failed[0], target)
        return copied

    def _size(self) -> int:
        """Bytes of a copy: the pages of all tables, of the table of tables, and the first two."""
        page_size, used = self.snapshot.pages()
        main = self._environment.stat()
        used += main["branch_pages"] + main["leaf_pages"] + main["overflow_pages"]
        return (used + 2) * page_size

    def close(self) -> None:
        """Give the pages back."""
        self.snapshot.end()


@contextmanager
def read_along(directory: Path) -> Iterator[StoreReader]:
    """Read a store that another process may be working with."""
    require(directory)
    _recover_at_rest(directory)
    with keep_files(directory):
        _check_at_rest(directory)
        with open_reader(directory) as reader:
            yield reader


@contextmanager
def alone(directory: Path) -> Iterator[None]:
    """Keep others from opening or copying the store in `directory`."""
    lock = DirectoryLock(directory)
    try:
        with keep_files(directory, alone=True):
            yield
    finally:
        lock.release()


@contextmanager
def open_reader(directory: Path) -> Iterator[StoreReader]:
    """Read a store whose pages were checked; the caller keeps its files in place."""
    try:
        environment = files.open_environment(directory, MAP_SIZE, readonly=True)
    except (lmdb.Error, OSError) as error:
        # The library has no code for what it refuses itself: to open a file twice.
        if isinstance(error, lmdb.Error) and not error.code:
            raise StoreInUse(f"{directory} by this process itself") from error
        raise storage_error(error, directory) from error
    try:
        reader = StoreReader(environment)
        try:
            yield reader
        finally:
            reader.close()
    except lmdb.Error as error:
        raise storage_error(error, directory) from error
    finally:
        environment.close()


@contextmanager
def staging(directory: Path) -> Iterator[Path]:
    """A folder to make files in that are moved to `directory` when they are whole.

    What a crash has left in it is removed. The caller has the directory alone.
    """
    folder = directory / _STAGING
    try:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(mode=0o700)
    except OSError as error:
        raise storage_error(error) from error
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def compact(directory: Path, progress: Progress = no_progress) -> tuple[int, int]:
    """Write the file of a store anew, without unused pages; its size before and after."""
    require(directory)
    data = directory / DATA_FILE
    with alone(directory):
        recover_alone(directory)
        before = data.stat().st_size
        pages.check(data)
        with staging(directory) as folder:
            with open_reader(directory) as reader:
                copied = reader.copy(folder / DATA_FILE, progress)
            check_pages(folder, progress)
            put_in_place(folder, directory)
        return before, copied.size


def check_pages(directory: Path, progress: Progress = no_progress) -> None:
    """Look at every page of a file that is not written to; `StoreDamaged` if one is wrong."""
    data = directory / DATA_FILE
    size = data.stat().st_size
    progress(CHECKING, 0, size)
    pages.check(data, walk_max=sys.maxsize)
    progress(CHECKING, size, size)


def put_in_place(folder: Path, directory: Path) -> None:
    """Move a whole store from `folder` to `directory`, over the one that is there."""
    try:
        with suppress(StorageError):  # it is what was kept of a damaged one
            recover_alone(directory)
        (directory / LOG_FILE).unlink(missing_ok=True)
        sync_directory(directory)
        (folder / DATA_FILE).replace(directory / DATA_FILE)
        sync_directory(directory)
    except OSError as error:
        raise storage_error(error, directory) from error


def copy_file(source: Path, target: Path, progress: Progress = no_progress) -> Copied:
    """Write a copy of a file that is not written to."""
    try:
        with source.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            return _write(file.fileno(), target, size, progress)
    except OSError as error:
        raise storage_error(error) from error


def sha256_of(path: Path) -> str:
    """The SHA-256 of a file that is not written to."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise storage_error(error) from error


def require(directory: Path) -> None:
    """Refuse a directory without a store."""
    if not (directory / DATA_FILE).is_file():
        raise StoreMissing(str(directory))


def _write(source: int, target: Path, total: int, progress: Progress) -> Copied:
    """Write what comes out of `source` to a new file that only its owner may read."""
    digest = hashlib.sha256()
    size = 0
    try:
        descriptor = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(descriptor, "wb") as file:
            progress(COPYING, 0, total)
            while block := os.read(source, _BLOCK):
                digest.update(block)
                file.write(block)
                size += len(block)
                progress(COPYING, size, max(size, total))
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise storage_error(error, target) from error
    return Copied(size, digest.hexdigest())


def _recover_at_rest(directory: Path) -> None:
    """See to what a crash has left, unless a process uses the store, which has done so."""
    if not needs_recovery(directory):
        return
    with suppress(StoreInUse):
        lock = DirectoryLock(directory)
        try:
            recover(directory)
        finally:
            lock.release()


def _check_at_rest(directory: Path) -> None:
    """Look at the pages of a store that is not open.

    The pages of an open store change meanwhile; they were checked when it was opened.
    """
    if is_held(directory):
        return
    try:
        pages.check(directory / DATA_FILE)
    except StoreDamaged:
        if not is_held(directory):
            raise
