"""Files of JSON lines that only grow: a line counts when it is whole, and on disk."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from openmsmq.store.directories import sync_directory

_TAIL: Final = 1 << 16
"How much of the end of a file is looked at first."


class JsonLinesFile:
    """Such a file; one that is not there is empty."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __iter__(self) -> Iterator[dict[str, Any]]:
        with suppress(FileNotFoundError), self.path.open("rb") as file:
            for line in file:
                if line.endswith(b"\n"):  # else its writer was killed before it counted
                    yield json.loads(line)

    def last(self) -> dict[str, Any] | None:
        """The last line that counts."""
        try:
            with self.path.open("rb") as file:
                whole, _ = _tail(file.fileno())
        except FileNotFoundError:
            return None
        found: dict[str, Any] | None = json.loads(whole) if whole else None
        return found

    def mend(self) -> None:
        """Cut off what a killed writer has left of a line."""
        with suppress(FileNotFoundError), self.path.open("r+b") as file:
            _, end = _tail(file.fileno())
            file.truncate(end)

    def append(self, values: Mapping[str, Any]) -> None:
        """Add a line; it counts when this returns, and may count before."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        line = memoryview(json.dumps(values).encode() + b"\n")
        file = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        try:
            while line:
                line = line[os.write(file, line) :]
            os.fsync(file)
        finally:
            os.close(file)
        sync_directory(self.path.parent)


def _tail(file: int) -> tuple[bytes, int]:
    """The last whole line of a file, and where it ends."""
    size, want = os.fstat(file).st_size, _TAIL
    while True:
        start = max(0, size - want)
        found = os.pread(file, size - start, start)
        end = found.rfind(b"\n") + 1
        begin = found.rfind(b"\n", 0, max(0, end - 1)) + 1
        if not start or begin:
            return found[begin:end], start + end
        want *= 4
