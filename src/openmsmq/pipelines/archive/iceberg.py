"""An archive as an Iceberg table, written through `pyiceberg`.

One transaction of the table adds the files of a batch and sets the properties that hold its record:
number, positions and offset. A transaction that finds another snapshot than it began with is
refused, so that a batch is added once. A folder has a catalogue of its own, a file of SQLite; for
an object store, and for programs that share tables, a catalogue is named as `pyiceberg` knows it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from openmsmq.pipelines.archive.batches import BATCH, POSITION, File, ManifestEntry
from openmsmq.pipelines.archive.files import sync
from openmsmq.pipelines.archive.table_archive import KEY, TableArchive
from openmsmq.pipelines.faults import PipelineError
from openmsmq.pipelines.location import DataFolder, endpoint, region
from openmsmq.pipelines.tables import PipelineFileError

if TYPE_CHECKING:
    import pyarrow as pa
    from pyiceberg.catalog import Catalog
    from pyiceberg.table import Table

CATALOG: Final = "catalog.db"
TABLE: Final = "openmsmq.archive"
_NO_RETRY: Final = {"commit.retry.num-retries": "0"}
"What is added on top of another snapshot might be there already."
_PROPERTIES: Final = {
    **_NO_RETRY,
    "commit.manifest-merge.enabled": "true",
    "write.metadata.delete-after-commit.enabled": "true",
    "write.metadata.previous-versions-max": "100",
}
"Metadata stay few, although there are many small batches."


@dataclass(frozen=True, slots=True)
class CatalogName:
    """A table in a catalogue that `pyiceberg` is configured for; empty for that of the folder."""

    catalog: str = ""
    table: str = TABLE


class IcebergArchive(TableArchive):
    """The table, in its folder or in a catalogue."""

    def __init__(self, location: DataFolder, name: CatalogName) -> None:
        super().__init__(location)
        self._name = name
        if not location.is_local and not name.catalog:
            raise PipelineFileError(
                f"an Iceberg table in {location} needs a catalogue: name one of pyiceberg's with"
                " the key catalog"
            )

    @property
    def data(self) -> DataFolder:
        """Files lie beside the metadata."""
        return self.location / "data"

    def _catalog(self) -> Catalog:
        from pyiceberg.catalog import load_catalog
        from pyiceberg.catalog.sql import SqlCatalog

        s3 = {"s3.endpoint": endpoint(), "s3.region": region()}
        given = {name: value for name, value in s3.items() if value}
        if self._name.catalog:
            return load_catalog(self._name.catalog, **given)
        path = self.location.path / CATALOG
        return SqlCatalog("archive", uri=f"sqlite:///{path}", warehouse=self.location.full)

    def table(self) -> Table | None:
        """The table as it is now."""
        from pyiceberg.exceptions import NoSuchNamespaceError, NoSuchTableError

        if not self._name.catalog and not (self.location.path / CATALOG).exists():
            return None
        try:
            return self._catalog().load_table(self._name.table)
        except (NoSuchTableError, NoSuchNamespaceError):
            return None

    def _existing(self) -> Table:
        found = self.table()
        if found is None:
            raise PipelineError(f"there is no Iceberg table in {self.location}")
        return found

    def prepare(self, schema: pa.Schema) -> None:
        """Make the table if there is none, and add columns that it does not have."""
        found = self.table()
        if found is None:
            found = self._created(schema)
        known = set(found.schema().column_names)
        if not set(schema.names) <= known:
            with found.update_schema() as update:
                update.union_by_name(schema)

    def _created(self, schema: pa.Schema) -> Table:
        from pyiceberg.exceptions import TableAlreadyExistsError
        from pyiceberg.transforms import DayTransform, IdentityTransform

        if self.location.is_local:
            self.location.path.mkdir(parents=True, exist_ok=True)
            sync(self.location.path.parent, [])
        catalog, name = self._catalog(), self._name.table
        catalog.create_namespace_if_not_exists(name.rpartition(".")[0])
        try:
            with (
                catalog.create_table_transaction(
                    name, schema, location=self.location.full, properties=_PROPERTIES
                ) as transaction,
                transaction.update_spec() as spec,
            ):
                spec.add_field("arrived_time", DayTransform(), "date")
                spec.add_field("from_queue", IdentityTransform(), "queue")
        except TableAlreadyExistsError:  # by another process, a moment ago
            pass
        return catalog.load_table(name)

    def last(self) -> ManifestEntry | None:
        """The newest batch that counts."""
        found = self.table()
        return None if found is None else _record(found)

    def entries(self) -> Iterator[ManifestEntry]:
        """The batches that count, as far back as there are snapshots."""
        found = self.table()
        last = self.last()
        if found is None or last is None:
            return
        seen: set[int] = set()
        for snapshot in found.snapshots():
            record = snapshot.summary.get(KEY) if snapshot.summary is not None else None
            if record is not None:
                entry = ManifestEntry.of(json.loads(record))
                seen.add(entry.batch)
                yield entry
        if last.batch not in seen:
            yield last

    def all_files(self) -> list[File]:
        """The files of the table as it is now."""
        found = self.table()
        if found is None or found.current_snapshot() is None:
            return []
        root = self.data.full + "/"
        return [_file(one, root) for one in found.inspect.data_files().to_pylist()]

    def commit(self, entry: ManifestEntry) -> None:
        """Let a batch count with its files, or fail if another writer was first."""
        from pyiceberg.exceptions import CommitFailedException

        table = self._existing()
        known = _record(table)
        self.check_next(None if known is None else known.batch, entry.batch)
        short = json.dumps(entry.document() | {"offset": {}})
        paths = [(self.data / file.path).full for file in entry.files]
        try:
            with table.transaction() as transaction:
                transaction.set_properties({KEY: json.dumps(entry.document()), **_NO_RETRY})
                if paths:
                    transaction.add_files(
                        paths, snapshot_properties={KEY: short}, check_duplicate_files=False
                    )
        except CommitFailedException as error:
            raise PipelineError(
                f"batch {entry.batch} was not added to {self.location}: another program has written"
                f" there at the same time ({error})"
            ) from error
        if self.location.is_local:
            self._sync()

    def _sync(self) -> None:
        """Let the newest metadata survive a power failure; SQLite does so itself."""
        table, root = self._existing(), self.location.full + "/"
        paths = [table.metadata_location]
        if (snapshot := table.current_snapshot()) is not None:
            paths += [snapshot.manifest_list]
            new = (one for one in snapshot.manifests(table.io))
            own = (one for one in new if one.added_snapshot_id == snapshot.snapshot_id)
            paths += [one.manifest_path for one in own]
        within = [path.removeprefix(root) for path in paths if path.startswith(root)]
        sync(self.location.path, within, contents=True)

    def replace(self, old: list[File], new: list[File]) -> None:
        """Let files take the place of others, in one snapshot."""
        from pyiceberg.io.pyarrow import parquet_files_to_data_files

        table = self._existing()
        gone = {(self.data / one.path).full for one in old}
        paths = [(self.data / one.path).full for one in new]
        data = [task.file for task in table.scan().plan_files() if task.file.file_path in gone]
        with table.transaction() as transaction:
            metadata = transaction.table_metadata
            with transaction.update_snapshot().overwrite() as update:
                for file in data:
                    update.delete_data_file(file)
                for file in parquet_files_to_data_files(table.io, metadata, iter(paths)):
                    update.append_data_file(file)
        if self.location.is_local:
            self._sync()

    def vacuum(self, hours: int) -> int:
        """Forget old snapshots, and remove files in the folder of data that no snapshot has."""
        from datetime import UTC, datetime, timedelta

        limit = datetime.now(UTC) - timedelta(hours=hours)
        table = self._existing()
        table.maintenance.expire_snapshots().older_than(limit.replace(tzinfo=None)).commit()
        table.refresh()
        known = {one["file_path"] for one in table.inspect.all_files().to_pylist()}
        return self._remove_others(known, limit.timestamp())

    def _remove_others(self, known: set[str], before: float) -> int:
        from pyarrow.fs import FileSelector, FileType

        system, root = self.data.filesystem()
        selector = FileSelector(root, recursive=True, allow_not_found=True)
        found = [one for one in system.get_file_info(selector) if one.type == FileType.File]
        gone = 0
        for one in found:
            path = (self.data / one.path.removeprefix(root).lstrip("/")).full
            if path not in known and one.mtime.timestamp() < before:
                system.delete_file(one.path)
                gone += 1
        return gone


def _record(table: Table) -> ManifestEntry | None:
    found = table.properties.get(KEY)
    return None if found is None else ManifestEntry.of(json.loads(found))


def _file(one: dict[str, Any], root: str) -> File:
    metrics = one["readable_metrics"]
    low, high = metrics[BATCH]["lower_bound"], metrics[BATCH]["upper_bound"]
    first, last = metrics[POSITION]["lower_bound"], metrics[POSITION]["upper_bound"]
    return File(
        one["file_path"].removeprefix(root),
        one["record_count"],
        one["file_size_in_bytes"],
        queue=one["partition"]["queue"],
        day=str(one["partition"]["date"]),
        batches=(low or 0, (1 << 62) if high is None else high),
        positions=(first or 0, last or 0),
    )
