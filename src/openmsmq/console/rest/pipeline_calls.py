"""Pipelines of Spark over REST: their runs on this computer, and how to stop one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from openmsmq.console.models import PipelineView
from openmsmq.console.problems import RequestRefused
from openmsmq.console.rest.calls import ApiCall, ApiRoute

if TYPE_CHECKING:
    from openmsmq.pipelines.state import Run

ACTIVE: Final = ("running", "stopping")
"States of a pipeline that has not ended."


async def pipelines(call: ApiCall) -> list[PipelineView]:
    """The last run of each pipeline that the user of this console has run on this computer."""
    from openmsmq.pipelines.faults import PipelineError
    from openmsmq.pipelines.state import Runs

    call.require("watch")
    runs, found = Runs(), []
    for name in runs.names():
        try:
            found.append(_view(runs.find(name)))
        except (PipelineError, OSError, ValueError, KeyError, TypeError):
            continue  # it is being removed, or another version wrote it
    return found


async def stop_pipeline(call: ApiCall) -> PipelineView:
    """Ask a pipeline to end after the batch that it is at."""
    from openmsmq.pipelines.state import Runs

    call.require("operate")
    runs, name = Runs(), call.part("pipeline")
    if name not in runs.names():
        raise RequestRefused(404, f"there is no pipeline {name[:40]!r}")
    if runs.find(name).state not in ACTIVE:
        raise RequestRefused(409, f"the pipeline {name} does not run")
    runs.ask_to_stop(name)
    call.audit("stop pipeline", name)
    return _view(runs.find(name))


def _view(run: Run) -> PipelineView:
    batch = run.progress
    return PipelineView(
        name=run.name,
        kind=run.kind,
        state=run.state,
        file=run.file,
        host=run.host,
        started=run.started,
        ended=run.ended,
        batches=run.batches,
        rows=run.rows,
        rate=None if batch is None else batch.rate,
        lag=None if batch is None else batch.lag,
        oldest=None if batch is None else batch.oldest,
        error=run.error,
    )


PIPELINE_ROUTES: Final = (
    ApiRoute(
        "GET",
        "/pipelines",
        "watch",
        "Pipelines of Spark on the computer of the console",
        pipelines,
        list[PipelineView],
    ),
    ApiRoute(
        "POST",
        "/pipelines/{pipeline}/stop",
        "operate",
        "Stop a pipeline after its current batch",
        stop_pipeline,
        PipelineView,
    ),
)
