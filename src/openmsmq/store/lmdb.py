"""The store on disk: one LMDB environment, one writer, one snapshot, and a log of small commits.

Let `refresh` follow every commit: a snapshot that stays behind keeps the pages of everything
removed since, and the file grows. Cutting large values into chunks is up to the caller.
"""

from __future__ import annotations

import errno
import os
import sys
import threading
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final

import lmdb

from openmsmq.engine.storage.tables import Table
from openmsmq.errors import StorageFull, StoreMissing
from openmsmq.store import directories, files, pages
from openmsmq.store.ballast import Ballast
from openmsmq.store.checkpoints import Checkpoints
from openmsmq.store.faults import FULL, storage_error
from openmsmq.store.fork import never_free, watch
from openmsmq.store.format import FORMAT, FORMAT_KEY, migrate, read_format
from openmsmq.store.limits import MAP_SIZE, RESERVE, WALK_MAX
from openmsmq.store.lock import DirectoryLock
from openmsmq.store.recovery import recover
from openmsmq.store.redo import Redo
from openmsmq.store.rows import LmdbSnapshot, LmdbWriter

if TYPE_CHECKING:
    from openmsmq.store.rows import Tables, Transaction

PLENTY: Final = 1024 * 1024 * 1024
"Space beyond it that a few commits will not use up."
COMMITS_UNASKED: Final = 16
"How many: to ask takes a good part of the time of a small one."


class LmdbStore:
    """A `Store` in a directory; `open` is the way to one."""

    def __init__(
        self,
        directory: Path,
        lock: DirectoryLock,
        environment: lmdb.Environment,
        reserve: int,
        ballast: Ballast,
        checkpoints: Checkpoints | None,
    ) -> None:
        self._directory = directory
        self._lock = lock
        self._environment = environment
        self._reserve = reserve
        self._ballast = ballast
        self._checkpoints = checkpoints
        "None if there was no room for a log: LMDB waits for the disk itself."
        self._redo = Redo()
        "What the transaction changes."
        self._tables: Tables = files.open_tables(environment)
        self.snapshot = LmdbSnapshot(environment.begin(), self._tables, environment)
        "What was last committed and refreshed to."
        self._transaction: Transaction | None = None
        self._thread = 0
        self._has_room = False
        self._unasked = 0
        "Commits left for which there is plenty of room."
        self._takes_ballast = False
        "The next commit looks whether there is room for it again."
        self._is_open = True
        watch(self)

    @classmethod
    def open(
        cls,
        directory: str | os.PathLike[str],
        *,
        create: bool = True,
        map_size: int = MAP_SIZE,
        reserve: int = RESERVE,
        ballast: int = 0,
        walk_max: int = WALK_MAX,
    ) -> LmdbStore:
        """The store in `directory`, made if there is none and `create` allows it.

        `ballast` is how many bytes it holds for the day when the disk is full.

        What is there and is no whole store of this program is refused and left as it is:
        `StoreForeign`, `StoreDamaged`, `StoreTooNew`.
        """
        path = Path(directory)
        data = path / pages.DATA_FILE
        if create:
            directories.make_directory(path)
        elif not data.exists():
            raise StoreMissing(str(path))
        lock = DirectoryLock(path)
        try:
            if not data.exists():
                files.create(path)
            recover(path, map_size)
            pages.check(data, walk_max=walk_max)
            return cls._open_checked(path, lock, map_size, reserve, Ballast(path, ballast))
        except BaseException:
            lock.release()
            raise

    @classmethod
    def verify(cls, directory: str | os.PathLike[str]) -> None:
        """Look at every page of a store that is not open; `StoreDamaged` if one is wrong."""
        cls.open(directory, create=False, walk_max=sys.maxsize).close()

    @classmethod
    def _open_checked(
        cls, directory: Path, lock: DirectoryLock, map_size: int, reserve: int, ballast: Ballast
    ) -> LmdbStore:
        try:
            checkpoints = _checkpoints(directory)
            with ExitStack() as opened:
                if checkpoints is not None:
                    opened.callback(checkpoints.close)
                is_logged = checkpoints is not None
                environment = files.open_environment(directory, map_size, is_logged=is_logged)
                opened.callback(environment.close)
                if checkpoints is not None:
                    checkpoints.watch(environment)
                store = cls(directory, lock, environment, reserve, ballast, checkpoints)
                store._weigh()
                store._migrate()
                opened.pop_all()
        except (lmdb.Error, OSError) as error:
            raise storage_error(error, directory) from error
        return store

    def _weigh(self) -> None:
        """Hold ballast if there is room for it, and none if the disk has become full meanwhile."""
        if self._ballast.size:
            space = self._disk_space()
            if space < self._ballast.size:
                self._ballast.give_up()
            elif space >= self._reserve + self._ballast.size:
                self._ballast.take()

    def _migrate(self) -> None:
        row = self.snapshot.get(Table.META, FORMAT_KEY)
        version = read_format(row, self._directory)
        if version < FORMAT:
            migrate(self.begin(), version)
            self.commit()
            self.refresh()

    def begin(self) -> LmdbWriter:
        """Open the write transaction; `commit` or `abort` must follow on the same thread."""
        assert self._transaction is None, "there is one write transaction at a time"
        try:
            self._transaction = self._environment.begin(write=True)
        except lmdb.Error as error:
            raise storage_error(error, self._directory) from error
        self._thread = threading.get_ident()
        self._redo = Redo()
        return LmdbWriter(self._transaction, self._tables, self._redo)

    def commit(self) -> None:
        """Make the transaction last; it is on disk when this returns.

        If this fails, nothing of it was kept, and the next transaction may begin.
        """
        self._unasked -= 1
        try:
            self._end().commit()
            if self._checkpoints is not None:
                self._checkpoints.keep(self._redo)
        except lmdb.Error as error:
            self._unasked = 0
            self._reuse_pages()
            # LMDB calls it an I/O error when the last room on the disk took part of a write.
            if error.code == errno.EIO and self._is_disk_full():
                raise StorageFull(str(self._directory)) from error
            raise storage_error(error, self._directory) from error
        except OSError as error:
            raise storage_error(error, self._directory) from error
        finally:
            self._has_room = self._unasked > 0
        if self._takes_ballast:
            self._takes_ballast = False
            with suppress(OSError):
                self._weigh()

    def _reuse_pages(self) -> None:
        """There may be little room: let no page wait for a checkpoint before it is used again.

        A disk that fails will do so again at the next commit, which says so.
        """
        if self._checkpoints is not None and not self._checkpoints.is_bypassed:
            self._checkpoints.is_bypassed = True
            with suppress(lmdb.Error, OSError):
                self._checkpoints.make()

    def abort(self) -> None:
        """Forget the transaction."""
        self._end().abort()
        self._reuse_pages()

    def _end(self) -> Transaction:
        transaction = self._transaction
        assert transaction is not None, "no write transaction is open"
        # LMDB's lock belongs to the thread: released by another, the next `begin` hangs.
        assert self._thread == threading.get_ident(), "begun on another thread"
        self._transaction = None
        return transaction

    def refresh(self) -> None:
        """Let `snapshot` show the last commit."""
        try:
            self.snapshot.renew(self._environment.begin())
        except lmdb.Error as error:
            raise storage_error(error, self._directory) from error

    def has_room(self) -> bool:
        """Whether there is space left for new messages, not only for removing old ones.

        A yes holds until the next commit, or for a few if there is plenty; a no is asked again,
        since others may free space.
        """
        if not self._has_room:
            try:
                room = self._room()
                self._takes_ballast = not self._ballast.is_held
                self._has_room = room >= self._reserve
                self._unasked = COMMITS_UNASKED if room >= self._reserve + PLENTY else 0
            except (lmdb.Error, OSError) as error:
                raise storage_error(error, self._directory) from error
        return self._has_room

    def _room(self) -> int:
        """Bytes that can still be written: unused pages in the file, and growth."""
        # A process that was killed while it copied the store would keep pages for ever.
        self._environment.reader_check()
        info = self._environment.info()
        page_size, used = self.snapshot.pages()
        in_file = info["last_pgno"] + 1
        growth = min(self._disk_space(), info["map_size"] - in_file * page_size)
        if self._checkpoints is not None:  # where a file cannot grow, unused pages are wanted soon
            self._checkpoints.is_bypassed = growth < self._reserve
        return growth + max(in_file - used, 0) * page_size

    def make_room(self) -> bool:
        """Give the ballast up, if the disk is full and there is some."""
        return self._is_disk_full() and self._ballast.give_up()

    def _is_disk_full(self) -> bool:
        try:
            return self._disk_space() < self._reserve
        except OSError:
            return False

    def _disk_space(self) -> int:
        disk = os.statvfs(self._directory)
        return disk.f_bavail * disk.f_frsize

    def leave(self) -> None:
        """This is a forked child: the store stays the parent's."""
        if self._is_open:
            self._is_open = False
            parts = [self._environment, self._transaction, self.snapshot.transaction]
            if self._checkpoints is not None:
                parts += self._checkpoints.pins
                self._checkpoints.leave()
            for part in parts:
                never_free(part)
            self._lock.leave()

    def close(self) -> None:
        """Release everything; what was committed stays, an open transaction is forgotten."""
        if not self._is_open:
            return
        if self._transaction is not None:
            self.abort()
        self._is_open = False
        self.snapshot.end()
        if self._checkpoints is not None:
            self._checkpoints.close()
        self._environment.close()
        self._lock.release()


def _checkpoints(directory: Path) -> Checkpoints | None:
    """What makes commits last; None if the disk has no room for a log."""
    try:
        return Checkpoints(directory)
    except OSError as error:
        if error.errno in FULL:
            return None
        raise
