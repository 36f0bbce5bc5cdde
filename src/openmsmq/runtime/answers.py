"""Answers of calls: how long they are waited for, and those that nothing waits for any longer."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TypeVar

from openmsmq.engine.commit.future import Future
from openmsmq.errors import MQError, ReceiveTimeout

T = TypeVar("T")
GiveUp = Callable[[Future[T], MQError], bool]
"Takes a call that waits back; False if it does not wait any longer."


def abandon(
    pending: Future[T], give_up: GiveUp[T] | None, undo: Callable[[T], None] | None
) -> None:
    """The caller no longer waits for this answer."""
    if undo is None or (give_up is not None and give_up(pending, ReceiveTimeout())):
        return

    def answered() -> None:
        if pending.error is None:
            undo(pending.result())

    if pending.done:
        answered()
    else:
        pending.on_done = answered


def time_left(deadline: float | None) -> float | None:
    """Seconds until the deadline, as many as a thread can wait."""
    if deadline is None:
        return None
    return min(max(0.0, deadline - time.monotonic()), threading.TIMEOUT_MAX)


def sooner(one: float | None, other: float | None) -> float | None:
    """The first of two times, None for never."""
    if one is None or other is None:
        return one if other is None else other
    return min(one, other)
