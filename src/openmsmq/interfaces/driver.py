"""How interfaces call the queue manager."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

from openmsmq.engine.commit.future import Future

T = TypeVar("T")


class EngineDriver(Protocol):
    """What calls the manager and commits."""

    def call(self, make: Callable[[], T]) -> T:
        """Call the manager."""
        ...

    def begin(self, make: Callable[[], Future[T]], answered: Callable[[Future[T]], None]) -> None:
        """Call the manager; `answered` is called when the answer is there, at once or later."""
        ...
