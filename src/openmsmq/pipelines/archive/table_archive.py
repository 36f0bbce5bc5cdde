"""What archives in open tables have in common: a commit holds files, batch and positions."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from openmsmq.pipelines.archive.batches import (
    LAST,
    File,
    ManifestEntry,
    Positions,
    Write,
    is_known,
    new_entry,
)
from openmsmq.pipelines.archive.files import alone, sync
from openmsmq.pipelines.faults import PipelineError
from openmsmq.pipelines.location import DataFolder

if TYPE_CHECKING:
    import pyarrow as pa

KEY: Final = "openmsmq"
"What the record of a batch is called in a commit."
OWN: Final = "_openmsmq"
"A folder beside the data, which programs that tidy up tables leave alone."


class TableArchive(ABC):
    """An archive that is a table: what is not in a commit of it does not count."""

    def __init__(self, location: DataFolder) -> None:
        self.location = location

    @property
    @abstractmethod
    def data(self) -> DataFolder:
        """Below which the paths of files lie."""

    @abstractmethod
    def prepare(self, schema: pa.Schema) -> None:
        """Make the table if there is none, and add columns that it does not have."""

    @abstractmethod
    def last(self) -> ManifestEntry | None:
        """The newest batch that counts."""

    @abstractmethod
    def entries(self) -> Iterator[ManifestEntry]:
        """The batches that count, in their order, as far back as the table has their commits."""

    @abstractmethod
    def all_files(self) -> list[File]:
        """The files of the table as it is now."""

    @abstractmethod
    def commit(self, entry: ManifestEntry) -> None:
        """Let a batch count with its files, or fail if another writer was first."""

    @abstractmethod
    def replace(self, old: list[File], new: list[File]) -> None:
        """Let files take the place of others that have the same rows, in one commit."""

    @abstractmethod
    def vacuum(self, hours: int) -> int:
        """Remove files that the table has not used for so long; how many."""

    def files(self, first: int = 0, last: int = LAST) -> list[File]:
        """The files that have rows of these batches, in the order of the batches."""
        found = (one for one in self.all_files() if one.batches[0] <= last)
        chosen = [one for one in found if one.batches[1] >= first]
        return sorted(chosen, key=lambda one: (one.batches, Path(one.path).name, one.path))

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
        with self._alone():
            last = self.last()
            if last is not None and is_known(last, batch, query, self.location):
                return last
            files = tuple(write(self.data))
            entry = new_entry(last, batch, query, positions, files, is_all=is_all, offset=offset)
            self.sync_files(files)
            self.commit(entry)
            return entry

    def _alone(self) -> AbstractContextManager[None]:
        """Without another writer; in an object store the second commit of a batch is refused."""
        if not self.location.is_local:
            return nullcontext()
        folder = self.location.path / OWN
        folder.mkdir(exist_ok=True)
        return alone(folder)

    def check_next(self, known: int | None, batch: int) -> None:
        """Refuse a batch if the table has it, or one behind it, by now."""
        if known is not None and known >= batch:
            raise PipelineError(
                f"batch {batch} was not added to {self.location}: another archive writes there, too"
            )

    def sync_files(self, files: Iterable[File]) -> None:
        """Let the names of files survive a power failure; an object store does so itself."""
        if self.location.is_local:
            root = self.location.path
            paths = (self.data.path / file.path for file in files)
            sync(root, (str(path.relative_to(root)) for path in paths))
