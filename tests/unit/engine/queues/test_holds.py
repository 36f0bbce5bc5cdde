"""Which messages of a queue are held, and by what."""

from __future__ import annotations

from openmsmq.engine.queues.entry import Entry
from openmsmq.engine.queues.holds import IN_TRANSIT, REMOVING, Holder, Holds

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
