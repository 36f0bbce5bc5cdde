"""Small files of a table put together, in their order, so that readers open fewer."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from openmsmq.pipelines.archive.batches import File
from openmsmq.pipelines.archive.table_archive import TableArchive
from openmsmq.pipelines.location import DataFolder

if TYPE_CHECKING:
    import pyarrow as pa

SIZE: Final = 128 << 20
"Bytes of a file, about; one that has half of it is left alone."


@dataclass(frozen=True, slots=True)
class Compaction:
    """Files that were put together, and those that they are now."""

    before: int = 0
    after: int = 0


def compact(table: TableArchive, size: int = SIZE) -> Compaction:
    """Put the small files of each day and queue together, in one commit."""
    groups = list(_groups(table.files(), size))
    new = []
    for group in groups:
        made = _merged(table.data, group)
        if table.location.is_local:
            with (table.data.path / made.path).open("rb") as written:
                os.fsync(written.fileno())
        new.append(made)
    table.sync_files(new)
    if new:
        table.replace([file for group in groups for file in group], new)
    return Compaction(sum(map(len, groups)), len(new))


def _groups(files: list[File], size: int) -> Iterator[list[File]]:
    """Small files of the same day and queue, next to one another, up to a size."""
    partitions: dict[tuple[str, str], list[File]] = {}
    for file in files:
        if file.bytes < size // 2:
            partitions.setdefault((file.date, file.source), []).append(file)
    for found in partitions.values():
        group: list[File] = []
        for file in found:
            if group and sum(one.bytes for one in group) + file.bytes > size:
                if len(group) > 1:
                    yield group
                group = []
            group.append(file)
        if len(group) > 1:
            yield group


def _merged(data: DataFolder, files: list[File]) -> File:
    """The rows of files behind one another, as one file; columns that some lack are null there."""
    import pyarrow as pa
    from pyarrow.parquet import ParquetFile, ParquetWriter

    system, root = data.filesystem()
    first, last = files[0], files[-1]
    name = f"{first.batches[0]:08}-{last.batches[1]:08}-{uuid4().hex[:12]}.parquet"
    path = str(PurePosixPath(first.path).with_name(name))
    with ExitStack() as stack:
        opened = [
            stack.enter_context(ParquetFile(f"{root}/{one.path}", filesystem=system))
            for one in files
        ]
        schema = pa.unify_schemas([one.schema_arrow for one in opened])
        sink = stack.enter_context(system.open_output_stream(f"{root}/{path}"))
        writer = stack.enter_context(ParquetWriter(sink, schema, compression="zstd"))
        for one in opened:
            for rows in one.iter_batches():
                writer.write_batch(_filled(rows, schema))
    return File(
        path,
        sum(one.rows for one in files),
        system.get_file_info(f"{root}/{path}").size,
        queue=first.source,
        day=first.date,
        batches=(min(one.batches[0] for one in files), max(one.batches[1] for one in files)),
        positions=(min(one.positions[0] for one in files), max(one.positions[1] for one in files)),
    )


def _filled(rows: pa.RecordBatch, schema: pa.Schema) -> Any:
    import pyarrow as pa

    arrays = [
        rows.column(field.name)
        if field.name in rows.schema.names
        else pa.nulls(len(rows), field.type)
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)
