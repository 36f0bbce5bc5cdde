"""What is wrong with the way messages take: the topology, and connectors that are not there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple
from uuid import UUID

from openmsmq.routing.file import read_topology
from openmsmq.routing.findings import findings
from openmsmq.types.queues import QueueInfo, QueueKind


class RoutingRisk(NamedTuple):
    """Why messages may not come where they should, and what to do."""

    subject: str
    text: str
    advice: str


def topology_risks(text: str, manager: str) -> Iterator[RoutingRisk]:
    """What is wrong with the topology of the settings; `manager` is the own identity."""
    topology = read_topology(text)
    if not topology.managers:
        return
    if UUID(manager) not in topology.managers:
        yield RoutingRisk(
            "topology",
            f"this manager, {manager}, is not in it: nothing is routed from here",
            "Add it to the file, and apply that again: openmsmq topology apply FILE.",
        )
    for problem in findings(topology):
        yield RoutingRisk("topology", problem, "openmsmq topology show prints all of it.")


def idle_connectors(queues: Iterable[QueueInfo]) -> Iterator[RoutingRisk]:
    """Connector queues with messages that no program has open."""
    for queue in queues:
        if queue.kind == QueueKind.CONNECTOR and queue.messages and queue.state == "inactive":
            yield RoutingRisk(
                queue.name,
                f"{queue.messages:,} messages wait for a connector, and none has the queue open",
                "Start the connector of this foreign site.",
            )
