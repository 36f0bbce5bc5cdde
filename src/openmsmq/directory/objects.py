"""Objects of the directory: their attributes, and what unset ones mean ([MS-MQDSSM] 3.1.6.11).

A field says under which LDAP attribute its value is kept; one without is put together from others.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import IntEnum, IntFlag
from typing import Any, Final, TypeAlias, TypeVar
from uuid import UUID

from openmsmq.directory.ldap.tree import LdapEntry
from openmsmq.directory.outcome import failed
from openmsmq.directory.queue_names import join_name
from openmsmq.directory.values import ValueKind, decode
from openmsmq.limits import U32_MAX
from openmsmq.properties.values import OperatingSystemType
from openmsmq.security.sid import Sid

NO_GUID: Final = UUID(int=0)
CLUSTER: Final = "MSClusterVirtualServer"
_REQUIRED: Final = object()


class ServiceBits(IntFlag):
    """mSMQServiceType ([MS-MQDSSM] 3.1.6.1.1.5)."""

    ROUTING = 0x01
    BACKUP_SITE = 0x02
    PRIMARY_SITE = 0x04
    PRIMARY_ENTERPRISE = 0x08
    REMOTE_ACCESS = 0x10


class Privacy(IntEnum):
    """mSMQPrivacyLevel ([MS-MQDSSM] 3.1.6.1.2.4)."""

    NONE = 0
    OPTIONAL = 1
    BODY = 2


@dataclass(frozen=True, slots=True)
class Stored:
    """Where a field is kept."""

    attribute: str
    kind: ValueKind
    default: Any = None
    is_required: bool = False
    searched: bool = True
    "A filter may speak of it."
    written: str = "always"
    "`always`, `create` or `never`."
    of_computer: bool = False
    "It is an attribute of the computer, not of its queue manager."


def stored(
    attribute: str,
    kind: ValueKind,
    default: Any = _REQUIRED,
    *,
    searched: bool = True,
    written: str = "always",
    of_computer: bool = False,
) -> Any:
    """A field that is kept under an attribute; without a default, the attribute must be set."""
    required = default is _REQUIRED
    value = None if required else default
    place = Stored(attribute, kind, value, required, searched, written, of_computer)
    return field(default=value, metadata={"stored": place})


def server_made(attribute: str, kind: ValueKind) -> Any:
    """A field that the directory itself sets."""
    return stored(attribute, kind, written="never")


@dataclass(frozen=True, slots=True, kw_only=True)
class ManagerObject:
    """QueueManager: mSMQConfiguration below its computer ([MS-MQDSSM] 3.1.6.11.1)."""

    id: UUID = server_made("objectGUID", ValueKind.GUID)
    path: str = server_made("distinguishedName", ValueKind.NAME)
    created: int = server_made("whenCreated", ValueKind.TIME)
    changed: int = server_made("whenChanged", ValueKind.TIME)
    version: str = stored("mSMQComputerTypeEx", ValueKind.TEXT, "")
    system: int = stored("mSMQOSType", ValueKind.INTEGER, OperatingSystemType.NONE)
    quota: int = stored("mSMQQuota", ValueKind.UNSIGNED, 0x00100000)
    journal_quota: int = stored("mSMQJournalQuota", ValueKind.UNSIGNED, U32_MAX)
    foreign: bool = stored("mSMQForeign", ValueKind.BOOLEAN, False)
    sites: tuple[UUID, ...] = stored("mSMQSites", ValueKind.GUIDS, ())
    out_names: tuple[str, ...] = stored(
        "mSMQOutRoutingServers", ValueKind.NAMES, (), searched=False
    )
    in_names: tuple[str, ...] = stored("mSMQInRoutingServers", ValueKind.NAMES, (), searched=False)
    router: bool = stored("mSMQRoutingServices", ValueKind.BOOLEAN, False)
    directory_server: bool = stored("mSMQDsServices", ValueKind.BOOLEAN, False)
    supporting_server: bool = stored("mSMQDependentClientServices", ValueKind.BOOLEAN, False)
    services: int = stored("mSMQServiceType", ValueKind.INTEGER, 0, searched=False)
    encryption_keys: bytes = stored("mSMQEncryptKey", ValueKind.OCTETS, b"")
    security: bytes = stored("nTSecurityDescriptor", ValueKind.OCTETS, b"", searched=False)
    host: str = stored("dNSHostName", ValueKind.TEXT, "", written="never", of_computer=True)
    account: str = stored("sAMAccountName", ValueKind.TEXT, "", written="never", of_computer=True)
    system_version: str = stored(
        "operatingSystemVersion", ValueKind.TEXT, "", searched=False, of_computer=True
    )
    principals: tuple[str, ...] = stored(
        "servicePrincipalName", ValueKind.TEXTS, (), searched=False, of_computer=True
    )
    certificates: bytes = stored(
        "mSMQSignCertificates", ValueKind.OCTETS, b"", searched=False, of_computer=True
    )
    digests: tuple[bytes, ...] = stored(
        "mSMQDigests", ValueKind.OCTET_STRINGS, (), searched=False, of_computer=True
    )
    sid: Sid | None = stored(
        "objectSid", ValueKind.SID, None, searched=False, written="never", of_computer=True
    )
    out_servers: tuple[UUID, ...] = ()
    "Those of `out_names` that there are ([MS-MQDSSM] 3.1.6.11.1.3)."
    in_servers: tuple[UUID, ...] = ()

    @property
    def computer(self) -> str:
        """ComputerName: the account of the computer without its `$`."""
        return self.account.removesuffix("$")

    @property
    def is_server(self) -> bool:
        """It has settings of its own in each of its sites ([MS-MQDSSM] 3.1.6.1.1.3)."""
        return self.router or self.directory_server or self.supporting_server

    @property
    def server_type(self) -> ServiceBits | None:
        """DirectoryServerType ([MS-MQDSSM] 3.1.6.11.1.5): 0 for one that stands alone."""
        if not self.directory_server:
            return None
        return ServiceBits(self.services & 0x0E)

    @property
    def remote_access(self) -> bool:
        """RemoteAccessServer ([MS-MQDSSM] 3.1.6.11.1)."""
        return bool(self.services & ServiceBits.REMOTE_ACCESS)

    @property
    def clustered(self) -> bool:
        """Clustered ([MS-MQDSSM] 3.1.6.11.1.6): a virtual server of a cluster."""
        return any(CLUSTER in principal for principal in self.principals)


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueObject:
    """A public Queue: mSMQQueue below its manager ([MS-MQDSSM] 3.1.6.11.2)."""

    id: UUID = server_made("objectGUID", ValueKind.GUID)
    path: str = server_made("distinguishedName", ValueKind.NAME)
    created: int = server_made("whenCreated", ValueKind.TIME)
    changed: int = server_made("whenChanged", ValueKind.TIME)
    common_name: str = stored("cn", ValueKind.TEXT, searched=False, written="never")
    extension: str = stored("mSMQQueueNameExt", ValueKind.TEXT, "", searched=False, written="never")
    label: str = stored("mSMQLabelEx", ValueKind.TEXT, "")
    type: UUID = stored("mSMQQueueType", ValueKind.GUID, NO_GUID)
    journal: bool = stored("mSMQJournal", ValueKind.BOOLEAN, False)
    quota: int = stored("mSMQQueueQuota", ValueKind.UNSIGNED, U32_MAX)
    journal_quota: int = stored("mSMQQueueJournalQuota", ValueKind.UNSIGNED, U32_MAX)
    authenticate: bool = stored("mSMQAuthenticate", ValueKind.BOOLEAN, False)
    privacy: int = stored("mSMQPrivacyLevel", ValueKind.INTEGER, Privacy.OPTIONAL)
    transactional: bool = stored("mSMQTransactional", ValueKind.BOOLEAN, False, written="create")
    multicast: str = stored("MSMQ-MulticastAddress", ValueKind.TEXT, "")
    base_priority: int = stored("mSMQBasePriority", ValueKind.INTEGER, 0)
    security: bytes = stored("nTSecurityDescriptor", ValueKind.OCTETS, b"", searched=False)
    manager: UUID = NO_GUID
    "The manager that it is a queue of."
    computer: str = ""
    host: str = ""

    @property
    def name(self) -> str:
        """Its name at its manager, from cn and not from the DN (DS-11)."""
        return join_name(self.common_name, self.extension)

    @property
    def path_name(self) -> str:
        """Pathname ([MS-MQDSSM] 3.1.6.11.2.1): computer and name, in lower case."""
        return f"{self.computer}\\{self.name}".lower()

    @property
    def qualified_path_name(self) -> str:
        """QualifiedPathname ([MS-MQDSSM] 3.1.6.11.2.2): empty without a DNS name."""
        return f"{self.host}\\{self.name}".lower() if self.host else ""

    @property
    def directory_path(self) -> str:
        """DirectoryPath ([MS-MQDSSM] 3.1.6.11.2)."""
        return f"LDAP://{self.path}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteObject:
    """Site ([MS-MQDSSM] 3.1.6.11.4); an ordinary one has no attributes of queues (DS-05)."""

    id: UUID = server_made("objectGUID", ValueKind.GUID)
    path: str = server_made("distinguishedName", ValueKind.NAME)
    name: str = stored("cn", ValueKind.TEXT, written="create")
    interval_within: int = stored("mSMQInterval1", ValueKind.INTEGER, 2)
    interval_between: int = stored("mSMQInterval2", ValueKind.INTEGER, 10)
    foreign: bool = stored("mSMQSiteForeign", ValueKind.BOOLEAN, False)
    migrated: int = stored("mSMQNt4Stub", ValueKind.INTEGER, 0)
    security: bytes = stored("nTSecurityDescriptor", ValueKind.OCTETS, b"", searched=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkObject:
    """RoutingLink: mSMQSiteLink ([MS-MQDSSM] 3.1.6.11.5)."""

    id: UUID = server_made("objectGUID", ValueKind.GUID)
    path: str = server_made("distinguishedName", ValueKind.NAME)
    description: str = stored("description", ValueKind.TEXT, "")
    cost: int = stored("mSMQCost", ValueKind.INTEGER)
    site1_name: str = stored("mSMQSite1", ValueKind.NAME)
    site2_name: str = stored("mSMQSite2", ValueKind.NAME)
    gate_names: tuple[str, ...] = stored("mSMQSiteGates", ValueKind.NAMES, (), searched=False)
    site1: UUID = NO_GUID
    site2: UUID = NO_GUID
    gates: tuple[UUID, ...] = ()
    "Those of `gate_names` that there are (DS-07)."


@dataclass(frozen=True, slots=True, kw_only=True)
class EnterpriseObject:
    """Enterprise: the one mSMQEnterpriseSettings of a forest ([MS-MQDSSM] 3.1.6.11.3)."""

    id: UUID = server_made("objectGUID", ValueKind.GUID)
    path: str = server_made("distinguishedName", ValueKind.NAME)
    weakened_security: bool = stored("mSMQNameStyle", ValueKind.BOOLEAN, False)
    notification: str = stored("mSMQCSPName", ValueKind.TEXT, "Y")
    time_to_live: int = stored("mSMQLongLived", ValueKind.INTEGER, 345_600)
    directory_version: int = stored("mSMQVersion", ValueKind.INTEGER, 3)
    security: bytes = stored("nTSecurityDescriptor", ValueKind.OCTETS, b"", searched=False)
    name: str = ""
    "The root domain's naming context ([MS-MQDSSM] 3.1.6.11.3.1)."

    @property
    def notifies_old_managers(self) -> bool:
        """NonLDAPCapableQueueManagerNotification ([MS-MQDSSM] 3.1.6.11.3.3)."""
        return self.notification.upper() != "N"

    @property
    def old_directory(self) -> bool:
        """OldDirectory ([MS-MQDSSM] 3.1.6.11.3): 3 is, 200 is not."""
        return self.directory_version == 3


@dataclass(frozen=True, slots=True, kw_only=True)
class UserObject:
    """User, with the certificates that it signs messages with ([MS-MQDSSM] 3.1.6.11.6)."""

    id: UUID = server_made("objectGUID", ValueKind.GUID)
    path: str = server_made("distinguishedName", ValueKind.NAME)
    sid: Sid | None = server_made("objectSid", ValueKind.SID)
    account: str = stored("sAMAccountName", ValueKind.TEXT, "", written="never")
    certificates: bytes = stored("mSMQSignCertificates", ValueKind.OCTETS, b"", searched=False)
    digests: tuple[bytes, ...] = stored("mSMQDigests", ValueKind.OCTET_STRINGS, ())


DirectoryObject: TypeAlias = (
    ManagerObject | QueueObject | SiteObject | LinkObject | EnterpriseObject | UserObject
)
ObjectT = TypeVar(
    "ObjectT",
    ManagerObject,
    QueueObject,
    SiteObject,
    LinkObject,
    EnterpriseObject,
    UserObject,
)
CLASSES: Final[dict[type[Any], str]] = {
    ManagerObject: "mSMQConfiguration",
    QueueObject: "mSMQQueue",
    SiteObject: "site",
    LinkObject: "mSMQSiteLink",
    EnterpriseObject: "mSMQEnterpriseSettings",
    UserObject: "user",
}
"The object class of each ([MS-MQDSSM] 2.2.2)."


def places(kind: type[Any]) -> Mapping[str, Stored]:
    """Where each field of a kind of object is kept."""
    return _PLACES[kind]


_PLACES: Final = {
    kind: {item.name: item.metadata["stored"] for item in fields(kind) if "stored" in item.metadata}
    for kind in CLASSES
}


def attributes_of(kind: type[Any], *, of_computer: bool = False) -> list[str]:
    """The LDAP attributes that a kind of object is read from."""
    return [
        place.attribute
        for place in places(kind).values()
        if place.of_computer == of_computer and place.attribute != "nTSecurityDescriptor"
    ]


def read_object(
    kind: type[ObjectT], entry: LdapEntry, computer: LdapEntry | None = None
) -> ObjectT:
    """An object from its entry; what is unset has its default.

    ([MS-MQDSSM] 3.1.6.11, 3.1.6.11.1, 3.1.6.11.2)

    `DirectoryFailed` (GenericError) if an attribute that must be there is not, or is no value of
    its kind.
    """
    values: dict[str, Any] = {}
    for name, place in places(kind).items():
        source = computer if place.of_computer else entry
        raw = source.values(place.attribute) if source is not None else ()
        if place.attribute == "distinguishedName" and not raw and entry.name:
            raw = (entry.name.encode(),)
        if not raw:
            if place.is_required:
                raise failed(f"{entry.name}: {place.attribute} is not set")
            continue
        try:
            values[name] = decode(place.kind, raw)
        except ValueError as error:
            raise failed(f"{entry.name}: {place.attribute}: {error}") from None
    return kind(**values)
