"""The format `msmq` in processes that are killed at a moment with a name.

Spark runs a source in many processes: the driver has one that plans and one that commits, and each
task has its own. Moments travel to all of them in the environment, and they count together, in a
folder, how often each has come.
"""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final, Literal

from pyspark.sql.datasource import InputPartition
from pyspark.sql.types import StructType

from openmsmq.spark import options as known
from openmsmq.spark.columns import check_read, check_write
from openmsmq.spark.options import parse
from openmsmq.spark.source import MsmqDataSource
from openmsmq.spark.stream_reader import StreamReader, Written
from openmsmq.spark.writers import Prepared, StreamWriter

VARIABLE: Final = "OPENMSMQ_TEST_MOMENT"
DRIVER: Final = "OPENMSMQ_TEST_DRIVER"
_SLOW: Final = 60
Victim = Literal["driver", "worker", "executor", "manager", "none"]


@dataclass(frozen=True)
class Moment:
    """When someone is killed."""

    name: str
    "`read:middle`, or `file:PATH` for the moment when there is such a file."
    time: int
    "1 for the first time that it comes."
    victim: Victim
    folder: str
    "Where those who count meet, of this moment only."
    pid: int = 0
    "Of the manager."


def travelling(moments: Iterable[Moment]) -> dict[str, str]:
    """What the environment is given."""
    return {VARIABLE: json.dumps([asdict(moment) for moment in moments])}


def awaited() -> list[Moment]:
    """What the environment says."""
    return [Moment(**values) for values in json.loads(os.environ.get(VARIABLE, "[]"))]


def came(name: str) -> None:
    """A moment has come: kill the one it is for."""
    for moment in awaited():
        if moment.name == name and _count(moment) == moment.time:
            _kill(moment)


def _count(moment: Moment) -> int:
    """How often it has come by now."""
    path = Path(moment.folder) / "came"
    handle = os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY)
    try:
        os.write(handle, b".")
        return os.lseek(handle, 0, os.SEEK_CUR)
    finally:
        os.close(handle)


def _kill(moment: Moment) -> None:
    (Path(moment.folder) / "killed").touch()
    match moment.victim:
        case "driver":  # Python, and Java, which it has started
            os.killpg(int(os.environ[DRIVER]), signal.SIGKILL)
            os.kill(os.getpid(), signal.SIGKILL)
        case "worker":
            os.kill(os.getpid(), signal.SIGKILL)
        case "executor":  # Java starts a process, and that one starts those for tasks
            os.kill(_parent(os.getppid()), signal.SIGKILL)
            os.kill(os.getpid(), signal.SIGKILL)
        case "manager":
            os.kill(moment.pid, signal.SIGKILL)
        case "none":  # but it takes so long that Spark tries it elsewhere
            time.sleep(_SLOW)


def _parent(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def watch(moment: Moment) -> None:
    """Wait for a file as a moment; for the process that is the driver."""
    path = moment.name.removeprefix("file:")
    while not (os.path.exists(path) or os.path.exists(f"{path}.compact")):
        time.sleep(0.0005)
    _kill(moment)


class KillingReader(StreamReader):
    """Passes by all moments of a reader."""

    def initialOffset(self) -> Written:
        """Where it begins."""
        found = super().initialOffset()
        came("begun")
        return found

    def latestOffset(self, start: Written | None = None, limit: Any = None) -> Written:
        """Reserve."""
        came("reserve:before")
        found = super().latestOffset(start, limit)
        if found != start:
            came("reserve:after")
        return found

    def partitions(self, start: Written, end: Written) -> list[InputPartition]:
        """Plan."""
        found = super().partitions(start, end)
        came("planned")
        return found

    def read(self, partition: InputPartition) -> Iterator[Any]:
        """Read in a task."""
        came("read:before")
        for batch in super().read(partition):
            yield batch
            came("read:middle")
        came("read:after")

    def commit(self, end: Written) -> None:
        """Finish."""
        came("finish:before")
        super().commit(end)
        came("finish:after")


class KillingWriter(StreamWriter):
    """Passes by all moments of a writer."""

    def write(self, iterator: Iterator[Any]) -> Prepared:
        """Write in a task."""
        found = super().write(_passing(iterator))
        came("write:prepared")
        return found

    def commit(self, messages: list[Any], batchId: int) -> None:
        """Decide."""
        came("decide:before")
        super().commit(messages, batchId)
        came("decide:after")


def _passing(rows: Iterator[Any]) -> Iterator[Any]:
    for item in rows:
        yield item
        came("write:middle")


class KillingDataSource(MsmqDataSource):
    """The format, with moments."""

    def streamReader(self, schema: StructType) -> StreamReader:
        """Reads, as long as it lives."""
        columns = [(field.name, field.dataType.simpleString()) for field in schema.fields]
        return KillingReader(parse(self.options, known.STREAM), check_read(columns))

    def streamWriter(self, schema: StructType, overwrite: bool) -> StreamWriter:
        """Writes, as long as it lives."""
        columns = [(field.name, field.dataType.simpleString()) for field in schema.fields]
        return KillingWriter(parse(self.options, known.SINK), check_write(columns))
