from __future__ import annotations

from typing import Any

import pytest
from tests.directories import TYPE

from openmsmq.directory.conditions import Condition, SortKey, class_filter, filter_for, sort_objects
from openmsmq.directory.ldap.filters import parse_filter
from openmsmq.directory.objects import (
    LinkObject,
    ManagerObject,
    QueueObject,
    SiteObject,
    UserObject,
)
from openmsmq.directory.outcome import DirectoryFailed, DirectoryOutcome


def text(kind: type[Any], *conditions: Condition) -> str:
    return str(filter_for(kind, conditions))


def test_every_search_names_the_class() -> None:
    """MQDS-038, MQDS-039"""
    assert text(QueueObject) == "(objectClass=mSMQQueue)"
    assert text(SiteObject) == "(objectClass=site)"
    assert text(LinkObject) == "(objectClass=mSMQSiteLink)"
    assert "objectCategory=person" in str(class_filter(UserObject))


def test_a_guid_is_16_escaped_octets() -> None:
    """MQDS-028"""
    found = filter_for(QueueObject, [Condition("type", "=", TYPE)])
    octets = r"\33\22\11\00\55\44\77\66\88\99\aa\bb\cc\dd\ee\ff"
    assert found == parse_filter(f"(&(objectClass=mSMQQueue)(mSMQQueueType={octets}))")
    assert TYPE.bytes_le in found.encode()


def test_booleans_are_words() -> None:
    """MQDS-031, MQDS-036: one that is false may as well be unset."""
    assert text(ManagerObject, Condition("router", "=", True)) == (
        "(&(objectClass=mSMQConfiguration)(mSMQRoutingServices=TRUE))"
    )
    assert text(ManagerObject, Condition("router", "=", False)) == (
        "(&(objectClass=mSMQConfiguration)(|(mSMQRoutingServices=FALSE)(!(mSMQRoutingServices=*))))"
    )


def test_times_are_written_as_the_directory_has_them() -> None:
    """MQDS-034"""
    assert text(QueueObject, Condition("created", ">=", 1794835971)) == (
        "(&(objectClass=mSMQQueue)(whenCreated>=20261116133251.0Z))"
    )


def test_strict_comparisons_are_strict() -> None:
    """MQDS-035"""
    assert text(QueueObject, Condition("base_priority", ">", 5)) == (
        "(&(objectClass=mSMQQueue)(&(mSMQBasePriority>=5)(!(mSMQBasePriority=5))))"
    )
    assert text(QueueObject, Condition("base_priority", "<", -5)) == (
        "(&(objectClass=mSMQQueue)(&(mSMQBasePriority<=-5)(!(mSMQBasePriority=-5))))"
    )


def test_a_default_is_found_where_it_is_unset() -> None:
    """MQDS-036"""
    assert text(QueueObject, Condition("base_priority", "!=", 5)) == (
        "(&(objectClass=mSMQQueue)(!(mSMQBasePriority=5)))"
    )
    assert text(QueueObject, Condition("base_priority", "!=", 0)) == (
        "(&(objectClass=mSMQQueue)(&(mSMQBasePriority=*)(!(mSMQBasePriority=0))))"
    )
    assert "(!(mSMQBasePriority=*))" in text(QueueObject, Condition("base_priority", "<=", 3))
    assert "(!(mSMQLabelEx=*))" not in text(QueueObject, Condition("label", "=", "x"))


def test_the_largest_quotas_are_negative() -> None:
    """MQDS-032"""
    found = text(QueueObject, Condition("quota", ">=", 100))
    assert "(|(mSMQQueueQuota>=100)(mSMQQueueQuota<=-1))" in found
    found = text(QueueObject, Condition("quota", "<=", 100))
    assert "(&(mSMQQueueQuota<=100)(mSMQQueueQuota>=0))" in found


def test_all_conditions_must_hold() -> None:
    """MQDS-037"""
    found = text(QueueObject, Condition("label", "=", "a"), Condition("base_priority", "=", 3))
    assert found == "(&(objectClass=mSMQQueue)(mSMQLabelEx=a)(mSMQBasePriority=3))"


@pytest.mark.parametrize(
    ("kind", "field"),
    [
        (ManagerObject, "out_names"),
        (ManagerObject, "services"),
        (ManagerObject, "host"),
        (ManagerObject, "connected_networks"),
        (SiteObject, "primary_site_controller"),
        (QueueObject, "security"),
    ],
)
def test_what_cannot_be_searched_is_an_error(kind: type[Any], field: str) -> None:
    """MQDS-040, MQDS-069, MQDS-130"""
    with pytest.raises(DirectoryFailed) as caught:
        filter_for(kind, [Condition(field, "=", "x")])
    assert caught.value.outcome is DirectoryOutcome.GENERIC_ERROR


def test_results_are_sorted_by_the_first_key_first() -> None:
    """MQDS-046"""
    found = [
        QueueObject(label=label, base_priority=priority)
        for label, priority in (("b", 1), ("A", 2), ("a", 1))
    ]
    ordered = sort_objects(found, [SortKey("label"), SortKey("base_priority", descending=True)])
    assert [(item.label, item.base_priority) for item in ordered] == [("A", 2), ("a", 1), ("b", 1)]
    assert sort_objects([*found], []) == found
