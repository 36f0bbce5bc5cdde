"""An archive as a Delta Lake table, written through `deltalake` (delta-rs).

A commit of the log adds the files of a batch and has beside them the transaction of this archive
with the number of the batch, by which a second writer of the same batch is refused, and the record
of the batch: positions and offset. What is in the folder and in no commit was left by a writer that
was killed; `vacuum` removes it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from openmsmq.pipelines.archive.batches import BATCH, POSITION, File, ManifestEntry
from openmsmq.pipelines.archive.files import sync
from openmsmq.pipelines.archive.table_archive import KEY, TableArchive
from openmsmq.pipelines.faults import PipelineError
from openmsmq.pipelines.location import DataFolder, endpoint

if TYPE_CHECKING:
    import pyarrow as pa
    from deltalake import CommitProperties, DeltaTable

PARTITIONS: Final = ("date", "queue")
LOG: Final = "_delta_log"
_RECENT: Final = 20
"Commits that are looked at for the last batch, before all of them are."


class DeltaArchive(TableArchive):
    """The table, in its folder."""

    @property
    def data(self) -> DataFolder:
        """Files lie where the table does."""
        return self.location

    def _options(self) -> dict[str, str]:
        return {"allow_http": "true"} if endpoint().startswith("http://") else {}

    def table(self) -> DeltaTable | None:
        """The table as it is now."""
        from deltalake import DeltaTable
        from deltalake.exceptions import TableNotFoundError

        if self.location.is_local and not (self.location.path / LOG).exists():
            return None
        try:
            return DeltaTable(self.location.uri, storage_options=self._options())
        except TableNotFoundError:
            return None

    def _existing(self) -> DeltaTable:
        found = self.table()
        if found is None:
            raise PipelineError(f"there is no Delta table in {self.location}")
        return found

    def prepare(self, schema: pa.Schema) -> None:
        """Make the table if there is none, and add columns that it does not have."""
        from deltalake import DeltaTable, Schema

        whole = _with_partitions(schema)
        found = self.table()
        if found is None:
            if self.location.is_local:
                self.location.path.mkdir(parents=True, exist_ok=True)
                sync(self.location.path.parent, [])
            found = DeltaTable.create(
                self.location.uri,
                Schema.from_arrow(whole),
                mode="ignore",
                partition_by=list(PARTITIONS),
                name="openmsmq_archive",
                storage_options=self._options(),
            )
        known = {field.name for field in found.schema().fields}
        new = [field for field in Schema.from_arrow(whole).fields if field.name not in known]
        if new:
            found.alter.add_columns(new)

    def last(self) -> ManifestEntry | None:
        """The newest batch that counts."""
        found = self.table()
        if found is None or (version := found.transaction_version(KEY)) is None:
            return None
        for limit in (_RECENT, None):
            for commit in found.history(limit):
                entry = _entry(commit)
                if entry is not None and entry.batch == version:
                    return entry
        raise PipelineError(
            f"{self.location} has batch {version}, and its log has no record of it any more: other"
            " programs have rewritten the table so often since that its commit was removed"
        )

    def entries(self) -> Iterator[ManifestEntry]:
        """The batches that count, as far back as the log goes."""
        found = self.table()
        seen: set[int] = set()
        for commit in reversed(found.history() if found is not None else []):
            entry = _entry(commit)
            if entry is not None and entry.batch not in seen:
                seen.add(entry.batch)
                yield entry

    def all_files(self) -> list[File]:
        """The files of the table as it is now."""
        import pyarrow as pa

        found = self.table()
        if found is None:
            return []
        actions = pa.table(found.get_add_actions(flatten=True)).to_pylist()
        return [_file(action) for action in actions]

    def commit(self, entry: ManifestEntry) -> None:
        """Let a batch count with its files, or fail if another writer was first."""
        from deltalake.exceptions import CommitFailedError

        table = self._existing()
        self.check_next(table.transaction_version(KEY), entry.batch)
        try:
            table.create_write_transaction(
                [_action(file) for file in entry.files],
                mode="append",
                schema=table.schema(),
                partition_by=list(PARTITIONS),
                commit_properties=_properties(entry),
            )
        except CommitFailedError as error:
            raise PipelineError(
                f"batch {entry.batch} was not added to {self.location}: another archive writes"
                f" there, too ({error})"
            ) from error
        self._sync()

    def _sync(self) -> None:
        """Let the newest commit survive a power failure."""
        if self.location.is_local:
            version = self._existing().version()
            sync(self.location.path, [f"{LOG}/{version:020}.json"], contents=True)

    def replace(self, old: list[File], new: list[File]) -> None:
        """Let files take the place of others; the last batch stays known to the newest commits."""
        from deltalake import CommitProperties
        from deltalake.transaction import RemoveAction

        now, last = int(time.time() * 1000), self.last()
        gone = [RemoveAction(one.path, False, now, one.bytes, _values(one)) for one in old]
        custom = {} if last is None else {KEY: json.dumps(last.document())}
        table = self._existing()
        table.create_write_transaction(
            [*gone, *(_action(one, is_new=False) for one in new)],
            mode="append",
            schema=table.schema(),
            partition_by=list(PARTITIONS),
            commit_properties=CommitProperties(custom_metadata=custom),
        )
        self._sync()

    def vacuum(self, hours: int) -> int:
        """Remove files that the table has not used for so long, and those of killed writers."""
        gone = self._existing().vacuum(
            hours, dry_run=False, enforce_retention_duration=False, full=True
        )
        return len(gone)


def _with_partitions(schema: pa.Schema) -> pa.Schema:
    import pyarrow as pa

    return schema.append(pa.field("date", pa.date32())).append(pa.field("queue", pa.string()))


def _properties(entry: ManifestEntry) -> CommitProperties:
    from deltalake import CommitProperties, Transaction

    return CommitProperties(
        custom_metadata={KEY: json.dumps(entry.document())},
        app_transactions=[Transaction(KEY, entry.batch)],
    )


def _entry(commit: dict[str, Any]) -> ManifestEntry | None:
    """The batch that a commit is about; a compaction repeats the last one."""
    return ManifestEntry.of(json.loads(commit[KEY])) if KEY in commit else None


def _values(file: File) -> dict[str, str | None]:
    return {"date": file.date, "queue": file.source}


def _action(file: File, *, is_new: bool = True) -> Any:
    from deltalake.transaction import AddAction

    stats = {
        "numRecords": file.rows,
        "minValues": {BATCH: file.batches[0], POSITION: file.positions[0]},
        "maxValues": {BATCH: file.batches[1], POSITION: file.positions[1]},
        "nullCount": {BATCH: 0, POSITION: 0},
    }
    now = int(time.time() * 1000)
    return AddAction(file.path, file.bytes, _values(file), now, is_new, json.dumps(stats))


def _file(action: dict[str, Any]) -> File:
    low, high = action.get(f"min.{BATCH}"), action.get(f"max.{BATCH}")
    first, last = action.get(f"min.{POSITION}"), action.get(f"max.{POSITION}")
    return File(
        action["path"],
        action["num_records"] or 0,
        action["size_bytes"],
        queue=action["partition.queue"],
        day=str(action["partition.date"]),
        batches=(low or 0, (1 << 62) if high is None else high),
        positions=(first or 0, last or 0),
    )
