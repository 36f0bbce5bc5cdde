"""Topologies for tests: those of the routing vectors, and small ones by name."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any
from uuid import UUID

from openmsmq.routing.topology import RoutedManager, RoutingLink, Site, Topology

FOLDER = Path(__file__).parent / "vectors" / "routing"
VECTORS = sorted(path.name for path in FOLDER.glob("*.json"))


@cache
def vector(name: str) -> dict[str, Any]:
    """The content of a file of vectors."""
    found: dict[str, Any] = json.loads((FOLDER / name).read_text())
    return found


class Enterprise:
    """A topology of the vectors, with its things by name."""

    def __init__(self, document: dict[str, Any]) -> None:
        self.document = document
        self.sites = {site["name"]: UUID(site["id"]) for site in document["sites"]}
        self.managers = {item["name"]: UUID(item["id"]) for item in document["managers"]}
        self.names = {guid: name for name, guid in (self.sites | self.managers).items()}
        lost = UUID(int=0xDEAD)
        self.topology = Topology(
            {
                self.sites[site["name"]]: Site(
                    self.sites[site["name"]], site["name"], site["foreign"]
                )
                for site in document["sites"]
            },
            tuple(
                RoutingLink(
                    self.sites.get(link["site1"], lost),
                    self.sites.get(link["site2"], lost),
                    link["cost"],
                    tuple(self.managers.get(gate, lost) for gate in link["gates"]),
                )
                for link in document["links"]
            ),
            {
                self.managers[item["name"]]: RoutedManager(
                    self.managers[item["name"]],
                    item["name"],
                    tuple(self.sites.get(site, lost) for site in item["sites"]),
                    router=item["router"],
                    out_servers=tuple(self.managers.get(one, lost) for one in item["out"]),
                    in_servers=tuple(self.managers.get(one, lost) for one in item["in"]),
                    foreign=item["foreign"],
                )
                for item in document["managers"]
            },
        )

    @classmethod
    def of(cls, name: str) -> Enterprise:
        """The enterprise of a file of vectors, by its name or number."""
        return cls(vector(next(file for file in VECTORS if name in file)))

    def id(self, name: str) -> UUID:
        """The identity of a site or a manager."""
        return (self.sites | self.managers)[name]

    def words(self, guids: Any) -> list[str]:
        """The names of sites or managers."""
        return [self.names[guid] for guid in guids]


def numbered(kind: int, number: int) -> UUID:
    """An identity that people can read: sites are of kind 1, managers of kind 2."""
    return UUID(f"{kind:08x}-0000-4000-8000-{number:012x}")
