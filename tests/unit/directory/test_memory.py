from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.directories import BASE, CONFIGURATION, example

from openmsmq.directory.ldap.filters import parse_filter
from openmsmq.directory.ldap.tree import (
    Change,
    ConnectionFailed,
    LdapError,
    ResultCode,
    SearchScope,
)
from openmsmq.directory.memory import MemoryTree, kind_of
from openmsmq.directory.values import ValueKind

QUEUE = f"CN=orders,CN=msmq,CN=HQ-APP,OU=Servers,{BASE}"


def refused(operation: Any) -> int:
    with pytest.raises(LdapError) as caught:
        asyncio.run(operation)
    return caught.value.code


async def add(name: str, kind: str, **attributes: bytes) -> None:
    tree = await example()
    given = {key.replace("_", "-"): [value] for key, value in attributes.items()}
    await tree.add(name, {"objectClass": [kind.encode()], **given})


@pytest.mark.parametrize(
    ("name", "kind", "attributes", "code"),
    [
        (QUEUE, "mSMQQueue", {}, ResultCode.ENTRY_ALREADY_EXISTS),
        (f"CN=x,CN=none,{BASE}", "mSMQQueue", {}, ResultCode.NO_SUCH_OBJECT),
        (f"CN=x,{BASE}", "mSMQQueue", {}, ResultCode.NAMING_VIOLATION),
        (f"CN=x,CN=Services,{CONFIGURATION}", "site", {}, ResultCode.NAMING_VIOLATION),
        (
            f"CN=x,CN=MsmqServices,CN=Services,{CONFIGURATION}",
            "mSMQSiteLink",
            {},
            ResultCode.OBJECT_CLASS_VIOLATION,
        ),
    ],
)
def test_objects_are_refused_as_by_a_controller(
    name: str, kind: str, attributes: dict[str, bytes], code: int
) -> None:
    """MQDS-108, MQDS-109"""
    assert refused(add(name, kind, **attributes)) == code


@pytest.mark.parametrize(
    ("attribute", "value"),
    [
        ("mSMQJournal", b"1"),
        ("mSMQLabelEx", b"x" * 125),
        ("mSMQLabelEx", b""),
        ("mSMQPrivacyLevel", b"3"),
        ("mSMQQueueType", bytes(15)),
        ("mSMQQueueNameExt", b"x" * 93),
    ],
)
def test_values_are_refused_as_by_a_controller(attribute: str, value: bytes) -> None:
    name = f"CN=new,CN=msmq,CN=HQ-APP,OU=Servers,{BASE}"
    code = refused(add(name, "mSMQQueue", **{attribute: value}))
    assert code == ResultCode.INVALID_ATTRIBUTE_SYNTAX


def test_changes() -> None:
    async def run() -> None:
        tree = await example()
        await tree.modify(QUEUE, [Change("mSMQLabelEx", [b"new"])])
        await tree.modify(QUEUE, [Change("description", [b"a"], "add")])
        await tree.modify(QUEUE, [Change("description", [b"b"], "add")])
        await tree.modify(QUEUE, [Change("description", [b"a"], "delete")])
        (row,) = await tree.search(QUEUE, SearchScope.BASE)
        assert row.text("mSMQLabelEx") == "new"
        assert row.values("description") == (b"b",)
        await tree.modify(QUEUE, [Change("description")])
        for change in (
            Change("description", [b"b"], "delete"),
            Change("mSMQLabelEx", [b"new"], "add"),
            Change("nTSecurityDescriptor", [b"x"]),
        ):
            with pytest.raises(LdapError):
                await tree.modify(QUEUE, [Change("description", [b"z"]), change])
        (row,) = await tree.search(QUEUE, SearchScope.BASE)
        assert row.values("description") == ()  # none of it was made

    asyncio.run(run())


def test_only_leaves_are_deleted() -> None:
    async def run() -> None:
        tree = await example()
        with pytest.raises(LdapError) as caught:
            await tree.delete(f"CN=msmq,CN=HQ-APP,OU=Servers,{BASE}")
        assert caught.value.code == ResultCode.NOT_ALLOWED_ON_NON_LEAF
        await tree.delete(QUEUE)
        assert await tree.search(BASE, SearchScope.SUBTREE, parse_filter("(cn=orders)")) == []

    asyncio.run(run())


def test_pieces_of_texts_are_found() -> None:
    async def run() -> None:
        tree = await example()
        found = await tree.search(
            BASE, SearchScope.SUBTREE, parse_filter("(mSMQLabelEx=ORD*of the*)")
        )
        assert len(found) == 1
        none = await tree.search(BASE, SearchScope.SUBTREE, parse_filter("(mSMQLabelEx=ord*xyz*)"))
        assert none == []

    asyncio.run(run())


def test_a_controller_that_is_down() -> None:
    tree = MemoryTree()
    tree.is_down = True
    with pytest.raises(ConnectionFailed):
        asyncio.run(tree.search("", SearchScope.BASE))
    assert tree.server == ""
    asyncio.run(tree.close())


def test_kinds_of_attributes() -> None:
    assert kind_of("msmqcost") is ValueKind.INTEGER
    assert kind_of("member") is ValueKind.NAMES
    assert kind_of("anything") is ValueKind.TEXT
