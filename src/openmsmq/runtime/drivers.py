"""Who commits, and how callers wait: threads that share the work, or an event loop.

In both cases calls gather while a commit syncs, and one sync then serves all of them. There is no
timer: a batch is whatever came meanwhile.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import NoReturn, TypeVar

from openmsmq.clock import Clock
from openmsmq.engine.commit.future import Future
from openmsmq.engine.core import Core
from openmsmq.engine.storage.tables import Writer
from openmsmq.errors import (
    InvalidHandle,
    MQError,
    OperationCancelled,
    ReceiveTimeout,
    StorageFull,
)
from openmsmq.process import opened_elsewhere
from openmsmq.runtime.answers import GiveUp, abandon, sooner, time_left
from openmsmq.runtime.commit_cost import Commit, InlineGuard
from openmsmq.runtime.commit_thread import CommitThread
from openmsmq.runtime.due_timer import DueTimer
from openmsmq.runtime.failure import FaultLog, is_fatal, storage_failure
from openmsmq.runtime.interrupts import Shield

T = TypeVar("T")
CLOSED = "the queue manager is closed"


def _ignore(commit: Commit) -> None:
    """Observe nothing."""


class ThreadDriver:
    """Threads call the core in turn; the first that finds something to commit commits for all.

    There is no thread of its own: what is due, such as messages that expire, is done by the thread
    that calls or waits.
    """

    def __init__(self, core: Core, clock: Clock) -> None:
        self._core = core
        self._clock = clock
        self._faults = FaultLog()
        self._changed = threading.Condition()
        self._broken: MQError | None = None
        "Why nothing can be committed any more."
        self._followers = 0
        "Threads that wait for something to happen."
        self._closed = False
        "Nothing new is taken."
        self._ended = False
        "It is being closed, or is."
        self._process = os.getpid()
        "A forked child may not use what its parent has opened."

    def call(self, make: Callable[[], T]) -> T:
        """Call the core when no other thread does."""
        self._require_here()
        with Shield(self._wake), self._changed:
            self._require_open()
            self._sweep()
            self._changed.notify_all()  # a call may answer others: to close a handle ends reads
            return make()

    def _tick(self) -> bool:
        """Tell the core what time it is; whether something is due."""
        return self._core.advance(self._clock.now(), self._clock.elapsed())

    def _wake(self) -> None:
        with self._changed:
            self._changed.notify_all()

    def _sweep(self) -> None:
        """Do what is due before a call, so that no caller sees what should be gone.

        Much of it is done in steps, of which each asks for the next one: a call does one of them.
        """
        is_due = self._tick()
        if self._core.wants_commit and (is_due or not self._followers):
            self._commit()
            self._require_open()  # another thread may have closed it meanwhile

    def wait(
        self,
        make: Callable[[], Future[T]],
        timeout: float | None = None,
        give_up: GiveUp[T] | None = None,
        undo: Callable[[T], None] | None = None,
    ) -> T:
        """Call the core and wait for the answer, for a read not longer than `timeout`.

        A caller that is interrupted does not get its answer: `undo` is done with it instead.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        self._require_here()
        with Shield(self._wake) as shield, self._changed:
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
                        shield.give()
                shield.give()
            except BaseException:
                if self._broken is None:
                    abandon(pending, give_up, undo)
                    self._changed.notify_all()
                raise
            if self._core.wants_commit and not self._followers:
                self._commit()  # no thread waits for what is left, so none would commit it
            return pending.result()

    def _follow(self, deadline: float | None) -> None:
        """Wait until something happens or is due."""
        self._followers += 1
        try:
            self._changed.wait(sooner(time_left(deadline), self._core.next_deadline))
        finally:
            self._followers -= 1
        if self._broken is None:
            self._tick()

    def _commit(self) -> None:
        """Commit for everybody; others may call the core while the disk works."""
        try:
            if self._begin():
                self._sync()
        except BaseException as error:
            self._break_off(error)
            if not isinstance(error, Exception):
                raise
        finally:
            self._changed.notify_all()

    def _begin(self) -> bool:
        """Write all that was asked for; False if there is nothing to be synced."""
        core = self._core
        try:
            writer = core.store.begin()
        except StorageFull as full:
            core.refuse(full)
            return False
        try:
            core.start_commit(writer)
        except Exception as raised:
            core.store.abort()
            if is_fatal(raised):
                raise
            self._faults.log(raised)
            core.retreat(raised)
            return False
        return True

    def _sync(self) -> None:
        error: MQError | None = None
        self._changed.release()
        try:
            self._core.store.commit()
        except StorageFull as full:
            error = full
        finally:
            self._changed.acquire()
        self._core.finish_commit(error)

    def _break_off(self, error: BaseException) -> None:
        """Nothing can be committed any more, and perhaps memory is in no order: this is the end."""
        self._broken, self._closed = storage_failure(error), True
        self._core.break_off(self._broken)
        self._core.store.close()

    def close(self) -> None:
        """Finish what was asked for; later calls are refused."""
        if os.getpid() != self._process:
            return
        with Shield(self._wake), self._changed:
            if self._ended:
                return
            self._ended = True
            if self._closed:
                return
            self._closed = True
            self._core.cancel_everywhere(OperationCancelled(CLOSED))
            self._core.stop()
            self._changed.notify_all()
            while self._core.wants_commit or self._core.is_committing:
                if self._core.wants_commit:
                    self._commit()
                else:
                    self._changed.wait()
            self._core.store.close()

    def _require_here(self) -> None:
        if os.getpid() != self._process:
            raise opened_elsewhere(self._process)

    def _require_open(self) -> None:
        if self._broken is not None:
            raise self._broken
        if self._closed:
            raise InvalidHandle(CLOSED)


class LoopDriver:
    """An event loop calls the core; one thread beside it does nothing but begin and commit.

    With `inline`, a commit that is small and expected to be short is made in the loop itself: to
    wake a thread and be woken by it takes about as long as the disk.
    """

    def __init__(self, core: Core, clock: Clock, *, inline: bool = False) -> None:
        self._core = core
        self._clock = clock
        self._inline = InlineGuard() if inline else None
        self._is_here = False
        "The commit under way is made in the loop."
        self._faults = FaultLog()
        self._timer = DueTimer(core, self._on_time)
        self._on_commit: list[asyncio.Future[None]] = []
        "Those who wait for the commit that runs or comes next."
        self._thread = CommitThread("openmsmq-commit")
        self.is_busy = False
        "A commit is wanted or under way."
        self._started = self._synced = 0.0
        "When the commit under way was begun, and handed to the disk."
        self._disk_time = 0.0
        "Seconds that the disk took for the last one."
        self._operations = 0
        "What it does."
        self._write_time = 0.0
        "Seconds that it took to write the last one."
        self.commits, self.held_time = 0, 0.0
        "Commits that are over, and the seconds for which the last one held up the event loop."
        self._idle: asyncio.Future[None] | None = None
        "Who waits for the last commit."
        self.is_closed = False
        "No more calls are taken."
        self._broken: MQError | None = None
        self._process = os.getpid()
        "A forked child may not use what its parent has opened."
        self.observer: Callable[[Commit], None] = _ignore
        "Called after every commit; the event loop waits meanwhile."
        self.on_broken: Callable[[MQError], None] = lambda error: None
        "Called when nothing can be committed any more."

    def call(self, make: Callable[[], T]) -> T:
        """Call the core; what that makes it commit is committed, without waiting for it."""
        self._enter()
        result = make()
        self._go_on()
        return result

    def _enter(self) -> bool:
        """Tell the core what time it is, before it is called; whether something is due."""
        if self.is_closed or os.getpid() != self._process:
            self._refuse()
        return self._core.advance(self._clock.now(), self._clock.elapsed())

    def _go_on(self, passed: float = 0.0) -> None:
        """The core was called: see to what will be due, and commit what it wants committed.

        `passed` are the seconds since it learned what time it is.
        """
        core = self._core
        if core.is_rescheduled and not self.is_closed:
            self._timer.set(passed)
        if core.operations.waiting and not self.is_busy:
            self._start()

    async def wait(
        self,
        make: Callable[[], Future[T]],
        timeout: float | None = None,
        give_up: GiveUp[T] | None = None,
        undo: Callable[[T], None] | None = None,
    ) -> T:
        """Call the core and wait for the answer, for a read not longer than `timeout`.

        A caller that is cancelled does not get its answer: `undo` is done with it instead.
        """
        if self._enter():
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
                abandon(pending, give_up, undo)
                self._go_on()
                raise
        return pending.result()

    def begin(self, make: Callable[[], Future[T]], answered: Callable[[Future[T]], None]) -> None:
        """Call the core; `answered` gets the answer, at once or later."""
        self._enter()
        pending = make()
        if pending.done:
            answered(pending)
        else:
            pending.on_done = partial(answered, pending)
        self._go_on()

    async def _sweep(self) -> None:
        """Do what is due before a call, so that no caller sees what should be gone."""
        self._go_on()
        swept: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._on_commit.append(swept)
        await swept
        if self.is_closed:
            self._refuse()

    def _on_time(self) -> None:
        self._core.advance(self._clock.now(), self._clock.elapsed())
        self._go_on()

    def _start(self) -> None:
        """Begin a commit; what is asked for until it has begun is in."""
        self.is_busy = True
        if self._inline is not None and self._inline.is_quick:
            # In its next turn: what other connections have sent meanwhile is in.
            asyncio.get_running_loop().call_soon(self._commit_here)
        else:
            self._do(self._begin, self._write)

    def _commit_here(self) -> None:
        """Commit in the loop, unless too much has come meanwhile."""
        assert self._inline is not None, "nothing is committed in the loop"
        if self._broken is None:
            self._is_here = self._inline.allows(self._core)
            self._do(self._begin, self._write)
            self._is_here = False

    def _do(self, work: Callable[[], T], then: Callable[[T], None]) -> None:
        """Have the thread do something, and go on with it; whatever raises is the end."""

        def go_on(result: T) -> None:
            try:
                then(result)
            except Exception as error:
                self._break_off(error)

        if not self._is_here:
            self._thread.do(work, go_on, self._break_off)
            return
        try:
            result = work()
        except BaseException as error:
            self._break_off(error)
            if not isinstance(error, Exception):
                raise
        else:
            go_on(result)

    def _begin(self) -> Writer | StorageFull:
        """On the thread: begin a transaction."""
        try:
            return self._core.store.begin()
        except StorageFull as full:
            return full

    def _write(self, begun: Writer | StorageFull) -> None:
        """Write all that was asked for, and hand it to the disk."""
        core = self._core
        if isinstance(begun, StorageFull):
            self.observer(Commit(core.operations_waiting, 0, 0, failed=True))
            core.refuse(begun)
            self._tell()
            self._go_on_with(None)
            return
        self._operations = core.operations_waiting
        self._started = time.perf_counter()
        try:
            core.start_commit(begun)
        except Exception as raised:
            error = raised  # the other name ends here
            self._do(core.store.abort, lambda _: self._retreat(error))
            return
        self._synced = time.perf_counter()
        self._write_time = self._synced - self._started
        self._do(self._commit_and_begin, self._finish)

    def _commit_and_begin(self) -> tuple[StorageFull | None, Writer | StorageFull | None]:
        """On the thread: commit, and begin what follows at once if there is something to do.

        To be sent here a second time would take longer than a quick disk.
        """
        start = time.perf_counter()
        try:
            self._core.store.commit()
        except StorageFull as full:
            return full, None
        finally:
            self._disk_time = time.perf_counter() - start
        core, guard = self._core, self._inline
        goes_on_here = self._is_here or (guard is not None and guard.allows(core))
        return None, self._begin() if core.operations_waiting and not goes_on_here else None

    def _retreat(self, error: Exception) -> None:
        """What was written is forgotten: go on with those whose fault it is not."""
        self.observer(Commit(self._operations, time.perf_counter() - self._started, 0, failed=True))
        if is_fatal(error):
            raise error
        self._faults.log(error)
        self._core.retreat(error)
        self._tell()
        self._go_on_with(None)

    def _finish(self, ended: tuple[StorageFull | None, Writer | StorageFull | None]) -> None:
        """A commit is over: tell everybody, and go on with the one that follows."""
        error, following = ended
        now = time.perf_counter()
        took, synced = now - self._started, now - self._synced
        if self._inline is not None:
            self._inline.took(self._write_time + self._disk_time)
        self.observer(Commit(self._operations, took, synced, error is not None))
        self._core.finish_commit(error)
        self.held_time = self._write_time + time.perf_counter() - now
        if self._is_here:
            self.held_time += self._disk_time
        self._tell()
        self._go_on_with(following)

    def _go_on_with(self, following: Writer | StorageFull | None) -> None:
        if following is None:
            self.is_busy = self._is_here = False
        passed = 0.0
        if self._core.is_rescheduled:  # the disk took its time, which the core does not know yet
            passed = self._clock.elapsed() - self._core.timeline.elapsed
        self._go_on(passed)
        if following is not None:
            self._write(following)
        elif self._idle is not None and not self.is_busy:
            self._idle.set_result(None)

    def _tell(self) -> None:
        """A commit is over."""
        self.commits += 1
        if not self._on_commit:
            return
        waiting, self._on_commit = self._on_commit, []
        for commit in waiting:
            if not commit.done():
                commit.set_result(None)

    def _break_off(self, error: BaseException) -> None:
        """Nothing can be committed any more, and perhaps memory is in no order: this is the end."""
        if self._broken is not None:
            return
        self._broken, self.is_closed = storage_failure(error), True
        self._timer.cancel()
        self.observer(Commit(self._operations, 0, 0, failed=True))
        self._core.break_off(self._broken)
        self._tell()
        self._idle = self._idle or asyncio.get_running_loop().create_future()
        if self._is_here:  # a transaction belongs to the thread that has begun it
            with suppress(Exception):
                self._core.store.close()
            self._end()
        else:
            self._thread.do(self._core.store.close, lambda _: self._end(), lambda _: self._end())
        self.on_broken(self._broken)

    def _end(self) -> None:
        self.is_busy = False
        if self._idle is not None and not self._idle.done():
            self._idle.set_result(None)

    async def close(self) -> None:
        """Finish what was asked for; later calls are refused."""
        if os.getpid() != self._process or (self.is_closed and self._broken is None):
            return
        if not self.is_closed:
            self.is_closed = True
            self._timer.cancel()
            self._core.cancel_everywhere(OperationCancelled(CLOSED))
            self._core.stop()
            self._go_on()
            assert self.is_busy, "to stop is to write something"
            self._idle = asyncio.get_running_loop().create_future()
        assert self._idle is not None, "what has broken ends"
        await self._idle
        self._thread.close()
        if self._broken is None:  # else the thread has, to which a transaction belongs
            self._core.store.close()

    def _refuse(self) -> NoReturn:
        if os.getpid() != self._process:
            raise opened_elsewhere(self._process)
        raise self._broken or InvalidHandle(CLOSED)
