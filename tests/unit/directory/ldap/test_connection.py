from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from tests.directories import BASE
from tests.ldap_server import PASSWORD, USER, LdapServer, result

from openmsmq.directory import limits
from openmsmq.directory.ldap import ber, connection, messages
from openmsmq.directory.ldap import distinguished_names as names
from openmsmq.directory.ldap.client import tls_context
from openmsmq.directory.ldap.connection import LdapConnection
from openmsmq.directory.ldap.controller import Controller
from openmsmq.directory.ldap.filters import equal
from openmsmq.directory.ldap.login import LdapLogin
from openmsmq.directory.ldap.messages import LdapOperation
from openmsmq.directory.ldap.tree import (
    Change,
    ConnectionFailed,
    LdapError,
    ResultCode,
    SearchScope,
)
from openmsmq.directory.memory import MemoryTree

LOGIN = LdapLogin("ntlm", f"OMQ\\{USER}", PASSWORD)


def connected(test: Callable[[LdapServer, LdapConnection], Awaitable[None]]) -> None:
    """Run a test with a server and a connection to it."""

    async def run() -> None:
        async with LdapServer(MemoryTree()) as server:
            made = await LdapConnection.open(Controller.parse(server.url), LOGIN, tls_context(None))
            try:
                await test(server, made)
            finally:
                await made.close()

    asyncio.run(run())


def test_objects_are_made_found_changed_and_deleted() -> None:
    """MQDS-004, MQDS-005"""

    async def test(server: LdapServer, made: LdapConnection) -> None:
        assert set(server.versions) == {3}
        assert set(server.mechanisms) == {"GSS-SPNEGO"}
        name = f"CN=hq,CN=Computers,{BASE}"
        await made.add(name, {"objectClass": [b"computer"], "sAMAccountName": [b"HQ$"]})
        await made.modify(name, [Change("dNSHostName", [b"hq.test"])])
        rows = await made.search(BASE, SearchScope.SUBTREE, equal("sAMAccountName", "hq$"))
        assert [row.text("dNSHostName") for row in rows] == ["hq.test"]
        await made.delete(name)
        assert await made.search(BASE, SearchScope.SUBTREE, equal("sAMAccountName", "hq$")) == []

    connected(test)


def test_more_than_a_page_is_read_completely(monkeypatch: pytest.MonkeyPatch) -> None:
    """MQDS-013, MQDS-015"""
    monkeypatch.setattr(connection, "PAGE_SIZE", 7)

    async def test(server: LdapServer, made: LdapConnection) -> None:
        for number in range(50):
            name = f"CN=c{number},CN=Computers,{BASE}"
            await server.tree.add(name, {"objectClass": [b"computer"]})
        rows = await made.search(BASE, SearchScope.SUBTREE, equal("objectClass", "computer"))
        assert len(rows) == 50
        assert server.page_sizes.count(7) == 8
        assert set(server.times) == {120}

    connected(test)


def test_an_answer_that_is_cut_is_a_failure() -> None:
    """MQDS-014: rows that came before are worth nothing."""

    async def test(server: LdapServer, made: LdapConnection) -> None:
        for code in (ResultCode.SIZE_LIMIT_EXCEEDED, ResultCode.TIME_LIMIT_EXCEEDED):
            answer = result(LdapOperation.SEARCH_REQUEST, code)
            server.on_request = lambda operation, answer=answer: answer  # type: ignore[misc]
            with pytest.raises(LdapError) as caught:
                await made.search(BASE, SearchScope.SUBTREE)
            assert caught.value.code == code

    connected(test)


def test_more_rows_than_allowed_are_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    """MQDS-014"""
    monkeypatch.setattr(connection, "ROWS_MAX", 3)

    async def test(server: LdapServer, made: LdapConnection) -> None:
        with pytest.raises(LdapError) as caught:
            await made.search(BASE, SearchScope.SUBTREE)
        assert caught.value.code == ResultCode.SIZE_LIMIT_EXCEEDED

    connected(test)


def test_ten_thousand_queues_are_found_by_pages() -> None:
    """MQDS-013"""

    async def test(server: LdapServer, made: LdapConnection) -> None:
        parent = f"CN=msmq,CN=hq,CN=Computers,{BASE}"
        await server.tree.add(names.parent(parent), {"objectClass": [b"computer"]})
        await server.tree.add(parent, {"objectClass": [b"mSMQConfiguration"]})
        for number in range(10_000):
            queue = {"objectClass": [b"mSMQQueue"], "cn": [b"q%d" % number]}
            await server.tree.add(f"CN=q{number},{parent}", queue)
        queues = equal("objectClass", "mSMQQueue")
        rows = await made.search(parent, SearchScope.LEVEL, queues, ["cn"])
        assert {row.text("cn") for row in rows} == {f"q{number}" for number in range(10_000)}
        assert server.page_sizes == [500] * 20

    connected(test)


def test_pages_without_end_are_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """MQDS-015: a controller that always says that there is more."""
    monkeypatch.setattr(connection, "SEARCH_WITHIN", 0.2)

    async def test(server: LdapServer, made: LdapConnection) -> None:
        more = messages.control(
            messages.PAGED,
            ber.element(ber.SEQUENCE, ber.integer(0), ber.octets("again")),
            critical=False,
        )
        server.extra = (more,)
        with pytest.raises(LdapError) as caught:
            await made.search(BASE, SearchScope.LEVEL)
        assert caught.value.code in (
            ResultCode.TIME_LIMIT_EXCEEDED,
            ResultCode.SIZE_LIMIT_EXCEEDED,
        )
        assert len(server.page_sizes) > 1

    connected(test)


def test_more_bytes_than_allowed_are_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    """MQDS-014: over all pages."""
    monkeypatch.setattr(connection, "SEARCH_SIZE_MAX", 1000)
    monkeypatch.setattr(connection, "PAGE_SIZE", 2)

    async def test(server: LdapServer, made: LdapConnection) -> None:
        with pytest.raises(LdapError) as caught:
            await made.search(BASE, SearchScope.SUBTREE)
        assert caught.value.code == ResultCode.SIZE_LIMIT_EXCEEDED
        assert len(server.page_sizes) > 1

    connected(test)


def test_a_search_that_takes_too_long_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    """MQDS-015"""
    monkeypatch.setattr(connection, "SEARCH_WITHIN", 0.05)

    async def test(server: LdapServer, made: LdapConnection) -> None:
        server.on_request = lambda operation: ber.element(LdapOperation.REFERENCE, ber.octets("x"))
        with pytest.raises(LdapError) as caught:
            await made.search(BASE, SearchScope.BASE)
        assert caught.value.code == ResultCode.TIME_LIMIT_EXCEEDED

    connected(test)


def test_descriptors_are_asked_for_with_their_parts() -> None:
    """MQDS-162, MQDS-163: owner, group and list are read, the list alone is written."""

    async def test(server: LdapServer, made: LdapConnection) -> None:
        await made.search(BASE, SearchScope.BASE, security=True)
        await made.modify(BASE, [Change("nTSecurityDescriptor", [b"x"])], flags=4)
        assert server.flags == [7, 4]
        with pytest.raises(LdapError):
            await made.modify(BASE, [Change("nTSecurityDescriptor", [b"x"])])

    connected(test)


def test_a_connection_that_breaks_fails_what_is_under_way() -> None:
    """MQDS-010"""

    async def test(server: LdapServer, made: LdapConnection) -> None:
        server.on_request = lambda operation: b""
        with pytest.raises(ConnectionFailed, match="closed"):
            await made.search(BASE, SearchScope.BASE)
        assert not made.is_open
        with pytest.raises(ConnectionFailed):
            await made.search(BASE, SearchScope.BASE)

    connected(test)


def test_operations_share_a_connection() -> None:
    """MQDS-011"""

    async def test(server: LdapServer, made: LdapConnection) -> None:
        binds = server.binds
        await asyncio.gather(*(made.search(BASE, SearchScope.SUBTREE) for _ in range(20)))
        assert server.binds == binds

    connected(test)


def test_too_many_operations_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "CALLS_MAX", 1)

    async def test(server: LdapServer, made: LdapConnection) -> None:
        found = await asyncio.gather(
            *(made.search(BASE, SearchScope.BASE) for _ in range(2)), return_exceptions=True
        )
        assert [type(item) for item in found].count(LdapError) == 1

    connected(test)


def test_a_wrong_password_is_no_connection() -> None:
    """MQDS-010"""

    async def run() -> None:
        async with LdapServer(MemoryTree()) as server:
            login = LdapLogin("ntlm", USER, "wrong")
            with pytest.raises(ConnectionFailed, match="invalid credentials"):
                await LdapConnection.open(Controller.parse(server.url), login, tls_context(None))

    asyncio.run(run())


def test_a_password_is_not_sent_without_tls() -> None:
    """MQDS-006: the server cannot begin TLS, so that it gets no password."""

    async def run() -> None:
        async with LdapServer(MemoryTree()) as server:
            seen: list[LdapOperation] = []
            refused = result(LdapOperation.EXTENDED_REQUEST, ResultCode.PROTOCOL_ERROR)

            def note(operation: LdapOperation) -> bytes:
                seen.append(operation)
                return refused

            server.on_request = note
            login = LdapLogin("password", USER, PASSWORD)
            with pytest.raises(ConnectionFailed):
                await LdapConnection.open(Controller.parse(server.url), login, tls_context(None))
            assert seen == [LdapOperation.EXTENDED_REQUEST]

    asyncio.run(run())


def test_who_does_not_answer_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "CONNECT_WITHIN", 0.05)

    async def run() -> None:
        async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.read()
            writer.close()

        server = await asyncio.start_server(silent, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        with pytest.raises(ConnectionFailed, match="no answer"):
            await LdapConnection.open(
                Controller("127.0.0.1", port, False), LOGIN, tls_context(None)
            )
        server.close()

    asyncio.run(run())


def test_a_message_that_is_too_long_ends_the_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "ANSWER_SIZE_MAX", 2000)

    async def test(server: LdapServer, made: LdapConnection) -> None:
        await server.tree.modify(BASE, [Change("description", [bytes(b"x" * 4000)])])
        with pytest.raises(ConnectionFailed, match="bytes"):
            await made.search(BASE, SearchScope.BASE)

    connected(test)


def test_limits_are_what_the_specification_says() -> None:
    assert limits.SEARCH_WITHIN == 120
