"""Outgoing sequences."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

import pytest
from tests.unit.engine.station import Station, places
from tests.unit.engine.world import NOW, PARTNER, World, letter

from openmsmq.engine.outgoing import sequences
from openmsmq.engine.outgoing.sequence_numbers import (
    is_finished,
    needs_sequence,
)
from openmsmq.engine.outgoing.sequences import (
    OUTGOING,
    SENT_STEP,
    OutgoingSequence,
    SentStarts,
    Sequences,
)
from openmsmq.engine.storage.layout import lookup_id
from openmsmq.engine.storage.tables import Table
from openmsmq.limits import U32_MAX
from openmsmq.packet.headers.transaction import TxSequenceID
from openmsmq.store.memory import MemoryStore


def sent(station: Station, *bodies: str, start: int = 1) -> None:
    """Messages are sent in a transaction."""
    station.world.send_in(
        station.out,
        *(letter(body, number=start + at, transactional=True) for at, body in enumerate(bodies)),
    )


@pytest.fixture
def station() -> Station:
    return Station()


def test_a_number_and_a_lookup_identifier_say_the_same() -> None:
    sequence = OutgoingSequence(NOW, ordinal=3, queue=9, first=100)
    assert sequence.number(lookup_id(0, 100)) == 1
    assert sequence.number(lookup_id(0, 107)) == 8
    assert sequence.lookup(8) == lookup_id(0, 107)


def test_the_first_sequence_is_as_old_as_its_first_message(station: Station) -> None:
    """MQQB-257."""
    station.world.tick(30)
    sent(station, "1")
    (sequence,) = station.out.sequences.all
    assert sequence.identifier == TxSequenceID(1, NOW + 30)


def test_numbers_begin_at_one_and_each_names_the_one_before(station: Station) -> None:
    """MQQB-081, MQQB-256: the first message has none before it."""
    sent(station, "1", "2", "3")
    assert places(station.pump()) == [(1, 1, 0), (1, 2, 1), (1, 3, 2)]


def test_messages_of_other_queues_leave_gaps_that_previous_numbers_close(station: Station) -> None:
    """AMB-27."""
    sent(station, "1")
    station.world.send(station.world.queue("local"), letter("elsewhere"))
    sent(station, "2", start=2)
    assert places(station.pump()) == [(1, 1, 0), (1, 3, 1)]


def test_a_message_keeps_its_number_through_restarts(station: Station) -> None:
    """MQQB-258, MQQB-259: what the receiver has got already it can tell."""
    sent(station, "1", "2")
    before = places(station.pump())
    again = station.restart(seconds=60)
    assert places(again.pump()) == before
    assert [item.time_stamp for item in again.out.sequences.all] == [NOW]
    assert places(again.restart(60).pump()) == before


def test_a_new_run_begins_a_new_sequence_with_a_greater_identifier(station: Station) -> None:
    """DMPR-094, MQQB-257: identifiers only grow."""
    sent(station, "1")
    again = station.restart()
    sent(again, "2", start=2)
    assert [item.ordinal for item in again.out.sequences.all] == [1, 2]


def test_a_row_of_a_queue_that_is_gone_is_passed_over() -> None:
    world = World()
    OutgoingSequence(NOW, 7, 99, 1).write(world.store.begin())
    world.store.commit()
    assert not any(queue.sequences.all for queue in world.restart().core.queues.everything)


def test_what_is_sent_again_names_the_last_that_was_acknowledged() -> None:
    """MQQB-262, AMB-27."""
    sequences = Sequences()
    sequence = OutgoingSequence(NOW, 1, 9, 1)
    sequences.begin(sequence)
    assert sequences.follow(sequence, [1, 2, 5]) == [0, 1, 2]
    sequences.acknowledged(sequence, 1)
    sequences.acknowledged(sequence, 2)
    sequences.start_over()
    assert sequences.follow(sequence, [5, 6]) == [2, 5]
    assert not sequences.is_set_back(sequence, 2, 5)


def test_what_is_sent_to_a_receiver_that_was_restored_follows_what_it_knows() -> None:
    """It has acknowledged more, which is gone here: it would wait for that for ever (AMB-27)."""
    sequences = Sequences()
    sequence = OutgoingSequence(NOW, 1, 9, 1)
    sequences.begin(sequence)
    sequences.follow(sequence, [1, 2, 3, 4, 5, 6])
    sequences.acknowledged(sequence, 4)
    sequences.acknowledged(sequence, 2)
    sequences.start_over()
    assert sequences.follow(sequence, [5, 6]) == [2, 5]
    assert sequences.is_set_back(sequence, 2, 5)
    sequences.acknowledged(sequence, 5)
    sequences.start_over()
    assert sequences.follow(sequence, [6]) == [5]
    assert not sequences.is_set_back(sequence, 5, 6)


def test_no_message_names_itself_or_a_later_one_as_the_one_before_it() -> None:
    """It was acknowledged, but could not be removed; the receiver may be restored meanwhile."""
    sequences = Sequences()
    sequence = OutgoingSequence(NOW, 1, 9, 1)
    sequences.begin(sequence)
    assert sequences.follow(sequence, [1, 3, 5]) == [0, 1, 3]
    sequences.acknowledged(sequence, 5)
    sequences.start_over()
    assert sequences.follow(sequence, [3, 5, 9]) == [0, 3, 5]
    sequences.start_over()
    assert sequences.follow(sequence, [3, 9, 10]) == [0, 5, 9]


def test_what_was_acknowledged_is_looked_for_again_only_if_it_was_sent_again() -> None:
    """Receivers repeat their acknowledgements: the messages leave already."""
    sequences = Sequences()
    sequence = OutgoingSequence(NOW, 1, 9, 1)
    sequences.begin(sequence)
    sequences.follow(sequence, [1, 2, 3, 4])
    assert sequences.acknowledged(sequence, 2) == 1
    assert sequences.acknowledged(sequence, 2) == 3
    assert sequences.acknowledged(sequence, 3) == 3
    sequences.start_over()
    sequences.follow(sequence, [4])
    assert sequences.acknowledged(sequence, 3) == 4
    sequences.start_over()
    sequences.follow(sequence, [2, 4])
    assert sequences.acknowledged(sequence, 3) == 1
    assert sequences.acknowledged(sequence, 4) == 4
    sequences.look_again()
    assert sequences.acknowledged(sequence, 4) == 1


def test_a_new_sequence_knows_nothing_of_the_one_before() -> None:
    """AMB-35."""
    sequences = Sequences()
    old, new = OutgoingSequence(NOW, 1, 9, 1), OutgoingSequence(NOW, 2, 9, 50)
    sequences.begin(old)
    sequences.follow(old, [8])
    sequences.acknowledged(old, 9)
    sequences.begin(new)
    assert sequences.follow(new, [1]) == [0]
    sequences.acknowledged(new, 1)
    sequences.start_over()
    assert sequences.follow(new, [2]) == [1]


def test_each_message_belongs_to_the_sequence_it_came_in() -> None:
    sequences = Sequences([OutgoingSequence(NOW, 1, 9, 10), OutgoingSequence(NOW, 2, 9, 20)])
    one, two = sequences.all
    assert [sequences.of(lookup_id(0, at)) for at in (9, 10, 19, 20)] == [None, one, one, two]
    assert sequences.range_of(one) == (lookup_id(0, 10), lookup_id(0, 20))
    assert sequences.range_of(two)[0] == lookup_id(0, 20)
    assert sequences.range_of(two)[1] > lookup_id(0, 1 << 55)


def test_after_the_newest_has_ended_another_begins() -> None:
    """MQQB-271, MQQB-272."""
    queue = Station().out
    sequences = queue.sequences
    assert needs_sequence(queue, 1)
    one, two = OutgoingSequence(NOW, 1, 9, 10), OutgoingSequence(NOW, 2, 9, 20)
    sequences.begin(one)
    sequences.begin(two)
    sequences.end(one)
    assert not needs_sequence(queue, 30)
    sequences.end(two)
    assert needs_sequence(queue, 30)


def test_one_that_could_not_be_ended_is_in_its_place_and_takes_no_more() -> None:
    queue = Station().out
    sequences = queue.sequences
    one, two = OutgoingSequence(NOW, 1, 9, 10), OutgoingSequence(NOW, 2, 9, 20)
    sequences.begin(one)
    sequences.begin(two)
    sequences.end(two)
    sequences.end(one)
    sequences.restore(two)
    sequences.restore(one)
    assert sequences.all == [one, two]
    assert needs_sequence(queue, 30)


def test_numbers_do_not_go_beyond_32_bits() -> None:
    queue = Station().out
    queue.sequences.begin(OutgoingSequence(NOW, 1, 9, 10))
    assert not needs_sequence(queue, 10 + U32_MAX - 1)
    assert needs_sequence(queue, 10 + U32_MAX)


def test_a_sequence_is_over_when_none_of_its_messages_is_left(station: Station) -> None:
    sent(station, "1", "2")
    (sequence,) = station.out.sequences.all
    assert not is_finished(station.core.snapshot, station.out, sequence)
    other = replace(sequence, first=sequence.first + 2)
    assert is_finished(station.core.snapshot, station.out, other)


def test_a_message_without_a_transaction_has_no_sequence(station: Station) -> None:
    station.world.send(station.out, letter("1"))
    assert not station.out.sequences.all
    assert not station.rows(OUTGOING)


def test_the_rows_go_with_the_queue(station: Station) -> None:
    sent(station, "1")
    queue = station.out
    assert len(station.rows(OUTGOING)) == 1
    station.world.done(station.core.queue_lifecycle.purge(queue))
    assert queue.deleted
    assert not station.rows(OUTGOING)


def test_a_sequence_begins_only_if_the_commit_succeeds(station: Station) -> None:
    world = station.world
    transaction = world.transactions.begin()
    queue = station.out
    world.done(world.enqueuer.send(queue, [letter("1", transactional=True)], transaction))
    pending = world.transactions.commit(transaction)
    world.commit(OSError("disk"))
    assert pending.error is not None
    assert not queue.sequences.all
    assert not station.rows(OUTGOING)


# What is kept


def test_what_is_stored_of_a_sequence_can_be_read() -> None:
    store = MemoryStore()
    sequence = OutgoingSequence(NOW, 7, 99, 1 << 40, 3 * SENT_STEP, (PARTNER, UUID(int=5)))
    sequence.write(store.begin())
    store.commit()
    ((key, row),) = store.committed.tables[Table.TRANSFER].items()
    found = OutgoingSequence.unpack(key, row)
    assert (found.id, found.queue, found.first) == (sequence.id, 99, 1 << 40)
    assert (found.sent, found.peers) == (sequence.sent, sequence.peers)
    with pytest.raises(ValueError, match="bytes"):
        OutgoingSequence.unpack(key, row[:-1])


# How far a sequence can be acknowledged


def test_in_this_run_only_what_was_sent_can_be_acknowledged() -> None:
    sequences = Sequences()
    sequence = OutgoingSequence(NOW, 1, 9, 1)
    sequences.begin(sequence)
    assert sequences.limit(sequence) == 0
    sequences.follow(sequence, [3])
    sequences.start_over()
    assert sequences.limit(sequence) == 3


def test_a_sequence_of_an_earlier_run_was_sent_as_far_as_the_disk_says() -> None:
    sequence = OutgoingSequence(NOW, 1, 9, 1, sent=2 * SENT_STEP)
    sequences = Sequences([sequence])
    assert sequences.limit(sequence) == 2 * SENT_STEP
    sequences.follow(sequence, [2 * SENT_STEP + 1])
    assert sequences.limit(sequence) == 2 * SENT_STEP + 1


# Identifiers


def test_what_was_sent_is_named_once_by_its_start() -> None:
    starts = SentStarts()
    starts.keep([1, 2, 3], [b"a" * 100, b"b" * 60, b"c" * 60])
    assert starts.take([1, 2]) == [b"a" * 60, b"b" * 60]
    assert starts.take([2, 3]) is None  # one of them is not known any longer
    assert starts.take([]) == []


def test_only_so_many_starts_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sequences, "STARTS_MAX", 4)
    starts = SentStarts()
    packets = [letter * 60 for letter in (b"a", b"b", b"c", b"d", b"e")]
    starts.keep([1, 2, 3], packets[:3])
    starts.keep([4, 5], packets[3:])
    assert starts.take([1]) is starts.take([2]) is None
    assert starts.take([3, 4, 5]) == packets[2:]


def test_acknowledgements_of_one_number_are_counted() -> None:
    sequence, found = OutgoingSequence(NOW, 3, 9, 100), Sequences()
    for number, now in ((5, NOW), (7, NOW + 1), (7, NOW + 2), (6, NOW + 3)):
        found.note_ack(sequence, number, now)
    last = found.last_ack
    assert last is not None
    assert (last.number, last.previous, last.time, last.count) == (7, 5, NOW + 2, 2)


def test_the_first_acknowledgement_of_a_sequence_has_none_before_it() -> None:
    found = Sequences()
    for identifier in (3, 4):
        sequence = OutgoingSequence(NOW, identifier, 9, 100)
        found.note_ack(sequence, 6, NOW)
        last = found.last_ack
        assert last is not None
        assert (last.sequence, last.number, last.previous, last.count) == (sequence.id, 6, 0, 1)
        found.note_ack(sequence, 8, NOW)
