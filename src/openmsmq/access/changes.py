"""What was changed in the files that say who may do what, for the audit log.

Commands change these files while a service works with them, or while no one does. Each keeps what
was changed last and by whom; the manager that has the directory open takes that into its audit log.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Final

from openmsmq.access.owner_file import read_changes
from openmsmq.engine.storage.audit import AuditLog

ACCESS_FILES: Final = (
    "tokens.json",
    "users.json",
    "senders.json",
    "keys.json",
    "peer_keys.json",
)
"By name, so that a program that opens a directory need not import what reads them."
_GONE: Final = "removed"


class AccessChanges:
    """Follows the files of a directory."""

    def __init__(self, directory: Path, audit: AuditLog) -> None:
        self._directory = directory
        self._audit = audit
        self._seen: dict[str, tuple[int, ...]] = {}
        self._lost = audit.lost

    def refresh(self) -> None:
        """Take what is new into the audit log; also what a full disk kept out of it before."""
        if self._audit.lost != self._lost:
            self._lost = self._audit.lost
            self._seen.clear()
        for name in ACCESS_FILES:
            try:
                state = (self._directory / name).stat()
                seen: tuple[int, ...] = (state.st_ino, state.st_mtime_ns, state.st_size)
            except OSError:
                seen = ()
            if seen != self._seen.get(name, ()) or name not in self._seen:
                self._seen[name] = seen
                self._follow(name)

    def _follow(self, name: str) -> None:
        try:
            data = (self._directory / name).read_bytes()
        except OSError:
            self._audit.follow(name, (), _GONE, edit=_GONE)
            return
        try:
            changes, digest, is_sealed = read_changes(data)
        except (ValueError, TypeError, KeyError, RecursionError):
            digest = hashlib.sha256(data).hexdigest()
            self._audit.follow(name, (), digest, edit="it cannot be read")
            return
        edit = "" if is_sealed else "it is not as the last command wrote it"
        self._audit.follow(name, changes, digest, edit=edit)
