"""What is known of messages in streams that were sent, whatever transport says so."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.unit.engine.station import Station
from tests.unit.engine.world import ME, NOW, PARTNER, commit_all, letter

from openmsmq.engine.commit.batch import Batch
from openmsmq.engine.outgoing.confirmations import _others
from openmsmq.engine.outgoing.sequences import OUTGOING
from openmsmq.engine.queues.slices import RunSlice
from openmsmq.engine.storage.history import Event
from openmsmq.engine.storage.runs import record_of
from openmsmq.engine.storage.tables import Table
from openmsmq.errors import StorageFailed
from openmsmq.properties.message import MessageClass


@pytest.fixture
def station() -> Station:
    """A manager that has sent three messages in order."""
    found = Station()
    letters = [letter(str(n), number=n, transactional=True, dead_letter=n == 3) for n in (1, 2, 3)]
    found.world.send_in(found.out, *letters)
    found.pump()
    return found


def test_messages_up_to_a_number_leave(station: Station) -> None:
    queue = station.out
    assert station.confirmations.acknowledged(queue, queue.sequences.all[0], 2)
    commit_all(station.core)
    assert (queue.messages, station.unconfirmed) == (1, 0)


@pytest.mark.parametrize("is_remembered", [True, False])
def test_the_history_names_those_that_leave(station: Station, *, is_remembered: bool) -> None:
    """Whether their packets are read for that or not."""
    queue, core = station.out, station.core
    if not is_remembered:
        assert queue.sequences.starts.take(list(queue.holds))
    station.confirmations.acknowledged(queue, queue.sequences.all[0], 2)
    commit_all(core)
    for number, last in ((1, Event.DELIVERED), (2, Event.DELIVERED), (3, Event.ARRIVED)):
        identifier = ME.bytes_le + number.to_bytes(4, "little")
        assert core.history.of(core.snapshot, identifier)[-1].event == last


def test_one_whose_sender_wants_to_know_more_waits_for_the_last_word(station: Station) -> None:
    queue = station.out
    (sequence,) = queue.sequences.all
    station.confirmations.acknowledged(queue, sequence, 3)
    commit_all(station.core)
    assert (queue.messages, station.unconfirmed) == (0, 1)


def test_what_was_not_sent_cannot_be_acknowledged() -> None:
    station = Station()
    station.world.send_in(station.out, letter("1", transactional=True))
    queue = station.out
    assert not station.confirmations.acknowledged(queue, queue.sequences.all[0], 1)
    commit_all(station.core)
    assert queue.messages == 1


def test_one_that_waits_to_be_sent_again_leaves_in_the_last_second_of_its_life() -> None:
    """One that has expired does not: it is not known that it was sent."""
    station = Station()
    queue = station.out
    letters = [letter(str(n), number=n, transactional=True, expires=NOW + n) for n in (1, 2, 3)]
    station.world.send_in(queue, *letters)
    station.pump()
    station.dispatcher.take_back(queue)
    station.world.pass_time(2)
    assert station.core.expiry.overdue == NOW + 2
    station.confirmations.acknowledged(queue, queue.sequences.all[0], 3)
    commit_all(station.core)
    assert (station.world.count("expired"), station.world.count("delivered")) == (1, 2)
    assert queue.messages == 0


def test_the_last_word_is_about_the_message_with_that_number_and_identifier(
    station: Station,
) -> None:
    queue = station.out
    (sequence,) = queue.sequences.all
    after: list[object] = []
    found: list[object] = []

    def apply(batch: object) -> None:
        after.clear()
        find = station.confirmations.find
        found[:] = [
            find(batch, queue, sequence, number, identifier)  # type: ignore[arg-type] # a batch
            for number, identifier in ((0, 1), (1, 2), (9, 9), (1, 1))
        ]
        sent = found[-1]
        assert sent is not None
        reason = MessageClass.ACK_RECEIVE
        station.confirmations.confirm(batch, sent, reason, after)  # type: ignore[arg-type] # as above

    station.core.submit(apply, lambda: None, lambda error: None)
    commit_all(station.core)
    assert found[:3] == [None, None, None]
    assert (queue.messages, len(after)) == (2, 1)


def test_with_the_last_word_about_its_last_message_a_sequence_is_over() -> None:
    station = Station()
    station.world.send_in(station.out, letter("1", number=1, transactional=True, dead_letter=True))
    station.pump()
    queue = station.out
    (sequence,) = queue.sequences.all
    after: list[Callable[[], None]] = []

    def apply(batch: Batch) -> None:
        sent = station.confirmations.find(batch, queue, sequence, 1, 1)
        assert sent is not None
        station.confirmations.confirm(batch, sent, MessageClass.ACK_RECEIVE, after)

    station.core.submit(apply, lambda: after.pop()(), lambda error: None)
    commit_all(station.core)
    assert queue.messages == 0
    assert queue.sequences.all == []
    assert not station.rows(OUTGOING)


def test_a_sequence_of_the_past_that_was_overtaken_leaves_whole(station: Station) -> None:
    again = station.restart()
    queue = again.out
    assert queue.messages
    again.confirmations.all_acknowledged(queue, queue.sequences.all[0])
    commit_all(again.core)
    assert queue.messages == 0


@pytest.mark.parametrize("number", [3, 4, 900])
def test_an_acknowledgement_of_the_past_leaves_later_sequences_alone(
    station: Station, number: int
) -> None:
    """How far a sequence was sent is known only roughly after a restart."""
    again = station.restart()
    queue = again.out
    later = [letter(str(n), number=n, transactional=True) for n in (4, 5)]
    for one in later:
        again.world.send_in(queue, one)
    again.pump()
    assert again.confirmations.acknowledged(queue, queue.sequences.all[0], number)
    commit_all(again.core)
    assert queue.messages == 2
    assert len(queue.sequences.all) == 2


def test_a_sequence_whose_end_cannot_be_written_is_there_once_until_it_can() -> None:
    station = Station()
    station.world.send_in(station.out, letter("1", transactional=True))
    station.pump()
    queue = station.out
    (sequence,) = queue.sequences.all
    station.confirmations.acknowledged(queue, sequence, 1)
    station.world.commit()
    assert queue.messages == 0
    for _ in range(2):
        station.confirmations.finish(queue)
        station.world.commit(StorageFailed("gone"))
        assert queue.sequences.all == [sequence]
        assert len(station.rows(OUTGOING)) == 1
    station.confirmations.finish(queue)
    commit_all(station.core)
    assert queue.sequences.all == []
    assert not station.rows(OUTGOING)
    assert sequence.id not in station.core.numbers.sequences.live


def sent_together() -> tuple[Station, RunSlice]:
    """A manager that has sent eight messages of a run in order, and them."""
    station = Station()
    letters = [letter(str(n), number=n, transactional=True) for n in range(1, 9)]
    station.world.send_in(station.out, *letters)
    [part] = station.dispatcher.take_parts(station.out, 100, 1 << 20, PARTNER)
    assert isinstance(part, RunSlice)
    return station, part


@pytest.mark.parametrize("place", [0, 3, 7])
def test_one_that_has_left_its_run_since_it_was_sent_leaves_once(place: int) -> None:
    """As when the run is taken apart in the commit under way while its messages are sent."""
    station, part = sent_together()
    queue, core = station.out, station.core

    def apart(batch: Batch) -> None:
        lookup = part.first + place
        raw = record_of(batch.writer, queue.number, lookup)
        assert raw is not None
        batch.explode(queue, lookup, raw)

    core.submit(apart, lambda: None, lambda error: None)
    commit_all(core)
    assert queue.messages == 8
    station.confirmations.acknowledged(queue, queue.sequences.all[0], 8)
    commit_all(core)
    assert (queue.messages, queue.size, len(queue.holds)) == (0, 0, 0)
    for number in range(1, 9):
        identifier = ME.bytes_le + number.to_bytes(4, "little")
        assert core.history.of(core.snapshot, identifier)[-1].event == Event.DELIVERED


def test_messages_leave_once_whose_run_is_taken_apart_in_the_same_commit() -> None:
    """As after a restart, when the messages of a run with few left are not held by a session."""
    station, part = sent_together()
    queue, core = station.out, station.core
    station.dispatcher.take_back(queue)

    def apart(batch: Batch) -> None:
        for lookup in range(part.first, part.end):
            raw = record_of(batch.writer, queue.number, lookup)
            assert raw is not None
            batch.explode(queue, lookup, raw)
        assert batch.record(queue, part.first) is not None
        found = _others(batch, queue.number, part.first, part.end, [])
        assert [lookup for lookup, _, _ in found] == list(range(part.first, part.end))
        seen.append(batch)

    seen: list[Batch] = []
    core.submit(apart, lambda: None, lambda error: None)
    station.confirmations.acknowledged(queue, queue.sequences.all[0], 8)
    commit_all(core)
    assert seen
    assert (queue.messages, queue.size, len(queue.holds)) == (0, 0, 0)
    assert not list(core.snapshot.rows(Table.INDEX, b"", b"\xff" * 20))
    assert station.world.count("delivered") == 8
