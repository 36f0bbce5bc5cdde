"""Incoming sequences."""

from __future__ import annotations

from struct import pack
from uuid import UUID

import pytest
from tests.unit.engine.station import ADDRESS, parcel
from tests.unit.engine.world import HERE, ME, PARTNER

from openmsmq.engine.arrivals import incoming
from openmsmq.engine.arrivals.incoming import (
    INCOMING,
    RESTORED_KEY,
    IncomingSequence,
    IncomingSequences,
    destination_key,
    destination_text,
    head_of,
    read_incoming_4,
    sequence_key,
    split_sequence_key,
    transaction_of,
)
from openmsmq.engine.storage.tables import Table
from openmsmq.names.format import PrivateName, PublicName
from openmsmq.properties.message import Acknowledge
from openmsmq.store.memory import MemoryStore

NAME = "DIRECT=OS:here\\q"
STRANGER = b"stranger".ljust(16)
PEER = b"peer".ljust(16)
"A source that is in the peer table."
LAST = IncomingSequence(id=5, number=10, time=0, rejects=0, address=ADDRESS, name=NAME)


@pytest.mark.parametrize(
    ("number", "previous", "taken"),
    [
        (11, 10, True),
        (15, 10, True),
        (11, 3, True),
        (11, 0, True),
        (10, 9, False),
        (3, 2, False),
        (12, 11, False),
    ],
    ids=["next", "after a gap", "older previous", "first", "same", "old", "gap"],
)
def test_in_the_same_sequence_the_next_is_taken(number: int, previous: int, taken: bool) -> None:
    """MQQB-278: a higher number, and nothing missing before it."""
    assert LAST.gap_before(5, number, previous) == (0 if taken else None)


@pytest.mark.parametrize(
    ("identifier", "previous", "taken"),
    [(6, 0, True), (1 << 40, 0, True), (6, 1, False), (4, 0, False)],
    ids=["next", "later time stamp", "not the first", "older"],
)
def test_a_later_sequence_begins_with_its_first_message(
    identifier: int, previous: int, taken: bool
) -> None:
    """MQQB-279."""
    assert LAST.gap_before(identifier, 7, previous) == (0 if taken else None)


def test_the_first_message_that_comes_need_not_be_number_one() -> None:
    """What was before it expired on its way."""
    none = IncomingSequence(0, 0, 0, 0, "", "")
    assert none.gap_before(1, 7, 0) == 0
    assert none.gap_before(1, 7, 6) is None


@pytest.mark.parametrize(
    ("identifier", "number", "previous", "missing"),
    [
        (5, 11, 10, 0),
        (5, 15, 14, 4),
        (5, 15, 12, 2),
        (6, 7, 6, 6),
        (6, 7, 0, 0),
        (5, 10, 9, None),
        (4, 99, 98, None),
    ],
    ids=["next", "gap", "part", "later sequence", "its first", "same", "older sequence"],
)
def test_after_a_restore_a_gap_is_passed_over_and_measured(
    identifier: int, number: int, previous: int, missing: int | None
) -> None:
    """What came before is still refused."""
    restored = LAST._replace(may_skip=True)
    assert restored.gap_before(identifier, number, previous) == missing


def test_a_row_of_format_4_is_of_the_source_in_its_key() -> None:
    key = INCOMING + PARTNER.bytes_le + b"12345678"
    row = pack("<QIIIH", 5, 10, 7, 3, len(ADDRESS)) + ADDRESS.encode() + NAME.encode()
    found = read_incoming_4(key, row)
    assert found == LAST._replace(time=7, rejects=3, source=PARTNER.bytes_le)
    assert (found.may_skip, found.missing) == (False, 0)


def test_a_key_of_another_size_was_never_written() -> None:
    assert split_sequence_key(INCOMING + b"k" * 24) == b"k" * 24
    with pytest.raises(ValueError, match="24 bytes"):
        split_sequence_key(INCOMING + b"k" * 23)


@pytest.mark.parametrize("name", [NAME, "DIRECT=OS:h\u00e9\\q\ud800"], ids=["plain", "odd"])
def test_what_is_stored_can_be_read(name: str) -> None:
    item = LAST._replace(rejects=3, time=1_700_000_000, id=5 | 9 << 32, name=name)
    assert IncomingSequence.unpack(item.pack()) == item
    item = item._replace(source=PARTNER.bytes_le, may_skip=True, missing=7)
    assert IncomingSequence.unpack(item.pack()) == item


@pytest.mark.parametrize(
    "to", [PrivateName(ME, 8), PublicName(ME), HERE + "q"], ids=["private", "public", "direct"]
)
def test_what_stands_behind_its_name_does_not_change_a_destination(
    to: str | PrivateName | PublicName,
) -> None:
    """MQQB-290: nor does what stands before it; such messages belong to one sequence."""
    packets = [
        parcel(to=to, admin=None),
        parcel(to=to, admin=None, acknowledge=Acknowledge.FULL_RECEIVE),
        parcel(to=to, admin=None, dead_letter=True, journal=True),
        parcel(to=to, admin=None, place=(1, 1, 0)),
        parcel(to=to),
    ]
    assert len({destination_key(packet) for packet in packets}) == 1


def test_the_place_of_a_message_is_in_its_header() -> None:
    _, identifier, number, previous = transaction_of(parcel("x", place=(7, 3, 2)))
    assert (identifier & 0xFFFFFFFF, number, previous) == (7, 3, 2)


def test_sequences_are_distinguished_by_sender_and_by_name_as_addressed() -> None:
    """AMB-20: two names of one queue are two sequences."""
    names = [HERE + "q", HERE + "r", "DIRECT=TCP:192.0.2.1\\q"]
    managers = [UUID(int=1), UUID(int=2)]
    keys = {sequence_key(parcel(to=name, source=source)) for name in names for source in managers}
    assert len(keys) == 6
    assert sequence_key(parcel(to=HERE.upper() + "Q")) == sequence_key(parcel(to=HERE + "q"))


def test_other_kinds_of_names_are_distinguished_too() -> None:
    names = [PrivateName(ME, 1), PrivateName(ME, 2), PublicName(ME), PublicName(PARTNER)]
    packets = [parcel(to=name) for name in names]
    packets.append(parcel(to=PrivateName(PARTNER, 1)))
    assert len({destination_key(packet) for packet in packets}) == 5


def test_messages_are_distinguished_by_sender_number_and_destination() -> None:
    """MQQB-226, AMB-39: copies of one message for several queues have the same number."""
    packets = [
        parcel("1"),
        parcel("1", number=2),
        parcel("1", source=UUID(int=1)),
        parcel("1", to=HERE + "r"),
    ]
    assert len({message_key(packet) for packet in packets}) == 4
    assert message_key(parcel("2")) == message_key(packets[0])


def message_key(packet: bytes) -> bytes:
    """The key of a message that a session brings which may speak for the source."""
    head = head_of(packet)
    return head.message_key(head.source)


def test_the_destination_is_reported_as_the_sender_writes_it() -> None:
    assert destination_text(parcel(to=HERE + "Q")) == HERE + "Q"


class Shelf:
    """Incoming sequences on a store."""

    def __init__(self, store: MemoryStore | None = None) -> None:
        self.store = store or MemoryStore()
        self.incoming = IncomingSequences(self.store.snapshot, lambda source: source == PEER)

    def stage(
        self,
        *names: str,
        number: int = 1,
        time: int = 0,
        address: str = ADDRESS,
        source: bytes = STRANGER,
    ) -> set[bytes]:
        """Messages have come, to destinations with these names; the keys of their sequences."""
        keys = [source + name.encode().ljust(8, b".") for name in names]
        for key in keys:
            found = LAST._replace(number=number, time=time, address=address, source=source)
            self.incoming.stage(key, found)
        return set(keys)

    def commit(self, *works: set[bytes]) -> None:
        """Write what several sessions have brought."""
        writer = self.store.begin()
        for keys in works:
            self.incoming.write(writer, keys)
            surplus = self.incoming.surplus()
            if surplus:
                self.incoming.forget(writer, surplus)
        self.store.commit()
        self.store.refresh()
        for keys in works:
            self.incoming.committed(keys)

    def restart(self) -> Shelf:
        return Shelf(MemoryStore(self.store.committed))

    def numbers(self) -> dict[str, int]:
        """How far each has come on disk, which is the same as in memory."""
        rows = self.store.committed.tables[Table.TRANSFER]
        assert all(key.startswith(INCOMING) for key in rows)
        assert len(rows) == len(self.incoming)
        return {
            key[17:].decode().rstrip("."): IncomingSequence.unpack(row).number
            for key, row in rows.items()
        }


@pytest.fixture
def shelf() -> Shelf:
    return Shelf()


def test_what_is_staged_counts_for_this_commit_but_is_not_reported(shelf: Shelf) -> None:
    """MQQB-284: the sender hears only of what is on disk."""
    packet = parcel(place=(1, 1, 0))
    key = sequence_key(packet)
    scopes = (PARTNER.bytes_le,)
    item = LAST._replace(number=1, source=PARTNER.bytes_le)
    shelf.incoming.stage(key, item)
    assert shelf.incoming.get(key) == item
    assert shelf.incoming.last_of(packet, scopes) is None
    shelf.commit({key})
    assert shelf.incoming.last_of(packet, scopes) == shelf.incoming.get(key) == item


def test_of_several_states_of_a_sequence_the_furthest_counts(shelf: Shelf) -> None:
    packet = parcel(place=(1, 1, 0))
    destination = destination_key(packet)
    scopes = [bytes([at]) * 16 for at in range(3)]
    for scope, place in zip(scopes, [(5, 9), (6, 1)], strict=False):
        shelf.incoming.stage(scope + destination, LAST._replace(id=place[0], number=place[1]))
    keys = {scope + destination for scope in scopes[:2]}
    found = shelf.incoming.furthest([scope + destination for scope in scopes])
    assert found is not None
    assert found.place == (6, 1)
    shelf.commit(keys)
    reported = shelf.incoming.last_of(packet, scopes)
    assert reported == found
    assert shelf.incoming.furthest([scopes[2] + destination]) is None


def test_what_was_committed_is_there_after_a_restart(shelf: Shelf) -> None:
    """MQQB-281."""
    shelf.commit(shelf.stage("a", number=4))
    shelf.commit(shelf.stage("b"))
    shelf.commit(shelf.stage("a", number=5))
    again = shelf.restart()
    assert sorted(item.number for item in again.incoming.items()) == [1, 5]


def test_what_failed_never_was(shelf: Shelf) -> None:
    shelf.commit(shelf.stage("a", number=1))
    (key,) = shelf.stage("a", number=2)
    shelf.incoming.failed()
    found = shelf.incoming.get(key)
    assert found is not None
    assert found.number == 1


def test_sessions_that_share_a_commit_and_a_sequence_agree(shelf: Shelf) -> None:
    one, two = shelf.stage("a", number=1), shelf.stage("a", number=2)
    shelf.commit(one, two)
    assert shelf.numbers() == {"a": 2}
    assert [item.number for item in shelf.incoming.items()] == [2]


def test_where_a_manager_was_is_reported_the_last_place_first(shelf: Shelf) -> None:
    shelf.commit(shelf.stage("a", source=PEER, address="192.0.2.1"))
    shelf.commit(shelf.stage("b", source=PEER, address="192.0.2.2"))
    shelf.commit(shelf.stage("c", source=PEER, address=""))
    assert shelf.incoming.addresses(UUID(bytes_le=PEER)) == ["192.0.2.2", "192.0.2.1"]
    shelf.commit(shelf.stage("a", source=PEER, address="192.0.2.1", number=2))
    assert shelf.incoming.addresses(UUID(bytes_le=PEER)) == ["192.0.2.1", "192.0.2.2"]
    assert shelf.incoming.addresses(PARTNER) == []


@pytest.mark.parametrize("is_restored", [True, False])
def test_after_a_restore_sequences_that_are_unknown_may_begin_with_a_gap(
    is_restored: bool,
) -> None:
    store = MemoryStore()
    if is_restored:
        store.begin().put(Table.META, RESTORED_KEY, bytes(8))
        store.commit()
        store.refresh()
    assert Shelf(store).incoming.unknown.may_skip is is_restored


# Too many


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Shelf:
    monkeypatch.setattr(incoming, "STRANGER_SEQUENCES_MAX", 2)
    return Shelf()


def test_of_too_many_those_go_that_nothing_came_of_for_longest(small: Shelf) -> None:
    """MQQB-281: no one can fill the memory."""
    for time, name in enumerate("abc"):
        small.commit(small.stage(name, time=time))
    assert sorted(small.numbers()) == ["a", "b", "c"]
    small.commit(small.stage("d", time=9))
    assert sorted(small.numbers()) == ["b", "c", "d"]


def test_one_that_something_comes_of_now_is_not_forgotten(small: Shelf) -> None:
    for time, name in enumerate("abc"):
        small.commit(small.stage(name, time=time))
    small.commit(small.stage("a", number=2, time=9))
    assert small.numbers() == {"a": 2, "b": 1, "c": 1}
    small.commit(small.stage("e", time=9), small.stage("f", time=9))
    assert sorted(small.numbers()) == ["a", "c", "e", "f"]
    small.commit(small.stage("f", number=2, time=10))
    assert small.numbers() == {"e": 1, "f": 2}


def test_nothing_is_forgotten_by_a_commit_that_fails(small: Shelf) -> None:
    for time, name in enumerate("abc"):
        small.commit(small.stage(name, time=time))
    writer = small.store.begin()
    small.incoming.forget(writer, small.incoming.surplus())
    small.store.abort()
    small.incoming.failed()
    assert len(small.incoming.items()) == 3
    assert len(small.incoming.surplus()) == 1


def test_the_network_with_the_most_sequences_loses_its_oldest(small: Shelf) -> None:
    """An attacker's flood does not reach those of other strangers."""
    small.commit(small.stage("old", address="198.51.100.7"))
    for at in range(5):
        small.commit(small.stage(f"f{at}", address=ADDRESS, time=at + 1))
    assert sorted(small.numbers()) == ["f3", "f4", "old"]
    assert sorted(small.restart().numbers()) == ["f3", "f4", "old"]


def test_all_addresses_of_an_ipv6_subnet_are_one_network(small: Shelf) -> None:
    small.commit(small.stage("old", address="2001:db8:0:1::1"))
    for at in range(5):
        address = f"2001:db8:0:2::{at + 1}"
        small.commit(small.stage(f"f{at}", address=address, time=at + 1))
    assert sorted(small.numbers()) == ["f3", "f4", "old"]


def test_known_peers_never_make_room_for_strangers(small: Shelf) -> None:
    for time, name in enumerate("abc"):
        small.commit(small.stage(name, source=PEER, time=time))
    for at in range(9):
        small.commit(small.stage(f"f{at}", time=at + 5))
    assert sorted(small.numbers()) == ["a", "b", "c", "f6", "f7", "f8"]


def test_what_a_session_brings_in_the_name_of_a_known_peer_counts_as_a_stranger_s(
    small: Shelf,
) -> None:
    """Its key has something else than the source in front."""
    for at in range(9):
        key = b"claim".ljust(16) + f"f{at}".encode().ljust(8)
        small.incoming.stage(key, LAST._replace(source=PEER, time=at))
        small.commit({key})
    assert len(small.numbers()) == 3


def test_a_source_that_has_too_many_loses_its_own_oldest(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Known or not: every message can have another destination."""
    monkeypatch.setattr(incoming, "SOURCE_SEQUENCES_MAX", 3)
    shelf.commit(shelf.stage("other"))
    for at in range(9):
        shelf.commit(shelf.stage(f"p{at}", source=PEER, time=at))
    assert sorted(shelf.numbers()) == ["other", "p5", "p6", "p7", "p8"]


def test_a_flood_of_strangers_is_cut_in_larger_steps(
    shelf: Shelf, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One percent more than needed, so that not every commit has to."""
    monkeypatch.setattr(incoming, "STRANGER_SEQUENCES_MAX", 200)
    shelf.commit(shelf.stage(*(f"s{at}" for at in range(205))))
    shelf.commit(shelf.stage("next"))
    assert len(shelf.numbers()) == 205 - 5 - 2 + 1


def test_receipts_go_to_the_address_that_the_stream_of_a_message_named() -> None:
    found = IncomingSequences(MemoryStore().snapshot)
    packet = parcel("1", place=(4, 9, 8))
    source = packet[16:32]
    for scope, stream, address in (
        (source, transaction_of(packet)[1], "http://a/"),
        (PEER, transaction_of(packet)[1] + 1, "http://b/"),
    ):
        key = scope + destination_key(packet)
        found.stage(key, LAST._replace(id=stream, number=9, source=source, receipts_to=address))
        found.committed({key})
    assert found.receipts_to(source, packet) == "http://a/"
    assert found.receipts_to(PEER, packet) == ""
