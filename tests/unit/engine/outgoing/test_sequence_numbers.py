"""The identifiers of outgoing sequences."""

from __future__ import annotations

from uuid import UUID

import pytest
from tests.unit.engine.station import Station
from tests.unit.engine.world import NOW, PARTNER, commit_all, letter, properties

from openmsmq.engine.core import Core
from openmsmq.engine.outgoing import sequence_numbers as module
from openmsmq.engine.outgoing.limits import PEERS_MAX
from openmsmq.engine.outgoing.sequence_numbers import (
    DESTINATION,
    FLOOR_KEY,
    SequenceNumbers,
    destination_digest,
    read_destination,
    write_destination,
    write_floor,
)
from openmsmq.engine.outgoing.sequences import OutgoingSequence
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.engine.storage.tables import Table
from openmsmq.limits import U32_MAX
from openmsmq.names.format import parse_format_name
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


def test_what_is_stored_of_a_destination_can_be_read() -> None:
    store = MemoryStore()
    write_destination(store.begin(), "DIRECT=OS:there\\q", NOW, 7)
    store.commit()
    ((key, row),) = store.committed.tables[Table.TRANSFER].items()
    assert key == DESTINATION + destination_digest("DIRECT=OS:THERE\\Q")
    assert read_destination(key, row)[:2] == (NOW, 7)
    with pytest.raises(ValueError, match="bytes"):
        read_destination(key[:-1], row)


class Series:
    """The identifiers of a manager's sequences, on a store."""

    def __init__(self, store: MemoryStore | None = None, entropy: bytes = b"") -> None:
        self.store = store or MemoryStore()
        self.numbers = SequenceNumbers(self.store.snapshot, entropy)

    def begin(self, name: str = "a", now: int = NOW) -> tuple[int, int]:
        """A sequence to a destination begins; its identifier."""
        queue = ManagedQueue(9, properties(f"DIRECT=OS:there\\{name}"))
        found = self.numbers.begin(self.store.begin(), queue, 1, now)
        self.store.commit()
        self.store.refresh()
        return found.id

    def start_over(self, now: int, passed: int = 0) -> None:
        """The store was restored from a backup."""
        self.numbers.start_over(self.store.begin(), now, passed)
        self.store.commit()
        self.store.refresh()

    def restart(self, entropy: bytes = b"") -> Series:
        return Series(MemoryStore(self.store.committed), entropy)

    def count(self) -> int:
        """Destinations on disk."""
        rows = self.store.committed.tables[Table.TRANSFER]
        return sum(key.startswith(DESTINATION) for key in rows)


def test_each_destination_has_a_series_of_its_own() -> None:
    """AMB-20: one receiver cannot tell what another one's are."""
    series = Series()
    assert series.begin("a") == (NOW, 1)
    assert series.begin("b", NOW + 5) == (NOW + 5, 1)
    assert series.begin("a", NOW + 9) == (NOW, 2)
    assert series.begin("b", NOW + 9) == (NOW + 5, 2)


def test_a_series_goes_on_through_restarts_whatever_the_clock_says() -> None:
    """AMB-20: also if nothing is left of the outgoing queue."""
    series = Series()
    assert series.begin(now=NOW) == (NOW, 1)
    series = series.restart()
    assert series.begin(now=NOW + 99) == (NOW, 2)
    assert series.restart().begin(now=5) == (NOW, 3)


def test_the_successor_goes_on_though_the_outgoing_queue_was_gone(station: Station) -> None:
    """AMB-20: it was deleted with its last message."""
    sent(station, "1")
    (first,) = station.out.sequences.all
    queue = station.out
    station.world.done(station.core.queue_lifecycle.purge(queue))
    assert queue.deleted
    sent(station, "2", start=2)
    (second,) = station.out.sequences.all
    assert second.id == (first.time_stamp, first.ordinal + 1)
    station.world.done(station.core.queue_lifecycle.purge(station.out))
    again = station.restart(99)
    sent(again, "3", start=3)
    (third,) = again.out.sequences.all
    assert third.id == (first.time_stamp, first.ordinal + 2)


def test_the_first_ordinal_of_a_destination_cannot_be_guessed() -> None:
    """AMB-20: it is random, below 2^31, and the next ones follow it."""
    series = [Series(entropy=bytes([at]) * 16) for at in range(20)]
    firsts = [one.begin() for one in series]
    assert len(set(firsts)) == 20
    assert all(stamp == NOW and 0 < ordinal < 1 << 31 for stamp, ordinal in firsts)
    assert max(ordinal for _, ordinal in firsts) > 1 << 24
    for one, (stamp, ordinal) in zip(series, firsts, strict=True):
        assert one.begin(now=NOW + 9) == (stamp, ordinal + 1)
        assert one.restart(b"else").begin() == (stamp, ordinal + 2)


def test_each_destination_draws_another_ordinal() -> None:
    series = Series(entropy=b"e" * 16)
    assert len({series.begin(str(at)) for at in range(20)}) == 20


def test_a_manager_draws_from_its_entropy() -> None:
    store = MemoryStore()
    core = Core(store, new_identity=PARTNER, now=NOW, entropy=b"x" * 16)
    name = parse_format_name("DIRECT=OS:there\\q")
    found = core.numbers.sequences.begin(store.begin(), core.queues.outgoing(name), 1, NOW)
    store.abort()
    assert found.ordinal == Series(entropy=b"x" * 16).begin("q")[1] != 1


def test_after_the_last_ordinal_the_time_stamp_grows() -> None:
    """AMB-20: an identifier is greater than all before it, whatever the clock says."""
    series = Series()
    name = "DIRECT=OS:there\\a"
    write_destination(series.store.begin(), name, NOW + 50, U32_MAX)
    series.store.commit()
    series.store.refresh()
    assert series.restart().begin(now=NOW) == (NOW + 51, 1)
    assert series.restart().begin(now=NOW + 99) == (NOW + 99, 1)


def test_a_new_destination_is_above_the_floor() -> None:
    series = Series()
    write_floor(series.store.begin(), NOW + 50)
    series.store.commit()
    series.store.refresh()
    assert series.restart().begin(now=NOW) == (NOW + 51, 1)


def test_after_a_restore_every_destination_begins_anew_with_a_greater_identifier() -> None:
    """The original may have gone on with its series."""
    series = Series()
    series.begin("a", NOW)
    series.begin("a", NOW)
    series.begin("b", NOW + 50)
    series.start_over(NOW + 51)
    assert series.numbers.floor == NOW + 50
    restored = series.restart()
    assert restored.begin("a", NOW + 9) == (NOW + 51, 4)
    assert restored.begin("a", NOW + 9) == (NOW + 51, 5)
    assert restored.begin("b", NOW + 99) == (NOW + 99, 3)
    assert restored.begin("c", NOW) == (NOW + 51, 1)


def test_two_restores_of_a_backup_use_different_ordinals() -> None:
    """Else a receiver would take messages of the second for those of the first."""
    backup = Series(entropy=b"a")
    stamp, ordinal = backup.begin("a", NOW)
    begun = []
    for entropy in (b"b", b"c"):
        restored = backup.restart(entropy)
        restored.start_over(NOW + 9)
        begun.append(restored.begin("a", NOW + 9))
    assert begun[0] != begun[1]
    for later, further in begun:
        assert later > stamp
        assert 0 < further - ordinal <= 1 << 16


def test_what_a_restored_manager_began_overtakes_what_was_restored_again() -> None:
    """It took a new TimeStamp, after a backup in which its series had none yet."""
    series = Series(entropy=b"a")
    queue = ManagedQueue(9, properties("DIRECT=OS:there\\a"))
    known = OutgoingSequence(*series.begin("a", NOW), 9, 1)
    other = OutgoingSequence(*series.begin("b", NOW), 10, 1)
    series.numbers.began(queue, known)
    series.numbers.began(ManagedQueue(10, properties("DIRECT=OS:there\\b")), other)
    series.start_over(NOW + 9)  # and a backup is made of this
    stamp, ordinal = series.restart(b"b").begin("a", NOW + 20)
    series.start_over(NOW + 30)
    found = series.numbers.overtaken_by(TxSequenceID(ordinal, stamp))
    assert found == (queue, [known])
    assert series.numbers.overtaken_by(TxSequenceID(ordinal, NOW - 1)) is None


def test_a_restore_does_not_lower_the_floor() -> None:
    series = Series()
    series.begin("a", NOW + 50)
    series.start_over(NOW + 51)
    series.begin("a", NOW + 60)
    again = series.restart()
    again.start_over(NOW + 61)
    assert again.restart().begin("z", 1) == (NOW + 61, 1)


def test_of_two_restores_of_a_backup_the_later_one_has_the_higher_time_stamps() -> None:
    """Also where the clock was right at the first, and is far behind at the second."""
    backup = Series()
    backup.begin("a", NOW)
    first, second, third = backup.restart(), backup.restart(), backup.restart()
    first.start_over(NOW + 3600, passed=3600)
    second.start_over(NOW - 900, passed=-900)
    third.start_over(NOW - 800, passed=-800)
    stamps = [
        first.begin("a", NOW + 4000)[0],
        second.begin("a", NOW - 850)[0],
        third.begin("a", NOW - 750)[0],
    ]
    assert stamps == sorted(set(stamps))


def test_a_clock_that_is_years_behind_does_not_lower_time_stamps() -> None:
    series = Series()
    series.begin("a", NOW)
    series.start_over(0, passed=-NOW)
    assert series.begin("a", 0) == (NOW + 1, 3)


def test_destinations_that_are_evicted_raise_the_floor_for_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The one that was used longest ago goes, and never gets an identifier below its own."""
    monkeypatch.setattr(module, "DESTINATIONS_MAX", 2)
    series = Series()
    series.begin("a", NOW + 50)
    series.begin("b", NOW + 60)
    series.begin("a", NOW + 70)
    series.begin("c", NOW + 65)
    assert series.count() == 2
    assert series.numbers.floor == NOW + 60
    again = series.restart()
    assert again.begin("a", NOW) == (NOW + 50, 3)
    assert again.begin("b", NOW) == (NOW + 61, 1)
    assert again.count() == 2
    assert again.store.committed.tables[Table.META][FLOOR_KEY] == (NOW + 65).to_bytes(4, "little")


def test_which_destination_was_used_longest_ago_is_known_after_a_restart(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "DESTINATIONS_MAX", 3)
    series = Series()
    for at, name in enumerate("cab"):
        series.begin(name, NOW + at)
    again = series.restart()
    again.begin("d", NOW + 9)
    assert again.numbers.floor == NOW
    assert again.begin("a", NOW + 9) == (NOW + 1, 2)


def test_an_identifier_that_is_in_use_is_not_given_again() -> None:
    series = Series()
    queue = ManagedQueue(9, properties("DIRECT=OS:there\\z"))
    series.numbers.began(queue, OutgoingSequence(NOW, 1, 9, 1))
    assert series.begin("a") == (NOW, 2)


def test_a_sequence_is_found_by_both_parts_of_its_identifier(station: Station) -> None:
    """AMB-35: and only while it is in use."""
    sent(station, "1")
    numbers, queue = station.core.numbers.sequences, station.out
    (sequence,) = queue.sequences.all
    assert numbers.find(TxSequenceID(1, NOW)) == (queue, sequence)
    assert numbers.find(TxSequenceID(1, NOW + 1)) is None
    assert numbers.find(TxSequenceID(2, NOW)) is None
    again = station.restart()
    found = again.core.numbers.sequences.find(TxSequenceID(1, NOW))
    assert found is not None
    assert found[0] is again.out
    station.world.done(station.core.queue_lifecycle.purge(queue))
    assert numbers.find(TxSequenceID(1, NOW)) is None


def test_of_the_managers_that_answered_the_last_ones_are_remembered(station: Station) -> None:
    sent(station, "1")
    for at in range(1, PEERS_MAX + 4):
        station.dispatcher.take(station.out, 1, 1 << 20, UUID(int=at))
        station.dispatcher.take_back(station.out)
        commit_all(station.core)
    (sequence,) = station.restart().out.sequences.all
    assert sequence.peers == tuple(UUID(int=at) for at in range(4, PEERS_MAX + 4))
