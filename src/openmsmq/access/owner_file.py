"""A JSON file in the directory of a manager that only its owner may read.

Commands change it while a service works with it: one process at a time, and never in part.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final, Generic, TypeVar

from openmsmq.access.limits import CHANGES_MAX
from openmsmq.errors import StorageError
from openmsmq.process import this_process
from openmsmq.store.directories import sync_directory
from openmsmq.store.faults import storage_error
from openmsmq.types.caller import Caller
from openmsmq.types.history import FileChange

FORMAT: Final = 2
"What is written; format 1 knew the roles read, send, read+send and admin only."
_READABLE: Final = frozenset({1, FORMAT})
_CHANGES: Final = "changes"
_SEAL: Final = "seal"
"The digest of the values as a command wrote them: edits by hand show."
T = TypeVar("T")


class OwnerFile(Generic[T]):
    """Values by key, as the file has them now."""

    def __init__(
        self,
        path: Path,
        kind: str,
        decode: Callable[[dict[str, Any]], tuple[str, T]],
        encode: Callable[[T], dict[str, Any]],
        damaged: type[StorageError],
    ) -> None:
        """`kind` is the member of the document that has the values; nothing is read yet.

        `decode` gives a value with its key, and any of `ValueError`, `TypeError` or `KeyError` if
        it makes no sense; `damaged` is what is raised then.
        """
        self._path = path
        self._kind = kind
        self._decode = decode
        self._encode = encode
        self._damaged = damaged
        self._seen: tuple[int, ...] | None = None
        "What the file looked like when it was read."
        self.values: dict[str, T] = {}
        self._changes: list[FileChange] = []
        "What was changed last; for `read_changes`."

    def refresh(self) -> bool:
        """Read the file if it has changed; whether it has.

        If it cannot be read there are no values, so that it entitles to nothing.
        """
        try:
            with self._path.open("rb") as file:
                state = os.fstat(file.fileno())
                seen = (state.st_ino, state.st_mtime_ns, state.st_size)
                if seen == self._seen:
                    return False
                found = self._read(file.read())
        except FileNotFoundError:
            self._changes = []
            return self._take(None, {})
        except OSError as error:
            self._take(None, {})
            raise storage_error(error) from error
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            self._take(None, {})
            raise self._damaged(f"{self._path}: {error}") from error
        return self._take(seen, found)

    def _read(self, data: bytes) -> dict[str, T]:
        document = json.loads(data)
        if document["format"] not in _READABLE:
            raise ValueError("a newer OpenMSMQ has written it")
        self._changes = _changes(document)
        return dict(map(self._decode, document[self._kind]))

    def _take(self, seen: tuple[int, ...] | None, found: dict[str, T]) -> bool:
        changed = seen != self._seen
        self._seen = seen
        self.values = found
        return changed

    @contextlib.contextmanager
    def changing(self) -> Iterator[dict[str, T]]:
        """Change the values while no other process does; they are written if that went well."""
        try:
            lock = self._for_owner(self._path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT)
        except OSError as error:
            raise storage_error(error) from error
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self.refresh()
            if self._is_edited():
                self.note("edit file", self._path.name, "before this command")
            yield self.values
            self._write()
        except BaseException:
            self._seen = None  # what was changed and noted here is not in the file
            raise
        finally:
            os.close(lock)

    def note(self, act: str, target: str, reason: str = "", caller: Caller | None = None) -> None:
        """Say what is being changed, for the audit log: it is written with the change.

        Without a caller it is the user of this process who does it.
        """
        now = time.time()
        last = self._changes[-1].number if self._changes else 0
        number = max(last + 1, int(now * 1000))
        who, by = f"unix:{os.getuid()}", this_process()
        if caller is not None:
            who, by = caller.principal, caller.name
        change = FileChange(number, int(now), who, act, target, reason, by)
        self._changes = [*self._changes, change][-CHANGES_MAX:]

    def _is_edited(self) -> bool:
        """Whether someone has changed the file without a command."""
        try:
            document = json.loads(self._path.read_bytes())
        except FileNotFoundError:
            return False
        except OSError as error:
            raise storage_error(error) from error
        return _SEAL in document and document[_SEAL] != _digest(document[self._kind])

    def _write(self) -> None:
        """Replace the file, durably and whole."""
        making = self._path.with_suffix(".making")
        values = list(map(self._encode, self.values.values()))
        document = {
            "format": FORMAT,
            self._kind: values,
            _CHANGES: self._changes,
            _SEAL: _digest(json.loads(json.dumps(values))),
        }
        self._seen = None
        try:
            making.unlink(missing_ok=True)
            with open(making, "x", opener=self._for_owner) as file:
                json.dump(document, file, indent=1)
                file.write("\n")
                file.flush()
                os.fsync(file.fileno())
            making.replace(self._path)
            sync_directory(self._path.parent)
        except OSError as error:
            raise storage_error(error) from error

    def _for_owner(self, path: str | Path, flags: int) -> int:
        """Open a file for the owner of the directory: root may be the one who changes it."""
        file = os.open(path, flags, 0o600)
        if os.geteuid() == 0:
            owner = self._path.parent.stat()
            os.fchown(file, owner.st_uid, owner.st_gid)
        return file


def read_changes(data: bytes) -> tuple[list[FileChange], str, bool]:
    """What was changed last in such a file, its digest, and whether a command wrote it so.

    `ValueError`, `TypeError` or `KeyError` if it makes no sense.
    """
    document = json.loads(data)
    kind = next((name for name in document if name not in ("format", _CHANGES, _SEAL)), "")
    digest = _digest(document[kind])
    return _changes(document), digest, document.get(_SEAL, digest) == digest


def _changes(document: dict[str, Any]) -> list[FileChange]:
    return [FileChange(*map(_checked, one, _KINDS)) for one in document.get(_CHANGES, ())]


_KINDS: Final = tuple(int if name in ("number", "time") else str for name in FileChange._fields)


def _checked(value: Any, kind: type) -> Any:
    if type(value) is not kind:
        raise ValueError(f"{value!r} in the list of changes makes no sense")
    return value


def _digest(values: Any) -> str:
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()
