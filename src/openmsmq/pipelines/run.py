"""Running a pipeline: checked first, then followed batch by batch, and stopped between two."""

from __future__ import annotations

import json
import os
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from openmsmq.errors import MQError
from openmsmq.pipelines.backlog import Waiting
from openmsmq.pipelines.faults import PipelineError, in_words
from openmsmq.pipelines.file import read_pipeline
from openmsmq.pipelines.kinds import KINDS
from openmsmq.pipelines.session import check_installed, start_session
from openmsmq.pipelines.spec import Pipeline
from openmsmq.pipelines.state import DONE, FAILED, STOPPED, Run, RunRecorder, Runs, new_run
from openmsmq.pipelines.tables import PipelineFileError
from openmsmq.pipelines.work import Progress
from openmsmq.spark.offsets import Offset

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

_LOOK: Final = 0.2
"Seconds between looks at a stream."

Given = str | os.PathLike[str] | Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Audience:
    """How a run is followed and stopped; the pipeline itself is in its file."""

    on_start: Callable[[], None] = lambda: None
    "Spark is there; it has its own idea of what Ctrl-C does."
    on_progress: Callable[[Progress], None] = lambda progress: None
    on_rows: Callable[[list[dict[str, Any]]], None] = lambda rows: None
    "Rows of a `console` sink."
    stopping: Callable[[], bool] = lambda: False
    "The run is to end after the batch it is at."
    at_once: Callable[[], bool] = lambda: False
    "The run is to end without waiting for this batch."


class Watcher:
    """Lets those who look on know, and writes it down."""

    def __init__(self, recorder: RunRecorder, audience: Audience) -> None:
        self._recorder = recorder
        self._audience = audience
        self._counted: dict[int, int] = {}

    @property
    def stopping(self) -> bool:
        """It shall end after the batch it is at."""
        return self._audience.stopping() or self._recorder.is_asked_to_stop

    def show(self, progress: Progress) -> None:
        """A batch is done."""
        self._recorder.progress(progress)
        self._audience.on_progress(progress)

    def count(self, batch: int, rows: int) -> None:
        """A batch of a stream has rows that Spark did not count."""
        self._counted[batch] = rows

    def rows_of(self, batch: int, counted: int) -> int:
        """The rows of a batch, with the number that Spark has counted."""
        return self._counted.get(batch, counted)

    def show_rows(self, rows: list[dict[str, Any]]) -> None:
        """Rows for people."""
        self._audience.on_rows(rows)

    def tell(self, **facts: object) -> None:
        """Something worth knowing at the end."""
        self._recorder.tell(**facts)


def run(
    given: Given,
    *,
    spark: SparkSession | None = None,
    master: str = "",
    runs: Path | None = None,
    audience: Audience | None = None,
) -> Run:
    """Run a pipeline, from a file or as a dictionary of the same form, until it ends.

    `PipelineFileError`, `MQError` or `PipelineError` say what is wrong, mostly before Spark starts.
    Without `spark` a session is started, on `master` if that is given, and stopped at the end.
    """
    pipeline = read_pipeline(given)
    if master:
        pipeline = replace(pipeline, master=master)
    check_installed()
    KINDS[pipeline.kind].check(pipeline)
    file = "" if isinstance(given, Mapping) else str(Path(given).absolute())
    begun = new_run(pipeline.name, pipeline.kind, file, pipeline.checkpoint)
    with Runs(runs).begin(begun) as recorder:
        return _recorded(pipeline, recorder, audience or Audience(), spark)


def _recorded(
    pipeline: Pipeline, recorder: RunRecorder, audience: Audience, spark: SparkSession | None
) -> Run:
    watcher = Watcher(recorder, audience)
    session = spark
    try:
        recorder.log.write_bytes(b"")
        session = session or start_session(pipeline, recorder.log)
        audience.on_start()
        _work(session, pipeline, watcher, audience)
    except Exception as error:
        words = in_words(error)
        with recorder.log.open("a", encoding="utf-8", errors="replace") as log:
            traceback.print_exc(file=log)
        recorder.end(FAILED, words)
        if isinstance(error, MQError | PipelineFileError | PipelineError):
            raise
        raise PipelineError(f"{words} (all of it: {recorder.log})") from error
    except BaseException:
        recorder.end(STOPPED)
        raise
    finally:
        if session is not None and spark is None:
            session.stop()
    recorder.end(STOPPED if watcher.stopping else DONE)
    return recorder.run


def _work(session: SparkSession, pipeline: Pipeline, watcher: Watcher, audience: Audience) -> None:
    query = KINDS[pipeline.kind].start(session, pipeline, watcher)
    if query is None:
        return
    assert pipeline.source is not None
    waiting = Waiting(pipeline.source)
    try:
        _follow(query, watcher, audience, waiting)
    finally:
        waiting.close()
        if query.isActive:
            query.stop()


def _follow(query: StreamingQuery, watcher: Watcher, audience: Audience, waiting: Waiting) -> None:
    """Look at a stream until it ends, or until it has finished the batch at which it was asked."""
    shown = -1
    asked_at: int | None = None
    while not query.awaitTermination(_LOOK):  # type: ignore[arg-type]  # its stubs want whole seconds
        shown = _show(query, watcher, waiting, shown)
        if audience.at_once():
            return
        if watcher.stopping:
            asked_at = shown if asked_at is None else asked_at
            if shown > asked_at or not query.status["isTriggerActive"]:
                return
    _show(query, watcher, waiting, shown)


def _show(query: StreamingQuery, watcher: Watcher, waiting: Waiting, shown: int) -> int:
    """Tell of batches that are done since `shown`; the last one's number."""
    reports = (one for one in query.recentProgress if one.batchId > shown)
    done = [one for one in reports if "addBatch" in one.durationMs]  # in others it waits
    counted = [(one, watcher.rows_of(one.batchId, one.numInputRows)) for one in done]
    news = [(one, rows) for one, rows in counted if rows]
    for number, (one, rows) in enumerate(news, 1):
        seconds = one.durationMs.get("triggerExecution", 0) / 1000
        progress = Progress(one.batchId, rows, seconds)
        if number == len(news):
            progress = waiting.look(progress, _positions(one.sources[0].endOffset))
        watcher.show(progress)
        shown = one.batchId
    return shown


def _positions(offset: str | None) -> Mapping[str, int]:
    return Offset.of(json.loads(offset) if offset else {}, {}).positions
