"""Queues and settings as a file says them, and the steps from what is there to that."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, Final
from uuid import UUID

from openmsmq.cli.queue import PRIVACY
from openmsmq.errors import MQError
from openmsmq.limits import NO_QUOTA, QUEUE_LABEL_MAX
from openmsmq.names.parse import parse_name
from openmsmq.names.path import THIS_COMPUTER, PathName, parse_path_name
from openmsmq.types.queues import Poison, QueueInfo
from openmsmq.types.settings import CLOCK_TOLERANCE_MAX, DEDUP_COUNT_MAX

NONE: Final = "none"
_PRIVATE: Final = "private$\\"
_SECONDS_MAX: Final = 0xFFFFFFFE
_HISTORY_MAX: Final = 1 << 20

Read = Callable[[object], object]
"The value of a key as the API takes it; `ValueError` in words if it is none."


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


def _flag(value: object) -> bool:
    if isinstance(value, bool):
        return value
    raise ValueError("true or false is needed")


def _whole(least: int, most: int) -> Read:
    def read(value: object) -> int:
        if isinstance(value, int) and not isinstance(value, bool) and least <= value <= most:
            return value
        raise ValueError(f"a whole number from {least} to {most} is needed")

    return read


def _or_none(read: Read) -> Read:
    def read_optional(value: object) -> object:
        if value == NONE:
            return None
        try:
            return read(value)
        except ValueError as error:
            raise ValueError(
                f'{str(error).removesuffix(" is needed")}, or "none" is needed'
            ) from None

    return read_optional


def _label(value: object) -> str:
    if isinstance(value, str) and len(value) <= QUEUE_LABEL_MAX:
        return value
    raise ValueError(f"a text of at most {QUEUE_LABEL_MAX} characters is needed")


def _privacy(value: object) -> int:
    if value in PRIVACY:
        return PRIVACY.index(str(value))
    raise ValueError(f"one of {', '.join(PRIVACY)} is needed")


def _guid(value: object) -> UUID:
    try:
        return UUID(str(value))
    except ValueError:
        raise ValueError("a GUID is needed") from None


def _poison(value: object) -> str:
    if value in tuple(Poison):
        return str(value)
    raise ValueError(f"{' or '.join(Poison)} is needed")


_KIB: Final = _or_none(_whole(0, NO_QUOTA - 1))


def _names(value: object) -> tuple[str, ...]:
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return tuple(value)
    raise ValueError("a list of names of computers is needed")


QUEUE_KEYS: Final[Mapping[str, Read]] = {
    "transactional": _flag,
    "journal": _flag,
    "quota": _KIB,
    "journal_quota": _KIB,
    "label": _label,
    "authenticate": _flag,
    "privacy": _privacy,
    "base_priority": _whole(-0x8000, 0x7FFF),
    "type": _guid,
    "abort_limit": _whole(0, _SECONDS_MAX),
    "retry_delay": _whole(0, _SECONDS_MAX),
    "poison": _poison,
}
SETTINGS_KEYS: Final[Mapping[str, Read]] = {
    "quota": _KIB,
    "journal_quota": _KIB,
    "history": _whole(0, _HISTORY_MAX),
    "time_to_reach_queue": _or_none(_whole(0, _SECONDS_MAX)),
    "confirmation_grace": _whole(0, _SECONDS_MAX),
    "keep_refused": _flag,
    "dedup_count": _whole(1, DEDUP_COUNT_MAX),
    "dedup_time": _whole(1, _SECONDS_MAX),
    "clock_tolerance": _whole(0, CLOCK_TOLERANCE_MAX),
    "inherited_names": _names,
}
_TABLES: Final = ("settings", "queue")


def read_plan(text: str) -> Wanted:
    """What a file says; `FileError` names the line or the key that is wrong."""
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
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


def _read_table(where: str, value: object, keys: Mapping[str, Read]) -> dict[str, Any]:
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
