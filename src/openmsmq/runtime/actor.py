"""Who calls: the history of messages names the program that did something, and nobody else."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from openmsmq.engine.commit.pending import Pending
from openmsmq.engine.core import Core
from openmsmq.runtime.drivers import LoopDriver

T = TypeVar("T")


class ActingDriver:
    """A driver whose calls are those of one program, or of a rule of the manager.

    What the manager does between calls, such as to let messages expire, is nobody's.
    """

    __slots__ = ("_core", "_driver", "by")

    def __init__(self, driver: LoopDriver, core: Core, by: str = "") -> None:
        self._driver = driver
        self._core = core
        self.by = by
        "Who calls, for the history of messages."

    @property
    def is_closed(self) -> bool:
        """No more calls are taken."""
        return self._driver.is_closed

    def call(self, make: Callable[[], T]) -> T:
        """See `LoopDriver.call`."""
        return self._driver.call(lambda: self._act(make))

    def begin(self, make: Callable[[], Pending[T]], answered: Callable[[Pending[T]], None]) -> None:
        """See `LoopDriver.begin`."""
        self._driver.begin(lambda: self._act(make), answered)

    def _act(self, make: Callable[[], T]) -> T:
        core = self._core
        before, core.by = core.by, self.by
        try:
            return make()
        finally:
            core.by = before
