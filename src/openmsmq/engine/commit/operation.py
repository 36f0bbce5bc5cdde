"""The operations that commits gather: those that wait, and those of the commit under way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Protocol

from openmsmq.engine.commit.batch import Batch
from openmsmq.errors import StorageFull


@dataclass(frozen=True, slots=True)
class Operation:
    """Something to be committed, and what follows."""

    apply: Callable[[Batch], None]
    """Adds its rows to the batch.

    It may be called again with another batch if the first one came to nothing, so what it leaves
    behind in memory is replaced by the next call, or taken back (`Core.on_given_up`).
    """
    committed: Callable[[], None]
    "It is on disk: answer the caller."
    failed: Callable[[BaseException], None]
    "It is not: undo what memory says, fail the call."
    grows: bool = False
    "It needs more room than it frees, and is the first to be refused on a full disk."


class Submit(Protocol):
    """Asks for something to be committed (`Core.submit`)."""

    def __call__(
        self,
        apply: Callable[[Batch], None],
        committed: Callable[[], None],
        failed: Callable[[BaseException], None],
        *,
        grows: bool = False,
        commutes: bool = False,
    ) -> None: ...


def joined(parts: Sequence[Operation]) -> Operation:
    """Operations that are written by the same commit or all fail."""

    def apply(batch: Batch) -> None:
        for part in parts:
            part.apply(batch)

    def committed() -> None:
        for part in parts:
            part.committed()

    def failed(error: BaseException) -> None:
        for part in parts:
            part.failed(error)

    return Operation(apply, committed, failed, any(part.grows for part in parts))


class Operations:
    """What commits are asked to do, in order.

    An operation that raises is left out, and what was applied before it is applied again, alone:
    so no operation is applied more than twice for the faults of others. If it cannot be said which
    of them is at fault, since it was the writing of all their rows that raised, the next commit
    takes half of them.
    """

    def __init__(self) -> None:
        self.waiting: list[Operation] = []
        "What the next commits are to do."
        self._writing: list[Operation] = []
        "Those of the commit under way."
        self._applied = self._answered = 0
        "How many of these are applied, and how many are answered."
        self._most: int | None = None
        "How many the next commit takes; None for all."
        self.gathered = 0
        "Calls that an operation does besides the one it was added for."
        self.turn = 0
        """Changes with each commit, and when something is asked for that keeps its place in order.

        While it stays the same, an operation that waits may be given more to do.
        """

    def add(self, operation: Operation, *, commutes: bool = False) -> None:
        """Let the next commit do something more.

        One that `commutes` may as well come after single sends that are asked for later.
        """
        self.waiting.append(operation)
        if not commutes:
            self.turn += 1

    def join(self, start: int) -> None:
        """Make one of all operations that wait behind the first `start`."""
        parts = self.waiting[start:]
        self.turn += 1
        if len(parts) > 1:
            self.waiting[start:] = [joined(parts)]

    def take(self) -> list[Operation]:
        """Those that wait, for a commit that begins."""
        self.turn += 1
        self.gathered = 0
        self._writing = self.waiting[: self._most]
        del self.waiting[: len(self._writing)]
        self._most = None
        self._applied = self._answered = 0
        return self._writing

    def apply(self, batch: Batch) -> None:
        """Let all that were taken add their rows."""
        for operation in self._writing:
            operation.apply(batch)
            self._applied += 1

    def put_back(self, *, is_fault: bool) -> Operation | None:
        """Nothing of them was written: let them wait again, but for the one at fault, if any."""
        operations, place = self._writing, self._applied
        self._writing = []
        faulty = None
        if not is_fault:
            self._most = len(operations)
        elif place == len(operations) > 1:
            self._most = place // 2
        else:
            faulty = operations.pop(min(place, len(operations) - 1))
            self._most = place or None
        self.waiting[:0] = operations
        return faulty

    def answer(self) -> None:
        """The commit is on disk: answer those who asked for it."""
        for operation in self._writing:
            operation.committed()
            self._answered += 1
        self._writing = []

    def refuse(self, error: BaseException) -> None:
        """No commit can begin: all that wait fail."""
        self.take()
        self.fail(error)

    def fail(self, error: BaseException, *, has_room: bool = False) -> None:
        """The commit came to nothing, and they fail.

        On a full disk only those that need room do; the others may free some, and wait again. If
        there are only others, that is of use only if the disk `has_room` for them now.
        """
        failing = self._writing
        if isinstance(error, StorageFull):
            growing = [operation for operation in failing if operation.grows]
            if growing or has_room:
                self.waiting[:0] = [operation for operation in failing if not operation.grows]
                failing = growing
        for operation in failing:
            operation.failed(error)
            self._answered += 1
        self._writing = []

    def abandon(self, error: BaseException) -> None:
        """Nothing will be committed any more: all fail that are not answered.

        Something may have raised that should not have, so that memory is in no order: what they
        raise themselves changes nothing for the others.
        """
        left = self._writing[self._answered :]
        self._writing = []
        while left or self.waiting:
            left += self.waiting
            self.waiting = []
            for operation in left:
                with suppress(Exception):
                    operation.failed(error)
            left = []
