"""What a kind of pipeline has to offer, and what controls it while it runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from openmsmq.pipelines.spec import Pipeline
from openmsmq.pipelines.tables import TomlTable

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery


@dataclass(frozen=True, slots=True)
class Backlog:
    """What a queue has for a pipeline that is not read yet."""

    manager: str
    queue: str
    lag: int
    "Messages; of those that stay in the queue, the least that it can be."
    oldest: int | None = None
    "Seconds that the oldest of them has waited."
    reserved_bytes: int = 0
    "Of messages that are reserved for the pipeline and not committed."


@dataclass(frozen=True, slots=True)
class Progress:
    """A batch that is done, and the backlog behind it."""

    batch: int
    rows: int
    seconds: float
    lag: int | None = None
    "Messages that wait to be read; None if that is unknown."
    oldest: int | None = None
    "Seconds that the oldest of them has waited."
    queues: tuple[Backlog, ...] = ()
    "The same for each queue, that with the most messages first."

    @classmethod
    def of(cls, document: Mapping[str, Any]) -> Progress:
        """The reverse of `document`, also as older versions wrote it."""
        known = {one.name for one in fields(cls)}
        values = {name: value for name, value in document.items() if name in known}
        queues = tuple(Backlog(**each) for each in document.get("queues", ()))
        return cls(**values | {"queues": queues})

    @property
    def rate(self) -> float:
        """Rows a second."""
        return self.rows / self.seconds if self.seconds else 0.0

    def document(self) -> dict[str, Any]:
        """The same for JSON."""
        return asdict(self) | {"rate": round(self.rate, 1)}


class Watch(Protocol):
    """Who looks on while a pipeline runs."""

    @property
    def stopping(self) -> bool:
        """It is to end after the batch it is at."""

    def show(self, progress: Progress) -> None:
        """A batch is done."""

    def count(self, batch: int, rows: int) -> None:
        """A batch of a stream has rows that Spark did not count."""

    def show_rows(self, rows: list[dict[str, Any]]) -> None:
        """Rows of a batch that a person wants to see."""

    def tell(self, **facts: object) -> None:
        """Something that is worth knowing at the end, such as the path of a report."""


@dataclass(frozen=True, slots=True)
class Ready:
    """A kind of pipeline."""

    read: Callable[[TomlTable], Any]
    "The settings that its table says."
    check: Callable[[Pipeline], None]
    "`FileError` or `MQError` for what cannot work; called before Spark is there."
    start: Callable[[SparkSession, Pipeline, Watch], StreamingQuery | None]
    "Begin a stream; or do all the work, batch by batch, and give None."
    streams: bool = True
    "It reads `[source]` as a stream."
    needs_checkpoint: bool = True
    "A stream of it keeps in a checkpoint how far it has come."
    checkpoint: Callable[[str, Any], Path | None] = lambda name, settings: None
    "Where its checkpoint is if the file does not say, by the name and these settings."
