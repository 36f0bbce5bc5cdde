"""What a session has sent, and what of it is acknowledged together."""

from __future__ import annotations

from tests.unit.engine.office import Manager
from tests.unit.engine.world import PARTNER

from openmsmq.engine.outgoing.sent import (
    SentToken,
    entry_tokens,
    flags_in,
    hold_sent,
    parts_of,
    size_of,
    slice_tokens,
)
from openmsmq.engine.queues.entry import Entry
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.engine.queues.slices import Part, RunSlice, lookups_of
from openmsmq.engine.storage.layout import Owed
from openmsmq.types.message import Message


def taken() -> tuple[ManagedQueue, list[Part], list[SentToken]]:
    """A single message, a run of eight, and a single one; and their tokens."""
    manager = Manager()
    queue = manager.open(r"DIRECT=OS:there\private$\q")
    manager.send(queue, Message(b"first"))
    manager.send_in(queue, *[Message(b"x" * n) for n in range(8)])
    manager.send(queue, Message(b"last", priority=0))
    sent: list[Part] = []
    while parts := manager.local.dispatcher.take_parts(queue, 100, 1 << 20, PARTNER):
        sent += parts
    tokens: list[SentToken] = []
    for part in sent:
        is_run = isinstance(part, RunSlice)
        tokens += slice_tokens(queue, part) if is_run else entry_tokens(queue, [part])  # type: ignore[arg-type,list-item] # is_run
    return queue, sent, tokens


def test_messages_that_are_acknowledged_together_leave_as_they_were_taken() -> None:
    queue, sent, tokens = taken()
    [(of, parts)] = parts_of(tokens)
    assert of is queue
    assert [type(part) for part in parts] == [type(part) for part in sent]
    assert lookups_of(parts) == lookups_of(sent) == [lookup for _, _, lookup in tokens]
    assert size_of(parts) == size_of(sent)


def test_what_was_not_acknowledged_cuts_a_run() -> None:
    _, _, tokens = taken()
    del tokens[3]
    [(_, parts)] = parts_of(tokens)
    assert [len(part) for part in parts if isinstance(part, RunSlice)] == [2, 5]
    assert lookups_of(parts) == [lookup for _, _, lookup in tokens]


def test_one_that_was_sent_again_is_acknowledged_as_often() -> None:
    """A run in the same acknowledgement changes nothing."""
    queue, sent, tokens = taken()
    entry = sent[0]
    assert isinstance(entry, Entry)
    again = entry_tokens(queue, [entry, Entry(*entry)])
    [(_, parts)] = parts_of([*again, *tokens])
    assert lookups_of(parts) == [entry.lookup, entry.lookup, *lookups_of(sent)]
    assert size_of(parts) == size_of(sent) + 2 * len(entry.packet)


def test_messages_of_two_queues_are_apart() -> None:
    _, _, tokens = taken()
    other, _, more = taken()
    assert [queue for queue, _ in parts_of([*tokens, *more])] == [tokens[0][0], other]


def test_what_is_owed_is_that_of_the_run() -> None:
    _, sent, _ = taken()
    assert [flags_in(part) & Owed.TRANSACTIONAL for part in sent] == [0, Owed.TRANSACTIONAL, 0]


def test_what_is_acknowledged_twice_is_given_out_once() -> None:
    """Until the first is committed, the second finds nothing, singles and slices alike."""
    queue, _, tokens = taken()
    [(_, parts)] = parts_of(tokens)
    held = len(queue.holds)
    assert lookups_of(hold_sent(queue, parts)) == [
        at
        for part in sorted(parts, key=lambda part: isinstance(part, RunSlice))
        for at in lookups_of([part])
    ]
    assert len(queue.holds) == held, "they are leaving, and no reader takes them"
    assert hold_sent(queue, parts) == []
