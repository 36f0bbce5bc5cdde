"""Messages as a router keeps them."""

from __future__ import annotations

import pytest
from tests.unit.engine.station import parcel
from tests.unit.engine.world import NOW, PARTNER, World

from openmsmq.engine.arrivals.arrival import ArrivalWork, Origin
from openmsmq.engine.arrivals.incoming import head_of
from openmsmq.engine.arrivals.transit import TRACED, forward, transit_message
from openmsmq.engine.commit.batch import NewMessage
from openmsmq.engine.storage.layout import NEVER, Owed
from openmsmq.packet.walk import one_hop_more
from openmsmq.properties.message import Acknowledge


def transit(packet: bytes, *, is_known: bool = True) -> NewMessage:
    """A message as a router keeps it."""
    return transit_message(World().core, packet, head_of(packet), is_known=is_known)


def test_the_hop_count_is_raised_and_nothing_else_changes() -> None:
    """MQBR-110, MQBR-124."""
    packet = parcel("x", hops=3)
    assert transit(packet).packet == one_hop_more(packet) == parcel("x", hops=4)


@pytest.mark.parametrize("is_ordered", [False, True])
def test_what_a_router_owes(is_ordered: bool) -> None:
    """MQBR-129 to MQBR-133: a negative acknowledgement, and a dead letter of a plain message."""
    packet = parcel(
        dead_letter=True,
        journal=True,
        acknowledge=Acknowledge.NEG_ARRIVAL | Acknowledge.POS_ARRIVAL | Acknowledge.NEG_RECEIVE,
        place=(1, 1, 0) if is_ordered else None,
    )
    owed = Owed(transit(packet).flags)
    expected = Owed.NACK_ARRIVAL if is_ordered else Owed.NACK_ARRIVAL | Owed.DEAD_LETTER
    assert owed == expected
    assert Owed(transit(packet, is_known=False).flags) == expected | Owed.STRANGER


def test_messages_in_a_sequence_keep_their_order_and_others_their_priority() -> None:
    """MQBR-137, MQBR-139."""
    assert transit(parcel(priority=5)).priority == 5
    ordered = transit(parcel(place=(1, 1, 0)))
    assert (ordered.priority, ordered.express) == (0, False)
    assert transit(parcel(express=True)).express


@pytest.mark.parametrize(
    ("lifetimes", "expires"),
    [
        ({}, NEVER),
        ({"reach": 10}, NOW + 10 + 60),
        ({"receive": 20}, NOW + 20),
        ({"reach": 10, "receive": 20}, NOW + 20),
        ({"reach": 10, "receive": 200}, NOW + 70),
    ],
)
def test_lifetimes_are_counted_from_the_senders_clock(
    lifetimes: dict[str, int], expires: int
) -> None:
    """MQBR-146, MQBR-147."""
    assert transit(parcel(**lifetimes)).expires == expires  # type: ignore[arg-type] # by name


@pytest.mark.parametrize("reports", [False, True])
@pytest.mark.parametrize("is_traced", [False, True])
def test_a_router_reports_a_traced_message_if_it_reports_at_all(
    reports: bool, is_traced: bool
) -> None:
    """MQQB-306: as it goes on, with one hop more."""
    world = World()
    world.done(world.core.configure(reports=reports))
    packet = bytearray(parcel("x"))
    packet[3] |= TRACED * is_traced
    work = ArrivalWork(None, Origin("192.0.2.9", "partner", PARTNER.bytes_le))
    forward(world.core, work, bytes(packet), head_of(bytes(packet)), world.queue())
    expected = [one_hop_more(bytes(packet))] if reports and is_traced else []
    assert work.outcome.traced == expected
