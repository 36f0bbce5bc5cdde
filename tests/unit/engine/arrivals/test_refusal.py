"""Messages that are refused without their senders' knowledge are kept."""

from __future__ import annotations

import pytest
from tests.unit.engine.station import Station, events, parcel
from tests.unit.engine.world import HERE, NOW, commit_all

from openmsmq import limits
from openmsmq.engine.arrivals.arrival import Origin
from openmsmq.engine.storage.history import Event
from openmsmq.errors import StorageFailed
from openmsmq.properties.message import MessageClass
from openmsmq.types.settings import Settings

EXPRESS = pytest.mark.parametrize("express", [False, True], ids=["stored", "express"])
MISSING = MessageClass.NACK_BAD_DST_Q
NOT_KEPT = "refused and not kept"


@pytest.fixture
def station() -> Station:
    """One with a queue for messages of transactions only."""
    found = Station()
    found.world.queue("t", transactional=True)
    return found


def give(station: Station, packet: bytes, *, express: bool = False) -> None:
    """A packet comes and is dealt with."""
    if express:
        assert station.take_express(packet)
    else:
        assert station.take(packet) is None


def kept(station: Station) -> list[tuple[str, MessageClass]]:
    """What is kept, and why it was refused."""
    queue = station.core.queues.refused
    reasons = [MessageClass(record.message_class) for record in station.world.records(queue)]
    return list(zip(station.world.bodies(queue), reasons, strict=True))


@EXPRESS
def test_a_refused_message_is_kept_as_it_came(station: Station, express: bool) -> None:
    packet = parcel("1", to=HERE + "none", express=express, dead_letter=True, priority=5)
    give(station, packet, express=express)
    assert kept(station) == [("1", MISSING)]
    (entry,) = station.world.entries(station.core.queues.refused)
    assert (entry.packet, entry.express) == (packet, express)
    assert events(station, packet) == [Event.REJECTED] * (not express) + [Event.REFUSED]
    assert station.world.count("refused") == 1


@EXPRESS
def test_a_reader_that_waits_for_refused_messages_gets_it(station: Station, express: bool) -> None:
    waiting = station.world.wait_peek(station.core.queues.refused)
    give(station, parcel("1", to=HERE + "none", express=express), express=express)
    station.core.readers.notify()
    commit_all(station.core)
    assert waiting.done


@EXPRESS
def test_each_reason_is_kept(station: Station, express: bool) -> None:
    full = station.world.queue("full", quota=0)
    for number, (to, sent) in enumerate([("t", NOW), (full.name, NOW), ("t", NOW - 99)], 1):
        packet = parcel(
            str(number), number=number, to=HERE + to, express=express, reach=9, sent=sent
        )
        give(station, packet, express=express)
    assert kept(station) == [
        ("1", MessageClass.NACK_NOT_TRANSACTIONAL_MSG),
        ("2", MessageClass.NACK_Q_EXCEED_QUOTA),
        ("3", MessageClass.NACK_REACH_QUEUE_TIMEOUT),
    ]


def test_it_is_there_after_a_restart(station: Station) -> None:
    give(station, parcel("1", to=HERE + "none"))
    station = station.restart()
    assert kept(station) == [("1", MISSING)]
    assert station.core.queues.find(r"Refused$") is station.core.queues.refused


def test_a_message_of_a_transaction_is_its_sender_s(station: Station) -> None:
    give(station, parcel("1", to=HERE + "none", place=(1, 1, 0), dead_letter=True))
    assert kept(station) == []
    assert station.finals() == [(MISSING, 1)]


def test_a_dead_letter_is_not_kept_twice(station: Station) -> None:
    """MQQB-234: one for which only the queue has no room is a dead letter here."""
    station.world.queue("full", quota=0)
    give(station, parcel("1", to=HERE + "full", dead_letter=True))
    assert kept(station) == []
    assert station.world.bodies(station.core.queues.dead_letter) == ["1"]


@EXPRESS
def test_a_message_that_comes_twice_is_kept_once(station: Station, express: bool) -> None:
    packet = parcel("1", to=HERE + "none", express=express)
    give(station, packet, express=express)
    give(station, packet, express=express)
    assert len(kept(station)) == 1
    if not express:
        again = station.restart()
        give(again, packet)
        assert len(kept(again)) == 1


def test_a_commit_that_fails_keeps_nothing_and_the_next_one_does(station: Station) -> None:
    packet = parcel("1", to=HERE + "none")
    station.begin(packet)
    station.world.commit(StorageFailed("disk"))
    assert kept(station) == []
    assert station.take(packet, origin=Origin("192.0.2.9", "again")) is None
    assert kept(station) == [("1", MISSING)]


@EXPRESS
def test_beyond_a_bound_they_are_counted_only(
    station: Station, monkeypatch: pytest.MonkeyPatch, express: bool
) -> None:
    monkeypatch.setattr(limits, "REFUSED_COUNT_MAX", 3)
    packets = [parcel(str(n), number=n, to=HERE + "none", express=express) for n in range(5)]
    if express:
        assert station.begin_express(*packets)
    else:
        station.take(*packets)
    assert [body for body, _ in kept(station)] == ["0", "1", "2"]
    assert (station.world.count("refused"), station.world.count(NOT_KEPT)) == (3, 2)
    assert station.world.count("rejected") == 5


@EXPRESS
def test_so_are_those_that_have_too_many_bytes(station: Station, express: bool) -> None:
    assert station.core.queues.refused.properties.quota * 1024 == limits.REFUSED_SIZE_MAX
    station.world.done(
        station.core.queue_lifecycle.change(station.core.queues.refused, NOW, {"quota": 1})
    )
    packets = [parcel(str(n) * 400, number=n, to=HERE + "none", express=express) for n in (1, 2, 3)]
    for packet in packets:
        give(station, packet, express=express)
    assert len(kept(station)) == 1
    assert station.world.count(NOT_KEPT) == 2


@EXPRESS
@pytest.mark.parametrize(
    "settings", [Settings(keep_refused=False), Settings(quota=0)], ids=["not wanted", "quota"]
)
def test_nothing_is_kept_where_that_is_not_wanted_or_there_is_no_room(
    station: Station, settings: Settings, express: bool
) -> None:
    station.core.settings = settings
    give(station, parcel("1", to=HERE + "none", express=express), express=express)
    assert kept(station) == []
    assert station.world.count(NOT_KEPT) == 1


def test_it_is_not_kept_under_flow_control(station: Station) -> None:
    station.core.begin_flow_control()
    give(station, parcel("1", to=HERE + "none", express=True), express=True)
    assert kept(station) == []


@pytest.mark.parametrize("name", ["Refused$", "REFUSED$"])
def test_it_is_not_sent_to(station: Station, name: str) -> None:
    """What is addressed to it is refused, and kept for that."""
    give(station, parcel("1", to=HERE + name))
    assert kept(station) == [("1", MISSING)]


def test_it_can_be_emptied(station: Station) -> None:
    give(station, parcel("1", to=HERE + "none"))
    queue = station.core.queues.refused
    assert station.world.done(station.core.queue_lifecycle.purge(queue)) == 1
    give(station, parcel("2", number=2, to=HERE + "none"))
    assert station.world.take(queue, 1)[0].packet == parcel("2", number=2, to=HERE + "none")
    commit_all(station.core)
