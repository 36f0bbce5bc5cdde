"""The thread beside an event loop that waits for the disk, so that the loop does not."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import TypeVar

T = TypeVar("T")


class CommitThread:
    """Does one piece of work after the other; the thread is there from the first until `close`.

    The library's own pool does the same with locks and futures of two kinds on the way there and
    back, which takes a good part of the time of a small commit.
    """

    def __init__(self, name: str) -> None:
        self._name = name
        self._jobs: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._thread: threading.Thread | None = None

    def do(
        self,
        work: Callable[[], T],
        then: Callable[[T], None],
        failed: Callable[[BaseException], None],
    ) -> None:
        """Have something done there; the event loop goes on with what it gives, or raises."""
        loop = asyncio.get_running_loop()

        def job() -> None:
            try:
                result = work()
            except BaseException as error:
                loop.call_soon_threadsafe(failed, error)
            else:
                loop.call_soon_threadsafe(then, result)

        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
            self._thread.start()
        self._jobs.put(job)

    def _run(self) -> None:
        while (job := self._jobs.get()) is not None:
            job()
            del job  # what it holds is not to wait for the next one

    def close(self) -> None:
        """Wait for the end of the thread; there must be nothing left to do."""
        if self._thread is not None:
            self._jobs.put(None)
            self._thread.join()
            self._thread = None
