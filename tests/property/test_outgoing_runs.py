"""Runs of outgoing queues: sent, acknowledged, given up and removed as each message alone would be.

The same is done to a manager that keeps no runs in outgoing queues, which is the reference.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final
from unittest.mock import patch

from hypothesis import event, given
from hypothesis import strategies as st
from tests.strategies.queue_check import check_tables
from tests.unit.engine.office import Manager
from tests.unit.engine.outgoing.test_encryption import encryptor
from tests.unit.engine.world import PARTNER, commit_all

from openmsmq.engine.commit import run_rows
from openmsmq.engine.commit.batch import Batch
from openmsmq.engine.messages import expiry_sweep
from openmsmq.engine.outgoing import confirmations
from openmsmq.engine.outgoing.sent import (
    SentToken,
    entry_tokens,
    flags_in,
    parts_of,
    slice_tokens,
)
from openmsmq.engine.outgoing.sequences import LOOKUP_BASE
from openmsmq.engine.queues import purge
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.engine.queues.slices import RunSlice, expanded
from openmsmq.engine.storage.layout import Owed
from openmsmq.engine.storage.tables import Table
from openmsmq.properties.message import MessageClass
from openmsmq.types.message import Message
from openmsmq.types.queues import QueueKind

THERE: Final = r"DIRECT=OS:there\private$\q"
LOCAL: Final = (QueueKind.PRIVATE, QueueKind.PUBLIC)
"Queues that keep runs in the reference."
PATIENT: Final = 1000
SHORT: Final = 100
"Lifetimes in seconds."


class Side:
    """A manager with an outgoing queue, and what its transport has taken."""

    def __init__(self, *, keeps_runs: bool) -> None:
        self.keeps_runs = keeps_runs
        self.ids: list[str] = []
        self._begin(Manager())

    def _begin(self, manager: Manager) -> None:
        self.manager = manager
        self.local = manager.local
        self.local.encryptor = encryptor()
        self.local.encryptor.encrypts_direct = True
        self.local.encryptor.key_lifetime = PATIENT
        self.taken: list[SentToken] = []
        self.queue = manager.open(THERE)
        self.local.dispatcher.pause(self.queue)  # so that it stays when it is empty
        self.local.dispatcher.resume(self.queue)

    @contextmanager
    def going(self) -> Iterator[None]:
        """While something is done."""
        kinds = run_rows._KINDS if self.keeps_runs else LOCAL
        with patch.object(run_rows, "_KINDS", kinds):
            yield
            commit_all(self.local)

    @property
    def out(self) -> ManagedQueue:
        """The queue, which comes and goes by itself."""
        self.queue = self.manager.open(THERE)
        return self.queue

    # What is done

    def send(self, sizes: list[int], options: dict[str, Any], how: str) -> None:
        messages = [Message(bytes(size), **options) for size in sizes]
        if how == "plain":
            self.ids += self.manager.send(self.out, *messages)
            return
        transaction = self.local.begin()
        for start in range(0, len(messages), 5):
            part = messages[start : start + 5]
            self.ids += self.manager.send(self.out, *part, transaction=transaction)
        end = self.local.abort if how == "abort" else self.local.commit
        self.manager.done(end(transaction))

    def take(self, count: int, size: int) -> list[tuple[int, bytes]]:
        found = self.local.dispatcher.take_parts(self.out, count, size, PARTNER)
        for part in found:
            if isinstance(part, RunSlice):
                self.taken += slice_tokens(self.queue, part)
            else:
                self.taken += entry_tokens(self.queue, [part])
        return [(entry.lookup, entry.packet) for entry in expanded(found)]

    def deliver(self, start: int, count: int) -> None:
        plain = [token for token in self.taken if not flags_in(token[1]) & Owed.TRANSACTIONAL]
        for _, parts in parts_of(plain[start : start + count]):
            self.local.dispatcher.delivered(self.out, parts, "there")

    def refuse(self, start: int, count: int) -> None:
        for _, parts in parts_of(self.taken[start : start + count]):
            self.local.dispatcher.refused(self.out, parts)

    def acknowledge(self, place: int) -> None:
        sent = [lookup for _, _, lookup in self.taken if lookup >= LOOKUP_BASE]
        if not sent:
            return
        lookup = sent[place % len(sent)]
        sequence = self.out.sequences.of(lookup)
        if sequence is not None:
            acknowledged = self.local.confirmations.acknowledged
            acknowledged(self.queue, sequence, sequence.number(lookup))

    def fail(self, place: int) -> None:
        """The last word about one of them: it was not accepted."""
        sent = [token for token in self.taken if token[2] >= LOOKUP_BASE]
        if not sent:
            return
        _, part, lookup = sent[place % len(sent)]
        packets = {entry.lookup: entry.packet for entry in expanded([part])}
        sequence = self.out.sequences.of(lookup)
        after: list[Any] = []

        def apply(batch: Batch) -> None:
            if sequence is None:
                return
            number = sequence.number(lookup)
            identifier = int.from_bytes(packets[lookup][56:60], "little")
            find = self.local.confirmations.find
            found = find(batch, self.queue, sequence, number, identifier)
            if found is not None:
                reason = MessageClass.NACK_RECEIVE_REJECTED
                self.local.confirmations.confirm(batch, found, reason, after)

        def committed() -> None:
            for call in after:
                call()

        self.local.submit(apply, committed, lambda error: None)

    def take_back(self) -> None:
        self.local.dispatcher.take_back(self.out)

    def take_back_ordered(self) -> None:
        self.local.dispatcher.take_back_transactional(self.out)

    def purge(self) -> None:
        self.local.queue_lifecycle.purge(self.out)

    def wait(self, seconds: int) -> None:
        self.manager.tick(seconds)
        while not self.local.expiry.seconds_left:  # a run may have been taken apart meanwhile
            self.manager.tick()

    def restart(self) -> None:
        self._begin(self.manager.restart(1))

    # What can be seen

    def state(self) -> object:
        """All that people and transports can see."""
        queue, local = self.out, self.local
        readable = [message.packet for message in self.manager.peek(queue)]
        letters = [
            message.packet
            for dead in (local.queues.dead_letter, local.queues.transactional_dead_letter)
            for message in self.manager.peek(dead)
        ]
        lives = [local.explain(identifier) for identifier in self.ids]
        counts = queue.messages, queue.size, queue.totals, local.dispatcher.in_transit(queue)
        sequences = [(item.id, item.first) for item in queue.sequences.all]
        first = local.dispatcher.first(queue)
        seconds = local.expiry.seconds_left
        return readable, letters, lives, counts, sequences, first, seconds


lifetimes = st.sampled_from([{}, {}, {"time_to_reach_queue": SHORT}, {"time_to_be_received": 200}])
unusual = st.sampled_from(
    [{}] * 5 + [{"dead_letter": True}, {"priority": 5}, {"journal": True}, {"encrypt": True}]
)
sends = st.tuples(
    st.just("send"),
    st.lists(st.just(20), min_size=4, max_size=12)
    | st.lists(st.sampled_from([20, 20, 20, 21, 900]), min_size=1, max_size=12),
    st.builds(lambda one, two: one | two | {"recoverable": True}, lifetimes, unusual),
    st.sampled_from(["plain", "plain", "commit", "commit", "abort"]),
)
places = st.integers(0, 20)
others = st.one_of(
    st.tuples(st.just("take"), st.integers(1, 12), st.sampled_from([1, 900, 1 << 20])),
    st.tuples(st.just("deliver"), st.integers(0, 3), st.integers(1, 12)),
    st.tuples(st.just("refuse"), places, st.integers(1, 3)),
    st.tuples(st.just("acknowledge"), places),
    st.tuples(st.just("acknowledge"), places),
    st.tuples(st.just("fail"), places),
    st.tuples(st.sampled_from(["take_back", "take_back_ordered"])),
    st.tuples(st.just("purge")),
    st.tuples(st.just("wait"), st.sampled_from([1, 61, SHORT, PATIENT])),
    st.tuples(st.just("restart")),
)
plain = st.tuples(
    st.just("send"),
    st.lists(st.sampled_from([20, 20, 300]), min_size=5, max_size=15),
    st.builds(
        lambda one, encrypt: one | {"recoverable": True, "encrypt": encrypt},
        lifetimes,
        st.booleans(),
    ),
    st.sampled_from(["plain", "commit"]),
)
takes = st.tuples(st.just("take"), st.integers(1, 12), st.just(1 << 20))


def do(side: Side, step: tuple[Any, ...]) -> object:
    """One step, and what it shows."""
    name, *values = step
    with side.going():
        return getattr(side, name)(*values)


@given(plain, st.lists(sends | takes | others | others, min_size=3, max_size=14))
def test_runs_of_outgoing_queues_are_like_their_messages(
    first: tuple[Any, ...], steps: list[tuple[Any, ...]]
) -> None:
    step = patch.object(confirmations, "STEP", 7), patch.object(purge, "STEP", 5)
    with step[0], step[1], patch.object(expiry_sweep, "STEP", 3):
        sides = Side(keeps_runs=True), Side(keeps_runs=False)
        steps = [first, *steps, ("take_back",), ("wait", 5 * 24 * 3600)]
        for number, one in enumerate(steps):
            found = [do(side, one) for side in sides]
            assert found[0] == found[1], (number, one)
            states = [side.state() for side in sides]
            assert states[0] == states[1], (number, one)
            check_tables(sides[0].local.snapshot)
            if next(sides[0].local.snapshot.scan(Table.RUNS, b"", b"\xff" * 12), None):
                event(f"{one[0]} with runs")
        for side in sides:
            assert side.out.messages == 0
