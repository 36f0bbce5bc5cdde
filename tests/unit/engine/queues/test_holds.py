"""Which messages of a queue are held, and by what."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from openmsmq.engine.queues.entry import Entry
from openmsmq.engine.queues.holds import IN_TRANSIT, REMOVING, Holder, Holds
from openmsmq.engine.queues.slices import RunSlice
from openmsmq.engine.storage.layout import NEVER, Record
from openmsmq.engine.storage.runs import MessageRun

READER = Holder()


def entry(lookup: int, *, express: bool = False) -> Entry:
    return Entry(lookup, b"record", bytes(100), express)


def test_a_message_has_at_most_one_holder() -> None:
    holds = Holds()
    holds.hold([1, 2], REMOVING)
    holds.hold([2, 3], IN_TRANSIT)
    assert [holds.holder_of(at) for at in (1, 2, 3, 4)] == [REMOVING, IN_TRANSIT, IN_TRANSIT, None]
    assert [holds.is_held(at) for at in (1, 4)] == [True, False]
    assert (list(holds), len(holds)) == ([1, 2, 3], 3)


def test_what_is_released_is_free() -> None:
    holds = Holds()
    holds.hold([1, 2], REMOVING)
    holds.release([1])
    assert (list(holds), holds.holder_of(1)) == ([2], None)


def test_of_what_was_read_enough_is_kept_to_remove_it() -> None:
    holds = Holds()
    holds.hold_read([entry(1), entry(2, express=True)], READER)
    found = holds.read_by(READER)
    assert [len(one.packet) for one in found.values()] == [60, 100]
    assert found[1].record == b"record"
    assert holds.holder_of(1) is holds.holder_of(2) is READER


def test_what_another_holds_or_is_free_is_not_read_any_more() -> None:
    holds, other = Holds(), Holder()
    holds.hold_read([entry(1), entry(2), entry(3)], READER)
    holds.hold_read([entry(4)], other)
    holds.hold([1], REMOVING)
    holds.release([3])
    assert list(holds.read_by(READER)) == [2]
    assert list(holds.read_by(other)) == [4]
    holds.release([1, 2, 4])
    assert not holds.read_by(READER)
    assert not holds.read_by(other)
    assert not holds


def test_messages_none_of_which_is_held_are_known_at_once() -> None:
    holds = Holds()
    assert not holds.may_hold([1, 2])
    holds.hold([2], IN_TRANSIT)
    assert not holds.may_hold([1, 3])
    assert holds.may_hold([1, 2])
    holds.release([2])
    holds.hold_slice(piece(10, 20), REMOVING)
    assert holds.may_hold([15])


def piece(first: int, end: int) -> RunSlice:
    run = MessageRun(1, 0, Record(5, 100_000, 3, NEVER), [1000] * 100)
    return RunSlice(run, first, end)


def test_messages_of_a_run_are_held_together() -> None:
    holds, other = Holds(), Holder()
    holds.hold_slice(piece(10, 20), READER)
    holds.hold([30], REMOVING)
    assert (len(holds), sorted(holds)) == (11, [*range(10, 20), 30])
    assert holds.holder_of(12) is READER
    assert holds.is_held(19)
    assert not holds.is_held(20)
    assert holds.held_bits(8, 5) == 0b11100
    assert holds.held_bits(18, 100) == 0b1000000000011
    holds.hold([12], other)
    holds.hold_slice(piece(15, 17), REMOVING)
    found = [holds.holder_of(at) for at in (11, 12, 14, 15, 16, 17)]
    assert found == [READER, other, READER, REMOVING, REMOVING, READER]
    assert holds.held_by(READER) == [10, 11, 13, 14, 17, 18, 19]
    holds.release([12, 13, 15])
    assert sorted(holds) == [10, 11, 14, 16, 17, 18, 19, 30]
    holds.release_slice(piece(16, 20))
    holds.release([10, 11, 14, 30])
    assert not holds


@given(
    st.sets(st.integers(0, 99)),
    st.sets(st.integers(0, 9)),
    st.integers(0, 90),
    st.integers(1, 120),
)
def test_bits_say_which_messages_are_held_one_by_one_or_together(
    single: set[int], spans: set[int], first: int, count: int
) -> None:
    holds = Holds()
    held = set(single)
    for place in spans:
        start, end = 10 * place + 2, 10 * place + 9
        holds.hold_slice(piece(start, end), READER)
        held |= set(range(start, end))
    holds.hold(single, REMOVING)
    expected = sum(1 << at - first for at in held if first <= at < first + count)
    assert holds.held_bits(first, count) == expected
    assert len(holds) == len(held)
