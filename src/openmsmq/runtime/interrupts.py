"""Ctrl-C, deferred while the engine runs, so that it never leaves something half done."""

from __future__ import annotations

import _thread
import signal
import threading
from collections.abc import Callable
from types import FrameType
from typing import Self

Handler = Callable[[int, FrameType | None], object]


class Shield:
    """In the main thread SIGINT is noted while this lasts, and given to its handler later.

    Python calls the handler between any two steps of the main thread, and most raise
    `KeyboardInterrupt` there: in the midst of a commit that others share, of a lock, of the books.
    """

    __slots__ = ("_before", "_is_noted", "_wake")

    def __init__(self, wake: Callable[[], None]) -> None:
        """`wake` ends a wait of the main thread, which then calls `give`.

        Another thread calls it: the main thread may be about to wait, and would then miss what it
        did itself just before.
        """
        self._wake = wake
        self._before: Handler | None = None
        self._is_noted = False

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            before = signal.getsignal(signal.SIGINT)
            if callable(before):
                self._before = before
                try:
                    signal.signal(signal.SIGINT, self._note)
                except ValueError:  # only the first interpreter of a process has signals
                    self._before = None
        return self

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._is_noted = True
        _thread.start_new_thread(self._wake, ())

    def give(self) -> None:
        """Here an interruption does no damage: hand over one that was noted."""
        if self._is_noted and self._before is not None:
            self._is_noted = False
            self._before(signal.SIGINT, None)

    def __exit__(self, *_: object) -> None:
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)
            self.give()
