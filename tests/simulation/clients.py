"""Programs that use their manager over the application protocol, on wires that break anywhere."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from itertools import count
from random import Random
from typing import TYPE_CHECKING, Any, Final

from openmsmq.app_protocol import payloads as app
from openmsmq.app_protocol.calls import RUNS, Hello, Welcome, decode_error
from openmsmq.app_protocol.frames import FROM_SERVER, Frame, Framer, Kind
from openmsmq.app_protocol.frames import encode_frame as encode
from openmsmq.app_protocol.limits import FRAME_SIZE_MAX
from openmsmq.app_protocol.members import Members
from openmsmq.app_protocol.slices import EndRanges, SendRun, Slices
from openmsmq.client.payloads import signed_destination
from openmsmq.errors import ReceiveTimeout, TransactionTimedOut
from openmsmq.names.direct import DirectName
from openmsmq.net.wire import Wire
from openmsmq.packet.headers.user import NO_GUID
from openmsmq.packet.view import PacketView
from openmsmq.types.lookup import ranges_of
from openmsmq.types.pack import Packer
from tests.simulation.connection import ProgramConnection
from tests.simulation.groups import COUNTS, alike, mortal
from tests.simulation.ledger import NORMAL, Letter, Receipt, Sort, State
from tests.simulation.node import IDLE_LIMIT_S, Node
from tests.simulation.programs import MISSING, PLAIN, TRANSACTIONAL, Letters, Programs

if TYPE_CHECKING:
    from tests.simulation.events import Scheduler
    from tests.simulation.ledger import Ledger
    from tests.simulation.network import Net

FOREVER: Final = 0xFFFFFFFF
SLACK_S: Final = 0.01
"Milliseconds are rounded."
ANSWER_TIMEOUT_S: Final = 25.0
"Slow disks and wires may take so long."
_ANYWHERE: Final = DirectName.from_wire("OS:.\\private$\\x")
_PACKER: Final = Packer(NO_GUID)
Answered = Callable[[Frame | None], None]
"Gets the answer to a request; None if the connection was lost before."


@dataclass(slots=True, eq=False)
class Work:
    """A transaction of a program."""

    number: int
    letters: list[Letter] = field(default_factory=list)
    taken: list[tuple[str, int, int]] = field(default_factory=list)
    "Queue, lookup identifier and number of messages that were received in it."
    used: float = 0.0
    "When its last request was sent."
    used_before: float = 0.0
    "And the one before."
    idle: float = 0.0
    "The longest time between two of them."
    reads: int = 0
    "Those that wait."

    def use(self, now: float) -> int:
        """Its number, for a request."""
        self.idle = max(self.idle, now - self.used)
        self.used_before, self.used = self.used, now
        return self.number


class Client:
    """A program, which connects again and again."""

    is_up = True

    def __init__(
        self,
        number: int,
        node: Node,
        others: list[Node],
        net: Net,
        scheduler: Scheduler,
        ledger: Ledger,
        chance: Random,
    ) -> None:
        self.node = node
        self.name = f"program{number}"
        self.address = f"10.1.0.{number}"
        self.generation = 0
        self.is_on = True
        self.is_full = False
        "It does not read."
        self.rate = 1.0
        self.letters = Letters(node, others, ledger, chance, program=self.name)
        self.groups: Random | None = None
        "If it also sends groups of messages to queues of its own manager, and ends some of them."
        self._net = net
        self._scheduler = scheduler
        self._ledger = ledger
        self._chance = chance
        self.wire: Wire | None = None
        self._is_connecting = False
        self._reset()

    def _reset(self) -> None:
        """Nothing is known of a connection that is not there yet."""
        self._framer = Framer(FROM_SERVER)
        self._numbers = count(1)
        self._is_welcome = False
        self._knows_runs = False
        self._requests: dict[int, Answered] = {}
        self._due: dict[int, float] = {}
        "When requests should be answered that do not wait for ever."
        self._requests_max = 1
        self._is_greedy = self._chance.random() < 0.2
        "It asks for more than its credit allows."
        self._handles: dict[str, int] = {}
        self._paths: dict[str, str] = {}
        "What the manager calls the queues that are open."
        self._packer = _PACKER
        self._held: dict[tuple[int, int], tuple[str, int]] = {}
        "Messages that were read and not ended: queue and number, by handle and lookup identifier."
        self._works: list[Work] = []
        self._stream = 0
        self._credit = 0
        self._queue, self._stream_handle = "", 0
        "Of the stream."

    # `tests.simulation.network.Host`

    def enter(self, generation: int, call: Callable[[], object]) -> None:
        """Let something happen in the program."""
        call()

    def elapsed(self) -> float:
        """The time."""
        return self._scheduler.now

    # The connection

    def go(self) -> None:
        """Do something, and go on with it."""
        if not self.is_on:
            return
        self._scheduler.after(self._chance.expovariate(self.rate), self.go)
        if self.wire is None:
            if not self._is_connecting:
                self._is_connecting = True
                self._net.connect_program(
                    self, self.node, self._made, self._failed, self.node.accept_program
                )
        elif self._is_welcome:
            self._check_answers()
            if self.groups is not None and self.groups.random() < 0.5:
                self._send_run(self.groups)
            self._step()

    def end(self) -> None:
        """Do nothing more, and close the connection."""
        self._check_answers()
        self.is_on = False
        self.is_full = False
        if self.wire is not None:
            self._close()

    def _check_answers(self) -> None:
        """Every request is answered in its time while the connection is there."""
        if self.wire is None or self._is_greedy or self.is_full or self._net.is_cut(self):
            return
        if self.node.breaks and self._scheduler.now - self.node.committed_at > ANSWER_TIMEOUT_S:
            return  # so many operations raise that no commit has succeeded since
        late = {number: at for number, at in self._due.items() if at < self.elapsed()}
        assert not late, f"{self.name}: not answered at {self.elapsed()}: {late}"

    def _close(self) -> None:
        assert self.wire is not None
        wire, self.wire = self.wire, None
        wire.close()
        self._lost()

    def _failed(self) -> None:
        self._is_connecting = False

    def _made(self, wire: Wire) -> ProgramConnection:
        self._is_connecting = False
        self.wire = wire
        self._reset()
        if not self.is_on:
            self._close()
        elif (choice := self._chance.random()) < 0.95:
            self._knows_runs = choice < 0.6
            known = (RUNS,) if self._knows_runs else ()
            hello = Hello(self.name, capabilities=known)
            self._ask(Kind.HELLO, hello.encode(), self._welcomed)
        else:
            wire.write(encode(Kind.HELLO, 1, Hello(self.name).encode())[:-3])  # and no more
        return ProgramConnection(self, wire)

    def _welcomed(self, frame: Frame | None) -> None:
        if frame is not None:
            welcome = Welcome.decode(frame.payload)
            self._requests_max = welcome.requests - 2
            self._packer = Packer(welcome.manager, computer=welcome.name)
            self._framer.limit = FRAME_SIZE_MAX
            self._is_welcome = True
            for name in (*PLAIN, *TRANSACTIONAL):
                self._open(f".\\{name}", "receive")

    def receive_data(self, data: bytes) -> None:
        """Take frames of the server."""
        self._framer.receive_data(data)
        for frame in iter(self._framer.next_frame, None):
            self._take(frame)

    def _take(self, frame: Frame) -> None:
        if frame.kind is Kind.CLOSING:
            return  # the connection is closed in a moment
        if frame.kind in (Kind.DELIVERY, Kind.DELIVERED_SLICES):
            self._delivered(frame)
        elif frame.kind is Kind.ERROR and frame.id == self._stream:
            self._stream = 0
        else:
            assert frame.id in self._requests, f"{self.name}: nothing was asked for by {frame}"
            self._due.pop(frame.id, None)
            self._requests.pop(frame.id)(frame)

    def lost(self) -> None:
        """The connection is closed."""
        self.wire = None
        self._lost()

    def _lost(self) -> None:
        requests, works = self._requests, self._works
        self._reset()
        for answered in list(requests.values()):
            answered(None)
        for work in works:  # no one will commit them
            _refuse(work.letters)

    def _ask(self, kind: Kind, payload: bytes, answered: Answered, wait: float | None = 0.0) -> int:
        """Send a request; `wait` seconds are allowed for what it waits for, None for ever."""
        assert self.wire is not None
        number = next(self._numbers)
        if wait is not None:
            self._due[number] = self.elapsed() + wait + ANSWER_TIMEOUT_S
        self._requests[number] = answered
        self.wire.write(encode(kind, number, payload))
        return number

    def _call(self, answered: Callable[[dict[str, Any] | None], None], /, **asked: Any) -> None:
        """A CALL; None if it is refused, or the connection was lost."""

        def came(frame: Frame | None) -> None:
            is_answer = frame is not None and frame.kind is Kind.ANSWER
            answered(dict(Members.decode(frame.payload).values) if frame and is_answer else None)

        self._ask(Kind.CALL, Members(asked).encode(), came)

    def _open(self, name: str, access: str) -> None:
        def opened(found: dict[str, Any] | None) -> None:
            if found is not None:
                self._handles[name] = found["handle"]
                self._paths[name] = found["name"]

        self._call(opened, call="open_queue", name=name, access=[access])

    # What it does

    def _step(self) -> None:
        dice, chance = self._chance.random(), self._chance
        if len(self._requests) >= self._requests_max and not self._is_greedy:
            return
        if dice < 0.25:
            self._send() if chance.random() < 0.5 else self._begin()
        elif dice < 0.45:
            self._read(None)
        elif dice < 0.6 and self._works:
            self._go_on(chance.choice(self._works))
        elif dice < 0.7:
            self._subscribe()
        elif dice < 0.85 and self._held:
            self._end_some()
        elif dice < 0.88:
            self.is_full = True
            self._scheduler.after(10 * chance.random(), self._read_again)
        elif dice < 0.9:
            self._close()
        elif dice < 0.92:
            self._net.cut_program(self)

    def _read_again(self) -> None:
        self.is_full = False
        if self.wire is not None:
            self.wire.update()

    def _send(self, work: Work | None = None) -> None:
        usual, unusual = (PLAIN, TRANSACTIONAL) if work is None else (TRANSACTIONAL, PLAIN)
        target, queue = self.letters.destination(usual, (*unusual, MISSING))
        is_group = self.groups is not None and self.groups.random() < 0.6
        if is_group:
            target, queue = self.node, usual[0]
        name = self.node.name_of(target.name, queue)
        if name not in self._handles:
            self._open(name, "send")
            return
        sort = Sort.TRANSACTIONAL
        if work is None:
            sort = self._chance.choice((Sort.EXPRESS, Sort.RECOVERABLE))
        if self.groups is not None and is_group:
            sort = Sort.RECOVERABLE if work is None else sort
            letters = [
                Programs.plain(self.letters.letter(target, queue, sort))
                for _ in range(self.groups.choice(COUNTS))
            ]
            if self.letters.has_lifetimes:
                letters = mortal(letters, self.groups)
            messages = alike(letters, self.groups)
        else:
            letters = [
                self.letters.letter(target, queue, sort)
                for _ in range(self._chance.choice((1, 1, 3)))
            ]
            messages = [self.letters.message(letter) for letter in letters]
        packets = _PACKER.pack_many(messages, _ANYWHERE, first_id=0, sent_time=0)
        number = 0
        if work is not None:
            number = work.use(self.elapsed())
            work.letters += letters
        if is_group and work is not None:
            run = SendRun(self._handles[name], number, len(packets), b"".join(packets))
            self._ask(Kind.SEND_RUN, run.encode(), partial(self._sent, work, letters))
            return
        send = app.Send(self._handles[name], number, tuple(packets)).encode()
        self._ask(Kind.SEND, send, partial(self._sent, work, letters))

    def _send_run(self, chance: Random) -> None:
        """Send a group to a queue of its manager in one piece."""
        if len(self._requests) >= self._requests_max:
            return
        queue = chance.choice(PLAIN)
        name = self.node.name_of(self.node.name, queue)
        if name not in self._handles:
            self._open(name, "send")
            return
        letters = [
            Programs.plain(self.letters.letter(self.node, queue, Sort.RECOVERABLE))
            for _ in range(chance.choice((4, 6, 12)))
        ]
        if self.letters.has_lifetimes:
            letters = mortal(letters, chance)
        messages = alike(letters, chance)
        run = self._packer.pack_run(messages, signed_destination(self._paths[name]))
        assert run is not None, "they are plain"
        payload = SendRun(self._handles[name], 0, len(messages), run.packets).encode()
        self._ask(Kind.SEND_RUN, payload, partial(self._sent, None, letters))

    def _sent(self, work: Work | None, letters: list[Letter], frame: Frame | None) -> None:
        if work is not None:
            if frame is not None and frame.kind is Kind.ERROR:
                self._check_idle(work, frame)
                _refuse(letters)
                work.letters = [letter for letter in work.letters if letter not in letters]
            return
        for letter in letters:
            if frame is None:
                letter.state = State.UNKNOWN
            else:
                letter.state = State.SENT if frame.kind is Kind.SENT else State.REFUSED

    # Transactions

    def _begin(self) -> None:
        since = self.elapsed()

        def begun(found: dict[str, Any] | None) -> None:
            if found is not None:  # perhaps long after the manager has begun it
                self._works.append(Work(found["transaction"], used=since))

        self._call(begun, call="begin")

    def _go_on(self, work: Work) -> None:
        chance = self._chance.random()
        if chance < 0.4:
            self._send(work)
        elif chance < 0.6:
            self._read(work)
        elif chance < 0.9 and not work.reads:
            self._commit(work)
        elif chance < 0.95:
            self._works.remove(work)
            self._call(lambda _: _refuse(work.letters), call="abort", transaction=work.number)

    def _commit(self, work: Work) -> None:
        self._works.remove(work)
        work.use(self.elapsed())
        ledger = self._ledger
        ledger.transactions.append(work.letters)
        for place, letter in enumerate(work.letters):
            letter.order = len(ledger.transactions), place
        for _, _, uid in work.taken:
            ledger.asked.add(uid)

        def answered(frame: Frame | None) -> None:
            if frame is None:
                for letter in work.letters:
                    letter.state = State.UNKNOWN
                ledger.unsure |= {uid for _, _, uid in work.taken}
            elif frame.kind is Kind.ERROR:
                self._check_idle(work, frame)
                self._undo(work)
            else:
                for letter in work.letters:
                    letter.state = State.SENT
                self._got(work.taken)

        call = {"call": "commit", "transaction": work.number}
        self._ask(Kind.CALL, Members(call).encode(), answered)  # type: ignore[arg-type] # JSON

    def _undo(self, work: Work) -> None:
        """Abort what could not be committed."""
        _refuse(work.letters)
        if self.wire is not None:
            self._call(lambda _: None, call="abort", transaction=work.number)

    def _check_idle(self, work: Work, frame: Frame) -> None:
        """A transaction is not aborted while it is used."""
        if isinstance(decode_error(frame.payload), TransactionTimedOut):
            idle = max(work.idle, self.elapsed() - work.used_before)
            assert idle >= IDLE_LIMIT_S, f"{self.name}: {work} timed out after {idle} s"

    # Reading

    def _read(self, work: Work | None) -> None:
        queues = (*PLAIN, *TRANSACTIONAL) if work is None else TRANSACTIONAL
        name = f".\\{self._chance.choice(queues)}"
        if name not in self._handles:
            return
        handle = self._handles[name]
        timeout = self._chance.choice((0, 0, 50, 1000, 10_000, FOREVER))
        number = 0
        if work is not None:
            number, work.reads = work.use(self.elapsed()), work.reads + 1
        count = self._chance.choice((1, 3, 10))
        read = app.ReadRequest(handle, number, count=count, timeout=timeout)
        since = self.elapsed()

        def answered(frame: Frame | None) -> None:
            if work is not None:
                work.reads -= 1
            if frame is None:
                return
            if frame.kind is Kind.ERROR:
                self._check_timeout(frame, timeout, since)
                return
            found = self._found(name, handle, frame)
            if work is None:
                self._hold(handle, found)
            else:
                work.taken += found

        wait = None if timeout == FOREVER else timeout / 1000
        asked = self._ask(Kind.READ, read.encode(), answered, wait)
        if timeout == FOREVER:
            self._scheduler.after(30 * self._chance.random(), partial(self._cancel, asked))

    def _cancel(self, number: int) -> None:
        if self._is_welcome and number in self._requests:
            self._ask(Kind.CANCEL, app.Cancel(number).encode(), lambda _: None)

    def _check_timeout(self, frame: Frame, timeout: int, since: float) -> None:
        if isinstance(decode_error(frame.payload), ReceiveTimeout):
            waited = self.elapsed() - since
            assert waited >= timeout / 1000 - SLACK_S, f"{self.name}: {waited} of {timeout} ms"

    def _found(self, name: str, handle: int, frame: Frame) -> list[tuple[str, int, int]]:
        """What came, as long as it is one of the messages that are watched."""
        found = []
        for lookup, packet in _messages(frame):
            view = PacketView(packet)
            uid = view.app_specific if view.message_class == NORMAL else 0
            found.append((name.removeprefix(".\\"), lookup, uid))
        return found

    def _hold(self, handle: int, found: list[tuple[str, int, int]]) -> None:
        for queue, lookup, uid in found:
            assert (handle, lookup) not in self._held, f"{self.name} got m{uid} twice"
            self._held[handle, lookup] = queue, uid

    def _end_some(self) -> None:
        handle = self._chance.choice([handle for handle, _ in self._held])
        lookups = [lookup for at, lookup in self._held if at == handle]
        lookups = lookups[: self._chance.choice((1, 5, 100))]
        if self.groups is not None and self.groups.random() < 0.5:
            lookups = self.groups.sample(lookups, 1 + len(lookups) // 2)
        remove = self._chance.random() < 0.8
        action = app.Action.REMOVE if remove else app.Action.RETURN
        found = [(*self._held.pop((handle, lookup)), lookup) for lookup in lookups]
        taken = [(queue, lookup, uid) for queue, uid, lookup in found]
        if remove:
            self._ledger.asked |= {uid for _, _, uid in taken}

        def answered(frame: Frame | None) -> None:
            if not remove:
                return
            if frame is None:
                self._ledger.unsure |= {uid for _, _, uid in taken}
            elif frame.kind is Kind.DONE:
                self._got(taken)

        if self._knows_runs:
            ranges = tuple(ranges_of(lookups))
            end = EndRanges(handle, 0, action, ranges).encode()
            self._ask(Kind.END_RANGES, end, answered)
        else:
            end = app.End(handle, 0, action, tuple(lookups)).encode()
            self._ask(Kind.END, end, answered)
        if self._stream:
            self._credit += len(lookups)
            credit = app.Credit(self._stream, len(lookups)).encode()
            assert self.wire is not None
            self.wire.write(encode(Kind.CREDIT, 0, credit))

    def _got(self, taken: list[tuple[str, int, int]]) -> None:
        now = self.elapsed()
        for queue, lookup, uid in taken:
            if uid:
                self._net.trace.note(f"{self.name} got m{uid} from {queue}")
                receipt = Receipt(now, now, self.node.name, queue, lookup, uid)
                self._ledger.receipts.append(receipt)

    # Streams

    def _subscribe(self) -> None:
        if self._stream:
            return
        self._queue = self._chance.choice((*PLAIN, *TRANSACTIONAL))
        handle = self._handles.get(f".\\{self._queue}")
        if handle is not None:
            self._stream_handle = handle
            self._credit = self._chance.choice((1, 5, 100))
            subscribe = app.Subscribe(handle, self._credit).encode()
            self._stream = self._ask(Kind.SUBSCRIBE, subscribe, lambda _: None)

    def _delivered(self, frame: Frame) -> None:
        assert frame.id == self._stream, f"{self.name}: {frame.id} is no stream"
        found = self._found(self._queue, self._stream_handle, frame)
        self._credit -= len(found)
        assert self._credit >= 0, f"{self.name}: more was delivered than there was credit for"
        self._hold(self._stream_handle, found)


def _refuse(letters: list[Letter]) -> None:
    """No one will send these."""
    for letter in letters:
        letter.state = State.REFUSED


def _messages(frame: Frame) -> list[tuple[int, bytes]]:
    """Lookup identifiers and packets of what came, in slices or not."""
    if frame.kind in (Kind.MESSAGES, Kind.DELIVERY):
        queued = app.Messages.decode(frame.payload).messages
        return [(message.lookup_id, message.packet) for message in queued]
    slices = Slices.decode(frame.payload).slices
    return [
        (lookup, packet)
        for one in slices
        for lookup, packet in enumerate(one.split(), one.lookup_id)
    ]
