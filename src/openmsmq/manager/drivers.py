"""Who commits, and how callers wait: threads that share the work, or an event loop.

In both cases calls gather while a commit syncs, and one sync then serves all of them. There is no
timer: a batch is whatever came meanwhile.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, TypeVar

from openmsmq.errors import (
    InvalidHandle,
    MQError,
    OperationCancelled,
    ReceiveTimeout,
    StorageFailed,
)
from openmsmq.model.core import Core
from openmsmq.model.pending import Pending

T = TypeVar("T")
GiveUp = Callable[[Pending[T], MQError], bool]
"Takes a call that waits back; False if it does not wait any longer."
CLOSED = "the queue manager is closed"


class Commit(NamedTuple):
    """What a commit cost."""

    operations: int
    "Calls and parts of calls it did together."
    seconds: float
    "From its beginning until it was on disk."
    sync_seconds: float
    "Of these, what the disk took."
    failed: bool = False


def _ignore(commit: Commit) -> None:
    """Nobody wants to know."""


class ThreadDriver:
    """Threads call the core in turn; the first that finds something to commit commits for all.

    There is no thread of its own: what is due, such as messages that expire, is done by whoever
    calls or waits.
    """

    def __init__(self, core: Core, tick: Callable[[], bool]) -> None:
        """`tick` tells the core what time it is (`Core.tick`)."""
        self._core = core
        self._tick = tick
        self._changed = threading.Condition()
        self._broken: MQError | None = None
        "Why nothing can be committed any more."
        self._followers = 0
        "Threads that wait for something to happen."
        self._closed = False
        "Nothing new is taken: somebody closes it, or a commit was interrupted."
        self._ended = False
        "Somebody closes it, or has."

    def call(self, make: Callable[[], T]) -> T:
        """Call the core when no other thread does."""
        with self._changed:
            self._require_open()
            self._sweep()
            self._changed.notify_all()  # a call may answer others: to close a handle ends reads
            return make()

    def _sweep(self) -> None:
        """Do what is due before a call, so that nobody sees what should be gone."""
        if self._tick() and self._core.wants_commit:
            self._commit()
            self._require_open()  # somebody may have closed it meanwhile

    def wait(
        self,
        make: Callable[[], Pending[T]],
        timeout: float | None = None,
        give_up: GiveUp[T] | None = None,
        undo: Callable[[T], None] | None = None,
    ) -> T:
        """Call the core and wait for the answer, for a read not longer than `timeout`.

        A caller that is interrupted does not get its answer: `undo` is done with it instead.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        with self._changed:
            self._require_open()
            self._sweep()
            pending = make()
            self._changed.notify_all()
            try:
                while not pending.done:
                    if self._core.wants_commit:
                        self._commit()
                    elif deadline is not None and time.monotonic() >= deadline:
                        if give_up is None or give_up(pending, ReceiveTimeout()):
                            break
                        deadline = None
                    else:
                        self._follow(deadline)
            except KeyboardInterrupt:
                _abandon(pending, give_up, undo)
                self._changed.notify_all()
                raise
            if self._core.wants_commit and not self._followers:
                self._commit()  # nobody waits for what is left, so nobody else would
            return pending.result()

    def _follow(self, deadline: float | None) -> None:
        """Wait until something happens or is due."""
        self._followers += 1
        try:
            self._changed.wait(_sooner(_left(deadline), self._core.next_deadline))
        finally:
            self._followers -= 1
        self._tick()

    def _commit(self) -> None:
        """Commit for everybody; others may call the core while the disk works."""
        core = self._core
        error: BaseException | None = None
        try:
            if self._broken is not None:
                raise self._broken
            writer = core.store.begin()
        except MQError as refused:
            core.refuse(refused)
            self._changed.notify_all()
            return
        try:
            core.start_commit(writer)
        except MQError as refused:
            core.store.abort()
            error = refused
        else:
            self._changed.release()
            try:
                core.store.commit()
            except MQError as refused:
                error = refused
            except BaseException:
                # Whether it is on disk nobody can say: only a fresh look at the store can.
                error = self._broken = StorageFailed("interrupted; open the directory again")
                self._closed = True
                raise
            finally:
                self._changed.acquire()
                core.finish_commit(error)
                self._changed.notify_all()
            return
        core.finish_commit(error)
        self._changed.notify_all()

    def close(self) -> None:
        """Finish what was asked for; later calls are refused."""
        with self._changed:
            if self._ended:
                return
            self._closed = self._ended = True
            self._core.cancel_everywhere(OperationCancelled(CLOSED))
            self._core.stop()
            self._changed.notify_all()
            while self._core.wants_commit or self._core.is_committing:
                if self._core.wants_commit:
                    self._commit()
                else:
                    self._changed.wait()
            self._core.store.close()

    def _require_open(self) -> None:
        if self._closed:
            raise InvalidHandle(CLOSED)


def _abandon(
    pending: Pending[T], give_up: GiveUp[T] | None, undo: Callable[[T], None] | None
) -> None:
    """Nobody waits for this answer any longer."""
    if undo is None or (give_up is not None and give_up(pending, ReceiveTimeout())):
        return

    def answered() -> None:
        if pending.error is None:
            undo(pending.result())

    if pending.done:
        answered()
    else:
        pending.on_done = answered


def _left(deadline: float | None) -> float | None:
    """Seconds until the deadline, as many as a thread can wait."""
    if deadline is None:
        return None
    return min(max(0.0, deadline - time.monotonic()), threading.TIMEOUT_MAX)


def _sooner(one: float | None, other: float | None) -> float | None:
    if one is None or other is None:
        return one if other is None else other
    return min(one, other)


class LoopDriver:
    """An event loop calls the core; one thread beside it does nothing but begin and commit."""

    def __init__(self, core: Core, tick: Callable[[], bool]) -> None:
        """`tick` tells the core what time it is (`Core.tick`)."""
        self._core = core
        self._tick = tick
        self._timer: asyncio.TimerHandle | None = None
        self._on_commit: list[asyncio.Future[None]] = []
        "Those who wait for the commit that runs or comes next."
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="openmsmq-commit")
        self._task: asyncio.Task[None] | None = None
        self._closed = False
        self.observer: Callable[[Commit], None] = _ignore
        "Told about every commit; the event loop waits meanwhile."

    @property
    def is_closed(self) -> bool:
        """No more calls are taken."""
        return self._closed

    def call(self, make: Callable[[], T]) -> T:
        """Call the core; what that makes it commit is committed, though nobody waits for it."""
        self._require_open()
        self._tick()
        result = make()
        self._go_on()
        return result

    def _go_on(self) -> None:
        """The core was called: commit what it wants committed, and see to what will be due."""
        self._commit_if_wanted()
        self._set_timer()

    async def wait(
        self,
        make: Callable[[], Pending[T]],
        timeout: float | None = None,
        give_up: GiveUp[T] | None = None,
        undo: Callable[[T], None] | None = None,
    ) -> T:
        """Call the core and wait for the answer, for a read not longer than `timeout`.

        A caller that is cancelled does not get its answer: `undo` is done with it instead.
        """
        self._require_open()
        await self._sweep()
        pending = make()
        self._go_on()
        if not pending.done:
            answered: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            pending.on_done = lambda: None if answered.done() else answered.set_result(None)
            try:
                if timeout is not None:
                    await asyncio.wait((answered,), timeout=timeout)
                if timeout is None or not (
                    answered.done() or (give_up and give_up(pending, ReceiveTimeout()))
                ):
                    await answered
            except asyncio.CancelledError:
                _abandon(pending, give_up, undo)
                self._commit_if_wanted()
                raise
        return pending.result()

    def begin(self, make: Callable[[], Pending[T]], answered: Callable[[Pending[T]], None]) -> None:
        """Call the core and be told of the answer, at once or later."""
        self._require_open()
        self._tick()
        pending = make()
        if pending.done:
            answered(pending)
        else:
            pending.on_done = lambda: answered(pending)
        self._go_on()

    async def _sweep(self) -> None:
        """Do what is due before a call, so that nobody sees what should be gone."""
        if self._tick():
            self._commit_if_wanted()
            swept: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._on_commit.append(swept)
            await swept
            self._require_open()

    def _set_timer(self) -> None:
        """See that what will be due is done, although nobody may call then."""
        left = self._core.next_deadline
        if left is None or self._closed:
            return
        loop = asyncio.get_running_loop()
        at = loop.time() + left
        if self._timer is not None:
            if self._timer.when() <= at:
                return
            self._timer.cancel()
        self._timer = loop.call_at(at, self._on_time)

    def _on_time(self) -> None:
        self._timer = None
        self._tick()
        self._commit_if_wanted()
        self._set_timer()

    def _commit_if_wanted(self) -> None:
        if self._core.wants_commit and (self._task is None or self._task.done()):
            self._task = asyncio.get_running_loop().create_task(self._commit())

    async def _commit(self) -> None:
        loop = asyncio.get_running_loop()
        core = self._core
        while core.wants_commit:
            error: BaseException | None = None
            begun = synced = time.perf_counter()
            try:
                writer = await loop.run_in_executor(self._thread, core.store.begin)
            except MQError as refused:
                self.observer(Commit(core.operations_waiting, 0, 0, failed=True))
                core.refuse(refused)
                self._tell()
                continue
            operations = core.operations_waiting
            try:
                core.start_commit(writer)
            except MQError as refused:
                await loop.run_in_executor(self._thread, core.store.abort)
                error = refused
            else:
                synced = time.perf_counter()
                try:
                    await loop.run_in_executor(self._thread, core.store.commit)
                except MQError as refused:
                    error = refused
            ended = time.perf_counter()
            self.observer(Commit(operations, ended - begun, ended - synced, error is not None))
            core.finish_commit(error)
            self._tell()

    def _tell(self) -> None:
        """A commit is over."""
        waiting, self._on_commit = self._on_commit, []
        for commit in waiting:
            if not commit.cancelled():
                commit.set_result(None)
        self._set_timer()

    async def close(self) -> None:
        """Finish what was asked for; later calls are refused."""
        if self._closed:
            return
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
        self._core.cancel_everywhere(OperationCancelled(CLOSED))
        self._core.stop()
        self._commit_if_wanted()
        assert self._task is not None, "to stop is to write something"
        await self._task
        self._thread.shutdown()
        self._core.store.close()

    def _require_open(self) -> None:
        if self._closed:
            raise InvalidHandle(CLOSED)
