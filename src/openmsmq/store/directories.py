"""Directories that outlast a power cut."""

from __future__ import annotations

import os
from itertools import takewhile
from pathlib import Path

from openmsmq.store.faults import storage_error


def make_directory(directory: Path) -> None:
    """Have a directory that others cannot look into, and that outlasts a power cut."""
    if directory.is_dir():
        return
    made = directory.absolute()
    missing = [made, *takewhile(lambda parent: not parent.is_dir(), made.parents)]
    try:
        made.mkdir(mode=0o700, parents=True, exist_ok=True)
        for path in missing:
            sync_directory(path.parent)
    except OSError as error:
        raise storage_error(error) from error


def sync_directory(directory: Path) -> None:
    """Let what was made, moved or removed in a directory outlast a power cut."""
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
