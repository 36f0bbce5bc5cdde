"""`openmsmq backup`, `restore`, `check` and `compact`: looking after a store on disk."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

import click

from openmsmq.cli.options import directory_options
from openmsmq.cli.output import count_text, print_json, printable, size_text
from openmsmq.errors import StoreDamaged
from openmsmq.service import maintenance
from openmsmq.store.check.check import Report
from openmsmq.store.copy import Progress, no_progress

_FOLDER = click.Path(path_type=Path)


@click.command()
@click.argument("destination", metavar="DEST", type=_FOLDER)
@click.option(
    "--with-keys", is_flag=True, help="With the private keys of the manager, and the users."
)
@directory_options
def backup(destination: Path, *, directory: Path, as_json: bool, with_keys: bool) -> None:
    """Copy the store to DEST, also while another process works with it.

    The copy shows one moment: all that was acknowledged before it, and every transaction whole or
    not at all. Express messages are in memory only, and not in it. With the store go tokens, the
    certificate and how the service was started last: name, ports and all else. DEST must not be
    there yet, or be an empty directory; it appears when it is whole and checked.

    \b
    Examples:
      openmsmq backup /backup/orders-monday --data data
      openmsmq backup "/backup/$(date +%F)" --data data --json | jq .messages
      openmsmq backup /safe/orders-monday --data data --with-keys
    """
    with _bars(shown=not as_json) as progress:
        made = maintenance.backup(directory, destination, progress, with_keys=with_keys)
    if as_json:
        print_json({"backup": str(destination), **asdict(made)})
    else:
        click.echo(
            f"backed up {count_text(made.messages)} of {count_text(made.queues, 'queue')},"
            f" {size_text(made.size)}, to {destination}"
        )


@click.command()
@click.argument("source", metavar="BACKUP", type=_FOLDER)
@click.option("--force", is_flag=True, help="Replace what is there; it is kept aside.")
@click.option(
    "--new-identity",
    is_flag=True,
    help="Give the copy a GUID of its own, to work beside the original.",
)
@directory_options
def restore(
    source: Path, *, directory: Path, as_json: bool, force: bool, new_identity: bool
) -> None:
    """Restore BACKUP as the store of the directory.

    Every byte and page of the backup is checked first; it stays as it is. Message identifiers and
    lookup identifiers go on far behind those in the backup, so that none that the original has
    given out since is used again.

    Configuration, tokens and certificate are put in place, too, so that serve --data DIR comes up
    as the original did; a private key only if the backup has it.

    Two queue managers with the same GUID must not work at the same time: give a copy that works
    beside its original a --new-identity. It gets no configuration and no tokens.

    \b
    Examples:
      openmsmq restore /backup/orders-monday --data data
      openmsmq restore /backup/orders-monday --data data --force
      openmsmq restore /backup/orders-monday --data test --new-identity
    """
    with _bars(shown=not as_json) as progress:
        done = maintenance.restore(
            source, directory, force=force, new_identity=new_identity, progress=progress
        )
    if as_json:
        document = {
            "directory": str(done.directory),
            "identity": done.identity,
            "replaced": None if done.replaced is None else str(done.replaced),
            "kept": list(map(str, done.kept)),
            "backup": asdict(done.backup),
        }
        print_json(document)
        return
    click.echo(
        f"restored {count_text(done.backup.messages)} of"
        f" {count_text(done.backup.queues, 'queue')} to {directory}"
    )
    for kept in (done.replaced, *done.kept):
        if kept is not None:
            click.echo(f"what was there before is {kept}")


@click.command()
@directory_options
def check(*, directory: Path, as_json: bool) -> None:
    """Check every page and row of the store, and report what is wrong.

    Nothing is changed. No other process may use the store meanwhile; to check one that is in use,
    make a backup and check that. Exits with 1 if something is wrong.

    \b
    Examples:
      openmsmq check --data data
      openmsmq check --data /backup/orders-monday
      openmsmq check --data data --json | jq -r '.findings[]'
    """
    with _bars(shown=not as_json) as progress:
        report = maintenance.check(directory, progress)
    if as_json:
        print_json({"whole": report.is_whole, **asdict(report)})
    else:
        _show(report)
    if not report.is_whole:
        count = len(report.findings) + report.more
        raise StoreDamaged(f"{directory}, {count_text(count, 'finding')}")


@click.command()
@directory_options
def compact(*, directory: Path, as_json: bool) -> None:
    """Return unused space of the store to the disk.

    Space of messages that were removed is used again for new ones, but the file never shrinks by
    itself. It is written anew beside its place, which takes as much room as the messages do, and
    no other process may use the store meanwhile. An interruption leaves the store intact.

    \b
    Examples:
      openmsmq compact --data data
      openmsmq compact --data data --json | jq .size
    """
    with _bars(shown=not as_json) as progress:
        done = maintenance.compact(directory, progress)
    if as_json:
        print_json(asdict(done))
    else:
        click.echo(f"compacted from {size_text(done.size_before)} to {size_text(done.size)}")


def _show(report: Report) -> None:
    for finding in report.findings:
        click.echo(printable(finding))
    if report.more:
        click.echo(f"and {report.more:,} more")
    if report.is_whole:
        click.echo(
            f"whole: {count_text(report.messages)} of {count_text(report.queues, 'queue')},"
            f" {size_text(report.size)}"
        )


@contextmanager
def _bars(*, shown: bool) -> Iterator[Progress]:
    """A bar for each thing that is done, on stderr, for a person who waits."""
    if not (shown and sys.stderr.isatty()):
        yield no_progress
        return
    from rich.console import Console
    from rich.progress import Progress as Bars
    from rich.progress import TaskID

    with Bars(console=Console(stderr=True), transient=True) as bars:
        tasks: dict[str, TaskID] = {}

        def show(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = bars.add_task(what)
            bars.update(tasks[what], completed=done, total=total)

        yield show
