"""The connection to a program, as its session sees it."""

from __future__ import annotations

from openmsmq.app_server.wire import ProgramWire
from openmsmq.net.connection import Connection
from openmsmq.net.wire import Wire


def members(protocol: type) -> set[str]:
    return {name for name in vars(protocol) if not name.startswith("_")}


def test_a_connection_of_the_event_loop_is_a_wire_to_a_program() -> None:
    """`peer` and `certificate` are known once it is connected."""
    needed = members(Wire) | members(ProgramWire)
    assert needed - {"peer", "certificate"} <= set(dir(Connection))
