"""Incoming sequences."""

from __future__ import annotations

from uuid import UUID

import pytest
from tests.unit.model.station import ADDRESS, parcel
from tests.unit.model.world import HERE, ME, SOMEBODY

from openmsmq.model import incoming
from openmsmq.model.incoming import (
    INCOMING,
    Incoming,
    IncomingSequence,
    destination_key,
    destination_text,
    head_of,
    sequence_key,
    transaction_of,
)
from openmsmq.model.storage import Table
from openmsmq.names.format import PrivateName, PublicName
from openmsmq.properties.message import Acknowledge
from openmsmq.store.memory import MemoryStore

NAME = "DIRECT=OS:here\\q"
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
    assert LAST.takes(5, number, previous) is taken


@pytest.mark.parametrize(
    ("identifier", "previous", "taken"),
    [(6, 0, True), (1 << 40, 0, True), (6, 1, False), (4, 0, False)],
    ids=["next", "later time stamp", "not the first", "older"],
)
def test_a_later_sequence_begins_with_its_first_message(
    identifier: int, previous: int, taken: bool
) -> None:
    """MQQB-279."""
    assert LAST.takes(identifier, 7, previous) is taken


def test_the_first_message_that_comes_need_not_be_number_one() -> None:
    """What was before it expired on its way."""
    none = IncomingSequence(0, 0, 0, 0, "", "")
    assert none.takes(1, 7, 0)
    assert not none.takes(1, 7, 6)


@pytest.mark.parametrize("name", [NAME, "DIRECT=OS:h\u00e9\\q\ud800"], ids=["plain", "odd"])
def test_what_is_stored_can_be_read(name: str) -> None:
    item = LAST._replace(rejects=3, time=1_700_000_000, id=5 | 9 << 32, name=name)
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


def test_sequences_are_told_apart_by_sender_and_by_name_as_addressed() -> None:
    """AMB-20: two names of one queue are two sequences."""
    names = [HERE + "q", HERE + "r", "DIRECT=TCP:192.0.2.1\\q"]
    managers = [UUID(int=1), UUID(int=2)]
    keys = {sequence_key(parcel(to=name, source=source)) for name in names for source in managers}
    assert len(keys) == 6
    assert sequence_key(parcel(to=HERE.upper() + "Q")) == sequence_key(parcel(to=HERE + "q"))


def test_other_kinds_of_names_are_told_apart_too() -> None:
    names = [PrivateName(ME, 1), PrivateName(ME, 2), PublicName(ME), PublicName(SOMEBODY)]
    packets = [parcel(to=name) for name in names]
    packets.append(parcel(to=PrivateName(SOMEBODY, 1)))
    assert len({destination_key(packet) for packet in packets}) == 5


def test_messages_are_told_apart_by_sender_number_and_destination() -> None:
    """MQQB-226, AMB-39: copies of one message for several queues have the same number."""
    packets = [
        parcel("1"),
        parcel("1", number=2),
        parcel("1", source=UUID(int=1)),
        parcel("1", to=HERE + "r"),
    ]
    assert len({head_of(packet).message_key for packet in packets}) == 4
    assert head_of(parcel("2")).message_key == head_of(packets[0]).message_key


def test_the_destination_is_told_as_the_sender_writes_it() -> None:
    assert destination_text(parcel(to=HERE + "Q")) == HERE + "Q"


class Shelf:
    """Incoming sequences on a store."""

    def __init__(self, store: MemoryStore | None = None) -> None:
        self.store = store or MemoryStore()
        self.incoming = Incoming(self.store.snapshot)

    def stage(self, *names: str, number: int = 1, time: int = 0) -> set[bytes]:
        """Messages have come; the keys of their sequences."""
        keys = [name.encode().ljust(24, b".") for name in names]
        for key in keys:
            self.incoming.stage(key, LAST._replace(number=number, time=time))
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
        """How far each has come on disk."""
        rows = self.store.committed.tables[Table.TRANSFER]
        assert all(key.startswith(INCOMING) for key in rows)
        return {
            key[1:].decode().rstrip("."): IncomingSequence.unpack(row).number
            for key, row in rows.items()
        }


@pytest.fixture
def shelf() -> Shelf:
    return Shelf()


def test_what_is_staged_counts_for_this_commit_but_is_not_told(shelf: Shelf) -> None:
    """MQQB-284: the sender hears only of what is on disk."""
    (key,) = keys = shelf.stage("a")
    assert shelf.incoming.get(key) == LAST._replace(number=1)
    assert shelf.incoming.committed_one(key) is None
    shelf.commit(keys)
    found = shelf.incoming.committed_one(key)
    assert found is not None
    assert found == shelf.incoming.get(key)


def test_what_was_committed_is_there_after_a_restart(shelf: Shelf) -> None:
    """MQQB-281."""
    shelf.commit(shelf.stage("a", number=4))
    shelf.commit(shelf.stage("b"))
    shelf.commit(shelf.stage("a", number=5))
    again = shelf.restart()
    assert sorted(item.number for _, item in again.incoming.items()) == [1, 5]


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
    assert [item.number for _, item in shelf.incoming.items()] == [2]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Shelf:
    monkeypatch.setattr(incoming, "COUNT_MAX", 2)
    return Shelf()


def test_of_too_many_those_go_that_nothing_came_of_for_longest(small: Shelf) -> None:
    """MQQB-281: nobody can fill the memory."""
    for time, name in enumerate("abc"):
        small.commit(small.stage(name, time=time))
    assert sorted(small.numbers()) == ["a", "b", "c"]
    small.commit(small.stage("d", time=9))
    assert sorted(small.numbers()) == ["b", "c", "d"]
    assert len(small.incoming.items()) == 3


def test_one_that_something_comes_of_now_is_not_forgotten(small: Shelf) -> None:
    for time, name in enumerate("abc"):
        small.commit(small.stage(name, time=time))
    small.commit(small.stage("a", number=2, time=9))
    assert small.numbers() == {"a": 2, "c": 1}
    small.commit(small.stage("e", time=9), small.stage("f", time=9))
    assert len(small.incoming.items()) == len(small.numbers()) == 4


def test_nothing_is_forgotten_by_a_commit_that_fails(small: Shelf) -> None:
    for time, name in enumerate("abc"):
        small.commit(small.stage(name, time=time))
    writer = small.store.begin()
    small.incoming.forget(writer, small.incoming.surplus())
    small.store.abort()
    small.incoming.failed()
    assert len(small.incoming.items()) == 3
    assert len(small.incoming.surplus()) == 1
