"""Whether an archive has every message once: no batch, position or byte is missing or doubled."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import file_digest
from itertools import pairwise
from pathlib import Path

from openmsmq.pipelines.archive.batches import BATCH, POSITION, ArchiveStore, File, ManifestEntry
from openmsmq.pipelines.archive.files import Folder
from openmsmq.pipelines.archive.stores import ArchivePlace, place_of
from openmsmq.pipelines.location import DataFolder
from openmsmq.pipelines.tables import PipelineFileError

Span = tuple[int, int]


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


def verify(
    given: ArchivePlace | Path | str, on_file: Callable[[int, int], None] = lambda done, of: None
) -> Verification:
    """Compare the files of an archive with what its commits say, and these with one another.

    `on_file` is called before each file with the number of those that were read, and of all.
    """
    place = given if isinstance(given, ArchivePlace) else place_of(given)
    store = place.open()
    entries = list(store.entries())
    if not entries:
        raise PipelineFileError(f"there is no manifest with a batch in {place.location}")
    files = store.files()
    queues: Counter[str] = Counter()
    for file in files:
        if file.source:
            queues[file.source] += file.rows
    faults = [*_faults_of_batches(entries)]
    watched = _watched(files, on_file)
    if isinstance(store, Folder):
        faults += _faults_of_entries(entries)
        faults += _faults_of_files(store, watched)
    else:
        faults += _faults_of_rows(store, entries, watched)
    size = sum(file.bytes for file in files)
    rows = sum(file.rows for file in files)
    batches = entries[-1].batch - entries[0].batch + 1
    return Verification(batches, len(files), rows, size, dict(queues), tuple(faults))


def _watched(files: Sequence[File], on_file: Callable[[int, int], None]) -> Iterator[File]:
    """Files one after the other, with word of each to who looks on."""
    for done, file in enumerate(files):
        on_file(done, len(files))
        yield file
    on_file(len(files), len(files))


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
        before = entry


def _faults_of_entries(entries: Iterable[ManifestEntry]) -> Iterator[str]:
    """A batch has the rows of its files."""
    for entry in entries:
        if entry.rows != sum(file.rows for file in entry.files):
            yield f"batch {entry.batch} has other rows than its files"


def _faults_of_rows(
    store: ArchiveStore, entries: list[ManifestEntry], files: Iterable[File]
) -> Iterator[str]:
    """A table has the rows of each batch, and no position of a batch twice.

    Files may have been compacted by any program: rows say themselves which batch and position they
    are.
    """
    rows: Counter[int] = Counter()
    spans: dict[tuple[str, str, int], list[Span]] = {}
    for file in files:
        try:
            for manager, queue, batch, span in _spans(store.data, file):
                rows[batch] += span[1] - span[0] + 1
                spans.setdefault((manager, queue, batch), []).append(span)
        except OSError as error:
            yield f"{file.path}: {error.strerror or error}"
    for (manager, queue, batch), found in spans.items():
        found.sort()
        for before, after in pairwise(found):
            if after[0] <= before[1]:
                yield f"batch {batch} has position {after[0]} of {queue} of {manager} twice"
    for entry in entries:
        if rows[entry.batch] != entry.rows:
            yield f"batch {entry.batch} has {rows[entry.batch]} rows, not {entry.rows}"
    if (total := sum(rows.values())) != entries[-1].total:
        yield f"there are {total} rows, and {entries[-1].total} were added"


def _spans(data: DataFolder, file: File) -> Iterator[tuple[str, str, int, Span]]:
    """Runs of positions, by manager, queue and batch."""
    from pyarrow.parquet import ParquetFile

    columns = ("from_manager", "from_queue", BATCH, POSITION)
    system, root = data.filesystem()
    with ParquetFile(f"{root}/{file.path}", filesystem=system) as opened:
        for some in opened.iter_batches(columns=list(columns)):
            names = [some.column(name).to_pylist() for name in columns]
            begin: tuple[str, str, int, int] | None = None
            last = 0
            for manager, queue, batch, position in zip(*names, strict=True):
                same = begin is not None and begin[:3] == (manager, queue, batch)
                if same and position == last + 1:
                    last = position
                    continue
                if begin is not None:
                    yield *begin[:3], (begin[3], last)
                begin, last = (manager, queue, batch, position), position
            if begin is not None:
                yield *begin[:3], (begin[3], last)


def _faults_of_files(folder: Folder, files: Iterable[File]) -> Iterator[str]:
    """Files are what the manifest says, and there are no others."""
    from pyarrow import ArrowException
    from pyarrow.parquet import read_metadata

    known: set[str] = set()
    data = folder.data.path
    for file in files:
        path = file.path
        known.add(path)
        place = data / path
        try:
            with place.open("rb") as opened:
                if file_digest(opened, "sha256").hexdigest() != file.sha256:
                    yield f"{path} has changed"
                elif read_metadata(place).num_rows != file.rows:
                    yield f"{path} has not the rows that the manifest says"
        except (OSError, ArrowException) as error:
            yield f"{path}: {getattr(error, 'strerror', None) or error}"
    for place in sorted(data.rglob("*.parquet")):
        path = str(place.relative_to(data))
        if path not in known:
            yield f"{path} is not in the manifest"
