"""Runs of pipelines as files, by which others see how they are and ask them to stop.

NAME/run.json       the run, rewritten after every batch
NAME/openmsmq.lock  locked by the process as long as it runs, however it ends
NAME/stop           it is to stop
NAME/log            what Spark has to say, and whole tracebacks
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from openmsmq.errors import StoreInUse
from openmsmq.pipelines.faults import PipelineError
from openmsmq.pipelines.work import Progress
from openmsmq.store.lock import DirectoryLock, is_held

VARIABLE: Final = "OPENMSMQ_RUNS"
RUNNING: Final = "running"
STOPPING: Final = "stopping"
STOPPED: Final = "stopped"
DONE: Final = "done"
FAILED: Final = "failed"
LOST: Final = "lost"
"Its process was killed."
_RUN: Final = "run.json"
_STOP: Final = "stop"
_LOG: Final = "log"


@dataclass(frozen=True, slots=True)
class Run:
    """The last run of a pipeline, as it stands."""

    name: str
    kind: str
    file: str
    pid: int
    host: str
    started: str
    state: str = RUNNING
    ended: str = ""
    batches: int = 0
    rows: int = 0
    progress: Progress | None = None
    "The newest batch."
    error: str = ""
    log: str = ""
    checkpoint: str = ""
    facts: dict[str, Any] = field(default_factory=dict)


def default_folder() -> Path:
    """Where runs are kept, unless said otherwise."""
    if given := os.environ.get(VARIABLE):
        return Path(given)
    state = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    return Path(state).expanduser() / "openmsmq" / "pipelines"


def now() -> str:
    """The time as it is written down."""
    return datetime.now(UTC).isoformat(timespec="seconds")


class Runs:
    """All pipelines that have run in a folder."""

    def __init__(self, folder: Path | None = None) -> None:
        self.folder = folder or default_folder()

    def names(self) -> list[str]:
        """The pipelines, by name."""
        return sorted(path.parent.name for path in self.folder.glob(f"*/{_RUN}"))

    def find(self, name: str) -> Run:
        """The last run of a pipeline; `PipelineError` if there was none."""
        folder = self.folder / name
        try:
            run = _parsed((folder / _RUN).read_text())
        except FileNotFoundError:
            from openmsmq.spark.columns import nearest

            names = self.names()
            hint = nearest(name, names) if names else f"; none has run in {self.folder}"
            raise PipelineError(f"there is no pipeline {name!r}{hint}") from None
        if run.state == RUNNING and not is_held(folder):
            return replace(run, state=LOST)
        if run.state == RUNNING and (folder / _STOP).exists():
            return replace(run, state=STOPPING)
        return run

    def ask_to_stop(self, name: str) -> Run:
        """Ask a pipeline to end after the batch it is at."""
        run = self.find(name)
        if run.state in (RUNNING, STOPPING):
            (self.folder / name / _STOP).touch()
        return run

    @contextmanager
    def begin(self, run: Run) -> Iterator[RunRecorder]:
        """Run under a name that no other pipeline runs under now."""
        folder = self.folder / run.name
        folder.mkdir(parents=True, exist_ok=True)
        try:
            lock = DirectoryLock(folder)
        except StoreInUse:
            pid = self.find(run.name).pid
            raise PipelineError(f"pipeline {run.name!r} runs already, as process {pid}") from None
        try:
            (folder / _STOP).unlink(missing_ok=True)
            yield RunRecorder(folder, replace(run, log=str(folder / _LOG)))
        finally:
            lock.release()


class RunRecorder:
    """Writes down how a run goes."""

    def __init__(self, folder: Path, run: Run) -> None:
        self._folder = folder
        self.run = run
        self._write()

    @property
    def log(self) -> Path:
        """The file for all that is too long to be shown."""
        return self._folder / _LOG

    @property
    def is_asked_to_stop(self) -> bool:
        """It is to stop."""
        return (self._folder / _STOP).exists()

    def progress(self, progress: Progress) -> None:
        """A batch is done."""
        run = self.run
        batches, rows = run.batches + 1, run.rows + progress.rows
        self.run = replace(run, batches=batches, rows=rows, progress=progress)
        self._write()

    def tell(self, **facts: object) -> None:
        """Something worth knowing."""
        self.run = replace(self.run, facts=self.run.facts | facts)
        self._write()

    def end(self, state: str, error: str = "") -> None:
        """It is over."""
        self.run = replace(self.run, state=state, error=error, ended=now())
        self._write()
        (self._folder / _STOP).unlink(missing_ok=True)

    def _write(self) -> None:
        aside = self._folder / f"{_RUN}.new"
        aside.write_text(json.dumps(asdict(self.run)))
        aside.rename(self._folder / _RUN)


def new_run(name: str, kind: str, file: str, checkpoint: Path | None) -> Run:
    """A run that begins now, in this process."""
    host = socket.gethostname()
    where = "" if checkpoint is None else str(checkpoint)
    return Run(name, kind, file, os.getpid(), host, now(), checkpoint=where)


def _parsed(text: str) -> Run:
    found = json.loads(text)
    progress = found.pop("progress")
    known = {one.name for one in fields(Run)}
    values = {name: value for name, value in found.items() if name in known}
    return Run(**values, progress=None if progress is None else Progress.of(progress))
