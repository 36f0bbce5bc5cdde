"""`openmsmq pipeline`: data pipelines on Spark, as TOML files say them."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from openmsmq.cli.options import Function, Refusal, WrongUsage, json_option
from openmsmq.cli.output import count_text, print_json, print_properties, print_table, size_text

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from openmsmq.pipelines.archive.stores import ArchivePlace
    from openmsmq.pipelines.archive.table_archive import TableArchive
    from openmsmq.pipelines.state import Run
    from openmsmq.pipelines.work import Backlog

T = TypeVar("T")
_PAUSE: Final = 0.1
_QUEUES: Final = 10
"Queues that `status` names; --json has more."


@click.group()
def pipeline() -> None:
    """Run data pipelines on Spark, watch them, and stop them.

    A TOML file says what a pipeline does: queues to Parquet files, to other queues, and back. It
    needs the extra openmsmq[spark], and Java 17.

    \b
    Examples:
      openmsmq pipeline run lake.toml
      openmsmq pipeline list
      openmsmq pipeline stop lake
    """


def _runs_option(function: Function) -> Function:
    return click.option(
        "--runs",
        metavar="DIR",
        type=click.Path(file_okay=False, path_type=Path),
        envvar="OPENMSMQ_RUNS",
        help="Where runs are written down; ~/.local/state/openmsmq/pipelines by default."
        "  [env var: OPENMSMQ_RUNS]",
    )(function)


@pipeline.command()
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--master", metavar="URL", default="", help="The Spark master, not that of the file.")
@_runs_option
@json_option
def run(file: Path, *, master: str, runs: Path | None, as_json: bool) -> None:
    """Run the pipeline that FILE describes, until it is done or stopped.

    All of the file, the queue managers, queues and SQL are checked before anything is read; exit
    code 2 says what is wrong in the file. A terminal shows the batches as they go, --json prints
    one line for each. Ctrl-C, SIGTERM and `openmsmq pipeline stop` end it after the batch it is at;
    a second Ctrl-C does not wait. Whatever ends it, it goes on from there when it is run again.

    \b
    Examples:
      openmsmq pipeline run lake.toml
      openmsmq pipeline run lake.toml --master 'local[4]' --json
    """
    from openmsmq.cli.pipelines.view import Signals, view
    from openmsmq.pipelines.run import run as run_pipeline

    with Signals() as signals, view(as_json=as_json, signals=signals) as audience:
        done = _checked(lambda: run_pipeline(file, master=master, runs=runs, audience=audience))
    if as_json:
        print_json({"event": "end", **_document(done)})
    else:
        facts = "".join(f", {name} {value}" for name, value in done.facts.items())
        batches = _batches_text(done.batches)
        click.echo(f"{done.name} {done.state}: {count_text(done.rows, 'row')}, {batches}{facts}")


@pipeline.command(name="list")
@_runs_option
@json_option
def list_(*, runs: Path | None, as_json: bool) -> None:
    """List pipelines that run or have run on this computer.

    A pipeline is running or stopping; or it is done, was stopped, has failed, or is lost, which
    means that its process was killed.

    \b
    Examples:
      openmsmq pipeline list
      openmsmq pipeline list --json | jq .state
    """
    from openmsmq.pipelines.state import Runs

    known = Runs(runs)
    found = [known.find(name) for name in known.names()]
    if as_json:
        for one in found:
            print_json(_document(one))
    elif found:
        columns = ("NAME", "KIND", "STATE", "STARTED", ">BATCHES", ">ROWS", ">ROWS/S", ">LAG")
        print_table(columns, map(_row, found))


def _row(run: Run) -> tuple[object, ...]:
    rate = f"{run.progress.rate:.0f}" if run.progress else ""
    lag = "" if run.progress is None or run.progress.lag is None else run.progress.lag
    return run.name, run.kind, run.state, run.started, run.batches, run.rows, rate, lag


def _complete_name(
    context: click.Context, _: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """The names of pipelines that begin so, with their states."""
    from click.shell_completion import CompletionItem

    from openmsmq.pipelines.state import Runs

    known = Runs(context.params.get("runs"))
    names = [name for name in known.names() if name.startswith(incomplete)]
    return [CompletionItem(name, help=known.find(name).state) for name in names]


@pipeline.command()
@click.argument("name", shell_complete=_complete_name)
@_runs_option
@json_option
def status(name: str, *, runs: Path | None, as_json: bool) -> None:
    """Show the state of the pipeline NAME, or how its last run ended.

    \b
    Examples:
      openmsmq pipeline status lake
      openmsmq pipeline status lake --json | jq .progress
    """
    from openmsmq.pipelines.state import Runs

    found = _checked(lambda: Runs(runs).find(name))
    if as_json:
        print_json(_document(found))
    else:
        print_properties((key, value) for key, value in _properties(found) if value != "")


def _properties(run: Run) -> list[tuple[str, object]]:
    batch = run.progress
    shown: list[tuple[str, object]] = [
        ("name", run.name),
        ("kind", run.kind),
        ("state", run.state),
        ("process", f"{run.pid} on {run.host}"),
        ("file", run.file),
        ("started", run.started),
        ("ended", run.ended),
        ("batches", run.batches),
        ("rows", run.rows),
    ]
    if batch is not None:
        shown += [
            ("last batch", f"{batch.rows} rows in {batch.seconds:.1f} s, {batch.rate:.0f} rows/s"),
            ("waiting", "" if batch.lag is None else batch.lag),
            ("oldest waiting", "" if batch.oldest is None else f"{batch.oldest} s"),
        ]
        shown += [(f"in {one.queue}", _waiting(one)) for one in batch.queues[:_QUEUES] if one.lag]
    shown += [*run.facts.items(), ("error", run.error), ("checkpoint", run.checkpoint)]
    return [*shown, ("log", run.log)]


def _waiting(one: Backlog) -> str:
    age = "" if one.oldest is None else f", the oldest for {one.oldest} s"
    return f"{one.lag} wait at {one.manager}{age}, {size_text(one.reserved_bytes)} reserved"


@pipeline.command()
@click.argument("name", shell_complete=_complete_name)
@click.option("--timeout", type=float, default=60.0, show_default=True, help="Seconds to wait.")
@_runs_option
@json_option
def stop(name: str, *, timeout: float, runs: Path | None, as_json: bool) -> None:
    """Stop the pipeline NAME after its current batch, and wait until it has stopped.

    Exit code 3 says that it was not over in time; it is still asked to stop.

    \b
    Examples:
      openmsmq pipeline stop lake
      openmsmq pipeline stop lake --timeout 0
    """
    from openmsmq.cli.options import NothingCame
    from openmsmq.pipelines.state import RUNNING, STOPPING, Runs

    known = Runs(runs)
    found = _checked(lambda: known.ask_to_stop(name))
    end = time.monotonic() + timeout
    while found.state in (RUNNING, STOPPING) and time.monotonic() < end:
        time.sleep(_PAUSE)
        found = known.find(name)
    if found.state in (RUNNING, STOPPING):
        raise NothingCame(f"{name} is still at its batch")
    if as_json:
        print_json(_document(found))
    else:
        click.echo(f"{name} {found.state}")


@pipeline.command()
@click.argument("archive")
@click.option("--progress", is_flag=True, help="With --json: a line before each file, too.")
@json_option
def verify(archive: str, *, progress: bool, as_json: bool) -> None:
    """Check that ARCHIVE has every message once.

    ARCHIVE is the TOML file of the pipeline, or the folder or URI of the archive. Batches and
    positions must follow one another without gap or overlap, every position must have its row, and
    every file must be what the archive says. Exit code 1 says what is wrong.

    \b
    Examples:
      openmsmq pipeline verify archive
      openmsmq pipeline verify lake.toml --json | jq .rows
    """
    from openmsmq.pipelines.archive.verify import verify as verify_archive

    def show(done: int, of: int) -> None:
        if progress and as_json:
            print_json({"event": "file", "done": done, "of": of})
            sys.stdout.flush()

    found = _checked(lambda: verify_archive(_place(archive), show))
    if as_json:
        print_json(asdict(found))
    else:
        print_table(("QUEUE", ">MESSAGES"), sorted(found.queues.items()))
        batches = _batches_text(found.batches)
        files = count_text(found.files, "file")
        click.echo(f"{count_text(found.rows)}, {batches}, {files}, {size_text(found.bytes)}")
    if found.faults:
        raise Refusal("; ".join(found.faults))


@pipeline.command()
@click.argument("archive")
@json_option
def compact(archive: str, *, as_json: bool) -> None:
    """Merge the small files of ARCHIVE, a Delta or Iceberg table.

    Rows and their order stay as they are; old files stay for those who read them, until `vacuum`.
    Do it while the archive does not write: one of the two is refused otherwise, and can be done
    again.

    \b
    Examples:
      openmsmq pipeline compact lake.toml
      openmsmq pipeline compact archive --json
    """
    from openmsmq.pipelines.archive.compaction import compact as compact_table

    found = _checked(lambda: compact_table(_table(archive)))
    if as_json:
        print_json(asdict(found))
    else:
        click.echo(f"{count_text(found.before, 'file')} are {count_text(found.after, 'file')} now")


@pipeline.command()
@click.argument("archive")
@click.option("--hours", default=168, show_default=True, help="Keep what was in use since then.")
@json_option
def vacuum(archive: str, *, hours: int, as_json: bool) -> None:
    """Remove files that ARCHIVE, a Delta or Iceberg table, does not use any more.

    These are files that were compacted, and those of batches that were killed before they counted.
    Readers of versions that are older than --hours, and a batch that is being written for longer,
    would miss theirs.

    \b
    Examples:
      openmsmq pipeline vacuum lake.toml
      openmsmq pipeline vacuum archive --hours 24
    """
    gone = _checked(lambda: _table(archive).vacuum(hours))
    if as_json:
        print_json({"removed": gone})
    else:
        click.echo(f"removed {count_text(gone, 'file')}")


def _place(archive: str) -> ArchivePlace:
    """The archive that a file, a folder or a URI names."""
    from openmsmq.pipelines.archive.archive import Archive
    from openmsmq.pipelines.archive.stores import place_of
    from openmsmq.pipelines.file import read_pipeline
    from openmsmq.pipelines.tables import PipelineFileError

    if Path(archive).is_file():
        settings = read_pipeline(archive).settings
        if not isinstance(settings, Archive):
            raise PipelineFileError(f"{archive} has no table [archive]")
        return settings.place
    if "://" not in archive and not Path(archive).is_dir():
        raise PipelineFileError(f"there is no archive in {archive}")
    return place_of(archive)


def _table(archive: str) -> TableArchive:
    from openmsmq.pipelines.archive.table_archive import TableArchive
    from openmsmq.pipelines.tables import PipelineFileError

    found = _place(archive).open()
    if not isinstance(found, TableArchive):
        raise PipelineFileError(f"{archive} is a folder of Parquet files, not a table")
    return found


def _batches_text(count: int) -> str:
    return "1 batch" if count == 1 else f"{count} batches"


def _checked(work: Callable[[], T]) -> T:
    """Do something with a pipeline; what is wrong with it becomes a line and an exit code."""
    from openmsmq.pipelines.faults import PipelineError
    from openmsmq.pipelines.tables import PipelineFileError

    try:
        return work()
    except PipelineFileError as error:
        raise WrongUsage(str(error)) from None
    except PipelineError as error:
        raise Refusal(str(error)) from None


def _document(run: Run) -> dict[str, Any]:
    progress = None if run.progress is None else run.progress.document()
    return asdict(run) | {"progress": progress}
