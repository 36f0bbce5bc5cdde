"""Messages for other managers that come as a group are passed on as each would be by itself."""

from __future__ import annotations

from typing import Any, Final, NamedTuple
from uuid import UUID

from hypothesis import event, given
from hypothesis import strategies as st
from tests.property.test_groups import answers, cut, options, take
from tests.unit.engine.station import ADDRESS, Station, parcel
from tests.unit.engine.world import ME, PARTNER

from openmsmq.engine.arrivals.arrival import Origin
from openmsmq.engine.arrivals.duplicates import SEEN, read_seen
from openmsmq.engine.storage.layout import flags_of, local_facts
from openmsmq.packet.group import PacketGroup
from openmsmq.types.queues import QueueKind

GOAL: Final = UUID("2f9c41d7-6a0e-4b58-9d13-7c5e8fa02b64")
SYSTEM: Final = UUID("5d1f0c92-8d0b-4f7e-9f43-0c5b1d7e2a10")
STRANGER: Final = UUID("9a1d6f02-1c5e-4e53-8b8a-3f0d2c4b6e77")
TOPOLOGY: Final = f"""
sites = [{{name = "here"}}, {{name = "there"}}, {{name = "mainframe", foreign = true}}]
links = [
    {{site1 = "here", site2 = "there", gates = ["me", "goal"]}},
    {{site1 = "here", site2 = "mainframe", gates = ["me"]}},
]
managers = [
    {{name = "me", id = "{ME}", sites = ["here", "mainframe"], router = true}},
    {{name = "partner", id = "{PARTNER}", sites = ["here"]}},
    {{name = "goal", id = "{GOAL}", sites = ["there"], router = true}},
    {{name = "SYSTEM", id = "{SYSTEM}", sites = ["mainframe"], foreign = true}},
]
"""


class Series(NamedTuple):
    """Messages for one queue elsewhere, most of them alike."""

    goal: UUID
    many: int
    number: int
    "The identifier of the first."
    step: int
    "From one identifier to the next."
    place: int
    "The number of the first in its sequence; 0 for none."
    hops: int
    options: dict[str, Any]

    def packets(self, *, express: bool) -> list[bytes]:
        """The packets."""
        found = []
        for at in range(self.many):
            given = dict(self.options)
            if self.place and not express:
                given["place"] = (1, self.place + at, self.place + at - 1)
            else:
                given.pop("wants_final", None)
            found.append(
                parcel(
                    "x" * (10 + at),
                    number=self.number + at * self.step,
                    to=f"PRIVATE={self.goal}\\00000007",
                    manager=self.goal,
                    express=express,
                    hops=self.hops,
                    **given,
                )
            )
        return found


series = st.builds(
    Series,
    st.sampled_from([GOAL, GOAL, GOAL, PARTNER, SYSTEM, STRANGER]),
    st.integers(1, 9),
    st.integers(1, 20),
    st.sampled_from([1, 1, 1, 2]),
    st.sampled_from([0, 0, 1, 4]),
    st.sampled_from([0, 0, 1, 28, 29]),
    options | st.just({}),
)


def station_of(*, is_router: bool, is_known: bool) -> tuple[Station, Origin]:
    """A manager, and a session of its partner."""
    found = Station()
    text = TOPOLOGY
    if not is_router:
        text = text.replace("router = true", "router = false", 1)
        text = text.replace('"me", "goal"', '"goal"').replace('gates = ["me"]', "gates = []")
    found.world.done(found.core.configure(topology=text))
    origin = Origin(ADDRESS, "partner")
    origin.entitle(PARTNER.bytes_le, is_proven=True, is_known=is_known)
    return found, origin


def state(station: Station) -> dict[str, object]:
    """All that can be seen of a manager afterwards."""
    core = station.core
    found: dict[str, object] = {}
    for queue in list(core.queues.by_number.values()):
        if queue.kind in (QueueKind.OUTGOING, QueueKind.CONNECTOR):
            found[f"{queue.name} {queue.kind}"] = [
                (
                    entry.lookup,
                    flags_of(entry.record),
                    local_facts(entry.record)[0],
                    entry.packet,
                    entry.express,
                )
                for entry in station.world.entries(queue)
            ]
    rows = [read_seen(key, row) for key, row in station.rows(SEEN).items()]
    found["remembered"] = [key for row in rows for key in row.keys]
    found["statistics"] = dict(core.statistics.counts)
    return found


@given(
    st.lists(st.lists(series, max_size=4), max_size=3),
    st.booleans(),
    st.booleans(),
    st.sampled_from([True, True, True, False]),
)
def test_a_group_is_passed_on_as_its_messages_would_be(
    reads: list[list[Series]], is_known: bool, express: bool, is_router: bool
) -> None:
    """MQBR-124, MQBR-125: hop counts, lifetimes, duplicates and what is owed count for each."""
    packets = [[one for item in read for one in item.packets(express=express)] for read in reads]
    (single, one), (grouped, other) = (
        station_of(is_router=is_router, is_known=is_known) for _ in range(2)
    )
    parts = [cut(read) for read in packets]
    groups = [part for read in parts for part in read if isinstance(part, PacketGroup)]
    event(f"{min(len(groups), 3)} groups")
    expected = answers(take(single, one, packets, express=express))
    assert answers(take(grouped, other, parts, express=express)) == expected
    assert state(grouped) == state(single)
    event(f"{min(len(state(single)), 4)} parts")
