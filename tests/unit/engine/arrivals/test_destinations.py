"""Which queue a message goes to, or why to none."""

from __future__ import annotations

import pytest
from tests.unit.engine.station import parcel
from tests.unit.engine.world import HERE, ME, NOW, PARTNER, World

from openmsmq.engine.arrivals.arrival import Rejected
from openmsmq.engine.arrivals.destinations import WENT_ROUND, Destinations, Targets
from openmsmq.engine.arrivals.incoming import head_of
from openmsmq.engine.queues.queue import ManagedQueue
from openmsmq.errors import QueueNotFound
from openmsmq.limits import HOP_COUNT_MAX
from openmsmq.names.format import parse_format_name
from openmsmq.properties.message import MessageClass


class Desk:
    """A manager with a plain queue and a transactional one."""

    def __init__(self) -> None:
        self.world = World()
        self.plain = self.world.queue("q")
        self.transactional = self.world.queue("t", transactional=True)
        self.world.done(self.world.core.configure(clock_tolerance=30))
        self.destinations = Destinations(self.world.core)

    def find(self, packet: bytes, known: Targets | None = None) -> ManagedQueue | MessageClass:
        """Where a message goes, or why it goes to none."""
        given = {} if known is None else known
        found = self.destinations.find(given, packet, head_of(packet), bytes(16))
        return found.reason if isinstance(found, Rejected) else found


@pytest.fixture
def desk() -> Desk:
    return Desk()


def test_a_message_goes_to_the_queue_that_its_name_means(desk: Desk) -> None:
    """MQQB-239."""
    assert desk.find(parcel()) is desk.plain
    assert desk.find(parcel(to=HERE + "t", place=(1, 1, 0))) is desk.transactional


@pytest.mark.parametrize(
    ("packet", "reason"),
    [
        (parcel(to=HERE + "nowhere"), MessageClass.NACK_BAD_DST_Q),
        (parcel(place=(1, 1, 0)), MessageClass.NACK_NOT_TRANSACTIONAL_Q),
        (parcel(to=HERE + "t"), MessageClass.NACK_NOT_TRANSACTIONAL_MSG),
        (parcel(manager=PARTNER), MessageClass.NACK_BAD_DST_Q),
        (parcel(manager=PARTNER, hops=HOP_COUNT_MAX), WENT_ROUND),
        (parcel(sent=NOW - 100, reach=60), MessageClass.NACK_REACH_QUEUE_TIMEOUT),
        (parcel(sent=NOW - 100, receive=60), MessageClass.NACK_REACH_QUEUE_TIMEOUT),
    ],
    ids=["no queue", "plain queue", "plain message", "elsewhere", "round", "late", "too late"],
)
def test_others_go_nowhere_for_a_reason(desk: Desk, packet: bytes, reason: MessageClass) -> None:
    assert desk.find(packet) is reason


def test_on_its_way_a_message_may_be_late_by_what_clocks_differ(desk: Desk) -> None:
    """AMB-41."""
    assert desk.find(parcel(sent=NOW - 90, reach=60)) is desk.plain
    assert desk.find(parcel(sent=NOW - 91, reach=60)) is MessageClass.NACK_REACH_QUEUE_TIMEOUT


def test_what_was_found_for_a_destination_is_found_again_without_looking(desk: Desk) -> None:
    known: Targets = {}
    assert desk.find(parcel("1"), known) is desk.plain
    assert list(known.values()) == [desk.plain]
    known[next(iter(known))] = desk.transactional
    assert desk.find(parcel("2", number=2), known) is desk.transactional


def test_a_message_for_no_manager_or_for_this_one_is_here(desk: Desk) -> None:
    """AMB-51."""
    assert desk.destinations.is_here(head_of(parcel()))
    assert desk.destinations.is_here(head_of(parcel(manager=ME)))
    assert not desk.destinations.is_here(head_of(parcel(manager=PARTNER)))


def test_notifications_are_taken_in_an_enterprise_only(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """MQDS-220, MQDS-221: as many as there is room for, and programs do not see them."""
    core = desk.world.core
    name = f"PRIVATE={core.identity}\\00000003"
    packet = parcel(to=name, manager=core.identity)
    assert desk.find(packet) is MessageClass.NACK_BAD_DST_Q
    core.directory.takes_notifications = True
    queue = desk.find(packet)
    assert isinstance(queue, ManagedQueue)
    assert (queue.name, queue.number) == (r"private$\notify_queue$", 3)
    with pytest.raises(QueueNotFound):
        core.queues.find(r"private$\notify_queue$")
    with pytest.raises(QueueNotFound):
        core.queues.resolver.local(parse_format_name(name))
    transactional = parcel(to=name, manager=core.identity, place=(1, 1, 0))
    assert desk.find(transactional) is MessageClass.NACK_NOT_TRANSACTIONAL_Q
    monkeypatch.setattr("openmsmq.engine.arrivals.destinations.NOTIFICATIONS_KEPT_MAX", 0)
    assert desk.find(packet) is MessageClass.NACK_Q_EXCEED_QUOTA
