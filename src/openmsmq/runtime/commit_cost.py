"""What commits cost, and which of them an event loop makes itself, waiting for the disk."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from openmsmq.runtime.limits import (
    INLINE_BYTES_MAX,
    INLINE_OPERATIONS_MAX,
    INLINE_SECONDS_MAX,
)

SHARE = 1 / 8
"By which the last commit moves the average."


class Commit(NamedTuple):
    """What a commit cost."""

    operations: int
    "Calls and parts of calls it did together."
    seconds: float
    "From its beginning until it was on disk."
    sync_seconds: float
    "Of these, what the disk took."
    failed: bool = False


class CommitDemand(Protocol):
    """What the next commit is asked to do (`Core`)."""

    @property
    def operations_waiting(self) -> int:
        """How much."""
        ...

    reserved_size: int
    "Bytes of messages that were accepted and are not in the store yet."


class InlineGuard:
    """Allows commits in the loop while they are small, and the last ones were short.

    The first ones are made by the thread, until the disk is known.
    """

    def __init__(self) -> None:
        self._average = INLINE_SECONDS_MAX

    def took(self, seconds: float) -> None:
        """A commit is over, wherever it was made."""
        self._average += (seconds - self._average) * SHARE

    @property
    def is_quick(self) -> bool:
        """Commits take little time at present."""
        return self._average < INLINE_SECONDS_MAX

    def allows(self, waiting: CommitDemand) -> bool:
        """Whether the next commit may be made in the loop."""
        return (
            self.is_quick
            and waiting.operations_waiting <= INLINE_OPERATIONS_MAX
            and waiting.reserved_size <= INLINE_BYTES_MAX
        )
