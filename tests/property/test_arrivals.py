"""The order in which messages of other managers come is the order of their queues."""

from __future__ import annotations

from collections import defaultdict

from hypothesis import given
from hypothesis import strategies as st
from tests.unit.engine.station import Station, parcel
from tests.unit.engine.world import HERE, commit_all

from openmsmq.engine.arrivals.arrival import Origin
from openmsmq.engine.core import Core

SESSIONS = 2
QUEUES = ("q", "other")
PRIORITIES = (3, 5)

arrival = st.tuples(
    st.integers(0, SESSIONS - 1),
    st.sampled_from(QUEUES),
    st.sampled_from(PRIORITIES),
    st.booleans(),
    st.booleans(),
)
"Session, queue, priority, whether it is express, and whether it comes twice."
steps = st.lists(arrival | st.just("commit"), max_size=40)


@given(steps)
def test_messages_of_a_session_keep_their_order_in_each_queue(
    happens: list[tuple[int, str, int, bool, bool] | str],
) -> None:
    """DMPR-043, SYS-048: express or not, while commits begin and end at any moment."""
    station = Station()
    for name in QUEUES:
        station.world.queue(name)
    origins = [Origin(f"192.0.2.{n}", f"session {n}") for n in range(SESSIONS)]
    came: dict[tuple[str, int, int], list[int]] = defaultdict(list)
    for number, step in enumerate(happens, 1):
        if isinstance(step, str):
            _go_on(station.core)
            continue
        session, name, priority, express, twice = step
        packet = parcel(
            f"{session}", number=number, to=HERE + name, priority=priority, express=express
        )
        for _ in range(1 + twice):
            if express:
                assert station.begin_express(packet, origin=origins[session])
            else:
                station.begin(packet, origin=origins[session])
        came[name, priority, session].append(number)
    if station.core.is_committing:
        _go_on(station.core)
    commit_all(station.core)
    found: dict[tuple[str, int, int], list[int]] = defaultdict(list)
    for name in QUEUES:
        for view in station.world.views(station.world.find(name)):
            found[name, view.priority, int(view.body)].append(view.message_id)
    assert found == came


def _go_on(core: Core) -> None:
    """End the commit that is under way, or begin one."""
    if core.is_committing:
        core.store.commit()
        core.finish_commit()
    elif core.wants_commit:
        core.start_commit(core.store.begin())
