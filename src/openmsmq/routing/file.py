"""Topology files: sites, links and managers as TOML; a wrong one is refused with line and reason.

References are by name, as in `site1 = "hq"`. A site without an identity has one that follows from
its name, so that all managers that read the file agree about it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from difflib import get_close_matches
from functools import lru_cache
from typing import Any, Final
from uuid import UUID, uuid5

from openmsmq.errors import IllegalPropertyValue
from openmsmq.routing.limits import (
    FILE_SIZE_MAX,
    LINKS_MAX,
    MANAGERS_MAX,
    NAME_MAX,
    SITES_MAX,
)
from openmsmq.routing.topology import (
    GREATEST_COST,
    LEAST_COST,
    RoutedManager,
    RoutingLink,
    Site,
    Topology,
)
from openmsmq.toml import (
    Schema,
    Value,
    one_of,
    read_flag,
    read_toml,
    table_schema,
    value,
    whole,
)

_SITES: Final = UUID("6f1d1f0e-51c3-4c0b-9d3a-0d8a6f0b7a11")
"The namespace of identities that follow from names of sites."
_HEADER: Final = re.compile(r"\s*\[\[\s*(\w+)\s*\]\]")
_ADDRESS: Final = re.compile(
    r"(?:\[(?P<v6>[0-9a-fA-F:.%\w]+)\]|(?P<host>[^\s:/\\\[\]]+))(?::(?P<port>[0-9]{1,5}))?"
    r"|(?P<bare>[0-9a-fA-F]*:[0-9a-fA-F:.]*:[0-9a-fA-F:.]*)"
)
_TABLE: Final = re.compile(r"\s*\[")


class TopologyError(IllegalPropertyValue):
    """A topology file says what cannot be."""


@value({"type": "string", "minLength": 1, "maxLength": NAME_MAX})
def _name(given: object) -> str:
    if isinstance(given, str) and 0 < len(given) <= NAME_MAX and given.isprintable():
        return given
    raise ValueError(f"a name of 1 to {NAME_MAX} characters is needed")


@value({"type": "array", "items": {"type": "string"}, "uniqueItems": True})
def _names(given: object) -> tuple[str, ...]:
    if isinstance(given, list) and all(isinstance(item, str) for item in given):
        if len(set(given)) == len(given):
            return tuple(given)
        raise ValueError("a list without repetitions is needed")
    raise ValueError("a list of names is needed")


@value({"type": "string", "format": "uuid"})
def _guid(given: object) -> UUID:
    try:
        if isinstance(given, str) and (found := UUID(given)).int:
            return found
    except ValueError:
        pass
    raise ValueError("a GUID is needed, such as openmsmq doctor shows")


@value({"type": "string"})
def _address(given: object) -> str:
    if isinstance(given, str) and split_address(given):
        return given
    raise ValueError("a host, or host:port, is needed")


SITE_KEYS: Final[Mapping[str, Value[Any]]] = {"name": _name, "id": _guid, "foreign": read_flag}
LINK_KEYS: Final[Mapping[str, Value[Any]]] = {
    "site1": _name,
    "site2": _name,
    "cost": whole(LEAST_COST, GREATEST_COST),
    "gates": _names,
    "id": _guid,
}
MANAGER_KEYS: Final[Mapping[str, Value[Any]]] = {
    "name": _name,
    "id": _guid,
    "sites": _names,
    "router": read_flag,
    "out": _names,
    "in": _names,
    "foreign": read_flag,
    "address": _address,
}
ROUTING_KEYS: Final[Mapping[str, Value[Any]]] = {
    "direct": one_of("auto", "never"),
    "bridge": read_flag,
}
_ARRAYS: Final = {"sites": SITE_KEYS, "links": LINK_KEYS, "managers": MANAGER_KEYS}
_REQUIRED: Final = {
    "sites": ("name",),
    "links": ("site1", "site2"),
    "managers": ("name", "id", "sites"),
}
_COUNTS: Final = {"sites": SITES_MAX, "links": LINKS_MAX, "managers": MANAGERS_MAX}


def topology_schema() -> dict[str, Any]:
    """The JSON schema of a topology file."""
    tables: dict[str, Schema] = {"routing": table_schema(_schemas(ROUTING_KEYS))}
    for name, keys in _ARRAYS.items():
        items = table_schema(_schemas(keys), _REQUIRED[name])
        tables[name] = {"type": "array", "items": items, "maxItems": _COUNTS[name]}
    return table_schema(tables, ["sites", "managers"])


def _schemas(keys: Mapping[str, Value[Any]]) -> dict[str, Schema]:
    return {name: read.schema for name, read in keys.items()}


@lru_cache(maxsize=2)
def read_topology(text: str) -> Topology:
    """What a file says; `TopologyError` names the line that is wrong, and why. Nothing is empty."""
    if not text.strip():
        return Topology()
    if len(text) > FILE_SIZE_MAX:
        raise TopologyError(f"more than {FILE_SIZE_MAX} characters")
    try:
        document = read_toml(text)
    except ValueError as error:
        raise TopologyError(str(error)) from None
    return _Reader(text, document).topology()


def split_address(address: str) -> tuple[str, int | None] | None:
    """Host and port of an address, `[::1]:1801` among them; None if it is none."""
    found = _ADDRESS.fullmatch(address)
    if found is None or len(address) > NAME_MAX:
        return None
    host = found["v6"] or found["bare"] or found["host"]
    port = int(found["port"] or 0)
    if found["port"] is not None and not 0 < port < 65536:
        return None
    return host, port or None


class _Reader:
    """Reads one document."""

    def __init__(self, text: str, document: Mapping[str, Any]) -> None:
        self._lines = text.splitlines()
        self._document = document
        self._places = dict(_headers(self._lines))

    def topology(self) -> Topology:
        self._check_keys(
            self._document, ("routing", *_ARRAYS), lambda key: self._line_of("", 0, key)
        )
        options = self._options()
        sites = self._sites()
        managers = self._managers(sites)
        links = self._links(sites, managers)
        return Topology(
            {site.id: site for site in sites.values()},
            tuple(links),
            {manager.id: manager for manager in managers.values()},
            direct=options.get("direct", "auto") == "auto",
            bridge=options.get("bridge", False),
        )

    def _options(self) -> dict[str, Any]:
        given = self._document.get("routing", {})
        if not isinstance(given, dict):
            raise self._error("", 0, "routing", "a table [routing] is needed")
        return self._values("routing", 0, given, ROUTING_KEYS, ())

    def _rows(self, name: str) -> Iterator[tuple[int, dict[str, Any]]]:
        """The tables of an array, with their values read."""
        rows = self._document.get(name, [])
        if not (isinstance(rows, list) and all(isinstance(row, dict) for row in rows)):
            raise self._error("", 0, name, f"tables [[{name}]] are needed")
        if len(rows) > _COUNTS[name]:
            raise TopologyError(f"{len(rows)} {name}: at most {_COUNTS[name]} are possible")
        for place, row in enumerate(rows):
            yield place, self._values(name, place, row, _ARRAYS[name], _REQUIRED[name])

    def _values(
        self,
        table: str,
        place: int,
        given: Mapping[str, Any],
        keys: Mapping[str, Value[Any]],
        required: Iterable[str],
    ) -> dict[str, Any]:
        self._check_keys(given, keys, lambda key: self._line_of(table, place, key))
        values = {}
        for key, raw in given.items():
            try:
                values[key] = keys[key](raw)
            except ValueError as error:
                raise self._error(table, place, key, f"{key}: {error}, not {raw!r:.60}") from None
        for key in required:
            if key not in values:
                raise self._error(table, place, key, f"{key} is missing in [[{table}]]")
        return values

    def _check_keys(
        self, given: Mapping[str, Any], known: Iterable[str], line: Callable[[str], int]
    ) -> None:
        names = list(known)
        for key in given:
            if key not in names:
                near = get_close_matches(key, names, 1)
                hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(names)}"
                raise TopologyError(f"line {line(key)}: {key:.60}: no such key; {hint}")

    def _sites(self) -> dict[str, Site]:
        found: dict[str, Site] = {}
        ids: set[UUID] = set()
        for place, row in self._rows("sites"):
            name = row["name"]
            site = Site(row.get("id") or uuid5(_SITES, name), name, row.get("foreign", False))
            self._check_new("sites", place, name, site.id, found, ids)
            found[name] = site
        return found

    def _check_new(
        self, table: str, place: int, name: str, guid: UUID, names: Iterable[str], ids: set[UUID]
    ) -> None:
        if name in names:
            raise self._error(table, place, "name", f"there are two {table} {name}")
        if guid in ids:
            raise self._error(table, place, "id", f"there are two {table} with the id {guid}")
        ids.add(guid)

    def _managers(self, sites: Mapping[str, Site]) -> dict[str, RoutedManager]:
        rows = list(self._rows("managers"))
        ids: set[UUID] = set()
        names: dict[str, UUID] = {}
        for place, row in rows:
            self._check_new("managers", place, row["name"], row["id"], names, ids)
            names[row["name"]] = row["id"]
        found = {}
        for place, row in rows:
            own = self._resolve(
                "managers", place, "sites", row, {n: s.id for n, s in sites.items()}
            )
            if not own:
                raise self._error("managers", place, "sites", "sites: at least one is needed")
            found[row["name"]] = RoutedManager(
                row["id"],
                row["name"],
                own,
                router=row.get("router", False),
                out_servers=self._resolve("managers", place, "out", row, names),
                in_servers=self._resolve("managers", place, "in", row, names),
                foreign=row.get("foreign", False),
                address=row.get("address", ""),
            )
        self._check_roles([(place, found[row["name"]]) for place, row in rows], found)
        return found

    def _check_roles(
        self, placed: Iterable[tuple[int, RoutedManager]], managers: Mapping[str, RoutedManager]
    ) -> None:
        routers = {manager.id for manager in managers.values() if manager.router}
        names = {manager.id: manager.name for manager in managers.values()}
        for place, manager in placed:
            if manager.router and manager.foreign:
                reason = f"{manager.name}: a foreign system cannot be a router"
                raise self._error("managers", place, "router", reason)
            for key, servers in (("out", manager.out_servers), ("in", manager.in_servers)):
                for server in servers:
                    if server not in routers:
                        reason = f"{key}: {names[server]} is no router"
                        raise self._error("managers", place, key, reason)

    def _links(
        self, sites: Mapping[str, Site], managers: Mapping[str, RoutedManager]
    ) -> Iterator[RoutingLink]:
        site_ids = {name: site.id for name, site in sites.items()}
        manager_ids = {name: manager.id for name, manager in managers.items()}
        by_id = {manager.id: manager for manager in managers.values()}
        for place, row in self._rows("links"):
            ends = [
                self._one("links", place, key, row[key], site_ids, "site")
                for key in ("site1", "site2")
            ]
            if ends[0] == ends[1]:
                reason = f"site2: a link from {row['site1']} to itself"
                raise self._error("links", place, "site2", reason)
            gates = self._resolve("links", place, "gates", row, manager_ids)
            for gate in gates:
                manager = by_id[gate]
                if not manager.router:
                    reason = f"gates: {manager.name} is no router"
                    raise self._error("links", place, "gates", reason)
                if set(ends).isdisjoint(manager.sites):
                    reason = f"gates: {manager.name} is in neither of the two sites"
                    raise self._error("links", place, "gates", reason)
            yield RoutingLink(ends[0], ends[1], row.get("cost", LEAST_COST), gates)

    def _resolve(
        self, table: str, place: int, key: str, row: Mapping[str, Any], known: Mapping[str, UUID]
    ) -> tuple[UUID, ...]:
        what = "site" if key == "sites" else "manager"
        names = row.get(key, ())
        return tuple(self._one(table, place, key, name, known, what) for name in names)

    def _one(
        self, table: str, place: int, key: str, name: str, known: Mapping[str, UUID], what: str
    ) -> UUID:
        found = known.get(name)
        if found is None:
            near = get_close_matches(name, list(known)[:1000], 1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise self._error(table, place, key, f"{key}: there is no {what} {name:.60}{hint}")
        return found

    # Lines

    def _error(self, table: str, place: int, key: str, reason: str) -> TopologyError:
        return TopologyError(f"line {self._line_of(table, place, key)}: {reason}")

    def _line_of(self, table: str, place: int, key: str) -> int:
        """The line that says something, or else the one where its table begins."""
        start = self._places.get((table, place), 0)
        wanted = re.compile(rf"\s*[\"']?{re.escape(key)}[\"']?\s*=|\s*\[+\s*{re.escape(key)}\b")
        for number in range(start, len(self._lines)):
            line = self._lines[number]
            if wanted.match(line):
                return number + 1
            if table and number > start and _TABLE.match(line) and _HEADER.match(line):
                break
        return start + 1


def _headers(lines: Iterable[str]) -> Iterator[tuple[tuple[str, int], int]]:
    """Where each table of an array begins."""
    counts: dict[str, int] = {}
    for number, line in enumerate(lines):
        if found := _HEADER.match(line):
            name = found[1]
            place = counts.get(name, 0)
            counts[name] = place + 1
            yield (name, place), number
        elif line.lstrip().startswith("[routing]"):
            yield ("routing", 0), number
