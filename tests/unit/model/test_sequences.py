"""Outgoing sequences."""

from __future__ import annotations

import pytest
from tests.unit.model.station import Station, places
from tests.unit.model.world import NOW, World, letter

from openmsmq.model.layout import lookup_id
from openmsmq.model.sequences import (
    NUMBER_MAX,
    OUTGOING,
    SEQUENCE_KEY,
    OutgoingSequence,
    SequenceNumbers,
    Sequences,
    is_finished,
    needs_sequence,
)
from openmsmq.model.storage import Table
from openmsmq.packet.transaction import TxSequenceID


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
    sequence = OutgoingSequence(ordinal=3, queue=9, first=100)
    assert sequence.number(lookup_id(0, 100)) == 1
    assert sequence.number(lookup_id(0, 107)) == 8
    assert sequence.lookup(8) == lookup_id(0, 107)


def test_the_first_sequence_is_number_one_and_as_old_as_the_store(station: Station) -> None:
    """MQQB-257."""
    sent(station, "1")
    (sequence,) = station.out.sequences.all
    identifier = station.core.numbers.sequences.identifier(sequence)
    assert identifier == TxSequenceID(1, NOW)


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
    assert again.core.numbers.sequences.time_stamp == NOW
    assert places(again.restart(60).pump()) == before


def test_a_new_run_begins_a_new_sequence_with_a_greater_identifier(station: Station) -> None:
    """DMPR-094, MQQB-257: identifiers only grow."""
    sent(station, "1")
    again = station.restart()
    sent(again, "2", start=2)
    assert [item.ordinal for item in again.out.sequences.all] == [1, 2]


def test_the_time_stamp_is_the_same_at_every_start_though_nothing_was_sent() -> None:
    """MQQB-257: sequences from an older format have no other that would keep it."""
    world = World()
    assert world.restart(99).core.numbers.sequences.time_stamp == NOW


def test_a_store_without_the_row_goes_on_behind_its_sequences() -> None:
    world = World()
    writer = world.store.begin()
    OutgoingSequence(7, 99, 1).write(writer)
    OutgoingSequence(8, 99, 5).write(writer)
    writer.delete(Table.META, SEQUENCE_KEY)
    world.store.commit()
    world.store.refresh()
    numbers = SequenceNumbers(world.store.snapshot, 5)
    assert (numbers.ordinal, numbers.time_stamp) == (8, 5)


def test_a_row_of_a_queue_that_is_gone_is_passed_over() -> None:
    world = World()
    OutgoingSequence(7, 99, 1).write(world.store.begin())
    world.store.commit()
    assert not any(queue.sequences.all for queue in world.restart().core.queues.everything)


def test_what_is_sent_again_names_the_last_that_was_acknowledged() -> None:
    """MQQB-262, AMB-27."""
    sequences = Sequences()
    sequence = OutgoingSequence(1, 9, 1)
    sequences.begin(sequence)
    assert [sequences.follow(sequence, number) for number in (1, 2, 5)] == [0, 1, 2]
    sequences.acknowledged(sequence, 2)
    sequences.acknowledged(sequence, 1)
    sequences.start_over()
    assert [sequences.follow(sequence, number) for number in (5, 6)] == [2, 5]


def test_no_message_names_itself_or_a_later_one_as_the_one_before_it() -> None:
    """A receiver may acknowledge what it should not."""
    sequences = Sequences()
    sequence = OutgoingSequence(1, 9, 1)
    sequences.begin(sequence)
    sequences.acknowledged(sequence, 99)
    assert sequences.follow(sequence, 4) == 3


def test_a_new_sequence_knows_nothing_of_the_one_before() -> None:
    """AMB-35."""
    sequences = Sequences()
    old, new = OutgoingSequence(1, 9, 1), OutgoingSequence(2, 9, 50)
    sequences.begin(old)
    sequences.follow(old, 8)
    sequences.acknowledged(old, 9)
    sequences.begin(new)
    assert sequences.follow(new, 1) == 0
    sequences.acknowledged(new, 1)
    sequences.start_over()
    assert sequences.follow(new, 2) == 1


def test_each_message_belongs_to_the_sequence_it_came_in() -> None:
    sequences = Sequences([OutgoingSequence(1, 9, 10), OutgoingSequence(2, 9, 20)])
    one, two = sequences.all
    assert [sequences.of(lookup_id(0, at)) for at in (9, 10, 19, 20)] == [None, one, one, two]
    assert (sequences.find(1), sequences.find(2), sequences.find(3)) == (one, two, None)
    assert sequences.range_of(one) == (lookup_id(0, 10), lookup_id(0, 20))
    assert sequences.range_of(two)[0] == lookup_id(0, 20)
    assert sequences.range_of(two)[1] > lookup_id(0, 1 << 55)


def test_after_the_newest_has_ended_another_begins() -> None:
    """MQQB-271, MQQB-272."""
    queue = Station().out
    sequences = queue.sequences
    assert needs_sequence(queue, 1)
    one, two = OutgoingSequence(1, 9, 10), OutgoingSequence(2, 9, 20)
    sequences.begin(one)
    sequences.begin(two)
    sequences.end(one)
    assert not needs_sequence(queue, 30)
    sequences.end(two)
    assert needs_sequence(queue, 30)


def test_one_that_could_not_be_ended_is_in_its_place_and_takes_no_more() -> None:
    queue = Station().out
    sequences = queue.sequences
    one, two = OutgoingSequence(1, 9, 10), OutgoingSequence(2, 9, 20)
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
    queue.sequences.begin(OutgoingSequence(1, 9, 10))
    assert not needs_sequence(queue, 10 + NUMBER_MAX - 1)
    assert needs_sequence(queue, 10 + NUMBER_MAX)


def test_a_sequence_is_over_when_none_of_its_messages_is_left(station: Station) -> None:
    sent(station, "1", "2")
    (sequence,) = station.out.sequences.all
    assert not is_finished(station.core.snapshot, station.out, sequence)
    other = sequence._replace(first=sequence.first + 2)
    assert is_finished(station.core.snapshot, station.out, other)


def test_a_message_without_a_transaction_has_no_sequence(station: Station) -> None:
    station.world.send(station.out, letter("1"))
    assert not station.out.sequences.all
    assert not station.rows(OUTGOING)


def test_the_rows_go_with_the_queue(station: Station) -> None:
    sent(station, "1")
    queue = station.out
    assert len(station.rows(OUTGOING)) == 1
    station.world.done(station.core.queues.purge(queue))
    assert queue.deleted
    assert not station.rows(OUTGOING)


def test_a_sequence_begins_only_if_the_commit_succeeds(station: Station) -> None:
    world = station.world
    transaction = world.transacting.begin()
    queue = station.out
    world.done(world.sending.send(queue, [letter("1", transactional=True)], transaction))
    pending = world.transacting.commit(transaction)
    world.commit(OSError("disk"))
    assert pending.error is not None
    assert not queue.sequences.all
    assert not station.rows(OUTGOING)
