"""Queues and settings as a file says them, and the steps from what is there to that."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, Final, get_args
from uuid import UUID

from openmsmq.errors import MQError
from openmsmq.limits import NO_QUOTA, QUEUE_LABEL_MAX
from openmsmq.names.parse import parse_name
from openmsmq.names.path import THIS_COMPUTER, PathName, parse_path_name
from openmsmq.security.access import ManagerRights
from openmsmq.security.defaults import NewQueues
from openmsmq.security.permissions import normal_permissions
from openmsmq.toml import Value, one_of, or_word, read_flag, read_toml, value, whole
from openmsmq.types.queues import PRIVACY, Poison, QueueInfo
from openmsmq.types.settings import CLOCK_TOLERANCE_MAX, DEDUP_COUNT_MAX

NONE: Final = "none"
_QUOTAS: Final = ("quota", "journal_quota")
_PRIVATE: Final = "private$\\"
_SECONDS_MAX: Final = 0xFFFFFFFE
_HISTORY_MAX: Final = 1 << 20


class FileError(ValueError):
    """The file says what cannot be."""


class Impossible(ValueError):
    """What the file says cannot be reached from what is there."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a file says."""

    settings: Mapping[str, Any] = field(default_factory=dict)
    queues: Mapping[PathName, Mapping[str, Any]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Step:
    """One thing to do, or to leave as it is."""

    action: str
    "`create`, `change`, `delete` or `keep`."
    name: str
    "The path name of a queue; empty for the settings of the manager."
    changes: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)
    "Each property with what it was and what it shall be."
    messages: int = 0
    "How many go with a queue that is deleted."

    @property
    def values(self) -> dict[str, Any]:
        """What the properties shall be."""
        return {name: new for name, (_, new) in self.changes.items()}

    @property
    def queue_values(self) -> dict[str, Any]:
        """The same for a queue, of which None would mean to leave it."""
        return {
            name: NO_QUOTA if name in _QUOTAS and new is None else new
            for name, new in self.values.items()
        }


@value({"type": "string", "maxLength": QUEUE_LABEL_MAX})
def _label(given: object) -> str:
    if isinstance(given, str) and len(given) <= QUEUE_LABEL_MAX:
        return given
    raise ValueError(f"a text of at most {QUEUE_LABEL_MAX} characters is needed")


@value({"enum": list(PRIVACY)})
def _privacy(given: object) -> int:
    return PRIVACY.index(one_of(*PRIVACY)(given))


@value({"type": "string"})
def _guid(given: object) -> UUID:
    try:
        return UUID(str(given))
    except ValueError:
        raise ValueError("a GUID is needed") from None


@value({"type": "array", "items": {"type": "string"}})
def _names(given: object) -> tuple[str, ...]:
    if isinstance(given, list) and all(isinstance(item, str) for item in given):
        return tuple(given)
    raise ValueError("a list of names of computers is needed")


@value({"type": "string"})
def _permissions(given: object) -> str:
    try:
        if isinstance(given, str):
            return normal_permissions(given, ManagerRights)
    except MQError as error:
        raise ValueError(error.detail) from None
    raise ValueError("a security descriptor in SDDL is needed")


@value({"type": "string"})
def _address(given: object) -> str:
    """Checked by the manager, which knows what else it depends on."""
    if isinstance(given, str):
        return given
    raise ValueError("an address with a port is needed, such as 234.1.1.1:8001, or an empty text")


_KIB: Final = or_word(whole(0, NO_QUOTA - 1), NONE)

QUEUE_KEYS: Final[Mapping[str, Value[Any]]] = {
    "transactional": read_flag,
    "journal": read_flag,
    "quota": _KIB,
    "journal_quota": _KIB,
    "label": _label,
    "authenticate": read_flag,
    "privacy": _privacy,
    "base_priority": whole(-0x8000, 0x7FFF),
    "type": _guid,
    "abort_limit": whole(0, _SECONDS_MAX),
    "retry_delay": whole(0, _SECONDS_MAX),
    "poison": one_of(*Poison),
    "multicast": _address,
}
SETTINGS_KEYS: Final[Mapping[str, Value[Any]]] = {
    "quota": _KIB,
    "journal_quota": _KIB,
    "history": whole(0, _HISTORY_MAX),
    "audit": whole(0, _HISTORY_MAX),
    "audit_opens": read_flag,
    "time_to_reach_queue": or_word(whole(0, _SECONDS_MAX), NONE),
    "confirmation_grace": whole(0, _SECONDS_MAX),
    "keep_refused": read_flag,
    "reports": read_flag,
    "insecure_nacks": read_flag,
    "hardened": read_flag,
    "new_queues": one_of(*get_args(NewQueues)),
    "permissions": _permissions,
    "dedup_count": whole(1, DEDUP_COUNT_MAX),
    "dedup_time": whole(1, _SECONDS_MAX),
    "clock_tolerance": whole(0, CLOCK_TOLERANCE_MAX),
    "inherited_names": _names,
}
_TABLES: Final = ("settings", "queue")


def read_plan(text: str) -> Wanted:
    """What a file says; `FileError` names the line or the key that is wrong."""
    try:
        document = read_toml(text)
    except ValueError as error:
        raise FileError(str(error)) from None
    _check_names("", document, _TABLES)
    settings = _read_table("settings", document.get("settings", {}), SETTINGS_KEYS)
    queues: dict[PathName, Mapping[str, Any]] = {}
    for name, table in _table("queue", document.get("queue", {})).items():
        where = f"queue.{_quoted(name)}"
        path = _queue_name(where, name)
        if path in queues:
            raise FileError(f"{where}: {path} is there twice")
        queues[path] = _read_table(where, table, QUEUE_KEYS)
    return Wanted(settings, queues)


def _quoted(name: str) -> str:
    return f"'{name}'" if set(name) & set(".\\$ ") else name


def _queue_name(where: str, name: str) -> PathName:
    r"""A queue of this manager: `orders`, `private$\orders`, `.\private$\orders`."""
    if name.lower().startswith(_PRIVATE):
        name = f"{THIS_COMPUTER}\\{name}"
    try:
        path = parse_name(name)
    except MQError as error:
        raise FileError(f"{where}: {error.detail}") from None
    if not isinstance(path, PathName) or path.computer != THIS_COMPUTER:
        raise FileError(f"{where}: only queues of this manager can be named")
    if path.suffix or path.subqueue:
        raise FileError(f"{where}: the manager itself keeps journals, dead letters and subqueues")
    return path


def _table(where: str, value: object) -> Mapping[str, object]:
    if isinstance(value, dict):
        return value
    raise FileError(f"{where}: a table is needed")


def _read_table(where: str, value: object, keys: Mapping[str, Value[Any]]) -> dict[str, Any]:
    table = _table(where, value)
    _check_names(f"{where}.", table, keys)
    found = {}
    for key, given in table.items():
        try:
            found[key] = keys[key](given)
        except ValueError as error:
            raise FileError(f"{where}.{key}: {error}, not {given!r}") from None
    return found


def _check_names(where: str, table: Iterable[str], known: Iterable[str]) -> None:
    known = list(known)
    for name in table:
        if name in known:
            continue
        near = get_close_matches(name, known, 1)
        hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}"
        raise FileError(f"{where}{_quoted(name)}: no such key; {hint}")


def make_plan(
    wanted: Wanted,
    queues: Iterable[QueueInfo],
    settings: object,
    *,
    prune: bool = False,
    force: bool = False,
) -> list[Step]:
    """The steps from what is there to what is wanted; `Impossible` if there is no way.

    `settings` is None for a manager that is yet to be made. What the file does not mention stays.
    """
    present = {parse_path_name(info.name): info for info in queues}
    return [
        *_settings_step(wanted.settings, settings),
        *(_queue_step(path, keys, present.get(path)) for path, keys in wanted.queues.items()),
        *(_prune(present, wanted, force=force) if prune else ()),
    ]


def _settings_step(wanted: Mapping[str, Any], settings: object) -> Iterator[Step]:
    if wanted:
        changes = _changes(wanted, settings)
        yield Step("change" if changes else "keep", "", changes)


def _queue_step(path: PathName, wanted: Mapping[str, Any], info: QueueInfo | None) -> Step:
    if info is None:
        return Step("create", str(path), _changes(wanted, None))
    changes = _changes(wanted, info)
    if "transactional" in changes:
        kind = "transactional" if info.transactional else "not transactional"
        raise Impossible(f"{info.name} is {kind}, and a queue cannot change that; delete it first")
    return Step("change" if changes else "keep", info.name, changes)


def _changes(wanted: Mapping[str, Any], present: object) -> dict[str, tuple[Any, Any]]:
    before = {key: getattr(present, key, None) for key in wanted}
    return {
        key: (before[key], value)
        for key, value in wanted.items()
        if present is None or before[key] != value
    }


def _prune(present: Mapping[PathName, QueueInfo], wanted: Wanted, *, force: bool) -> Iterator[Step]:
    for path, info in present.items():
        if path in wanted.queues:
            continue
        held = info.messages + (info.delayed or 0)
        if held and not force:
            raise Impossible(
                f"{info.name} is not in the file, but holds {held} messages;"
                " --force deletes them, too"
            )
        yield Step("delete", info.name, messages=held)
