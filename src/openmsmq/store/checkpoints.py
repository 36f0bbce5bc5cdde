"""When LMDB's file is synced: with each large commit, and beside small ones now and then."""

from __future__ import annotations

import errno
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from openmsmq.store.commit_log import CommitLog, sync
from openmsmq.store.limits import LOGGED_COMMITS_MAX
from openmsmq.store.pages import DATA_FILE, Anchor
from openmsmq.store.writeback import begin_writing

if TYPE_CHECKING:
    import lmdb

    from openmsmq.store.redo import Redo
    from openmsmq.store.rows import Transaction


_WRITE_EVERY: Final = 4
"Commits after which the system begins to write their pages, so that a checkpoint has few left."


@dataclass(slots=True)
class _Pending:
    """A checkpoint whose pages are on their way to the disk."""

    pin: Transaction
    anchor: Anchor
    place: tuple[int, int]
    "Where the log goes on after it."
    thread: threading.Thread
    error: OSError | None = None


class Checkpoints:
    """Makes commits of LMDB last, which itself does not wait for the disk.

    A reader of the last checkpoint keeps its pages from being used again.
    """

    def __init__(self, directory: Path) -> None:
        """LMDB must not have the file yet, or not have written to it."""
        self._file = os.open(directory / DATA_FILE, os.O_RDONLY)
        try:
            sync(self._file)
            self._log = CommitLog(directory, Anchor.read(self._file))
        except BaseException:
            os.close(self._file)
            raise
        self._environment: lmdb.Environment | None = None
        self._pin: Transaction | None = None
        self._logged = 0
        "Commits that are in the log, and in no checkpoint."
        self._pending: _Pending | None = None
        self.is_bypassed = False
        "Nothing is logged: unused pages are wanted again at once."
        self._is_broken = False
        "The disk has failed: what was in the log before will be there at the next start."

    def watch(self, environment: lmdb.Environment) -> None:
        """LMDB has opened the file, and begins to write to it after this."""
        self._environment, self._pin = environment, environment.begin()

    @property
    def pins(self) -> list[Transaction]:
        """What keeps pages from being used again."""
        pending = [self._pending.pin] if self._pending else []
        return [self._pin, *pending] if self._pin else pending

    def keep(self, redo: Redo) -> None:
        """LMDB has committed this; it is on disk when this returns."""
        if redo.is_empty:
            return
        with self._whole():
            pending = self._pending
            if pending is not None and not pending.thread.is_alive():
                self._finish(pending)
            if not redo.is_whole or self.is_bypassed or not self._log.add(redo.pack()):
                self._make()
            else:
                self._logged += 1
                if not self._logged % _WRITE_EVERY:
                    begin_writing(self._file)
                self._make_room()

    def make(self) -> None:
        """Sync LMDB's file, and begin the log again."""
        with self._whole():
            self._make()

    @contextmanager
    def _whole(self) -> Iterator[None]:
        """What fails half-way is not tried again."""
        if self._is_broken:
            raise OSError(errno.EIO, "the disk has failed before")
        try:
            yield
        except BaseException:
            self._is_broken = True
            raise

    def _make(self) -> None:
        if self._pending is not None:
            self._finish(self._pending)
        sync(self._file)
        self._go_on_from(self._open_pin(), Anchor.read(self._file), self._log.turn())
        self._logged = 0

    def _make_room(self) -> None:
        """See to it that the log takes another commit, and does not grow long."""
        if self._log.is_full and self._pending is not None:
            self._finish(self._pending)
        if self._pending is None and (self._log.is_full or self._logged >= LOGGED_COMMITS_MAX):
            self._begin()

    def _begin(self) -> None:
        """Have the file synced beside further commits, which go to the other half of the log."""
        thread = threading.Thread(target=self._sync, name="openmsmq-checkpoint", daemon=True)
        anchor = Anchor.read(self._file)
        self._pending = _Pending(self._open_pin(), anchor, self._log.turn(), thread)
        self._logged = 0
        thread.start()

    def _sync(self) -> None:
        pending = self._pending
        assert pending is not None, "there is something to sync"
        try:
            sync(self._file)
        except OSError as error:
            pending.error = error

    def _finish(self, pending: _Pending) -> None:
        """Wait for the end of it, and let the log begin after it."""
        pending.thread.join()
        if pending.error is not None:
            raise pending.error
        self._pending = None
        self._go_on_from(pending.pin, pending.anchor, pending.place)

    def _go_on_from(self, pin: Transaction, anchor: Anchor, place: tuple[int, int]) -> None:
        self._log.begin_at(place, anchor)
        if self._pin is not None:
            self._pin.abort()
        self._pin = pin

    def _open_pin(self) -> Transaction:
        assert self._environment is not None, "LMDB has the file"
        return self._environment.begin()

    def leave(self) -> None:
        """This is a forked child: the log stays the parent's."""
        self._log.close()
        os.close(self._file)

    def close(self) -> None:
        """Make a last one, after which there is no log, unless something is broken."""
        pending = self._pending
        try:
            if pending is not None:
                pending.thread.join()
            if self._is_broken:
                self._log.close()
            else:
                sync(self._file)
                self._log.remove()
        except OSError:  # the next start takes what is missing from the log
            pass
        finally:
            os.close(self._file)
            for pin in self.pins:
                pin.abort()
