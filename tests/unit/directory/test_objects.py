from __future__ import annotations

from dataclasses import fields
from typing import Any

import pytest
from tests.directories import TYPE

from openmsmq.directory.ldap.tree import LdapEntry
from openmsmq.directory.objects import (
    CLASSES,
    NO_GUID,
    EnterpriseObject,
    LinkObject,
    ManagerObject,
    Privacy,
    QueueObject,
    ServiceBits,
    SiteObject,
    UserObject,
    attributes_of,
    places,
    read_object,
)
from openmsmq.directory.outcome import DirectoryFailed, DirectoryOutcome
from openmsmq.directory.values import encode
from openmsmq.limits import U32_MAX
from openmsmq.properties.values import OperatingSystemType
from openmsmq.security.sid import EVERYONE

LEAST = {
    "objectguid": (TYPE.bytes_le,),
    "distinguishedname": (b"CN=x,DC=y",),
    "whencreated": (b"20261116133251.0Z",),
    "whenchanged": (b"20261116133252.0Z",),
    "cn": (b"x",),
}


def entry(**attributes: bytes) -> LdapEntry:
    given = {name.lower().replace("_", "-"): (value,) for name, value in attributes.items()}
    return LdapEntry("CN=x,DC=y", {**LEAST, **given})


def test_a_manager_of_which_nothing_is_set() -> None:
    """MQDS-057, MQDS-033, MQDS-064"""
    made = read_object(ManagerObject, entry())
    assert (made.id, made.path, made.created, made.changed) == (
        TYPE,
        "CN=x,DC=y",
        1794835971,
        1794835972,
    )
    assert (made.version, made.system, made.quota, made.journal_quota) == ("", 0, 1 << 20, U32_MAX)
    assert not any((made.foreign, made.router, made.directory_server, made.supporting_server))
    assert (made.sites, made.out_names, made.in_names, made.encryption_keys) == ((), (), (), b"")
    assert (made.host, made.computer, made.system_version, made.clustered) == ("", "", "", False)
    assert (made.server_type, made.remote_access, made.certificates) == (None, False, b"")


def test_a_manager_of_which_everything_is_set() -> None:
    """MQDS-056, MQDS-070"""
    own = entry(
        mSMQComputerTypeEx=b"6.3",
        mSMQOSType=b"1024",
        mSMQQuota=b"5",
        mSMQJournalQuota=b"-1",
        mSMQForeign=b"TRUE",
        mSMQSites=TYPE.bytes_le,
        mSMQOutRoutingServers=b"CN=o",
        mSMQInRoutingServers=b"CN=i",
        mSMQRoutingServices=b"TRUE",
        mSMQDsServices=b"TRUE",
        mSMQDependentClientServices=b"TRUE",
        mSMQServiceType=b"23",
        mSMQEncryptKey=b"keys",
    )
    computer = LdapEntry(
        "CN=hq",
        {
            "dnshostname": (b"hq.test",),
            "samaccountname": (b"HQ$",),
            "operatingsystemversion": (b"10.0",),
            "serviceprincipalname": (b"HOST/hq", b"MSClusterVirtualServer/hq"),
            "msmqsigncertificates": (b"certificates",),
            "msmqdigests": (b"1" * 16,),
            "objectsid": (EVERYONE.encode(),),
        },
    )
    made = read_object(ManagerObject, own, computer)
    assert (made.version, made.system, made.quota, made.journal_quota) == (
        "6.3",
        OperatingSystemType.WINDOWS_SERVER,
        5,
        U32_MAX,
    )
    assert made.foreign
    assert made.router
    assert made.directory_server
    assert made.supporting_server
    assert (made.sites, made.out_names, made.in_names) == ((TYPE,), ("CN=o",), ("CN=i",))
    assert made.encryption_keys == b"keys"
    assert (made.host, made.computer, made.system_version) == ("hq.test", "HQ", "10.0")
    assert (made.certificates, made.digests, made.sid) == (
        b"certificates",
        (b"1" * 16,),
        EVERYONE,
    )
    assert made.clustered
    assert made.server_type == ServiceBits.BACKUP_SITE | ServiceBits.PRIMARY_SITE
    assert made.remote_access


def test_what_a_cluster_is() -> None:
    """MQDS-063"""
    assert ManagerObject(principals=("MSClusterVirtualServer/x",)).clustered
    assert not ManagerObject(principals=("HOST/x",)).clustered


def test_the_type_of_a_directory_server() -> None:
    """MQDS-061, MQDS-062"""
    assert ManagerObject(services=4).server_type is None
    assert ManagerObject(services=4, directory_server=True).server_type is ServiceBits.PRIMARY_SITE
    assert ManagerObject(services=8, directory_server=True).server_type == 8
    assert ManagerObject(services=1, directory_server=True).server_type == 0


@pytest.mark.parametrize("kind", [ManagerObject, QueueObject])
@pytest.mark.parametrize("attribute", ["objectguid", "whencreated", "whenchanged"])
def test_what_must_be_set(kind: type[Any], attribute: str) -> None:
    """MQDS-058"""
    given = {name: values for name, values in LEAST.items() if name != attribute}
    with pytest.raises(DirectoryFailed) as caught:
        read_object(kind, LdapEntry("CN=x", given))
    assert caught.value.outcome is DirectoryOutcome.GENERIC_ERROR


def test_a_value_of_another_kind_is_an_error() -> None:
    with pytest.raises(DirectoryFailed, match="mSMQQuota"):
        read_object(ManagerObject, entry(mSMQQuota=b"many"))


def test_kinds_of_systems() -> None:
    """MQDS-059"""
    assert [int(item) for item in OperatingSystemType] == [0, 0x100, 0x200, 0x300, 0x400, 0x500]
    assert (
        read_object(ManagerObject, entry(mSMQOSType=b"256")).system == OperatingSystemType.FOREIGN
    )


def test_a_queue_of_which_nothing_is_set() -> None:
    """MQDS-092"""
    made = read_object(QueueObject, entry())
    assert (made.label, made.type, made.multicast, made.base_priority) == ("", NO_GUID, "", 0)
    assert not any((made.journal, made.authenticate, made.transactional))
    assert (made.quota, made.journal_quota, made.privacy) == (U32_MAX, U32_MAX, Privacy.OPTIONAL)


def test_a_queue_of_which_everything_is_set() -> None:
    """MQDS-091, MQDS-093"""
    made = read_object(
        QueueObject,
        entry(
            mSMQLabelEx=b"orders",
            mSMQQueueType=TYPE.bytes_le,
            mSMQJournal=b"TRUE",
            mSMQQueueQuota=b"8192",
            mSMQQueueJournalQuota=b"-1",
            mSMQAuthenticate=b"TRUE",
            mSMQPrivacyLevel=b"2",
            mSMQTransactional=b"TRUE",
            MSMQ_MulticastAddress=b"234.1.1.1:8001",
            mSMQBasePriority=b"5",
        ),
    )
    assert (made.label, made.type, made.journal, made.quota) == ("orders", TYPE, True, 8192)
    assert (made.journal_quota, made.authenticate, made.privacy) == (U32_MAX, True, Privacy.BODY)
    assert (made.transactional, made.multicast, made.base_priority) == (
        True,
        "234.1.1.1:8001",
        5,
    )
    assert [int(level) for level in Privacy] == [0, 1, 2]


def test_names_of_a_queue() -> None:
    """MQDS-094 to MQDS-096, MQDS-102"""
    made = QueueObject(
        common_name="a=b#C", computer="HQ-APP", host="hq-app.test", path=r"CN=a\3Db\#C,CN=msmq"
    )
    assert made.name == "a=b#C"
    assert made.path_name == "hq-app\\a=b#c"
    assert made.qualified_path_name == "hq-app.test\\a=b#c"
    assert made.directory_path == r"LDAP://CN=a\3Db\#C,CN=msmq"
    assert QueueObject(common_name="x", computer="Y").qualified_path_name == ""


def test_the_enterprise() -> None:
    """MQDS-119, MQDS-121 to MQDS-124"""
    made = read_object(EnterpriseObject, entry())
    assert (made.weakened_security, made.notifies_old_managers) == (False, True)
    assert (made.time_to_live, made.old_directory) == (345_600, True)
    made = read_object(
        EnterpriseObject,
        entry(mSMQNameStyle=b"TRUE", mSMQCSPName=b"N", mSMQLongLived=b"60", mSMQVersion=b"200"),
    )
    assert (made.weakened_security, made.notifies_old_managers) == (True, False)
    assert (made.time_to_live, made.old_directory) == (60, False)


def test_an_ordinary_site() -> None:
    """MQDS-127 to MQDS-129"""
    made = read_object(SiteObject, entry())
    assert (made.name, made.interval_within, made.interval_between) == ("x", 2, 10)
    assert (made.foreign, made.migrated) == (False, 0)
    made = read_object(
        SiteObject,
        entry(mSMQInterval1=b"3", mSMQInterval2=b"20", mSMQSiteForeign=b"TRUE", mSMQNt4Stub=b"1"),
    )
    assert (made.interval_within, made.interval_between, made.foreign) == (3, 20, True)
    assert made.migrated == 1


@pytest.mark.parametrize("missing", ["mSMQCost", "mSMQSite1", "mSMQSite2"])
def test_a_link_needs_its_cost_and_sites(missing: str) -> None:
    """MQDS-131"""
    given = {"mSMQCost": b"3", "mSMQSite1": b"CN=a", "mSMQSite2": b"CN=b"}
    made = read_object(LinkObject, entry(**given))
    assert (made.cost, made.site1_name, made.site2_name) == (3, "CN=a", "CN=b")
    assert (made.description, made.gate_names) == ("", ())
    del given[missing]
    with pytest.raises(DirectoryFailed, match=missing):
        read_object(LinkObject, entry(**given))


def test_a_user() -> None:
    made = read_object(
        UserObject, entry(objectSid=EVERYONE.encode(), sAMAccountName=b"ann", mSMQDigests=b"d" * 16)
    )
    assert (made.sid, made.account, made.digests) == (EVERYONE, "ann", (b"d" * 16,))
    assert made.certificates == b""


@pytest.mark.parametrize("kind", CLASSES)
def test_every_default_can_be_written(kind: type[Any]) -> None:
    """The declaration is whole: kinds and defaults fit."""
    for name, place in places(kind).items():
        if place.default is not None:
            encode(place.kind, place.default)
        assert name in {item.name for item in fields(kind)}
    assert "nTSecurityDescriptor" not in attributes_of(kind)
    assert "dNSHostName" in attributes_of(ManagerObject, of_computer=True)
