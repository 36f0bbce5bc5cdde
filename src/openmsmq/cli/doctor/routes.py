"""What is wrong with the way messages take: the topology, and connectors that are not there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple
from uuid import UUID

from openmsmq.errors import UnsupportedOperation
from openmsmq.routing.file import read_topology
from openmsmq.routing.findings import findings
from openmsmq.routing.topology import Topology
from openmsmq.types.queues import QueueInfo, QueueKind

if TYPE_CHECKING:
    from openmsmq import Manager


class RoutingRisk(NamedTuple):
    """Why messages may not come where they should, and what to do."""

    subject: str
    text: str
    advice: str


def routing_risks(manager: Manager) -> Iterator[RoutingRisk]:
    """What is wrong with what a manager routes by, be it from a file or from its directory."""
    try:
        info = manager.control.topology()
    except UnsupportedOperation:  # without a service there is a file, or nothing
        topology = read_topology(manager.settings().topology)
        yield from topology_risks(topology, findings(topology), manager.id, "file")
        return
    yield from topology_risks(info.topology(), info.findings, manager.id, info.source)


def topology_risks(
    topology: Topology, problems: Iterable[str], manager: str, source: str
) -> Iterator[RoutingRisk]:
    """What is wrong with a topology; `manager` is the own identity."""
    if topology.managers and UUID(manager) not in topology.managers:
        yield RoutingRisk(
            "topology",
            f"this manager, {manager}, is not in it: nothing is routed from here",
            "Register it: openmsmq directory join."
            if source == "directory"
            else "Add it to the file, and apply that again: openmsmq topology apply FILE.",
        )
    for problem in problems:
        yield RoutingRisk("topology", problem, "openmsmq topology show prints what is in use.")


def idle_connectors(queues: Iterable[QueueInfo]) -> Iterator[RoutingRisk]:
    """Connector queues with messages that no program has open."""
    for queue in queues:
        if queue.kind == QueueKind.CONNECTOR and queue.messages and queue.state == "inactive":
            yield RoutingRisk(
                queue.name,
                f"{queue.messages:,} messages wait for a connector, and none has the queue open",
                "Start the connector of this foreign site.",
            )
