"""Stores whose commits can be held up or refused, for tests of those who drive a core."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Final

from openmsmq.store.memory import MemoryStore, MemoryWriter

PATIENCE: Final = 20.0
"Seconds after which a test has failed."


class SlowStore(MemoryStore):
    """A commit lasts until `gate` is set; what `refuse` holds is raised in the next transaction."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = threading.Event()
        self.gate.set()
        self.commits = 0
        self.closed = 0
        self.refuse: dict[str, BaseException] = {}
        "By where: in `begin`, at the first `write`, in `commit`."
        self._armed: dict[str, BaseException] = {}

    def begin(self) -> MemoryWriter:
        self._armed, self.refuse = self.refuse, {}
        self._refuse("begin")
        return super().begin()

    def count_write(self) -> None:
        self._refuse("write")
        super().count_write()

    def commit(self) -> None:
        assert self.gate.wait(PATIENCE), "no one opened the gate"
        if "commit" in self._armed:
            self.abort()
            self._refuse("commit")
        super().commit()
        self.commits += 1

    def _refuse(self, where: str) -> None:
        error = self._armed.pop(where, None)
        if error is not None:
            raise error

    def close(self) -> None:
        super().close()
        self.closed += 1


def until(condition: Callable[[], object]) -> None:
    """Wait until something another thread does has happened."""
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.001)
