"""The timer of an event loop for what the core will have to do without being called."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from math import inf
from typing import Protocol


class Schedule(Protocol):
    """What says when something is due (`Core`)."""

    @property
    def next_deadline(self) -> float | None:
        """In how many seconds; None for never."""
        ...

    is_rescheduled: bool
    "That may be sooner than when it was asked last."


class DueTimer:
    """Calls when something is due; too early at most, then it is set again."""

    def __init__(self, schedule: Schedule, call: Callable[[], None]) -> None:
        self._schedule = schedule
        self._call = call
        self._handle: asyncio.Handle | None = None
        self._at = inf
        "When it is due, for a handle of uvloop that is due at once does not say so."

    def set(self, passed: float = 0.0) -> None:
        """Ask when something is due, and call then.

        `passed` are the seconds since the schedule learned what time it is.
        """
        self._schedule.is_rescheduled = False
        left = self._schedule.next_deadline
        if left is None:
            return
        loop = asyncio.get_running_loop()
        at = loop.time() + left - passed
        if at < self._at:
            self.cancel()
            self._handle, self._at = loop.call_at(at, self._on_time), at

    def cancel(self) -> None:
        """Do not call."""
        if self._handle is not None:
            self._handle.cancel()
            self._handle, self._at = None, inf

    def _on_time(self) -> None:
        self._handle, self._at = None, inf
        self._call()
        self.set()
