"""What a backup holds beside the store: how the manager was started, tokens, certificates, keys.

Without these a restored manager would come up under another name, at other ports and without TLS.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, Final

from openmsmq.access.exchange_keys import KEYS_FILE, PEER_KEYS_FILE
from openmsmq.access.senders import MACHINE_FILE, SENDERS_FILE
from openmsmq.access.tokens import TOKENS_FILE
from openmsmq.access.users import USERS_FILE
from openmsmq.errors import BackupDamaged
from openmsmq.service.configuration import CONFIG_FILE, Config, ConfigError, load_config
from openmsmq.service.options import OPTIONS
from openmsmq.service.values import (
    OFF,
    ConsoleManagerEntry,
    HttpDestination,
    PeerEntry,
    ProxyEntry,
    RemoteManagerEntry,
)
from openmsmq.store import copy as copying
from openmsmq.types.caller import Grant

SERVING_FILE: Final = "serving.toml"
"In the directory of a manager: how it was started last, by a file and on the command line."
TLS_FOLDER: Final = "tls"
KEY_FILE: Final = f"{TLS_FOLDER}/key.pem"
FILES: Final = (
    CONFIG_FILE,
    TOKENS_FILE,
    SENDERS_FILE,
    PEER_KEYS_FILE,
    USERS_FILE,
    KEYS_FILE,
    MACHINE_FILE,
    f"{TLS_FOLDER}/cert.pem",
    f"{TLS_FOLDER}/client-ca.pem",
    KEY_FILE,
)
"All that a backup may hold beside the store."
SECRET_FILES: Final = (USERS_FILE, KEYS_FILE, MACHINE_FILE)
"Files of the directory that are in it only with the keys."
_OPEN_FILES: Final = (TOKENS_FILE, SENDERS_FILE, PEER_KEYS_FILE)
Entry = PeerEntry | HttpDestination | RemoteManagerEntry | ProxyEntry | ConsoleManagerEntry
"A value of the configuration that is a table in the file."
_TLS: Final = {
    "tls_cert": f"{TLS_FOLDER}/cert.pem",
    "tls_client_ca": f"{TLS_FOLDER}/client-ca.pem",
    "tls_key": KEY_FILE,
}
_PLAIN: Final = Config(data=Path())
_LEFT_OUT: Final = frozenset({"data", "ready_file", "restored"})
"What is about one start only."


def config_text(config: Config) -> str:
    """A configuration as a file says it, without what is as it would be anyway."""
    tables: dict[str, list[str]] = {}
    for entry in fields(Config):
        value, option = getattr(config, entry.name), OPTIONS[entry.name]
        if entry.name in _LEFT_OUT or value == getattr(_PLAIN, entry.name):
            continue
        tables.setdefault(option.table, []).append(f"{option.key} = {toml_text(value)}")
    parts = [f"[{table}]\n" + "\n".join(lines) for table, lines in tables.items()]
    return "\n\n".join(parts) + "\n"


def write_down(config: Config, name: str) -> None:
    """Keep in its directory how a manager was started, and its name, for backups."""
    paths: dict[str, Any] = {
        entry.name: Path(os.path.abspath(value))
        for entry in fields(Config)
        if isinstance(value := getattr(config, entry.name), Path)
    }
    text = config_text(replace(config, name=name, **paths))
    making = config.data / f".{SERVING_FILE}.{os.getpid()}"
    try:
        making.touch(mode=0o600)
        making.write_text(text, encoding="utf-8")
        making.replace(config.data / SERVING_FILE)
    finally:
        making.unlink(missing_ok=True)


def toml_text(value: object) -> str:
    """A value of TOML; texts are written as in JSON, which has the same escapes."""
    match value:
        case None:
            return json.dumps(OFF)
        case bool():
            return str(value).lower()
        case int():
            return str(value)
        case tuple():
            return f"[{', '.join(map(toml_text, value))}]"
        case (
            PeerEntry()
            | HttpDestination()
            | RemoteManagerEntry()
            | ProxyEntry()
            | ConsoleManagerEntry()
        ):
            return toml_text(_table(value))
        case Grant():
            rights = tuple(value.role.split("+"))
            return toml_text(
                {"rights": rights, "queues": value.patterns} if value.patterns else rights
            )
        case Mapping():
            items = (f"{json.dumps(key)} = {toml_text(item)}" for key, item in value.items())
            return f"{{ {', '.join(items)} }}"
    return json.dumps(str(value), ensure_ascii=False)


def _table(entry: Entry) -> object:
    """A peer as the file says it: its address alone, or a table with what else there is.

    Of all others it is a table of what is set.
    """
    if not isinstance(entry, PeerEntry):
        found = {one.name: getattr(entry, one.name) for one in fields(entry)}
        return {name: value for name, value in found.items() if value not in (None, "")}
    if entry == PeerEntry(entry.address):
        return entry.address
    pinned = {} if entry.id is None else {"id": str(entry.id)}
    if entry.certificate is not None:
        pinned["certificate"] = os.path.abspath(entry.certificate)
    return {"address": entry.address, **pinned, "relay": entry.relay}


def pack(source: Path, folder: Path, *, with_keys: bool) -> dict[str, str]:
    """Copy what belongs to the manager in `source` into a backup; the SHA-256 of each file.

    The private key is left out unless it is asked for: its path then stays as it was. So are the
    users, whose file holds what is as good as their passwords, and the keys of encrypted messages.
    """
    found: dict[str, str] = {}
    config = _config_of(source)
    if config is not None:
        for name, place in _TLS.items():
            path = getattr(config, name)
            if path is None or not path.is_file() or (place == KEY_FILE and not with_keys):
                continue
            (folder / TLS_FOLDER).mkdir(mode=0o700, exist_ok=True)
            found[place] = copying.copy_file(path, folder / place).sha256
            carried: dict[str, Any] = {name: Path(place)}
            config = replace(config, **carried)
        text = folder / CONFIG_FILE
        text.touch(mode=0o600)
        text.write_text(config_text(config), encoding="utf-8")
        found[CONFIG_FILE] = copying.sha256_of(text)
    for name in (*_OPEN_FILES, *(SECRET_FILES if with_keys else ())):
        if (source / name).is_file():
            found[name] = copying.copy_file(source / name, folder / name).sha256
    return found


def _config_of(source: Path) -> Config | None:
    """How the manager was started last, or else what its file says; None if nothing says it."""
    for name in (SERVING_FILE, CONFIG_FILE):
        if (source / name).is_file():
            try:
                return load_config(source / name, {"data": source})
            except ConfigError:
                continue
    return None


def check(folder: Path, files: Mapping[str, str]) -> None:
    """`BackupDamaged` if a file beside the store is not what the backup says."""
    for name, digest in files.items():
        if name not in FILES:
            raise BackupDamaged(f"{folder}: {name} has no place in a backup")
        path = folder / name
        if not path.is_file() or copying.sha256_of(path) != digest:
            raise BackupDamaged(f"{folder}: {name} is missing or was changed")


def unpack(
    folder: Path, files: Mapping[str, str], target: Path, *, replaced: str
) -> Iterator[Path]:
    """Put the files of a backup in place; those that were there get `replaced` behind their names.

    Gives where each of these is now.
    """
    for name in files:
        place = target / name
        place.parent.mkdir(mode=0o700, exist_ok=True)
        if place.exists():
            kept = place.with_name(place.name + replaced)
            place.rename(kept)
            yield kept
        copying.copy_file(folder / name, place)
