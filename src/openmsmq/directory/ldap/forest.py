"""A directory of several domains: the own one from its controllers, others from the catalog.

The global catalog has a part of the attributes of every object of a forest, all that are needed to
find managers, queues and users, and to route ([MS-ADA2]); nothing is written there.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from openmsmq.directory.ldap import distinguished_names as names
from openmsmq.directory.ldap.filters import ANYTHING, And, Filter, Present, equal
from openmsmq.directory.ldap.tree import (
    ROOT,
    Change,
    ConnectionFailed,
    LdapEntry,
    LdapError,
    ResultCode,
    SearchScope,
    Tree,
    Values,
)

DOMAINS_KNOWN_FOR: Final = 86_400.0
"Seconds after which it is asked again whether the forest has other domains."
_ELSEWHERE: Final = frozenset({ResultCode.NO_SUCH_OBJECT, ResultCode.REFERRAL})
"What a controller answers about objects of other domains."


class ForestTree:
    """A `Tree` in which objects of all domains of a forest are found ([MS-MQDSSM] 3.1.6.15).

    A forest with one domain has no need of the catalog, and it is not asked then.
    """

    def __init__(
        self,
        own: Tree,
        open_catalog: Callable[[str], Tree],
        *,
        now: Callable[[], float] = time.monotonic,
    ) -> None:
        """`open_catalog` gets the name of the forest."""
        self._own = own
        self._open_catalog = open_catalog
        self._now = now
        self._catalog: Tree | None = None
        self._domain = self._configuration = ""
        self._domains: list[str] = []
        self._until = -1.0

    @property
    def server(self) -> str:
        """The name of the controller of the own domain that answers; empty if none does."""
        return self._own.server

    async def controllers(self) -> tuple[str, ...]:
        """The controllers of the own domain."""
        return await self._own.controllers()

    async def search(
        self,
        base: str,
        scope: SearchScope,
        condition: Filter = ANYTHING,
        attributes: Sequence[str] = (),
        *,
        security: bool = False,
    ) -> list[LdapEntry]:
        """All objects that a condition holds for: in the own domain, then in the others (DS-03).

        What is below the own domain comes from its controllers, which have all attributes.
        """
        if base == ROOT or not await self._has_others() or self._is_shared(base):
            return await self._own.search(base, scope, condition, attributes, security=security)
        refusal: LdapError | None = None
        found: list[LdapEntry] = []
        try:
            found = await self._own.search(base, scope, condition, attributes, security=security)
        except LdapError as error:
            if error.code not in _ELSEWHERE:
                raise
            refusal = error
        is_whole = scope is SearchScope.SUBTREE and names.key(base) == names.key(self._domain)
        if found and not is_whole:
            return found
        assert self._catalog is not None
        try:
            rows = await self._catalog.search(
                ROOT if is_whole else base, scope, condition, attributes, security=security
            )
        except LdapError as error:
            if error.code not in _ELSEWHERE:
                raise
            rows = []
        except ConnectionFailed as error:
            raise ConnectionFailed(f"the global catalog: {error}") from error
        if refusal is not None and not rows:
            raise refusal
        return [*found, *(row for row in rows if not self._is_own(row.name))]

    async def _has_others(self) -> bool:
        """Whether the forest has other domains: one cross-reference for each ([MS-ADTS] 6.1.1.2.1).

        With its first answer the catalog is opened.
        """
        if self._until < 0 or self._now() >= self._until:
            wanted = (
                "defaultNamingContext",
                "configurationNamingContext",
                "rootDomainNamingContext",
            )
            rows = await self._own.search(ROOT, SearchScope.BASE, ANYTHING, wanted)
            found = [rows[0].text(name) for name in wanted] if rows else []
            if not found or not all(found):
                return False
            self._domain, self._configuration, root = found
            domains = await self._own.search(
                f"CN=Partitions,{self._configuration}",
                SearchScope.LEVEL,
                And((equal("objectClass", "crossRef"), Present("nETBIOSName"))),
                ["nCName"],
            )
            self._domains = [row.text("nCName") for row in domains]
            if len(domains) > 1 and self._catalog is None:
                self._catalog = self._open_catalog(_dns_name(root))
            elif len(domains) <= 1 and self._catalog is not None:
                await self._catalog.close()
                self._catalog = None
            self._until = self._now() + DOMAINS_KNOWN_FOR
        return self._catalog is not None

    def _is_own(self, name: str) -> bool:
        """Whether an object is one of the own domain: that of a child has a longer name."""
        above = [domain for domain in self._domains if _is_below(name, domain)]
        return names.key(max(above, key=len, default="")) == names.key(self._domain)

    def _is_shared(self, base: str) -> bool:
        """Sites, links and the enterprise are the same at every controller of a forest."""
        return _is_below(base, self._configuration)

    async def add(self, name: str, attributes: Mapping[str, Values]) -> None:
        """Make an object of the own domain."""
        await self._own.add(name, attributes)

    async def modify(self, name: str, changes: Sequence[Change], *, flags: int = 0) -> None:
        """Change an object of the own domain."""
        await self._own.modify(name, changes, flags=flags)

    async def delete(self, name: str) -> None:
        """Remove an object of the own domain."""
        await self._own.delete(name)

    async def close(self) -> None:
        """Need neither any longer."""
        await self._own.close()
        if self._catalog is not None:
            await self._catalog.close()


def _is_below(name: str, base: str) -> bool:
    """Whether a name is that of an object, or of one below it."""
    here, there = names.key(name), names.key(base)
    return here == there or here.endswith(f",{there}")


def _dns_name(context: str) -> str:
    """The DNS name of a domain: `DC=example,DC=com` is example.com."""
    return ".".join(value for _, value in names.split(context))
