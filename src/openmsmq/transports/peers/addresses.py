"""Where computers and managers are ([MS-MQQB] 3.1.5.2.1)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache
from ipaddress import ip_address
from typing import Final

from openmsmq.engine.arrivals.peers import KnownPeer, place_of
from openmsmq.names.parts import host_key
from openmsmq.routing.file import split_address
from openmsmq.routing.topology import Topology

PORT: Final = 1801
"[MS-MQQB] 1.9."


class Addresses:
    """Where computers and managers are ([MS-MQQB] 3.1.5.2.1)."""

    def __init__(self, configured: Mapping[str, tuple[str, int]]) -> None:
        """`configured` are computers by name, and where they are."""
        self._named = {host_key(name): address for name, address in configured.items()}
        self._configured = dict(self._named)
        self._places = self._all_places()

    def route_by(self, topology: Topology) -> None:
        """Take where a topology says that managers are; the configuration counts for more."""
        found = {item.name: split_address(item.address) for item in topology.managers.values()}
        routed = {
            host_key(name): (place[0], place[1] or PORT) for name, place in found.items() if place
        }
        self._configured = {**routed, **self._named}
        self._places = self._all_places()

    def _all_places(self) -> frozenset[str]:
        return frozenset(place_of(host) for host, _ in self._configured.values())

    def of_host(self, key: str) -> list[tuple[str, int]]:
        """Where a computer may be: at port 1801 ([MS-MQQB] 2.1.1), unless configured.

        What cannot be a name says that there is no route: it is nowhere.
        """
        if " " in key:
            return []
        return [self._configured.get(key, (key, PORT))]

    def has(self, address: str) -> bool:
        """Whether the configuration or the topology says that a manager is at an IP address."""
        return place_of(address) in self._places

    def of_manager(
        self, known: KnownPeer | None, came_from: Iterable[str]
    ) -> list[tuple[str, int]]:
        """Where a manager may be: where it answered, or else where its sessions come from."""
        found: list[tuple[str, int]] = []
        if known is not None:
            found.append((known.address, known.port))
            for name in reversed(known.names):
                found += self.of_host(name)
            return list(dict.fromkeys(found))
        for address in came_from:
            places = self._configured.values()
            found += [place for place in places if place_of(place[0]) == place_of(address)]
            found.append((address, PORT))
        return list(dict.fromkeys(found))


def address_text(host: str, port: int) -> str:
    """Where a computer is, for people."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def next_hops(hosts: Iterable[str]) -> tuple[str, ...]:
    """Addresses as an outgoing queue shows them (NextHops, [MS-MQMQ] 2.3.12.12)."""
    return tuple(text for host in hosts if (text := _hop(host)))


@lru_cache(maxsize=1024)
def _hop(host: str) -> str:
    """An address as NextHops has it; empty for a name, which DNS has yet to tell about."""
    try:
        address = ip_address(host)
    except ValueError:
        return ""
    return f"IP={address}" if address.version == 4 else f"IPv6={address}"
