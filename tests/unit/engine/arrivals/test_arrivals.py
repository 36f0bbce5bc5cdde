"""Messages of other managers."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from tests.unit.engine.station import ADDRESS, ADMIN, Station, events, in_order, parcel
from tests.unit.engine.world import HERE, ME, NOW, PARTNER, World, commit, commit_all, letter

from openmsmq.engine.arrivals import arrivals
from openmsmq.engine.arrivals import refusal as module
from openmsmq.engine.arrivals.arrival import Origin, Refused
from openmsmq.engine.arrivals.duplicates import SEEN
from openmsmq.engine.arrivals.incoming import INCOMING, IncomingSequence, sequence_key
from openmsmq.engine.arrivals.peers import Identity, Pin
from openmsmq.engine.arrivals.transit import TRACED
from openmsmq.engine.commit.batch import Batch
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.engine.storage.history import Event
from openmsmq.engine.storage.layout import Owed, Record, flags_of
from openmsmq.engine.storage.runs import is_member
from openmsmq.errors import MQError, StorageFailed, StorageFull
from openmsmq.limits import HOP_COUNT_MAX, U32_MAX
from openmsmq.names.direct import DirectName
from openmsmq.names.format import PrivateName
from openmsmq.packet.acks import order_queue
from openmsmq.packet.headers.user import UserFlags
from openmsmq.packet.origin import packed_address, with_origin
from openmsmq.packet.view import PacketView
from openmsmq.properties.message import INFINITE, Acknowledge, MessageClass, describe_class
from openmsmq.store.memory import MemoryStore
from openmsmq.transports.mqqb.receipts import order_queue_of
from openmsmq.types.settings import Settings

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
    found.world.done(found.core.configure(clock_tolerance=0))
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
    (found,) = station.restart().core.incoming.items()
    return found.id & 0xFFFFFFFF, found.number, found.rejects


# Into the queue


@EXPRESS
def test_a_message_is_put_into_its_queue(station: Station, express: bool) -> None:
    """MQQB-239: a name without a manager means this one."""
    packet = parcel("1", express=express)
    give(station, packet, express=express)
    (entry,) = station.world.entries(station.world.find("q"))
    assert entry == entry._replace(
        packet=with_origin(packet, packed_address(ADDRESS)), express=express
    )


@pytest.mark.parametrize("name", ["private$\\p", "PRIVATE$\\P"])
def test_the_computer_in_a_direct_name_does_not_matter(station: Station, name: str) -> None:
    """AMB-51: the packet is here, whatever its sender calls this computer."""
    station.world.queue("private$\\p")
    give(station, parcel("1", to="DIRECT=TCP:203.0.113.5\\" + name))
    assert station.bodies("private$\\p") == ["1"]


def test_other_names_are_for_this_manager_if_they_say_so(station: Station) -> None:
    queue = station.world.queue("private$\\p")
    name = PrivateName(ME, queue.number)
    give(station, parcel("1", to=name))
    assert station.bodies("private$\\p") == ["1"]


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
    assert [(item.event, item.by) for item in found] == [(event, "partner")]


def test_an_express_message_waits_for_what_is_being_written_before_it(station: Station) -> None:
    station.begin(parcel("1", number=1))
    station.core.start_commit(station.core.store.begin())
    assert station.begin_express(parcel("2", number=2, express=True))
    assert station.bodies() == []
    station.core.store.commit()
    station.core.finish_commit()
    assert station.bodies() == ["1", "2"]


def mixed(station: Station, *bodies: str, to: str = HERE + "q", first: int = 1) -> None:
    """Messages come one by one; the express ones have an `e` in their bodies."""
    for number, body in enumerate(bodies, first):
        packet = parcel(body, number=number, express="e" in body, to=to)
        if "e" in body:
            assert station.begin_express(packet)
        else:
            station.begin(packet)


def test_express_messages_and_others_keep_the_order_they_came_in(station: Station) -> None:
    """DMPR-043, SYS-048: between those that the next commit writes, and the one after it."""
    core = station.core
    mixed(station, "0e", "1", "2e", "3e", "4", first=0)
    assert station.bodies() == ["0e"], "nothing is ahead of it"
    core.start_commit(core.store.begin())
    mixed(station, "5e", "6", "7e", first=5)
    core.store.commit()
    core.finish_commit()
    assert station.bodies() == ["0e", "1", "2e", "3e", "4", "5e"]
    commit_all(core)
    assert station.bodies() == ["0e", "1", "2e", "3e", "4", "5e", "6", "7e"]
    assert [queue.reserved for queue in core.queues.everything if queue.reserved] == []


def test_what_is_dropped_lets_express_messages_keep_their_order(station: Station) -> None:
    """DMPR-043: a duplicate is ahead of the first, and brings nothing."""
    core = station.core
    give(station, parcel("1", number=1))
    mixed(station, "1", "2e")
    core.start_commit(core.store.begin())
    mixed(station, "3e", first=3)
    assert station.bodies() == ["1"], "none can be read before the one ahead of it"
    core.store.commit()
    core.finish_commit()
    assert station.bodies() == ["1", "2e", "3e"]


def test_an_express_message_waits_for_no_other_queue_and_no_other_session(
    station: Station,
) -> None:
    station.world.queue("other")
    mixed(station, "1", to=HERE + "other")
    station.begin(parcel("2", number=2), origin=Origin("192.0.2.10", "another"))
    mixed(station, "3e", first=3)
    assert station.bodies() == ["3e"]
    mixed(station, "4e", to="DIRECT=TCP:192.0.2.1\\OTHER", first=4)
    assert station.bodies("other") == [], "another name of the queue"
    commit_all(station.core)
    assert station.bodies("other") == ["1", "4e"]


@pytest.mark.parametrize("error", [StorageFailed("no"), StorageFull("disk")], ids=repr)
def test_an_express_message_stays_if_the_commit_it_waits_for_fails(
    station: Station, error: MQError
) -> None:
    """It may have been acknowledged, and does not come again then."""
    answers = station.begin(parcel("1", number=1))
    mixed(station, "2e", first=2)
    commit(station.core, error)
    assert answers == [error]
    assert station.bodies() == ["2e"]
    commit_all(station.core)


def test_an_express_message_that_waits_counts(
    station: Station, monkeypatch: pytest.MonkeyPatch
) -> None:
    """MQQB-234, MQQB-235: against quotas and for the memory."""
    station.world.queue("small", quota=1)
    mixed(station, "1", "e" * 400, "e" * 401, to=HERE + "small")
    commit_all(station.core)
    assert station.bodies("small") == ["1", "e" * 400]
    monkeypatch.setattr(arrivals, "EXPRESS_SIZE_MAX", station.core.express_size + 500)
    mixed(station, "5", "6" + "e" * 200, first=5)
    packet = parcel("e" * 200, number=7, express=True)
    assert not station.begin_express(packet)
    commit_all(station.core)
    assert station.bodies() == ["5", "6" + "e" * 200]


def test_an_express_message_may_find_its_queue_gone(station: Station) -> None:
    """What waited for a commit is rejected like one that came later."""
    mixed(station, "1", "2e")
    station.core.queue_lifecycle.delete(station.world.find("q"))
    commit_all(station.core)
    assert station.world.count(module.REJECTED + describe_class(MessageClass.NACK_BAD_DST_Q)) == 2
    assert station.core.queues.find("Refused$").express.size == station.core.express_size


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


def traced(packet: bytes) -> bytes:
    """The same packet with TR set in its BaseHeader."""
    return packet[:3] + bytes([packet[3] | TRACED]) + packet[4:]


@EXPRESS
@pytest.mark.parametrize("reports", [True, False])
def test_a_report_is_due_about_what_is_in_its_queue(
    strict: Station, express: bool, reports: bool
) -> None:
    """MQQB-306: not about what is rejected."""
    strict.core.settings = strict.core.settings.changed(reports=reports)
    packet = traced(parcel("1", express=express))
    give(strict, packet, express=express)
    refused = traced(parcel("2", number=2, to=HERE + "full", express=express))
    give(strict, refused, express=express)
    assert strict.traced == [packet] * reports


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
    assert station.arrivals._staged == set()
    assert station.arrivals._staged_size == 0
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


def test_so_it_is_after_a_restart(station: Station) -> None:
    """MQQB-226, MQQB-229: the row of the first is gone when it is old, that of the last is not."""
    give(station, parcel("1"))
    for number in range(2, 5):
        station.world.tick(1000)
        give(station, parcel("1"))
        give(station, parcel(str(number), number=number))
    again = station.restart()
    give(again, parcel("1"))
    assert again.bodies() == ["1", "2", "3", "4"]


def test_what_comes_again_and_again_is_written_down_once_a_second(station: Station) -> None:
    """No one can fill the disk with it."""
    for second in range(1, 4):
        for _ in range(3):
            give(station, parcel("1"))
        assert len(station.rows(SEEN)) == second
        station.world.tick(1)
    assert station.world.count("duplicates") == 8


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
    (found,) = station.core.incoming.items()
    assert (UUID(bytes_le=found.source), found.address) == (PARTNER, ADDRESS)
    assert found.name == HERE + "t"
    assert found.time == NOW


@pytest.mark.parametrize("number", [2, 1, 4], ids=["same", "old", "gap"])
def test_others_are_not_and_no_one_is_notified(station: Station, number: int) -> None:
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
    """MQQB-115: without DM it has no place in a sequence, and no one sends it so."""
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
    monkeypatch.setattr("openmsmq.engine.arrivals.incoming.STRANGER_SEQUENCES_MAX", 2)
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
REFUSED = [Event.REJECTED, Event.REFUSED]
"What the history says of a message outside a transaction."


@pytest.fixture
def strict(station: Station) -> Station:
    """One that has full queues too."""
    station.world.queue("full", quota=0)
    station.world.queue("full-t", quota=0, transactional=True)
    return station


def test_strangers_are_notified_if_the_manager_is_set_to(strict: Station) -> None:
    """MQQB-295, MQQB-296: it stays so after a restart."""
    strict.world.done(strict.core.configure(insecure_nacks=True))
    strict = strict.restart()
    give(strict, parcel("1", to=HERE + "none", acknowledge=Acknowledge.NEG_ARRIVAL))
    assert strict.admin() == [INSECURE]


@pytest.mark.parametrize("express", [True, False])
def test_a_manager_with_a_pinned_certificate_is_notified_of_what_is_refused(
    strict: Station, express: bool
) -> None:
    """No one else is: not one without, nor the source of what another manager brings."""
    strict.core.peers.configure(Identity.ADDRESS, {"PARTNER": Pin(PARTNER, certificate="aa")})
    take = strict.take_express if express else strict.take
    take(parcel("1", to=HERE + "none", express=express))
    assert strict.finals() == []
    strict.origin.certified = "manager:partner"
    take(parcel("2", number=2, to=HERE + "none", express=express))
    take(parcel("3", number=3, to=HERE + "none", express=express, source=UUID(int=9)))
    assert strict.finals() == [(MessageClass.NACK_BAD_DST_Q, 0)]
    assert strict.finals(UUID(int=9)) == []


@REJECTS
@pytest.mark.parametrize("wanted", [True, False])
def test_a_message_is_rejected_and_its_sender_notified(
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
    assert events(strict, packet) == ([Event.REJECTED] if place else REFUSED)
    assert reason in module.REASONS
    assert strict.world.count("rejected") == 1
    assert strict.world.count(module.REJECTED + describe_class(reason)) == 1


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


def test_a_message_that_was_taken_is_not_reported_late_when_it_comes_again(strict: Station) -> None:
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
    strict.world.done(strict.core.configure(clock_tolerance=5))
    strict = strict.restart()
    give(strict, parcel("1", number=1, reach=10, sent=NOW - 15))
    give(strict, parcel("2", number=2, reach=10, sent=NOW - 16))
    assert strict.bodies() == ["1"]


def test_clocks_may_differ_by_a_minute_unless_set(station: Station) -> None:
    """AMB-41: also for messages that come together, and for the next of a run."""
    station.core.settings = Settings()
    station.take(*(parcel(str(n), number=n, reach=10, sent=NOW - 68 - n) for n in (1, 2, 3)))
    assert station.bodies() == ["1", "2"]


def test_no_tolerance_lengthens_the_time_to_be_received(station: Station) -> None:
    """AMB-41: it goes on in the queue by the same clocks."""
    station.core.settings = Settings()
    give(station, parcel("1", receive=10, sent=NOW - 11, acknowledge=Acknowledge.NEG_ARRIVAL))
    assert station.admin() == [EXPIRED]


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
    assert events(strict, packet) == REFUSED


def test_a_queue_that_is_being_deleted_is_none(strict: Station) -> None:
    """MQQB-231."""
    packet = parcel("1")
    strict.core.queue_lifecycle.delete(strict.world.find("q"))
    give(strict, packet)
    assert events(strict, packet) == REFUSED


def test_a_name_that_means_nothing_here_is_no_queue(strict: Station) -> None:
    packet = parcel("1", to=PrivateName(ME, 12345))
    give(strict, packet)
    assert events(strict, packet) == REFUSED


@pytest.mark.parametrize("place", [None, (1, 1, 0)], ids=["plain", "transactional"])
def test_a_message_for_another_computer_is_not_put_into_our_queue(
    strict: Station, place: tuple[int, int, int] | None
) -> None:
    """AMB-70: its history says how to have it taken."""
    queue = "q" if place is None else "t"
    strict.core.queues.resolver.configure(["here"])
    packet = parcel("1", to=rf"DIRECT=OS:other\private$\{queue}", place=place)
    give(strict, packet)
    give(strict, parcel("2", number=2, to=HERE + queue, place=place))
    assert strict.bodies(queue) == ["2"]
    event, *_ = strict.core.history.of(strict.core.snapshot, PacketView(packet).identifier)
    assert event.event == Event.REJECTED
    assert "it is for the computer other" in event.extra
    assert strict.finals() == [(MessageClass.NACK_BAD_DST_Q, 1)] * (place is not None)


@pytest.mark.parametrize("place", [None, (1, 1, 0)], ids=["plain", "transactional"])
@pytest.mark.parametrize("hops", [0, HOP_COUNT_MAX], ids=["first", "too many"])
def test_a_message_for_another_manager_is_not_ours(
    strict: Station, place: tuple[int, int, int] | None, hops: int
) -> None:
    """MQQB-243: nor has it a place in a sequence here; what went round too often is reported."""
    packet = parcel(
        "1",
        to=PrivateName(PARTNER, 8),
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
    assert strict.world.count("dead_lettered") == wanted
    reported = [Event.REJECTED] * (not express)
    reported.append(Event.DEAD_LETTERED if wanted else Event.REFUSED)
    assert events(strict, packet) == reported


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
    monkeypatch.setattr(arrivals, "EXPRESS_SIZE_MAX", 500)
    assert station.take_express(parcel("1", number=1, express=True))
    assert not station.take_express(parcel("x" * 400, number=2, express=True))


# What becomes of a transactional message


def wanting(**given: bool) -> bytes:
    """A transactional message whose sender wants to know."""
    return parcel("1", to=HERE + "t", place=(1, 1, 0), **given)  # type: ignore[arg-type]  # flags


WANTS = pytest.mark.parametrize(
    ("given", "reported"),
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
    station: Station, given: dict[str, bool], reported: bool
) -> None:
    """DMPR-095, MQQB-289."""
    give(station, wanting(**given))
    assert station.finals() == []
    station.world.take(station.world.find("t"))
    assert station.finals() == [(MessageClass.ACK_RECEIVE, 1)] * reported


@WANTS
def test_the_sender_hears_that_it_was_purged(
    station: Station, given: dict[str, bool], reported: bool
) -> None:
    """MQQB-289."""
    give(station, wanting(**given))
    station.world.done(station.core.queue_lifecycle.purge(station.world.find("t")))
    assert station.finals() == [(MessageClass.NACK_Q_PURGED, 1)] * reported


@WANTS
def test_the_sender_hears_that_its_queue_was_deleted(
    station: Station, given: dict[str, bool], reported: bool
) -> None:
    """MQQB-289."""
    give(station, wanting(**given))
    station.world.done(station.core.queue_lifecycle.delete(station.world.find("t")))
    station.world.tick()
    assert station.finals() == [(MessageClass.NACK_Q_DELETED, 1)] * reported


@WANTS
def test_the_sender_hears_that_it_expired(
    station: Station, given: dict[str, bool], reported: bool
) -> None:
    """MQQB-289: and it alone keeps the dead letter."""
    give(station, parcel("1", to=HERE + "t", place=(1, 1, 0), receive=5, **given))  # type: ignore[arg-type]  # flags
    station.world.tick(10)
    assert station.finals() == [(MessageClass.NACK_RECEIVE_TIMEOUT, 1)] * reported
    assert station.world.bodies(station.core.queues.transactional_dead_letter) == []


def test_what_is_received_in_a_transaction_counts_when_that_commits(station: Station) -> None:
    """MQQB-289."""
    give(station, wanting(journal=True))
    queue, world = station.world.find("t"), station.world
    for commits in (False, True):
        transaction = world.transactions.begin()
        world.take(queue, holder=transaction)
        assert station.finals() == []
        end = world.transactions.commit if commits else world.transactions.abort
        world.done(end(transaction))
        assert station.finals() == [(MessageClass.ACK_RECEIVE, 1)] * commits


def test_an_answer_that_is_due_after_a_restart_finds_its_way(station: Station) -> None:
    """MQQB-286, MQQB-289: the address is kept with the sequence."""
    give(station, wanting(journal=True))
    again = station.restart()
    again.world.take(again.world.find("t"))
    (view,) = again.world.views(again.core.queues.outgoing(order_queue(PARTNER)))
    name = view.destination
    assert isinstance(name, DirectName)
    assert str(name) == f"DIRECT=TCP:{ADDRESS}\\PRIVATE$\\order_queue$"


def test_an_answer_to_another_name_goes_to_the_manager_that_sent_it(station: Station) -> None:
    """MQQB-286."""
    queue = station.world.queue("private$\\p")
    name = PrivateName(ME, queue.number)
    packet = parcel("1", to=name, place=(1, 1, 0))
    give(station, packet)
    (view,) = station.world.views(station.core.queues.outgoing(order_queue(PARTNER)))
    assert view.destination == PrivateName(PARTNER, 4)
    assert view.queue_manager_address == PARTNER


def test_without_an_address_a_direct_name_is_answered_by_manager(station: Station) -> None:
    """MQQB-286: a sequence that is forgotten has none."""
    assert order_queue_of(parcel(place=(1, 1, 0)), "") == PrivateName(PARTNER, 4)


def test_the_answer_tells_which_message_is_meant(station: Station) -> None:
    """MQQB-287: it asks for nothing itself."""
    give(station, parcel("1", number=77, place=(3, 1, 0)))
    (view,) = station.world.views(station.core.queues.outgoing(order_queue(PARTNER)))
    assert view.body[-4:] == (77).to_bytes(4, "little")
    assert (view.priority, view.trace, view.journal, view.dead_letter) == (0, False, False, False)
    assert (view.admin_queue, view.response_queue, view.security) == (None, None, None)
    assert view.recoverable


def test_answers_are_there_after_a_restart(station: Station) -> None:
    """MQQB-288: they wait for their manager, which was never heard of here."""
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
    ("end", "reported"),
    [
        ("purge", MessageClass.NACK_Q_PURGED),
        ("delete", MessageClass.NACK_Q_DELETED),
        ("wait", MessageClass.NACK_RECEIVE_TIMEOUT),
    ],
)
def test_that_it_was_not_received_is_reported_with_the_reason(
    station: Station, end: str, reported: MessageClass
) -> None:
    """MQQB-293."""
    give(station, parcel("1", acknowledge=Acknowledge.NEG_RECEIVE, receive=5))
    lifecycle, queue = station.core.queue_lifecycle, station.world.find("q")
    if end == "purge":
        station.world.done(lifecycle.purge(queue))
    elif end == "delete":
        station.world.done(lifecycle.delete(queue))
    station.world.tick(10 * (end == "wait"))
    assert station.admin() == [reported]


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


# Packets that are harmful

LONG = "x" * 125
"More characters than the name of a queue can have."


def to_long_name(packet: bytes) -> bytes:
    """The same packet with a destination that is no name."""
    old, new = (f"OS:here\\{name}\0".encode("utf-16-le") for name in (LONG[1:], LONG))
    old, new = (len(name).to_bytes(2, "little") + name for name in (old, new))
    new += bytes(-len(new) % 4)
    assert packet.count(old) == 1
    longer = packet.replace(old, new)
    return longer[:8] + len(longer).to_bytes(4, "little") + longer[12:]


@pytest.mark.parametrize("place", [None, (1, 1, 0)], ids=["plain", "transactional"])
def test_a_destination_that_is_no_name_is_refused_and_harms_no_other_message(
    station: Station, place: tuple[int, int, int] | None
) -> None:
    """It shares its commit with messages of others and of programs here."""
    bad = to_long_name(parcel("bad", to=HERE + LONG[1:], place=place))
    other = Origin("192.0.2.10", "other")
    good = station.begin(parcel("1", number=1, source=UUID(int=98)), origin=other)
    refused = station.begin(bad)
    sent = station.world.enqueuer.send(station.world.find("q"), [letter("2")])
    commit_all(station.core)
    assert (good, refused, sent.error) == ([None], [None], None)
    assert station.bodies() == ["1", "2"]
    words = module.REJECTED + describe_class(MessageClass.NACK_BAD_DST_Q)
    assert station.core.statistics.counts[words] == 1
    if place is not None:
        assert station.finals() == [(MessageClass.NACK_BAD_DST_Q, 1)]
        (found,) = station.restart().core.incoming.items()
        assert (found.number, LONG in found.name) == (1, True)


@pytest.mark.parametrize("number", range(3))
def test_a_message_that_cannot_be_written_fails_alone_and_comes_again(
    station: Station, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    """Whatever it had staged before is forgotten, also that of the messages around it."""
    origins = [Origin(f"192.0.2.{n}", str(n)) for n in range(3)]
    sources = [UUID(int=90 + n) for n in range(3)]
    with monkeypatch.context() as patch:
        insert = Batch.insert_many

        def broken(batch: Batch, queue: ManagedQueue, messages: Any, by: str) -> list[int]:
            places = insert(batch, queue, messages, by)
            if by == str(number):
                raise ZeroDivisionError
            return places

        patch.setattr(Batch, "insert_many", broken)
        answers = []
        for n in range(3):
            own = parcel(f"t{n}", to=HERE + "t", place=(1, 1, 0), source=sources[n])
            plain = parcel(f"q{n}", number=2, source=sources[n])
            answers.append(station.begin(own, plain, origin=origins[n]))
        commit_all(station.core)
    errors = [answer for (answer,) in answers]
    assert [error is None for error in errors] == [n != number for n in range(3)]
    assert [origin.is_refused for origin in origins] == [n == number for n in range(3)]
    assert station.bodies() == [f"q{n}" for n in range(3) if n != number]
    assert len(station.core.incoming.items()) == 2
    own = parcel(f"t{number}", to=HERE + "t", place=(1, 1, 0), source=sources[number])
    plain = parcel(f"q{number}", number=2, source=sources[number])
    assert station.take(own, plain, origin=Origin("192.0.2.9", "again")) is None
    assert sorted(station.bodies()) == ["q0", "q1", "q2"]
    assert sorted(station.bodies("t")) == ["t0", "t1", "t2"]


@EXPRESS
@pytest.mark.parametrize("admin", [f"PUBLIC={PARTNER}", "DIRECT=HTTP://there/msmq/admin"])
def test_an_acknowledgement_that_can_never_leave_is_discarded(
    station: Station, admin: str, express: bool
) -> None:
    """MQQB-303: no outgoing queue is made in which it would wait for ever."""
    before = set(station.core.queues.by_number)
    asked = Acknowledge.POS_ARRIVAL
    give(station, parcel("1", admin=admin, acknowledge=asked, express=express), express=express)
    assert station.bodies() == ["1"]
    assert station.world.count("acknowledgements without a queue") == 1
    assert set(station.core.queues.by_number) == before


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
                assert found.begin_express(*group)
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


# For whom a session may speak


FORGER = UUID(int=666)
ELSEWHERE = "198.51.100.1"


def forger(peer: UUID = FORGER, *, address: str = ELSEWHERE) -> Origin:
    """A session that sends packets with the source of another, as the peer table has it."""
    return Origin(address, "forger", peer.bytes_le)


def session(station: Station, peer: UUID = PARTNER, address: str = ADDRESS) -> Origin:
    """A session, entitled as the manager does it by what the peer table says."""
    peers = station.core.peers
    origin = Origin(address, "session")
    is_proven = peers.is_proven(peer, address)
    origin.entitle(
        peer.bytes_le,
        is_proven=is_proven,
        is_relay=is_proven and peers.is_relay(peer),
        is_known=is_proven and peers.is_known(peer),
    )
    return origin


def expired(*numbers: int, to: str = HERE + "q") -> list[bytes]:
    """Messages that are rejected and seen by no program, with numbers of the source's next."""
    return [parcel("forged", number=n, to=to, sent=NOW - 100, reach=1) for n in numbers]


def claims(station: Station, mode: Identity) -> Origin:
    """A session that claims the identity of a manager that is in the peer table elsewhere."""
    pins = {"PARTNER": Pin(PARTNER)} if mode is Identity.PINNED else {}
    station.core.peers.configure(mode, pins)
    station.core.peers.learned(PARTNER, "PARTNER", ADDRESS, 1801)
    return session(station, PARTNER, ELSEWHERE)


def test_expired_packets_of_a_stranger_do_not_make_duplicates_of_the_source_s_messages(
    station: Station,
) -> None:
    """MQQB-226: else they would be acknowledged and lost on both sides."""
    station.take(*expired(1, 2, 3), origin=forger())
    for packet in expired(4, 5):
        station.begin_express(packet, origin=forger())
    station.take(*(parcel(str(n), number=n) for n in (1, 2, 3)))
    for n in (4, 5):
        station.take_express(parcel(str(n), number=n, express=True))
    assert station.bodies() == ["1", "2", "3", "4", "5"]
    assert station.world.count("duplicates") == 0
    again = station.restart()
    again.take(parcel("6", number=6))
    assert len(again.bodies()) == 4


def test_a_message_that_is_refused_is_remembered_for_the_session_that_brought_it(
    station: Station,
) -> None:
    """MQQB-226."""
    for _ in range(2):
        station.take(*expired(1), origin=forger())
    assert station.world.count("duplicates") == 1


@pytest.mark.parametrize("is_expired", [True, False])
def test_a_forged_number_does_not_block_the_source_s_sequence(
    station: Station, is_expired: bool
) -> None:
    """MQQB-278: one packet with the number 0xFFFFFFFF, accepted or not."""
    station.take(*ordered(1))
    times = {"sent": NOW - 100, "reach": 1} if is_expired else {}
    highest = parcel("forged", to=HERE + "t", place=(1, 0xFFFFFFFF, 1), **times)  # type: ignore[arg-type] # times
    later = parcel("forged", to=HERE + "t", place=(0xFFFFFFFF, 7, 0), **times)  # type: ignore[arg-type] # times
    station.take(highest, later, origin=forger())
    station.take(*ordered(2, 3))
    again = station.restart()
    again.take(*ordered(4))
    assert [body for body in again.bodies("t") if body != "forged"] == ["1", "2", "3", "4"]


@pytest.mark.parametrize("mode", [Identity.ADDRESS, Identity.PINNED])
def test_the_identity_of_a_known_manager_cannot_be_claimed_from_elsewhere(
    station: Station, mode: Identity
) -> None:
    """The true one's messages are taken, and its sequence goes on."""
    liar = claims(station, mode)
    station.take(*expired(1, 2), origin=liar)
    station.take(
        parcel("forged", to=HERE + "t", place=(1, 0xFFFFFFFF, 0), sent=1, reach=1), origin=liar
    )
    true = session(station)
    station.take(parcel("1", number=1), parcel("2", number=2), *ordered(1, 2), origin=true)
    assert station.bodies() == ["1", "2"]
    assert station.bodies("t") == ["1", "2"]


def test_in_mode_claimed_a_session_is_taken_at_its_word(station: Station) -> None:
    """As documented: nothing but the claim is asked for."""
    liar = claims(station, Identity.CLAIMED)
    station.take(*expired(1), origin=liar)
    station.take(parcel("1", number=1), origin=session(station))
    assert station.bodies() == []
    assert station.world.count("duplicates") == 1


def test_in_mode_pinned_managers_without_a_pin_have_state_of_their_own(station: Station) -> None:
    """Nothing is refused: their messages are taken, in order and once."""
    station.core.peers.configure(Identity.PINNED, {})
    origin = session(station)
    for _ in range(2):
        station.take(parcel("1", number=1), *ordered(1, 2), origin=origin)
    assert station.bodies() == ["1"]
    assert station.bodies("t") == ["1", "2"]
    assert all(not key[1:].startswith(PARTNER.bytes_le) for key in station.rows(INCOMING))


def test_what_the_source_has_sent_already_is_not_taken_from_another_session(
    station: Station,
) -> None:
    """Where there is nothing of its own, order and duplicates are looked up in the source's."""
    station.take(parcel("1", number=1), *ordered(1, 2))
    station.take(parcel("1", number=1), *ordered(1, 2, 3), origin=forger())
    assert station.bodies() == ["1"]
    assert station.bodies("t") == ["1", "2", "3"]
    assert len(station.rows(INCOMING)) == 2


@pytest.mark.parametrize("is_known", [True, False], ids=["known", "stranger"])
def test_what_comes_together_is_stored_as_a_run(station: Station, is_known: bool) -> None:
    """Who brought a message matters only where something may have to be sent for it."""
    origin = Origin(ADDRESS, "partner")
    origin.entitle(PARTNER.bytes_le, is_proven=True, is_known=is_known)
    acks = Acknowledge.POS_RECEIVE
    station.take(*[parcel(str(n), number=n) for n in range(1, 6)], origin=origin)
    station.take(*[parcel("a", number=n, acknowledge=acks) for n in range(6, 11)], origin=origin)
    entries = station.world.entries(station.world.find("q"))
    assert [is_member(entry.record) for entry in entries] == [True] * 5 + [False] * 5
    marks = [bool(flags_of(entry.record) & Owed.STRANGER) for entry in entries]
    assert marks == [False] * 5 + [not is_known] * 5


# A change of class


def taken_as_stranger(station: Station) -> Origin:
    """Messages that a session brought which could not prove who it is."""
    station.core.peers.learned(PARTNER, "PARTNER", "203.0.113.1", 1801)
    origin = session(station)
    assert not origin.is_proven
    station.take(parcel("1", number=1), *ordered(1, 2, 3), origin=origin)
    return origin


@pytest.mark.parametrize("is_restarted", [True, False])
def test_when_a_session_proves_to_be_the_source_nothing_is_doubled_or_blocked(
    station: Station, is_restarted: bool
) -> None:
    """The manager is found at the new address when it is dialled again."""
    taken_as_stranger(station)
    if is_restarted:
        station = station.restart()
    station.core.peers.learned(PARTNER, "PARTNER", ADDRESS, 1801)
    origin = session(station)
    assert origin.is_proven
    again = [parcel("1", number=1), parcel("2", number=2), *ordered(2, 3, 4, 5)]
    station.take(*again, origin=origin)
    assert station.bodies() == ["1", "2"]
    assert station.bodies("t") == ["1", "2", "3", "4", "5"]
    (own,) = [key for key in station.rows(INCOMING) if key[1:17] == PARTNER.bytes_le]
    assert IncomingSequence.unpack(station.rows(INCOMING)[own]).number == 5


def test_when_it_is_the_source_no_longer_nothing_is_doubled_or_blocked_either(
    station: Station,
) -> None:
    """It moved to another address, and is not found there yet."""
    station.take(parcel("1", number=1), *ordered(1, 2), origin=session(station))
    station.core.peers.learned(PARTNER, "PARTNER", "203.0.113.1", 1801)
    moved = session(station)
    assert not moved.is_proven
    station.take(parcel("1", number=1), *ordered(1, 2, 3), origin=moved)
    assert station.bodies() == ["1"]
    assert station.bodies("t") == ["1", "2", "3"]


def test_when_a_manager_is_entered_as_a_relay_nothing_is_doubled_or_blocked(
    station: Station,
) -> None:
    """What it brought of others goes on under these."""
    relay = UUID(int=50)
    before = session(station, relay, ELSEWHERE)
    station.take(parcel("1", number=1), *ordered(1, 2), origin=before)
    station.core.peers.configure(Identity.ADDRESS, {"RELAY": Pin(relay, relay=True)})
    after = session(station, relay, ELSEWHERE)
    assert after.is_relay
    station.take(parcel("1", number=1), parcel("2", number=2), *ordered(2, 3), origin=after)
    assert station.bodies() == ["1", "2"]
    assert station.bodies("t") == ["1", "2", "3"]
    station.take(*ordered(3, 4), origin=session(station))
    assert station.bodies("t") == ["1", "2", "3", "4"]


def test_a_sender_that_comes_back_from_elsewhere_is_not_blocked(station: Station) -> None:
    """A laptop on the road sends from addresses at which it cannot be found."""
    station.core.peers.learned(PARTNER, "PARTNER", ADDRESS, 1801)
    station.take(*ordered(1, 2), origin=session(station))
    station.take(*ordered(3, 4), origin=session(station, address="203.0.113.1"))
    station.take(*ordered(5, 6), origin=session(station, address="203.0.113.2"))
    station = station.restart()
    station.take(*ordered(7, 8), origin=session(station))
    assert station.bodies("t") == list("12345678")


def test_a_source_that_comes_by_itself_goes_on_where_another_manager_brought_its_messages(
    station: Station,
) -> None:
    station.take(*ordered(1, 2), origin=session(station, UUID(int=50), ELSEWHERE))
    station.take(*ordered(3, 4), origin=session(station))
    assert station.bodies("t") == list("1234")


def test_what_others_brought_of_a_stream_makes_no_gap_acceptable_that_they_have_not_closed(
    station: Station,
) -> None:
    station.take(*ordered(1, 2), origin=forger())
    station.take(*ordered(4), origin=session(station))
    station.take(*ordered(3, sequence=2), origin=session(station))
    assert station.bodies("t") == list("12")
    station.take(parcel("1", to=HERE + "t", place=(1, 1, 0)), origin=session(station))
    assert station.bodies("t") == list("121"), "the source itself has not sent it yet"


# After a restore


def restored(station: Station) -> Station:
    """A manager that starts on a copy of its store, which others are ahead of."""
    commit_all(station.core)
    again = Station(World(station.world.store.committed, NOW, restored=True))
    again.world.done(again.core.configure(clock_tolerance=0))
    return again


def after(number: int, previous: int, sequence: int = 1) -> bytes:
    """A message behind another that may not have come."""
    place = (sequence, number, previous)
    return parcel(str(number), number=number, to=HERE + "t", place=place)


def test_after_a_restore_each_sequence_accepts_one_gap(station: Station) -> None:
    """How many messages are missing is known and counted; later gaps are refused as always."""
    station.take(*ordered(1, 2))
    again = restored(station)
    again.take(after(8, 7))
    assert again.bodies("t") == ["1", "2", "8"]
    (gap,) = again.gaps
    assert (gap.missing, gap.number, gap.name) == (5, 8, HERE + "t")
    assert again.world.count("gaps after a restore") == 1
    (kept,) = again.core.incoming.items()
    assert (kept.missing, kept.may_skip) == (5, False)
    again.take(after(11, 10))
    assert again.bodies("t") == ["1", "2", "8"]
    again.take(after(9, 8))
    assert again.bodies("t") == ["1", "2", "8", "9"]
    (kept,) = again.restart().core.incoming.items()
    assert kept.missing == 5
    assert len(again.gaps) == 1


def test_gaps_that_a_peer_makes_up_are_counted_as_far_as_numbers_go(station: Station) -> None:
    """Each restore lets a sequence skip once more: the sum of such gaps may be of any size."""
    station.take(*ordered(1, 2))
    for sequence in (2, 3):
        station = restored(station)
        station.take(after(U32_MAX, U32_MAX - 1, sequence))
    (kept,) = station.core.incoming.items()
    assert (kept.number, kept.missing) == (U32_MAX, U32_MAX)


def test_a_sequence_without_a_gap_after_a_restore_does_not_keep_its_right_to_one(
    station: Station,
) -> None:
    station.take(*ordered(1, 2))
    again = restored(station)
    again.take(after(3, 2), after(9, 8))
    assert again.bodies("t") == ["1", "2", "3"]
    assert again.world.count("gaps after a restore") == 0


def test_a_sequence_that_the_backup_does_not_know_may_begin_with_a_gap(station: Station) -> None:
    again = restored(station)
    again.take(after(8, 7), after(11, 10))
    assert again.bodies("t") == ["8"]
    (kept,) = again.core.incoming.items()
    assert kept.missing == 7


def test_what_came_before_the_backup_is_not_taken_again(station: Station) -> None:
    station.take(*ordered(1, 2, 3))
    again = restored(station)
    again.take(*ordered(2, 3))
    assert again.bodies("t") == ["1", "2", "3"]


def test_without_a_restore_no_gap_is_accepted(station: Station) -> None:
    station.take(*ordered(1, 2))
    again = station.restart()
    again.take(after(8, 7))
    assert again.bodies("t") == ["1", "2"]


# Floods


def test_a_flood_with_forged_sources_leaves_bounded_tables(
    station: Station, monkeypatch: pytest.MonkeyPatch
) -> None:
    """8,000 packets; a known peer's state is untouched."""
    monkeypatch.setattr("openmsmq.engine.arrivals.incoming.STRANGER_SEQUENCES_MAX", 1000)
    monkeypatch.setattr("openmsmq.engine.arrivals.duplicates.STRANGER_DUPLICATES_MAX", 1000)
    station.core.duplicates._pools[False]._most = 1000
    station.core.peers.learned(PARTNER, "PARTNER", ADDRESS, 1801)
    true = session(station)
    station.take(parcel("1", number=1), *ordered(1, 2), origin=true)
    for start in range(0, 8000, 500):
        sources = [UUID(int=10_000 + at) for at in range(start, start + 500)]
        ordered_ones = [parcel(source=one, to=HERE + "t", place=(1, 1, 0)) for one in sources]
        plain = [parcel(source=one, sent=1, reach=1) for one in sources]
        station.take(*ordered_ones, *plain, origin=forger())
    assert len(station.core.incoming) <= 1001 + 500
    assert len(station.rows(INCOMING)) == len(station.core.incoming)
    assert len(station.core.duplicates) <= 1001
    assert not [queue for queue in station.core.queues.everything if queue.transfer]
    station.take(parcel("1", number=1), *ordered(1, 2, 3), origin=true)
    assert station.bodies() == ["1"]
    own = [body for body in station.bodies("t") if body]
    assert own == ["1", "2", "3"]
