"""A pipeline as values: its source, its transform and its settings; and the tables of a file
that several kinds of pipelines share.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from openmsmq.errors import InvalidParameter
from openmsmq.pipelines.tables import TomlTable
from openmsmq.spark.columns import ON_DEMAND, READ, nearest
from openmsmq.spark.options import ACTIONS, MOVE, REMOVE, Options, parse

AVAILABLE_NOW: Final = "available-now"
ONCE: Final = "once"
_WORD: Final = re.compile(r"[A-Za-z_]\w*")
_STAR: Final = re.compile(r"(?<!\()\s*\*")
"All columns, but not those of `count(*)`; a product is taken for one, which only reads more."
_LIMITS: Final = {
    "max_messages_per_trigger": "maxMessagesPerTrigger",
    "max_bytes_per_trigger": "maxBytesPerTrigger",
    "messages_per_partition": "messagesPerPartition",
}


@dataclass(frozen=True, slots=True)
class ManagerOptions:
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

    place: ManagerOptions
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


def read_place(table: TomlTable, *, several: bool = False) -> ManagerOptions:
    """How a table says which queue manager is meant."""
    if several and "managers" in table:
        if "manager" in table:
            raise table.wrong("managers", "or manager: give one of them")
        managers = table.texts("managers")
    else:
        managers = (table.text("manager", os.environ.get("OPENMSMQ_MANAGER", "127.0.0.1:1811")),)
    _check_addresses(table, managers)
    return ManagerOptions(
        managers,
        token_file=str(table.path("token_file")) if "token_file" in table else "",
        tls_ca=str(table.path("tls_ca")) if "tls_ca" in table else "",
        timeout=table.whole("timeout", 30),
    )


def _check_addresses(table: TomlTable, managers: tuple[str, ...]) -> None:
    from openmsmq.client.address import Address

    for address in managers:
        try:
            Address.parse(address)
        except InvalidParameter as error:
            raise table.wrong("manager", f"{error.detail}") from None


def read_source(table: TomlTable) -> Source:
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


def _on_commit(table: TomlTable) -> str:
    action = table.text("on_commit", REMOVE)
    if action in ACTIONS[:2] or (action.startswith(MOVE) and action != MOVE):
        return action
    raise table.wrong("on_commit", f"is {action!r}{nearest(action, ACTIONS)}")


def columns_of(*texts: str) -> tuple[str, ...]:
    """The columns of a message that pieces of SQL are about; all the usual ones for a `*`."""
    words = {word.lower() for text in texts for word in _WORD.findall(text)}
    if any(_STAR.search(text) for text in texts):
        words.update(name for name in READ if name not in ON_DEMAND)
    return tuple(name for name in READ if name in words)
