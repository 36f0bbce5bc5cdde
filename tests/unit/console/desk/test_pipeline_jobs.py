"""Pipelines that are run and archives that are verified from the console, with small programs."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable

import pytest

from openmsmq.console.desk.pipeline_jobs import PipelineJob, PipelineJobs
from openmsmq.console.limits import JOB_ERROR_MAX, JOBS_KEPT_MAX, JOBS_MAX
from openmsmq.console.problems import RequestRefused

Heard = list[tuple[str, str, str]]


def jobs(program: str, heard: Heard | None = None) -> PipelineJobs:
    """Jobs that run a program in Python instead of the command line."""
    kept: Heard = [] if heard is None else heard
    code = (
        f"import json, sys, time\nprint_ = lambda **o: print(json.dumps(o), flush=True)\n{program}"
    )
    return PipelineJobs(
        lambda job, how: kept.append((job.act, job.pipeline, how)), (sys.executable, "-c", code)
    )


def job(name: str = "lake", act: str = "verify") -> PipelineJob:
    return PipelineJob(name, act, "lake.toml", "me", "t")  # type: ignore[arg-type]


async def finished(found: PipelineJob) -> PipelineJob:
    assert found.task is not None
    await found.task
    return found


def run(test: Callable[[], Awaitable[None]]) -> None:
    async def inside() -> None:
        async with asyncio.timeout(30):
            await test()

    asyncio.run(inside())


def test_a_verification_shows_how_far_it_is_and_what_it_found() -> None:
    heard: Heard = []
    lines = "print_(event='file', done=1, of=2); print('noise'); print(3); print_(rows=7, files=2)"
    every = jobs(lines, heard)

    async def test() -> None:
        found = job()
        await every.begin(found)
        view = (await finished(found)).view()
        assert (view.state, view.done, view.total) == ("done", 1, 2)
        assert (view.result, view.error) == ({"rows": 7, "files": 2}, "")
        assert view.command == "openmsmq pipeline verify lake.toml"
        assert every.find(found.id) is found
        assert heard == [("verify", "lake", "begun"), ("verify", "lake", "done")]

    run(test)


def test_a_run_counts_its_rows() -> None:
    every = jobs(
        "print_(event='batch', rows=3); print_(event='row', a=1); print_(event='batch', rows=4)\n"
        "print_(event='end', state='stopped', rows=7)"
    )

    async def test() -> None:
        found = job(act="run")
        await every.begin(found)
        view = (await finished(found)).view()
        assert (view.state, view.done, view.total) == ("stopped", 7, None)
        assert view.result == {"state": "stopped", "rows": 7}

    run(test)


def test_a_job_that_fails_says_why_and_no_more_than_fits() -> None:
    every = jobs(f"sys.stderr.write('x' * {2 * JOB_ERROR_MAX} + 'the end'); sys.exit(1)")

    async def test() -> None:
        found = job()
        await every.begin(found)
        view = (await finished(found)).view()
        assert (view.state, len(view.error)) == ("failed", JOB_ERROR_MAX)
        assert view.error.endswith("the end")

    run(test)


def test_a_line_that_is_too_long_is_passed_over() -> None:
    every = jobs("print('x' * 3_000_000); print_(rows=1)")

    async def test() -> None:
        found = job()
        await every.begin(found)
        assert (await finished(found)).result == {"rows": 1}

    run(test)


def test_a_job_is_stopped_and_all_of_them_when_the_console_ends() -> None:
    every = jobs("print_(event='file', done=1, of=9); time.sleep(60)")

    async def test() -> None:
        first, second = job("a"), job("b")
        for one in (first, second):
            await every.begin(one)
        with pytest.raises(RequestRefused, match="under way"):
            await every.begin(job("a"))
        await every.stop(first)
        assert (await finished(first)).state == "stopped"
        with pytest.raises(RequestRefused, match="does not run"):
            await every.stop(first)
        await every.close()
        assert (second.state, second.ended is not None) == ("stopped", True)

    run(test)


def test_there_are_bounds() -> None:
    every = jobs("time.sleep(60)")

    async def test() -> None:
        for number in range(JOBS_MAX):
            await every.begin(job(str(number)))
        with pytest.raises(RequestRefused) as refused:
            await every.begin(job("more"))
        assert refused.value.status == 429
        await every.close()
        for number in range(JOBS_KEPT_MAX):
            over = job(str(number))
            over.state = "done"
            every._jobs[over.id] = over
        await every.begin(job("last"))
        assert len(every.all()) == JOBS_KEPT_MAX
        assert every.all()[0].pipeline == "last"
        await every.close()
        with pytest.raises(RequestRefused, match="no job"):
            every.find("nothing")

    run(test)


def test_without_a_program_nothing_is_begun() -> None:
    every = PipelineJobs(lambda job, how: None, ("/nowhere/python",))

    async def test() -> None:
        with pytest.raises(OSError, match="nowhere"):
            await every.begin(job())
        assert every.all() == []

    run(test)
