"""`openmsmq console`: the web console for several managers, and links that log in."""

from __future__ import annotations

import secrets
import time
from pathlib import Path
from typing import Final

import click

from openmsmq.cli.options import TOKEN_VARIABLE, Refusal, WrongUsage, directory_options
from openmsmq.cli.output import print_json, print_table, time_json, time_text

PORT: Final = 1809


@click.group(invoke_without_command=True)
@click.option(
    "--manager",
    "managers",
    metavar="[NAME=]HOST:PORT",
    multiple=True,
    help="A queue manager to show; can be given several times.",
)
@click.option(
    "--config",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Managers with their addresses, CAs and tokens, in TOML.",
)
@click.option(
    "--port",
    type=click.IntRange(0, 0xFFFF),
    help=f"Where browsers find it, {PORT} by default; 0 for any.",
)
@click.option(
    "--token", envvar=TOKEN_VARIABLE, default="", help="What to log in with at the managers."
)
@click.option(
    "--tls-ca", type=click.Path(exists=True, dir_okay=False), help="Whom to trust; turns TLS on."
)
@click.option("--read-only", is_flag=True, help="Nothing can be changed.")
@click.pass_context
def console(
    context: click.Context,
    *,
    managers: tuple[str, ...],
    config: Path | None,
    port: int | None,
    token: str,
    tls_ca: str | None,
    read_only: bool,
) -> None:
    """Run the web console for several queue managers, until Ctrl-C stops it.

    It listens on this computer only and prints a link that logs in once. A manager that runs by
    itself has its own console, at --console-port of openmsmq serve.

    \b
    Examples:
      openmsmq console --manager shop01=10.0.0.1:1811 --manager shop02=10.0.0.2:1811
      openmsmq console --manager 127.0.0.1:1811 --read-only
      openmsmq console --config console.toml
      openmsmq console login --data data
    """
    if context.invoked_subcommand is not None:
        return
    if not managers and config is None:
        raise click.UsageError("Give at least one --manager, a --config, or a command.")
    from openmsmq.console.managers import (
        ManagerPlace,
        ManagersFile,
        ManagersFileError,
        read_managers,
    )
    from openmsmq.console.process import ConsoleProcess

    try:
        found = ManagersFile({}) if config is None else read_managers(config)
    except ManagersFileError as error:
        raise WrongUsage(str(error)) from None
    given = {name: ManagerPlace(address, token, tls_ca) for name, address in map(_named, managers)}
    process = ConsoleProcess(
        {**found.managers, **given},
        key=secrets.token_bytes(32),
        read_only=read_only or found.read_only,
    )
    default = PORT if found.port is None else found.port
    process.run(default if port is None else port, lambda link: click.echo(f"console at {link}"))


def _named(text: str) -> tuple[str, str]:
    """The name of a manager, and its address."""
    name, sign, address = text.partition("=")
    return (name, address) if sign else (text.partition(":")[0], text)


@console.command()
@click.option("--port", type=int, help="Of the console; else as the manager was started.")
@directory_options
def login(*, directory: Path, as_json: bool, port: int | None) -> None:
    """Print a link that logs in at the console of a manager, once, within ten minutes.

    Anyone with access to the directory can do this. Where programs of this computer need a token,
    the console does, too: log in with one of openmsmq token create.

    \b
    Examples:
      openmsmq console login --data data
    """
    from openmsmq.console.sessions import KEY_FILE, load_key, make_code

    if not (directory / KEY_FILE).exists():
        raise Refusal(
            f"{directory} has no console that links log in at: is openmsmq serve running there? If"
            " programs need a token, log in with one (openmsmq token create)"
        )
    place = f"http://127.0.0.1:{_port(directory) if port is None else port}"
    link = f"{place}/login#{make_code(load_key(directory), time.time())}"
    if as_json:
        print_json({"link": link})
    else:
        click.echo(link)


def _port(directory: Path) -> int:
    """The port of the console that was started last in a directory."""
    from openmsmq.console.sessions import read_place

    found = read_place(directory)
    return 1810 if found is None else found


@console.command()
@click.argument("kind")
@click.argument("queue", default="")
@click.option(
    "--hours",
    type=click.IntRange(0, 720),
    default=4,
    show_default=True,
    help="For how long; 0 lets it be heard again.",
)
@click.option("--reason", default="", help="Why, for those who wonder.")
@directory_options
def silence(
    *, directory: Path, as_json: bool, kind: str, queue: str, hours: int, reason: str
) -> None:
    """Silence a finding of the console of a manager for some hours.

    KIND is one of: dead letters, poison, old, quota, outgoing, paused, transaction, disk. QUEUE is
    the queue that it is about, if it is about one. Anyone with access to the directory can do this.

    \b
    Examples:
      openmsmq console silence old orders --hours 8 --reason 'the reader rests at night' --data data
      openmsmq console silence disk --data data
      openmsmq console silence old orders --hours 0 --data data
    """
    from openmsmq.console.attention import KINDS
    from openmsmq.console.desk.silences import OWN, Silences

    if kind not in KINDS:
        raise WrongUsage(f"{kind!r} is no kind of finding; there are: {', '.join(KINDS)}")
    name = _path_name(queue) if queue else ""
    until = Silences(time.time, directory).silence(OWN, kind, name, hours, reason)
    words = "heard again" if until is None else f"silent until {time_text(until)}"
    if as_json:
        print_json({"kind": kind, "queue": name, "until": until and time_json(until)})
    else:
        click.echo(f"{f'{kind} of {name}' if name else kind}: {words}")


@console.command()
@directory_options
def silences(*, directory: Path, as_json: bool) -> None:
    """List the findings of the console of a manager that are silent.

    \b
    Examples:
      openmsmq console silences --data data
    """
    from msgspec import to_builtins

    from openmsmq.console.desk.silences import Silences

    found = Silences(time.time, directory).all()
    if as_json:
        for one in found:
            print_json({**to_builtins(one), "until": time_json(one.until)})
        return
    columns = ("KIND", "QUEUE", "UNTIL", "MANAGER", "REASON")
    rows = [(o.kind, o.queue, time_text(o.until), o.manager or "here", o.reason) for o in found]
    print_table(columns, rows)


@console.command()
@click.argument("queue")
@click.argument("text")
@click.option("--reason", default="", help="Why the dead letters failed, as the desk says it.")
@click.option("--destination", default="", help="The queue that they were for.")
@click.option("--labels", default="", help='Their labels with # for numbers: "order #".')
@directory_options
def note(*, directory: Path, as_json: bool, queue: str, text: str, **group: str) -> None:
    """Write a note on a group of dead letters, for all who see it; an empty TEXT removes it.

    QUEUE is where they are kept. Anyone with access to the directory can do this.

    \b
    Examples:
      openmsmq console note '.\\DeadLetter$' 'Ann asks the shop' --labels 'order #' --data data
    """
    from openmsmq.console.desk.models import NewNote
    from openmsmq.console.desk.notes import OWN, LetterNotes
    from openmsmq.console.limits import NOTE_MAX

    if len(text) > NOTE_MAX:
        raise WrongUsage(f"a note has at most {NOTE_MAX} characters")
    asked = NewNote(_path_name(queue), text=text, **group)
    LetterNotes(time.time, directory).write(OWN, asked, "this computer")
    if as_json:
        print_json({"queue": asked.queue, "text": text, **group})
    else:
        click.echo(f"{'noted' if text.strip() else 'removed the note'}: {asked.queue}")


@console.command()
@directory_options
def notes(*, directory: Path, as_json: bool) -> None:
    """List the notes on groups of dead letters, the newest first.

    \b
    Examples:
      openmsmq console notes --data data
    """
    from msgspec import to_builtins

    from openmsmq.console.desk.notes import LetterNotes

    found = LetterNotes(time.time, directory).all()
    if as_json:
        for one in found:
            print_json({**to_builtins(one), "time": time_json(one.time)})
        return
    columns = ("TIME", "WHO", "QUEUE", "LABELS", "NOTE")
    print_table(columns, [(time_text(o.time), o.who, o.queue, o.labels, o.text) for o in found])


def _path_name(queue: str) -> str:
    r"""The name of a queue as the console shows it: `orders` is `.\private$\orders`."""
    return queue if set(queue) & set("\\=") else f".\\private$\\{queue}"
