"""One process at a time: a lock file in the directory, held as long as the store is open.

The kernel holds the lock for the open file, so that of a process that died is gone with it and
the file it left blocks no other process. A forked child shares the open file and thereby the lock;
it releases it at once (`forking.py`).
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from openmsmq.errors import StoreInUse
from openmsmq.store.faults import storage_error

LOCK_FILE: Final = "openmsmq.lock"
_HOLDER_SIZE_MAX: Final = 300


class DirectoryLock:
    """The right to use a directory, from its making until `release`."""

    def __init__(self, directory: Path) -> None:
        try:
            self._file = os.open(directory / LOCK_FILE, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise storage_error(error) from error
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = os.pread(self._file, _HOLDER_SIZE_MAX, 0).decode(errors="replace").strip()
            os.close(self._file)
            raise StoreInUse(f"{directory} by {holder or 'another process'}") from None
        except OSError as error:
            os.close(self._file)
            raise storage_error(error, directory / LOCK_FILE) from error
        self._write(f"process {os.getpid()} on {socket.gethostname()}\n")

    def release(self) -> None:
        """Let others in. The file stays, for removing it could take it from the next holder."""
        self._write("")
        with contextlib.suppress(OSError):
            fcntl.flock(self._file, fcntl.LOCK_UN)  # a child may share the open file for a moment
        os.close(self._file)

    def leave(self) -> None:
        """This is a forked child: the lock stays the parent's."""
        os.close(self._file)

    def _write(self, holder: str) -> None:
        # Only people read this: on a full disk the lock counts without it.
        with contextlib.suppress(OSError):
            os.ftruncate(self._file, 0)
            os.pwrite(self._file, holder.encode(), 0)


def is_held(directory: Path) -> bool:
    """Whether the store in this directory is open now."""
    try:
        file = os.open(directory / LOCK_FILE, os.O_RDONLY)
    except FileNotFoundError:
        return False
    except OSError as error:
        raise storage_error(error) from error
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(file)
    return False


@contextlib.contextmanager
def keep_files(directory: Path, *, alone: bool = False) -> Iterator[None]:
    """Keep the files of a store from being replaced while this lasts.

    Those who copy a store share this lock with one another, those who replace its files hold it
    `alone`; who works with the store needs neither. It is on the directory itself, so that
    nothing is written to a store that is only read.
    """
    try:
        file = os.open(directory, os.O_RDONLY)
    except OSError as error:
        raise storage_error(error) from error
    try:
        _lock_files(file, directory, alone=alone)
        yield
    finally:
        os.close(file)


def _lock_files(file: int, directory: Path, *, alone: bool) -> None:
    try:
        fcntl.flock(file, (fcntl.LOCK_EX if alone else fcntl.LOCK_SH) | fcntl.LOCK_NB)
    except BlockingIOError:
        others = "a backup that is being made" if alone else "a process that replaces its files"
        raise StoreInUse(f"{directory} by {others}") from None
    except OSError as error:
        raise storage_error(error, directory) from error
