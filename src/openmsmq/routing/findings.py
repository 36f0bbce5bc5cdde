"""What is wrong with a topology: nothing checks what [MS-MQBR] 1.5 asks of administrators."""

from __future__ import annotations

from collections.abc import Iterator

from openmsmq.routing.paths import reach
from openmsmq.routing.topology import Topology


def findings(topology: Topology) -> list[str]:
    """What an administrator should know, one sentence each ([MS-MQBR] 1.5, RT-07, RT-09)."""
    return [*_links(topology), *_gates(topology), *_sites(topology), *_servers(topology)]


def _name(topology: Topology, site: object) -> str:
    return next((known.name for known in topology.sites.values() if known.id == site), str(site))


def _links(topology: Topology) -> Iterator[str]:
    for link in topology.links:
        if problem := topology.problem(link):
            ends = f"{_name(topology, link.site1)} and {_name(topology, link.site2)}"
            yield f"the link between {ends} does not count: {problem} (cost {link.cost})"


def _gates(topology: Topology) -> Iterator[str]:
    for site, links in topology.links_of.items():
        if links and not topology.gates[site]:
            yield f"{_name(topology, site)} has links but no gate: messages cannot leave it"
    for link in topology.valid_links:
        for gate in link.gates:
            manager = topology.managers.get(gate)
            if manager is None:
                yield f"a gate of a link is unknown: {gate}"
            elif not topology.is_gate(gate):
                yield f"{manager.name} is named as a gate, but is no router in either site"


def _sites(topology: Topology) -> Iterator[str]:
    linked = sorted(site for site, links in topology.links_of.items() if links)
    homes = [site for site in linked if not topology.sites[site].foreign]
    if not homes:
        return
    found = reach(topology, homes[:1])
    start = _name(topology, homes[0])
    for site in linked:
        if site not in found:
            yield f"no route leads from {start} to {_name(topology, site)}"


def _servers(topology: Topology) -> Iterator[str]:
    for manager in topology.managers.values():
        for words, servers in (("out", manager.out_servers), ("in", manager.in_servers)):
            for server in servers:
                known = topology.managers.get(server)
                if known is None or not known.router:
                    name = topology.name_of(server)
                    yield f"{manager.name}: {words}: {name} is no router and is passed over"
