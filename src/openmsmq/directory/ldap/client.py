"""A directory on the network: one connection for all operations, at one of the controllers."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Final, TypeVar

from openmsmq.directory.ldap.connection import LdapConnection
from openmsmq.directory.ldap.controller import Controller, Domain
from openmsmq.directory.ldap.controllers import ControllerList
from openmsmq.directory.ldap.filters import ANYTHING, Filter
from openmsmq.directory.ldap.forest import ForestTree
from openmsmq.directory.ldap.login import LdapLogin
from openmsmq.directory.ldap.tree import (
    Change,
    ConnectionFailed,
    LdapEntry,
    LdapError,
    ResultCode,
    SearchScope,
    Values,
)
from openmsmq.errors import InvalidParameter

T = TypeVar("T")
_AWAY: Final = frozenset({ResultCode.BUSY, ResultCode.UNAVAILABLE})
"Answers of a controller that another one may answer better (DS-14)."


def tls_context(authorities: Path | None, *, checks: bool = True) -> ssl.SSLContext:
    """How the certificate of a controller is checked: by these authorities, or the system's."""
    try:
        context = ssl.create_default_context(cafile=authorities)
    except OSError as error:
        raise InvalidParameter(f"{authorities}: {error}") from error
    if not checks:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


class LdapClient:
    """A `Tree` whose objects are kept by domain controllers."""

    def __init__(
        self,
        controllers: ControllerList,
        login: LdapLogin,
        context: ssl.SSLContext | None = None,
    ) -> None:
        """`controllers` are tried in their order, beginning with the one that answered last."""
        self._controllers = controllers
        self._login = login
        self._context = context or ssl.create_default_context()
        self._connection: LdapConnection | None = None
        self._opening = asyncio.Lock()

    @property
    def server(self) -> str:
        """The name of the controller that answers; empty if none does."""
        found = self._connection
        return found.controller.host if found is not None and found.is_open else ""

    async def controllers(self) -> tuple[str, ...]:
        """The controllers that it knows, by their NetBIOS names ([MS-MQSO] 6.4.1.2)."""
        found = (controller.netbios_name for controller in await self._controllers.current())
        return tuple(name for name in found if name)

    async def search(
        self,
        base: str,
        scope: SearchScope,
        condition: Filter = ANYTHING,
        attributes: Sequence[str] = (),
        *,
        security: bool = False,
    ) -> list[LdapEntry]:
        """All objects that a condition holds for."""
        return await self._try(
            lambda c: c.search(base, scope, condition, attributes, security=security)
        )

    async def add(self, name: str, attributes: Mapping[str, Values]) -> None:
        """Make an object."""
        await self._try(lambda c: c.add(name, attributes))

    async def modify(self, name: str, changes: Sequence[Change], *, flags: int = 0) -> None:
        """Change an object."""
        await self._try(lambda c: c.modify(name, changes, flags=flags))

    async def delete(self, name: str) -> None:
        """Remove an object."""
        await self._try(lambda c: c.delete(name))

    async def close(self) -> None:
        """Log off."""
        connection, self._connection = self._connection, None
        if connection is not None:
            await connection.close()

    async def _try(self, operate: Callable[[LdapConnection], Awaitable[T]]) -> T:
        """Do it, and once again at another controller if the connection broke (DS-14).

        ([MS-MQDSSM] 2.2.6, 3.1.6.18)
        """
        connection = await self._connected()
        try:
            return await operate(connection)
        except ConnectionFailed:
            await self._leave(connection)
        except LdapError as error:
            if error.code not in _AWAY:
                raise
            await self._leave(connection)
        try:
            return await operate(await self._connected())
        except LdapError as error:
            if error.code in _AWAY:
                raise ConnectionFailed(str(error)) from error
            raise

    async def _connected(self) -> LdapConnection:
        """The connection that all share, made if there is none ([MS-MQDSSM] 3.1.6.18)."""
        async with self._opening:
            if self._connection is not None and self._connection.is_open:
                return self._connection
            reasons = []
            for controller in await self._controllers.current():
                try:
                    self._connection = await LdapConnection.open(
                        controller, self._login, self._context
                    )
                except ConnectionFailed as error:
                    reasons.append(str(error))
                else:
                    return self._connection
            self._controllers.expire()
            raise ConnectionFailed("; ".join(reasons))

    async def _leave(self, connection: LdapConnection) -> None:
        """Try the others first from now on."""
        if connection is self._connection:
            self._connection = None
            self._controllers.put_last(connection.controller)
        with contextlib.suppress(OSError):
            await connection.close()


def open_directory_tree(
    places: Sequence[Controller | Domain],
    login: LdapLogin,
    context: ssl.SSLContext,
    site: str = "",
) -> ForestTree:
    """The directory of a domain, with the global catalog of its forest.

    Of controllers that are named, the same ones are asked for the catalog; those of a domain are
    found by DNS, and so are the catalogs of its forest ([MS-MQDMPR] 3.1.3). Those of the own `site`
    come first.
    """

    def catalog(forest: str) -> LdapClient:
        found = [
            place.catalog if isinstance(place, Controller) else Domain(forest) for place in places
        ]
        listed = ControllerList(tuple(dict.fromkeys(found)), site=site, catalog=True)
        return LdapClient(listed, login, context)

    return ForestTree(LdapClient(ControllerList(places, site=site), login, context), catalog)
