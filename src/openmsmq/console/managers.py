"""The managers that a console shows, as a file says them (`console.toml`).

read_only = true
port = 1809

[manager.shop01]
address = "10.0.0.1:1811"
ca = "ca.pem"
token_file = "shop01.token"
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from openmsmq import aio
from openmsmq.client._async.manager import Manager
from openmsmq.client.address import Address
from openmsmq.console.links import Connect
from openmsmq.errors import InvalidParameter
from openmsmq.toml import read_toml

_TOP: Final = {"read_only": bool, "port": int, "manager": dict}
_MANAGER: Final = ("address", "ca", "token_file")
PATIENCE_S: Final = 5.0


class ManagersFileError(ValueError):
    """A file that does not say which managers a console shows."""


@dataclass(frozen=True, slots=True)
class ManagerPlace:
    """Where a manager is, and how to log in there."""

    address: str
    token: str = ""
    tls: str | None = None


def connecting_to(place: ManagerPlace) -> Connect:
    """Connects to a manager with the token of who asks, or else with that of the place."""

    async def connect(own: str) -> Manager:
        return await aio.connect(
            place.address,
            token=own or place.token,
            tls=place.tls,
            timeout=PATIENCE_S,
            reconnect=PATIENCE_S,
        )

    return connect


@dataclass(frozen=True, slots=True)
class ManagersFile:
    """What a file says."""

    managers: Mapping[str, ManagerPlace]
    port: int | None = None
    read_only: bool = False


def read_managers(path: Path) -> ManagersFile:
    """The managers of a file; names of other files in it are beside it."""
    try:
        found = read_toml(path.read_text())
    except (OSError, ValueError) as error:
        raise ManagersFileError(f"{path}: {error}") from error
    for name, value in found.items():
        kind = _TOP.get(name)
        if kind is None:
            raise ManagersFileError(f"{path}: {name}: there are {', '.join(_TOP)}")
        if type(value) is not kind:
            raise ManagersFileError(f"{path}: {name}: {value!r} is not {kind.__name__}")
    if not 0 <= found.get("port", 0) <= 0xFFFF:
        raise ManagersFileError(f"{path}: port: from 0 to 65535, not {found['port']}")
    managers = found.get("manager", {})
    if not managers:
        raise ManagersFileError(f"{path}: there is no table [manager.NAME]")
    places = {name: _place(path, name, given) for name, given in managers.items()}
    return ManagersFile(places, found.get("port"), found.get("read_only", False))


def _place(path: Path, name: str, given: Any) -> ManagerPlace:
    where = f"{path}: manager.{name}"
    if not isinstance(given, dict) or "address" not in given:
        raise ManagersFileError(f'{where}: address = "HOST:PORT" is needed')
    for key, value in given.items():
        if key not in _MANAGER:
            raise ManagersFileError(f"{where}.{key}: there are {', '.join(_MANAGER)}")
        if not isinstance(value, str):
            raise ManagersFileError(f"{where}.{key}: a text is needed, not {value!r}")
    token, tls = "", None
    try:
        if "token_file" in given:
            token = (path.parent / given["token_file"]).read_text().strip()
        if "ca" in given:
            file = path.parent / given["ca"]
            file.read_bytes()
            tls = str(file)
        Address.parse(given["address"])
    except (OSError, UnicodeDecodeError, InvalidParameter) as error:
        raise ManagersFileError(f"{where}: {error}") from error
    return ManagerPlace(given["address"], token, tls)
