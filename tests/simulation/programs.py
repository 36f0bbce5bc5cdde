"""What programs do with the managers of a simulation: send, receive, commit, abort, purge."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from random import Random
from typing import Any, Final

from openmsmq.engine.commit.future import Future
from openmsmq.engine.queues.entry import Entry
from openmsmq.engine.queues.holds import REMOVING
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.engine.transactions.transaction import ManagedTransaction
from openmsmq.errors import MQError
from openmsmq.limits import U32_MAX
from openmsmq.packet.view import PacketView
from openmsmq.properties.message import Acknowledge
from openmsmq.types.access import Access, Mode, Share
from openmsmq.types.message import Message
from openmsmq.types.queues import VISIBLE, QueueKind
from tests.simulation.events import Scheduler
from tests.simulation.ledger import NORMAL, Ledger, Letter, Receipt, Sort, State
from tests.simulation.node import Node
from tests.simulation.trace import Trace
from tests.unit.engine import handles

PLAIN: Final = ("private$\\plain", "private$\\small")
TRANSACTIONAL: Final = ("private$\\tx", "private$\\txsmall")
ADMIN: Final = "private$\\admin"
MISSING: Final = "private$\\missing"
SMALL: Final = 3
"KiB that fit into the small ones."
SEND: Final = Mode(Access.SEND, Share.DENY_NONE)


def set_up(node: Node) -> None:
    """Make the queues of a manager."""
    assert node.local is not None
    for name in (*PLAIN, *TRANSACTIONAL, ADMIN):
        quota: dict[str, Any] = {"quota": SMALL} if "small" in name else {}
        node.local.create_queue(f".\\{name}", transactional=name in TRANSACTIONAL, **quota)


class Letters:
    """Makes messages from one computer to others."""

    def __init__(
        self, node: Node, others: list[Node], ledger: Ledger, chance: Random, program: str = ""
    ) -> None:
        self.has_lifetimes = False
        self._node = node
        self._others = others
        self._ledger = ledger
        self._chance = chance
        self._program = program

    def letter(self, target: Node, queue: str, sort: Sort) -> Letter:
        chance = self._chance
        wants = Acknowledge.NONE
        if chance.random() < 0.3:
            wants = Acknowledge(chance.randrange(16))
        letter = Letter(
            len(self._ledger.letters) + 1,
            self._node.name,
            target.name,
            queue,
            sort,
            journal=chance.random() < 0.3,
            dead_letter=chance.random() < 0.3,
            acknowledge=wants,
            program=self._program,
            is_http=self._node.is_http(target.name),
        )
        if self.has_lifetimes and chance.random() < 0.3:
            letter.reach = chance.choice((1, 5, 20, 100))
        if self.has_lifetimes and chance.random() < 0.2:
            letter.receive = chance.choice((1, 10, 60))
        self._ledger.add(letter)
        return letter

    def message(self, letter: Letter) -> Message:
        chance = self._chance
        size = chance.choice((0, 10, 100, 300, 300, 5000 if chance.random() < 0.1 else 50))
        return Message(
            bytes(size),
            app_specific=letter.uid,
            priority=chance.randrange(8),
            recoverable=letter.sort is Sort.RECOVERABLE,
            journal=letter.journal,
            dead_letter=letter.dead_letter,
            acknowledge=letter.acknowledge,
            admin_queue=self._admin(letter) if letter.acknowledge else None,
            time_to_reach_queue=letter.reach,
            time_to_be_received=letter.receive,
        )

    def _admin(self, letter: Letter) -> str:
        """An envelope has room for an HTTP address only."""
        name = f"DIRECT=OS:{self._node.name}\\{ADMIN}"
        if letter.is_http:
            name = f"DIRECT=HTTP://{self._node.name}/msmq/{ADMIN}".replace("\\", "/")
        return name

    def destination(self, usual: tuple[str, ...], unusual: tuple[str, ...]) -> tuple[Node, str]:
        """Mostly where such messages belong."""
        queue = self._chance.choice(usual if self._chance.random() < 0.9 else unusual)
        return self._chance.choice(self._others), queue


class Programs:
    """The programs on one computer."""

    def __init__(
        self,
        node: Node,
        others: list[Node],
        scheduler: Scheduler,
        ledger: Ledger,
        chance: Random,
        trace: Trace,
    ) -> None:
        self.node = node
        self.rate = 1.0
        "How often something is done in a second."
        self.is_sending = True
        self.is_receiving = True
        self.is_purging = False
        self.is_pausing = False
        self.letters = Letters(node, others, ledger, chance)
        self._others = others
        self._scheduler = scheduler
        self._ledger = ledger
        self._chance = chance
        self._trace = trace
        self._handles: dict[str, ManagedQueue] = {}
        node.on_death = self._died
        node.on_start = self._started

    def _died(self) -> None:
        self._ledger.died(self.node)

    def _started(self) -> None:
        self._handles.clear()

    def go(self) -> None:
        """Do something, and go on with it."""
        if self.is_sending or self.is_receiving:
            self._scheduler.after(self._chance.expovariate(self.rate), self.go)
        if self.node.is_up and not self.node.is_stopping:
            self.node.do(self._step)

    def _step(self) -> None:
        dice = self._chance.random()
        if dice < 0.55:
            if self.is_sending:
                self._send() if self._chance.random() < 0.5 else self._transact()
        elif dice < 0.85:
            if self.is_receiving:
                self._receive() if self._chance.random() < 0.5 else self._receive_in()
        elif dice < 0.89:
            self._close()
        elif dice < 0.93 and self.is_pausing:
            self._pause()
        elif dice < 0.95 and self.is_purging:
            self._purge()

    # Sending

    def _open(self, target: Node, queue: str) -> ManagedQueue:
        assert self.node.local is not None
        name = self.node.name_of(target.name, queue)
        if name not in self._handles:
            self._handles[name] = self.node.local.open_queue(name, SEND).queue
        return self._handles[name]

    def _close(self) -> None:
        if self._handles:
            name = self._chance.choice(sorted(self._handles))
            self.node.core.queues.close(self._handles.pop(name), SEND, self)

    def _send(self) -> None:
        target, queue = self.letters.destination(PLAIN, (*TRANSACTIONAL, MISSING))
        sort = self._chance.choice((Sort.EXPRESS, Sort.RECOVERABLE))
        letters = [
            self.letters.letter(target, queue, sort) for _ in range(self._chance.choice((1, 1, 3)))
        ]
        self._trace.note(f"{self.node.name} sends {', '.join(map(str, letters))}")
        pending = self.try_send(target, queue, letters, None)
        if pending is not None:
            self.answer(pending, letters)

    def try_send(
        self,
        target: Node,
        queue: str,
        letters: list[Letter],
        transaction: ManagedTransaction | None,
        messages: Sequence[Message] = (),
    ) -> Future[object] | None:
        """Send messages, made of the letters unless they are given; None if they are refused."""
        assert self.node.local is not None
        messages = messages or [self.letters.message(letter) for letter in letters]
        try:
            opened = self._open(target, queue)
            return handles.send(self.node.local, opened, messages, transaction)  # type: ignore[return-value] # any answer will do
        except MQError:
            for letter in letters:
                letter.state = State.REFUSED
            return None

    def answer(self, pending: Future[object], letters: list[Letter]) -> None:
        """Note what their sender learns."""

        def answered() -> None:
            for letter in letters:
                letter.state = State.SENT if pending.error is None else State.REFUSED

        then(pending, answered)

    def _transact(self) -> None:
        """Some messages to one queue or two, and the end of it later."""
        assert self.node.local is not None
        transaction = self.node.local.begin()
        letters: list[Letter] = []
        for _ in range(self._chance.choice((1, 2, 3))):
            target, queue = self.letters.destination(TRANSACTIONAL, (*PLAIN, MISSING))
            count = self._chance.choice((1, 1, 2, 4))
            new = [self.letters.letter(target, queue, Sort.TRANSACTIONAL) for _ in range(count)]
            if self.try_send(target, queue, new, transaction) is not None:
                letters += new
        self._trace.note(f"{self.node.name} transaction: {', '.join(map(str, letters))}")
        end = self.commit if self._chance.random() < 0.8 else self.abort
        self.later(lambda: end(transaction, letters))

    def later(self, call: Callable[[], None]) -> None:
        """Call something after a while, if the process is still there."""
        generation = self.node.generation
        wait = self._chance.choice((0.0, 0.05, 2.0)) * self._chance.random()

        def later() -> None:
            if not self.node.is_stopping:
                self.node.enter(generation, call)

        self._scheduler.after(wait, later)

    def commit(self, transaction: ManagedTransaction, letters: list[Letter]) -> None:
        """Commit messages; abort if that fails."""
        assert self.node.local is not None
        ledger = self._ledger
        ledger.transactions.append(letters)
        for place, letter in enumerate(letters):
            letter.order = len(ledger.transactions), place
        try:
            pending = self.node.local.commit(transaction)
        except MQError:  # a send before it has failed
            self.abort(transaction, letters)
            return
        self.answer(pending, letters)  # type: ignore[arg-type] # any answer will do

        def failed() -> None:
            if pending.error is not None:
                self.abort(transaction, letters)

        then(pending, failed)

    def abort(self, transaction: ManagedTransaction, letters: list[Letter]) -> None:
        """Abort messages."""
        assert self.node.local is not None
        for letter in letters:
            letter.state = State.REFUSED
        self._undo(transaction)

    def _undo(self, transaction: ManagedTransaction) -> None:
        """Abort, and again if that could not be written."""
        assert self.node.local is not None
        pending = self.node.local.abort(transaction)

        def again() -> None:
            if pending.error is not None:
                self.later(lambda: self._undo(transaction))

        then(pending, again)

    def greet(self, queues: Sequence[str]) -> None:
        """Send to everybody, so that all know each other, or to see that it still works."""
        for target in self._others:
            letter = self.plain(self.letters.letter(target, PLAIN[0], Sort.RECOVERABLE))
            pending = self.try_send(target, PLAIN[0], [letter], None)
            if pending is not None:
                self.answer(pending, [letter])
            for queue in queues:
                self._transact_with(target, queue)

    def bait(self, name: str) -> None:
        """Send some messages in a transaction to a manager that lies."""
        assert self.node.local is not None
        local = self.node.local
        queue = local.open_queue(f"DIRECT=OS:{name}\\private$\\bait", SEND).queue
        transaction = local.begin()
        try:
            for _ in range(self._chance.choice((1, 4))):
                self._ledger.baited += 1
                handles.send(local, queue, [Message(app_specific=self._ledger.baited)], transaction)
            local.commit(transaction)
        except MQError:
            self._undo(transaction)

    @staticmethod
    def plain(letter: Letter) -> Letter:
        """A message that asks for nothing: its receiver may not know its sender yet."""
        letter.reach = letter.receive = None
        letter.journal = letter.dead_letter = False
        letter.acknowledge = Acknowledge.NONE
        return letter

    def _transact_with(self, target: Node, queue: str) -> None:
        assert self.node.local is not None
        letter = self.plain(self.letters.letter(target, queue, Sort.TRANSACTIONAL))
        transaction = self.node.local.begin()
        if self.try_send(target, queue, [letter], transaction) is not None:
            self.commit(transaction, [letter])

    # Receiving

    def _receive(self) -> None:
        queue = self._find(self._chance.choice((*PLAIN, *TRANSACTIONAL)))
        assert self.node.local is not None
        count = self._chance.choice((1, 3, 10))
        pending = self.node.local.receiver.receive(queue, count, self, wait=False, holder=REMOVING)
        then(pending, partial(self.answered, queue, pending))

    def answered(self, queue: ManagedQueue, pending: Future[list[Entry]]) -> None:
        """Note messages that were received, if they were."""
        if pending.error is None:
            self._got(queue, pending.result())

    def _receive_in(self) -> None:
        queue = self._find(self._chance.choice(TRANSACTIONAL))
        self.receive_in(queue, self._chance.choice((1, 3, 10)))

    def receive_in(self, queue: ManagedQueue, count: int, aborts: float = 0.3) -> None:
        """Receive the first messages in a transaction, which is as likely to abort."""
        local = self.node.local
        assert local is not None
        transaction = local.begin()
        found = local.receiver.receive(queue, count, self, wait=False, holder=transaction)
        if found.error is not None:
            return
        entries = found.result()

        def end() -> None:
            if self._chance.random() < aborts:
                self._undo(transaction)
                return
            pending = local.commit(transaction)
            then(pending, lambda: self._committed(queue, transaction, entries, pending))

        self.later(end)

    def _committed(
        self,
        queue: ManagedQueue,
        transaction: ManagedTransaction,
        entries: list[Entry],
        pending: Future[None],
    ) -> None:
        if pending.error is None:
            self._got(queue, entries)
        else:
            self._undo(transaction)

    def _got(self, queue: ManagedQueue, entries: list[Entry]) -> None:
        for entry in entries:
            view = PacketView(entry.packet)
            uid = view.app_specific
            if view.message_class != NORMAL or not uid:
                continue  # of others
            self._trace.note(f"{self.node.name} got m{uid} from {queue.name}")
            now, name = self._scheduler.now, self.node.name
            on_disk = now if entry.express else self.node.committed_at
            self._ledger.receipts.append(Receipt(now, on_disk, name, queue.name, entry.lookup, uid))

    def _find(self, name: str) -> ManagedQueue:
        return self.node.core.queues.find(name)

    def drain(self) -> None:
        """Receive all there is."""
        assert self.node.local is not None
        mains = [self._find(name) for name in (*PLAIN, *TRANSACTIONAL)]
        for queue in self.node.core.queues.everything:
            if queue.main not in mains or queue.kind not in (*VISIBLE, QueueKind.SUBQUEUE):
                continue
            pending = self.node.local.receiver.receive(queue, 10_000, self, wait=False)
            then(pending, partial(self.answered, queue, pending))

    # Administrators

    def _purge(self) -> None:
        core = self.node.core
        names = (*PLAIN, *TRANSACTIONAL)  # not acknowledgements on their way
        outgoing = [
            q for q in core.queues.by_number.values() if q.name.replace("/", "\\").endswith(names)
        ]
        outgoing = [q for q in outgoing if q.kind is QueueKind.OUTGOING]
        queue = self._find(self._chance.choice(names))
        if outgoing and self._chance.random() < 0.3:
            queue = self._chance.choice(outgoing)
        self._trace.note(f"{self.node.name} purges {queue.name}")
        self._ledger.purged.add((self.node.name, queue.name))
        core.queue_lifecycle.purge(queue)

    def _pause(self) -> None:
        assert self.node.local is not None
        dispatcher = self.node.local.dispatcher
        for queue in list(self.node.core.queues.by_number.values()):
            if queue.kind is QueueKind.OUTGOING and self._chance.random() < 0.5:
                if queue.is_paused:
                    self._trace.note(f"{self.node.name} resumes {queue.name}")
                    dispatcher.resume(queue)
                else:
                    self._trace.note(f"{self.node.name} pauses {queue.name}")
                    dispatcher.pause(queue)

    def make_room(self) -> None:
        """No queue has a quota any longer."""
        assert self.node.local is not None
        for name in (*PLAIN, *TRANSACTIONAL):
            self.node.local.change_queue(self._find(name), quota=U32_MAX)

    def resume_all(self) -> None:
        """Nothing is held back any longer."""
        assert self.node.local is not None
        for queue in list(self.node.core.queues.by_number.values()):
            if queue.is_paused:
                self.node.local.dispatcher.resume(queue)


def then(
    pending: Future[object] | Future[None] | Future[list[Entry]], call: Callable[[], None]
) -> None:
    """Do something when the answer is there, after whatever was to be done before."""
    if pending.done:
        call()
        return
    before = pending.on_done

    def both() -> None:
        if before is not None:
            before()
        call()

    pending.on_done = both
