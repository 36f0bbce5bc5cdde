"""How values of the configuration are written, and read; `ValueError` in words if one is wrong."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from uuid import UUID

from openmsmq.engine.arrivals.peers import Identity
from openmsmq.errors import MQError
from openmsmq.limits import U16_MAX
from openmsmq.names.parts import host_key
from openmsmq.names.path import parse_path_name

OFF: Final = "off"
_ADDRESS: Final = re.compile(
    r"(?:\[(?P<six>[0-9a-f:.]+)\]|(?P<host>[^\[\]:\\/\s]+))(?::(?P<port>\d{1,5}))?",
    re.ASCII | re.IGNORECASE,
)

Read = Callable[[object], Any]
"What a file or an option gives as the value of a field; `ValueError` in words if it is none."


@dataclass(frozen=True, slots=True)
class PeerEntry:
    """What the configuration says of another computer."""

    address: str
    "HOST or HOST:PORT."
    id: UUID | None = None
    "The identity of the queue manager that must answer there."
    relay: bool = False
    "It may bring messages of other managers."


@dataclass(frozen=True, slots=True)
class HttpDestination:
    """What the configuration says of a host that messages are posted to."""

    proxy: str | None = None
    ca: Path | None = None
    posts_max: int | None = None


def split_address(text: str, port: int) -> tuple[str, int]:
    """Host and port of `HOST[:PORT]`, where `port` is the one if none is given."""
    found = _ADDRESS.fullmatch(text)
    if found is None:
        raise ValueError(f"{text}: HOST or HOST:PORT is needed, with [] around an IPv6 address")
    number = int(found["port"] or port)
    if not 1 <= number <= U16_MAX:
        raise ValueError(f"{text}: a port is a number from 1 to {U16_MAX}")
    return found["six"] or found["host"], number


def read_text(value: object) -> str:
    """A text without spaces around it."""
    if isinstance(value, str) and value.strip() == value != "" and value.isprintable():
        return value
    raise ValueError("a text is needed")


def read_path(value: object) -> Path:
    """A file or directory."""
    return value if isinstance(value, Path) else Path(read_text(value))


def read_computer(value: object) -> str:
    """The name of a computer."""
    name = read_text(value)
    try:
        parse_path_name(f"{name}\\queue")
    except MQError as error:
        raise ValueError(f"the name of a computer is needed; {error.detail}") from None
    return name


def read_computers(value: object) -> tuple[str, ...]:
    """Names of computers."""
    if isinstance(value, list | tuple):
        return tuple(map(read_computer, value))
    raise ValueError("a list of names is needed")


def read_peers(value: object) -> dict[str, PeerEntry]:
    """Other computers by name."""
    if isinstance(value, dict):
        found = {name: _read_peer(entry) for name, entry in value.items()}
        if len({host_key(read_computer(name)) for name in value}) == len(value):
            return found
    raise ValueError("a table of different names and their addresses is needed")


def _read_peer(value: object) -> PeerEntry:
    """An address, or a table with it and what else is known of the manager there."""
    if not isinstance(value, dict):
        split_address(read_text(value), 1)
        return PeerEntry(read_text(value))
    unknown = value.keys() - {"address", "id", "relay"}
    if unknown or "address" not in value:
        raise ValueError("a peer has an address and may have an id and relay = true")
    split_address(read_text(value["address"]), 1)
    try:
        identity = UUID(read_text(value["id"])) if "id" in value else None
    except ValueError:
        raise ValueError(f"{value['id']!r} is not a GUID") from None
    return PeerEntry(value["address"], identity, read_flag(value.get("relay", False)))


def read_origin(value: object) -> str:
    """Scheme, host and port of an HTTP server."""
    text = read_text(value).rstrip("/")
    scheme, _, host = text.partition("://")
    if scheme.lower() not in ("http", "https") or not host or set(host) & set("/?#@ "):
        raise ValueError("http:// or https:// with a host is needed, and maybe a port")
    split_address(host, 1)
    return text


def read_proxy(value: object) -> str:
    """The URL of an HTTP proxy, or `none`."""
    return "none" if value == "none" else read_origin(value)


def read_destinations(value: object) -> dict[str, HttpDestination]:
    """Settings of HTTP destinations by host or host:port."""
    if isinstance(value, dict):
        return {read_text(name).lower(): _read_destination(entry) for name, entry in value.items()}
    raise ValueError("a table of hosts and their settings is needed")


def _read_destination(value: object) -> HttpDestination:
    if not isinstance(value, dict) or value.keys() - {"proxy", "ca", "posts_max"}:
        raise ValueError("a destination may have proxy, ca and posts_max")
    return HttpDestination(
        read_proxy(value["proxy"]) if "proxy" in value else None,
        read_path(value["ca"]) if "ca" in value else None,
        whole(1, 1000)(value["posts_max"]) if "posts_max" in value else None,
    )


def read_identity(value: object) -> Identity:
    """What is asked of a session before it may speak for a manager."""
    if value in tuple(Identity):
        return Identity(str(value))
    raise ValueError(f"one of {', '.join(Identity)} is needed")


def read_flag(value: object) -> bool:
    """True or false."""
    if isinstance(value, bool):
        return value
    raise ValueError("true or false is needed")


def _is_whole(value: object, least: int, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def whole(least: int, most: int) -> Read:
    """A whole number."""

    def read(value: object) -> object:
        if _is_whole(value, least, most):
            return value
        raise ValueError(f"a whole number from {least} to {most} is needed")

    return read


def whole_or_off(least: int, most: int) -> Read:
    """A whole number, or `off`."""

    def read(value: object) -> object:
        if value == OFF or _is_whole(value, least, most):
            return None if value == OFF else value
        raise ValueError(f'a whole number from {least} to {most}, or "{OFF}" is needed')

    return read


def one_of(*words: str) -> Read:
    """One of these words."""

    def read(value: object) -> object:
        if value in words:
            return value
        raise ValueError(f"one of {', '.join(words)} is needed")

    return read
