"""Where a batch of a stream begins and ends, as its checkpoint says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from openmsmq.pipelines.archive.batches import Positions
from openmsmq.pipelines.archive.files import written_offset
from openmsmq.spark import options as known
from openmsmq.spark.options import parse
from openmsmq.spark.stream_reader import StreamReader, Written


@dataclass(frozen=True, slots=True)
class BatchOffsets:
    """The offsets of a batch, and what they are for each queue."""

    start: Written
    end: Written
    positions: Positions


def offsets_of(checkpoint: Path, batch: int, options: Mapping[str, str]) -> BatchOffsets:
    """The offsets of a batch; the first batch starts at the committed positions."""
    with reading(options) as reader:
        start = written_offset(checkpoint, batch - 1) or reader.initialOffset()
        end = written_offset(checkpoint, batch)
        return BatchOffsets(start, end, reader.between(start, end))


@contextmanager
def reading(
    options: Mapping[str, str], columns: tuple[str, ...] = (), *, rereads: bool = False
) -> Iterator[StreamReader]:
    """A reader of the format `msmq`, for as long as it is needed."""
    reader = StreamReader(parse(options, known.STREAM), columns, rereads=rereads)
    try:
        yield reader
    finally:
        reader.stop()
