"""What the commands share: which queue manager, how to print, and what a refusal looks like."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from io import UnsupportedOperation
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final, TypeVar

import click

from openmsmq.cli.output import printable
from openmsmq.errors import MQError, ReceiveTimeout, StoreMissing

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from openmsmq.client.sync import Manager

Function = TypeVar("Function", bound=Callable[..., Any])

DATA_VARIABLE: Final = "OPENMSMQ_DATA"
DATA_HELP: Final = f"The directory of the queue manager.  [env var: {DATA_VARIABLE}]"
INTERRUPTED: Final = 130
_DATA_FILE: Final = "data.mdb"


@dataclass(frozen=True, slots=True)
class Location:
    """The queue manager a command works with."""

    directory: Path

    @property
    def exists(self) -> bool:
        """Whether there is a store in the directory."""
        return (self.directory / _DATA_FILE).exists()

    def open(self, *, create: bool = False) -> Manager:
        """Open it; `StoreMissing` if it is not there and shall not be made."""
        import openmsmq  # not at the top: help and usage errors come without it

        if not (create or self.exists):
            raise StoreMissing(
                f"{self.directory}. `openmsmq queue create NAME --data {self.directory}` or"
                " `openmsmq apply` makes one"
            )
        return openmsmq.open(self.directory)


def manager_options(function: Function) -> Function:
    """Add `--data` and `--json`; the command gets `location` and `as_json`."""
    return data_option(json_option(function))


def data_option(function: Function) -> Function:
    """Add `--data`; the command gets `location`."""
    option = click.option(
        "--data",
        "location",
        metavar="DIR",
        type=click.Path(file_okay=False, path_type=Path),
        callback=_locate,
        help=DATA_HELP,
    )
    return option(function)


def json_option(function: Function) -> Function:
    """Add `--json`; the command gets `as_json`."""
    option = click.option("--json", "as_json", is_flag=True, help="One JSON object per line.")
    return option(function)


def queue_argument(function: Function) -> Function:
    """Add the argument NAME, the name of a queue; the command gets `name`."""
    return click.argument("name", shell_complete=_complete_queue)(function)


def yes_option(function: Function) -> Function:
    """Add `--yes`; the command gets `yes`."""
    return click.option("--yes", "-y", is_flag=True, help="Do not ask.")(function)


def confirm(question: str, *, yes: bool) -> None:
    """Ask a person, who can say no; a program is not asked."""
    if not yes and sys.stdin.isatty():
        click.confirm(question, abort=True, err=True)


def _locate(context: click.Context, _: click.Parameter, given: Path | None) -> Location | None:
    """What stands after the command, or before it, or in the environment."""
    directory = given or context.find_root().params.get("data")
    if directory is not None:
        return Location(directory)
    if context.resilient_parsing:
        return None
    raise click.UsageError(f"Which queue manager? Give --data DIR or set {DATA_VARIABLE}.", context)


def _complete_queue(
    context: click.Context, _: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    r"""The names of queues that begin so; `.\private$\orders` is just `orders` in a shell."""
    from click.shell_completion import CompletionItem

    location: Location | None = context.params.get("location")
    if location is None:
        return []
    try:
        with location.open() as manager:
            found = [(queue.name, queue.label) for queue in manager.queues()]
    except (MQError, OSError):  # there is nothing, or somebody else works there
        return []
    short = [(name.removeprefix(".\\private$\\"), label) for name, label in found]
    return [
        CompletionItem(name, help=label or None)
        for name, label in short
        if name.lower().startswith(incomplete.lower())
    ]


class Refusal(click.ClickException):
    """A failure as people see it: one line on stderr and an exit code."""

    exit_code = 1

    def show(self, file: IO[Any] | None = None) -> None:
        """Say it."""
        say(self.format_message(), file)


def say(words: str, file: IO[Any] | None = None) -> None:
    """One line on stderr, or in `file`."""
    click.echo(f"openmsmq: {printable(words)}", file=file, err=file is None)


class WrongUsage(Refusal):
    """What was asked for makes no sense, and nothing was done."""

    exit_code = 2


class NothingCame(Refusal):
    """No message came in time."""

    exit_code = 3


def describe(error: MQError) -> str:
    """An error with its name, its code, and what it means in words."""
    words = error.explanation
    if error.detail:
        words = f"{words.removesuffix('.')}: {error.detail}"
    return f"{type(error).__name__} (0x{error.hresult:08X}): {words}"


class Commands(click.Group):
    """The group of all commands: failures of any of them become a line and an exit code."""

    def invoke(self, context: click.Context) -> Any:
        """Run the command."""
        try:
            try:
                return super().invoke(context)
            finally:
                sys.stdout.flush()
        except MQError as error:
            kind = NothingCame if isinstance(error, ReceiveTimeout) else Refusal
            raise kind(describe(error)) from error
        except KeyboardInterrupt:
            context.exit(INTERRUPTED)
        except OSError as error:
            if error.errno == errno.EPIPE:
                raise  # click ends without a word: the reader had enough
            _forget_output()
            raise Refusal(str(error)) from error


def _forget_output() -> None:
    """Do not try again at the end to write what could not be written."""
    try:
        descriptor = os.open(os.devnull, os.O_WRONLY)
        os.dup2(descriptor, sys.stdout.fileno())
    except (UnsupportedOperation, OSError):
        return
    os.close(descriptor)
