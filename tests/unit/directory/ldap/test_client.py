from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from tests.directories import BASE
from tests.ldap_server import PASSWORD, USER, LdapServer, result

from openmsmq.directory.ldap.client import LdapClient, open_directory_tree, tls_context
from openmsmq.directory.ldap.controller import Controller, Domain
from openmsmq.directory.ldap.controllers import ControllerList
from openmsmq.directory.ldap.login import LdapLogin
from openmsmq.directory.ldap.messages import LdapOperation
from openmsmq.directory.ldap.resolver import ServiceRecord
from openmsmq.directory.ldap.tree import (
    Change,
    ConnectionFailed,
    LdapError,
    ResultCode,
    SearchScope,
)
from openmsmq.directory.memory import MemoryTree
from openmsmq.errors import InvalidParameter

LOGIN = LdapLogin("ntlm", f"OMQ\\{USER}", PASSWORD)


def client(*servers: LdapServer) -> LdapClient:
    return LdapClient(ControllerList([Controller.parse(one.url) for one in servers]), LOGIN)


def test_a_broken_connection_is_replaced_at_another_controller() -> None:
    """MQDS-012: once within the operation."""

    async def run() -> None:
        async with LdapServer(MemoryTree()) as first, LdapServer(MemoryTree()) as second:
            made = client(first, second)
            await made.search(BASE, SearchScope.BASE)
            assert (first.binds > 0, second.binds) == (True, 0)
            first.on_request = lambda operation: b""
            assert await made.search(BASE, SearchScope.BASE)
            assert second.binds > 0
            assert made.server == "127.0.0.1"
            second.on_request = lambda operation: b""
            with pytest.raises(ConnectionFailed):
                await made.search(BASE, SearchScope.BASE)
            assert made.server == ""
            await made.close()

    asyncio.run(run())


@pytest.mark.parametrize("code", [ResultCode.BUSY, ResultCode.UNAVAILABLE])
def test_a_busy_controller_is_left(code: ResultCode) -> None:
    """MQDS-023: a retry at another one, then there is no connection."""

    async def run() -> None:
        async with LdapServer(MemoryTree()) as first, LdapServer(MemoryTree()) as second:
            made = client(first, second)
            await made.search(BASE, SearchScope.BASE)
            first.on_request = lambda operation: result(operation, code)
            assert await made.search(BASE, SearchScope.BASE)

            def busy(operation: LdapOperation) -> bytes | None:
                is_bind = operation is LdapOperation.BIND_REQUEST
                return None if is_bind else result(operation, code)

            first.on_request = second.on_request = busy
            with pytest.raises(ConnectionFailed):
                await made.search(BASE, SearchScope.BASE)
            await made.close()

    asyncio.run(run())


def test_operations_at_once_share_one_connection() -> None:
    """MQDS-011"""

    async def run() -> None:
        async with LdapServer(MemoryTree()) as server:
            made = client(server)
            await asyncio.gather(*(made.search(BASE, SearchScope.SUBTREE) for _ in range(10)))
            assert server.binds == 2  # the two tokens of one login
            await made.close()

    asyncio.run(run())


def test_a_refusal_is_not_tried_again() -> None:
    async def run() -> None:
        async with LdapServer(MemoryTree()) as server:
            made = client(server)
            with pytest.raises(LdapError) as caught:
                await made.delete(f"CN=x,{BASE}")
            assert caught.value.code == ResultCode.NO_SUCH_OBJECT
            await made.add(f"CN=x,{BASE}", {"objectClass": [b"container"]})
            await made.modify(f"CN=x,{BASE}", [Change("description", [b"d"])])
            await made.delete(f"CN=x,{BASE}")
            await made.close()

    asyncio.run(run())


def test_controllers_that_dns_knows_are_tried_in_turn() -> None:
    """MQDS-001, MQDS-012: and when none of them answers, DNS is asked again."""

    async def run() -> None:
        async with LdapServer(MemoryTree()) as first, LdapServer(MemoryTree()) as second:
            found = [first.port, second.port]
            asked = []

            async def look_up(name: str) -> list[ServiceRecord]:
                asked.append(name)
                return [ServiceRecord("localhost", port) for port in found]

            made = LdapClient(ControllerList([Domain("example.com")], lookup=look_up), LOGIN)
            assert await made.search(BASE, SearchScope.BASE)
            assert await made.controllers() == ("LOCALHOST", "LOCALHOST")
            await first.stop()
            assert await made.search(BASE, SearchScope.BASE)
            assert (second.binds > 0, len(asked)) == (True, 1)
            await second.stop()
            with pytest.raises(ConnectionFailed):
                await made.search(BASE, SearchScope.BASE)
            async with LdapServer(MemoryTree()) as third:
                found[:] = [third.port]
                assert await made.search(BASE, SearchScope.BASE)
            assert len(asked) == 2
            await made.close()

    asyncio.run(run())


def test_named_controllers_are_asked_for_the_catalog_too() -> None:
    """MQDS-017: those of a domain are found by DNS, like the catalogs of its forest."""
    context = tls_context(None)
    for place, port in (("ldap://dc1:4389", 3268), ("ldaps://dc1", 3269)):
        assert Controller.parse(place).catalog.port == port
    tree = open_directory_tree([Domain("example.com")], LOGIN, context, "HQ")
    assert tree.server == ""


def test_no_controller_says_why() -> None:
    """MQDS-010"""

    async def run() -> None:
        nowhere = [Controller("127.0.0.1", port, False) for port in (1, 2)]
        made = LdapClient(ControllerList(nowhere), LOGIN)
        with pytest.raises(ConnectionFailed, match=r"127.0.0.1:1.*127.0.0.1:2"):
            await made.search(BASE, SearchScope.BASE)
        await made.close()

    asyncio.run(run())


def test_certificates_are_checked_unless_said_otherwise(tmp_path: Path) -> None:
    """MQDS-006"""
    assert tls_context(None).check_hostname
    assert not tls_context(None, checks=False).check_hostname
    with pytest.raises(InvalidParameter):
        tls_context(tmp_path / "none.pem")
