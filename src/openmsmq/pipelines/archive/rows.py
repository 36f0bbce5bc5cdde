"""How many rows each batch of an archive has, whatever has become of the files since."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from openmsmq.pipelines.archive.batches import BATCH, ArchiveStore, File
from openmsmq.pipelines.location import DataFolder


def rows_of_batches(archive: ArchiveStore) -> Mapping[int, int]:
    """The rows of each batch that has any, in the order of the batches.

    Files of one batch are counted by what is known of them; compacted ones are looked into.
    """
    found: Counter[int] = Counter()
    for file in archive.files():
        if file.batches[0] == file.batches[1]:
            found[file.batches[0]] += file.rows
        else:
            found.update(_counted(archive.data, file))
    return dict(sorted(found.items()))


def _counted(data: DataFolder, file: File) -> Mapping[int, int]:
    from pyarrow.parquet import ParquetFile

    system, root = data.filesystem()
    counts: Counter[int] = Counter()
    with ParquetFile(f"{root}/{file.path}", filesystem=system) as opened:
        for some in opened.iter_batches(columns=[BATCH]):
            for one in some.column(BATCH).value_counts().to_pylist():
                counts[one["values"]] += one["counts"]
    return counts
