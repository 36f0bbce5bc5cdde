"""Messages of other managers."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from tests.unit.model.station import ADDRESS, ADMIN, Station, events, in_order, parcel
from tests.unit.model.world import HERE, ME, NOW, SOMEBODY, commit_all

from openmsmq.errors import StorageFailed
from openmsmq.limits import HOP_COUNT_MAX
from openmsmq.model import arriving
from openmsmq.model.arrival import Origin, Refused
from openmsmq.model.duplicates import SEEN
from openmsmq.model.history import Event
from openmsmq.model.incoming import INCOMING, sequence_key
from openmsmq.model.layout import Record
from openmsmq.model.reporting import Reporting
from openmsmq.model.settings import Settings
from openmsmq.names.direct import DirectName
from openmsmq.names.format import PrivateName
from openmsmq.packet.acks import order_queue
from openmsmq.packet.user import UserFlags
from openmsmq.packet.view import PacketView
from openmsmq.properties.message import INFINITE, Acknowledge, MessageClass, describe_class
from openmsmq.store.memory import MemoryStore

EXPRESS = pytest.mark.parametrize("express", [False, True], ids=["stored", "express"])
EXPIRED = MessageClass.NACK_REACH_QUEUE_TIMEOUT
FULL = MessageClass.NACK_Q_EXCEED_QUOTA


@pytest.fixture
def station() -> Station:
    """One with a plain queue, a transactional one, and one for acknowledgements."""
    found = Station()
    found.world.queue("q")
    found.world.queue("t", transactional=True)
    found.world.queue("admin")
    return found


def give(station: Station, packet: bytes, *, express: bool = False) -> None:
    """A packet comes and is dealt with."""
    if express:
        assert station.take_express(packet)
    else:
        assert station.take(packet) is None


def ordered(*numbers: int, sequence: int = 1) -> list[bytes]:
    """Messages of a sequence for the transactional queue."""
    return in_order(*numbers, sequence=sequence, to=HERE + "t")


def stored(station: Station) -> tuple[int, int, int]:
    """Sequence, number and reject count as they are on disk."""
    ((_, found),) = station.restart().core.incoming.items()
    return found.id & 0xFFFFFFFF, found.number, found.rejects


# Into the queue


@EXPRESS
def test_a_message_is_put_into_its_queue(station: Station, express: bool) -> None:
    """MQQB-239: a name without a manager means this one."""
    packet = parcel("1", express=express)
    give(station, packet, express=express)
    (entry,) = station.world.entries(station.world.find("q"))
    assert (entry.packet, entry.express) == (packet, express)


@pytest.mark.parametrize("name", ["private$\\p", "PRIVATE$\\P"])
def test_the_computer_in_a_direct_name_does_not_matter(station: Station, name: str) -> None:
    """AMB-51: the packet is here, whatever its sender calls this computer."""
    station.world.queue("private$\\p")
    give(station, parcel("1", to="DIRECT=TCP:203.0.113.5\\" + name))
    assert station.bodies("private$\\p") == ["1"]


def test_other_names_are_for_this_manager_if_they_say_so(station: Station) -> None:
    name = PrivateName(ME, station.world.find("q").number)
    station.core.queues.resolve = lambda found: "q" if found == name else None
    give(station, parcel("1", to=name))
    assert station.bodies() == ["1"]


def test_the_most_urgent_is_first(station: Station) -> None:
    """MQQB-238."""
    give(station, parcel("low", number=1, priority=1))
    give(station, parcel("high", number=2, priority=6))
    assert station.bodies() == ["high", "low"]


@EXPRESS
def test_the_history_tells_where_it_came_from(station: Station, express: bool) -> None:
    packet = parcel("1", express=express)
    give(station, packet, express=express)
    event = Event.ARRIVED_EXPRESS if express else Event.ARRIVED
    found = station.core.history.of(station.core.snapshot, PacketView(packet).identifier)
    assert [(item.event, item.by) for item in found] == [(event, "somebody")]
    assert station.core.by == ""


def test_an_express_message_waits_for_what_is_being_written_before_it(station: Station) -> None:
    station.begin(parcel("1", number=1))
    station.core.start_commit(station.core.store.begin())
    assert station.arriving.take_express(station.origin, [parcel("2", number=2, express=True)])
    assert station.bodies() == []
    station.core.store.commit()
    station.core.finish_commit()
    assert station.bodies() == ["1", "2"]


@EXPRESS
@pytest.mark.parametrize("wanted", [True, False])
def test_the_sender_hears_that_it_arrived_if_it_asked(
    station: Station, express: bool, wanted: bool
) -> None:
    """MQQB-291."""
    asked = Acknowledge.POS_ARRIVAL if wanted else Acknowledge.NONE
    give(station, parcel("1", express=express, acknowledge=asked), express=express)
    assert station.admin() == [MessageClass.ACK_REACH_QUEUE] * wanted


def test_the_journal_of_its_sender_is_not_ours(station: Station) -> None:
    """MQQB-220: who sent it keeps the copy."""
    give(station, parcel("1", journal=True))
    assert station.world.bodies(station.core.queues.system_journal) == []


class Reports(Reporting):
    """Remembers what it was to report."""

    def __init__(self, station: Station) -> None:
        super().__init__(station.core)
        self.reported: list[bytes] = []

    def wants(self, packet: bytes) -> bool:
        return True

    def send(self, packet: bytes, next_hop: str = "") -> None:
        self.reported.append(packet)


@EXPRESS
def test_a_report_is_sent_about_what_is_in_its_queue(strict: Station, express: bool) -> None:
    """MQQB-306: not about what is rejected."""
    reports = strict.arriving.reporting = Reports(strict)
    packet = parcel("1", express=express)
    give(strict, packet, express=express)
    give(strict, parcel("2", number=2, to=HERE + "full", express=express), express=express)
    assert reports.reported == [packet]


@EXPRESS
def test_it_lives_as_long_as_its_sender_says(station: Station, express: bool) -> None:
    """MQQB-255: from when it was sent."""
    packet = parcel("1", express=express, sent=NOW - 30, receive=100)
    give(station, packet, express=express)
    (entry,) = station.world.entries(station.world.find("q"))
    assert Record.unpack(entry.record).expires == NOW + 70
    station.world.tick(71)
    assert station.bodies() == []


# Once


@EXPRESS
def test_what_comes_twice_is_taken_once(station: Station, express: bool) -> None:
    """MQQB-226."""
    packet = parcel("1", express=express)
    give(station, packet, express=express)
    give(station, packet, express=express)
    assert station.bodies() == ["1"]
    assert station.world.count("duplicates") == 1


def test_what_comes_twice_with_one_commit_is_taken_once(station: Station) -> None:
    """MQQB-226: on one session, or on two."""
    first = station.begin(parcel("1"), parcel("1"))
    second = station.begin(parcel("1"), origin=Origin("192.0.2.10", "another"))
    station.world.commit()
    assert (first, second) == ([None], [None])
    assert station.bodies() == ["1"]
    assert station.world.count("duplicates") == 2


def test_copies_for_two_queues_are_both_taken(station: Station) -> None:
    """MQQB-226: they have the same number."""
    station.world.queue("r")
    give(station, parcel("1"))
    give(station, parcel("1", to=HERE + "r"))
    assert station.bodies("q") == station.bodies("r") == ["1"]


def test_nothing_is_kept_of_a_commit_that_is_over(station: Station) -> None:
    """MQQB-228: what came is in the history then."""
    give(station, parcel("1", number=1))
    give(station, parcel("2", number=2))
    assert station.arriving._staged == set()
    assert station.arriving._staged_size == 0
    assert len(station.core.duplicates) == 2


def test_what_comes_again_after_a_restart_is_known(station: Station) -> None:
    """MQQB-229."""
    give(station, parcel("1"))
    again = station.restart()
    give(again, parcel("1"))
    assert again.bodies() == ["1"]


def test_what_was_consumed_meanwhile_does_not_come_back(station: Station) -> None:
    give(station, parcel("1"))
    station.world.take(station.world.find("q"))
    give(station, parcel("1"))
    assert station.bodies() == []


def test_what_was_not_written_is_not_known(station: Station) -> None:
    """MQQB-236: after a failure it comes again."""
    answers = station.begin(parcel("1"))
    station.world.commit(StorageFailed("disk"))
    assert isinstance(answers[0], StorageFailed)
    assert station.origin.is_refused
    station.origin.is_refused = False
    give(station, parcel("1"))
    assert station.bodies() == ["1"]


def test_what_comes_twice_is_remembered_for_longer(station: Station) -> None:
    """MQQB-226: the time of the first does not count any more."""
    give(station, parcel("1"))
    station.world.tick(1000)
    give(station, parcel("1"))
    station.world.tick(1000)
    give(station, parcel("2", number=2))
    give(station, parcel("1"))
    assert station.bodies() == ["1", "2"]


def test_a_duplicate_of_what_is_being_written_is_not_known_for_good(station: Station) -> None:
    """MQQB-236: the commit may fail still."""
    station.begin(parcel("1"), parcel("1"))
    station.world.commit(StorageFailed("disk"))
    station.origin.is_refused = False
    give(station, parcel("1"))
    assert station.bodies() == ["1"]


# In order


def test_messages_in_order_are_taken(station: Station) -> None:
    """DMPR-051, MQQB-278, MQQB-290: and how far they have come is on disk."""
    assert station.take(*ordered(1, 2, 3)) is None
    assert station.bodies("t") == ["1", "2", "3"]
    assert stored(station) == (1, 3, 0)
    ((source, found),) = station.core.incoming.items()
    assert (source, found.address, found.name) == (SOMEBODY, ADDRESS, HERE + "t")
    assert found.time == NOW


@pytest.mark.parametrize("number", [2, 1, 4], ids=["same", "old", "gap"])
def test_others_are_not_and_nobody_is_told(station: Station, number: int) -> None:
    """MQQB-280: a message that came before must not be reported as refused (AMB-40)."""
    asked = Acknowledge.NEG_ARRIVAL
    place = (1, number, number - 1)
    odd = parcel("odd", number=9, to=HERE + "t", place=place, acknowledge=asked, reach=0, sent=1)
    station.take(*ordered(1, 2), odd)
    assert station.bodies("t") == ["1", "2"]
    assert stored(station) == (1, 2, 1)
    assert station.admin() == []
    assert station.finals() == []
    assert events(station, odd) == []


def test_messages_out_of_order_are_counted_until_one_is_in_order(station: Station) -> None:
    """MQQB-280, MQQB-281."""
    station.take(*ordered(1, 3, 1))
    assert stored(station) == (1, 1, 2)
    assert station.world.count("out of order") == 2
    station.take(*ordered(2))
    assert stored(station) == (1, 2, 0)


def test_a_gap_that_its_sender_knows_of_is_none(station: Station) -> None:
    """MQQB-278: messages between them have expired on their way."""
    station.take(*ordered(1), parcel("5", number=5, to=HERE + "t", place=(1, 5, 1)))
    assert station.bodies("t") == ["1", "5"]


def test_the_next_sequence_begins_with_its_first_message(station: Station) -> None:
    """MQQB-279: and the one before is over."""
    station.take(*ordered(1, 2), *ordered(2, sequence=2), *ordered(1, sequence=2), *ordered(3))
    assert station.bodies("t") == ["1", "2", "1"]
    assert stored(station) == (2, 1, 1)


def test_what_was_in_order_before_a_restart_is_not_after_it(station: Station) -> None:
    """MQQB-281."""
    station.take(*ordered(1, 2))
    again = station.restart()
    again.take(*ordered(2, 3))
    assert again.bodies("t") == ["1", "2", "3"]


def test_before_the_first_is_taken_there_is_no_sequence(station: Station) -> None:
    """MQQB-280: nothing is there to be acknowledged."""
    station.take(*ordered(2))
    assert station.core.incoming.items() == []
    assert station.orders == [("2", 1)]


def test_the_sender_is_owed_an_order_ack_for_every_message(station: Station) -> None:
    """MQQB-282, MQQB-284: when all is on disk, in order or not, taken or not."""
    station.begin(*ordered(1, 2, 2), *in_order(1))
    assert station.orders == []
    station.world.commit()
    assert station.orders == [("2", 3), ("1", 1)]


def test_a_transactional_message_that_may_be_lost_is_dropped(station: Station) -> None:
    """MQQB-115: without DM it has no place in a sequence, and nobody sends it so."""
    packet = bytearray(ordered(1)[0])
    packet[60] &= ~UserFlags.DM & 0xFF
    assert not PacketView(bytes(packet)).recoverable
    give(station, bytes(packet), express=True)
    assert station.bodies("t") == []
    assert station.world.count("out of order") == 1


def test_senders_and_names_have_sequences_of_their_own(station: Station) -> None:
    """AMB-20."""
    other = parcel("x", source=ME, to=HERE + "t", place=(1, 1, 0))
    named = parcel("y", to="DIRECT=TCP:192.0.2.1\\t", place=(1, 1, 0))
    station.take(*ordered(1, 2), other, named)
    assert station.bodies("t") == ["1", "2", "x", "y"]
    assert len(station.rows(INCOMING)) == 3


def test_a_failed_commit_consumes_no_number(station: Station) -> None:
    """MQQB-284: nor does what the same commit refused."""
    station.take(*ordered(1))
    station.begin(*ordered(2, 3))
    station.world.commit(StorageFailed("disk"))
    assert stored(station) == (1, 1, 0)
    station.origin.is_refused = False
    assert station.take(*ordered(2, 3)) is None
    assert station.bodies("t") == ["1", "2", "3"]


def test_too_many_sequences_are_forgotten_with_the_next_message(
    station: Station, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("openmsmq.model.incoming.COUNT_MAX", 2)
    for second, name in enumerate("abcd"):
        station.world.tick(1)
        station.take(parcel("x", number=second + 1, to=HERE + name, place=(1, 1, 0)))
    assert len(station.rows(INCOMING)) == len(station.core.incoming.items()) == 3


# Rejected

REJECTS = pytest.mark.parametrize(
    ("to", "place", "given", "reason"),
    [
        ("q", False, {"reach": 10, "sent": NOW - 11}, EXPIRED),
        ("q", False, {"receive": 10, "sent": NOW - 11}, EXPIRED),
        ("t", True, {"reach": 10, "sent": NOW - 11}, EXPIRED),
        ("none", False, {}, MessageClass.NACK_BAD_DST_Q),
        ("none", True, {}, MessageClass.NACK_BAD_DST_Q),
        ("q", True, {}, MessageClass.NACK_NOT_TRANSACTIONAL_Q),
        ("t", False, {}, MessageClass.NACK_NOT_TRANSACTIONAL_MSG),
        ("full", False, {}, FULL),
        ("full-t", True, {}, FULL),
    ],
    ids=[
        "too late",
        "too late to be received",
        "too late, transactional",
        "no queue",
        "no queue, transactional",
        "plain queue",
        "transactional queue",
        "full",
        "full, transactional",
    ],
)
INSECURE = MessageClass.NACK_BAD_DST_Q


@pytest.fixture
def strict(station: Station) -> Station:
    """One that has full queues too."""
    station.world.queue("full", quota=0)
    station.world.queue("full-t", quota=0, transactional=True)
    return station


def test_strangers_are_told_if_the_manager_is_set_to(strict: Station) -> None:
    """MQQB-295, MQQB-296: it stays so after a restart."""
    strict.world.done(strict.core.configure(insecure_nacks=True))
    strict = strict.restart()
    give(strict, parcel("1", to=HERE + "none", acknowledge=Acknowledge.NEG_ARRIVAL))
    assert strict.admin() == [INSECURE]


@REJECTS
@pytest.mark.parametrize("wanted", [True, False])
def test_a_message_is_rejected_and_its_sender_told(
    strict: Station,
    to: str,
    place: bool,
    given: dict[str, int],
    reason: MessageClass,
    wanted: bool,
) -> None:
    """MQQB-231, MQQB-232, MQQB-233, MQQB-234, MQQB-253.

    What would tell a stranger too much is not said (MQQB-295). The sender of a transactional
    message hears of it in any case, but not of a plain one that should be.
    """
    packet = parcel(
        "1",
        to=HERE + to,
        place=(1, 1, 0) if place else None,
        acknowledge=Acknowledge.NEG_ARRIVAL if wanted else Acknowledge.NONE,
        **given,  # type: ignore[arg-type]  # times only
    )
    give(strict, packet)
    if to != "none":
        assert strict.bodies(to) == []
    assert strict.admin() == [reason] * (wanted and reason is not INSECURE)
    assert strict.finals() == [(reason, 1)] * place
    assert events(strict, packet) == [Event.REJECTED]
    assert reason in arriving.REASONS
    assert strict.world.count("rejected") == 1
    assert strict.world.count(arriving.REJECTED + describe_class(reason)) == 1


@REJECTS
def test_a_rejected_message_has_consumed_its_place(
    strict: Station, to: str, place: bool, given: dict[str, int], reason: MessageClass
) -> None:
    """MQQB-284, MQQB-237: the next is taken, and it is not rejected twice (AMB-40)."""
    packet = parcel(
        "1",
        to=HERE + to,
        place=(1, 1, 0) if place else None,
        **given,  # type: ignore[arg-type]  # times only
    )
    give(strict, packet)
    give(strict, packet)
    assert strict.world.count("rejected") == 1
    if place:
        assert stored(strict)[:2] == (1, 1)
    else:
        assert len(strict.rows(SEEN)) == 1


@pytest.mark.parametrize(
    ("to", "given", "reason"),
    [
        ("q", {"reach": 10, "sent": NOW - 11}, EXPIRED),
        ("none", {}, INSECURE),
        ("t", {}, MessageClass.NACK_NOT_TRANSACTIONAL_MSG),
        ("full", {}, FULL),
    ],
    ids=["too late", "no queue", "transactional queue", "full"],
)
def test_an_express_message_is_rejected_in_the_same_way(
    strict: Station, to: str, given: dict[str, int], reason: MessageClass
) -> None:
    """MQQB-231, MQQB-233, MQQB-234, MQQB-253, MQQB-300."""
    asked = Acknowledge.NEG_ARRIVAL
    packet = parcel("1", to=HERE + to, express=True, acknowledge=asked, **given)  # type: ignore[arg-type]  # times only
    give(strict, packet, express=True)
    assert strict.admin() == [reason] * (reason is not INSECURE)
    assert all(entry.express for entry in strict.world.entries(strict.world.find("admin")))
    assert strict.world.count("rejected") == 1


def test_a_message_that_is_accepted_after_one_that_is_not(strict: Station) -> None:
    """MQQB-284."""
    late = parcel("1", to=HERE + "t", place=(1, 1, 0), reach=0, sent=NOW - 1)
    strict.take(late, *ordered(2))
    assert strict.bodies("t") == ["2"]
    assert strict.finals() == [(EXPIRED, 1)]


def test_a_message_that_was_taken_is_not_told_late_when_it_comes_again(strict: Station) -> None:
    """MQQB-253: it is a duplicate."""
    asked = Acknowledge.NEG_ARRIVAL
    packet = parcel("1", to=HERE + "t", place=(1, 1, 0), reach=10, acknowledge=asked)
    give(strict, packet)
    strict.world.tick(60)
    give(strict, packet)
    assert (strict.finals(), strict.admin()) == ([], [])


@pytest.mark.parametrize(("late", "taken"), [(10, True), (11, False)])
def test_a_message_lives_to_the_end_of_its_last_second(
    strict: Station, late: int, taken: bool
) -> None:
    """MQQB-253."""
    give(strict, parcel("1", reach=10, sent=NOW - late))
    assert strict.bodies() == ["1"] * taken


def test_clocks_may_differ(strict: Station) -> None:
    """AMB-41."""
    strict.arriving.tolerance = 5
    give(strict, parcel("1", number=1, reach=10, sent=NOW - 15))
    give(strict, parcel("2", number=2, reach=10, sent=NOW - 16))
    assert strict.bodies() == ["1"]


def test_a_message_without_an_end_never_expires(strict: Station) -> None:
    """MQQB-254."""
    give(strict, parcel("1", sent=1))
    strict.world.tick(10_000)
    assert strict.bodies() == ["1"]


@pytest.mark.parametrize("name", ["q;sub", "q;journal", "private$\\order_queue$", "q$"])
def test_only_queues_that_people_made_are_sent_to(strict: Station, name: str) -> None:
    """MQQB-231."""
    strict.world.subqueue(strict.world.find("q"), "sub")
    packet = parcel("1", to=HERE + name)
    give(strict, packet)
    assert events(strict, packet) == [Event.REJECTED]


def test_a_queue_that_is_being_deleted_is_none(strict: Station) -> None:
    """MQQB-231."""
    packet = parcel("1")
    strict.core.queues.delete(strict.world.find("q"))
    give(strict, packet)
    assert events(strict, packet) == [Event.REJECTED]


def test_a_name_that_means_nothing_here_is_no_queue(strict: Station) -> None:
    packet = parcel("1", to=PrivateName(ME, 12345))
    give(strict, packet)
    assert events(strict, packet) == [Event.REJECTED]


@pytest.mark.parametrize("place", [None, (1, 1, 0)], ids=["plain", "transactional"])
@pytest.mark.parametrize("hops", [0, HOP_COUNT_MAX], ids=["first", "too many"])
def test_a_message_for_another_manager_is_not_ours(
    strict: Station, place: tuple[int, int, int] | None, hops: int
) -> None:
    """MQQB-243: nor has it a place in a sequence here; what went round too often is reported."""
    packet = parcel(
        "1",
        to=PrivateName(SOMEBODY, 8),
        place=place,
        hops=hops,
        acknowledge=Acknowledge.NEG_ARRIVAL,
    )
    give(strict, packet)
    give(strict, packet)
    reason = MessageClass.NACK_HOP_COUNT_EXCEEDED
    assert strict.admin() == [reason] * bool(hops)
    assert strict.finals() == [(reason, 1)] * (bool(hops) and place is not None)
    assert strict.core.incoming.items() == []
    assert strict.world.count("duplicates") == 1


# No room


@EXPRESS
@pytest.mark.parametrize("wanted", [True, False])
def test_if_the_queue_is_full_the_message_is_a_dead_letter_here(
    strict: Station, express: bool, wanted: bool
) -> None:
    """MQQB-234."""
    packet = parcel("1", to=HERE + "full", express=express, dead_letter=wanted, priority=5)
    give(strict, packet, express=express)
    dead = strict.world.records(strict.core.queues.dead_letter)
    assert [record.message_class for record in dead] == [FULL] * wanted
    told = [Event.REJECTED] * (not express) + [Event.DEAD_LETTERED] * wanted
    assert events(strict, packet) == told


def test_a_transactional_one_is_its_sender_s_to_keep(strict: Station) -> None:
    """MQQB-234."""
    give(strict, parcel("1", to=HERE + "full-t", place=(1, 1, 0), dead_letter=True))
    assert strict.world.bodies(strict.core.queues.dead_letter) == []
    assert strict.world.bodies(strict.core.queues.transactional_dead_letter) == []


def test_without_room_for_dead_letters_it_is_gone(strict: Station) -> None:
    """DMPR-070."""
    dead = strict.core.queues.dead_letter
    dead.properties = dead.properties.changed(NOW, quota=0)
    packet = parcel("1", to=HERE + "full", dead_letter=True)
    give(strict, packet)
    assert strict.world.bodies(dead) == []
    assert events(strict, packet) == [Event.REJECTED, Event.DISCARDED]


def test_the_quota_counts_what_comes_together(strict: Station) -> None:
    """MQQB-234: on one session, or on two."""
    queue = strict.world.queue("small", quota=1)
    one, two, three = (parcel("x" * 300, number=at, to=HERE + "small") for at in (1, 2, 3))
    assert 2 * len(one) <= 1024 < 3 * len(one)
    strict.begin(one, two)
    strict.begin(three)
    strict.world.commit()
    assert queue.messages == 2
    assert strict.world.count("rejected") == 1


@EXPRESS
def test_if_the_machine_is_full_nothing_is_remembered(station: Station, express: bool) -> None:
    """MQQB-235, MQQB-236: the session ends, and later the message comes again."""
    packet = parcel("1", express=express)
    station.core.settings = Settings(quota=0)
    if express:
        assert not station.take_express(packet)
    else:
        assert isinstance(station.take(packet), Refused)
    assert station.world.count("refused for lack of room") == 1
    assert station.bodies() == []
    station.core.settings = Settings()
    station.origin.is_refused = False
    give(station, packet, express=express)
    assert station.bodies() == ["1"]


def test_the_machine_s_quota_counts_what_comes_together(station: Station) -> None:
    """MQQB-235."""
    station.core.settings = Settings(quota=1)
    one, two, three = (parcel("x" * 300, number=at) for at in (1, 2, 3))
    assert 2 * len(one) <= 1024 < 3 * len(one)
    first = station.begin(one, two)
    second = station.begin(three, origin=Origin("192.0.2.10", "another"))
    station.world.commit()
    assert first == [None]
    assert isinstance(second[0], Refused)
    assert len(station.bodies()) == 2
    station.world.take(station.world.find("q"), 2)
    assert station.take(three) is None


def test_a_transactional_message_without_room_keeps_its_number(station: Station) -> None:
    """MQQB-235, MQQB-236: what was before it is taken, nothing behind it is."""
    size = len(ordered(1)[0])
    station.core.settings = Settings(quota=1)
    fits = 1024 // size
    numbers = range(1, fits + 3)
    assert isinstance(station.take(*ordered(*numbers)), Refused)
    assert stored(station) == (1, fits, 0)
    assert station.finals() == []
    assert isinstance(station.take(*ordered(fits + 1)), Refused)
    station.core.settings = Settings()
    station.origin.is_refused = False
    assert station.take(*ordered(*numbers)) is None
    assert len(station.bodies("t")) == fits + 2


@EXPRESS
def test_under_flow_control_nothing_is_taken(station: Station, express: bool) -> None:
    """MQQB-235 (Throttled)."""
    station.core.begin_flow_control()
    packet = parcel("1", express=express)
    if express:
        assert not station.take_express(packet)
    else:
        assert isinstance(station.take(packet), Refused)
    assert station.bodies() == []


def test_when_the_disk_runs_low_flow_control_begins(
    station: Station, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(MemoryStore, "has_room", lambda self: False)
    assert isinstance(station.take(parcel("1")), Refused)


def test_express_messages_take_only_so_much_memory(
    station: Station, monkeypatch: pytest.MonkeyPatch
) -> None:
    """MQQB-235."""
    monkeypatch.setattr(arriving, "EXPRESS_SIZE_MAX", 500)
    assert station.take_express(parcel("1", number=1, express=True))
    assert not station.take_express(parcel("x" * 400, number=2, express=True))


# What becomes of a transactional message


def wanting(**given: bool) -> bytes:
    """A transactional message whose sender wants to know."""
    return parcel("1", to=HERE + "t", place=(1, 1, 0), **given)  # type: ignore[arg-type]  # flags


WANTS = pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"dead_letter": True}, True),
        ({"journal": True}, True),
        ({"wants_final": True}, True),
        ({}, False),
    ],
    ids=["JN", "JP", "FA", "none"],
)


@WANTS
def test_the_sender_hears_that_it_was_received(
    station: Station, given: dict[str, bool], told: bool
) -> None:
    """DMPR-095, MQQB-289."""
    give(station, wanting(**given))
    assert station.finals() == []
    station.world.take(station.world.find("t"))
    assert station.finals() == [(MessageClass.ACK_RECEIVE, 1)] * told


@WANTS
def test_the_sender_hears_that_it_was_purged(
    station: Station, given: dict[str, bool], told: bool
) -> None:
    """MQQB-289."""
    give(station, wanting(**given))
    station.world.done(station.core.queues.purge(station.world.find("t")))
    assert station.finals() == [(MessageClass.NACK_Q_PURGED, 1)] * told


@WANTS
def test_the_sender_hears_that_its_queue_was_deleted(
    station: Station, given: dict[str, bool], told: bool
) -> None:
    """MQQB-289."""
    give(station, wanting(**given))
    station.world.done(station.core.queues.delete(station.world.find("t")))
    station.world.tick()
    assert station.finals() == [(MessageClass.NACK_Q_DELETED, 1)] * told


@WANTS
def test_the_sender_hears_that_it_expired(
    station: Station, given: dict[str, bool], told: bool
) -> None:
    """MQQB-289: and it alone keeps the dead letter."""
    give(station, parcel("1", to=HERE + "t", place=(1, 1, 0), receive=5, **given))  # type: ignore[arg-type]  # flags
    station.world.tick(10)
    assert station.finals() == [(MessageClass.NACK_RECEIVE_TIMEOUT, 1)] * told
    assert station.world.bodies(station.core.queues.transactional_dead_letter) == []


def test_what_is_received_in_a_transaction_counts_when_that_commits(station: Station) -> None:
    """MQQB-289."""
    give(station, wanting(journal=True))
    queue, world = station.world.find("t"), station.world
    for commits in (False, True):
        transaction = world.transacting.begin()
        world.take(queue, holder=transaction)
        assert station.finals() == []
        end = world.transacting.commit if commits else world.transacting.abort
        world.done(end(transaction))
        assert station.finals() == [(MessageClass.ACK_RECEIVE, 1)] * commits


def test_an_answer_that_is_due_after_a_restart_finds_its_way(station: Station) -> None:
    """MQQB-286, MQQB-289: the address is kept with the sequence."""
    give(station, wanting(journal=True))
    again = station.restart()
    again.world.take(again.world.find("t"))
    (view,) = again.world.views(again.core.queues.outgoing(order_queue(SOMEBODY)))
    name = view.destination
    assert isinstance(name, DirectName)
    assert str(name) == f"DIRECT=TCP:{ADDRESS}\\PRIVATE$\\order_queue$"


def test_an_answer_to_another_name_goes_to_the_manager_that_sent_it(station: Station) -> None:
    """MQQB-286."""
    name = PrivateName(ME, station.world.find("q").number)
    packet = parcel("1", to=name, place=(1, 1, 0))
    give(station, packet)
    (view,) = station.world.views(station.core.queues.outgoing(order_queue(SOMEBODY)))
    assert view.destination == PrivateName(SOMEBODY, 4)
    assert view.queue_manager_address == SOMEBODY


def test_without_an_address_a_direct_name_is_answered_by_manager(station: Station) -> None:
    """MQQB-286: a sequence that is forgotten has none."""
    assert station.core.incoming.order_queue(parcel(place=(1, 1, 0))) == PrivateName(SOMEBODY, 4)


def test_the_answer_tells_which_message_is_meant(station: Station) -> None:
    """MQQB-287: it asks for nothing itself."""
    give(station, parcel("1", number=77, place=(3, 1, 0)))
    (view,) = station.world.views(station.core.queues.outgoing(order_queue(SOMEBODY)))
    assert view.body[-4:] == (77).to_bytes(4, "little")
    assert (view.priority, view.trace, view.journal, view.dead_letter) == (0, False, False, False)
    assert (view.admin_queue, view.response_queue, view.security) == (None, None, None)
    assert view.recoverable


def test_answers_are_there_after_a_restart(station: Station) -> None:
    give(station, parcel("1", place=(1, 1, 0)))
    assert station.restart().finals() == [(MessageClass.NACK_NOT_TRANSACTIONAL_Q, 1)]


# Acknowledgements of other kinds


def test_the_reader_s_acknowledgements_are_sent_too(station: Station) -> None:
    """MQQB-292."""
    give(station, parcel("1", acknowledge=Acknowledge.POS_RECEIVE))
    station.world.take(station.world.find("q"))
    assert station.admin() == [MessageClass.ACK_RECEIVE]


@EXPRESS
def test_without_a_queue_for_them_there_are_no_acknowledgements(
    station: Station, express: bool
) -> None:
    """MQQB-294."""
    packet = parcel(
        "1", to=HERE + "t", admin=None, express=express, acknowledge=Acknowledge.NEG_ARRIVAL
    )
    give(station, packet, express=express)
    assert station.world.count("acknowledged") == 0


def test_an_acknowledgement_from_elsewhere_is_a_message_like_others(station: Station) -> None:
    """MQQB-304."""
    give(station, parcel("1", to=ADMIN, admin=None))
    assert station.bodies("admin") == ["1"]


def test_the_key_of_a_sequence_names_its_sender(station: Station) -> None:
    give(station, wanting())
    (key,) = station.rows(INCOMING)
    assert key == INCOMING + sequence_key(wanting())


@pytest.mark.parametrize(
    ("end", "told"),
    [
        ("purge", MessageClass.NACK_Q_PURGED),
        ("delete", MessageClass.NACK_Q_DELETED),
        ("wait", MessageClass.NACK_RECEIVE_TIMEOUT),
    ],
)
def test_that_it_was_not_received_is_told_with_the_reason(
    station: Station, end: str, told: MessageClass
) -> None:
    """MQQB-293."""
    give(station, parcel("1", acknowledge=Acknowledge.NEG_RECEIVE, receive=5))
    queues, queue = station.core.queues, station.world.find("q")
    if end == "purge":
        station.world.done(queues.purge(queue))
    elif end == "delete":
        station.world.done(queues.delete(queue))
    station.world.tick(10 * (end == "wait"))
    assert station.admin() == [told]


def test_an_acknowledgement_says_what_it_is_about_and_asks_for_nothing(station: Station) -> None:
    """MQQB-298, MQQB-299, MQQB-301, MQQB-302."""
    packet = parcel("body", to=HERE + "t", acknowledge=Acknowledge.NEG_ARRIVAL)
    give(station, packet)
    (view,) = station.world.views(station.world.find("admin"))
    original = PacketView(packet)
    assert view.correlation_id == original.identifier
    assert view.response_queue == original.destination
    assert view.body == b"body"
    assert (view.time_to_reach_queue, view.time_to_be_received) == (INFINITE, INFINITE)
    assert (view.acknowledge, view.journal, view.dead_letter) == (0, False, False)
    assert view.security is None


def test_an_acknowledgement_that_no_queue_takes_is_discarded(station: Station) -> None:
    """MQQB-303: there is none, or it is transactional."""
    asked = Acknowledge.POS_ARRIVAL
    for number, admin in enumerate(("none", "t"), 1):
        give(station, parcel("1", number=number, admin=HERE + admin, acknowledge=asked))
    assert station.bodies() == ["1", "1"]
    assert station.world.count("acknowledgements without a queue") == 2
    assert station.bodies("t") == []


# Many in a row

VARIANTS: list[dict[str, Any]] = [
    {},
    {"number": 1},
    {"priority": 5},
    {"priority": 0},
    {"to": HERE + "other"},
    {"to": HERE + "none"},
    {"to": HERE + "t"},
    {"source": UUID(int=98)},
    {"acknowledge": Acknowledge.POS_ARRIVAL},
    {"dead_letter": True},
    {"journal": True},
    {"admin": None},
    {"reach": 100},
    {"reach": 100, "sent": NOW - 200},
    {"receive": 100},
    {"receive": 100, "sent": NOW - 200},
    {"manager": UUID(int=97)},
    {"hops": 3},
]


@pytest.mark.parametrize("express", [False, True])
@pytest.mark.parametrize("first", VARIANTS, ids=str)
def test_messages_that_come_together_fare_as_if_each_came_alone(
    first: dict[str, Any], express: bool
) -> None:
    """What they have in common is looked at once."""

    def made(body: str, number: int, given: dict[str, Any]) -> bytes:
        return parcel(body, **{"number": number, "express": express} | first | given)

    packets = [made("a", 1000, {})]
    for place, other in enumerate(VARIANTS):
        packets += [made("b", 2 * place + 2, other), made("c", 2 * place + 3, {})]
    seen = []
    for together in (True, False):
        found = Station()
        for name in ("q", "other", "admin"):
            found.world.queue(name)
        found.world.queue("t", transactional=True)
        for group in [packets] if together else [[packet] for packet in packets]:
            if express:
                assert found.arriving.take_express(found.origin, group)
                commit_all(found.core)
            else:
                assert found.take(*group) is None
        queues = [found.core.queues.find(name) for name in ("q", "other", "t", "admin")]
        records = [found.world.records(queue) for queue in queues]
        facts = [[record._replace(packet_number=0) for record in each] for each in records]
        facts[-1].sort()  # acknowledgements may come in another order
        bodies = [found.world.bodies(queue) for queue in queues]
        bodies[-1].sort()
        seen.append((bodies, facts, found.core.statistics.counts))
    assert seen[0] == seen[1]
