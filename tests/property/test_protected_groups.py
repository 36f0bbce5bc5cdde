"""Protected messages that come as a group are taken as each of them would be by itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from hypothesis import event, given, settings
from hypothesis import strategies as st
from tests.property.test_groups import answers, cut, state
from tests.unit.engine.protected import QUEUES, protected, trusting_station
from tests.unit.engine.station import Station
from tests.unit.engine.world import commit_all

from openmsmq.engine.arrivals.arrival import Arrival, ArrivalGroup, ArrivalOutcome, Origin
from openmsmq.engine.arrivals.examination import ExaminedGroup
from openmsmq.packet.group import PacketGroup
from openmsmq.transports.mqqb.receipts import arrival_of, group_of

_NUMBER: Final = slice(56, 60)
"MessageID."


class Series(NamedTuple):
    """Messages that follow each other, most of them alike."""

    queue: str
    many: int
    number: int
    "The identifier of the first."
    place: int
    "The number of the first in its sequence."
    growth: int
    "By how much the bodies grow."
    by: str
    "Who signed them: alice, a stranger, or no one."
    is_encrypted: bool
    wrong: int
    "Which one was changed on its way."

    def packets(self, *, express: bool) -> list[bytes]:
        """The packets."""
        found = []
        for at in range(self.many):
            in_order = self.queue == "t" and not express
            place = (1, self.place + at, self.place + at - 1) if in_order else None
            size = 10 + at * self.growth
            packet = protected(self.queue, size, self.by, place, self.is_encrypted, express)
            changed = bytearray(packet)
            changed[_NUMBER] = (self.number + at).to_bytes(4, "little")
            if at == self.wrong:
                changed[-8] ^= 1  # in its body
            found.append(bytes(changed))
        return found


def looked_at(station: Station, part: bytes | PacketGroup) -> list[bytes | ArrivalGroup]:
    """A part of what came as a session hands it on (`Link`)."""
    if not isinstance(part, PacketGroup):
        return [*station.arrivals.examined([part])]
    found = station.arrivals.examined_group(part)
    if isinstance(found, PacketGroup):
        return [group_of(part)]
    event("a group" if isinstance(found, ExaminedGroup) else "a group that is not alike")
    return [group_of(part, found)] if isinstance(found, ExaminedGroup) else [*found]


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
        found = [item for part in parts for item in looked_at(station, part)]
        if express:
            outcomes.append(station.arrivals.take_express(origin, found))
        else:
            arrivals: list[Arrival | ArrivalGroup] = [
                item if isinstance(item, ArrivalGroup) else arrival_of(item) for item in found
            ]
            station.arrivals.take(origin, arrivals, outcomes.append)
        commit_all(station.core)
    return outcomes


series = st.builds(
    Series,
    st.sampled_from(QUEUES),
    st.integers(1, 7),
    st.integers(1, 20),
    st.integers(1, 4),
    st.sampled_from([0, 0, 5]),
    st.sampled_from(["alice", "alice", "alice", "stranger", ""]),
    st.booleans(),
    st.sampled_from([-1, -1, -1, 0, 2]),
)


@settings(deadline=None)
@given(
    st.lists(st.lists(series, max_size=3), max_size=3),
    st.booleans(),
    st.sampled_from([0, 0, 0, 100]),
)
def test_a_protected_group_is_taken_as_its_messages_would_be(
    reads: list[list[Series]], express: bool, window: int
) -> None:
    """MSEC-063, MSEC-088, MSEC-135: faults, permissions, privacy and replays count for each."""
    packets = [[one for item in read for one in item.packets(express=express)] for read in reads]
    (single, one), (grouped, other) = (trusting_station(window) for _ in range(2))
    expected = answers(take(single, one, packets, express=express))
    parts = [cut(read) for read in packets]
    assert answers(take(grouped, other, parts, express=express)) == expected
    assert state(grouped, QUEUES) == state(single, QUEUES)
