"""Programs elsewhere that read queues of a manager over RPC, on wires that break anywhere."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from random import Random
from typing import TYPE_CHECKING, Any, Final, TypeVar
from uuid import UUID

from openmsmq.client.remote_read.messages import received_message
from openmsmq.errors import ReceiveTimeout
from openmsmq.interfaces.qm2qm.stubs import HandleResult
from openmsmq.interfaces.queue_format import QueueFormatArgument
from openmsmq.interfaces.remote_read import stubs
from openmsmq.interfaces.remote_read.actions import ReadAction
from openmsmq.interfaces.remote_read.coordinator import (
    COORDINATOR,
    OWN_TOKEN,
    CoordinatorOpnum,
    TransactionArgument,
)
from openmsmq.interfaces.remote_read.server import RECEIVE_ACCESS
from openmsmq.interfaces.remote_read.stubs import REMOTE_READ, ReadOpnum
from openmsmq.names.format import parse_format_name
from openmsmq.net.wire import Wire
from openmsmq.packet.view import PacketView
from openmsmq.rpc.client import ClientConnection
from openmsmq.rpc.ndr.structure import NULL_HANDLE, Structure
from openmsmq.rpc.status import RpcFault
from openmsmq.rpc.syntax import SyntaxId
from tests.simulation.clients import ANSWER_TIMEOUT_S, SLACK_S
from tests.simulation.ledger import NORMAL, Receipt
from tests.simulation.node import Node
from tests.simulation.programs import PLAIN, TRANSACTIONAL
from tests.simulation.served_readers import CLEANUP_S
from tests.strategies.remote_reader import open_arguments

if TYPE_CHECKING:
    from tests.simulation.events import Scheduler
    from tests.simulation.ledger import Ledger
    from tests.simulation.network import Net

OK: Final = 0
NACK_CHANCE: Final = 0.2
WORKS_MAX: Final = 2
StructureT = TypeVar("StructureT", bound=Structure)
Answered = Callable[[StructureT | RpcFault | None], None]
"Gets the results of a call or its fault; None if the connection was lost before."


@dataclass(slots=True, eq=False)
class Held:
    """A message that was handed out and is not ended."""

    queue: str
    request: int
    lookup: int
    uid: int
    since: float


@dataclass(slots=True, eq=False)
class ReaderWork:
    """A transaction of a reader."""

    unit: bytes
    taken: list[Held] = field(default_factory=list)
    calls: int = 0
    "Those that are not answered."
    handle: UUID = NULL_HANDLE
    "Of a dependent client's."


class Leg:
    """One connection of a reader, bound to one interface."""

    is_up = True
    generation = 0

    def __init__(self, reader: Reader, syntax: SyntaxId, group: int) -> None:
        self.name, self.address = reader.name, reader.address
        self._reader = reader
        self._syntax = syntax
        self._group = group
        self.machine: ClientConnection | None = None
        self.is_over = False
        self._is_left = False

    def enter(self, generation: int, call: Callable[[], object]) -> None:
        """Let something happen in the program."""
        call()

    def elapsed(self) -> float:
        """The time."""
        return self._reader.elapsed()

    def made(self, wire: Wire) -> ClientConnection:
        """The connection is there; it is closed at once if no one waits for it any more."""
        self.machine = ClientConnection(wire, self._syntax, self.elapsed(), group=self._group)
        if self._is_left:
            self.machine.close()
        return self.machine

    def failed(self) -> None:
        """There will be no connection."""
        self.is_over = True

    def close(self) -> None:
        """End the connection, or the wait for it."""
        self._is_left = True
        if self.machine is not None:
            self.machine.close()

    @property
    def is_ready(self) -> bool:
        """Calls can be made."""
        return self.machine is not None and self.machine.is_ready

    @property
    def is_lost(self) -> bool:
        """It is over."""
        return self.is_over or (self.machine is not None and self.machine.is_closed)


class Reader:
    """A program that reads remotely, with an association of two connections."""

    kind, network = "reader", "10.2.0"
    syntaxes: tuple[SyntaxId, SyntaxId] = REMOTE_READ, COORDINATOR
    "What the connections are bound to."

    def __init__(
        self,
        number: int,
        node: Node,
        net: Net,
        scheduler: Scheduler,
        ledger: Ledger,
        chance: Random,
    ) -> None:
        self.node = node
        self.name = f"{self.kind}{number}"
        self.address = f"{self.network}.{number}"
        self.is_on = True
        self.rate = 1.0
        self._net = net
        self._scheduler = scheduler
        self._ledger = ledger
        self._chance = chance
        self._numbers = count(1)
        self._units = count(number << 32)
        self._reset()

    def _reset(self) -> None:
        """Nothing is known of an association that is not there yet."""
        self._reading: Leg | None = None
        self._ending: Leg | None = None
        self._due: dict[int, float] = {}
        "When calls should be answered that do not wait for ever."
        self._handles: dict[str, Any] = {}
        self._waits: dict[int, str] = {}
        "Reads that are not answered, and their queues."
        self._held: dict[tuple[str, int], Held] = {}
        "By queue and lookup identifier."
        self._works: list[ReaderWork] = []

    def elapsed(self) -> float:
        """The time."""
        return self._scheduler.now

    # Connections

    def go(self) -> None:
        """Do something, and go on with it."""
        if not self.is_on:
            return
        self._scheduler.after(self._chance.expovariate(self.rate), self.go)
        if any(leg is not None and leg.is_lost for leg in (self._reading, self._ending)):
            self._close()
        if self._reading is None:
            self._reading = self._connect(self.syntaxes[0], 0)
        elif not self._reading.is_ready:
            return
        elif self._ending is None:
            assert self._reading.machine is not None
            self._ending = self._connect(self.syntaxes[1], self._reading.machine.group)
            for queue in (*PLAIN, *TRANSACTIONAL):
                self._open(queue)
        else:
            self._check_answers()
            self._step()

    def _connect(self, syntax: SyntaxId, group: int) -> Leg:
        leg = Leg(self, syntax, group)
        self._net.connect_program(leg, self.node, leg.made, leg.failed, self.node.accept_reader)
        return leg

    def end(self) -> None:
        """Do nothing more, and close the connections."""
        self._check_answers()
        self.is_on = False
        self._close()

    def _close(self) -> None:
        legs = [leg for leg in (self._reading, self._ending) if leg is not None]
        self._reset()
        for leg in legs:
            leg.close()

    def _check_answers(self) -> None:
        """Every call is answered in its time while the connections are there."""
        for leg in (self._reading, self._ending):
            if leg is None or not leg.is_ready or self._net.is_cut(leg):
                return
        late = {number: at for number, at in self._due.items() if at < self.elapsed()}
        assert not late, f"{self.name}: not answered at {self.elapsed()}: {late}"

    def _call(
        self,
        opnum: int,
        arguments: Structure,
        kind: type[StructureT],
        answered: Answered[StructureT],
        *,
        wait: float | None = 0.0,
        leg: Leg | None = None,
    ) -> None:
        """Make a call; `wait` seconds are allowed for what it waits for, None for ever."""
        leg = leg or self._reading
        assert leg is not None
        assert leg.machine is not None
        number, due = next(self._numbers), self._due
        if wait is not None:
            due[number] = self.elapsed() + wait + ANSWER_TIMEOUT_S

        def done(result: bytes | Exception) -> None:
            due.pop(number, None)
            if isinstance(result, bytes):
                answered(kind.decode(result))
            else:
                answered(result if isinstance(result, RpcFault) else None)

        leg.machine.call(opnum, arguments.encode(), done)

    def _open(self, queue: str) -> None:
        handles = self._handles

        def opened(found: stubs.QueueContextArgument | RpcFault | None) -> None:
            if isinstance(found, stubs.QueueContextArgument):
                handles[queue] = found.context

        asked = open_arguments(f"DIRECT=OS:{self.node.name}\\{queue}", RECEIVE_ACCESS)
        self._call(ReadOpnum.OPEN_QUEUE, asked, stubs.QueueContextArgument, opened)

    # What it does

    def _step(self) -> None:
        dice, chance = self._chance.random(), self._chance
        if dice < 0.4:
            self._read(None)
        elif dice < 0.6 and self._held:
            self._end_one(chance.choice(list(self._held.values())))
        elif dice < 0.65 and self._waits:
            self._cancel(chance.choice(list(self._waits)))
        elif dice < 0.72 and len(self._works) < WORKS_MAX:
            self._begin()
        elif dice < 0.92 and self._works:
            self._go_on(chance.choice(self._works))
        elif dice < 0.94:
            self._close()
        elif dice < 0.96:
            legs = [leg for leg in (self._reading, self._ending) if leg and leg.machine]
            self._net.cut_program(chance.choice(legs))

    def _read(self, work: ReaderWork | None) -> None:
        """R_StartReceive or R_StartTransactionalReceive."""
        queue = self._chance.choice(TRANSACTIONAL if work else (*PLAIN, *TRANSACTIONAL))
        handle = self._handles.get(queue)
        if handle is None:
            return
        timeout = self._chance.choice((0, 0, 50, 1000, 10_000, stubs.INFINITE_MS))
        takes = work is not None or self._chance.random() < 0.8
        action = ReadAction.RECEIVE if takes else ReadAction.PEEK_CURRENT
        request, since, waits = next(self._numbers), self.elapsed(), self._waits
        fields = (0, 0, action, timeout, request, stubs.INFINITE_MS, stubs.INFINITE_MS)
        waits[request] = queue

        def answered(found: stubs.ReceiveResults | RpcFault | None) -> None:
            waits.pop(request, None)
            if work is not None:
                work.calls -= 1
            if not isinstance(found, stubs.ReceiveResults):
                return
            if found.result == ReceiveTimeout.hresult:
                waited = self.elapsed() - since
                assert waited >= timeout / 1000 - SLACK_S, f"{self.name}: {waited} of {timeout} ms"
            elif found.result == OK and takes:
                self._hold(queue, request, found, work)

        wait = None if timeout == stubs.INFINITE_MS else timeout / 1000
        if work is None:
            start = stubs.StartReceive(handle, *fields)
            self._call(ReadOpnum.START_RECEIVE, start, stubs.ReceiveResults, answered, wait=wait)
            return
        work.calls += 1
        started = stubs.StartTransactionalReceive(handle, *fields, work.unit)
        opnum = ReadOpnum.START_TRANSACTIONAL_RECEIVE
        self._call(opnum, started, stubs.ReceiveResults, answered, wait=wait)

    def _hold(
        self, queue: str, request: int, found: stubs.ReceiveResults, work: ReaderWork | None
    ) -> None:
        message = received_message(found)
        view = PacketView(message.packet)
        uid = view.app_specific if view.message_class == NORMAL else 0
        held = Held(queue, request, message.lookup_id, uid, self.elapsed())
        before = self._held.get((queue, held.lookup))
        if before is not None:
            kept = held.since - before.since
            assert kept >= CLEANUP_S - ANSWER_TIMEOUT_S, f"{self.name} got m{uid} twice"
        if queue not in self._handles:  # the association is another one by now
            return
        if work is None:
            self._held[queue, held.lookup] = held
        else:
            self._end(held, remove=self._chance.random() >= NACK_CHANCE, work=work)

    def _end_one(self, held: Held) -> None:
        del self._held[held.queue, held.lookup]
        self._end(held, remove=self._chance.random() >= NACK_CHANCE)

    def _end(self, held: Held, *, remove: bool, work: ReaderWork | None = None) -> None:
        """R_EndReceive or R_EndTransactionalReceive."""
        acknowledge = stubs.ACK if remove else stubs.NACK
        asked = stubs.EndReceive(self._handles[held.queue], acknowledge, held.request)
        if work is not None:
            work.calls += 1
        elif remove:
            self._ledger.asked.add(held.uid)

        def answered(found: stubs.Status32 | RpcFault | None) -> None:
            is_done = isinstance(found, stubs.Status32) and found.result == OK
            if work is not None:
                work.calls -= 1
                if is_done and remove:
                    work.taken.append(held)
            elif remove and is_done:
                self._got([held])
            elif remove and found is None:
                self._ledger.unsure.add(held.uid)

        opnum = ReadOpnum.END_TRANSACTIONAL_RECEIVE if work else ReadOpnum.END_RECEIVE
        self._call(opnum, asked, stubs.Status32, answered)

    def _cancel(self, request: int) -> None:
        """R_CancelReceive."""
        asked = stubs.CancelReceive(self._handles[self._waits[request]], request)
        self._call(ReadOpnum.CANCEL_RECEIVE, asked, stubs.Status32, lambda _: None)

    def _got(self, taken: list[Held]) -> None:
        now = self.elapsed()
        for held in taken:
            if held.uid:
                self._net.trace.note(f"{self.name} got m{held.uid} from {held.queue}")
                place = self.node.name, held.queue, held.lookup, held.uid
                self._ledger.receipts.append(Receipt(now, now, *place))

    # Transactions

    def _begin(self) -> None:
        """R_QMEnlistRemoteTransaction."""
        work, works = ReaderWork(next(self._units).to_bytes(16, "little")), self._works
        name = parse_format_name(f"DIRECT=OS:{self.node.name}\\{TRANSACTIONAL[0]}")
        asked = stubs.EnlistRemoteTransaction(
            work.unit, len(OWN_TOKEN), OWN_TOKEN, QueueFormatArgument.of(name)
        )

        def enlisted(found: stubs.Status32 | RpcFault | None) -> None:
            if isinstance(found, stubs.Status32) and found.result == OK:
                works.append(work)

        self._call(ReadOpnum.ENLIST_REMOTE_TRANSACTION, asked, stubs.Status32, enlisted)

    def _go_on(self, work: ReaderWork) -> None:
        chance = self._chance.random()
        if chance < 0.6:
            self._read(work)
        elif not work.calls and self._ending is not None and self._ending.is_ready:
            self._works.remove(work)
            self._finish(work, commit=chance < 0.9)

    def _finish(self, work: ReaderWork, *, commit: bool) -> None:
        opnum = CoordinatorOpnum.COMMIT if commit else CoordinatorOpnum.ABORT
        uids = {held.uid for held in work.taken}
        if commit:
            self._ledger.asked |= uids
        answered = partial(self._finished, work, commit=commit)
        argument = TransactionArgument(work.unit)
        self._call(opnum, argument, stubs.Status32, answered, leg=self._ending)

    def _finished(
        self,
        work: ReaderWork,
        found: stubs.Status32 | HandleResult | RpcFault | None,
        *,
        commit: bool,
    ) -> None:
        if not commit:
            return
        if found is None:
            self._ledger.unsure |= {held.uid for held in work.taken}
        elif not isinstance(found, RpcFault) and found.result == OK:
            self._got(work.taken)
