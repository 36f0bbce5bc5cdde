"""Writes the objects of a directory ([MS-MQDSSM] 3.1.6.1, 3.1.6.2, 3.1.6.7)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable, Mapping
from typing import Any, Final
from uuid import UUID

from openmsmq.directory.ldap import distinguished_names as names
from openmsmq.directory.ldap.filters import ANYTHING, equal
from openmsmq.directory.ldap.tree import (
    Change,
    ConnectionFailed,
    LdapError,
    ResultCode,
    SearchScope,
)
from openmsmq.directory.objects import (
    CLASSES,
    EnterpriseObject,
    LinkObject,
    ManagerObject,
    ObjectT,
    QueueObject,
    ServiceBits,
    SiteObject,
    UserObject,
    places,
)
from openmsmq.directory.outcome import (
    DirectoryFailed,
    DirectoryOutcome,
    failed,
    from_ldap,
    not_found,
)
from openmsmq.directory.queue_names import check_label, check_name, split_name
from openmsmq.directory.reader import DirectoryReader, guid_name
from openmsmq.directory.values import ValueKind, encode, encode_value
from openmsmq.errors import IllegalPropertyValue, Malformed
from openmsmq.routing.topology import GREATEST_COST, LEAST_COST
from openmsmq.security.access import SecurityInformation
from openmsmq.security.keys import UserCertificate, UserCertificates
from openmsmq.security.sid import Sid

_SEEN_AFTER: Final = (0.0, 0.2, 1.0)
"Seconds after which a new object is looked for, if it is not seen yet (DS-29)."
_ATTEMPTS: Final = 3
"How often certificates are changed, if others change them meanwhile."


class DirectoryWriter(DirectoryReader):
    """A directory whose objects are made, changed and deleted, too."""

    # What all kinds share

    async def _do(self, operation: Awaitable[None], what: str) -> None:
        try:
            await operation
        except (LdapError, ConnectionFailed) as error:
            raise from_ldap(error, what) from error

    def _encoded(
        self,
        kind: type[Any],
        values: Mapping[str, Any],
        *,
        creates: bool,
        of_computer: bool = False,
    ) -> dict[str, list[bytes]]:
        """The attributes of fields that are given: those and no others ([MS-MQDSSM] 3.1.6.7).

        What only the directory sets, or what never changes, is refused.
        """
        made = {}
        for name, value in values.items():
            place = places(kind).get(name)
            if place is None or place.written == "never":
                raise failed(f"{name} is not written")
            if place.written == "create" and not creates:
                raise failed(f"{name} does not change once an object is made")
            if place.of_computer == of_computer and place.attribute != "nTSecurityDescriptor":
                made[place.attribute] = encode(place.kind, value)
        return made

    async def _create(
        self, name: str, object_class: str, attributes: dict[str, list[bytes]]
    ) -> UUID:
        """Make an object; the identifier that the directory gave it ([MS-MQDSSM] 3.1.6.12)."""
        given = {kind: values for kind, values in attributes.items() if values}
        await self._do(self.tree.add(name, {"objectClass": [object_class.encode()], **given}), name)
        for delay in _SEEN_AFTER:
            await asyncio.sleep(delay)
            guid = await self.id_of(name)
            if guid is not None:
                return guid
        raise failed(f"{name} was made and is not seen")

    async def _replace(self, path: str, attributes: Mapping[str, list[bytes]]) -> None:
        changes = [Change(kind, values) for kind, values in attributes.items()]
        if changes:
            await self._do(self.tree.modify(path, changes), path)

    async def write_security(self, path: str, descriptor: bytes) -> None:
        """Replace the list of a descriptor: a change of its own, of this part only.

        ([MS-MQDSSM] 3.1.6.7.1.3, 3.1.6.7.2.3, [MS-ADTS] 3.1.1.3.4.1.11)
        """
        change = Change("nTSecurityDescriptor", [descriptor])
        flags = int(SecurityInformation.DACL)
        await self._do(self.tree.modify(path, [change], flags=flags), path)

    async def write(self, kind: type[ObjectT], path: str, values: Mapping[str, Any]) -> None:
        """Write Directory: replace exactly the fields that are given ([MS-MQDMPR] 3.1.7.1.24).

        ([MS-MQDSSM] 3.1.6.7.1.2, 3.1.6.7.2.2, 3.1.6.7.3.2)
        """
        if not path:
            raise failed("which object? A path or an identifier is needed")
        if kind is QueueObject and "label" in values:
            check_label(values["label"])
        if kind is LinkObject and "cost" in values:
            check_cost(values["cost"])
        own = self._encoded(kind, values, creates=False)
        computer = self._encoded(kind, values, creates=False, of_computer=True)
        await self._replace(path, own)
        if computer:
            full = (await self.by_path(kind, path)).path
            await self._replace(names.parent(full), computer)
        if values.get("security"):
            await self.write_security(path, values["security"])

    # Managers

    async def create_manager(
        self, computer: str, values: Mapping[str, Any], descriptor: bytes = b""
    ) -> UUID:
        """Create a QueueManager below its computer ([MS-MQDSSM] 3.1.6.1.1.2, 3.1.6.1.1.9).

        One that exists is a success. The eight attributes of [MS-MQSO] 6.6.2.1 are what a manager
        gives that registers itself.
        """
        if not values.get("sites") or not computer:
            raise failed("a queue manager needs a computer and sites")
        found = await self.computer(computer)
        path = names.child("CN", "msmq", found.name)
        attributes = self._encoded(ManagerObject, values, creates=True)
        attributes["mSMQServiceType"] = [encode_value(ValueKind.INTEGER, service_bits(values))]
        if descriptor:
            attributes["nTSecurityDescriptor"] = [descriptor]
        try:
            guid = await self._create(path, CLASSES[ManagerObject], attributes)
        except DirectoryFailed as error:
            if error.outcome is not DirectoryOutcome.OBJECT_ALREADY_EXISTS:
                raise
            existing = await self.id_of(path)
            if existing is None:
                raise
            return existing
        await self._replace(
            found.name, self._encoded(ManagerObject, values, creates=True, of_computer=True)
        )
        return guid

    async def routing_paths(self, managers: Iterable[UUID]) -> tuple[str, ...]:
        """The names of managers that route for another; unknown ones are skipped.

        ([MS-MQDSSM] 3.1.6.1.1.6, 3.1.6.1.1.7, 3.1.6.1.4.6)
        """
        found = []
        for guid in managers:
            try:
                found.append((await self.by_id(ManagerObject, guid)).path)
            except DirectoryFailed as error:
                if error.outcome is not DirectoryOutcome.OBJECT_NOT_FOUND:
                    raise
        return tuple(found)

    async def write_settings(self, manager: ManagerObject) -> list[str]:
        """Copy what a server does into each of its sites ([MS-MQDSSM] 3.1.6.1.1.3, 3.1.6.7.1.9).

        The copies of other sites, and of a manager that is no server any more, are removed. The
        names of sites that are not there, which are skipped, are returned.
        """
        contexts = await self.contexts()
        wanted, skipped = {}, []
        for site in manager.sites if manager.is_server else ():
            try:
                wanted[names.key((await self.by_id(SiteObject, site)).path)] = site
            except DirectoryFailed as error:
                if error.outcome is not DirectoryOutcome.OBJECT_NOT_FOUND:
                    raise
                skipped.append(str(site))
        condition = equal("mSMQQMID", manager.id.bytes_le)
        for row in await self.search(contexts.sites, SearchScope.SUBTREE, condition, ["cn"]):
            await self._do(self.tree.delete(row.name), row.name)
        for site in wanted.values():
            await self._settings(manager, (await self.by_id(SiteObject, site)).path)
        return skipped

    async def _settings(self, manager: ManagerObject, site: str) -> None:
        """One mSMQSettings object, below the server object of the computer (DS-12)."""
        servers = names.child("CN", "Servers", site)
        server = names.child("CN", manager.computer, servers)
        for path, kind in ((servers, "serversContainer"), (server, "server")):
            try:
                await self.tree.add(path, {"objectClass": [kind.encode()]})
            except (LdapError, ConnectionFailed) as error:
                if (
                    not isinstance(error, LdapError)
                    or error.code != ResultCode.ENTRY_ALREADY_EXISTS
                ):
                    raise from_ldap(error, path) from error
        values: dict[str, list[bytes]] = {
            "objectClass": [b"mSMQSettings"],
            "mSMQQMID": [manager.id.bytes_le],
            "mSMQServices": [encode_value(ValueKind.INTEGER, manager.services)],
            "mSMQRoutingService": [encode_value(ValueKind.BOOLEAN, manager.router)],
            "mSMQDsService": [encode_value(ValueKind.BOOLEAN, manager.directory_server)],
            "mSMQDependentClientService": [
                encode_value(ValueKind.BOOLEAN, manager.supporting_server)
            ],
        }
        path = names.child("CN", "MSMQ Settings", server)
        await self._do(self.tree.add(path, values), path)

    async def delete_manager(self, manager: ManagerObject) -> None:
        """Delete a QueueManager: its queues first, then its settings ([MS-MQDSSM] 3.1.6.2.1).

        ([MS-MQDSSM] 3.1.6.2.1.2, 3.1.6.2.1.3; DS-26)
        """
        for queue in await self.queues_of(manager.path):
            await self._do(self.tree.delete(queue.path), queue.path)
        await self._do(self.tree.delete(manager.path), manager.path)
        sites = (await self.contexts()).sites
        condition = equal("mSMQQMID", manager.id.bytes_le)
        for row in await self.search(sites, SearchScope.SUBTREE, condition, ["cn"]):
            await self._do(self.tree.delete(row.name), row.name)

    # Queues

    async def create_queue(
        self, path_name: str, values: Mapping[str, Any], descriptor: bytes = b""
    ) -> UUID:
        r"""Create a public queue `computer\name` ([MS-MQDSSM] 3.1.6.1.2.2).

        What cannot be is refused before the directory is asked.
        """
        computer, separator, name = path_name.partition("\\")
        if not separator:
            raise failed(f"{path_name}: a path name is needed, computer\\queue")
        if "scope" in values:
            raise failed("the scope of a queue is no attribute of the directory")
        check_name(name)
        check_label(values.get("label", ""))
        manager = await self.manager_of(computer)
        common_name, extension = split_name(name)
        attributes = self._encoded(QueueObject, values, creates=True)
        if extension:
            attributes["mSMQQueueNameExt"] = [extension.encode()]
        if descriptor:
            attributes["nTSecurityDescriptor"] = [descriptor]
        path = names.child("CN", common_name, manager.path)
        return await self._create(path, CLASSES[QueueObject], attributes)

    async def delete_queue(self, *, guid: UUID | None = None, path_name: str = "") -> None:
        """Delete a public queue; an identifier wins over its name ([MS-MQDSSM] 3.1.6.2.2.2)."""
        if guid is not None:
            queue = await self.by_id(QueueObject, guid)
        elif path_name:
            queue = await self.queue_by_path(path_name)
        else:
            raise failed("which queue? A path name or an identifier is needed")
        await self._do(self.tree.delete(queue.path), queue.path)

    # Sites, links and the enterprise

    async def create_foreign_site(self, name: str) -> UUID:
        """Create a foreign site, below CN=Sites ([MS-MQDSSM] 3.1.6.1.3.2; DS-13)."""
        if not name:
            raise failed("a site needs a name")
        path = names.child("CN", name, (await self.contexts()).sites)
        attributes = self._encoded(SiteObject, {"foreign": True}, creates=True)
        return await self._create(path, CLASSES[SiteObject], attributes)

    async def create_link(
        self, site1: UUID, site2: UUID, cost: int, gates: Iterable[UUID] = (), description: str = ""
    ) -> UUID:
        """Create a RoutingLink, named by its sites ([MS-MQDSSM] 3.1.6.1.4.2, 3.1.6.1.4.4)."""
        check_cost(cost)
        ends = []
        for site in (site1, site2):
            try:
                ends.append((await self.by_id(SiteObject, site)).path)
            except DirectoryFailed as error:
                if error.outcome is DirectoryOutcome.OBJECT_NOT_FOUND:
                    raise failed(f"{site}: no such site") from error
                raise
        values = {
            "cost": cost,
            "site1_name": ends[0],
            "site2_name": ends[1],
            "gate_names": await self.routing_paths(gates),
            "description": description,
        }
        path = names.child("CN", f"{site1.hex}{site2.hex}", (await self.contexts()).services)
        return await self._create(
            path, CLASSES[LinkObject], self._encoded(LinkObject, values, creates=True)
        )

    async def delete_object(self, guid: UUID) -> None:
        """Delete an object by its identifier."""
        await self._do(self.tree.delete(guid_name(guid)), str(guid))

    async def write_enterprise(self, **values: Any) -> None:
        """Change the settings of the enterprise, the only one ([MS-MQDSSM] 3.1.6.7.3.2)."""
        await self.write(EnterpriseObject, (await self.contexts()).services, values)

    # Certificates

    async def user(self, *, guid: UUID | None = None, sid: Sid | None = None) -> UserObject:
        """A user by identifier or SID; none is GenericError ([MS-MQDSSM] 3.1.6.7.6.2)."""
        try:
            if guid is not None:
                return await self.by_id(UserObject, guid)
            if sid is not None:
                return await self.user_by_sid(sid)
        except DirectoryFailed as error:
            if error.outcome is DirectoryOutcome.OBJECT_NOT_FOUND:
                raise failed(f"no user {guid or sid}") from error
            raise
        raise failed("which user? An identifier or a SID is needed")

    async def register_certificate(self, path: str, certificate: bytes, identifier: UUID) -> None:
        """Add a certificate to a user or a computer, with its digest, in one operation.

        ([MS-MQDSSM] 3.1.6.7.6.4, 3.1.6.1.1.9) If others change them meanwhile, it is done again
        with what they wrote (DS-08).
        """
        for attempt in range(_ATTEMPTS):
            rows = await self.search(
                path, SearchScope.BASE, ANYTHING, ["mSMQSignCertificates", "mSMQDigests"]
            )
            if not rows:
                raise not_found(path)
            before = rows[0].first("mSMQSignCertificates")
            known = user_certificates(before)
            if any(one.certificate == certificate for one in known):
                return
            entry = UserCertificate.register(certificate, identifier)
            after = UserCertificates((*known, entry)).encode()
            changes = [Change("mSMQSignCertificates", [before], "delete")] if before else []
            changes.append(Change("mSMQSignCertificates", [after], "add"))
            if entry.digest not in rows[0].values("mSMQDigests"):
                changes.append(Change("mSMQDigests", [entry.digest], "add"))
            try:
                await self.tree.modify(path, changes)
            except LdapError as error:
                is_race = error.code in (
                    ResultCode.NO_SUCH_ATTRIBUTE,
                    ResultCode.ATTRIBUTE_OR_VALUE_EXISTS,
                )
                if not is_race or attempt == _ATTEMPTS - 1:
                    raise from_ldap(error, path) from error
            except ConnectionFailed as error:
                raise from_ldap(error, path) from error
            else:
                return


def user_certificates(raw: bytes | None) -> tuple[UserCertificate, ...]:
    """What mSMQSignCertificates holds: MQUSERSIGNCERTS ([MS-MQMQ] 2.2.21)."""
    if not raw:
        return ()
    try:
        return UserCertificates.decode(raw).certificates
    except Malformed as error:
        raise failed(f"mSMQSignCertificates: {error}") from error


def service_bits(values: Mapping[str, Any]) -> int:
    """mSMQServiceType of a manager ([MS-MQDSSM] 3.1.6.1.1.5): what it does, as bits."""
    bits = int(values.get("services", 0))
    if not values.get("directory_server"):
        bits &= ~(
            ServiceBits.BACKUP_SITE | ServiceBits.PRIMARY_SITE | ServiceBits.PRIMARY_ENTERPRISE
        )
    return bits | ServiceBits.ROUTING if values.get("router") else bits & ~ServiceBits.ROUTING


def check_cost(cost: int) -> None:
    """Refuse the cost of a link before the directory, which takes any ([MS-MQDMPR] 3.1.1.8)."""
    if not LEAST_COST <= cost <= GREATEST_COST:
        raise IllegalPropertyValue(f"cost: {LEAST_COST} to {GREATEST_COST} is needed, not {cost}")
