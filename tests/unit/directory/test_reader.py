from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any
from uuid import UUID

import pytest
from tests.directories import (
    BASE,
    CERTIFICATE,
    CONFIGURATION,
    DIGEST,
    LONG_NAME,
    TYPE,
    certificates,
    example,
    guid_of,
)

from openmsmq.directory import reader as reader_module
from openmsmq.directory.conditions import Condition, SortKey
from openmsmq.directory.ldap.filters import ANYTHING, Filter
from openmsmq.directory.ldap.tree import Change, LdapEntry, LdapError, ResultCode, SearchScope
from openmsmq.directory.memory import MemoryTree
from openmsmq.directory.objects import (
    EnterpriseObject,
    LinkObject,
    ManagerObject,
    QueueObject,
    SiteObject,
    UserObject,
)
from openmsmq.directory.outcome import DirectoryFailed, DirectoryOutcome
from openmsmq.directory.reader import DirectoryReader

APP = f"CN=msmq,CN=HQ-APP,OU=Servers,{BASE}"


def reading(test: Callable[[DirectoryReader, MemoryTree], Awaitable[None]]) -> None:
    """Run a test with the example."""

    async def run() -> None:
        tree = await example()
        await test(DirectoryReader(tree), tree)

    asyncio.run(run())


async def outcome(operation: Awaitable[Any]) -> DirectoryOutcome:
    with pytest.raises(DirectoryFailed) as caught:
        await operation
    return caught.value.outcome


def test_contexts_are_read_before_anything_else() -> None:
    """MQDS-007"""

    async def test(reader: DirectoryReader, tree: MemoryTree) -> None:
        seen: list[str] = []
        search = tree.search

        async def noted(base: str, *arguments: Any, **given: Any) -> list[LdapEntry]:
            seen.append(base)
            return await search(base, *arguments, **given)

        tree.search = noted  # type: ignore[method-assign]
        await reader.find(SiteObject)
        await reader.find(SiteObject)
        assert seen == ["", f"CN=Sites,{CONFIGURATION}", f"CN=Sites,{CONFIGURATION}"]

    reading(test)


def test_a_controller_that_was_down_is_asked_again() -> None:
    """MQDS-008, MQDS-009"""

    async def test(reader: DirectoryReader, tree: MemoryTree) -> None:
        tree.is_down = True
        assert await outcome(reader.find(SiteObject)) is DirectoryOutcome.NOT_CONNECTED
        tree.is_down = False
        assert await reader.find(SiteObject)

    reading(test)


def test_a_root_without_contexts_is_no_connection() -> None:
    """MQDS-009"""

    class Empty(MemoryTree):
        async def search(
            self,
            base: str,
            scope: SearchScope,
            condition: Filter = ANYTHING,
            attributes: Sequence[str] = (),
            *,
            security: bool = False,
        ) -> list[LdapEntry]:
            return [LdapEntry("")]

    async def run() -> None:
        assert (
            await outcome(DirectoryReader(Empty()).find(SiteObject))
            is DirectoryOutcome.NOT_CONNECTED
        )

    asyncio.run(run())


def test_managers_of_the_example() -> None:
    """MQDS-047 to MQDS-049, MQDS-055, MQDS-056, MQDS-064: wherever their computers are."""

    async def test(reader: DirectoryReader, tree: MemoryTree) -> None:
        found = {item.computer: item for item in await reader.find(ManagerObject)}
        assert set(found) == {"HQ-GATE", "PL-GATE", "SH-GATE", "HQ-APP", "PARTNER1"}
        gate, app = found["HQ-GATE"], found["HQ-APP"]
        assert (gate.router, gate.host, gate.system) == (True, "hq-gate.openmsmq.test", 1024)
        assert gate.system_version == "10.0 (20348)"
        assert len(gate.sites) == 2
        assert (app.in_servers, app.out_servers) == ((gate.id,), (gate.id,))
        assert app.path == APP
        partner = found["PARTNER1"]
        assert (partner.host, partner.foreign, partner.principals) == ("", True, ())
        for name in ("hq-app", "HQ-APP.openmsmq.test"):
            assert (await reader.manager_of(name)).id == app.id
        assert await outcome(reader.manager_of("nowhere")) is DirectoryOutcome.OBJECT_NOT_FOUND

    reading(test)


def test_many_managers_are_read_with_one_search_of_computers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(reader_module, "_FEW", 2)

    async def test(reader: DirectoryReader, tree: MemoryTree) -> None:
        found = await reader.find(ManagerObject)
        assert {item.host for item in found if item.router} == {
            f"{name}-gate.openmsmq.test" for name in ("hq", "pl", "sh")
        }

    reading(test)


def test_a_routing_server_that_is_not_there_is_skipped() -> None:
    """MQDS-065, MQDS-066"""

    async def test(reader: DirectoryReader, tree: MemoryTree) -> None:
        gate = f"CN=msmq,CN=HQ-GATE,CN=Computers,{BASE}"
        gone = f"CN=msmq,CN=GONE,CN=Computers,{BASE}".encode()
        for attribute in ("mSMQOutRoutingServers", "mSMQInRoutingServers"):
            await tree.modify(APP, [Change(attribute, [gone, gate.encode()])])
        app = await reader.manager_of("hq-app")
        expected = (await guid_of(tree, gate),)
        assert (app.out_servers, app.in_servers) == (expected, expected)

    reading(test)


def test_one_object_by_its_identifier() -> None:
    """MQDS-029, MQDS-025"""

    async def test(reader: DirectoryReader, tree: MemoryTree) -> None:
        guid = await guid_of(tree, APP)
        assert (await reader.by_id(ManagerObject, guid)).computer == "HQ-APP"
        assert await outcome(reader.by_id(QueueObject, guid)) is DirectoryOutcome.OBJECT_NOT_FOUND
        nothing = UUID(int=5)
        assert (
            await outcome(reader.by_id(QueueObject, nothing)) is DirectoryOutcome.OBJECT_NOT_FOUND
        )
        assert await reader.id_of(f"CN=none,{BASE}") is None

    reading(test)


def test_queues_of_the_example() -> None:
    """MQDS-050, MQDS-091, MQDS-095, MQDS-096, MQDS-102"""

    async def test(reader: DirectoryReader, tree: MemoryTree) -> None:
        manager = await guid_of(tree, APP)
        found = {item.name: item for item in await reader.queues_of(APP)}
        assert set(found) == {"orders", LONG_NAME, "a=b#c"}
        orders = found["orders"]
        assert (orders.type, orders.transactional, orders.journal) == (TYPE, True, True)
        assert (orders.quota, orders.manager) == (8192, manager)
        assert orders.path_name == "hq-app\\orders"
        assert orders.qualified_path_name == "hq-app.openmsmq.test\\orders"
        foreign = await reader.queue_by_path("partner1\\MQORDERS")
        assert foreign.qualified_path_name == ""

    reading(test)


def test_a_name_finds_that_object_only() -> None:
    """MQDS-041, MQDS-042"""

    async def test(reader: DirectoryReader, tree: MemoryTree) -> None:
        named: list[tuple[Any, str, str]] = [
            (ManagerObject, "computer", "HQ-APP"),
            (ManagerObject, "host", "hq-app.openmsmq.test"),
            (QueueObject, "path_name", f"hq-app\\{LONG_NAME}"),
            (QueueObject, "qualified_path_name", "hq-app.openmsmq.test\\a=b#c"),
        ]
        for kind, field, value in named:
            assert len(await reader.find(kind, [Condition(field, "=", value)])) == 1
            none = await reader.find(kind, [Condition(field, "=", "none\\x")])
            assert none == []
        wrong = [Condition("path_name", "!=", "hq-app\\orders")]
        assert await outcome(reader.find(QueueObject, wrong)) is DirectoryOutcome.GENERIC_ERROR
        assert await outcome(reader.queue_by_path("orders")) is DirectoryOutcome.GENERIC_ERROR
        assert await outcome(reader.queue_by_path("hq-app\\x")) is DirectoryOutcome.OBJECT_NOT_FOUND

    reading(test)


def test_two_computers_of_one_name_are_an_error() -> None:
    async def test(reader: DirectoryReader, tree: MemoryTree) -> None:
        again = {"objectClass": [b"computer"], "sAMAccountName": [b"HQ-APP$"]}
        await tree.add(f"CN=again,CN=Computers,{BASE}", again)
        assert await outcome(reader.manager_of("HQ-APP")) is DirectoryOutcome.GENERIC_ERROR

    reading(test)


def test_searches_by_label_type_and_time() -> None:
    """MQDS-037, MQDS-038, MQDS-046, MQDS-144, MQDS-145"""

    async def test(reader: DirectoryReader, tree: MemoryTree) -> None:
        async def names(*conditions: Condition) -> list[str]:
            found = await reader.find(QueueObject, conditions, [SortKey("common_name")])
            return [item.name for item in found]

        assert await names(Condition("label", "=", "ORDERS of the hq")) == ["orders"]
        assert await names(Condition("type", "=", TYPE)) == ["orders"]
        assert await names(Condition("base_priority", ">", 5)) == ["a=b#c"]
        assert await names(Condition("base_priority", "=", 0)) == [
            "MQORDERS",
            "orders",
            LONG_NAME,
        ]
        both = Condition("transactional", "=", True), Condition("label", "=", "orders of the HQ")
        assert await names(*both) == ["orders"]
        assert await names(Condition("created", ">", tree.now)) == []
        assert len(await names()) == 5
        first = await reader.read(QueueObject)
        assert first.name == "orders"
        nothing = reader.read(QueueObject, [Condition("label", "=", "no")])
        assert await outcome(nothing) is DirectoryOutcome.OBJECT_NOT_FOUND

    reading(test)


def test_sites_links_and_the_enterprise() -> None:
    """MQDS-051, MQDS-052, MQDS-120, MQDS-128, MQDS-129, MQDS-132, MQDS-138"""

    async def test(reader: DirectoryReader, tree: MemoryTree) -> None:
        sites = {item.name: item for item in await reader.find(SiteObject)}
        assert {name for name, site in sites.items() if site.foreign} == {"Partner"}
        assert len(sites) == 5
        links = await reader.find(LinkObject)
        ends = {(link.site1, link.site2): link for link in links}
        link = ends[sites["HQ"].id, sites["Plant"].id]
        gates = [
            await guid_of(tree, f"CN=msmq,CN={n}-GATE,CN=Computers,{BASE}") for n in ("HQ", "PL")
        ]
        assert (link.cost, link.gates, link.description) == (3, tuple(gates), "HQ - Plant")
        assert {item.cost for item in await reader.links_of(sites["HQ"].id)} == {1, 3}
        enterprise = await reader.read(EnterpriseObject)
        assert (enterprise.name, enterprise.old_directory) == (BASE, False)
        assert (enterprise.time_to_live, enterprise.notifies_old_managers) == (345_600, False)
        paths = [enterprise.path, *(item.path for item in links)]
        paths += [item.path for item in sites.values()]
        assert all(CONFIGURATION in path for path in paths)

    reading(test)


def test_a_gate_that_is_not_there_is_left_out() -> None:
    """MQDS-133"""

    async def test(reader: DirectoryReader, tree: MemoryTree) -> None:
        link = (await reader.find(LinkObject))[0]
        gates = [name.encode() for name in link.gate_names]
        await tree.modify(link.path, [Change("mSMQSiteGates", gates)])
        gone = f"CN=msmq,CN=HQ-GATE,CN=Computers,{BASE}"
        for row in await tree.search(gone, SearchScope.SUBTREE):
            await tree.delete(row.name)
        again = await reader.by_path(LinkObject, link.path)
        assert len(again.gates) == len(gates) - 1
        assert again.cost == link.cost

    reading(test)


def test_users_are_found_by_sid_and_digest() -> None:
    async def test(reader: DirectoryReader, tree: MemoryTree) -> None:
        (ann,) = await reader.find(UserObject, [Condition("digests", "=", DIGEST)])
        assert (ann.account, ann.certificates) == ("ann", certificates(CERTIFICATE))
        assert ann.sid is not None
        assert (await reader.user_by_sid(ann.sid)).id == ann.id
        assert len(await reader.find(UserObject)) == 1  # computers are none

    reading(test)


def test_aliases_and_lists() -> None:
    """MQDS-147, MQDS-148, MQDS-153"""

    async def test(reader: DirectoryReader, tree: MemoryTree) -> None:
        alias = await guid_of(tree, f"CN=mq-alias,OU=MQ,{BASE}")
        outside = "DIRECT=OS:outside.example\\private$\\in"
        assert await reader.format_names(alias) == [outside]
        everything = await guid_of(tree, f"CN=mq-all,OU=MQ,{BASE}")
        orders = await guid_of(tree, f"CN=orders,{APP}")
        report = await guid_of(tree, f"CN=report,CN=msmq,CN=SH-GATE,CN=Computers,{BASE}")
        expected = {f"PUBLIC={orders}", outside, f"PUBLIC={report}"}
        assert set(await reader.format_names(everything)) == expected
        members = {"objectClass": [b"msMQ-Group"], "member": [f"CN=orders,{APP}".encode()]}
        await tree.add(f"CN=own,OU=MQ,{BASE}", members)
        own = await guid_of(tree, f"CN=own,OU=MQ,{BASE}")
        assert await reader.format_names(own) == [f"PUBLIC={orders}"]

    reading(test)


def test_a_member_of_another_kind_spoils_a_list() -> None:
    """MQDS-149, MQDS-150"""

    async def test(reader: DirectoryReader, tree: MemoryTree) -> None:
        path = f"CN=mq-inner,OU=MQ,{BASE}"
        everything = await guid_of(tree, f"CN=mq-all,OU=MQ,{BASE}")
        await tree.modify(path, [Change("member", [f"CN=Ann Sender,CN=Users,{BASE}".encode()])])
        assert await outcome(reader.format_names(everything)) is DirectoryOutcome.GENERIC_ERROR
        await tree.modify(path, [Change("member", [f"CN=mq-alias,OU=MQ,{BASE}".encode()])])
        await tree.delete(f"CN=mq-alias,OU=MQ,{BASE}")
        assert await outcome(reader.format_names(everything)) is DirectoryOutcome.OBJECT_NOT_FOUND

    reading(test)


def test_lists_that_contain_each_other_end() -> None:
    """MQDS-151"""

    async def test(reader: DirectoryReader, tree: MemoryTree) -> None:
        members = [f"CN=mq-all,OU=MQ,{BASE}".encode(), f"CN=orders,{APP}".encode()]
        await tree.modify(f"CN=mq-inner,OU=MQ,{BASE}", [Change("member", members)])
        everything = await guid_of(tree, f"CN=mq-all,OU=MQ,{BASE}")
        assert len(await reader.format_names(everything)) == 2

    reading(test)


def test_a_long_list_is_read_range_by_range() -> None:
    """MQDS-152"""

    class Ranged(MemoryTree):
        """Gives 1,500 members at a time, as Active Directory does."""

        async def search(
            self,
            base: str,
            scope: SearchScope,
            condition: Filter = ANYTHING,
            attributes: Sequence[str] = (),
            *,
            security: bool = False,
        ) -> list[LdapEntry]:
            start, wanted = 0, list(attributes)
            for place, name in enumerate(wanted):
                if name.startswith("member;range="):
                    start, wanted[place] = int(name[13:].partition("-")[0]), "member"
            rows = await super().search(base, scope, condition, wanted, security=security)
            return [self._cut(row, start) for row in rows]

        def _cut(self, row: LdapEntry, start: int) -> LdapEntry:
            values = row.values("member")
            if len(values) <= 1500:
                return row
            given: Mapping[str, Any] = {k: v for k, v in row.attributes.items() if k != "member"}
            end = "*" if start + 1500 >= len(values) else str(start + 1499)
            page = {f"member;range={start}-{end}": values[start : start + 1500]}
            return LdapEntry(row.name, {**given, **page})

    async def run() -> None:
        tree = Ranged(BASE)
        names = []
        for number in range(3200):
            name = f"CN=a{number},CN=Users,{BASE}"
            format_name = f"DIRECT=OS:host\\q{number}".encode()
            kind = b"msMQ-Custom-Recipient"
            await tree.add(
                name, {"objectClass": [kind], "msMQ-Recipient-FormatName": [format_name]}
            )
            names.append(name.encode())
        await tree.add(f"CN=all,CN=Users,{BASE}", {"objectClass": [b"group"], "member": names})
        guid = await guid_of(tree, f"CN=all,CN=Users,{BASE}")
        found = await DirectoryReader(tree).format_names(guid)
        assert len(set(found)) == 3200

    asyncio.run(run())


def test_a_list_with_too_many_members_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader_module, "MEMBERS_MAX", 2)

    async def test(reader: DirectoryReader, tree: MemoryTree) -> None:
        everything = await guid_of(tree, f"CN=mq-all,OU=MQ,{BASE}")
        assert await outcome(reader.format_names(everything)) is DirectoryOutcome.GENERIC_ERROR

    reading(test)


def test_refusals_have_their_outcome() -> None:
    async def test(reader: DirectoryReader, tree: MemoryTree) -> None:
        async def refuse(*_: Any, **__: Any) -> list[LdapEntry]:
            raise LdapError(ResultCode.INSUFFICIENT_ACCESS_RIGHTS, "no")

        tree.search = refuse  # type: ignore[method-assign]
        with pytest.raises(DirectoryFailed) as caught:
            await reader.find(SiteObject)
        assert caught.value.code == ResultCode.INSUFFICIENT_ACCESS_RIGHTS

    reading(test)
