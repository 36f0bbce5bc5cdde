"""Pipelines that are run from the console, and archives that are verified: processes of their own.

Spark has no place in the process of a queue manager. What a job has to say comes as JSON lines, as
`openmsmq pipeline run --json` prints them for any program.
"""

from __future__ import annotations

import asyncio
import json
import secrets
import shlex
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final, Literal

from openmsmq.console.details import PipelineJobView
from openmsmq.console.limits import (
    JOB_ERROR_MAX,
    JOB_LINE_MAX,
    JOB_PATIENCE_S,
    JOBS_KEPT_MAX,
    JOBS_MAX,
)
from openmsmq.console.problems import RequestRefused

Act = Literal["run", "verify"]
RUNNING, DONE, FAILED, STOPPED = "running", "done", "failed", "stopped"
PROGRAM: Final = (sys.executable, "-m", "openmsmq")


@dataclass(slots=True, eq=False)
class PipelineJob:
    """One process, and how far it is."""

    pipeline: str
    act: Act
    file: str
    who: str
    token: str = field(repr=False)
    id: str = field(default_factory=lambda: secrets.token_hex(6))
    started: datetime = field(default_factory=lambda: datetime.now(UTC))
    ended: datetime | None = None
    state: str = RUNNING
    done: int = 0
    total: int | None = None
    error: str = ""
    result: dict[str, Any] = field(default_factory=dict)
    process: asyncio.subprocess.Process | None = None
    task: asyncio.Task[None] | None = None

    @property
    def words(self) -> list[str]:
        """What the command line is asked for."""
        more = ["--progress"] if self.act == "verify" else []
        return ["pipeline", self.act, self.file, "--json", *more]

    def view(self) -> PipelineJobView:
        """How it stands."""
        return PipelineJobView(
            id=self.id,
            pipeline=self.pipeline,
            act=self.act,
            state=self.state,  # type: ignore[arg-type] # one of these
            who=self.who,
            started=self.started,
            ended=self.ended,
            done=self.done,
            total=self.total,
            error=self.error,
            result=self.result,
            command=shlex.join(["openmsmq", "pipeline", self.act, self.file]),
        )

    def heard(self, line: bytes) -> None:
        """Take what the process has said; what is no JSON object is passed over."""
        try:
            found = json.loads(line)
        except ValueError:
            return
        if not isinstance(found, dict):
            return
        match found.get("event"):
            case "batch":
                self.done += int(found.get("rows") or 0)
            case "file":
                self.done, self.total = int(found.get("done") or 0), int(found.get("of") or 0)
            case "row":
                pass  # a `console` sink; it is for terminals
            case _:
                self.result = {name: value for name, value in found.items() if name != "event"}


class PipelineJobs:
    """The jobs of a console."""

    def __init__(
        self, audit: Callable[[PipelineJob, str], None], program: Sequence[str] = PROGRAM
    ) -> None:
        """`audit` records that a job began, and how it ended."""
        self._jobs: dict[str, PipelineJob] = {}
        self._audit = audit
        self._program = program

    def all(self) -> list[PipelineJob]:
        """All of them, the newest first."""
        return list(reversed(self._jobs.values()))

    def find(self, name: str) -> PipelineJob:
        """One of them."""
        if name not in self._jobs:
            raise RequestRefused(404, f"there is no job {name[:40]!r}")
        return self._jobs[name]

    async def begin(self, job: PipelineJob) -> None:
        """Start its process; it goes on in the background."""
        running = [one for one in self._jobs.values() if one.state == RUNNING]
        if any((one.pipeline, one.act) == (job.pipeline, job.act) for one in running):
            raise RequestRefused(409, f"{job.act} {job.pipeline} is under way")
        if len(running) >= JOBS_MAX:
            raise RequestRefused(429, f"{JOBS_MAX} jobs are running", "wait until one is done")
        over = [one.id for one in self._jobs.values() if one.state != RUNNING]
        for name in over[: max(0, len(self._jobs) - JOBS_KEPT_MAX + 1)]:
            del self._jobs[name]
        self._jobs[job.id] = job
        try:
            job.process = await asyncio.create_subprocess_exec(
                *self._program,
                *job.words,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                limit=JOB_LINE_MAX,
                start_new_session=True,
            )
        except OSError:
            del self._jobs[job.id]
            raise
        self._audit(job, "begun")
        job.task = asyncio.create_task(self._follow(job, job.process))

    async def stop(self, job: PipelineJob) -> None:
        """Let it end: a run after the batch that it is at, a verification at once."""
        if job.state != RUNNING or job.process is None:
            raise RequestRefused(409, "the job does not run")
        job.error = "stopped"
        with suppress(ProcessLookupError):
            job.process.terminate()

    async def close(self) -> None:
        """End all of them; what a run has not finished, it does when it is run again."""
        running = [one for one in self._jobs.values() if one.state == RUNNING]
        for job in running:
            with suppress(RequestRefused):
                await self.stop(job)
        tasks = [job.task for job in running if job.task is not None]
        if tasks:
            _, late = await asyncio.wait(tasks, timeout=JOB_PATIENCE_S)
            for job in running:
                if job.task in late and job.process is not None:
                    with suppress(ProcessLookupError):
                        job.process.kill()
            await asyncio.wait(tasks)

    async def _follow(self, job: PipelineJob, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        assert process.stderr is not None
        errors = asyncio.create_task(_last(process.stderr))
        while True:
            try:
                line = await process.stdout.readline()
            except ValueError:
                continue  # a line that is too long
            if not line:
                break
            job.heard(line)
        code, words = await process.wait(), await errors
        was_stopped = job.error == "stopped" or job.result.get("state") == "stopped"
        job.error = ""
        if was_stopped:
            job.state = STOPPED
        elif code == 0:
            job.state = DONE
        else:
            job.state, job.error = FAILED, words or f"exit code {code}"
        job.ended = datetime.now(UTC)
        self._audit(job, job.state)


async def _last(stream: asyncio.StreamReader) -> str:
    """The end of what a process complained about."""
    kept = b""
    while part := await stream.read(JOB_ERROR_MAX):
        kept = (kept + part)[-JOB_ERROR_MAX:]
    return kept.decode(errors="replace").strip().removeprefix("Error: ")
