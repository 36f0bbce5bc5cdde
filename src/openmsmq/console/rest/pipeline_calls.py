"""Pipelines of Spark over REST: their runs on this computer; to run, stop and verify one."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from aiohttp import web

from openmsmq.console.desk.pipeline_jobs import Act, PipelineJob
from openmsmq.console.details import PipelineBacklog, PipelineJobView, PipelineView
from openmsmq.console.limits import QUEUES_SHOWN_MAX, REPORT_MAX
from openmsmq.console.problems import RequestRefused
from openmsmq.console.rest.calls import ApiCall, ApiReply, ApiRoute

if TYPE_CHECKING:
    from openmsmq.pipelines.state import Run

ARCHIVE: Final = "archive"
_JOBS: Final = list[PipelineJobView]
REPORT_POLICY: Final = (
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none';"
    " frame-ancestors 'none'; sandbox"
)
"A report is a page with a style of its own, and without rights to anything of the console."
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


async def show_report(call: ApiCall) -> web.Response:
    """The page that a pipeline wrote: labels of messages are in it, as text, and nothing runs."""
    call.require("peek")
    path = _report_of(_run_of(call))
    if path is None:
        raise RequestRefused(404, f"{call.part('pipeline')} has no report")
    page = await asyncio.to_thread(_read, path)
    call.read("look at report", call.part("pipeline"))
    headers = {"Content-Security-Policy": REPORT_POLICY}
    return web.Response(body=page, content_type="text/html", charset="utf-8", headers=headers)


def _read(path: Path) -> bytes:
    with path.open("rb") as file:
        page = file.read(REPORT_MAX + 1)
    if len(page) > REPORT_MAX:
        raise RequestRefused(413, f"the report is longer than {REPORT_MAX} bytes", f"open {path}")
    return page


def _report_of(run: Run) -> Path | None:
    """The page that a run says it has written, if it is there."""
    said = run.facts.get("report")
    path = Path(said) if isinstance(said, str) and said else None
    return path if path is not None and path.is_file() else None


async def stop_pipeline(call: ApiCall) -> PipelineView:
    """Ask a pipeline to end after the batch that it is at."""
    from openmsmq.pipelines.state import Runs

    call.require("operate")
    runs, name = Runs(), call.part("pipeline")
    if _run_of(call).state not in ACTIVE:
        raise RequestRefused(409, f"the pipeline {name} does not run")
    runs.ask_to_stop(name)
    call.audit("stop pipeline", name)
    return _view(runs.find(name))


async def run_pipeline(call: ApiCall) -> ApiReply:
    """Run a pipeline that has run here before, again as its file says."""
    call.require("admin")
    return await _begin(call, "run")


async def verify_archive(call: ApiCall) -> ApiReply:
    """Check that the archive of a pipeline has every message once."""
    call.require("operate")
    return await _begin(call, "verify")


def _run_of(call: ApiCall) -> Run:
    """The last run of the pipeline of the path."""
    from openmsmq.pipelines.state import Runs

    runs, name = Runs(), call.part("pipeline")
    if name not in runs.names():
        raise RequestRefused(404, f"there is no pipeline {name[:40]!r}")
    return runs.find(name)


async def _begin(call: ApiCall, act: Act) -> ApiReply:
    name, found = call.part("pipeline"), _run_of(call)
    if act == "run" and found.state in ACTIVE:
        raise RequestRefused(409, f"the pipeline {name} runs")
    if act == "verify" and found.kind != ARCHIVE:
        raise RequestRefused(422, f"{name} makes no archive, it is of the kind {found.kind}")
    if not _is_there(found):
        raise RequestRefused(422, f"its file {found.file or '(none)'} is not there any more")
    job = PipelineJob(name, act, found.file, call.login.who, call.login.token)
    await call.state.jobs.begin(job)
    return ApiReply(job.view(), {"Location": f"/api/v1/jobs/{job.id}"}, 202)


async def jobs(call: ApiCall) -> list[PipelineJobView]:
    """What was begun in this console, the newest first."""
    call.require("watch")
    return [job.view() for job in call.state.jobs.all()]


async def show_job(call: ApiCall) -> PipelineJobView:
    """How a job stands."""
    call.require("watch")
    return call.state.jobs.find(call.part("job")).view()


async def stop_job(call: ApiCall) -> PipelineJobView:
    """Let a job end: a run after the batch that it is at, a verification at once."""
    call.require("operate")
    job = call.state.jobs.find(call.part("job"))
    await call.state.jobs.stop(job)
    call.audit(f"stop {job.act} pipeline", job.pipeline)
    return job.view()


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
        seconds=None if batch is None else round(batch.seconds, 3),
        rate=None if batch is None else round(batch.rate, 1),
        lag=None if batch is None else batch.lag,
        oldest=None if batch is None else batch.oldest,
        error=run.error,
        queues=[
            PipelineBacklog(one.manager, one.queue, one.lag, one.oldest)
            for one in (() if batch is None else batch.queues[:QUEUES_SHOWN_MAX])
        ],
        report="" if _report_of(run) is None else f"/api/v1/pipelines/{quote(run.name)}/report",
        can_run=run.state not in ACTIVE and _is_there(run),
    )


def _is_there(run: Run) -> bool:
    """Whether the file is where it was."""
    return Path(run.file).is_file()


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
        "GET",
        "/pipelines/{pipeline}/report",
        "peek",
        "The page that a pipeline of the kind `deadletters` or `audit` wrote",
        show_report,
    ),
    ApiRoute(
        "POST",
        "/pipelines/{pipeline}/stop",
        "operate",
        "Stop a pipeline after its current batch",
        stop_pipeline,
        PipelineView,
    ),
    ApiRoute(
        "POST",
        "/pipelines/{pipeline}/run",
        "admin",
        "Run a pipeline again that has run on the computer of the console, as its file says",
        run_pipeline,
        PipelineJobView,
        status=202,
    ),
    ApiRoute(
        "POST",
        "/pipelines/{pipeline}/verify",
        "operate",
        "Check that the archive of a pipeline has every message once",
        verify_archive,
        PipelineJobView,
        status=202,
    ),
    ApiRoute("GET", "/jobs", "watch", "Runs and verifications begun here", jobs, _JOBS),
    ApiRoute("GET", "/jobs/{job}", "watch", "How one stands", show_job, PipelineJobView),
    ApiRoute("POST", "/jobs/{job}/stop", "operate", "Let one end", stop_job, PipelineJobView),
)
