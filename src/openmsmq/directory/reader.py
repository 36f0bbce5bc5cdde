"""Reads the objects of a directory, wherever in it they are ([MS-MQDSSM] 3.1.6.3)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Final
from uuid import UUID

from openmsmq.directory.conditions import Condition, SortKey, class_filter, filter_for, sort_objects
from openmsmq.directory.ldap import distinguished_names as names
from openmsmq.directory.ldap.filters import ANYTHING, And, Filter, Or, equal
from openmsmq.directory.ldap.tree import (
    ROOT,
    ConnectionFailed,
    LdapEntry,
    LdapError,
    SearchScope,
    Tree,
)
from openmsmq.directory.limits import LISTS_DEPTH_MAX, MEMBERS_MAX
from openmsmq.directory.objects import (
    EnterpriseObject,
    LinkObject,
    ManagerObject,
    ObjectT,
    QueueObject,
    SiteObject,
    UserObject,
    attributes_of,
    read_object,
)
from openmsmq.directory.outcome import (
    DirectoryFailed,
    DirectoryOutcome,
    failed,
    from_ldap,
    not_found,
)
from openmsmq.directory.queue_names import split_name
from openmsmq.security.sid import Sid

_LISTS: Final = ("group", "msmq-group")
_ALIAS: Final = "msmq-custom-recipient"
_RANGE: Final = re.compile(r"member;range=(\d+)-(\d+|\*)")
_FEW: Final = 20
"Computers that are read one by one; for more, all of the domain are read at once."


@dataclass(frozen=True, slots=True)
class NamingContexts:
    """Where the parts of a directory begin ([MS-MQDSSM] 3.1.3)."""

    configuration: str
    domain: str
    root: str

    @property
    def sites(self) -> str:
        """Above all sites ([MS-MQDSSM] 2.2.1)."""
        return f"CN=Sites,{self.configuration}"

    @property
    def services(self) -> str:
        """The enterprise, above all links ([MS-MQDSSM] 2.2.1, 2.2.3)."""
        return f"CN=MsmqServices,CN=Services,{self.configuration}"

    def base(self, kind: type[Any]) -> str:
        """Where objects of a kind are searched (DS-03): machines, queues and users in the domain.

        ([MS-MQDSSM] 2.2.1, 3.1.6.15)
        """
        if kind is SiteObject:
            return self.sites
        return self.services if kind in (LinkObject, EnterpriseObject) else self.domain


def guid_name(guid: UUID) -> str:
    """The name by which one object is found in every domain ([MS-MQDSSM] 3.1.6.19; DS-03)."""
    return f"<GUID={guid}>"


class DirectoryReader:
    """Objects of a directory, by identifier, by name, or by what they are."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self._contexts: NamingContexts | None = None

    # The directory itself

    async def contexts(self) -> NamingContexts:
        """What the controller says of itself, before anything else ([MS-MQDSSM] 3.1.3).

        It is asked again until it has answered (DS-14); without an answer no operation succeeds
        ([MS-MQDSSM] 3.1.6.12).
        """
        if self._contexts is None:
            wanted = (
                "configurationNamingContext",
                "defaultNamingContext",
                "rootDomainNamingContext",
            )
            rows = await self.search(ROOT, SearchScope.BASE, ANYTHING, wanted)
            found = [rows[0].text(name) for name in wanted] if rows else ["", "", ""]
            if not all(found):
                raise DirectoryFailed(DirectoryOutcome.NOT_CONNECTED, "it does not say what it has")
            self._contexts = NamingContexts(*found)
        return self._contexts

    async def search(
        self,
        base: str,
        scope: SearchScope,
        condition: Filter = ANYTHING,
        attributes: Sequence[str] = (),
        *,
        security: bool = False,
    ) -> list[LdapEntry]:
        """Rows of a search; `DirectoryFailed`."""
        try:
            return await self.tree.search(base, scope, condition, attributes, security=security)
        except (LdapError, ConnectionFailed) as error:
            raise from_ldap(error, base or "the root") from error

    # Any object

    async def find(
        self,
        kind: type[ObjectT],
        conditions: Iterable[Condition] = (),
        sort: Iterable[SortKey] = (),
        broken: list[str] | None = None,
    ) -> list[ObjectT]:
        """Read Directory Begin to End: all objects that the conditions hold for.

        ([MS-MQDMPR] 3.1.7.1.21, [MS-MQDSSM] 3.1.6.4) Nothing found is an empty list. Conditions on
        the names of computers and queues find just those (DS-04). With a list for objects that are
        `broken`, these are left out; otherwise one is an error.
        """
        given = list(conditions)
        named = next((one for one in given if (kind, one.field) in _NAMED), None)
        if named is not None:
            if named.operator != "=" or len(given) != 1:
                raise failed(f"{named.field} can only be asked for alone, by =")
            try:
                return [await _NAMED[kind, named.field](self, named.value)]
            except DirectoryFailed as error:
                if error.outcome is DirectoryOutcome.OBJECT_NOT_FOUND:
                    return []
                raise
        contexts = await self.contexts()
        wanted = attributes_of(kind)
        condition = filter_for(kind, given)
        rows = await self.search(contexts.base(kind), SearchScope.SUBTREE, condition, wanted)
        return sort_objects(await self._objects(kind, rows, broken), sort)

    async def read(self, kind: type[ObjectT], conditions: Iterable[Condition] = ()) -> ObjectT:
        """Read Directory: the first of the objects ([MS-MQDMPR] 3.1.7.1.20, [MS-MQDSSM] 3.1.6.3.1).

        None is ObjectNotFound (DS-03).
        """
        found = await self.find(kind, conditions)
        if not found:
            raise not_found(f"no {kind.__name__.removesuffix('Object').lower()} is so")
        return found[0]

    async def by_id(self, kind: type[ObjectT], guid: UUID, *, security: bool = False) -> ObjectT:
        """The object with an identifier ([MS-MQDSSM] 3.1.6.19)."""
        return await self.by_path(kind, guid_name(guid), security=security)

    async def by_path(self, kind: type[ObjectT], path: str, *, security: bool = False) -> ObjectT:
        """The object with a distinguished name."""
        wanted = [*attributes_of(kind), *(["nTSecurityDescriptor"] if security else [])]
        rows = await self.search(
            path, SearchScope.BASE, class_filter(kind), wanted, security=security
        )
        if not rows:
            raise not_found(f"{path}: no object of this kind")
        found: ObjectT = (await self._objects(kind, rows))[0]
        return found

    async def id_of(self, path: str) -> UUID | None:
        """The identifier of the object with a name; None if there is none."""
        try:
            rows = await self.search(path, SearchScope.BASE, ANYTHING, ["objectGUID"])
        except DirectoryFailed as error:
            if error.outcome is DirectoryOutcome.OBJECT_NOT_FOUND:
                return None
            raise
        return _guid_of(rows[0]) if rows else None

    async def _objects(
        self, kind: type[ObjectT], rows: Sequence[LdapEntry], broken: list[str] | None = None
    ) -> list[Any]:
        if kind is ManagerObject:
            return await self._managers(rows, broken)
        if kind is QueueObject:
            return await self._queues(rows, broken)
        if kind is LinkObject:
            return await self._links(rows, broken)
        if kind is EnterpriseObject:
            root = (await self.contexts()).root
            return [replace(read_object(EnterpriseObject, row), name=root) for row in rows]
        return [read_object(kind, row) for row in rows]

    # Managers

    async def _managers(
        self, rows: Sequence[LdapEntry], broken: list[str] | None = None
    ) -> list[ManagerObject]:
        computers = await self._computers([names.parent(row.name) for row in rows])
        made = []
        for row in rows:
            with _collecting(broken):
                computer = computers.get(names.key(names.parent(row.name)))
                made.append(read_object(ManagerObject, row, computer))
        ids = {names.key(item.path): item.id for item in made}
        found = []
        for item in made:
            out_servers = await self._ids(item.out_names, ids)
            in_servers = await self._ids(item.in_names, ids)
            found.append(replace(item, out_servers=out_servers, in_servers=in_servers))
        return found

    async def _ids(self, paths: Iterable[str], known: dict[str, UUID]) -> tuple[UUID, ...]:
        """Identifiers of objects that others name; those that are not there are left out.

        ([MS-MQDSSM] 3.1.6.11.1.3, 3.1.6.11.1.4; DS-07)
        """
        found = []
        for path in paths:
            key = names.key(path)
            if key not in known:
                guid = await self.id_of(path)
                if guid is None:
                    continue
                known[key] = guid
            found.append(known[key])
        return tuple(found)

    async def _computers(self, paths: Iterable[str]) -> dict[str, LdapEntry]:
        """The computers of managers, by the keys of their names."""
        wanted = attributes_of(ManagerObject, of_computer=True)
        needed = {names.key(path): path for path in paths}
        condition = equal("objectClass", "computer")
        if len(needed) > _FEW:
            base = (await self.contexts()).domain
            rows = await self.search(base, SearchScope.SUBTREE, condition, wanted)
            return {names.key(row.name): row for row in rows}
        found = {}
        for key, path in needed.items():
            try:
                rows = await self.search(path, SearchScope.BASE, ANYTHING, wanted)
            except DirectoryFailed as error:
                if error.outcome is not DirectoryOutcome.OBJECT_NOT_FOUND:
                    raise
                continue
            if rows:
                found[key] = rows[0]
        return found

    async def computer(self, name: str) -> LdapEntry:
        """The computer with a name, wherever it is ([MS-MQDSSM] 2.2.1; DS-01).

        A name with dots is that of DNS, one without is that of its account.
        """
        base = (await self.contexts()).domain
        account = equal("sAMAccountName", f"{name.partition('.')[0]}$")
        by_name = equal("dNSHostName", name) if "." in name else account
        condition = And((equal("objectClass", "computer"), by_name))
        wanted = [*attributes_of(ManagerObject, of_computer=True), "userAccountControl"]
        rows = await self.search(base, SearchScope.SUBTREE, condition, wanted)
        if not rows:
            raise not_found(f"no computer {name}")
        if len(rows) > 1:
            raise failed(f"{len(rows)} computers are called {name}")
        return rows[0]

    async def manager_of(self, name: str, *, security: bool = False) -> ManagerObject:
        """The queue manager of a computer: the child `msmq` of its object ([MS-MQDSSM] 2.2.1)."""
        computer = await self.computer(name)
        wanted = [*attributes_of(ManagerObject), *(["nTSecurityDescriptor"] if security else [])]
        condition, level = class_filter(ManagerObject), SearchScope.LEVEL
        rows = await self.search(computer.name, level, condition, wanted, security=security)
        if not rows:
            raise not_found(f"{name} has no queue manager in the directory")
        return (await self._managers(rows))[0]

    # Queues

    async def _queues(
        self, rows: Sequence[LdapEntry], broken: list[str] | None = None
    ) -> list[QueueObject]:
        parents = {names.key(path): path for path in (names.parent(row.name) for row in rows)}
        computers = await self._computers([names.parent(path) for path in parents.values()])
        managers = {key: await self.id_of(path) for key, path in parents.items()}
        found = []
        for row in rows:
            parent = names.parent(row.name)
            computer = computers.get(names.key(names.parent(parent)), LdapEntry(""))
            with _collecting(broken):
                made = read_object(QueueObject, row)
                found.append(
                    replace(
                        made,
                        manager=managers[names.key(parent)] or made.manager,
                        computer=computer.text("sAMAccountName").removesuffix("$"),
                        host=computer.text("dNSHostName"),
                    )
                )
        return found

    async def queue_by_path(self, path_name: str) -> QueueObject:
        r"""The public queue `computer\name` ([MS-MQDSSM] 3.1.6.4.2.2; DS-04)."""
        computer, separator, name = path_name.partition("\\")
        if not separator or not name:
            raise failed(f"{path_name} is no path name of a public queue")
        manager = await self.manager_of(computer)
        for queue in await self.queues_of(manager.path, split_name(name)[0]):
            if queue.name.casefold() == name.casefold():
                return queue
        raise not_found(f"no public queue {path_name}")

    async def queues_of(
        self,
        manager_path: str,
        common_name: str = "",
        *,
        security: bool = False,
        broken: list[str] | None = None,
    ) -> list[QueueObject]:
        """The public queues of a manager: the children of its object ([MS-MQDSSM] 2.2.1).

        With a list for those that are `broken`, these are left out; otherwise one is an error.
        """
        condition = class_filter(QueueObject)
        if common_name:
            condition = And((condition, equal("cn", common_name)))
        wanted = [*attributes_of(QueueObject), *(["nTSecurityDescriptor"] if security else [])]
        level = SearchScope.LEVEL
        rows = await self.search(manager_path, level, condition, wanted, security=security)
        return await self._queues(rows, broken)

    # Links

    async def _links(
        self, rows: Sequence[LdapEntry], broken: list[str] | None = None
    ) -> list[LinkObject]:
        known: dict[str, UUID] = {}
        found = []
        for row in rows:
            with _collecting(broken):
                found.append(await self._link(row, known))
        return found

    async def _link(self, row: LdapEntry, known: dict[str, UUID]) -> LinkObject:
        """A link, with the identifiers of its ends ([MS-MQDSSM] 3.1.6.11.5.1)."""
        link = read_object(LinkObject, row)
        ends = await self._ids((link.site1_name, link.site2_name), known)
        if len(ends) != 2:
            raise failed(f"{link.path}: one of its sites is not there")
        gates = await self._ids(link.gate_names, known)
        return replace(link, site1=ends[0], site2=ends[1], gates=gates)

    async def links_of(self, site: UUID) -> list[LinkObject]:
        """The links that touch a site ([MS-MQDSSM] 3.1.6.4.5.4)."""
        path = (await self.by_id(SiteObject, site)).path
        either = Or((equal("mSMQSite1", path), equal("mSMQSite2", path)))
        condition = And((class_filter(LinkObject), either))
        base = (await self.contexts()).services
        rows = await self.search(base, SearchScope.SUBTREE, condition, attributes_of(LinkObject))
        return await self._links(rows)

    # Users, aliases and lists

    async def user_by_sid(self, sid: Sid) -> UserObject:
        """The user with a security identifier ([MS-MQDSSM] 3.1.6.7.6.2)."""
        return await self.read(UserObject, [Condition("sid", "=", sid)])

    async def format_names(self, guid: UUID) -> list[str]:
        """What an alias or a distribution list stands for ([MS-MQDSSM] 3.1.6.8, 3.1.6.9).

        Lists in lists are followed, each once; a member of another kind, or one that cannot be
        read, makes the whole list fail (DS-20).
        """
        found: dict[str, None] = {}
        await self._follow(guid_name(guid), found, set(), 0)
        return list(found)

    async def _follow(self, path: str, found: dict[str, None], seen: set[str], depth: int) -> None:
        wanted = ["objectClass", "objectGUID", "member", "msMQ-Recipient-FormatName"]
        rows = await self.search(path, SearchScope.BASE, ANYTHING, wanted)
        if not rows:
            raise not_found(path)
        row = rows[0]
        key = names.key(row.name)
        if key in seen:
            return
        seen.add(key)
        if depth > LISTS_DEPTH_MAX or len(seen) > MEMBERS_MAX:
            raise failed(f"{path}: more than {MEMBERS_MAX} members, or too many lists within lists")
        classes = {value.decode(errors="replace").lower() for value in row.values("objectClass")}
        if "msmqqueue" in classes:
            found[f"PUBLIC={_guid_of(row)}"] = None
        elif _ALIAS in classes:
            name = row.text("msMQ-Recipient-FormatName")
            if not name:
                raise failed(f"{row.name} is an alias of nothing")
            found[name] = None
        elif classes.intersection(_LISTS):
            for member in await self._members(row):
                await self._follow(member, found, seen, depth + 1)
        else:
            raise failed(f"{row.name} is no queue, alias or distribution list")

    async def _members(self, row: LdapEntry) -> list[str]:
        """All members of a list; a long one is read range by range ([MS-ADTS] 3.1.1.3.1.3.3)."""
        found = list(row.values("member"))
        while True:
            ranged = next((key for key in row.attributes if key.startswith("member;range=")), "")
            match = _RANGE.fullmatch(ranged)
            if match is None:
                break
            found += row.attributes[ranged]
            if match[2] == "*" or len(found) > MEMBERS_MAX:
                break
            wanted = [f"member;range={int(match[2]) + 1}-*"]
            row = (await self.search(row.name, SearchScope.BASE, ANYTHING, wanted))[0]
        if len(found) > MEMBERS_MAX:
            raise failed(f"{row.name}: more than {MEMBERS_MAX} members")
        return [value.decode(errors="replace") for value in found]


@contextmanager
def _collecting(broken: list[str] | None) -> Iterator[None]:
    """Note why an object cannot be read, if there is a list for it."""
    try:
        yield
    except DirectoryFailed as error:
        if broken is None or error.outcome is not DirectoryOutcome.GENERIC_ERROR:
            raise
        broken.append(error.reason)


_NAMED: Final[dict[tuple[type[Any], str], Any]] = {
    (ManagerObject, "computer"): DirectoryReader.manager_of,
    (ManagerObject, "host"): DirectoryReader.manager_of,
    (QueueObject, "path_name"): DirectoryReader.queue_by_path,
    (QueueObject, "qualified_path_name"): DirectoryReader.queue_by_path,
}
"Names that are found by way of a computer (DS-04)."


def _guid_of(row: LdapEntry) -> UUID:
    raw = row.first("objectGUID")
    if raw is None or len(raw) != 16:
        raise failed(f"{row.name} has no identifier")
    return UUID(bytes_le=raw)
