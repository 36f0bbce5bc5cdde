"""A directory in memory, which answers as a domain controller does: for tests and simulations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Final
from uuid import UUID, uuid5

from openmsmq.directory.ldap import distinguished_names as names
from openmsmq.directory.ldap.filters import (
    ANYTHING,
    And,
    Comparison,
    Contains,
    Filter,
    Not,
    Or,
    Present,
)
from openmsmq.directory.ldap.tree import (
    ROOT,
    Change,
    ConnectionFailed,
    LdapEntry,
    LdapError,
    ResultCode,
    SearchScope,
    Values,
)
from openmsmq.directory.objects import CLASSES, Privacy, places
from openmsmq.directory.values import ValueKind, decode_value, encode_value, single
from openmsmq.security.sid import Sid

_GUIDS: Final = UUID("2f7a5a0e-3f5e-4b3a-8a4f-0f6b3c9d7e21")
_EXTRA: Final = {
    "member": ValueKind.NAMES,
    "serverreference": ValueKind.NAME,
    "distinguishedname": ValueKind.NAME,
    "msmqqmid": ValueKind.GUID,
    "msmqservices": ValueKind.INTEGER,
    "msmqroutingservice": ValueKind.BOOLEAN,
    "msmqdsservice": ValueKind.BOOLEAN,
    "msmqdependentclientservice": ValueKind.BOOLEAN,
    "useraccountcontrol": ValueKind.INTEGER,
}
_LENGTHS: Final = {"msmqlabelex": 124, "msmqqueuenameext": 92}
_PARENTS: Final = {
    "msmqconfiguration": {"computer"},
    "msmqqueue": {"msmqconfiguration"},
    "msmqsettings": {"server"},
    "msmqsitelink": {"msmqenterprisesettings"},
    "site": {"sitescontainer"},
}
"Below which classes an object may be ([MS-ADSC])."
_NEEDED: Final = {"msmqsitelink": ("msmqcost", "msmqsite1", "msmqsite2")}


@cache
def kind_of(attribute: str) -> ValueKind:
    """What an attribute holds; a text if it is unknown."""
    for kind in CLASSES:
        for place in places(kind).values():
            if place.attribute.lower() == attribute:
                return place.kind
    return _EXTRA.get(attribute, ValueKind.TEXT)


@dataclass(slots=True)
class _Object:
    name: str
    attributes: dict[str, tuple[bytes, ...]]


class MemoryTree:
    """A `Tree` of objects in memory."""

    def __init__(self, base: str = "DC=openmsmq,DC=test", *, now: int = 1_790_000_000) -> None:
        self.base = base
        self.configuration = f"CN=Configuration,{base}"
        self.is_down = False
        "No operation succeeds."
        self.operations = 0
        "How often it was asked."
        self.now = now
        self._objects: dict[str, _Object] = {}
        self._made = 0
        for name, kind in (
            (base, "domainDNS"),
            (self.configuration, "configuration"),
            (f"CN=Sites,{self.configuration}", "sitesContainer"),
            (f"CN=Partitions,{self.configuration}", "crossRefContainer"),
            (f"CN=Services,{self.configuration}", "container"),
            (f"CN=MsmqServices,CN=Services,{self.configuration}", "mSMQEnterpriseSettings"),
            (f"CN=Computers,{base}", "container"),
            (f"CN=Users,{base}", "container"),
        ):
            self._add(name, {"objectClass": (kind.encode(),)})
        self._add(
            f"CN=Default-First-Site-Name,CN=Sites,{self.configuration}", {"objectClass": (b"site",)}
        )
        domain = {"objectClass": (b"crossRef",), "nETBIOSName": (b"OMQ",)}
        domain["nCName"] = (base.encode(),)
        self._add(f"CN=OMQ,CN=Partitions,{self.configuration}", domain)
        enterprise = self.find(f"CN=MsmqServices,CN=Services,{self.configuration}")
        enterprise.attributes["msmqversion"] = (b"200",)

    @property
    def server(self) -> str:
        """The name of the controller that answers."""
        return "" if self.is_down else "dc1.openmsmq.test"

    async def controllers(self) -> tuple[str, ...]:
        """The controllers that may be asked."""
        return ("DC1",)

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
        self._ask()
        if base == ROOT and scope is SearchScope.BASE:
            return [self._root()]
        start = names.key(self.find(base).name)
        wanted = {name.lower() for name in attributes}
        found = []
        for key, item in self._objects.items():
            if not _is_within(key, start, scope) or not _holds(condition, item.attributes):
                continue
            given = {
                name: values
                for name, values in item.attributes.items()
                if (not wanted or name in wanted) and (security or name != "ntsecuritydescriptor")
            }
            found.append(LdapEntry(item.name, given))
        return found

    async def add(self, name: str, attributes: Mapping[str, Values]) -> None:
        """Make an object."""
        self._ask()
        given = {kind.lower(): tuple(values) for kind, values in attributes.items()}
        key = names.key(name)
        if key in self._objects:
            raise LdapError(ResultCode.ENTRY_ALREADY_EXISTS, name)
        above = self.find(names.parent(name))
        classes = {value.decode().lower() for value in given.get("objectclass", ())}
        for kind in classes:
            allowed = _PARENTS.get(kind)
            if allowed and not allowed & _classes(above):
                raise LdapError(ResultCode.NAMING_VIOLATION, name)
            for needed in _NEEDED.get(kind, ()):
                if needed not in given:
                    raise LdapError(ResultCode.OBJECT_CLASS_VIOLATION, f"{name}: {needed}")
        for kind, values in given.items():
            self._check(kind, values)
        self._add(name, given)

    async def modify(self, name: str, changes: Sequence[Change], *, flags: int = 0) -> None:
        """Change an object, in full or not at all."""
        self._ask()
        item = self.find(name)
        changed = dict(item.attributes)
        for change in changes:
            kind = change.attribute.lower()
            before, values = changed.get(kind, ()), tuple(change.values)
            if kind == "ntsecuritydescriptor" and not flags:
                raise LdapError(ResultCode.INSUFFICIENT_ACCESS_RIGHTS, name)
            self._check(kind, values)
            if change.kind == "add":
                if set(values) & set(before):
                    raise LdapError(ResultCode.ATTRIBUTE_OR_VALUE_EXISTS, kind)
                values = (*before, *values)
            elif change.kind == "delete":
                if not before or not set(values) <= set(before):
                    raise LdapError(ResultCode.NO_SUCH_ATTRIBUTE, kind)
                values = tuple(one for one in before if values and one not in values)
            changed.pop(kind, None)
            if values:
                changed[kind] = values
        changed["whenchanged"] = (encode_value(ValueKind.TIME, self.now),)
        item.attributes = changed

    async def delete(self, name: str) -> None:
        """Remove an object that has none below it."""
        self._ask()
        key = names.key(self.find(name).name)
        if any(other.endswith(f",{key}") for other in self._objects):
            raise LdapError(ResultCode.NOT_ALLOWED_ON_NON_LEAF, name)
        del self._objects[key]

    async def close(self) -> None:
        """Nothing is to be done."""

    def _ask(self) -> None:
        self.operations += 1
        if self.is_down:
            raise ConnectionFailed("the controller is down")

    def _root(self) -> LdapEntry:
        values = {
            "configurationNamingContext": self.configuration,
            "defaultNamingContext": self.base,
            "rootDomainNamingContext": self.base,
            "dnsHostName": self.server,
        }
        return LdapEntry(ROOT, {name.lower(): (text.encode(),) for name, text in values.items()})

    def find(self, name: str) -> _Object:
        """The object with a name, or `<GUID=...>`."""
        if name.startswith("<GUID="):
            guid = _guid(name[6:-1])
            for item in self._objects.values():
                if item.attributes["objectguid"] == (guid,):
                    return item
        elif name and (found := self._objects.get(names.key(name))) is not None:
            return found
        raise LdapError(ResultCode.NO_SUCH_OBJECT, name)

    def _check(self, kind: str, values: Values) -> None:
        for value in values:
            try:
                found = decode_value(kind_of(kind), value)
            except ValueError as error:
                raise LdapError(ResultCode.INVALID_ATTRIBUTE_SYNTAX, f"{kind}: {error}") from None
            if not value or len(value) > _LENGTHS.get(kind, len(value)):
                raise LdapError(ResultCode.INVALID_ATTRIBUTE_SYNTAX, f"{kind}: {value!r:.40}")
            if kind == "msmqprivacylevel" and found not in set(Privacy):
                raise LdapError(ResultCode.INVALID_ATTRIBUTE_SYNTAX, f"{kind}: {found}")
            if kind in ("msmqsite1", "msmqsite2", "msmqsitegates", "member"):
                try:
                    self.find(found)
                except LdapError:
                    raise LdapError(ResultCode.CONSTRAINT_VIOLATION, f"{kind}: {found}") from None

    def _add(self, name: str, attributes: Mapping[str, Values]) -> None:
        self._made += 1
        made = {kind.lower(): tuple(values) for kind, values in attributes.items()}
        kind, value = names.split(name)[0]
        time = encode_value(ValueKind.TIME, self.now)
        classes = [item.decode().lower() for item in made.get("objectclass", ())]
        if "computer" in classes:
            classes.append("user")
        if {"user", "group", "computer"} & set(classes):
            made["objectsid"] = (Sid(5, (21, 1, 2, 3, 1000 + self._made)).encode(),)
            person = "computer" if "computer" in classes else "person"
            made["objectcategory"] = ((person if "group" not in classes else "group").encode(),)
        made["objectclass"] = (b"top", *(item.encode() for item in classes))
        made[kind.lower()] = (value.encode(),)
        made["cn"] = (value.encode(),)
        made["distinguishedname"] = (name.encode(),)
        made["objectguid"] = (uuid5(_GUIDS, f"{self._made}").bytes_le,)
        made["whencreated"] = made["whenchanged"] = (time,)
        made.setdefault("ntsecuritydescriptor", (b"",))
        self._objects[names.key(name)] = _Object(name, made)


def _classes(item: _Object) -> set[str]:
    return {value.decode().lower() for value in item.attributes.get("objectclass", ())}


def _is_within(key: str, base: str, scope: SearchScope) -> bool:
    if scope is SearchScope.BASE:
        return key == base
    if scope is SearchScope.LEVEL:
        return names.parent(key) == base
    return key == base or key.endswith(f",{base}")


def _guid(text: str) -> bytes:
    try:
        return UUID(text).bytes_le if "-" in text else bytes.fromhex(text)
    except ValueError:
        return b""


def _holds(condition: Filter, attributes: Mapping[str, tuple[bytes, ...]]) -> bool:
    """Whether a condition holds for the attributes of an object (RFC 4511 4.5.1.7)."""
    match condition:
        case And():
            return all(_holds(part, attributes) for part in condition.parts)
        case Or():
            return any(_holds(part, attributes) for part in condition.parts)
        case Not():
            return not _holds(condition.part, attributes)
        case Present():
            return condition.attribute.lower() in attributes
        case Contains():
            return any(_contains(value, condition.pieces) for value in _of(condition, attributes))
    return any(_compares(condition, value) for value in _of(condition, attributes))


def _of(
    condition: Comparison | Contains, attributes: Mapping[str, tuple[bytes, ...]]
) -> tuple[bytes, ...]:
    return attributes.get(condition.attribute.lower(), ())


def _contains(value: bytes, pieces: tuple[bytes, ...]) -> bool:
    text = value.decode(errors="replace").casefold()
    first, *middle, last = (piece.decode(errors="replace").casefold() for piece in pieces)
    if not text.startswith(first) or not text.endswith(last):
        return False
    text = text[len(first) : len(text) - len(last)]
    for piece in middle:
        _, found, text = text.partition(piece)
        if piece and not found:
            return False
    return True


def _compares(condition: Comparison, value: bytes) -> bool:
    """Compare as the kind of the attribute demands: numbers as numbers, texts in any case."""
    kind = single(kind_of(condition.attribute.lower()))
    try:
        mine, given = _comparable(kind, value), _comparable(kind, condition.value)
    except ValueError:
        return False
    if condition.operator == "=":
        return bool(mine == given)
    return bool(mine >= given) if condition.operator == ">=" else bool(mine <= given)


def _comparable(kind: ValueKind, raw: bytes) -> Any:
    if kind in (ValueKind.INTEGER, ValueKind.UNSIGNED):
        return int(raw)
    if kind is ValueKind.GUID and len(raw) == 36:
        return UUID(raw.decode(errors="replace")).bytes_le
    if kind in (ValueKind.GUID, ValueKind.OCTETS, ValueKind.SID):
        return raw
    if kind is ValueKind.NAME:
        return names.key(raw.decode(errors="replace"))
    return raw.decode(errors="replace").casefold()
