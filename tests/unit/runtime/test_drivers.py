"""Threads and event loops that drive a core: commits they share, waits, and interruptions."""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
import signal
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from concurrent.futures import Future as ThreadFuture
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any, TypeVar, cast
from uuid import UUID

import pytest
from tests.unit.engine.world import NOW, OWNER, commit_all, letter, message, packets, properties
from tests.unit.service.stores import PATIENCE, SlowStore, until

from openmsmq.engine.commit.batch import Batch, NewMessage
from openmsmq.engine.commit.future import Future
from openmsmq.engine.commit.number_reservation import MESSAGE_ID_BLOCK
from openmsmq.engine.core import Core
from openmsmq.engine.messages.enqueue import Enqueuer
from openmsmq.engine.messages.expiry_sweep import STEP
from openmsmq.engine.messages.receive import Receiver
from openmsmq.engine.queues.entry import Entry
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.engine.storage.tables import Table
from openmsmq.errors import (
    GenericError,
    InvalidHandle,
    MQError,
    OperationCancelled,
    ReceiveTimeout,
    StorageError,
    StorageFailed,
    StorageFull,
    StoreDamaged,
)
from openmsmq.packet.view import PacketView
from openmsmq.runtime import commit_cost, drivers
from openmsmq.runtime.commit_cost import Commit, InlineGuard
from openmsmq.runtime.drivers import LoopDriver, ThreadDriver
from openmsmq.runtime.due_timer import DueTimer
from openmsmq.runtime.limits import FAULTS_LOGGED

T = TypeVar("T")


SPEED = 40
"Seconds of `QuickClock` in one of the world."


class QuickClock:
    """Runs quickly, so that no one waits long for a message to expire."""

    def __init__(self) -> None:
        self._start = time.monotonic()

    def now(self) -> float:
        return NOW + self.elapsed()

    def elapsed(self) -> float:
        return (time.monotonic() - self._start) * SPEED

    def new_guid(self) -> UUID:
        raise AssertionError("nothing here has an identifier")


class Setting:
    """A core with one queue on a store that can be held up."""

    def __init__(self) -> None:
        self.store = SlowStore()
        self.clock = QuickClock()
        now, elapsed = self.clock.now(), self.clock.elapsed()
        self.core = Core(self.store, new_identity=UUID(int=7), now=now, elapsed=elapsed)
        self.enqueuer = Enqueuer(self.core)
        self.receiver = Receiver(self.core)
        pending = self.core.queue_lifecycle.create(properties())
        commit_all(self.core)
        self.queue: ManagedQueue = pending.result()
        self.store.commits = 0

    def post(self, *letters: NewMessage) -> Future[None]:
        return self.enqueuer.send(self.queue, list(letters))

    def receive_dead(self) -> Future[list[Entry]]:
        return self.receiver.receive(self.core.queues.dead_letter, 1, OWNER, wait=True)

    def send(self, *sent: str, express: bool = False) -> Future[None]:
        outgoing = [message(one, express=express) for one in sent]
        return self.enqueuer.send(self.queue, outgoing)

    def receive(self, *, wait: bool = True) -> Future[list[Entry]]:
        return self.receiver.receive(self.queue, 1, OWNER, wait=wait)

    def give_up(self, pending: Future[list[Entry]], error: MQError) -> bool:
        return self.core.readers.cancel(self.queue, pending, error)

    def undo(self, entries: list[Entry]) -> None:
        self.receiver.put_back(self.queue, entries)

    @property
    def readable(self) -> list[str]:
        found = self.receiver.peek(self.queue, 100, OWNER, wait=False)
        return [] if found.error else packets(found.result())


@pytest.fixture
def setting() -> Setting:
    return Setting()


class Threads:
    """Calls made by threads of their own."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting
        self.driver = ThreadDriver(setting.core, setting.clock)
        self._pool = ThreadPoolExecutor(32)

    def start(self, call: Callable[[], T]) -> ThreadFuture[T]:
        return self._pool.submit(call)

    def send(self, *sent: str) -> None:
        self.driver.wait(lambda: self.setting.send(*sent))

    def receive(self, timeout: float | None = PATIENCE) -> list[str]:
        setting = self.setting
        found = self.driver.wait(setting.receive, timeout, setting.give_up, setting.undo)
        return packets(found)

    def receive_dead(self, timeout: float) -> list[Entry]:
        setting = self.setting
        dead = setting.core.queues.dead_letter

        def give_up(pending: Future[list[Entry]], error: MQError) -> bool:
            return setting.core.readers.cancel(dead, pending, error)

        return self.driver.wait(setting.receive_dead, timeout, give_up)

    def close(self) -> None:
        self.setting.store.gate.set()
        self.driver.close()
        self._pool.shutdown()


@pytest.fixture
def threads(setting: Setting) -> Iterator[Threads]:
    made = Threads(setting)
    yield made
    made.close()


# Threads


def test_a_call_is_answered_after_its_commit(threads: Threads, setting: Setting) -> None:
    threads.send("a")
    assert setting.store.commits == 1
    assert threads.receive() == ["a"]
    assert setting.store.commits == 2
    assert threads.driver.call(lambda: setting.readable) == []


def test_calls_gather_while_a_commit_is_under_way(threads: Threads, setting: Setting) -> None:
    """One commit then serves all of them."""
    setting.store.gate.clear()
    first = threads.start(lambda: threads.send("0"))
    until(lambda: setting.core.is_committing)
    others = [threads.start(lambda n=n: threads.send(str(n))) for n in range(1, 21)]  # type: ignore[misc]
    until(lambda: setting.queue.reserved == len("0") + 9 * 1 + 11 * 2)
    setting.store.gate.set()
    for sent in (first, *others):
        sent.result(PATIENCE)
    assert setting.store.commits == 2
    assert sorted(map(int, setting.readable)) == list(range(21))


def test_a_reader_gets_what_another_thread_sends(threads: Threads, setting: Setting) -> None:
    """DMPR-202, DMPR-205."""
    waiting = threads.start(lambda: threads.receive(None))
    until(lambda: setting.queue.waiters)
    threads.send("a")
    assert waiting.result(PATIENCE) == ["a"]
    assert setting.readable == []


@pytest.mark.parametrize("timeout", [1e12, 1e300, math.inf])
def test_a_reader_may_wait_longer_than_a_computer_lives(
    threads: Threads, setting: Setting, timeout: float
) -> None:
    waiting = threads.start(lambda: threads.receive(timeout))
    until(lambda: setting.queue.waiters)
    threads.send("a")
    assert waiting.result(PATIENCE) == ["a"]


def test_a_reader_waits_as_long_as_it_said(threads: Threads, setting: Setting) -> None:
    """DMPR-264, DMPR-265."""
    start = time.monotonic()
    with pytest.raises(ReceiveTimeout):
        threads.receive(0.03)
    assert 0.03 <= time.monotonic() - start < 5
    assert not setting.queue.waiters
    threads.send("a")
    assert setting.readable == ["a"]


def test_a_message_found_in_time_is_given_though_its_removal_takes_longer(
    threads: Threads, setting: Setting
) -> None:
    threads.send("a", "b")
    setting.store.gate.clear()
    other = threads.start(lambda: threads.send("c"))
    until(lambda: setting.core.is_committing)
    late = threads.start(lambda: threads.receive(0.01))
    until(lambda: len(setting.queue.holds) == 1)
    time.sleep(0.03)
    assert not late.done()
    setting.store.gate.set()
    assert late.result(PATIENCE) == ["a"]
    other.result(PATIENCE)


@pytest.mark.parametrize("where", ["begin", "write", "commit"])
def test_a_store_that_refuses_is_reported_to_all_and_used_again(
    threads: Threads, setting: Setting, where: str
) -> None:
    setting.store.gate.clear()
    first = threads.start(lambda: threads.send("0"))
    until(lambda: setting.core.is_committing)
    others = [threads.start(lambda: threads.send("x")) for _ in range(3)]
    until(lambda: setting.queue.reserved == 4)
    setting.store.refuse = {where: StorageFull("disk")}
    setting.store.gate.set()
    first.result(PATIENCE)
    for sent in others:
        with pytest.raises(StorageFull):
            sent.result(PATIENCE)
    threads.send("again")
    assert setting.readable[-1] == "again"


class Mistake(Exception):
    """What an operation raises that has a mistake."""


def submit_mistake(setting: Setting) -> Future[None]:
    """Ask for something that cannot be written."""
    pending: Future[None] = Future()

    def apply(batch: Batch) -> None:
        raise Mistake

    setting.core.submit(apply, lambda: pending.succeed(None), pending.fail)
    return pending


def test_an_operation_that_raises_fails_alone(
    threads: Threads, setting: Setting, caplog: pytest.LogCaptureFixture
) -> None:
    setting.store.gate.clear()
    first = threads.start(lambda: threads.send("0"))
    until(lambda: setting.core.is_committing)
    mistaken = threads.start(lambda: threads.driver.wait(lambda: submit_mistake(setting)))
    until(lambda: setting.core.operations_waiting == 1)
    others = [threads.start(lambda: threads.send("x")) for _ in range(3)]
    until(lambda: setting.queue.reserved == 4)
    setting.store.gate.set()
    for sent in (first, *others):
        sent.result(PATIENCE)
    with pytest.raises(GenericError, match="Mistake"):
        mistaken.result(PATIENCE)
    (record,) = caplog.records
    assert record.exc_info is not None
    assert record.exc_info[0] is Mistake
    assert setting.readable == ["0", "x", "x", "x"]
    assert setting.store.commits == 2


def test_mistakes_do_not_fill_the_log(
    threads: Threads, setting: Setting, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(FAULTS_LOGGED + 3):
        with pytest.raises(GenericError):
            threads.driver.wait(lambda: submit_mistake(setting))
    assert len(caplog.records) == FAULTS_LOGGED
    counted = setting.core.statistics.counts["operations that failed alone"]
    assert counted == FAULTS_LOGGED + 3


def test_on_a_full_disk_receives_go_on(threads: Threads, setting: Setting) -> None:
    threads.send("a")
    setting.store.gate.clear()
    first = threads.start(lambda: threads.send("b"))
    until(lambda: setting.core.is_committing)
    refused = threads.start(lambda: threads.send("c"))
    received = threads.start(threads.receive)
    until(lambda: setting.queue.holds and setting.queue.reserved == 2)
    setting.store.refuse = {"write": StorageFull("disk")}
    setting.store.gate.set()
    first.result(PATIENCE)
    assert received.result(PATIENCE) == ["a"]
    with pytest.raises(StorageFull):
        refused.result(PATIENCE)
    assert setting.readable == ["b"]


def test_what_no_one_waits_for_is_committed_too(threads: Threads, setting: Setting) -> None:
    """Message identifiers are reserved though only express messages are sent (DMPR-053)."""
    setting.core.take_message_ids(MESSAGE_ID_BLOCK)
    before = setting.store.committed
    threads.driver.wait(lambda: setting.send("a", express=True))
    assert setting.store.committed.tables[Table.META] != before.tables[Table.META]
    assert not setting.core.wants_commit


def test_closing_finishes_what_was_asked_for(threads: Threads, setting: Setting) -> None:
    setting.store.gate.clear()
    sends = [threads.start(lambda: threads.send("a"))]
    until(lambda: setting.core.is_committing)
    sends += [threads.start(lambda: threads.send("b")) for _ in range(2)]
    until(lambda: setting.queue.reserved == 3)
    closing = threads.start(threads.driver.close)
    time.sleep(0.01)
    assert not closing.done()
    setting.store.gate.set()
    closing.result(PATIENCE)
    for sent in sends:
        sent.result(PATIENCE)
    assert len(setting.store.committed.tables[Table.INDEX]) == 3
    assert setting.store.closed == 1


def test_closing_commits_what_no_one_waits_for(threads: Threads, setting: Setting) -> None:
    threads.driver.call(lambda: setting.send("a"))
    threads.driver.close()
    assert len(setting.store.committed.tables[Table.INDEX]) == 1


def test_closing_ends_the_waits_of_others(threads: Threads, setting: Setting) -> None:
    waiting = [threads.start(lambda: threads.receive(None)) for _ in range(3)]
    until(lambda: len(setting.queue.waiters) == 3)
    threads.driver.close()
    for pending in waiting:
        with pytest.raises(OperationCancelled):
            pending.result(PATIENCE)


def test_after_closing_every_call_is_refused(threads: Threads, setting: Setting) -> None:
    threads.driver.close()
    threads.driver.close()
    with pytest.raises(InvalidHandle) as info:
        threads.send("a")
    assert info.value.hresult == 0xC00E0007
    with pytest.raises(InvalidHandle):
        threads.driver.call(lambda: None)


needs_main_thread = pytest.mark.skipif(
    threading.current_thread() is not threading.main_thread(),
    reason="only the main thread is interrupted",
)


def interrupt() -> None:
    """What Ctrl-C does to the main thread."""
    ident = threading.main_thread().ident
    assert ident is not None
    signal.pthread_kill(ident, signal.SIGINT)


@needs_main_thread
def test_a_reader_that_is_interrupted_while_it_waits_takes_nothing(
    threads: Threads, setting: Setting
) -> None:
    def when_it_waits() -> None:
        until(lambda: setting.queue.waiters)
        interrupt()

    interrupting = threads.start(when_it_waits)
    with pytest.raises(KeyboardInterrupt):
        threads.receive(None)
    interrupting.result(PATIENCE)
    assert not setting.queue.waiters
    threads.send("a")
    assert setting.readable == ["a"]


@needs_main_thread
def test_a_reader_that_is_interrupted_when_it_is_about_to_wait_does_not_wait(
    threads: Threads, setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between its last look and its wait no one can wake it but by the lock that it holds."""
    wait = threads.driver._changed.wait
    woken = []

    def interrupted(timeout: float | None = None) -> bool:
        signal.raise_signal(signal.SIGINT)
        woken.append(wait(timeout))
        return woken[-1]

    monkeypatch.setattr(threads.driver._changed, "wait", interrupted)
    with pytest.raises(KeyboardInterrupt):
        threads.receive(PATIENCE)
    assert woken == [True]  # and not that its time was over
    assert not setting.queue.waiters


@needs_main_thread
def test_a_reader_that_is_interrupted_while_its_message_is_removed_loses_nothing(
    threads: Threads, setting: Setting
) -> None:
    threads.send("a", "b")
    setting.store.gate.clear()
    other = threads.start(lambda: threads.send("c"))
    until(lambda: setting.core.is_committing)

    def when_it_waits() -> None:
        until(lambda: setting.queue.holds)
        interrupt()

    interrupting = threads.start(when_it_waits)
    with pytest.raises(KeyboardInterrupt):
        threads.receive(None)
    interrupting.result(PATIENCE)
    setting.store.gate.set()
    other.result(PATIENCE)
    threads.send("d")
    assert setting.readable == list("abcd")


@needs_main_thread
def test_a_sender_that_is_interrupted_has_sent(threads: Threads, setting: Setting) -> None:
    """It cannot be called back; no one else is disturbed."""
    setting.store.gate.clear()
    other = threads.start(lambda: threads.send("a"))
    until(lambda: setting.core.is_committing)

    def when_it_waits() -> None:
        until(lambda: setting.queue.reserved == 2)
        interrupt()

    interrupting = threads.start(when_it_waits)
    with pytest.raises(KeyboardInterrupt):
        threads.send("b")
    interrupting.result(PATIENCE)
    setting.store.gate.set()
    other.result(PATIENCE)
    threads.send("c")
    assert setting.readable == list("abc")


MISTAKES = [StorageFailed("EIO"), StoreDamaged("page 7"), Mistake(), KeyboardInterrupt()]
"What ends a manager that meets it in a commit."


@pytest.mark.parametrize("error", MISTAKES, ids=repr)
@pytest.mark.parametrize("where", ["begin", "commit"])
def test_a_store_that_breaks_ends_the_manager_and_hangs_no_one(
    threads: Threads, setting: Setting, where: str, error: BaseException
) -> None:
    """No one can say what is on disk, so that the directory must be opened again."""
    setting.store.gate.clear()
    first = threads.start(lambda: threads.send("0"))
    until(lambda: setting.core.is_committing)
    gathering = [threads.start(lambda: threads.send("a")) for _ in range(3)]
    waiting = threads.start(lambda: threads.receive_dead(PATIENCE))
    dead = setting.core.queues.dead_letter
    until(lambda: setting.queue.reserved == 4 and dead.waiters)
    setting.store.refuse = {where: error}
    setting.store.gate.set()
    first.result(PATIENCE)
    reported = []
    asked: list[ThreadFuture[Any]] = [*gathering, waiting]
    for one in asked:
        with pytest.raises((StorageError, type(error))) as info:
            one.result(PATIENCE)
        reported.append(info.value)
    interrupted = isinstance(error, KeyboardInterrupt)
    assert sum(not isinstance(found, StorageError) for found in reported) == interrupted
    with pytest.raises(StorageError):
        threads.send("c")
    with pytest.raises(StorageError):
        threads.driver.call(lambda: None)
    assert setting.store.closed == 1
    threads.driver.close()


def test_so_does_a_write_that_fails(threads: Threads, setting: Setting) -> None:
    setting.store.refuse = {"write": StorageFailed("EIO")}
    with pytest.raises(StorageFailed):
        threads.send("a")
    with pytest.raises(StorageFailed):
        threads.send("b")
    assert setting.store.closed == 1


def test_so_does_an_answer_that_fails(threads: Threads, setting: Setting) -> None:
    """What the commit did is on disk; memory is in no order."""

    def answered() -> None:
        raise Mistake

    def submit() -> Future[None]:
        setting.core.submit(lambda batch: None, answered, lambda error: None)
        return setting.send("a")

    with pytest.raises(StorageFailed, match="Mistake"):
        threads.driver.wait(submit)
    assert setting.store.closed == 1


@needs_main_thread
def test_a_commit_is_not_interrupted(threads: Threads, setting: Setting) -> None:
    """Ctrl-C waits until it is over, and nothing of it is lost or left half done."""
    setting.store.gate.clear()

    def when_it_commits() -> None:
        until(lambda: setting.core.is_committing)
        interrupt()
        setting.store.gate.set()

    interrupting = threads.start(when_it_commits)
    with pytest.raises(KeyboardInterrupt):
        threads.send("a")
    interrupting.result(PATIENCE)
    threads.send("b")
    assert setting.readable == ["a", "b"]


@needs_main_thread
def test_a_message_whose_reader_is_interrupted_in_its_commit_is_put_back(
    threads: Threads, setting: Setting
) -> None:
    threads.send("a")
    setting.store.gate.clear()

    def when_it_commits() -> None:
        until(lambda: setting.core.is_committing)
        interrupt()
        setting.store.gate.set()

    interrupting = threads.start(when_it_commits)
    with pytest.raises(KeyboardInterrupt):
        threads.receive()
    interrupting.result(PATIENCE)
    assert threads.receive() == ["a"]


@needs_main_thread
def test_a_handler_that_raises_nothing_interrupts_nothing(
    threads: Threads, setting: Setting
) -> None:
    seen: list[int] = []

    def handler(number: int, frame: object) -> None:
        seen.append(number)
        threads.start(lambda: threads.send("a"))

    def when_it_waits() -> None:
        until(lambda: setting.queue.waiters)
        interrupt()

    before = signal.signal(signal.SIGINT, handler)
    try:
        threads.start(when_it_waits)
        assert threads.receive(None) == ["a"]
    finally:
        signal.signal(signal.SIGINT, before)
    assert seen == [signal.SIGINT]


def test_a_forked_child_is_refused_and_closes_nothing(threads: Threads, setting: Setting) -> None:
    """Whatever lock its parent held."""
    with threads.driver._changed:
        child = os.fork()
        if not child:
            outcome = 1
            with contextlib.suppress(BaseException):
                threads.driver.close()
                with pytest.raises(InvalidHandle, match="forked"):
                    threads.send("a")
                with pytest.raises(InvalidHandle, match="forked"):
                    threads.driver.call(lambda: None)
                outcome = 10 if setting.store.closed else 0
            os._exit(outcome)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    threads.send("b")
    assert setting.readable == ["b"]


# Threads and time


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let drivers wait as the clock of the setting runs."""
    slow = cast(property, Core.next_deadline).fget
    assert slow is not None

    def scaled(core: Core) -> float | None:
        left: float | None = slow(core)
        return None if left is None else left / SPEED

    monkeypatch.setattr(Core, "next_deadline", property(scaled))


@pytest.fixture
def timeless(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nothing happen by itself: what is due is done by the caller."""
    monkeypatch.setattr(Core, "next_deadline", None)


def dying(setting: Setting, *, seconds: int = 2, express: bool = False) -> NewMessage:
    """A message that becomes a dead letter soon."""
    expires = int(setting.clock.now()) + seconds
    return letter("a", dead_letter=True, expires=expires, express=express)


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("express", [False, True])
def test_a_thread_that_waits_for_dead_letters_gets_what_expires_meanwhile(
    threads: Threads, setting: Setting, express: bool
) -> None:
    """Though no one calls (DMPR-193, DMPR-310)."""
    sent = dying(setting, express=express)
    threads.driver.wait(lambda: setting.post(sent))
    start = time.monotonic()
    (entry,) = threads.receive_dead(PATIENCE)
    assert entry.packet == sent.packet
    assert time.monotonic() - start < 5


@pytest.mark.usefixtures("quick")
def test_a_thread_that_waits_already_learns_of_what_is_sent_later(
    threads: Threads, setting: Setting
) -> None:
    waiting = threads.start(lambda: threads.receive_dead(PATIENCE))
    until(lambda: setting.core.queues.dead_letter.waiters)
    sent = dying(setting)
    threads.driver.wait(lambda: setting.post(sent))
    assert [entry.packet for entry in waiting.result(PATIENCE)] == [sent.packet]


@pytest.mark.usefixtures("quick")
def test_its_own_time_may_be_over_before(threads: Threads, setting: Setting) -> None:
    threads.driver.wait(lambda: setting.post(dying(setting, seconds=10**6)))
    start = time.monotonic()
    with pytest.raises(ReceiveTimeout):
        threads.receive_dead(0.02)
    assert 0.02 <= time.monotonic() - start < 5


def test_no_one_sees_what_should_be_gone(threads: Threads, setting: Setting) -> None:
    """What is due is done before a call."""
    threads.driver.wait(lambda: setting.post(dying(setting, seconds=-1)))
    assert threads.driver.call(lambda: setting.queue.messages) == 0
    threads.driver.wait(lambda: setting.post(dying(setting, seconds=-1)))
    dead = setting.core.queues.dead_letter
    pending: Future[int] = Future()

    def count() -> Future[int]:
        pending.succeed(dead.messages)
        return pending

    assert threads.driver.wait(count) == 2


def test_what_is_done_in_steps_goes_on_with_the_next_call(
    threads: Threads, setting: Setting
) -> None:
    """The sweep of messages that expire looks at so many rows in a commit."""
    sent = [dying(setting, seconds=-1) for _ in range(2 * STEP + 1)]
    threads.driver.wait(lambda: setting.post(*sent))
    counts = [threads.driver.call(lambda: setting.queue.messages) for _ in range(4)]
    assert counts[-1] == 0
    assert setting.core.queues.dead_letter.messages == len(sent)


@pytest.mark.usefixtures("quick")
def test_a_sweep_that_fails_is_tried_again(threads: Threads, setting: Setting) -> None:
    threads.driver.wait(lambda: setting.post(dying(setting)))
    setting.store.refuse = {"commit": StorageFull("disk")}
    (entry,) = threads.receive_dead(PATIENCE)
    assert PacketView(entry.packet).body == b"a"


@pytest.mark.usefixtures("timeless")
def test_a_call_that_meets_the_end_of_the_manager_is_refused(
    threads: Threads, setting: Setting
) -> None:
    """It does not wait for ever."""
    threads.driver.wait(lambda: setting.post(dying(setting, seconds=-1)))
    setting.store.gate.clear()
    late = threads.start(lambda: threads.receive(None))
    until(lambda: setting.core.is_committing)
    closing = threads.start(threads.driver.close)
    until(lambda: setting.core.is_stopping)
    setting.store.gate.set()
    closing.result(PATIENCE)
    with pytest.raises(InvalidHandle):
        late.result(PATIENCE)


# An event loop


class Loop:
    """Calls made by tasks of one event loop."""

    def __init__(self, setting: Setting, *, inline: bool = False) -> None:
        self.setting = setting
        self.driver = LoopDriver(setting.core, setting.clock, inline=inline)

    async def send(self, *sent: str) -> None:
        await self.driver.wait(lambda: self.setting.send(*sent))

    async def receive(self, timeout: float | None = PATIENCE, *, wait: bool = True) -> list[str]:
        setting = self.setting
        found = await self.driver.wait(
            lambda: setting.receive(wait=wait), timeout, setting.give_up, setting.undo
        )
        return packets(found)

    async def until(self, condition: Callable[[], object]) -> None:
        """Wait until something has happened that no task tells of."""
        while not condition():  # noqa: ASYNC110  # the core knows no loop
            await asyncio.sleep(0.001)

    async def committing(self) -> None:
        """Wait until a commit is under way."""
        await self.until(lambda: self.setting.core.is_committing)

    async def waiting(self, count: int = 1) -> None:
        """Wait until this many readers wait."""
        await self.until(lambda: len(self.setting.queue.waiters) >= count)


def run(
    setting: Setting, test: Callable[[Loop], Coroutine[Any, Any, None]], *, inline: bool = False
) -> None:
    """Run a test in an event loop of its own, which may make small commits itself."""

    async def main() -> None:
        loop = Loop(setting, inline=inline)
        try:
            await asyncio.wait_for(test(loop), PATIENCE)
        finally:
            setting.store.gate.set()
            await loop.driver.close()

    asyncio.run(main())


def test_a_task_is_answered_after_its_commit(setting: Setting) -> None:
    async def test(loop: Loop) -> None:
        await loop.send("a")
        assert setting.store.commits == 1
        assert await loop.receive() == ["a"]
        assert loop.driver.call(lambda: setting.readable) == []

    run(setting, test)


def test_what_is_due_at_once_is_no_trouble_in_any_loop(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A timer of uvloop that is due within half a millisecond does not know when."""
    uvloop = pytest.importorskip("uvloop")
    monkeypatch.setattr(type(setting.core), "next_deadline", property(lambda core: 0.0))

    async def test() -> None:
        loop = Loop(setting)
        loop.driver.call(lambda: None)
        assert loop.driver.call(lambda: setting.readable) == []
        monkeypatch.undo()
        await loop.driver.close()

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(test())


def test_an_answer_that_is_there_at_once_needs_no_commit(setting: Setting) -> None:
    async def test(loop: Loop) -> None:
        await loop.driver.wait(lambda: setting.send("a", express=True))
        assert await loop.receive() == ["a"]
        assert setting.store.commits == 0

    run(setting, test)


def test_tasks_gather_while_a_commit_is_under_way(setting: Setting) -> None:
    async def test(loop: Loop) -> None:
        setting.store.gate.clear()
        first = asyncio.create_task(loop.send("first"))
        await loop.committing()
        others = [asyncio.create_task(loop.send(str(n))) for n in range(20)]
        await asyncio.sleep(0)
        setting.store.gate.set()
        await asyncio.gather(first, *others)
        assert setting.store.commits == 2
        assert setting.readable == ["first", *map(str, range(20))]

    run(setting, test)


def test_what_is_due_does_not_count_from_the_end_of_a_commit(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk may be slow, and the core learns what time it is with the next call."""
    given: list[float] = []
    set_timer = DueTimer.set

    def noted(self: DueTimer, passed: float = 0.0) -> None:
        given.append(passed)
        set_timer(self, passed)

    monkeypatch.setattr(DueTimer, "set", noted)

    async def test(loop: Loop) -> None:
        setting.store.gate.clear()
        dies = dying(setting, seconds=1000)
        sent = asyncio.create_task(loop.driver.wait(lambda: setting.post(dies)))
        await loop.committing()
        given.clear()
        later = setting.clock.now() + 2
        await loop.until(lambda: setting.clock.now() > later)
        setting.store.gate.set()
        await sent

    run(setting, test)
    assert max(given) >= 2


def test_a_task_gets_what_another_sends(setting: Setting) -> None:
    async def test(loop: Loop) -> None:
        waiting = [asyncio.create_task(loop.receive(timeout)) for timeout in (None, 1e12, math.inf)]
        await loop.waiting(3)
        await loop.send("a", "b", "c")
        assert await asyncio.gather(*waiting) == [["a"], ["b"], ["c"]]

    run(setting, test)


def test_a_task_waits_as_long_as_it_said(setting: Setting) -> None:
    """DMPR-264, DMPR-265."""

    async def test(loop: Loop) -> None:
        start = time.monotonic()
        with pytest.raises(ReceiveTimeout):
            await loop.receive(0.03)
        assert 0.02 <= time.monotonic() - start < 5
        assert not setting.queue.waiters

    run(setting, test)


def test_a_task_gets_what_was_found_in_time_though_the_removal_takes_longer(
    setting: Setting,
) -> None:
    async def test(loop: Loop) -> None:
        await loop.send("a")
        setting.store.gate.clear()
        late = asyncio.create_task(loop.receive(0.01))
        await asyncio.sleep(0.03)
        assert not late.done()
        setting.store.gate.set()
        assert await late == ["a"]

    run(setting, test)


def test_a_call_without_a_way_back_waits_for_its_answer(setting: Setting) -> None:
    async def test(loop: Loop) -> None:
        setting.store.gate.clear()
        late = asyncio.create_task(loop.driver.wait(lambda: setting.send("a"), 0.01))
        await asyncio.sleep(0.03)
        setting.store.gate.set()
        await late
        assert setting.readable == ["a"]

    run(setting, test)


async def cancelled(task: Awaitable[object]) -> bool:
    try:
        await task
    except asyncio.CancelledError:
        return True
    return False


def test_a_task_cancelled_while_it_waits_takes_nothing(setting: Setting) -> None:
    async def test(loop: Loop) -> None:
        for timeout in (None, PATIENCE):
            waiting = asyncio.create_task(loop.receive(timeout))
            await loop.waiting()
            waiting.cancel()
            assert await cancelled(waiting)
            assert not setting.queue.waiters
        await loop.send("a")
        assert setting.readable == ["a"]

    run(setting, test)


@pytest.mark.parametrize(("timeout", "pause"), [(None, 0.0), (PATIENCE, 0.0), (0, 0.005)])
def test_a_task_cancelled_while_its_message_is_removed_loses_nothing(
    setting: Setting, timeout: float | None, pause: float
) -> None:
    """It goes to the next reader."""

    async def test(loop: Loop) -> None:
        await loop.send("a", "b")
        setting.store.gate.clear()
        receiving = asyncio.create_task(loop.receive(timeout, wait=timeout != 0))
        await loop.committing()
        await asyncio.sleep(pause)
        receiving.cancel()
        assert await cancelled(receiving)
        setting.store.gate.set()
        assert await loop.receive() == ["b"]
        assert await loop.receive() == ["a"]

    run(setting, test)


def test_a_task_cancelled_at_the_moment_of_its_answer_loses_nothing(setting: Setting) -> None:
    """A reader that waits gets the message without any further call."""

    async def test(loop: Loop) -> None:
        await loop.send("a")
        setting.store.gate.clear()
        receiving = asyncio.create_task(loop.receive(None))
        await loop.committing()
        next_reader = asyncio.create_task(loop.receive(None))
        await loop.waiting()
        setting.store.gate.set()
        while setting.core.is_committing:  # noqa: ASYNC110  # every turn of the loop counts
            await asyncio.sleep(0)
        receiving.cancel()
        if await cancelled(receiving):
            assert await next_reader == ["a"]
        else:
            assert receiving.result() == ["a"]
            next_reader.cancel()

    run(setting, test)


def test_a_removal_that_fails_after_its_task_was_cancelled_changes_nothing(
    setting: Setting,
) -> None:
    async def test(loop: Loop) -> None:
        await loop.send("a")
        setting.store.gate.clear()
        setting.store.refuse = {"commit": StorageFull("disk")}
        receiving = asyncio.create_task(loop.receive(None))
        await loop.committing()
        receiving.cancel()
        assert await cancelled(receiving)
        setting.store.gate.set()
        await loop.until(lambda: not setting.core.is_committing)
        assert setting.readable == ["a"]
        assert not setting.core.wants_commit

    run(setting, test)


def test_a_send_that_was_cancelled_is_not_undone(setting: Setting) -> None:
    async def test(loop: Loop) -> None:
        setting.store.gate.clear()
        sending = asyncio.create_task(loop.send("a"))
        await loop.committing()
        sending.cancel()
        assert await cancelled(sending)
        setting.store.gate.set()
        assert await loop.receive() == ["a"]

    run(setting, test)


@pytest.mark.parametrize("where", ["begin", "write", "commit"])
def test_a_store_that_refuses_is_reported_to_the_tasks_and_used_again(
    setting: Setting, where: str
) -> None:
    async def test(loop: Loop) -> None:
        setting.store.refuse = {where: StorageFull("disk")}
        sends = [asyncio.create_task(loop.send("x")) for _ in range(3)]
        for sent in sends:
            with pytest.raises(StorageFull):
                await sent
        await loop.send("a")
        assert setting.readable == ["a"]

    run(setting, test)


@pytest.mark.parametrize("error", MISTAKES, ids=repr)
@pytest.mark.parametrize("where", ["begin", "write", "commit"])
def test_a_store_that_breaks_ends_the_manager_of_a_loop(
    setting: Setting, where: str, error: BaseException
) -> None:
    if where == "write" and not isinstance(error, StorageError):
        pytest.skip("that is the fault of an operation")

    async def test(loop: Loop) -> None:
        reported: list[MQError] = []
        loop.driver.on_broken = reported.append
        setting.store.refuse = {where: error}
        asked = [asyncio.create_task(loop.send("x")) for _ in range(3)]
        asked.append(asyncio.create_task(loop.receive(None)))  # type: ignore[arg-type]
        for task in asked:
            with pytest.raises(StorageError):
                await task
        with pytest.raises(StorageError):
            await loop.send("c")
        with pytest.raises(StorageError):
            loop.driver.call(lambda: None)
        await loop.until(lambda: setting.store.closed)
        await loop.driver.close()
        assert len(reported) == 1
        assert isinstance(reported[0], StorageError)

    before = {*threading.enumerate()}
    run(setting, test)
    assert {*threading.enumerate()} <= before
    assert setting.store.closed == 1


def test_a_store_that_breaks_while_a_loop_closes_it_is_closed(setting: Setting) -> None:
    async def test(loop: Loop) -> None:
        setting.store.gate.clear()
        sending = asyncio.create_task(loop.send("a"))
        await loop.committing()
        setting.store.refuse = {"commit": StorageFailed("EIO")}
        closing = asyncio.create_task(loop.driver.close())
        await asyncio.sleep(0)
        setting.store.gate.set()
        await sending
        await closing

    run(setting, test)
    assert setting.store.closed


def test_so_does_an_answer_that_fails_in_a_loop(setting: Setting) -> None:
    async def test(loop: Loop) -> None:
        def answered(pending: Future[Any]) -> None:
            raise Mistake

        loop.driver.begin(lambda: setting.send("a"), answered)
        with pytest.raises(StorageFailed, match="Mistake"):
            await loop.send("b")

    run(setting, test)


def test_an_operation_that_raises_fails_alone_in_a_loop(setting: Setting) -> None:
    async def test(loop: Loop) -> None:
        setting.store.gate.clear()
        first = asyncio.create_task(loop.send("0"))
        await loop.committing()
        sends = [asyncio.create_task(loop.send("x"))]
        await asyncio.sleep(0)
        mistaken = asyncio.create_task(loop.driver.wait(lambda: submit_mistake(setting)))
        await asyncio.sleep(0)
        sends += [asyncio.create_task(loop.send("y")) for _ in range(3)]
        await loop.until(lambda: setting.core.operations_waiting == 5)
        setting.store.gate.set()
        await asyncio.gather(first, *sends)
        with pytest.raises(GenericError, match="Mistake"):
            await mistaken
        assert setting.readable == ["0", "x", "y", "y", "y"]

    run(setting, test)


def test_an_observer_learns_what_commits_cost(setting: Setting) -> None:
    seen: list[Commit] = []

    async def test(loop: Loop) -> None:
        loop.driver.observer = seen.append
        setting.store.gate.clear()
        first = asyncio.create_task(loop.send("first"))
        await loop.committing()
        others = [asyncio.create_task(loop.send(str(n))) for n in range(20)]
        await asyncio.sleep(0.02)
        setting.store.gate.set()
        await asyncio.gather(first, *others)

    run(setting, test)
    assert [commit.operations for commit in seen[:2]] == [1, 20]
    assert not any(commit.failed for commit in seen)
    assert seen[0].seconds >= seen[0].sync_seconds >= 0.02
    assert 0 <= seen[1].sync_seconds <= seen[1].seconds < 5


@pytest.mark.parametrize("where", ["begin", "write", "commit"])
def test_an_observer_learns_about_commits_that_fail(setting: Setting, where: str) -> None:
    seen: list[Commit] = []

    async def test(loop: Loop) -> None:
        loop.driver.observer = seen.append
        setting.store.refuse = {where: StorageFull("disk")}
        with pytest.raises(StorageFull):
            await loop.send("x")
        await loop.send("a")

    run(setting, test)
    assert [(commit.operations, commit.failed) for commit in seen[:2]] == [(1, True), (1, False)]


def test_closing_finishes_what_tasks_asked_for(setting: Setting) -> None:
    async def test(loop: Loop) -> None:
        setting.store.gate.clear()
        sending = asyncio.create_task(loop.send("a"))
        await loop.committing()
        loop.driver.call(lambda: setting.send("b"))
        closing = asyncio.create_task(loop.driver.close())
        await asyncio.sleep(0.01)
        assert not closing.done()
        setting.store.gate.set()
        await asyncio.gather(sending, closing)

    run(setting, test)
    assert len(setting.store.committed.tables[Table.INDEX]) == 2


def test_closing_commits_what_no_task_waits_for(setting: Setting) -> None:
    async def test(loop: Loop) -> None:
        loop.driver.call(lambda: setting.send("a"))

    run(setting, test)
    assert len(setting.store.committed.tables[Table.INDEX]) == 1


def test_closing_ends_the_waits_of_tasks(setting: Setting) -> None:
    async def test(loop: Loop) -> None:
        waiting = [asyncio.create_task(loop.receive(None)) for _ in range(3)]
        await loop.waiting(3)
        await loop.driver.close()
        for pending in waiting:
            with pytest.raises(OperationCancelled):
                await pending

    run(setting, test)


def test_after_closing_every_call_of_a_task_is_refused(setting: Setting) -> None:
    async def test(loop: Loop) -> None:
        await loop.driver.close()
        with pytest.raises(InvalidHandle):
            await loop.send("a")
        with pytest.raises(InvalidHandle):
            loop.driver.call(lambda: None)

    run(setting, test)


def test_no_thread_is_left_behind(setting: Setting) -> None:
    async def test(loop: Loop) -> None:
        await loop.send("a")

    before = {*threading.enumerate()}
    run(setting, test)
    assert {*threading.enumerate()} <= before


def test_a_call_may_be_answered_without_anyone_waiting(setting: Setting) -> None:
    async def test(loop: Loop) -> None:
        answers: list[Future[Any]] = []
        loop.driver.begin(lambda: setting.send("a", express=True), answers.append)
        assert [answer.done for answer in answers] == [True]
        loop.driver.begin(lambda: setting.send("b"), answers.append)
        assert len(answers) == 1
        await loop.until(lambda: len(answers) == 2)
        assert setting.readable == ["a", "b"]
        assert not loop.driver.is_closed
        await loop.driver.close()
        assert loop.driver.is_closed
        with pytest.raises(InvalidHandle):
            loop.driver.begin(lambda: setting.send("c"), answers.append)

    run(setting, test)


# An event loop and time


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("express", [False, True])
def test_a_task_that_waits_for_dead_letters_gets_what_expires_meanwhile(
    setting: Setting, express: bool
) -> None:
    """Though no one calls (DMPR-193, DMPR-310)."""

    async def test(loop: Loop) -> None:
        waiting = asyncio.create_task(loop.driver.wait(setting.receive_dead))
        sent = dying(setting, express=express)
        await loop.driver.wait(lambda: setting.post(sent))
        assert [entry.packet for entry in await waiting] == [sent.packet]

    run(setting, test)


@pytest.mark.usefixtures("quick")
def test_messages_expire_in_a_loop_though_no_one_waits(setting: Setting) -> None:
    """The later first, then one that is due before it, then a third."""

    async def test(loop: Loop) -> None:
        for seconds in (8, 2, 5):
            await loop.driver.wait(lambda n=seconds: setting.post(dying(setting, seconds=n)))  # type: ignore[misc]
        await loop.until(lambda: setting.core.queues.dead_letter.messages == 3)
        assert setting.queue.messages == 0

    run(setting, test)


def test_no_task_sees_what_should_be_gone(setting: Setting) -> None:
    async def test(loop: Loop) -> None:
        await loop.driver.wait(lambda: setting.post(dying(setting, seconds=-1)))
        (entry,) = await loop.driver.wait(setting.receive_dead)
        assert PacketView(entry.packet).body == b"a"
        assert setting.queue.messages == 0

    run(setting, test)


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("where", ["begin", "commit"])
def test_a_sweep_that_fails_in_a_loop_is_tried_again(setting: Setting, where: str) -> None:
    async def test(loop: Loop) -> None:
        await loop.driver.wait(lambda: setting.post(dying(setting)))
        setting.store.refuse = {where: StorageFull("disk")}
        (entry,) = await loop.driver.wait(setting.receive_dead)
        assert PacketView(entry.packet).body == b"a"

    run(setting, test)


@pytest.mark.usefixtures("timeless")
def test_a_task_that_meets_the_end_of_the_manager_is_refused(setting: Setting) -> None:
    async def test(loop: Loop) -> None:
        await loop.driver.wait(lambda: setting.post(dying(setting, seconds=-1)))
        setting.store.gate.clear()
        late = asyncio.create_task(loop.receive(None))
        await loop.committing()
        closing = asyncio.create_task(loop.driver.close())
        await asyncio.sleep(0)
        setting.store.gate.set()
        await closing
        with pytest.raises(InvalidHandle):
            await late

    run(setting, test)


@pytest.mark.usefixtures("timeless")
def test_a_task_cancelled_before_its_call_was_made_changes_nothing(setting: Setting) -> None:
    async def test(loop: Loop) -> None:
        await loop.driver.wait(lambda: setting.post(dying(setting, seconds=-1)))
        setting.store.gate.clear()
        late = asyncio.create_task(loop.receive(None))
        await loop.committing()
        late.cancel()
        assert await cancelled(late)
        setting.store.gate.set()
        await loop.send("b")
        assert setting.readable == ["b"]

    run(setting, test)


@pytest.mark.usefixtures("quick")
def test_the_end_of_the_manager_is_the_end_of_its_timer(setting: Setting) -> None:
    async def test(loop: Loop) -> None:
        await loop.driver.wait(lambda: setting.post(dying(setting, seconds=1)))
        await loop.driver.close()
        await asyncio.sleep(4 / SPEED)
        assert setting.queue.messages == 1

    run(setting, test)


def test_commits_of_a_loop_are_counted(setting: Setting) -> None:
    """The driver is busy from when one is wanted until it is over."""

    async def test(loop: Loop) -> None:
        driver = loop.driver
        await loop.send("first")
        before = driver.commits
        setting.store.gate.clear()
        sending = asyncio.create_task(loop.send("second"))
        await loop.committing()
        assert driver.is_busy
        assert driver.commits == before
        setting.store.gate.set()
        await sending
        assert driver.commits == before + 1
        assert driver.held_time > 0

    run(setting, test)


# Commits in the loop


def note_threads(setting: Setting, monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether each commit is made by the thread that this is called by."""
    here, made = threading.get_ident(), []
    commit = setting.store.commit

    def noted() -> None:
        made.append(threading.get_ident() == here)
        commit()

    monkeypatch.setattr(setting.store, "commit", noted)
    return made


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Commits are short, however busy this machine is."""
    monkeypatch.setattr(InlineGuard, "took", lambda guard, seconds: setattr(guard, "_average", 0.0))


@pytest.mark.usefixtures("patient")
def test_small_commits_are_made_in_the_loop_once_the_disk_is_known(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = note_threads(setting, monkeypatch)

    async def test(loop: Loop) -> None:
        for sent in "abc":
            await loop.send(sent)
        assert made == [False, True, True]
        await asyncio.gather(*(loop.send(sent) for sent in "def"))
        assert made[3:] == [True]
        assert await loop.receive() == ["a"]
        assert setting.readable == list("bcdef")

    run(setting, test, inline=True)


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize("bound", ["INLINE_BYTES_MAX", "INLINE_OPERATIONS_MAX"])
def test_large_commits_are_left_to_the_thread(
    setting: Setting, monkeypatch: pytest.MonkeyPatch, bound: str
) -> None:
    made = note_threads(setting, monkeypatch)
    monkeypatch.setattr(commit_cost, bound, 3)

    async def test(loop: Loop) -> None:
        await loop.send("first")
        await loop.send("a")
        await asyncio.gather(*(loop.send("b", "c") for _ in range(4)))
        assert made == [False, True, False]
        await loop.send("d")
        assert made[3:] == [True]

    run(setting, test, inline=True)


def test_a_slow_disk_is_left_to_the_thread(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = note_threads(setting, monkeypatch)
    monkeypatch.setattr(InlineGuard, "is_quick", False)

    async def test(loop: Loop) -> None:
        for sent in "abc":
            await loop.send(sent)
        assert made == [False] * 3

    run(setting, test, inline=True)


def test_a_busy_loop_does_not_make_the_disk_look_slow(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Commits would stay with the thread, whose answers a busy loop hears late, for ever."""
    disk, late, clock, took = 1.0, 1000.0, 0.0, list[float]()
    commit, finish = setting.store.commit, LoopDriver._finish

    def slowly() -> None:
        nonlocal clock
        commit()
        clock += disk

    def finish_late(driver: LoopDriver, ended: Any) -> None:
        nonlocal clock
        clock += late
        finish(driver, ended)

    monkeypatch.setattr(drivers, "time", SimpleNamespace(perf_counter=lambda: clock))
    monkeypatch.setattr(InlineGuard, "took", lambda guard, seconds: took.append(seconds))
    monkeypatch.setattr(setting.store, "commit", slowly)
    monkeypatch.setattr(LoopDriver, "_finish", finish_late)

    async def test(loop: Loop) -> None:
        await loop.send("a")
        assert took == [disk]

    run(setting, test, inline=True)


@pytest.mark.usefixtures("patient")
def test_what_comes_while_the_thread_commits_may_be_committed_in_the_loop(
    setting: Setting, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = note_threads(setting, monkeypatch)

    async def test(loop: Loop) -> None:
        setting.store.gate.clear()
        first = asyncio.create_task(loop.send("0"))
        await loop.committing()
        monkeypatch.setattr(InlineGuard, "is_quick", True)
        others = [asyncio.create_task(loop.send("x")) for _ in range(3)]
        await loop.until(lambda: setting.core.operations_waiting)
        setting.store.gate.set()
        await asyncio.gather(first, *others)
        assert made == [False, True]

    run(setting, test, inline=True)


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize("where", ["begin", "write", "commit"])
def test_a_store_that_refuses_a_commit_in_the_loop_is_used_again(
    setting: Setting, where: str
) -> None:
    async def test(loop: Loop) -> None:
        await loop.send("a")
        setting.store.refuse = {where: StorageFull("disk")}
        sends = [asyncio.create_task(loop.send("x")) for _ in range(3)]
        for sent in sends:
            with pytest.raises(StorageFull):
                await sent
        await loop.send("b")
        assert setting.readable == ["a", "b"]

    run(setting, test, inline=True)


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize("where", ["begin", "write", "commit"])
def test_a_store_that_breaks_in_the_loop_ends_the_manager(setting: Setting, where: str) -> None:
    async def test(loop: Loop) -> None:
        reported: list[MQError] = []
        loop.driver.on_broken = reported.append
        await loop.send("a")
        setting.store.refuse = {where: StorageFailed("EIO")}
        asked = [asyncio.create_task(loop.send("x")) for _ in range(3)]
        for task in asked:
            with pytest.raises(StorageError):
                await task
        with pytest.raises(StorageError):
            await loop.send("c")
        await loop.until(lambda: setting.store.closed)
        await loop.driver.close()
        assert len(reported) == 1

    run(setting, test, inline=True)
    assert setting.store.closed == 1


@pytest.mark.usefixtures("patient")
def test_an_operation_that_raises_in_the_loop_fails_alone(setting: Setting) -> None:
    async def test(loop: Loop) -> None:
        await loop.send("0")
        sends = [asyncio.create_task(loop.send("x"))]
        await asyncio.sleep(0)
        mistaken = asyncio.create_task(loop.driver.wait(lambda: submit_mistake(setting)))
        await asyncio.sleep(0)
        sends += [asyncio.create_task(loop.send("y")) for _ in range(3)]
        await asyncio.gather(*sends)
        with pytest.raises(GenericError, match="Mistake"):
            await mistaken
        assert setting.readable == ["0", "x", "y", "y", "y"]

    run(setting, test, inline=True)
