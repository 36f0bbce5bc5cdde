"""Least-cost paths between sites ([MS-MQBR] 3.1.3.1)."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple
from uuid import UUID

from openmsmq.routing.topology import Topology

NOWHERE: Final = UUID(int=0)
"The first site of a path that has not begun."


class Reach(NamedTuple):
    """How a site is reached: the least of these is the best (RT-03)."""

    cost: int
    sites: int
    "How many sites are entered on the way."
    first: UUID
    "The first of them."


def reach(topology: Topology, roots: Iterable[UUID]) -> Mapping[UUID, Reach]:
    """The least cost of every site from any of the roots; a foreign site is never passed through.

    (Dijkstra; [MS-MQBR] 3.1.3.1, RT-03, RT-06, RT-08.)
    """
    best: dict[UUID, Reach] = {}
    heap = [(Reach(0, 0, NOWHERE), root) for root in roots]
    heapq.heapify(heap)
    while heap:
        found, site = heapq.heappop(heap)
        if site in best:
            continue
        best[site] = found
        cost, count, first = found
        if count and topology.sites[site].foreign:
            continue
        for there, weight in topology.neighbours[site].items():
            if there not in best:
                begun = first if count else there
                heapq.heappush(heap, (Reach(cost + weight, count + 1, begun), there))
    return best
