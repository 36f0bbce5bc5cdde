"""Archives without Spark: a manifest and the files it names."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from uuid import uuid4

import pyarrow as pa
from pyarrow.parquet import write_table

from openmsmq.names.format import parse_format_name
from openmsmq.pipelines.archive.archive import FACTS
from openmsmq.pipelines.archive.batches import File, ManifestEntry
from openmsmq.pipelines.archive.files import Folder
from openmsmq.pipelines.lines import JsonLinesFile
from openmsmq.spark.arrow import TYPES, Columns
from openmsmq.spark.block import Block
from openmsmq.spark.columns import READ
from openmsmq.types.message import Message
from openmsmq.types.pack import Packer

KEY = r"here .\private$\orders"
QUEUE = "queue=.%5Cprivate$%5Corders"


def add(root: Path, batch: int, *labels: str, after: int | None = None) -> ManifestEntry:
    """Add a batch of messages with these labels to an archive."""
    path = f"date=2026-07-01/{QUEUE}/{batch:08}-00000.parquet"
    place = Folder(root).data.path / path
    place.parent.mkdir(parents=True, exist_ok=True)
    write_table(_table(labels), place)
    before = sum(entry.rows for entry in Folder(root).entries())
    start = before if after is None else after
    content = place.read_bytes()
    file = File(path, len(labels), len(content), sha256(content).hexdigest())
    positions = {KEY: (start, start + len(labels))}
    written = datetime(2026, 7, 1, tzinfo=UTC).isoformat()
    entry = ManifestEntry(batch, "q", len(labels), written, True, positions, (file,))
    JsonLinesFile(root / "manifest.jsonl").append(asdict(entry))
    return entry


def _table(labels: tuple[str, ...]) -> pa.Table:
    messages = [Message(f"body of {label}", label=label) for label in labels]
    name = parse_format_name(r"DIRECT=OS:shop01\private$\orders")
    packets = Packer(uuid4()).pack_many(messages, name, first_id=1, sent_time=0)
    queues = [(r".\private$\orders", len(packets))]
    columns = Columns(Block.of_packets(packets), queues=queues, manager="shop01")
    schema = pa.schema([(name, TYPES[READ[name]]) for name in FACTS])
    return pa.Table.from_arrays([columns.column(name) for name in FACTS], schema=schema)
