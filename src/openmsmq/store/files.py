"""The files of a store in their directory: making them, opening them, and giving nothing away.

data.mdb        LMDB's pages; complete from its first moment, see `create`
openmsmq.commits  commits that LMDB's file may lack after a power cut, see `commit_log.py`; only
                  while the store is open, and after a crash
lock.mdb        LMDB's table of readers, of no worth when the store is closed
openmsmq.lock   lets one process in
openmsmq.ballast  takes room, see `ballast.py`
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import lmdb

from openmsmq.engine.storage.tables import Table
from openmsmq.errors import StoreDamaged, StoreForeign, StoreTooOld
from openmsmq.store.directories import sync_directory
from openmsmq.store.faults import storage_error
from openmsmq.store.format import FORMAT, FORMAT_KEY, format_row, read_format
from openmsmq.store.limits import MAP_SIZE, READERS_MAX
from openmsmq.store.pages import DATA_FILE

_MAP_SIZE_LEAST: Final = 1 << 30
_LMDB_LOCK_FILE: Final = "lock.mdb"
_LMDB_LOCK_SIZE: Final = 4096
_LMDB_MAJOR: Final = 0  # the file format of LMDB 0.9, whatever later libraries prefer
_MAKING: Final = "openmsmq.making"

TABLE_NAMES: Final = tuple(table.name.lower().encode() for table in Table)


def create(directory: Path) -> None:
    """Make an empty store.

    It is made beside its place and moved there when it is complete. So a data file that is empty
    or has no format row never is one that a crash left half-made, and can always be refused.
    """
    making = directory / _MAKING
    try:
        making.mkdir(mode=0o700, exist_ok=True)
        (making / DATA_FILE).unlink(missing_ok=True)
        environment = open_environment(making, MAP_SIZE)
        try:
            _fill(environment)
        finally:
            environment.close()
        (making / DATA_FILE).rename(directory / DATA_FILE)
        sync_directory(directory)
        (making / _LMDB_LOCK_FILE).unlink()
        making.rmdir()
    except (OSError, lmdb.Error) as error:
        raise storage_error(error, directory) from error


def open_environment(
    directory: Path, map_size: int, *, readonly: bool = False, is_logged: bool = False
) -> lmdb.Environment:
    """LMDB's environment, with as large a map as the system grants.

    If its commits are logged, it does not wait for the disk itself.

    To read only, it may be opened while another process has it; LMDB then keeps the pages that
    are read until they are not needed any more.
    """
    _write_lock_file(directory / _LMDB_LOCK_FILE)
    while True:
        try:
            return lmdb.Environment(
                str(directory),
                map_size=map_size,
                readonly=readonly,
                sync=not is_logged,
                mode=0o600,
                max_readers=READERS_MAX,
                max_dbs=len(Table),
                max_spare_txns=2,
                lib_version=_LMDB_MAJOR,
            )
        except lmdb.MemoryError:
            if map_size <= _MAP_SIZE_LEAST:
                raise
            map_size >>= 2


def open_tables(environment: lmdb.Environment) -> tuple[lmdb._Database, ...]:
    """The tables of a store, in the order of `Table`; those that its format lacks are made."""
    path = environment.path()
    with environment.begin() as transaction:
        missing = [name for name in TABLE_NAMES if transaction.get(name) is None]
    if TABLE_NAMES[Table.META] in missing:
        raise StoreForeign(f"{path} has no tables of a store")
    try:
        if missing:
            _add_tables(environment, missing)
        return tuple(environment.open_db(name, create=False) for name in TABLE_NAMES)
    except lmdb.IncompatibleError as error:
        raise StoreForeign(f"{path} has rows in place of tables") from error


def _add_tables(environment: lmdb.Environment, missing: list[bytes]) -> None:
    """Make the tables that a store of an older format does not have."""
    path = environment.path()
    meta = environment.open_db(TABLE_NAMES[Table.META], create=False)
    with environment.begin() as transaction:
        row = transaction.get(FORMAT_KEY, db=meta)
    if read_format(row, path) >= FORMAT:
        raise StoreDamaged(f"{path} has no table {missing[0].decode()}")
    if environment.flags()["readonly"]:
        raise StoreTooOld(path)
    with environment.begin(write=True) as transaction:
        for name in missing:
            environment.open_db(name, transaction)


def _fill(environment: lmdb.Environment) -> None:
    with environment.begin(write=True) as transaction:
        for name in TABLE_NAMES:
            environment.open_db(name, transaction)
        meta = environment.open_db(TABLE_NAMES[Table.META], transaction)
        transaction.put(FORMAT_KEY, format_row(), db=meta)


def _write_lock_file(path: Path) -> None:
    # LMDB only sets the size of this file and then writes to it through a map, which on a full
    # disk would end the process. Blocks that were written before are there for certain.
    size = path.stat().st_size if path.exists() else 0
    if size >= _LMDB_LOCK_SIZE:
        return  # closing it would give LMDB's lock away if this process has the store open
    with path.open("ab") as file:
        file.write(bytes(_LMDB_LOCK_SIZE - size))
        file.flush()
        os.fsync(file.fileno())
