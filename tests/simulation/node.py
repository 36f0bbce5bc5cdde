"""One simulated manager: a real one on a disk in memory, driven step by step, dying at times."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import inf
from pathlib import Path
from random import Random
from typing import Any, Final, TypeVar
from uuid import UUID

from openmsmq.access.tokens import Tokens
from openmsmq.app_server.server import AppServer
from openmsmq.app_server.sweeper import SessionSweeper
from openmsmq.app_server.wire import ProgramWire
from openmsmq.engine.commit.batch import Batch
from openmsmq.engine.commit.future import Future
from openmsmq.engine.core import Core
from openmsmq.engine.manager import QueueManager
from openmsmq.errors import (
    InvalidHandle,
    OperationCancelled,
    StorageFailed,
    StorageFull,
)
from openmsmq.net.wire import Machine, Wire
from openmsmq.packet.headers.user import NO_GUID
from openmsmq.service.configuration import Config
from openmsmq.service.metrics.samples import ServiceMetrics
from openmsmq.store.memory import Crash, Disk, MemoryStore
from openmsmq.transports.mqqb.timers import SessionTimers
from openmsmq.transports.mqqb.transport import BinaryTransport
from openmsmq.transports.receipts import RECEIPTS
from tests.simulation.events import Event, Scheduler
from tests.simulation.ledger import Ledger
from tests.simulation.network import Net, NodeNetwork
from tests.simulation.served_readers import ServedReaders
from tests.simulation.trace import Trace
from tests.simulation.web import NodeWeb

T = TypeVar("T")
NAMES: Final = "abcd"
IDLE_LIMIT_S: Final = 20
"Transactions of programs are aborted that are not used for so long."
FOLDER: Final = Path("nowhere")
"There are no files."
CONFIG: Final = Config(
    data=FOLDER,
    requests_max=8,
    request_bytes_max=20_000,
    idle_transaction_limit=IDLE_LIMIT_S,
)
LOOK_EVERY_S: Final = 2.0
"Between two looks at programs that are gone and transactions that are idle."
CLOSE: Final = 2.0
"Seconds that a deadline may differ when it is worked out again: lifetimes have whole ones."
START: Final = 1_000_000_000.0
"What correct clocks show when a simulation begins."


class Broken(Exception):
    """An operation cannot be written."""


class NodeClock:
    """A clock that someone sets at times, and time that passes."""

    def __init__(self, scheduler: Scheduler, number: int) -> None:
        self._scheduler = scheduler
        self._number = number
        self._given = 0
        self.offset = 0.0
        self.has_jumped = False

    def now(self) -> float:
        """What the clock shows."""
        return START + self._scheduler.now + self.offset

    def elapsed(self) -> float:
        """What really passed."""
        return 1000.0 * self._number + self._scheduler.now

    def new_guid(self) -> UUID:
        """Identifiers count up, apart from those of others."""
        self._given += 1
        return UUID(int=self._number << 64 | self._given)


class NodeDriver:
    """Calls a manager while its process lives (`openmsmq.app_server.context.Driver`)."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._generation = node.generation

    @property
    def is_closed(self) -> bool:
        """No more calls are taken."""
        node = self._node
        return node.generation != self._generation or node.is_stopping

    def call(self, make: Callable[[], T]) -> T:
        """Call the manager."""
        if self.is_closed:
            raise InvalidHandle("the queue manager is closed")
        assert self._node.local is not None
        self._node.tick()
        result = make()
        self._node.go_on()
        return result

    def begin(self, make: Callable[[], Future[T]], answered: Callable[[Future[T]], None]) -> None:
        """Call the manager; the answer comes at once or later."""

        def begun() -> None:
            pending = make()
            if pending.done:
                answered(pending)
            else:
                pending.on_done = lambda: answered(pending)

        self.call(begun)


class Node:
    """A manager that can die and start again."""

    def __init__(
        self, number: int, scheduler: Scheduler, net: Net, ledger: Ledger, chance: Random
    ) -> None:
        self.name = NAMES[number]
        self.address = f"10.0.0.{number + 1}"
        self.generation = 0
        self.crashes: list[float] = []
        self.clock = NodeClock(scheduler, number + 1)
        self.local: QueueManager | None = None
        self.transport: BinaryTransport | None = None
        self.web: NodeWeb | None = None
        "For messages over HTTP, if there are any."
        self.server: AppServer | None = None
        "For programs."
        self._server_timer: Event | None = None
        self.readers: ServedReaders | None = None
        self.store = MemoryStore()
        self.timing = SessionTimers()
        self.is_stopping = False
        "Programs are not served any more."
        self.fails = 0.0
        "How likely a commit fails."
        self.dies = 0.0
        "How likely the disk fails for good with a commit, so that the process ends."
        self.io_errors = 0.0
        "How likely the disk fails for good in a commit."
        self.breaks = 0.0
        "How likely an operation raises when it is written."
        self.slow_disk = 0.01
        "Seconds that a commit takes, at most."
        self.committed_at = 0.0
        "When the last commit was on disk."
        self.is_restored = False
        "The next process is the first on a disk from a backup."
        self.past: list[Disk] = []
        "Disks that were replaced by older ones."
        self.is_copied = False
        "Another manager runs on a copy of its disk, or this one is the copy."
        self.is_absent = False
        "It is not there yet."
        self.guid = NO_GUID
        self.on_death: Callable[[], None] = lambda: None
        self.on_start: Callable[[], None] = lambda: None
        self._scheduler = scheduler
        self._net = net
        self._ledger = ledger
        self._chance = chance
        self._trace: Trace = net.trace
        self._is_committing = False
        self._timer: Event | None = None
        net.nodes[self.address] = self
        net.names[self.name] = self.address

    def name_of(self, target: str, queue: str) -> str:
        """The format name by which it sends to a queue of another manager."""
        return self._net.name(self.name, target, queue)

    def is_http(self, target: str) -> bool:
        """Whether it sends to another manager over HTTP."""
        return self._net.is_http(self.name, target)

    @property
    def is_up(self) -> bool:
        """It runs."""
        return self.local is not None

    @property
    def core(self) -> Core:
        """Its rules, while it runs."""
        assert self.local is not None
        return self.local

    # Starting and dying

    def start(self, *, dies_at: int = 0) -> None:
        """A new process on the disk that the last one left."""
        disk: Disk = self.store.committed
        self.store = MemoryStore(disk)
        if dies_at:
            self.store.fail_at(dies_at, after=dies_at % 2 == 0)
        self.generation += 1
        self.is_stopping = False
        self._is_committing = False
        self._timer = self._server_timer = None
        self._trace.note(f"{self.name} starts")
        try:
            self.local = QueueManager(
                self.store, self.clock, name=self.name, restored=self.is_restored, receipts=RECEIPTS
            )
            self._break_some(self.local)
            self.transport = BinaryTransport(
                self.local,
                self.clock,
                NodeNetwork(self._net, self),
                peers={name: (address, 1801) for name, address in self._net.names.items()},
                pins=self._net.pins,
                identity=self._net.identity,
                timing=self.timing,
            )
            if self._net.links is not None:
                self.web = NodeWeb(self, self._net, self._net.links)
        except Crash:
            self.die()
            return
        self.server = AppServer(
            self.local, NodeDriver(self), CONFIG, Tokens(FOLDER), metrics=ServiceMetrics()
        )
        self.readers = ServedReaders(self, self._scheduler, NodeDriver(self))
        self.is_restored = False
        self.guid = self.core.identity
        self.on_start()
        self.go_on()

    def die(self) -> None:
        """The process is gone, with all that was not on its disk."""
        self._trace.note(f"{self.name} dies")
        self.crashes.append(self._scheduler.now)
        self._net.cut_all(self)
        self.on_death()
        self.local = None
        self.transport = self.server = self.readers = self.web = None
        self.generation += 1

    def restore(self, disk: Disk, since: float) -> None:
        """Let the next process go on with the disk as it was before."""
        if self.is_up:
            self.die()
        self._trace.note(f"{self.name} gets the disk that it had at {since:.3f}")
        self.past.append(self.store.committed)
        self.store = MemoryStore(disk)
        self.is_restored = True
        self._ledger.restored(self, disk, since)

    def accept(self, wire: Wire) -> Machine:
        """Another computer has connected."""
        assert self.transport is not None
        return self.transport.accept(wire)

    def accept_program(self, wire: ProgramWire) -> Machine:
        """A program has connected."""
        assert self.server is not None
        self._look_later()
        return self.server.accept(wire, self.elapsed(), is_trusted=True)

    def accept_reader(self, wire: ProgramWire) -> Machine:
        """A remote reader has connected."""
        assert self.readers is not None
        return self.readers.accept(wire)

    def _look_later(self) -> None:
        """Let the sweeper check all sessions, as long as there are programs."""
        server = self.server
        assert server is not None
        sweeper = SessionSweeper(server)

        def look() -> None:
            if server is self.server:
                self._server_timer = None
                self.do(lambda: sweeper.tick(self.elapsed()))
                if server.clients and server is self.server:
                    self._look_later()

        if self._server_timer is None:
            self._server_timer = self._scheduler.after(LOOK_EVERY_S, look)

    def stop(self) -> None:
        """End the process as its owner would, in so much time as that is given."""
        if not self.is_stopping:
            self._trace.note(f"{self.name} stops")
            generation = self.generation
            self.do(self._stop)
            self.is_stopping = True
            self._scheduler.after(self._chance.random() * 5, lambda: self._stopped(generation))

    def _stop(self) -> None:
        assert self.transport is not None
        assert self.server is not None
        self.server.close("the manager stops")
        assert self.readers is not None
        self.readers.stop()
        self.transport.stop()
        if self.web is not None:
            self.web.stop()
        self.core.cancel_everywhere(OperationCancelled("stopped"))
        self.core.stop()

    def _stopped(self, generation: int) -> None:
        if generation == self.generation:
            self.die()

    def die_at(self, write: int, *, after: bool) -> None:
        """Let it die at one of its next writes."""
        self.store.fail_at(write, after=after)

    def enter(self, generation: int, call: Callable[[], object]) -> None:
        """Let something happen in a process, if that is still there."""
        if generation != self.generation or self.local is None:
            return
        try:
            self.tick()
            call()
            self.go_on()
        except Crash:
            self.die()

    def elapsed(self) -> float:
        """The time of its machines."""
        return self.clock.elapsed()

    def do(self, call: Callable[[], object]) -> None:
        """Let something happen in the process that runs now."""
        self.enter(self.generation, call)

    def tick(self) -> None:
        """Tell the core what time it is."""
        assert self.local is not None
        self.local.advance(self.local.clock.now(), self.local.clock.elapsed())

    # Commits

    def go_on(self) -> None:
        """As `LoopDriver` does: commit what is wanted, and see to what will be due."""
        core = self.local
        assert core is not None
        if not self._is_committing and core.wants_commit:
            self._is_committing = True
            self._later(self._begin)
        left = core.next_deadline
        passed = core.clock.elapsed() - core.timeline.elapsed
        at = inf if left is None else self._scheduler.now + left - passed
        timer = self._timer
        timer_at = inf if timer is None or timer.call is None else timer.at
        if not core.is_rescheduled:
            assert timer_at <= at + CLOSE, f"something is due in {left} s, unknown to its driver"
            return
        core.is_rescheduled = False
        if at < timer_at:
            if timer is not None:
                timer.cancel()
            self._timer = self._scheduler.after(
                at - self._scheduler.now, self._on_time(self.generation)
            )

    def _on_time(self, generation: int) -> Callable[[], None]:
        def call() -> None:
            if generation == self.generation:
                self._timer = None
                assert self.local is not None
                self.local.is_rescheduled = True
                self.enter(generation, lambda: None)

        return call

    def _later(self, step: Callable[[], None]) -> None:
        generation = self.generation
        wait = self._chance.random() * self.slow_disk
        self._scheduler.after(wait, lambda: self._step(generation, step))

    def _step(self, generation: int, step: Callable[[], None]) -> None:
        """One step of a commit; the time is not reported before it."""
        if generation == self.generation and self.local is not None:
            try:
                step()
            except Crash:
                self.die()

    def _begin(self) -> None:
        try:
            self.core.start_commit(self.store.begin())
        except Broken as error:
            self._trace.note(f"{self.name} has an operation that cannot be written")
            self.store.abort()
            self._later(partial(self._retreat, error))
        else:
            self._later(self._sync)

    def _retreat(self, error: Broken) -> None:
        self._is_committing = False
        self.core.retreat(error)
        self.go_on()

    def _break_some(self, core: Core) -> None:
        """Let operations raise at times, after all they do."""
        submit = core.submit

        def breakable(apply: Callable[[Batch], None], *rest: Any, **more: Any) -> None:
            def broken(batch: Batch) -> None:
                apply(batch)
                if self.breaks and self._chance.random() < self.breaks:
                    raise Broken

            submit(broken, *rest, **more)

        core.submit = breakable  # type: ignore[method-assign]

    def _sync(self) -> None:
        store = self.store
        if self._chance.random() < self.fails:
            self._trace.note(f"{self.name} cannot commit")
            store.abort()
            self._later(lambda: self._finish(StorageFull("the disk is full")))
            return
        if self._chance.random() < self.dies:
            self._trace.note(f"{self.name} has a disk that fails")
            store.fail_at(1, after=self._chance.random() < 0.5)
        writer = store._writer
        assert writer is not None
        if self.io_errors and self._chance.random() < self.io_errors:
            self._fail_for_good()
            return
        coming = self._ledger.coming(self, writer.changes)
        try:
            store.commit()
        except Crash:
            if store._fails_after:
                self._ledger.committed(self, coming)
            raise
        self._ledger.committed(self, coming)
        self.committed_at = self._scheduler.now
        self._later(lambda: self._finish(None))

    def _fail_for_good(self) -> None:
        """As drivers do: all who wait are notified, and this is the end of the process."""
        self._trace.note(f"{self.name} has a disk that fails")
        self.store.abort()
        self.core.break_off(StorageFailed("EIO"))
        assert not self.core.wants_commit
        self.die()

    def _finish(self, error: BaseException | None) -> None:
        self._is_committing = False
        self.core.finish_commit(error)
        self.go_on()
