"""One of the operations that a commit gathers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from openmsmq.model.committing import Batch


@dataclass(frozen=True, slots=True)
class Operation:
    """Something to be committed, and what follows."""

    apply: Callable[[Batch], None]
    "Adds its rows to the batch."
    committed: Callable[[], None]
    "It is on disk: answer whoever asked."
    failed: Callable[[BaseException], None]
    "It is not: undo what memory says, tell whoever asked."
    grows: bool = False
    "It needs more room than it frees, and is the first to be refused on a full disk."
