"""What the commands share: which queue manager, how to print, and what a refusal looks like."""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import wraps
from io import UnsupportedOperation
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final, TypeVar

import click
from click.core import ParameterSource

from openmsmq.cli.output import printable
from openmsmq.errors import (
    InvalidParameter,
    MQError,
    QueueNotFound,
    ReceiveTimeout,
    ServiceNotAvailable,
    StoreInUse,
    StoreMissing,
)

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from openmsmq import Manager

Function = TypeVar("Function", bound=Callable[..., Any])

DATA_VARIABLE: Final = "OPENMSMQ_DATA"
MANAGER_VARIABLE: Final = "OPENMSMQ_MANAGER"
TOKEN_VARIABLE: Final = "OPENMSMQ_TOKEN"  # noqa: S105  # its name, not what is in it
TLS_VARIABLE: Final = "OPENMSMQ_TLS_CA"
CONTEXT_VARIABLE: Final = "OPENMSMQ_CONTEXT"
SERVICE: Final = "127.0.0.1:1811"
"Where a service is found unless something else is said."
INTERRUPTED: Final = 130
HINT_WITHIN: Final = 1.0
"Seconds that a service has to list its queues for a shell, or for a hint."
_PATIENCE: Final = 30.0
_DATA_FILE: Final = "data.mdb"


@dataclass(frozen=True, slots=True)
class ManagerLocation:
    """The queue manager a command works with: a directory, or a service."""

    directory: Path | None = None
    address: str = SERVICE
    "Where the service is, if there is no directory."
    token: str = field(default="", repr=False)
    tls_ca: Path | None = None

    @property
    def is_embedded(self) -> bool:
        """The manager is this process, and gone when it ends."""
        return self.directory is not None

    @property
    def exists(self) -> bool:
        """Whether there is a store in the directory; a service has one."""
        return self.directory is None or (self.directory / _DATA_FILE).exists()

    def open(self, *, create: bool = False, patience: float = _PATIENCE) -> Manager:
        """Open it; `StoreMissing` if it is not there and shall not be made."""
        import openmsmq  # not at the top: help and usage errors come without it

        if self.directory is None:
            return self._connect(patience)
        if not (create or self.exists):
            raise StoreMissing(
                f"{self.directory}. `openmsmq queue create NAME --data {self.directory}` or"
                " `openmsmq apply` makes one"
            )
        try:
            return openmsmq.open(self.directory)
        except StoreInUse as error:
            raise StoreInUse(
                f"{error.detail}. If that is a service, connect to it with --manager HOST:PORT"
            ) from None

    def suggest(self, name: str) -> str:
        """A hint at the queue that was probably meant by a name; empty if none is like it."""
        try:
            with self.open(patience=HINT_WITHIN) as manager:
                names = [_short(queue.name) for queue in manager.queues()]
        except (MQError, OSError):
            return ""
        lower = {found.lower(): found for found in names}
        near = get_close_matches(_short(name).lower(), lower, n=1)
        return f"; did you mean {lower[near[0]]}?" if near else ""

    def _connect(self, patience: float) -> Manager:
        import openmsmq

        tls = None if self.tls_ca is None else str(self.tls_ca)
        try:
            return openmsmq.connect(self.address, token=self.token, tls=tls, timeout=patience)
        except ServiceNotAvailable as error:
            raise ServiceNotAvailable(
                f"{error.detail}. `openmsmq serve` runs a service; --data DIR works in a directory"
            ) from None


def manager_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add what tells the queue manager, and `--json`; the command gets `location` and `as_json`."""

    @wraps(function)
    def located(
        *values: Any, data: Any, manager: Any, token: Any, tls_ca: Any, context: Any, **given: Any
    ) -> Any:
        location = locate(click.get_current_context())
        try:
            return function(*values, location=location, **given)
        except QueueNotFound as error:
            raise QueueNotFound(error.detail + location.suggest(error.detail)) from None

    return place_options(json_option(located))


def directory_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add `--data` and `--json`; the command gets `directory` and `as_json`."""

    @wraps(function)
    def located(*values: Any, data: Any, **given: Any) -> Any:
        return function(*values, directory=_directory(click.get_current_context()), **given)

    return _data_option(json_option(located), "The directory of the queue manager.")


def place_options(function: Function, *, from_environment: bool = False) -> Function:
    """Add what tells where the queue manager is."""
    options = (
        _place(
            "--manager",
            "HOST:PORT",
            MANAGER_VARIABLE,
            f"The service, or unix:PATH; {SERVICE} if no directory is named.",
            str,
            from_environment=from_environment,
        ),
        _place(
            "--token",
            "TEXT",
            TOKEN_VARIABLE,
            "The token that the service asks for.",
            str,
            from_environment=from_environment,
        ),
        _place(
            "--tls-ca",
            "FILE",
            TLS_VARIABLE,
            "Use TLS, and trust the certificates of this CA.",
            click.Path(exists=True, dir_okay=False, path_type=Path),
            from_environment=from_environment,
        ),
        _place(
            "--context",
            "NAME",
            CONTEXT_VARIABLE,
            "The service of this name, with its token and CA (openmsmq context).",
            str,
            from_environment=from_environment,
        ),
    )
    for option in reversed(options):
        function = option(function)
    words = "The directory of a queue manager that no service works with."
    return _data_option(function, words, from_environment=from_environment)


def _data_option(function: Function, words: str, *, from_environment: bool = False) -> Function:
    kind = click.Path(file_okay=False, path_type=Path)
    option = _place("--data", "DIR", DATA_VARIABLE, words, kind, from_environment=from_environment)
    return option(function)


def _place(
    flag: str, metavar: str, variable: str, words: str, kind: Any, *, from_environment: bool
) -> Callable[[Function], Function]:
    """An option that stands before the command or after it, or comes from the environment."""
    return click.option(
        flag,
        metavar=metavar,
        type=kind,
        envvar=variable if from_environment else None,
        help=f"{words}  [env var: {variable}]",
    )


def json_option(function: Function) -> Function:
    """Add `--json`; the command gets `as_json`."""
    option = click.option("--json", "as_json", is_flag=True, help="One JSON object per line.")
    return option(function)


def queue_argument(function: Function) -> Function:
    """Add the argument NAME, the name of a queue; the command gets `name`."""
    return click.argument("name", shell_complete=complete_queue)(function)


def outgoing_argument(*, required: bool) -> Callable[[Function], Function]:
    """Add the argument NAME, the name of an outgoing queue; the command gets `name`."""
    return click.argument("name", required=required, shell_complete=_complete_outgoing)


def patterns_option(function: Function) -> Function:
    """`--queue`, the queues that a token or a user is for."""
    return click.option(
        "--queue",
        "queues",
        metavar="PATTERN",
        multiple=True,
        help="Only for queues whose names match, * and ? are wild; can be given several times.",
    )(function)


def yes_option(function: Function) -> Function:
    """Add `--yes`; the command gets `yes`."""
    return click.option("--yes", "-y", is_flag=True, help="Do not ask; needed off a terminal.")(
        function
    )


def confirm(question: str, *, yes: bool) -> None:
    """Ask a person, who can say no; where no terminal is, only `--yes` says yes."""
    if yes:
        return
    if not sys.stdin.isatty():
        raise WrongUsage(
            f"{question} Nothing was done: stdin is not a terminal, so that this cannot be asked."
            " Give --yes"
        )
    click.confirm(question, abort=True, err=True)


def locate(context: click.Context) -> ManagerLocation:
    """The queue manager that was named: on the command line, else in the environment.

    Else that of the context in use, else the service on this computer.
    """
    directory, is_data = _given(context, "data")
    address, is_manager = _given(context, "manager")
    name, is_named = _given(context, "context")
    token, is_token = _given(context, "token")
    tls_ca, is_tls = _given(context, "tls_ca")
    if is_data + is_manager + is_named > 1:
        raise click.UsageError(
            "--data names a directory, --manager a service, --context one that you gave a name:"
            " give one of them.",
            context,
        )
    if is_named or (not (is_data or is_manager) and (name or not (directory or address))):
        known = _of_context(name)
        if known is not None:
            return replace(known, token=token or known.token, tls_ca=tls_ca or known.tls_ca)
    if directory is not None and (is_data or address is None):
        if is_token or is_tls:
            raise click.UsageError(
                "--token and --tls-ca are for a service: give --manager HOST:PORT.", context
            )
        return ManagerLocation(directory)
    address = address or SERVICE
    check_address(address, context)
    return ManagerLocation(None, address, token or "", tls_ca)


def _of_context(name: str | None) -> ManagerLocation | None:
    """The service that a context names; without a name that of the one in use, if any is."""
    from openmsmq.cli.contexts.file import contexts_file, load

    contexts = load(contexts_file())
    found = contexts.named(name) if name else contexts.in_use
    if found is None:
        return None
    tls_ca = Path(found.tls_ca) if found.tls_ca else None
    return ManagerLocation(None, found.manager, found.token, tls_ca)


def known_places() -> dict[str, ManagerLocation]:
    """The managers of all contexts, by name."""
    from openmsmq.cli.contexts.file import contexts_file, load

    return {
        one.name: ManagerLocation(
            None, one.manager, one.token, Path(one.tls_ca) if one.tls_ca else None
        )
        for one in load(contexts_file()).known
    }


def _directory(context: click.Context) -> Path:
    """The directory that was named, for a command that works with no service."""
    directory, is_data = _given(context, "data")
    if _given(context, "manager")[1] and not is_data:
        raise click.UsageError("This works on a directory: give --data DIR.", context)
    if directory is None:
        raise click.UsageError(f"Which directory? Give --data DIR or set {DATA_VARIABLE}.", context)
    assert isinstance(directory, Path)
    return directory


def _given(context: click.Context, name: str) -> tuple[Any, bool]:
    """What stands after the command, or before it, or in the environment; True if on the line."""
    value = context.params.get(name)
    if value is not None:
        return value, True
    root = context.find_root()
    return root.params.get(name), root.get_parameter_source(name) is ParameterSource.COMMANDLINE


def check_address(address: str, context: click.Context | None = None) -> None:
    """`click.UsageError` if that is not where a service can be."""
    from openmsmq.client.address import Address

    try:
        Address.parse(address)
    except InvalidParameter as error:
        raise click.UsageError(f"--manager {error.detail}.", context) from None


def _short(name: str) -> str:
    r"""The name of a queue as people type it: `.\private$\orders` is just `orders`."""
    return name.removeprefix(".\\private$\\").removeprefix("private$\\")


def complete_queue(
    context: click.Context, _: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """The names of queues that begin so."""

    def names(manager: Manager) -> list[tuple[str, str]]:
        return [(_short(queue.name), queue.label) for queue in manager.queues()]

    return complete(context, incomplete, names)


def _complete_outgoing(
    context: click.Context, _: click.Parameter, incomplete: str
) -> list[CompletionItem]:
    """The names of outgoing queues that begin so, with their states."""

    def names(manager: Manager) -> list[tuple[str, str]]:
        return [(queue.name, queue.state) for queue in manager.outgoing()]

    return complete(context, incomplete, names)


def complete(
    context: click.Context,
    incomplete: str,
    names: Callable[[Manager], list[tuple[str, str]]],
) -> list[CompletionItem]:
    """Names, each with some words, that begin so; none if no manager can be asked."""
    from click.shell_completion import CompletionItem

    try:
        with locate(context).open(patience=HINT_WITHIN) as manager:
            found = names(manager)
    except (MQError, OSError, click.UsageError):  # no manager, or its directory is in use
        return []
    return [
        CompletionItem(name, help=words or None)
        for name, words in found
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
    return f"{type(error).__name__} (0x{error.hresult:08X}): {error.text}"


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
