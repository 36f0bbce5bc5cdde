"""Runs by themselves: what is in one, how it is stored, and how it is read."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openmsmq.engine.storage.layout import CHUNK_SIZE, NEVER, Record, chunks, index_key, packet_key
from openmsmq.engine.storage.limits import RUN_COUNT_MAX, RUN_SIZE_MAX
from openmsmq.engine.storage.runs import (
    MessageRun,
    find_run,
    first_arrival,
    is_member,
    is_part_of_run,
    plain_record,
    read_members,
    read_packet,
    record_of,
    sizes_of_runs,
    stored,
    stored_back,
)
from openmsmq.engine.storage.tables import Table
from openmsmq.store.memory import MemoryStore

QUEUE = 20
FIRST = 3 << 56 | 1000
sizes_of = st.lists(st.integers(1, 3000), min_size=4, max_size=30)


def made(sizes: list[int], number: int = 7, first: int = FIRST) -> MessageRun:
    """A run of messages with these sizes."""
    return MessageRun(
        QUEUE, first, Record(number, sum(sizes), 1_700_000_000, NEVER, flags=64), sizes
    )


def packets_of(sizes: list[int]) -> list[bytes]:
    """Packets that can be distinguished."""
    return [bytes([at % 251]) * size for at, size in enumerate(sizes)]


def store_with(*runs: MessageRun, rows: dict[int, bytes] | None = None) -> MemoryStore:
    """A store with runs and rows of the index."""
    store = MemoryStore()
    writer = store.begin()
    for run in runs:
        sizes = [run.size_of(at) for at in range(run.count)]
        for at, part in enumerate(chunks(b"".join(packets_of(sizes)))):
            writer.put(Table.PACKETS, packet_key(run.record.packet_number, at), part)
        writer.put(Table.RUNS, run.key, run.pack())
    for lookup, raw in (rows or {}).items():
        writer.put(Table.INDEX, index_key(QUEUE, lookup), raw)
    store.commit()
    store.refresh()
    return store


@given(sizes_of, st.data())
def test_a_run_is_read_as_it_was_stored_whatever_is_gone(
    sizes: list[int], data: st.DataObject
) -> None:
    run = made(sizes)
    gone = data.draw(st.sets(st.integers(0, len(sizes) - 1), max_size=len(sizes) - 1))
    for place in gone:
        assert run.remove([FIRST + place]) == (1, sizes[place], [])
    read = MessageRun.unpack(run.key, run.pack())
    left = [place for place in range(len(sizes)) if place not in gone]
    assert (read.queue, read.first, read.count, read.gone) == (QUEUE, FIRST, len(sizes), run.gone)
    assert read.left == len(left)
    assert read.bytes_left == sum(sizes[place] for place in left)
    assert [lookup - FIRST for lookup, _, _ in read.members(0)] == left
    assert list(read.members_back(1 << 63)) == list(read.members(0))[::-1]
    snapshot = store_with(run).snapshot
    packets = packets_of(sizes)
    raws = [raw for _, raw, _ in read.members(0)]
    assert read_members(snapshot, raws) == [packets[place] for place in left]
    assert [read_packet(snapshot, raw) for raw in raws] == [packets[place] for place in left]
    for place in range(len(sizes)):
        assert (record_of(snapshot, QUEUE, FIRST + place) is None) == (place in gone)


@pytest.mark.parametrize("places", [(0, 1, 5, 6), (0, 4), (3, 4), (0, 3, 7), (1, 2, 3, 4, 5, 6)])
def test_messages_of_two_runs_are_read_at_once(places: tuple[int, ...]) -> None:
    """Also those that lie far from each other in one blob, which is not read as a whole."""
    sizes = [10, 100_000, 100_000, 20]
    one, other = made(sizes), made(sizes, number=9, first=FIRST + 4)
    snapshot = store_with(one, other).snapshot
    raws = [raw for run in (one, other) for _, raw, _ in run.members(0)]
    found = read_members(snapshot, [raws[place] for place in places])
    assert found == [(packets_of(sizes) * 2)[place] for place in places]


class CountingSnapshot:
    """Counts how often packets are read."""

    def __init__(self, store: MemoryStore) -> None:
        self._snapshot = store.snapshot
        self.reads = 0

    def joined(self, *place: Any) -> bytes:
        self.reads += 1
        return self._snapshot.joined(*place)


@pytest.mark.parametrize(("between", "reads"), [(1 << 16, 1), ((1 << 16) + 1, 2)])
def test_what_lies_between_messages_is_read_only_if_it_is_little(between: int, reads: int) -> None:
    run = made([10, between, 10, 20])
    snapshot = CountingSnapshot(store_with(run))
    (_, first, _), _, (_, third, _), _ = run.members(0)
    found = read_members(snapshot, [first, third])  # type: ignore[arg-type] # one method of it
    assert found == [bytes([0]) * 10, bytes([2]) * 10]
    assert snapshot.reads == reads


def test_messages_of_two_blobs_are_not_mixed_up_if_their_places_fit_together() -> None:
    """The second begins in its blob where the first ends in the other."""
    one, other = made([10] * 4), made([10] * 4, number=9, first=FIRST + 4)
    store = store_with(one, other)
    writer = store.begin()
    writer.put(Table.PACKETS, packet_key(9, 0), bytes(range(100, 140)))
    store.commit()
    store.refresh()
    raws = [one.member(FIRST), other.member(FIRST + 5)]
    found = read_members(store.snapshot, [raw for raw in raws if raw is not None])
    assert found == [bytes(10), bytes(range(110, 120))]


@given(sizes_of, st.data())
def test_removing_many_is_removing_each(sizes: list[int], data: st.DataObject) -> None:
    one, other = made(sizes), made(sizes)
    places = st.integers(0, len(sizes) - 1)
    for _ in range(3):
        chosen = sorted(data.draw(st.sets(places, min_size=1)))
        lookups = [FIRST + place for place in chosen]
        parts = [other.remove([lookup]) for lookup in lookups]
        missing = one.missing(lookups)
        count, size, before = one.remove(lookups)
        assert missing == before
        assert count == sum(part[0] for part in parts)
        assert size == sum(part[1] for part in parts)
        assert before == [lookup for part in parts for lookup in part[2]]
        assert one.gone == other.gone


@given(st.sets(st.integers(0, 60)), st.sets(st.integers(1, 18)), st.integers(0, 70))
def test_messages_of_runs_and_others_are_read_in_order(
    plain: set[int], gone: set[int], from_place: int
) -> None:
    runs = [made([100] * 20, 7), made([10, 20, 30, 40], 8, FIRST + 30)]
    runs[0].remove([FIRST + place for place in sorted(gone)] or [FIRST])
    taken = {lookup for run in runs for lookup, _, _ in run.members(0)}
    row = Record(9, 1, 0, NEVER).pack()
    rows = {FIRST + place: row for place in plain if FIRST + place not in taken}
    snapshot = store_with(*runs, rows=rows).snapshot
    everything = sorted(taken | set(rows))
    after = FIRST + from_place - 5
    found = list(stored(snapshot, QUEUE, after))
    assert [lookup for lookup, _, _ in found] == [at for at in everything if at > after]
    assert [is_member(raw) for _, raw, _ in found] == [at in taken for at, _, _ in found]
    back = [lookup for lookup, _, _ in stored_back(snapshot, QUEUE, after)]
    assert back == [at for at in reversed(everything) if at < after]
    assert list(stored(snapshot, QUEUE + 1)) == list(stored(snapshot, QUEUE - 1)) == []


def test_a_run_is_found_by_any_of_its_places_and_by_no_other() -> None:
    snapshot = store_with(made([1] * 4)).snapshot
    assert [find_run(snapshot, QUEUE, FIRST + at) is not None for at in range(-1, 5)] == [
        False,
        *[True] * 4,
        False,
    ]
    assert find_run(snapshot, QUEUE + 1, FIRST) is None


def test_a_record_of_its_own_shows_nothing_of_the_run() -> None:
    run = made([5, 6, 7, 8])
    raw = run.member(FIRST + 2)
    assert raw is not None
    expected = Record(99, 7, 1_700_000_000, NEVER, flags=64)
    assert Record.unpack(plain_record(raw, 99)) == expected


def test_messages_are_part_of_a_run_if_they_follow_each_other_in_one() -> None:
    run, other = made([5] * 6), made([5] * 6, 8, FIRST + 6)
    first, *rest = [(lookup, raw) for lookup, raw, _ in run.members(0)]
    next_run = [(lookup, raw) for lookup, raw, _ in other.members(0)]
    assert is_part_of_run([first, *rest])
    assert is_part_of_run([first])
    assert not is_part_of_run([first, *rest[1:]])
    assert not is_part_of_run([*rest, first])
    assert not is_part_of_run([*rest, *next_run])
    assert not is_part_of_run([(1, Record(1, 1, 1, NEVER).pack())])


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ([10] * 4, [4]),
        ([10] * 2500, [1000, 1000, 500]),
        ([10] * 1002, [1000, 0, 0]),
        ([RUN_SIZE_MAX // 4] * 8, [4, 4]),
        ([RUN_SIZE_MAX // 4 + 1] * 4, [0, 0, 0, 0]),
        ([RUN_SIZE_MAX + 1, 1, 1, 1, 1], [0, 4]),
        ([1, 1, 1, RUN_SIZE_MAX, 1, 1], [0, 0, 0, 0, 0, 0]),
        ([100] * 4 + [RUN_SIZE_MAX - 400], [5]),
        ([100] * 4 + [RUN_SIZE_MAX - 400 + 1], [4, 0]),
    ],
)
def test_messages_are_divided_among_runs(sizes: list[int], expected: list[int]) -> None:
    assert sizes_of_runs(sizes) == expected


@pytest.mark.parametrize("size", [39, 41])
def test_a_row_that_does_not_fit_its_blob_is_refused(size: int) -> None:
    run = made([10] * 4)
    run.record = run.record._replace(size=size)
    with pytest.raises(ValueError, match="cannot be"):
        MessageRun.unpack(run.key, run.pack())


@pytest.mark.parametrize("gone", [0b1111, 0b10000])
def test_a_row_without_messages_or_with_too_many_gone_is_refused(gone: int) -> None:
    run = made([10] * 4)
    run.gone = gone
    with pytest.raises(ValueError, match="cannot be"):
        MessageRun.unpack(run.key, run.pack())


def test_the_largest_run_fits_the_chunks_and_the_fields_of_its_row() -> None:
    run = made([RUN_SIZE_MAX // RUN_COUNT_MAX] * RUN_COUNT_MAX)
    run.gone = (1 << RUN_COUNT_MAX) - 2
    read = MessageRun.unpack(run.key, run.pack())
    assert read.left == 1
    assert len(read.packet_keys) == -(-read.record.size // CHUNK_SIZE)


@given(sizes_of, st.data())
def test_what_is_gone_is_missing_and_removed_once(sizes: list[int], data: st.DataObject) -> None:
    run, places = made(sizes), st.sets(st.integers(0, len(sizes) - 1), min_size=1)
    gone = sorted(data.draw(places, "gone"))
    run.remove([FIRST + place for place in gone])
    asked = sorted(data.draw(places, "asked"))
    lookups = [FIRST + place for place in asked]
    before = [FIRST + place for place in asked if place in gone]
    assert run.missing(lookups) == before
    taken = [place for place in asked if place not in gone]
    assert run.remove(lookups) == (len(taken), sum(sizes[place] for place in taken), before)
    assert run.missing(lookups) == lookups


@given(sizes_of, st.data())
def test_pieces_and_members_behind_a_place_are_those_that_are_left(
    sizes: list[int], data: st.DataObject
) -> None:
    run, places = made(sizes), st.sets(st.integers(0, len(sizes) - 1))
    gone, held = data.draw(places, "gone"), data.draw(places, "held")
    for place in gone:
        run.remove([FIRST + place])
    after = data.draw(st.integers(FIRST - 2, FIRST + len(sizes)), "after")
    behind = [FIRST + place for place in range(len(sizes)) if place not in gone]
    behind = [lookup for lookup in behind if lookup > after]
    assert [found[0] for found in run.members(after)] == behind
    pieces = list(run.pieces(after, sum(1 << place for place in held)))
    together = [lookup for first, end in pieces for lookup in range(first, end)]
    assert together == [lookup for lookup in behind if lookup - FIRST not in held]
    assert all(first < end for first, end in pieces)


def test_the_first_arrival_between_two_lookup_identifiers() -> None:
    run = made([5, 5, 5, 5])
    later = Record(8, 5, 1_800_000_000, NEVER).pack()
    snapshot = store_with(run, rows={FIRST + 9: later}).snapshot
    assert first_arrival(snapshot, QUEUE, FIRST + 3, FIRST + 9) == 1_700_000_000
    assert first_arrival(snapshot, QUEUE, FIRST + 4, FIRST + 9) == 1_800_000_000
    assert first_arrival(snapshot, QUEUE, FIRST + 4, FIRST + 8) is None
    assert first_arrival(snapshot, QUEUE, 0, FIRST) == 1_700_000_000
    assert first_arrival(snapshot, QUEUE, 0, FIRST - 1) is None
    lowest = store_with(rows={1: later, 2: Record(9, 5, 1_900_000_000, NEVER).pack()}).snapshot
    assert first_arrival(lowest, QUEUE, 0, FIRST) == 1_800_000_000
    assert first_arrival(lowest, QUEUE, 1, 1) == 1_800_000_000
    assert first_arrival(lowest, QUEUE, 2, 2) == 1_900_000_000
