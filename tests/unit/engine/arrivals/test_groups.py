"""Messages of another manager that came together are one run."""

from __future__ import annotations

from typing import NoReturn
from uuid import UUID

import pytest
from tests.unit.engine.protected import protected, trusting_station
from tests.unit.engine.station import Station, parcel
from tests.unit.engine.world import HERE, NOW, commit_all

from openmsmq.engine.arrivals.arrival import ArrivalGroup, ArrivalOutcome, Origin
from openmsmq.engine.arrivals.examination import ExaminedGroup
from openmsmq.engine.storage.history import Event
from openmsmq.engine.storage.layout import Owed, place_and_expiry
from openmsmq.engine.storage.runs import MEMBER, is_member
from openmsmq.packet.framing import PacketFramer
from openmsmq.packet.group import PacketGroup
from openmsmq.packet.headers.security import SecurityFlags
from openmsmq.packet.origin import origin_of
from openmsmq.packet.view import PacketView
from openmsmq.properties.message import Acknowledge, MessageClass
from openmsmq.transports.mqqb.receipts import group_of


def one_by_one() -> NoReturn:
    """Not needed for these."""
    pytest.fail("they were looked at one by one")


def came_together(packets: list[bytes]) -> ArrivalGroup:
    """The one group that packets are which are read at once."""
    framer = PacketFramer()
    framer.receive_data(b"".join(packets))
    [group] = [group_of(part) for part in framer.parts() if isinstance(part, PacketGroup)]
    return group


def test_a_group_is_stored_as_a_run() -> None:
    """And each of its messages has its history, and says where it came from.

    A queue with permissions, as programs create it, takes all of them or none.
    """
    station = Station()
    station.world.queue("q")
    station.world.queue("t", transactional=True, permissions="D:(A;;LC;;;AN)")
    plain = [parcel("a" * n, number=n) for n in range(1, 6)]
    ordered = [parcel("a", number=n, place=(1, n - 5, n - 6), to=HERE + "t") for n in range(6, 11)]
    framer = PacketFramer()
    framer.receive_data(b"".join([*plain, *ordered]))
    groups = [group_of(part) for part in framer.parts() if isinstance(part, PacketGroup)]
    outcomes: list[ArrivalOutcome] = []
    whole = [group._replace(arrivals=one_by_one) for group in groups]
    station.arrivals.take(station.origin, whole, outcomes.append)
    commit_all(station.core)
    assert [progress.messages for progress in outcomes[0].progress] == [5]
    assert [(item.number, item.rejects) for item in station.core.incoming.items()] == [(5, 0)]
    for name in "q", "t":
        entries = station.world.entries(station.world.find(name))
        assert [is_member(entry.record) for entry in entries] == [True] * 5
        assert {origin_of(entry.packet) for entry in entries} == {
            origin_of(station.origin.kept(plain[0]))
        }
    found = station.core.history.of(station.core.snapshot, PacketView(plain[2]).identifier)
    assert [item.event for item in found] == [Event.ARRIVED]


def test_messages_of_a_group_live_from_when_each_was_sent() -> None:
    """Those that expire together are a run."""
    station = Station()
    station.world.queue("q")
    times = [NOW] * 5 + [NOW + 7] * 4
    parts = [
        parcel("a" * n, number=n, receive=100, sent=sent) for n, sent in enumerate(times, start=1)
    ]
    whole = came_together(parts)._replace(arrivals=one_by_one)
    station.arrivals.take(station.origin, [whole], lambda outcome: None)
    commit_all(station.core)
    entries = station.world.entries(station.world.find("q"))
    assert [entry.packet for entry in entries] == list(map(station.origin.kept, parts))
    assert [place_and_expiry(entry.record)[2] - 100 for entry in entries] == times
    assert all(is_member(entry.record) for entry in entries)


@pytest.mark.parametrize("places", [("http://a/", ""), ("", "http://a/")])
def test_where_receipts_of_a_sequence_go_need_be_said_only_once(places: tuple[str, str]) -> None:
    station = Station()
    station.world.queue("t", transactional=True)
    for said, first in zip(places, (1, 6), strict=True):
        numbers = range(first, first + 5)
        parts = [parcel("a", number=n, place=(1, n, n - 1), to=HERE + "t") for n in numbers]
        group = came_together(parts)
        assert group.position is not None
        there = group._replace(position=group.position._replace(receipts_to=said))
        station.arrivals.take(station.origin, [there], lambda outcome: None)
        commit_all(station.core)
    assert [item.receipts_to for item in station.core.incoming.items()] == ["http://a/"]


@pytest.mark.parametrize("is_encrypted", [False, True], ids=["clear", "encrypted"])
@pytest.mark.parametrize("name", ["q", "t"], ids=["plain", "transactional"])
def test_a_group_of_signed_messages_is_a_run(name: str, is_encrypted: bool) -> None:
    """MSEC-078, MSEC-135: its packets are clear, and AU says that each was verified."""
    station, _ = trusting_station()
    places = [(1, n, n - 1) if name == "t" else None for n in range(1, 6)]
    packets = [protected(name, n, "alice", place, is_encrypted) for n, place in enumerate(places)]
    numbered = [
        packet[:56] + number.to_bytes(4, "little") + packet[60:]
        for number, packet in enumerate(packets, 1)
    ]
    framer = PacketFramer()
    framer.receive_data(b"".join(numbered))
    [group] = framer.parts()
    assert isinstance(group, PacketGroup)
    examined = station.arrivals.examined_group(group)
    assert isinstance(examined, ExaminedGroup)
    whole = group_of(group, examined)._replace(arrivals=one_by_one)
    station.arrivals.take(station.origin, [whole], lambda outcome: None)
    commit_all(station.core)
    entries = station.world.entries(station.world.find(name))
    assert [is_member(entry.record) for entry in entries] == [True] * 5
    views = [PacketView(entry.packet) for entry in entries]
    assert [view.body for view in views] == [b"x" * n for n in range(5)]
    flags = {view.security.flags for view in views if view.security is not None}
    assert [(bool(one & SecurityFlags.AU), one & SecurityFlags.EB) for one in flags] == [(True, 0)]


@pytest.mark.parametrize("place", [None, (1, 1, 0)], ids=["plain", "transactional"])
def test_nothing_is_owed_for_a_group_but_that_it_was_transactional(
    place: tuple[int, int, int] | None,
) -> None:
    """What the record of a message that came by itself says."""
    station = Station()
    queue = station.world.queue("q", transactional=place is not None)
    places = [None if place is None else (1, n, n - 1) for n in range(1, 7)]
    packets = [parcel("a", number=n, place=where) for n, where in enumerate(places, 1)]
    framer = PacketFramer()
    framer.receive_data(b"".join(packets[:5]))
    groups = [group_of(part) for part in framer.parts() if isinstance(part, PacketGroup)]
    whole = [group._replace(arrivals=one_by_one) for group in groups]
    station.arrivals.take(station.origin, whole, lambda outcome: None)
    commit_all(station.core)
    station.take(packets[5])
    records = station.world.records(queue)
    assert len(records) == 6
    alone = records[-1]
    assert Owed(alone.flags) == (Owed.NOTHING if place is None else Owed.TRANSACTIONAL)
    facts = {(record.flags & ~MEMBER, record.expires) for record in records}
    assert facts == {(alone.flags, alone.expires)}


@pytest.mark.parametrize("is_allowed", [True, False])
def test_a_group_for_a_queue_that_its_sender_may_not_send_to_is_looked_at_one_by_one(
    is_allowed: bool,
) -> None:
    """Each is refused with its reason then."""
    station = Station()
    who = "AN" if is_allowed else "SY"
    station.world.queue("q", permissions=f"D:(A;;LC;;;{who})")
    framer = PacketFramer()
    framer.receive_data(b"".join(parcel("a", number=n) for n in range(1, 6)))
    (group,) = (group_of(part) for part in framer.parts() if isinstance(part, PacketGroup))
    station.arrivals.take(station.origin, [group], lambda outcome: None)
    commit_all(station.core)
    assert len(station.world.entries(station.world.find("q"))) == 5 * is_allowed


def test_a_group_that_another_manager_brings_leaves_the_sequence_of_its_source_alone() -> None:
    """What the source itself sends is taken all the same."""
    station = Station()
    station.world.queue("t", transactional=True)
    sent = b"".join(parcel("a", number=n, place=(1, n, n - 1), to=HERE + "t") for n in range(1, 6))
    forger = Origin("192.0.2.66", "another manager", UUID(int=66).bytes_le)
    for origin in (forger, station.origin):
        framer = PacketFramer()
        framer.receive_data(sent)
        (group,) = (group_of(part) for part in framer.parts() if isinstance(part, PacketGroup))
        whole = group._replace(arrivals=one_by_one)
        station.arrivals.take(origin, [whole], lambda outcome: None)
        commit_all(station.core)
    assert len(station.world.entries(station.world.find("t"))) == 10


@pytest.mark.parametrize("way", ["acknowledged", "confirmed", "both"])
def test_what_something_is_owed_for_is_looked_at_one_by_one(way: str) -> None:
    """An acknowledgement, or a FinalAck: each message has its own."""
    station = Station()
    station.world.queue("admin")
    station.world.queue("q", transactional=way != "acknowledged")
    places = [None if way == "acknowledged" else (1, n, n - 1) for n in range(1, 6)]
    wanted = Acknowledge.NONE if way == "confirmed" else Acknowledge.POS_ARRIVAL
    packets = [
        parcel("a", number=n, place=place, wants_final=way != "acknowledged", acknowledge=wanted)
        for n, place in enumerate(places, 1)
    ]
    framer = PacketFramer()
    framer.receive_data(b"".join(packets))
    groups = [group_of(part) for part in framer.parts() if isinstance(part, PacketGroup)]
    assert [len(group.group.sizes) for group in groups] == [5]
    station.arrivals.take(station.origin, groups, lambda outcome: None)
    commit_all(station.core)
    queue = station.world.find("q")
    assert len(station.world.take(queue, 5)) == 5
    finals = [] if way == "acknowledged" else [(MessageClass.ACK_RECEIVE, n) for n in range(1, 6)]
    assert station.finals() == finals
    arrivals = [one for one in station.admin() if one is MessageClass.ACK_REACH_QUEUE]
    assert len(arrivals) == (0 if way == "confirmed" else 5)
