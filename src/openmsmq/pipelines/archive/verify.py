"""Whether an archive has every message once: no batch, position or byte is missing or doubled."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import file_digest
from pathlib import Path

from openmsmq.pipelines.archive.files import File, Folder, ManifestEntry, partition_of
from openmsmq.pipelines.tables import PipelineFileError


@dataclass(frozen=True, slots=True)
class Verification:
    """What was found."""

    batches: int = 0
    files: int = 0
    rows: int = 0
    bytes: int = 0
    queues: dict[str, int] = field(default_factory=dict)
    "Rows of each queue."
    faults: tuple[str, ...] = ()


def verify(root: Path) -> Verification:
    """Compare the files of a folder with its manifest, and the manifest with itself."""
    folder = Folder(root)
    entries = list(folder.entries())
    if not entries:
        raise PipelineFileError(f"there is no manifest with a batch in {root}")
    files = [file for entry in entries for file in entry.files]
    queues: Counter[str] = Counter()
    for file in files:
        if "queue=" in file.path:
            queues[partition_of(file.path, "queue")] += file.rows
    faults = [*_faults_of_batches(entries), *_faults_of_files(folder, files)]
    size = sum(file.bytes for file in files)
    rows = sum(entry.rows for entry in entries)
    return Verification(len(entries), len(files), rows, size, dict(queues), tuple(faults))


def _faults_of_batches(entries: Iterable[ManifestEntry]) -> Iterator[str]:
    """Batches and positions follow one another, and each position has its row."""
    ends: dict[str, int] = {}
    before: ManifestEntry | None = None
    for entry in entries:
        if before is not None and entry.batch != before.batch + 1:
            yield f"batch {entry.batch} follows batch {before.batch}"
        for key, (after, last) in entry.positions.items():
            if after != ends.get(key, after):
                yield f"batch {entry.batch} begins behind {after} of {key}, not behind {ends[key]}"
            ends[key] = last
        if entry.is_all and entry.rows != entry.expected:
            yield f"batch {entry.batch} has {entry.rows} rows of {entry.expected} messages"
        if entry.rows != sum(file.rows for file in entry.files):
            yield f"batch {entry.batch} has other rows than its files"
        before = entry


def _faults_of_files(folder: Folder, files: Iterable[File]) -> Iterator[str]:
    """Files are what the manifest says, and there are no others."""
    from pyarrow import ArrowException
    from pyarrow.parquet import read_metadata

    known = {file.path: file for file in files}
    for path, file in known.items():
        place = folder.data / path
        try:
            with place.open("rb") as opened:
                if file_digest(opened, "sha256").hexdigest() != file.sha256:
                    yield f"{path} has changed"
                elif read_metadata(place).num_rows != file.rows:
                    yield f"{path} has not the rows that the manifest says"
        except (OSError, ArrowException) as error:
            yield f"{path}: {getattr(error, 'strerror', None) or error}"
    for place in sorted(folder.data.rglob("*.parquet")):
        path = str(place.relative_to(folder.data))
        if path not in known:
            yield f"{path} is not in the manifest"
