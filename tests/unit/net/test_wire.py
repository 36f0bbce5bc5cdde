"""The two sides of a connection."""

from __future__ import annotations

from tests.simulation.network import End

from openmsmq.net.connection import Connection
from openmsmq.net.wire import Wire


def members(protocol: type) -> set[str]:
    return {name for name in vars(protocol) if not name.startswith("_")}


def test_connections_of_the_event_loop_and_of_the_simulation_are_wires() -> None:
    """The address of the simulated one is known once it is connected."""
    assert members(Wire) <= set(dir(Connection))
    assert members(Wire) - {"address"} <= set(dir(End))
