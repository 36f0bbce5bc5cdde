"""Commits of the model: what is asked for waits, is written together, and lasts or does not."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass

from openmsmq.errors import MQError, StorageFull
from tests.strategies.model.parts import Position, Queue

Error = type[BaseException]


@dataclass(eq=False)
class Operation:
    """Something to be written."""

    start: Callable[[], object]
    finish: Callable[[], object]
    fail: Callable[[Error], object]
    grows: bool


class Commits:
    """Operations that are queued, being committed, or done."""

    def __init__(self) -> None:
        self.queued: list[Operation] = []
        self.committing: list[Operation] | None = None
        self.flying: dict[Queue, list[Position]] = defaultdict(list)
        "What arrives with the commit that runs."
        self.leaving: set[Position] = set()
        "What purges take out with it."
        self.deferred: list[Callable[[], None]] = []
        "What happens when it is over."
        self.fresh: dict[Queue, set[Position]] = defaultdict(set)
        "What readers were not told of yet."

    def submit(
        self,
        finish: Callable[[], object],
        fail: Callable[[Error], object],
        start: Callable[[], object] = lambda: None,
        *,
        grows: bool = True,
    ) -> None:
        """Ask for something to be written."""
        self.queued.append(Operation(start, finish, fail, grows))

    def start(self) -> None:
        """Write all that was asked for."""
        self.committing, self.queued = self.queued, []
        self.leaving.clear()
        for operation in self.committing:
            operation.start()

    def finish(self, error: MQError | None = None) -> None:
        """All that was started lasts, or none of it; on a full disk the rest is tried again."""
        assert self.committing is not None
        operations, self.committing = self.committing, None
        if error is None:
            for queue, positions in self.flying.items():
                queue.place(positions)
                self.fresh[queue].update(positions)
            for operation in operations:
                operation.finish()
        else:
            growing = [operation for operation in operations if operation.grows]
            if isinstance(error, StorageFull) and growing and len(growing) < len(operations):
                self.queued = [o for o in operations if not o.grows] + self.queued
                operations = growing
            for operation in operations:
                operation.fail(type(error))
        self.flying.clear()
        deferred, self.deferred = self.deferred, []
        for call in deferred:
            call()
