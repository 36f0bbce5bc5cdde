"""A pipeline as its TOML file says it, checked before anything starts.

What a file is about follows from the one table it has of those in `pipelines.ready.KINDS`:
`[sink]` for a pipeline of one's own, or that of a ready-made one.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from openmsmq.errors import InvalidParameter
from openmsmq.pipelines.tables import FileError, Table
from openmsmq.spark.columns import ON_DEMAND, READ, nearest
from openmsmq.spark.options import ACTIONS, MOVE, REMOVE, Options, parse

AVAILABLE_NOW: Final = "available-now"
ONCE: Final = "once"
NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,59}")
_WORD: Final = re.compile(r"[A-Za-z_]\w*")
_STAR: Final = re.compile(r"(?<!\()\s*\*")
"All columns, but not those of `count(*)`; a product will do no harm."
_TRANSFORM: Final = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")
_LIMITS: Final = {
    "max_messages_per_trigger": "maxMessagesPerTrigger",
    "max_bytes_per_trigger": "maxBytesPerTrigger",
    "messages_per_partition": "messagesPerPartition",
}


@dataclass(frozen=True, slots=True)
class Place:
    """A queue manager, or several, and how to get in."""

    managers: tuple[str, ...]
    token_file: str = ""
    tls_ca: str = ""
    timeout: int = 30

    def options(self) -> dict[str, str]:
        """The same for the format `msmq`."""
        given = {
            "managers" if len(self.managers) > 1 else "manager": ",".join(self.managers),
            "tokenFile": self.token_file,
            "tlsCa": self.tls_ca,
            "timeout": str(self.timeout),
        }
        return {name: value for name, value in given.items() if value}

    def parsed(self) -> Options:
        """The same for those who connect themselves."""
        return parse(self.options(), tuple(self.options()))


@dataclass(frozen=True, slots=True)
class Source:
    """The queues that a stream reads."""

    place: Place
    queues: tuple[str, ...]
    columns: tuple[str, ...] = ()
    "What is read of a message; nothing means what the pipeline needs."
    subscription: str = "spark"
    on_commit: str = REMOVE
    resume: bool = False
    "A new checkpoint takes over from the stream that the subscription belongs to."
    limits: Mapping[str, str] = field(default_factory=dict)
    "Options of the source that are numbers."

    def options(self) -> dict[str, str]:
        """The same for the format `msmq`."""
        return {
            **self.place.options(),
            "queue": ",".join(self.queues),
            "subscription": self.subscription,
            "onCommit": self.on_commit,
            **({"resume": "true"} if self.resume else {}),
            **self.limits,
        }


@dataclass(frozen=True, slots=True)
class Transform:
    """What becomes of the rows: SQL over the table `source`, or a function of a module."""

    sql: str = ""
    python: str = ""
    "`module:function`, which takes a DataFrame and gives one."


@dataclass(frozen=True, slots=True)
class Pipeline:
    """All that a file says."""

    name: str
    kind: str
    "The table that says what it does: `sink`, `archive`, `replay`, ..."
    settings: Any
    "What this table says, as the module of the kind has read it."
    folder: Path
    "Where the file is: relative paths begin here, and modules are found."
    source: Source | None = None
    transform: Transform = Transform()
    checkpoint: Path | None = None
    trigger: str | int = AVAILABLE_NOW
    "`available-now`, `once`, or seconds between batches."
    master: str = "local[*]"
    spark: Mapping[str, str] = field(default_factory=dict)
    "Settings of the Spark session."


def read_pipeline(given: str | os.PathLike[str] | Mapping[str, Any]) -> Pipeline:
    """A pipeline out of a file, or of what such a file holds; `FileError` says what is wrong."""
    if isinstance(given, Mapping):
        return _pipeline(given, Path.cwd(), "")
    file = Path(given)
    try:
        document = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise FileError(f"{file}: {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise FileError(f"{file}: {error}") from None
    try:
        return _pipeline(document, file.parent.absolute(), file.stem)
    except FileError as error:
        raise FileError(f"{file}: {error}") from None


def _pipeline(document: Mapping[str, Any], folder: Path, stem: str) -> Pipeline:
    from openmsmq.pipelines.kinds import KINDS

    root = Table("", document, folder)
    name = root.text("name", stem or None)
    if not NAME.fullmatch(name):
        raise root.wrong("name", f"is {name!r}: up to 60 letters, digits and . _ - are needed")
    kind = _kind(document, tuple(KINDS))
    ready = KINDS[kind]
    source = read_source(root.table("source")) if ready.streams or "source" in root else None
    settings = ready.read(root.table(kind))
    checkpoint = (
        root.path("checkpoint") if "checkpoint" in root else ready.checkpoint(name, settings)
    )
    if ready.streams and checkpoint is None:
        hint = "a folder where Spark keeps how far it has come"
        raise root.wrong("checkpoint", f"is missing: {hint}")
    made = Pipeline(
        name=name,
        kind=kind,
        settings=settings,
        folder=folder,
        source=source,
        transform=_transform(root.table("transform")) if kind == "sink" else Transform(),
        checkpoint=checkpoint,
        trigger=_trigger(root),
        master=root.text("master", "local[*]"),
        spark=root.mapping("spark"),
    )
    root.done()
    return made


def _kind(document: Mapping[str, Any], known: tuple[str, ...]) -> str:
    found = [name for name in known if name in document]
    if len(found) == 1:
        return found[0]
    tables = ", ".join(f"[{name}]" for name in found or known)
    if found:
        raise FileError(f"the file has {tables}: one of them is what a pipeline does")
    others = [name for name, value in document.items() if isinstance(value, Mapping | list)]
    hints = (nearest(name, known) for name in others if name not in ("source", "transform"))
    hint = next((hint for hint in hints if "did you mean" in hint), "")
    raise FileError(f"what shall it do? One of these tables is needed: {tables}{hint}")


def read_place(table: Table, *, several: bool = False) -> Place:
    """How a table says which queue manager is meant."""
    if several and "managers" in table:
        if "manager" in table:
            raise table.wrong("managers", "or manager: give one of them")
        managers = table.texts("managers")
    else:
        managers = (table.text("manager", os.environ.get("OPENMSMQ_MANAGER", "127.0.0.1:1811")),)
    _check_addresses(table, managers)
    return Place(
        managers,
        token_file=str(table.path("token_file")) if "token_file" in table else "",
        tls_ca=str(table.path("tls_ca")) if "tls_ca" in table else "",
        timeout=table.whole("timeout", 30),
    )


def _check_addresses(table: Table, managers: tuple[str, ...]) -> None:
    from openmsmq.client.address import Address

    for address in managers:
        try:
            Address.parse(address)
        except InvalidParameter as error:
            raise table.wrong("manager", f"{error.detail}") from None


def read_source(table: Table) -> Source:
    """The table `[source]`."""
    place = read_place(table, several=True)
    columns = table.texts("columns", ())
    for name in columns:
        if name not in READ:
            raise table.wrong("columns", f"has {name!r}, which is no column{nearest(name, READ)}")
    limits = {
        option: str(number)
        for key, option in _LIMITS.items()
        if (number := table.number(key)) is not None
    }
    return Source(
        place,
        queues=table.texts("queue"),
        columns=columns,
        subscription=table.text("subscription", "spark"),
        on_commit=_on_commit(table),
        resume=table.flag("resume", default=False),
        limits=limits,
    )


def _on_commit(table: Table) -> str:
    action = table.text("on_commit", REMOVE)
    if action in ACTIONS[:2] or (action.startswith(MOVE) and action != MOVE):
        return action
    raise table.wrong("on_commit", f"is {action!r}{nearest(action, ACTIONS)}")


def _transform(table: Table) -> Transform:
    sql, python = table.text("sql", ""), table.text("python", "")
    if sql and python:
        raise table.wrong("sql", "or transform.python: give one of them")
    if python and not _TRANSFORM.fullmatch(python):
        raise table.wrong("python", f"is {python!r}: module:function is needed")
    return Transform(sql, python)


def _trigger(table: Table) -> str | int:
    found = table.value("trigger", AVAILABLE_NOW)
    if isinstance(found, int) and not isinstance(found, bool) and found > 0:
        return found
    if found in (AVAILABLE_NOW, ONCE):
        return str(found)
    hint = nearest(found, (AVAILABLE_NOW, ONCE)) if isinstance(found, str) else ""
    raise table.wrong("trigger", f'is {found!r}: "available-now", "once" or seconds{hint}')


def columns_of(*texts: str) -> tuple[str, ...]:
    """The columns of a message that pieces of SQL are about; all the usual ones for a `*`."""
    words = {word.lower() for text in texts for word in _WORD.findall(text)}
    if any(_STAR.search(text) for text in texts):
        words.update(name for name in READ if name not in ON_DEMAND)
    return tuple(name for name in READ if name in words)
