"""The controllers of a directory: those that are named, and those that DNS knows."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

from openmsmq.directory.ldap.controller import PORTS, Controller, Domain
from openmsmq.directory.ldap.resolver import ServiceRecord, find_services
from openmsmq.directory.ldap.tree import ConnectionFailed
from openmsmq.directory.limits import CONTROLLERS_MAX

KNOWN_FOR: Final = 86_400.0
"Seconds after which DNS is asked again ([MS-MQSO] 6.4.1.2)."
Lookup = Callable[[str], Awaitable[list[ServiceRecord]]]


def record_names(domain: str, site: str, *, catalog: bool = False) -> list[str]:
    """What DNS is asked for: the controllers of the own site first ([MS-MQDMPR] 3.1.3).

    (Names of [MS-ADTS] 6.3.2.3.) Those with the global catalog are listed by forest.
    """
    kind = "gc" if catalog else "dc"
    near = [f"_ldap._tcp.{site}._sites.{kind}._msdcs.{domain}"] if site else []
    return [*near, f"_ldap._tcp.{kind}._msdcs.{domain}"]


class ControllerList:
    """Controllers in the order in which they are tried; DNS is asked for those of a domain."""

    def __init__(
        self,
        places: Sequence[Controller | Domain],
        *,
        site: str = "",
        catalog: bool = False,
        lookup: Lookup = find_services,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """`site` is the own one, whose controllers are tried first."""
        assert places, "at least one controller or domain is needed"
        self._places = tuple(places)
        self._site = site
        self._catalog = catalog
        self._lookup = lookup
        self._now = now
        self._known: list[Controller] = []
        self._until = -1.0

    async def current(self) -> tuple[Controller, ...]:
        """All of them, the next to be tried first; renewed every day ([MS-MQSO] 6.4.1.2).

        If DNS does not answer, those that are known count; `ConnectionFailed` if none are.
        """
        if self._until < 0 or self._now() >= self._until:
            try:
                found = await self._locate()
            except ConnectionFailed:
                if not self._known:
                    raise
            else:
                self._known = found
                self._until = self._now() + KNOWN_FOR
        return tuple(self._known)

    async def _locate(self) -> list[Controller]:
        found: dict[Controller, None] = {}
        for place in self._places:
            if isinstance(place, Controller):
                found[place] = None
                continue
            for name in record_names(place.name, self._site, catalog=self._catalog):
                for host, port in await self._lookup(name):
                    found[Controller(host, port, PORTS["ldaps"] == port)] = None
        if not found:
            asked = ", ".join(place.name for place in self._places if isinstance(place, Domain))
            raise ConnectionFailed(
                f"DNS has no domain controllers of {asked}: name one (ldap://HOST), or let this"
                " computer ask the name servers of the domain"
            )
        return list(found)[:CONTROLLERS_MAX]

    def put_last(self, controller: Controller) -> None:
        """Try the others first from now on."""
        if controller in self._known:
            self._known.remove(controller)
            self._known.append(controller)

    def expire(self) -> None:
        """All have failed: there may be others ([MS-MQSO] 6.4.1.2)."""
        self._until = -1.0
