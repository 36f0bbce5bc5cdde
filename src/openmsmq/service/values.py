"""How values of the configuration are written, and read; `ValueError` in words if one is wrong."""

from __future__ import annotations

import re
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Network, ip_address
from pathlib import Path
from typing import Final
from uuid import UUID

from openmsmq.directory.ldap.controller import parse_place
from openmsmq.engine.arrivals.peers import Identity
from openmsmq.errors import Malformed, MQError
from openmsmq.limits import U16_MAX
from openmsmq.names.parts import host_key
from openmsmq.names.path import parse_path_name
from openmsmq.soap.addresses import queue_at
from openmsmq.toml import TEXT_SCHEMA, read_flag, table_schema, value, whole
from openmsmq.types.caller import RIGHTS

OFF: Final = "off"
_ADDRESS: Final = re.compile(
    r"(?:\[(?P<six>[0-9a-f:.]+)\]|(?P<host>[^\[\]:\\/\s]+))(?::(?P<port>\d{1,5}))?",
    re.ASCII | re.IGNORECASE,
)

_ADDRESS_SCHEMA: Final = {**TEXT_SCHEMA, "description": "HOST or HOST:PORT"}
_PROXY_SCHEMA: Final = {**TEXT_SCHEMA, "description": "http://HOST:PORT, or none"}
_POSTS: Final = whole(1, 1000)
_WAIT: Final = whole(1, 1_000_000)
_URL: Final = re.compile("https?://", re.IGNORECASE)
_PEER_SCHEMA: Final = table_schema(
    {
        "address": _ADDRESS_SCHEMA,
        "id": TEXT_SCHEMA,
        "relay": read_flag.schema,
        "certificate": TEXT_SCHEMA,
    },
    ["address"],
)
_DESTINATION_SCHEMA: Final = table_schema(
    {"proxy": _PROXY_SCHEMA, "ca": TEXT_SCHEMA, "posts_max": _POSTS.schema}
)
_LOGIN_PROXY_SCHEMA: Final = table_schema(
    {
        "addresses": {"type": "array", "items": TEXT_SCHEMA},
        "header": TEXT_SCHEMA,
        "users": {"type": "object", "additionalProperties": TEXT_SCHEMA},
        "secret_file": TEXT_SCHEMA,
    },
    ["addresses", "header", "users"],
)
_CONSOLE_MANAGER_SCHEMA: Final = table_schema(
    {"address": _ADDRESS_SCHEMA, "ca": TEXT_SCHEMA, "token_file": TEXT_SCHEMA}, ["address"]
)
_HEADER: Final = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,60}", re.ASCII)
LEVELS: Final = ("none", "connect", "integrity", "privacy")
"How calls to another manager are protected."
_MANAGER_SCHEMA: Final = table_schema(
    {
        "user": TEXT_SCHEMA,
        "password_file": TEXT_SCHEMA,
        "address": _ADDRESS_SCHEMA,
        "level": {"enum": list(LEVELS)},
    }
)


@dataclass(frozen=True, slots=True)
class ProxyEntry:
    """A proxy in front of the console that logs people in, and what they may do."""

    addresses: tuple[str, ...]
    header: str
    "The header in which it names the person."
    users: dict[str, Path]
    "Files with tokens, by names of persons; `*` and `?` are wild, the first that fits counts."
    secret_file: Path | None


@dataclass(frozen=True, slots=True)
class ConsoleManagerEntry:
    """Another manager that the console of this one shows."""

    address: str
    "HOST or HOST:PORT of its listener for programs."
    ca: Path | None = None
    token_file: Path | None = None
    "The token that administrators of this manager use there."


@dataclass(frozen=True, slots=True)
class PeerEntry:
    """What the configuration says of another computer."""

    address: str
    "HOST or HOST:PORT."
    id: UUID | None = None
    "The identity of the queue manager that must answer there."
    relay: bool = False
    "It may bring messages of other managers."
    certificate: Path | None = None
    "A PEM file: the manager is reached by TLS, and none but the holder of its key speaks for it."


@dataclass(frozen=True, slots=True)
class HttpDestination:
    """What the configuration says of a host that messages are posted to."""

    proxy: str | None = None
    ca: Path | None = None
    posts_max: int | None = None


@dataclass(frozen=True, slots=True)
class RemoteManagerEntry:
    """What the configuration says of a manager whose queues programs read through this one."""

    user: str = ""
    "How this manager logs on there; `DOMAIN\\\\user` is possible."
    password_file: Path | None = None
    "Relative to the directory of the manager; only its owner may be able to read it."
    address: str = ""
    "HOST or HOST:PORT, if the name of the computer is not the host."
    level: str = "privacy"


def split_address(text: str, port: int) -> tuple[str, int]:
    """Host and port of `HOST[:PORT]`, where `port` is the one if none is given."""
    found = _ADDRESS.fullmatch(text)
    if found is None:
        raise ValueError(f"{text}: HOST or HOST:PORT is needed, with [] around an IPv6 address")
    number = int(found["port"] or port)
    if not 1 <= number <= U16_MAX:
        raise ValueError(f"{text}: a port is a number from 1 to {U16_MAX}")
    return found["six"] or found["host"], number


@value(TEXT_SCHEMA)
def read_text(given: object) -> str:
    """A text without spaces around it."""
    if isinstance(given, str) and given.strip() == given != "" and given.isprintable():
        return given
    raise ValueError("a text is needed")


@value(TEXT_SCHEMA)
def read_path(given: object) -> Path:
    """A file or directory."""
    return given if isinstance(given, Path) else Path(read_text(given))


@value(TEXT_SCHEMA)
def read_computer(given: object) -> str:
    """The name of a computer."""
    name = read_text(given)
    try:
        parse_path_name(f"{name}\\queue")
    except MQError as error:
        raise ValueError(f"the name of a computer is needed; {error.detail}") from None
    return name


@value({"type": "array", "items": TEXT_SCHEMA})
def read_computers(given: object) -> tuple[str, ...]:
    """Names of computers."""
    if isinstance(given, list | tuple):
        return tuple(map(read_computer, given))
    raise ValueError("a list of names is needed")


@value({"type": "object", "additionalProperties": {"type": "array", "items": TEXT_SCHEMA}})
def read_masks(given: object) -> dict[str, tuple[str, ...]]:
    """Names of fields, by the right whose holders do not see them."""
    if isinstance(given, dict) and given.keys() <= set(RIGHTS):
        return {right: _read_names(names) for right, names in given.items()}
    raise ValueError(f"a table by right is needed: {', '.join(RIGHTS)}")


@value(_LOGIN_PROXY_SCHEMA)
def read_login_proxy(given: object) -> ProxyEntry:
    """A proxy that logs people in at the console."""
    known = {"addresses", "header", "users", "secret_file"}
    if not isinstance(given, dict) or not {"addresses", "header", "users"} <= given.keys() <= known:
        raise ValueError("a table is needed with addresses, header, users and perhaps secret_file")
    try:
        addresses = tuple(str(ip_address(one)) for one in _read_names(given["addresses"]))
    except ValueError as error:
        raise ValueError(f"addresses: {error}") from None
    if not isinstance(given["users"], dict) or not given["users"]:
        raise ValueError("users: a table of names and files with their tokens is needed")
    users = {read_text(name): read_path(file) for name, file in given["users"].items()}
    secret = read_path(given["secret_file"]) if "secret_file" in given else None
    if secret is None and any(ip_address(one).is_loopback for one in addresses):
        raise ValueError(
            "a proxy on this computer needs secret_file: else every program here could pose as it"
        )
    header = read_text(given["header"])
    if not _HEADER.fullmatch(header):
        raise ValueError(f"header: {header!r} is not the name of a header")
    return ProxyEntry(addresses, header, users, secret)


@value({"type": "object", "additionalProperties": _CONSOLE_MANAGER_SCHEMA})
def read_console_managers(given: object) -> dict[str, ConsoleManagerEntry]:
    """Other managers that the console shows, by name."""
    if isinstance(given, dict):
        return {read_computer(name): _console_manager(entry) for name, entry in given.items()}
    raise ValueError("a table of names and where these managers are is needed")


def _console_manager(given: object) -> ConsoleManagerEntry:
    known = {"address", "ca", "token_file"}
    if not isinstance(given, dict) or "address" not in given or given.keys() - known:
        raise ValueError("a manager has an address and may have ca and token_file")
    split_address(read_text(given["address"]), 1)
    return ConsoleManagerEntry(
        given["address"],
        read_path(given["ca"]) if "ca" in given else None,
        read_path(given["token_file"]) if "token_file" in given else None,
    )


def _read_names(given: object) -> tuple[str, ...]:
    if isinstance(given, list | tuple):
        return tuple(map(read_text, given))
    raise ValueError("a list of names is needed")


@value({"type": "array", "items": {"type": "string", "pattern": r"^ldaps?://|^[\w-]+(\.[\w-]+)+$"}})
def read_controllers(given: object) -> tuple[str, ...]:
    """Addresses of domain controllers, or domains."""
    if isinstance(given, list | tuple):
        try:
            return tuple(str(parse_place(read_text(one))) for one in given)
        except MQError as error:
            raise ValueError(error.detail) from None
    raise ValueError("a list is needed, such as ldap://dc1.example.com, or example.com")


@value(
    {
        "type": "object",
        "additionalProperties": {"anyOf": [_ADDRESS_SCHEMA, _PEER_SCHEMA]},
    }
)
def read_peers(given: object) -> dict[str, PeerEntry]:
    """Other computers by name."""
    if isinstance(given, dict):
        found = {name: _read_peer(entry) for name, entry in given.items()}
        if len({host_key(read_computer(name)) for name in given}) == len(given):
            return found
    raise ValueError("a table of different names and their addresses is needed")


def _read_peer(given: object) -> PeerEntry:
    """An address, or a table with it and what else is known of the manager there."""
    if not isinstance(given, dict):
        split_address(read_text(given), 1)
        return PeerEntry(read_text(given))
    unknown = given.keys() - {"address", "id", "relay", "certificate"}
    if unknown or "address" not in given:
        raise ValueError("a peer has an address and may have id, relay = true and certificate")
    if "certificate" in given and "id" not in given:
        raise ValueError("certificate needs id, too: that of the manager that shows it")
    split_address(read_text(given["address"]), 1)
    try:
        identity = UUID(read_text(given["id"])) if "id" in given else None
    except ValueError:
        raise ValueError(f"{given['id']!r} is not a GUID") from None
    certificate = Path(read_text(given["certificate"])) if "certificate" in given else None
    relay = read_flag(given.get("relay", False))
    return PeerEntry(given["address"], identity, relay, certificate)


@value({**TEXT_SCHEMA, "pattern": "^[Hh][Tt][Tt][Pp][Ss]?://"})
def read_origin(given: object) -> str:
    """Scheme, host and port of an HTTP server."""
    text = read_text(given).rstrip("/")
    scheme, _, host = text.partition("://")
    if scheme.lower() not in ("http", "https") or not host or set(host) & set("/?#@ "):
        raise ValueError("http:// or https:// with a host is needed, and maybe a port")
    split_address(host, 1)
    return text


@value(_PROXY_SCHEMA)
def read_proxy(given: object) -> str:
    """The URL of an HTTP proxy, or `none`."""
    return "none" if given == "none" else read_origin(given)


@value({"type": "object", "additionalProperties": _DESTINATION_SCHEMA})
def read_destinations(given: object) -> dict[str, HttpDestination]:
    """Settings of HTTP destinations by host or host:port."""
    if isinstance(given, dict):
        return {read_text(name).lower(): _read_destination(entry) for name, entry in given.items()}
    raise ValueError("a table of hosts and their settings is needed")


def _read_destination(given: object) -> HttpDestination:
    if not isinstance(given, dict) or given.keys() - {"proxy", "ca", "posts_max"}:
        raise ValueError("a destination may have proxy, ca and posts_max")
    return HttpDestination(
        read_proxy(given["proxy"]) if "proxy" in given else None,
        read_path(given["ca"]) if "ca" in given else None,
        _POSTS(given["posts_max"]) if "posts_max" in given else None,
    )


@value({"type": "object", "additionalProperties": _MANAGER_SCHEMA})
def read_managers(given: object) -> dict[str, RemoteManagerEntry]:
    """Managers whose queues are read through this one, by the computer of their names."""
    if isinstance(given, dict):
        return {host_key(read_computer(name)): _manager(entry) for name, entry in given.items()}
    raise ValueError("a table of computers and how to log on there is needed")


def _manager(given: object) -> RemoteManagerEntry:
    known = {"user", "password_file", "address", "level"}
    if not isinstance(given, dict) or given.keys() - known:
        raise ValueError("a manager may have user, password_file, address and level")
    level = given.get("level", "privacy")
    if level not in LEVELS:
        raise ValueError(f"level: one of {', '.join(LEVELS)} is needed")
    address = read_text(given["address"]) if "address" in given else ""
    if address:
        split_address(address, 1)
    if level == "none":
        return RemoteManagerEntry(address=address, level=level)
    if not {"user", "password_file"} <= given.keys():
        raise ValueError("a manager needs user and password_file, or level = 'none'")
    user, path = read_text(given["user"]), read_path(given["password_file"])
    return RemoteManagerEntry(user, path, address, level)


@value({"type": "object", "additionalProperties": TEXT_SCHEMA})
def read_redirections(given: object) -> dict[str, str]:
    """URLs that count instead of others, which may end with an asterisk."""
    if isinstance(given, dict):
        return {_read_rule(rule): _read_url(to) for rule, to in given.items()}
    raise ValueError("a table of URLs and those that replace them is needed")


@value({"type": "object", "additionalProperties": TEXT_SCHEMA})
def read_queue_redirections(given: object) -> dict[str, str]:
    """The same, where each leads to a queue."""
    found = read_redirections(given)
    for to in found.values():
        try:
            queue_at(to, "")
        except Malformed as error:
            raise ValueError(f"{to}: the URL of a queue is needed; {error.reason}") from None
    return found


@value({"type": "array", "items": TEXT_SCHEMA})
def read_exceptions(given: object) -> tuple[str, ...]:
    """URLs, which may end with an asterisk."""
    if isinstance(given, list | tuple):
        return tuple(map(_read_rule, given))
    raise ValueError("a list of URLs is needed")


@value({"type": "array", "items": TEXT_SCHEMA})
def read_hosts(given: object) -> tuple[str, ...]:
    """The same, with the whole host."""
    found = read_exceptions(given)
    for rule in found:
        if "/" not in rule.partition("://")[2]:
            raise ValueError(f"{rule}: name the host in full, such as http://shop02:8080/*")
    return found


def _read_rule(given: object) -> str:
    text = read_text(given)
    found = _URL.match(text)
    has_host = found is not None and len(text) > found.end()
    if text == "*" or (has_host and "*" not in text[:-1]):
        return text
    raise ValueError(f"{text}: a URL is needed, and maybe * at its end, or * alone")


def _read_url(given: object) -> str:
    text = read_text(given)
    found = _URL.match(text)
    if found is None or "*" in text:
        raise ValueError(f"{text}: http:// or https:// with a host is needed")
    split_address(text[found.end() :].partition("/")[0], 1)
    return text


@value({"type": "array", "items": {"type": "integer", "minimum": 1}, "minItems": 1, "maxItems": 10})
def read_schedule(given: object) -> tuple[int, ...]:
    """Up to ten numbers of seconds."""
    if isinstance(given, list | tuple) and 1 <= len(given) <= 10:
        return tuple(map(_WAIT, given))
    raise ValueError("a list of one to ten numbers of seconds is needed")


@value({"type": "object", "additionalProperties": {"type": "string"}})
def read_senders(given: object) -> dict[str, Path]:
    """Files with certificates by the GUID of a queue manager."""
    if not isinstance(given, dict):
        raise ValueError("a table of queue managers and files is needed")  # noqa: TRY004
    try:
        return {str(UUID(name)): read_path(path) for name, path in given.items()}
    except ValueError as error:
        raise ValueError(f"a GUID and a file are needed: {error}") from error


@value({"enum": list(Identity)})
def read_identity(given: object) -> Identity:
    """What is asked of a session before it may speak for a manager."""
    if given in tuple(Identity):
        return Identity(str(given))
    raise ValueError(f"one of {', '.join(Identity)} is needed")


@value({**TEXT_SCHEMA, "format": "ipv4"})
def read_ipv4(given: object) -> str:
    """An IPv4 address."""
    try:
        return str(IPv4Address(str(given)))
    except ValueError:
        raise ValueError(f"{given!r:.40} is no IPv4 address, such as 10.0.0.5") from None


@value({"type": "array", "items": TEXT_SCHEMA})
def read_networks(given: object) -> tuple[str, ...]:
    """IPv4 addresses and networks."""
    if not isinstance(given, list):
        raise ValueError('a list is needed, such as ["10.0.0.0/24"]')  # noqa: TRY004
    try:
        return tuple(str(IPv4Network(str(one))) for one in given)
    except ValueError as error:
        raise ValueError(f"{error}; an address or a network is needed, 10.0.0.0/24") from None
