"""An archive in a process of its own, to be killed: `python -m tests.spark.archiver JSON MOMENT`.

Tasks run in this process instead of Spark's workers: what is written, committed and read again is
the same, without Java.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

from openmsmq.pipelines.archive import archive
from openmsmq.pipelines.archive.delta import DeltaArchive
from openmsmq.pipelines.archive.iceberg import IcebergArchive
from openmsmq.pipelines.archive.tasks import Keeper
from openmsmq.pipelines.file import read_pipeline
from openmsmq.pipelines.work import Progress
from openmsmq.spark.stream_reader import StreamReader


class Tasks:
    """What a keeper uses of Spark, in this process."""

    def __init__(self, items: list[Any]) -> None:
        self._items = items

    def map(self, work: Callable[[Any], Any]) -> Tasks:
        return Tasks([work(item) for item in self._items])

    def collect(self) -> list[Any]:
        return self._items


SPARK: Any = SimpleNamespace(
    sparkContext=SimpleNamespace(parallelize=lambda items, count: Tasks(items))
)


class Watching:
    """Counts what is archived."""

    stopping = False

    def __init__(self) -> None:
        self.shown: list[Progress] = []

    def show(self, progress: Progress) -> None:
        self.shown.append(progress)

    def count(self, batch: int, rows: int) -> None:
        raise AssertionError("an archive counts its rows itself")

    def show_rows(self, rows: list[dict[str, Any]]) -> None:
        raise AssertionError("an archive shows no rows")

    def tell(self, **facts: object) -> None:
        pass


def archived(document: Mapping[str, Any]) -> list[Progress]:
    """Run a pipeline with an archive here; its batches."""
    pipeline = read_pipeline(document)
    archive.check(pipeline)
    watch = Watching()
    archive.start(SPARK, pipeline, watch)
    return watch.shown


def kill_at(moment: str, time: int) -> None:
    """Die when a moment comes for the `time`th time."""
    owner, name, after = {
        "write": (Keeper, "write", True),
        "commit": (None, "commit", False),
        "committed": (None, "commit", True),
        "done": (StreamReader, "commit", False),
    }[moment]
    came = 0
    for one in [owner] if owner is not None else [DeltaArchive, IcebergArchive]:
        real = getattr(one, name)

        def dying(*args: Any, _real: Any = real, **kwargs: Any) -> Any:
            nonlocal came
            came += 1
            if came == time and not after:
                os.kill(os.getpid(), signal.SIGKILL)
            found = _real(*args, **kwargs)
            if came == time:
                os.kill(os.getpid(), signal.SIGKILL)
            return found

        setattr(one, name, dying)


if __name__ == "__main__":
    if len(sys.argv) > 2:
        kill_at(sys.argv[2], int(sys.argv[3]))
    archived(json.loads(sys.argv[1]))
