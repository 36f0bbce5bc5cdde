"""Readers of open tables that share nothing with those that write them: logs are read by hand."""

from __future__ import annotations

import json
import sqlite3
from io import BytesIO
from pathlib import Path
from typing import Any

import fastavro
import pyarrow.fs

from openmsmq.pipelines.location import DataFolder


def read(system: pyarrow.fs.FileSystem, path: str) -> bytes:
    with system.open_input_stream(path) as stream:
        found: bytes = stream.read()
        return found


def delta_files(location: DataFolder) -> list[str]:
    """The files of a Delta table: what its log adds and does not remove."""
    system, root = location.filesystem()
    selector = pyarrow.fs.FileSelector(f"{root}/_delta_log")
    logs = sorted(one.path for one in system.get_file_info(selector) if one.path.endswith("json"))
    found: dict[str, None] = {}
    for log in logs:
        for line in read(system, log).splitlines():
            action = json.loads(line)
            if "add" in action:
                assert "%" not in action["add"]["path"]
                found[action["add"]["path"]] = None
            if "remove" in action:
                del found[action["remove"]["path"]]
    return [f"{root}/{path}" for path in found]


def iceberg_files(location: DataFolder, catalog: Path) -> list[str]:
    """The files of an Iceberg table: those of the manifests of its current snapshot."""
    system, _ = location.filesystem()

    def inside(uri: str) -> str:
        return uri.removeprefix("file://").removeprefix("s3://")

    def records(uri: str) -> list[Any]:
        return list(fastavro.reader(BytesIO(read(system, inside(uri)))))

    [(metadata,)] = sqlite3.connect(catalog).execute("select metadata_location from iceberg_tables")
    document = json.loads(read(system, inside(metadata)))
    [current] = [
        one
        for one in document["snapshots"]
        if one["snapshot_id" if "snapshot_id" in one else "snapshot-id"]
        == document["current-snapshot-id"]
    ]
    found = []
    for manifest in records(current["manifest-list"]):
        for entry in records(manifest["manifest_path"]):
            if entry["status"] != 2:  # deleted
                found.append(inside(entry["data_file"]["file_path"]))
    return found
