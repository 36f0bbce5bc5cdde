"""Looking after a store on disk: backup, restore, check and compaction.

A backup is a directory of its own: data.mdb, which is a store, what the manager is started with
(`carrying`), and backup.json, which says what is in it. It is made beside its place and moved there
when it is whole, so that whatever has the name of a backup is one.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final
from uuid import UUID

from openmsmq.clock import SystemClock
from openmsmq.engine.queues.queue import QueueProperties
from openmsmq.engine.storage.layout import COUNTERS_ROW, PROPERTIES_ROW, unpack_counters
from openmsmq.engine.storage.recovery import (
    IDENTITY_KEY,
    RESTORING_KEY,
)
from openmsmq.engine.storage.tables import Snapshot, Table
from openmsmq.errors import BackupDamaged, StoreDamaged, StoreExists, StoreForeign, StoreMissing
from openmsmq.service import backup as carrying
from openmsmq.service.limits import INFO_SIZE_MAX
from openmsmq.store import copy as copying
from openmsmq.store.check import check as checking
from openmsmq.store.check.check import UNREADABLE, Report
from openmsmq.store.copy import Copied, Progress, StoreReader, no_progress
from openmsmq.store.directories import make_directory, sync_directory
from openmsmq.store.faults import storage_error
from openmsmq.store.lmdb import LmdbStore
from openmsmq.store.pages import DATA_FILE
from openmsmq.types.queues import VISIBLE

Directory = str | os.PathLike[str]

INFO_FILE: Final = "backup.json"


@dataclass(frozen=True, slots=True)
class Backup:
    """What is known about a backup without opening it."""

    time: str
    "When it was made, in UTC."
    computer: str
    "The host it was made on."
    directory: str
    "The store it is a copy of."
    identity: str
    "The GUID of the queue manager; empty if the store was never used."
    format: int
    "The version of the store's format."
    queues: int
    messages: int
    size: int
    "Bytes of the data file."
    sha256: str
    "Of the data file."
    files: dict[str, str] = field(default_factory=dict)
    "What else is in it (`carrying.FILES`), and the SHA-256 of each."


@dataclass(frozen=True, slots=True)
class Restored:
    """A backup that was put in place."""

    backup: Backup
    directory: Path
    identity: str
    "The GUID of the queue manager there."
    replaced: Path | None
    "Where the data file is that was there before."
    kept: tuple[Path, ...] = ()
    "Where other files are that were there before: configuration, tokens, certificates."


@dataclass(frozen=True, slots=True)
class Compacted:
    """A store that was written anew."""

    size_before: int
    size: int


def backup(
    directory: Directory,
    destination: Directory,
    progress: Progress | None = None,
    *,
    with_keys: bool = False,
) -> Backup:
    """Copy a store as it is at one moment, while another process may be working with it.

    With it goes what the manager is started with: configuration, tokens and certificate, and
    `with_keys` also the private key. The destination must not be there yet, or be an empty
    directory.
    """
    source, target = _absolute(directory), _absolute(destination)
    _require_free(target)
    copying.require(source)
    make_directory(target.parent)
    with _making(target) as folder:
        with copying.read_along(source) as reader:
            copied = reader.copy(folder / DATA_FILE, progress or no_progress)
            carried = carrying.pack(source, folder, with_keys=with_keys)
            made = replace(_describe(source, reader, copied), files=carried)
        copying.check_pages(folder, progress or no_progress)
        _write_info(folder / INFO_FILE, made)
        sync_directory(folder)
        _require_free(target)
        folder.rename(target)
        sync_directory(target.parent)
    return made


def restore(
    source: Directory,
    directory: Directory,
    *,
    force: bool = False,
    new_identity: bool = False,
    progress: Progress | None = None,
) -> Restored:
    """Put a backup in place as the store of a directory, which has none; `force` replaces it.

    The numbers that the original may have given out since are never used again. A copy that is to
    work beside the original needs a `new_identity`, for two queue managers with the same GUID take
    each other's messages; nor does it get the configuration and tokens of the original.
    """
    folder, target = _absolute(source), _absolute(directory)
    info = read_backup(folder)
    files = {} if new_identity else info.files
    carrying.check(folder, info.files)
    make_directory(target)
    with copying.alone(target):
        for name in () if force else (DATA_FILE, *files):
            if (target / name).exists():
                raise StoreExists(str(target if name == DATA_FILE else target / name))
        with copying.staging(target) as staged:
            copied = copying.copy_file(
                folder / DATA_FILE, staged / DATA_FILE, progress or no_progress
            )
            if (copied.size, copied.sha256) != (info.size, info.sha256):
                raise BackupDamaged(f"{folder}: {DATA_FILE} is not what {INFO_FILE} says")
            identity = _make_own(staged, folder, new_identity=new_identity)
            replaced = _keep(target / DATA_FILE)
            try:
                kept = tuple(carrying.unpack(folder, files, target, replaced=_suffix()))
            except OSError as error:
                raise storage_error(error, target) from error
            copying.put_in_place(staged, target)
    return Restored(info, target, identity, replaced, kept)


def check(directory: Directory, progress: Progress | None = None) -> Report:
    """Look at every page and row of a store that is not open."""
    return checking.check(_absolute(directory), progress or no_progress)


def compact(directory: Directory, progress: Progress | None = None) -> Compacted:
    """Give the unused space of a store that is not open back to the disk."""
    return Compacted(*copying.compact(_absolute(directory), progress or no_progress))


def read_backup(folder: Directory) -> Backup:
    """What a backup says about itself; `BackupDamaged` if it is none."""
    path = Path(folder) / INFO_FILE
    try:
        with path.open("rb") as file:
            info = Backup(**json.loads(file.read(INFO_SIZE_MAX)))
    except FileNotFoundError:
        raise BackupDamaged(f"{folder} has no {INFO_FILE}") from None
    except OSError as error:
        raise storage_error(error) from error
    except (ValueError, TypeError, RecursionError) as error:
        raise BackupDamaged(f"{path} cannot be read: {error}") from error
    for entry in fields(info):
        if type(getattr(info, entry.name)).__name__ != str(entry.type).partition("[")[0]:
            raise BackupDamaged(f"{path}: {entry.name} has a wrong value")
    if not (Path(folder) / DATA_FILE).is_file():
        raise BackupDamaged(f"{folder} has no {DATA_FILE}")
    return info


def _absolute(directory: Directory) -> Path:
    return Path(os.path.abspath(directory))


def _require_free(target: Path) -> None:
    try:
        if target.is_symlink() or (target.exists() and next(target.iterdir(), None) is not None):
            raise StoreExists(str(target))
    except OSError as error:
        raise storage_error(error) from error


@contextlib.contextmanager
def _making(target: Path) -> Iterator[Path]:
    """A folder beside `target` that does not look like a backup, and goes if it becomes none."""
    folder = None
    try:
        folder = Path(
            tempfile.mkdtemp(prefix=f".{target.name}.", suffix=".making", dir=target.parent)
        )
        yield folder
    except OSError as error:
        raise storage_error(error, target) from error
    finally:
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)


def _describe(source: Path, reader: StoreReader, copied: Copied) -> Backup:
    now = datetime.fromtimestamp(SystemClock().now(), UTC)
    try:
        identity = _identity(reader.snapshot)
        queues, messages = _count(reader.snapshot)
    except UNREADABLE as error:
        raise StoreDamaged(f"{source} has rows that make no sense") from error
    return Backup(
        time=now.isoformat(timespec="seconds").replace("+00:00", "Z"),
        computer=socket.gethostname(),
        directory=str(source),
        identity=identity,
        format=reader.format,
        queues=queues,
        messages=messages,
        size=copied.size,
        sha256=copied.sha256,
    )


def _identity(snapshot: Snapshot) -> str:
    """The GUID of the queue manager; empty if it has none yet."""
    row = snapshot.get(Table.META, IDENTITY_KEY)
    return str(UUID(bytes=row)) if row else ""


def _count(snapshot: Snapshot) -> tuple[int, int]:
    """How many queues people have made, and messages in all queues."""
    queues = messages = 0
    for key, row in snapshot.scan(Table.QUEUES, b"", b"\xff" * 5):
        if key[-1] == PROPERTIES_ROW:
            queues += QueueProperties.from_row(row).kind in VISIBLE
        elif key[-1] == COUNTERS_ROW:
            messages += unpack_counters(row)[0]
    return queues, messages


def _write_info(path: Path, info: Backup) -> None:
    with open(path, "x", opener=_for_owner) as file:
        json.dump(asdict(info), file, indent=1)
        file.write("\n")
        file.flush()
        os.fsync(file.fileno())


def _for_owner(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)


def _make_own(staged: Path, source: Path, *, new_identity: bool) -> str:
    """Check the copy of a backup, and let it go on as a store of its own; its identity."""
    try:
        store = LmdbStore.open(staged, create=False, walk_max=sys.maxsize)
    except (StoreDamaged, StoreForeign, StoreMissing) as error:
        raise BackupDamaged(f"{source}: {error.detail}") from error
    with contextlib.closing(store):
        writer = store.begin()
        # Others know more of this manager than the backup does: see `recovery.start_over`.
        writer.put(Table.META, RESTORING_KEY, b"")
        if new_identity:
            writer.put(Table.META, IDENTITY_KEY, SystemClock().new_guid().bytes)
        identity = _identity(writer)
        store.commit()
    return identity


def _suffix() -> str:
    """What the name of a file ends with that was replaced."""
    now = datetime.fromtimestamp(SystemClock().now(), UTC)
    return f".replaced-{now:%Y%m%d-%H%M%S-%f}"


def _keep(data: Path) -> Path | None:
    """Give a file that is to be replaced a second name; it has the first one until then."""
    if not data.exists():
        return None
    kept = data.with_name(data.name + _suffix())
    try:
        os.link(data, kept)
    except OSError as error:
        raise storage_error(error, kept) from error
    return kept
