"""Sites, the links between them, and the managers in them ([MS-MQDMPR] 3.1.1.7, 3.1.1.8)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final
from uuid import UUID

LEAST_COST: Final = 1
GREATEST_COST: Final = 999_999
"ActualCost ([MS-MQDMPR] 3.1.1.8)."
FOREIGN_COST: Final = 999_999
"What each foreign end adds to the cost of a link (PROPID_L_COST, [MS-MQDS] 3.1.4.21.8.1)."


@dataclass(frozen=True, slots=True)
class Site:
    """A place in which all managers reach each other ([MS-MQDMPR] 3.1.1.7)."""

    id: UUID
    name: str
    foreign: bool = False
    "No queue managers are there, but a system that a connector server speaks to."
    permissions: str = ""
    "Who may open its connector queues, in SDDL; nothing where roles decide alone."


@dataclass(frozen=True, slots=True)
class RoutingLink:
    """A way between two sites, in both directions ([MS-MQDMPR] 3.1.1.8)."""

    site1: UUID
    site2: UUID
    cost: int = LEAST_COST
    gates: tuple[UUID, ...] = ()
    "Managers that pass messages from one of its sites to the other (SiteGateIdentifierList)."

    def other_end(self, site: UUID) -> UUID:
        """The site at the other end."""
        return self.site2 if site == self.site1 else self.site1


@dataclass(frozen=True, slots=True)
class RoutedManager:
    """A queue manager as others know it ([MS-MQDMPR] 3.1.1.1)."""

    id: UUID
    name: str
    sites: tuple[UUID, ...] = ()
    router: bool = False
    "It passes on messages of others (RoutingServer)."
    out_servers: tuple[UUID, ...] = ()
    "Everything that it sends goes by one of these (OutRoutingServerIdentifierList)."
    in_servers: tuple[UUID, ...] = ()
    "Everything that is sent to it goes by one of these (InRoutingServerIdentifierList)."
    foreign: bool = False
    "It is a foreign system, which a connector server speaks to (ForeignSystem)."
    address: str = ""
    "Where it is: a name or an IP address, perhaps with a port; empty if its name says so."


@dataclass(frozen=True)
class Topology:
    """All sites, links and managers, and what follows from them."""

    sites: Mapping[UUID, Site] = field(default_factory=dict)
    links: tuple[RoutingLink, ...] = ()
    managers: Mapping[UUID, RoutedManager] = field(default_factory=dict)
    direct: bool = True
    "Where no gate guards a destination and no way leads there, it is connected to (RT-04)."
    bridge: bool = False
    "A routing server may stand in for a direct connection inside a site (RT-25)."

    def problem(self, link: RoutingLink) -> str:
        """Why a link does not count ([MS-MQDMPR] 3.1.1.8; RT-07); empty if it does."""
        if link.site1 not in self.sites or link.site2 not in self.sites:
            return "unknown site"
        if link.site1 == link.site2:
            return "both ends are one site"
        if not LEAST_COST <= link.cost <= GREATEST_COST:
            return "cost out of range"
        return ""

    @cached_property
    def valid_links(self) -> tuple[RoutingLink, ...]:
        """The links that count."""
        return tuple(link for link in self.links if not self.problem(link))

    @cached_property
    def links_of(self) -> Mapping[UUID, tuple[RoutingLink, ...]]:
        """The links that count, by each site that they touch."""
        found: dict[UUID, list[RoutingLink]] = {site: [] for site in self.sites}
        for link in self.valid_links:
            found[link.site1].append(link)
            found[link.site2].append(link)
        return {site: tuple(links) for site, links in found.items()}

    def weight(self, link: RoutingLink) -> int:
        """The cost of a link as routes count it (RT-06)."""
        ends = (self.sites[link.site1], self.sites[link.site2])
        return link.cost + FOREIGN_COST * sum(site.foreign for site in ends)

    @cached_property
    def neighbours(self) -> Mapping[UUID, Mapping[UUID, int]]:
        """The sites next to each, at the least cost of a link ([MS-MQBR] 3.1.3.1; RT-07)."""
        found: dict[UUID, dict[UUID, int]] = {site: {} for site in self.sites}
        for link in self.valid_links:
            weight = self.weight(link)
            for here, there in ((link.site1, link.site2), (link.site2, link.site1)):
                found[here][there] = min(found[here].get(there, weight), weight)
        return found

    @cached_property
    def gates(self) -> Mapping[UUID, tuple[UUID, ...]]:
        """The gates of each site, derived from the links (SiteGateCollection, RT-01)."""
        return {site: tuple(sorted(self._gates_of(site))) for site in self.sites}

    def _gates_of(self, site: UUID) -> set[UUID]:
        """Routing servers of a site that its links name ([MS-MQBR] 1.5)."""
        named = {gate for link in self.links_of[site] for gate in link.gates}
        return {
            gate
            for gate in named
            if (manager := self.managers.get(gate)) is not None
            and manager.router
            and not manager.foreign
            and site in manager.sites
        }

    @cached_property
    def routers(self) -> Mapping[UUID, tuple[UUID, ...]]:
        """The routing servers of each site."""
        found: dict[UUID, list[UUID]] = {site: [] for site in self.sites}
        for manager in self.managers.values():
            if manager.router and not manager.foreign:
                for site in manager.sites:
                    if site in found:
                        found[site].append(manager.id)
        return {site: tuple(sorted(ids)) for site, ids in found.items()}

    def is_gate(self, manager: UUID) -> bool:
        """IsSiteGate ([MS-MQBR] 3.1.5.8)."""
        known = self.managers.get(manager)
        if known is None or not known.router:
            return False
        return any(manager in self.gates.get(site, ()) for site in known.sites)

    def home(self, manager: RoutedManager) -> tuple[UUID, ...]:
        """The sites in which a manager stands for routing: known and not foreign.

        ([MS-MQBR] 3.1.3.1, 3.1.5.1; RT-06)
        """
        return tuple(sorted(site for site in set(manager.sites) if self.is_foreign(site) is False))

    def targets(self, manager: RoutedManager) -> tuple[UUID, ...]:
        """The sites in which a manager can be reached: a foreign system in foreign ones."""
        if not manager.foreign:
            return self.home(manager)
        return tuple(sorted(site for site in set(manager.sites) if self.is_foreign(site)))

    def is_foreign(self, site: UUID) -> bool | None:
        """Whether a site is foreign; None if it is unknown."""
        known = self.sites.get(site)
        return None if known is None else known.foreign

    def gates_of_all(self, sites: Iterable[UUID]) -> list[UUID]:
        """The gates of some sites."""
        return sorted({gate for site in sites for gate in self.gates.get(site, ())})

    def name_of(self, manager: UUID) -> str:
        """The name of a manager, or its identity if it is unknown."""
        known = self.managers.get(manager)
        return str(manager) if known is None else known.name
