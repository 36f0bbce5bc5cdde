"""What transfers need of the world, and who gives it to them."""

from __future__ import annotations

from tests.simulation.events import Event
from tests.unit.transports.wires import End, Peer, Station

from openmsmq.net.connection import Connection
from openmsmq.net.wire import Machine, Wire
from openmsmq.transports.mqqb.link import Link
from openmsmq.transports.mqqb.listener import BinaryListener, Spoken
from openmsmq.transports.mqqb.network import Network, PeerMachine
from openmsmq.transports.timer import Timer, Timers


def accepted(
    network: type[Network], machine: type[PeerMachine], wire: type[Wire], timer: type[Timer]
) -> None:
    """Only for the type checker, which says whether these are what is needed."""


accepted(BinaryListener, Link, Connection, Event)
accepted(Station, Peer, End, Event)


def members(protocol: type) -> set[str]:
    return {name for name in vars(protocol) if not name.startswith("_")}


def test_sockets_are_one_way_to_have_a_network() -> None:
    assert members(Network) | members(Timers) <= set(dir(BinaryListener))


def test_a_connection_of_the_event_loop_is_a_wire() -> None:
    """Its address is known once it is connected."""
    assert members(Wire) - {"address"} <= set(dir(Connection))


def test_a_link_speaks_on_a_wire() -> None:
    assert members(Machine) | members(PeerMachine) <= set(dir(Link))
    assert members(Machine) <= set(dir(Spoken))
