"""After a crash: a data file becomes what the last checkpoint and the commit log say."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import Final

import lmdb

from openmsmq.errors import StoreDamaged, StoreInUse
from openmsmq.store import files, pages
from openmsmq.store.commit_log import LOG_FILE, read_log
from openmsmq.store.directories import sync_directory
from openmsmq.store.faults import storage_error
from openmsmq.store.limits import MAP_SIZE, WALK_MAX
from openmsmq.store.lock import keep_files
from openmsmq.store.redo import Redo, do_again
from openmsmq.store.rows import LmdbWriter

_REMEDY: Final = (
    "put the two files of one copy here, or remove {log} if what it holds is not wanted"
)


def needs_recovery(directory: Path) -> bool:
    """Whether the store is open, or the process that used it last did not close it."""
    return (directory / LOG_FILE).exists()


def recover(directory: Path, map_size: int = MAP_SIZE) -> None:
    """Do again what is in the log; the caller has the store alone.

    It can be stopped anywhere and begun again. Programs that read the store meanwhile, to copy it,
    began when all of it was in the memory of the system, and so it still is: nothing was lost.
    """
    if not needs_recovery(directory):
        return
    with suppress(StoreInUse), keep_files(directory, alone=True):
        recover_alone(directory, map_size)


def recover_alone(directory: Path, map_size: int = MAP_SIZE) -> None:
    """The same, if the files cannot be in use by anyone."""
    log = directory / LOG_FILE
    if not log.exists():
        return
    data = directory / pages.DATA_FILE
    try:
        anchor, records = read_log(log)
        file = os.open(data, os.O_RDWR)
        try:
            if not anchor.is_in(file):
                remedy = _REMEDY.format(log=LOG_FILE)
                raise StoreDamaged(f"{log} does not belong to {pages.DATA_FILE}: {remedy}")
            anchor.put_back(file)
        finally:
            os.close(file)
        pages.check(data, walk_max=WALK_MAX)
        if records:
            _replay(directory, map_size, records)
        log.unlink()
        sync_directory(directory)
    except (OSError, lmdb.Error) as error:
        raise storage_error(error, directory) from error


def _replay(directory: Path, map_size: int, records: list[bytes]) -> None:
    """All in one transaction, which leaves the pages of the checkpoint as they are."""
    environment = files.open_environment(directory, map_size)
    try:
        tables = files.open_tables(environment)
        with environment.begin(write=True) as transaction:
            writer = LmdbWriter(transaction, tables, Redo())
            for record in records:
                do_again(record, writer)
    finally:
        environment.close()
