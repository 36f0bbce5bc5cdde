"""Batches of an archive and the files that hold them, whatever the format."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol
from urllib.parse import unquote

from openmsmq.pipelines.location import DataFolder
from openmsmq.pipelines.tables import PipelineFileError

if TYPE_CHECKING:
    import pyarrow as pa

LAST: Final = 1 << 62
"Behind every batch."
BATCH: Final = "batch"
POSITION: Final = "position"
_PLAIN: Final = re.compile(r"[\\$;.]+")
"What the names of queues have between their parts."
_SPECIAL: Final = re.compile(r"[^A-Za-z0-9_-]+")
Positions = Mapping[str, tuple[int, int]]
"For each queue, behind which position of the subscription a batch begins, and where it ends."


@dataclass(frozen=True, slots=True)
class File:
    """A file of a batch."""

    path: str
    "Below the folder of data; below `staging` until its batch is whole."
    rows: int
    bytes: int
    sha256: str = ""
    "Only in folders: tables have no place for it."
    staged: str = ""
    "Where it was written, below `staging`."
    queue: str = ""
    "The queue that its messages come from; empty if the path says it."
    day: str = ""
    batches: tuple[int, int] = (0, 0)
    "The first and the last batch that it has rows of: a compacted one has many."
    positions: tuple[int, int] = (0, 0)
    "The lowest and the highest position of its rows."

    @property
    def source(self) -> str:
        """The queue that its messages come from; empty if they come from many."""
        return self.queue or ("queue=" in self.path and partition_of(self.path, "queue")) or ""

    @property
    def date(self) -> str:
        """The day its messages arrived."""
        return self.day or partition_of(self.path, "date")


@dataclass(frozen=True, slots=True)
class ManifestEntry:
    """A batch that counts."""

    batch: int
    query: str
    "The stream, by the identifier that its checkpoint gives it, or by its owner."
    rows: int
    written: str
    is_all: bool = False
    "There is a row for each position."
    positions: Positions = field(default_factory=dict)
    files: tuple[File, ...] = ()
    "Of a folder; tables know their files themselves."
    offset: Mapping[str, Any] = field(default_factory=dict)
    "Where the stream goes on; empty if a checkpoint of Spark has it."
    total: int = 0
    "Rows of this batch and all before it."

    @classmethod
    def of(cls, line: Mapping[str, Any]) -> ManifestEntry:
        """A line of the manifest, or what a table has of a batch."""
        files = tuple(_file(each) for each in line.get("files", ()))
        positions = {key: (after, last) for key, (after, last) in line["positions"].items()}
        return cls(**{**line, "files": files, "positions": positions})

    def document(self) -> dict[str, Any]:
        """The same for the commit of a table, which knows the files itself."""
        found = asdict(self)
        del found["files"]
        return found

    @property
    def expected(self) -> int:
        """How many messages there are between its positions."""
        return sum(last - after for after, last in self.positions.values())


Write = Callable[[DataFolder], Iterable[File]]
"Writes files below a folder, and returns them in the order of their rows."


class ArchiveStore(Protocol):
    """An archive in one of the formats, for the pipeline that writes it and for readers."""

    location: DataFolder

    def prepare(self, schema: pa.Schema) -> None:
        """Make it, or finish what a killed writer has begun; new columns are added."""

    def last(self) -> ManifestEntry | None:
        """The newest batch that counts."""

    def entries(self) -> Iterator[ManifestEntry]:
        """The batches that count, in their order, as far back as they are known."""

    def files(self, first: int = 0, last: int = LAST) -> list[File]:
        """The files that have rows of these batches, in the order of the rows."""

    def add(
        self,
        batch: int,
        query: str,
        positions: Positions,
        write: Write,
        *,
        is_all: bool = False,
        offset: Mapping[str, Any] | None = None,
    ) -> ManifestEntry:
        """Write a batch, unless it counts already; `is_all`: there is a row for each position."""

    @property
    def data(self) -> DataFolder:
        """Below which the paths of files lie."""


def _file(values: Mapping[str, Any]) -> File:
    pairs = {name: tuple(values[name]) for name in ("batches", "positions") if name in values}
    return File(**{**values, **pairs})


def new_entry(
    last: ManifestEntry | None,
    batch: int,
    query: str,
    positions: Positions,
    files: tuple[File, ...],
    *,
    is_all: bool,
    offset: Mapping[str, Any] | None,
) -> ManifestEntry:
    """A batch that follows `last`; `PipelineFileError` if a row is missing or too many."""
    rows = sum(file.rows for file in files)
    written = datetime.now(UTC).isoformat(timespec="seconds")
    total = rows + (0 if last is None else last.total)
    found = ManifestEntry(
        batch, query, rows, written, is_all, positions, files, offset or {}, total
    )
    if is_all and rows != found.expected:
        raise PipelineFileError(f"batch {batch} has {rows} rows of {found.expected} messages")
    return found


def is_known(last: ManifestEntry, batch: int, query: str, root: object) -> bool:
    """Whether a batch counts already; `PipelineFileError` if it cannot be the next one either."""
    if last.query != query:
        raise PipelineFileError(f"{root} has batches of another stream, {last.query}")
    if batch > last.batch + 1 or batch < last.batch:
        raise PipelineFileError(
            f"{root} ends with batch {last.batch}, and the stream goes on with {batch}"
        )
    return batch == last.batch


def partition_of(path: str, name: str) -> str:
    """What the path of a file says about a partition."""
    [found] = [part for part in Path(path).parts if part.startswith(f"{name}=")]
    return unquote(found.partition("=")[2])


def folder_name(queue: str) -> str:
    r"""A queue as the name of a folder, for readers that decode paths and those that do not.

    `.\private$\orders\Journal$` is `private-orders-Journal`; a hash tells names apart that have
    other characters.
    """
    plain = _PLAIN.sub("-", queue).strip("-")
    found = _SPECIAL.sub("-", plain).strip("-")
    if found == plain:
        return found
    return f"{found}-{sha256(queue.lower().encode()).hexdigest()[:8]}"
