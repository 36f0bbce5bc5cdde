"""What a subscription was given once it is given again, and nothing is given twice or never.

Random programs send, receive, move, purge and crash around subscriptions that take messages and
such that copy them. Whatever happens, also in the midst of a commit:

- what was read between two positions is read there again until the reader is done with it,
- no message is given twice by one subscription,
- all that can be read in the end is given in the end,
- of messages that are neither purged nor expired each ends once: given, or received by others,
- of a subscription that belongs to someone only that one reads, and nothing leaves that this owner
  has not marked as read; what it has, leaves when it is done with it,
- a check of the store finds nothing.

Messages that are sent together are runs where the queue has no journal, until a subscription that
copies follows it: so it is tried with and without these.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.quick import examples
from tests.unit.engine.world import OWNER, World, commit_all, letter

from openmsmq.engine.commit.future import Future
from openmsmq.engine.messages import expiry_sweep as expiring
from openmsmq.engine.messages import sparse_runs
from openmsmq.engine.queues import purge as emptying
from openmsmq.engine.queues.entry import Entry
from openmsmq.engine.queues.holds import Holder
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.engine.storage import runs
from openmsmq.engine.storage.tables import Table
from openmsmq.engine.subscriptions import reservations, subscription
from openmsmq.engine.subscriptions.owners import bind, mark_read
from openmsmq.engine.subscriptions.reservations import Reservations
from openmsmq.engine.subscriptions.subscription import DurableSubscription, SubscriptionMode
from openmsmq.engine.transactions.transaction import ManagedTransaction
from openmsmq.errors import (
    MessageNotFound,
    MQError,
    QueueNotAvailable,
    ReceiveTimeout,
    StorageFailed,
    SubscriptionTaken,
)
from openmsmq.packet.view import PacketView
from openmsmq.properties.message import INFINITE
from openmsmq.store.check.check import check_tables
from openmsmq.store.memory import Crash
from openmsmq.types.lookup import ranges_of

MANY: Final = 1 << 40
NAMES: Final = {
    "lake": SubscriptionMode.TAKE,
    "audit": SubscriptionMode.COPY,
    "copy": SubscriptionMode.COPY,
}
OPERATIONS: Final = (
    ("send", 6),
    ("send_group", 3),
    ("send_mortal", 2),
    ("send_express", 2),
    ("send_expiring", 1),
    ("receive", 2),
    ("take", 2),
    ("commit_taken", 1),
    ("abort_taken", 2),
    ("move", 2),
    ("move_back", 2),
    ("put_back", 1),
    ("purge", 1),
    ("tick", 1),
    ("reserve", 6),
    ("repeat", 2),
    ("read", 4),
    ("finish", 3),
    ("finish_to", 1),
    ("bind", 2),
    ("mark", 4),
    ("give_back", 1),
    ("drop", 1),
    ("delete", 1),
    ("commit", 6),
    ("fail", 1),
    ("restart", 1),
    ("crash", 1),
)
STEPS: Final = st.lists(
    st.tuples(
        st.sampled_from([name for name, weight in OPERATIONS for _ in range(weight)]),
        st.integers(0, 40),
    ),
    max_size=60,
)


@pytest.fixture(autouse=True, scope="module")
def _small_sizes() -> Iterator[None]:
    """Let everything that happens after many messages happen after few."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(reservations, "STEP", 3)
        patch.setattr(subscription, "LOOK_MAX", 2)
        patch.setattr(subscription, "AGAIN_MAX", 4)
        patch.setattr(emptying, "STEP", 3)
        patch.setattr(expiring, "STEP", 3)
        patch.setattr(runs, "COUNT_MIN", 2)
        patch.setattr(runs, "SPARSE", 1)
        patch.setattr(sparse_runs, "PATIENCE", 1)
        yield


class Run:
    """A program under way, and what is known to its callers."""

    def __init__(
        self,
        *,
        transactional: bool,
        first: int = 0,
        names: Mapping[str, SubscriptionMode] = NAMES,
    ) -> None:
        """With `first` messages in the queue before it has subscriptions, and then no journal."""
        self.names = names
        self.world = World()
        self.has_journal = not first
        self.queue = self.world.queue("q", transactional=transactional, journal=self.has_journal)
        self.is_transactional = transactional
        self.sent = 0
        self.lasting: set[str] = set()
        "Messages that were acknowledged and that nothing but a reader can end."
        self.received: list[str] = []
        "What others have received for certain."
        self.given: dict[str, dict[int, str]] = {name: {} for name in self.names}
        "By subscription: what was read at each position."
        self.promised: dict[str, tuple[int, int]] = dict.fromkeys(self.names, (0, 0))
        "Up to where each is done and was given, as was answered."
        self.unsure = 0
        "Messages that others may have received: the answer never came."
        self.is_purged = False
        self.may_leave: dict[str, set[int]] = {name: set() for name in self.names}
        "By subscription: positions that its owner has marked, or that had no owner."
        self.must_leave: dict[str, set[int]] = {name: set() for name in self.names}
        "Those that it has marked for certain."
        self.owner: dict[str, str] = dict.fromkeys(self.names, "")
        "Who each belongs to, as was answered."
        self.binding: dict[str, list[tuple[Future[None], str]]] = {name: [] for name in self.names}
        "Who each may belong to by now."
        self.moved: set[str] = set()
        "What was taken and then moved to a subqueue: it may come back and be taken again."
        self.waiting: list[tuple[Future[Any], Callable[[Any], None]]] = []
        if first:
            self.send(3, first)
            commit_all(self.world.core)
            self.hear()
            assert self.world.rows(Table.RUNS)
        self.start()

    def start(self) -> None:
        """A process begins."""
        self.waiting = []
        self.taken: list[tuple[Holder, list[Entry]]] = []
        self.back: list[list[Entry]] = []
        self.receiver = 0
        "Messages that others have asked for and were not answered about."
        self.queue = self.world.find("q")
        self.reservations = Reservations(self.world.core)
        self.open: dict[str, DurableSubscription] = {}
        for name, way in self.names.items():
            self.open[name] = self.world.done(self.reservations.open(name, self.queue, way))
            self.check_kept(name)

    def check_kept(self, name: str) -> None:
        """All that was answered is so after a crash."""
        found = self.open[name]
        done, end = self.promised[name]
        assert found.committed >= done
        assert found.reserved >= end
        assert found.owner in {self.owner[name], *(owner for _, owner in self.binding[name])}
        self.binding[name].clear()
        self.see_owner(name)
        assert {at for at in self.must_leave[name] if at > found.committed} <= set(positions(found))
        self.read_all(name)

    def see_owner(self, name: str) -> None:
        """What an owner has marked that it was taken from does not count any more."""
        found, before = self.open[name], self.owner[name]
        if found.owner != before:
            self.owner[name] = found.owner
            self.must_leave[name].clear()
            if before:
                self.may_leave[name] = {at for at in self.may_leave[name] if at <= found.committed}

    def rows(self, name: str) -> set[int]:
        """The positions of what it has."""
        return {at for at, _ in self.reservations._rows(self.open[name], 0, MANY)}

    def check_left(self, name: str) -> None:
        """Nothing has left that was not to leave, and all behind what is done is there."""
        found, there = self.open[name], self.rows(name)
        assert set(range(found.committed + 1, found.reserved + 1)) <= there
        assert {at for at in range(1, found.committed + 1) if at not in there} <= self.may_leave[
            name
        ]
        assert found.unread == len([at for at in there if at <= found.committed])

    def read_all(self, name: str) -> None:
        """Read whatever there is, in pieces."""
        found = self.open[name]
        after = found.committed
        while after < found.reserved:
            after = self.read_some(name, after, found.reserved, size_max=700)

    def read_some(self, name: str, after: int, last: int, size_max: int) -> int:
        """What is read is what was read there before, and nowhere else."""
        owner = self.open[name].owner
        found = self.reservations.read(self.open[name], after, last, size_max, owner)
        with pytest.raises(SubscriptionTaken):
            self.reservations.read(self.open[name], after, last, size_max, "another")
        assert found or after == last
        for at, item in enumerate(found, after + 1):
            body = PacketView(item.packet).body.decode()
            assert self.given[name].setdefault(at, body) == body
        return after + len(found)

    # Steps

    def do(self, name: str, number: int) -> None:
        """One step."""
        with suppress(ReceiveTimeout, MessageNotFound, SubscriptionTaken):
            getattr(self, f"do_{name}")(number)
        self.answer()

    def expect(self, pending: Future[Any], then: Callable[[Any], None]) -> None:
        """Something is under way."""
        self.waiting.append((pending, then))

    def answer(self) -> None:
        """Hear what is answered; everyone belongs to whom was said."""
        self.hear()
        for name, binding in self.binding.items():
            binding[:] = [one for one in binding if not one[0].done]
            assert self.open[name].is_over or binding or self.open[name].owner == self.owner[name]

    def hear(self) -> None:
        for item in list(self.waiting):
            pending, then = item
            if pending.done:
                self.waiting.remove(item)
                if pending.error is None:
                    then(pending.result())
                else:
                    assert isinstance(pending.error, MQError)

    def send(
        self, number: int, count: int = 1, *, express: bool = False, expires: int = INFINITE
    ) -> None:
        """Send messages; those with the same priority that last are a run."""
        numbers = range(self.sent + 1, self.sent + 1 + count)
        self.sent += count
        bodies, world = list(map(str, numbers)), self.world
        given: dict[str, Any] = {"expires": expires, "express": express}
        if self.is_transactional:
            given = {"expires": expires, "transactional": True}
        else:
            given["priority"] = number % 8
        new = [letter(str(own), number=own, **given) for own in numbers]

        def sent(_: object) -> None:
            if not express and expires == INFINITE:
                self.lasting.update(bodies)

        if self.is_transactional:
            begun = world.transactions.begin()
            world.enqueuer.send(self.queue, new, begun)
            self.expect(world.transactions.commit(begun), sent)
        else:
            self.expect(world.enqueuer.send(self.queue, new, None), sent)

    def do_send_group(self, number: int) -> None:
        self.send(number // 6, 2 + number % 6)

    def do_send_mortal(self, number: int) -> None:
        """A run that expires."""
        self.send(number // 6, 2 + number % 6, expires=int(self.world.now) + number)

    def do_send(self, number: int) -> None:
        self.send(number)

    def do_send_express(self, number: int) -> None:
        self.send(number, express=True)

    def do_send_expiring(self, number: int) -> None:
        self.send(number, expires=int(self.world.now) + number, express=number % 2 == 0)

    def do_receive(self, number: int) -> None:
        pending = self.world.receiver.receive(self.queue, 1 + number % 2, OWNER, wait=False)
        held = 1 + number % 2
        self.receiver += held

        def came(entries: list[Entry]) -> None:
            self.receiver -= held
            self.received += bodies(entries)
            self.back.append(entries)

        self.expect(pending, came)

    def do_put_back(self, number: int) -> None:
        """The one who received messages was gone before the answer."""
        if self.back:
            entries = self.back.pop()
            lost = bodies(entries)
            self.received = [body for body in self.received if body not in lost]
            self.unsure += len(lost)
            self.world.receiver.put_back(self.queue, entries)

    def do_take(self, number: int) -> None:
        """Someone takes messages and decides later."""
        holder = self.world.transactions.begin() if self.is_transactional else Holder()
        pending = self.world.receiver.receive(
            self.queue, 1 + number % 3, OWNER, wait=False, holder=holder
        )
        self.taken.append((holder, pending.result()))

    def do_commit_taken(self, number: int) -> None:
        if self.taken:
            holder, entries = self.taken.pop(number % len(self.taken))
            self.receiver += len(entries)

            def committed(_: object) -> None:
                self.receiver -= len(entries)
                self.received += bodies(entries)

            self.expect(self.decide(holder, entries, remove=True), committed)

    def do_abort_taken(self, number: int) -> None:
        if self.taken:
            holder, entries = self.taken.pop(number % len(self.taken))
            self.expect(self.decide(holder, entries, remove=False), lambda _: None)

    def decide(self, holder: Holder, entries: list[Entry], *, remove: bool) -> Future[None]:
        world = self.world
        if isinstance(holder, ManagedTransaction):
            decide = world.transactions.commit if remove else world.transactions.abort
            return decide(holder)
        lookups = [entry.lookup for entry in entries]
        return world.receiver.end(self.queue, ranges_of(lookups), holder, delete=remove)

    def do_move(self, number: int) -> None:
        self.move(self.queue, self.world.core.queues.subqueue(self.queue, "later"), number)

    def do_move_back(self, number: int) -> None:
        self.move(self.world.core.queues.subqueue(self.queue, "later"), self.queue, number)

    def move(self, queue: ManagedQueue, target: ManagedQueue, number: int) -> None:
        lookups = self.world.lookups(queue)
        if lookups:
            lookup = lookups[number % len(lookups)]
            self.expect(self.world.moves.move(queue, lookup, target), lambda _: None)

    def do_purge(self, number: int) -> None:
        self.is_purged = True
        self.expect(self.world.core.queue_lifecycle.purge(self.queue), lambda _: None)

    def do_tick(self, number: int) -> None:
        self.world.pass_time(number)

    def do_reserve(self, number: int) -> None:
        self.reserve(number, self.open[self.name_of(number)].reserved)

    def do_repeat(self, number: int) -> None:
        found = self.open[self.name_of(number)]
        self.reserve(number, found.committed + number % (1 + found.reserved - found.committed))

    def reserve(self, number: int, after: int) -> None:
        name = self.name_of(number)
        found = self.open[name]
        count, size_max = 1 + number % 7, 300 if number % 5 == 0 else MANY

        def reserved(end: int) -> None:
            if self.open[name] is found and not found.is_over:
                assert after <= end <= found.reserved
                assert end - after <= count
                done, before = self.promised[name]
                self.promised[name] = done, max(before, end)
                if found.committed <= after:
                    self.read_some(name, after, end, MANY)

        self.expect(self.reservations.reserve(found, after, count, size_max), reserved)

    def do_read(self, number: int) -> None:
        name = self.name_of(number)
        if not self.open[name].is_over:
            self.read_all(name)

    def do_finish(self, number: int, target: ManagedQueue | None = None) -> None:
        name = self.name_of(number)
        found = self.open[name]
        if found.is_over:
            return
        self.read_all(name)
        position, owner = number % (1 + found.reserved), found.owner
        if not owner:
            self.may_leave[name].update(range(1, position + 1))

        def finished(_: None) -> None:
            if self.open[name] is found and not found.is_over:
                assert found.committed >= position
                self.promised[name] = max(self.promised[name][0], position), found.reserved
                marked = {at for at in self.must_leave[name] if at <= position}
                assert not marked & self.rows(name)
                self.check_left(name)

        self.expect(self.reservations.commit(found, position, target, owner), finished)

    def do_bind(self, number: int) -> None:
        """It belongs to someone; at times someone takes over, or was there before."""
        name = self.name_of(number)
        found, owner = self.open[name], f"owner {number % 4}"
        read = number % (1 + found.reserved)
        if found.is_over:
            return
        if not found.owner:
            self.may_leave[name].update(range(1, read + 1))

        def bound(_: None) -> None:
            if self.open[name] is found and not found.is_over:
                self.see_owner(name)

        take_over = number // 4 % 2 == 0
        pending = bind(self.world.core, found, owner, take_over=take_over, read=read)
        self.binding[name].append((pending, owner))
        self.expect(pending, bound)

    def do_mark(self, number: int) -> None:
        """Its owner has read something."""
        name = self.name_of(number)
        found = self.open[name]
        if found.is_over or not found.owner or not found.reserved:
            return
        last = found.reserved - number % 3 if found.reserved > 2 else found.reserved
        after = max(0, last - 1 - number % 4)
        owner = found.owner
        pending = mark_read(self.world.core, found, owner, after, last)
        self.may_leave[name].update(range(after + 1, last + 1))

        def marked(_: None) -> None:
            if self.open[name] is found and found.owner == owner:
                self.must_leave[name].update(range(max(after, found.committed) + 1, last + 1))

        self.expect(pending, marked)

    def do_give_back(self, number: int) -> None:
        """What was done and not read is back in the queue."""
        name = self.name_of(number)
        found = self.open[name]
        if found.is_over:
            return
        self.quiesce()
        self.answer()
        unread = {at for at in self.rows(name) if at <= found.committed}
        assert self.world.done(self.reservations.give_back(found)) == len(unread)
        self.may_leave[name].update(unread)
        self.check_left(name)
        if NAMES[name] is SubscriptionMode.TAKE:
            for at in unread:
                del self.given[name][at]

    def do_finish_to(self, number: int) -> None:
        if not self.open["lake"].is_over:
            lake = list(self.names).index("lake")
            self.read_all("lake")
            self.moved.update(self.given["lake"].values())
            later = self.world.core.queues.subqueue(self.queue, "later")
            self.do_finish(number - number % len(self.names) + lake, later)

    def do_drop(self, number: int) -> None:
        """It ends, and another one with the same name begins."""
        name = self.name_of(number)
        found = self.open[name]
        if found.is_over:
            return
        self.quiesce()
        self.answer()
        waiting = {self.given[name][at] for at in self.rows(name)}
        assert self.world.done(self.reservations.drop(found)) == len(waiting)
        self.given[name] = {
            at: body for at, body in self.given[name].items() if body not in waiting
        }
        self.given[name] = {-self.sent - at: body for at, body in self.given[name].items()}
        if NAMES[name] is SubscriptionMode.COPY:
            self.given[name].clear()
        self.forget(name)
        self.open[name] = self.world.done(self.reservations.open(name, self.queue, NAMES[name]))

    def forget(self, name: str) -> None:
        """The subscription has ended."""
        self.promised[name] = 0, 0
        self.may_leave[name], self.must_leave[name] = set(), set()
        self.owner[name] = ""
        self.binding[name].clear()

    def do_delete(self, number: int) -> None:
        """The queue is deleted: what was given of it is there until it is done, then nothing is."""
        self.quiesce()
        self.answer()
        self.world.done(self.world.core.queue_lifecycle.delete(self.queue))
        if number % 2:
            self.world = self.world.restart()
            self.reservations = Reservations(self.world.core)
        for name in self.names:
            found = self.open[name] = self.reservations.find(name, "q")
            self.read_all(name)
            if found.committed < found.reserved:
                after = self.world.done(self.reservations.reserve(found, found.committed, 1, MANY))
                assert after == found.committed + 1
            with pytest.raises(QueueNotAvailable):
                self.world.done(self.reservations.reserve(found, found.reserved, 1, MANY))
            left = found.reserved - found.committed
            done = min(number % 3, left)
            self.world.done(
                self.reservations.commit(found, found.committed + done, owner=found.owner)
            )
            there = len(self.rows(name))
            assert self.world.done(self.reservations.drop(found)) == there >= left - done
        self.check_store()
        self.given = {name: {} for name in self.names}
        for name in self.names:
            self.forget(name)
        self.lasting.clear()
        self.received.clear()
        self.world.queue("q", transactional=self.is_transactional, journal=self.has_journal)
        self.start()

    def quiesce(self) -> None:
        """Commit until nothing is left to be committed, and read."""
        commit_all(self.world.core)
        for name in self.names:
            self.read_all(name)

    def do_commit(self, number: int) -> None:
        if self.world.core.wants_commit:
            self.world.commit()

    def do_fail(self, number: int) -> None:
        if self.world.core.wants_commit:
            self.unsure += self.receiver
            self.receiver = 0
            self.world.commit(StorageFailed("disk"))

    def do_restart(self, number: int) -> None:
        """The process dies with all that was not committed."""
        self.die(number)

    def do_crash(self, number: int) -> None:
        """It dies at a write, or after the commit and before anyone is notified."""
        self.world.store.fail_at(1 + number // 2, after=number % 2 == 0)
        with suppress(Crash):
            commit_all(self.world.core)
        self.die(number)

    def die(self, number: int) -> None:
        self.unsure += self.receiver
        self.world = self.world.restart(number % 3)
        self.start()

    def name_of(self, number: int) -> str:
        return list(self.names)[number % len(self.names)]

    # The end

    def end(self) -> None:
        """No one holds anything any longer, and all is read."""
        for holder, entries in self.taken:
            self.decide(holder, entries, remove=False)
        self.quiesce()
        self.answer()
        self.check_store()
        # Those first that leave the messages where they are.
        for name in reversed(list(self.names)):
            found = self.open[name]
            readable = self.world.bodies(self.queue)
            before = -1
            while before < found.reserved:
                before = found.reserved
                self.world.done(self.reservations.reserve(found, before, 2, MANY))
                self.read_all(name)
            given = list(self.given[name].values())
            again = self.moved if NAMES[name] is SubscriptionMode.TAKE else set()
            once = [body for body in given if body not in again]
            assert len(once) == len(set(once))
            assert set(readable) <= set(given)
        assert self.world.bodies(self.queue) == []
        self.check_fates()
        self.check_store()
        self.pass_on()
        self.check_store()

    def pass_on(self) -> None:
        """All are read by one owner, taken over and read in part by another, and finished."""
        for name, found in self.open.items():
            half = (found.committed + found.reserved) // 2
            for owner, last in (("first", found.reserved), ("second", half)):
                self.world.done(bind(self.world.core, found, owner, take_over=True))
                pending = mark_read(self.world.core, found, owner, found.committed, last)
                self.world.done(pending)
            self.owner[name] = "second"
            self.may_leave[name] |= set(range(found.committed + 1, half + 1))
            self.must_leave[name] = set(range(found.committed + 1, half + 1))
        self.die(0)
        for name, found in self.open.items():
            before = self.rows(name)
            self.world.done(self.reservations.commit(found, found.reserved, owner="second"))
            assert before - self.rows(name) == self.must_leave[name]
            self.check_left(name)

    def check_fates(self) -> None:
        """Each message ended once."""
        taken = set(self.given["lake"].values())
        self.received = [body for body in self.received if body not in self.moved]
        moved = set(self.world.bodies(self.world.core.queues.subqueue(self.queue, "later")))
        assert not taken.intersection(self.received)
        assert not moved.intersection(self.received)
        assert len(self.received) == len(set(self.received))
        if not self.is_purged:
            lost = self.lasting - taken - moved - set(self.received) - self.moved
            assert len(lost) <= self.unsure

    def check_store(self) -> None:
        """It fits together."""
        assert check_tables(self.world.store.snapshot, 0).findings == ()


def bodies(entries: list[Entry]) -> list[str]:
    return [PacketView(entry.packet).body.decode() for entry in entries]


def positions(found: DurableSubscription) -> list[int]:
    """What its owner has read."""
    return [at for at in range(found.committed + 1, found.reserved + 1) if at in found.read]


@examples(300)
@given(STEPS, st.booleans())
def test_what_was_given_is_given_again_and_nothing_twice_or_never(
    steps: list[tuple[str, int]], transactional: bool
) -> None:
    run = Run(transactional=transactional)
    for name, number in steps:
        run.do(name, number)
    run.end()


@examples(200)
@given(STEPS, st.booleans(), st.booleans())
def test_so_it_is_with_messages_in_runs(
    steps: list[tuple[str, int]], transactional: bool, alone: bool
) -> None:
    names = {"lake": SubscriptionMode.TAKE} if alone else NAMES
    run = Run(transactional=transactional, first=9, names=names)
    for name, number in steps:
        run.do(name, number)
    run.end()


LIFE: Final = (
    *(("reserve", 2), ("commit", 0), ("send_group", 22), ("commit", 0)),
    *(("reserve", 4), ("commit", 0), ("commit", 0), ("receive", 1), ("commit", 0)),
    *(("bind", 3), ("commit", 0), ("mark", 0), ("commit", 0)),
    *(("finish", 2), ("commit", 0), ("move", 1), ("commit", 0), ("take", 2)),
    *(("reserve", 6), ("commit", 0), ("commit", 0), ("abort_taken", 0), ("commit", 0)),
    *(("mark", 3), ("finish", 7), ("commit", 0), ("commit", 0)),
    *(("finish_to", 11), ("commit", 0), ("commit", 0)),
)
"What subscriptions do with messages in runs: reserve, read, remove, move, while others take some."


def live(run: Run) -> None:
    """All of it, to the last commit."""
    for name, number in LIFE:
        run.do(name, number)
    run.quiesce()
    run.answer()


@pytest.mark.slow
@pytest.mark.parametrize("transactional", [True, False])
@pytest.mark.parametrize(("way", "step"), [("alone", 1), ("with copies", 5)])
def test_a_crash_at_any_write_of_messages_in_runs(way: str, step: int, transactional: bool) -> None:
    names = {"lake": SubscriptionMode.TAKE} if way == "alone" else NAMES
    given: dict[str, Any] = {"transactional": transactional, "first": 9, "names": names}
    whole = Run(**given)
    store = whole.world.store
    before, commit, commits = store.writes, store.commit, []

    def count() -> None:
        commit()
        commits.append(store.writes - before)

    store.commit = count  # type: ignore[method-assign]
    live(whole)
    writes = range(1, commits[-1] + 1)
    crashes = [(write, False) for write in writes] + [(write, True) for write in commits]
    for write, after in crashes[::step]:
        run = Run(**given)
        run.world.store.fail_at(write, after=after)
        with pytest.raises(Crash):
            live(run)
        run.die(write)
        run.end()
