"""Reads that wait for messages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from openmsmq.engine.commit.future import Future
from openmsmq.engine.messages.cursor import QueueCursor


class Waiter(NamedTuple):
    """A read that waits for a message ([MS-MQDMPR] 3.1.1.10)."""

    attempt: Callable[[list[int]], bool]
    "Tries again, given the messages that have just become readable; True if it was satisfied."
    pending: Future[Any]
    owner: object
    "The handle it reads through."
    cursor: QueueCursor | None = None
    "The cursor it reads with, if any."
    from_head: bool = False
    "It reads what is first in the queue: where one such read finds nothing, all others do not."
    is_over: Callable[[], bool] | None = None
    "Whether the transaction that it reads in has ended; None if it reads in none."

    def give_up(self) -> None:
        """It waits no longer."""
        if self.cursor is not None:
            self.cursor.give_up()
