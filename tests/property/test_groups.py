"""Messages that come as a group are taken as each of them would be by itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

from hypothesis import event, given
from hypothesis import strategies as st
from tests.unit.engine.station import ADDRESS, ADMIN, Station, parcel
from tests.unit.engine.world import HERE, NOW, PARTNER, commit_all

from openmsmq.engine.arrivals.arrival import Arrival, ArrivalGroup, ArrivalOutcome, Origin
from openmsmq.engine.arrivals.duplicates import SEEN, read_seen
from openmsmq.engine.arrivals.incoming import INCOMING
from openmsmq.engine.storage.layout import flags_of, local_facts, place_and_expiry
from openmsmq.engine.storage.runs import MEMBER
from openmsmq.packet.framing import PacketFramer
from openmsmq.packet.group import PacketGroup
from openmsmq.packet.view import PacketView
from openmsmq.properties.message import INFINITE, Acknowledge
from openmsmq.transports.mqqb.receipts import arrival_of, group_of

QUEUES: Final = ("q", "t", "small", "journaled", "open", "closed", "sealed", "missing")
"""A plain one, a transactional one, one with a quota, one with a journal, three that do not take
every message, and none.
"""


class Series(NamedTuple):
    """Messages that follow each other, most of them alike."""

    queue: str
    many: int
    number: int
    "The identifier of the first."
    step: int
    "From one identifier to the next."
    place: int
    "The number of the first in its sequence."
    gap: int
    "Numbers that are missing before it."
    size: int
    "By how much the bodies grow."
    options: dict[str, Any]

    def packets(self, *, express: bool) -> list[bytes]:
        """The packets."""
        found = []
        for at in range(self.many):
            options = dict(self.options)
            if self.queue == "t" and not express:
                number = self.place + at
                previous = number - 1 - (self.gap if not at else 0)
                options["place"] = (1, number, max(previous, 0))
            else:
                options.pop("wants_final", None)
            found.append(
                parcel(
                    "x" * (10 + at * self.size),
                    number=self.number + at * self.step,
                    to=HERE + self.queue,
                    express=express,
                    **options,
                )
            )
        return found


options = st.fixed_dictionaries(
    {},
    optional={
        "priority": st.sampled_from([0, 3, 7]),
        "acknowledge": st.sampled_from([Acknowledge.POS_RECEIVE, Acknowledge.NEG_ARRIVAL]),
        "journal": st.just(value=True),
        "dead_letter": st.just(value=True),
        "wants_final": st.just(value=True),
        "admin": st.sampled_from([None, ADMIN]),
        "sent": st.sampled_from([NOW - 100, NOW, NOW + 5]),
        "reach": st.sampled_from([INFINITE, 50, 500]),
        "receive": st.sampled_from([INFINITE, 500, 50]),
    },
)
series = st.builds(
    Series,
    st.sampled_from(QUEUES),
    st.integers(1, 9),
    st.integers(1, 20),
    st.sampled_from([1, 1, 1, 2]),
    st.integers(1, 8),
    st.sampled_from([0, 0, 0, 2]),
    st.sampled_from([0, 0, 3]),
    options | st.just({}),
)


def station_of(*, is_known: bool) -> tuple[Station, Origin]:
    """A manager, and a session of its partner."""
    found = Station()
    found.world.queue("q")
    found.world.queue("t", transactional=True)
    found.world.queue("small", quota=1)
    found.world.queue("journaled", journal=True)
    found.world.queue("open", permissions="D:(A;;LC;;;AN)")
    found.world.queue("closed", permissions="D:(A;;LC;;;BA)")
    found.world.queue("sealed", privacy=2)
    found.world.queue("admin")
    origin = Origin(ADDRESS, "partner")
    origin.entitle(PARTNER.bytes_le, is_proven=True, is_known=is_known)
    return found, origin


def cut(packets: Sequence[bytes]) -> list[bytes | PacketGroup]:
    """Packets as a session finds them in what it reads."""
    framer = PacketFramer()
    framer.receive_data(b"".join(packets))
    return list(framer.parts())


def take(
    station: Station,
    origin: Origin,
    reads: Sequence[Sequence[bytes | PacketGroup]],
    *,
    express: bool,
) -> list[ArrivalOutcome]:
    """Take what came, each read by itself."""
    outcomes: list[ArrivalOutcome] = []
    for parts in reads:
        if express:
            found = [group_of(part) if isinstance(part, PacketGroup) else part for part in parts]
            outcomes.append(station.arrivals.take_express(origin, found))
            commit_all(station.core)
            continue
        arrivals: list[Arrival | ArrivalGroup] = [
            group_of(part) if isinstance(part, PacketGroup) else arrival_of(part) for part in parts
        ]
        station.arrivals.take(origin, arrivals, outcomes.append)
        commit_all(station.core)
    return outcomes


def state(station: Station, queues: Sequence[str] = QUEUES[:-1]) -> dict[str, object]:
    """All that can be seen of a manager afterwards, in which rows its messages are or not."""
    core = station.core
    found: dict[str, object] = {}
    packets: list[bytes] = []
    for name in (*queues, "admin"):
        queue = station.world.find(name)
        entries = station.world.entries(queue)
        packets += [entry.packet for entry in entries]
        found[name] = [
            (
                entry.lookup,
                flags_of(entry.record) & ~MEMBER,
                local_facts(entry.record)[0],
                place_and_expiry(entry.record)[2],
                entry.packet if name != "admin" else PacketView(entry.packet).message_class,
                entry.express,
            )
            for entry in entries
        ]
        found[name + " counts"] = queue.messages, queue.total_size, list(queue.totals)
    found["streams"] = station.rows(INCOMING)
    rows = [read_seen(key, row) for key, row in station.rows(SEEN).items()]
    found["remembered"] = [key for row in rows for key in row.keys]
    found["statistics"] = dict(core.statistics.counts)
    found["history"] = [
        [(item.event, item.by, item.lookup) for item in core.history.of(core.snapshot, name)]
        for name in dict.fromkeys(PacketView(packet).identifier for packet in packets)
    ]
    return found


def answers(outcomes: Sequence[ArrivalOutcome]) -> list[object]:
    """What the sender hears."""
    return [
        (
            type(outcome.error),
            outcome.progress,
            outcome.gaps,
            [(item.packet, item.reason) for item in outcome.refusals],
            outcome.rejected,
            outcome.traced,
        )
        for outcome in outcomes
    ]


@given(st.lists(st.lists(series, max_size=4), max_size=3), st.booleans(), st.booleans())
def test_a_group_is_taken_as_its_messages_would_be(
    reads: list[list[Series]], is_known: bool, express: bool
) -> None:
    """MQQB-238, MQQB-243: duplicates, gaps, quotas, lifetimes and what is owed count for each."""
    packets = [[one for item in read for one in item.packets(express=express)] for read in reads]
    (single, one), (grouped, other) = (station_of(is_known=is_known) for _ in range(2))
    parts = [cut(read) for read in packets]
    groups = [part for read in parts for part in read if isinstance(part, PacketGroup)]
    event(f"{min(len(groups), 3)} groups")
    assert [
        one
        for read in parts
        for part in read
        for one in (part.split() if isinstance(part, PacketGroup) else [part])
    ] == [one for read in packets for one in read]
    expected = answers(take(single, one, packets, express=express))
    assert answers(take(grouped, other, parts, express=express)) == expected
    assert state(grouped) == state(single)
