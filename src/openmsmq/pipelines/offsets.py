"""Where a batch of a stream begins and ends, as its checkpoint says."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from openmsmq.pipelines.archive.files import Positions
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
        start = _written(checkpoint, batch - 1) or reader.initialOffset()
        end = _written(checkpoint, batch)
        return BatchOffsets(start, end, reader.between(start, end))


@contextmanager
def reading(options: Mapping[str, str], columns: tuple[str, ...] = ()) -> Iterator[StreamReader]:
    """A reader of the format `msmq`, for as long as it is needed."""
    reader = StreamReader(parse(options, known.STREAM), columns)
    try:
        yield reader
    finally:
        reader.stop()


def _written(checkpoint: Path, batch: int) -> Written:
    """What Spark has written down for a batch: a version, facts, and a line for each source."""
    try:
        lines = (checkpoint / "offsets" / str(batch)).read_text().splitlines()
    except FileNotFoundError:
        return {}
    found: dict[str, Any] = json.loads(lines[2])
    return found
