"""`openmsmq serve`: a queue manager that other programs and computers work with."""

from __future__ import annotations

import asyncio
import gc
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click
from click.core import ParameterSource

from openmsmq.cli.options import DATA_VARIABLE
from openmsmq.process import keep_memory
from openmsmq.runtime.logs import set_up_logs
from openmsmq.service.configuration import CONFIG_FILE, Config, default_text, load_config
from openmsmq.service.descriptors import extend_table, needed, raise_limit
from openmsmq.service.listeners import StandardListeners
from openmsmq.service.options import OPTIONS
from openmsmq.service.service import Service
from openmsmq.service.values import OFF

if TYPE_CHECKING:
    from openmsmq.console.host import ServicePages

COLLECTIONS: Final = (10_000, 5, 100)
"New objects after which the garbage collector looks at them, and how often it does before it looks"
"at older ones, and at all. Each look holds up everybody, the longer the more there is to look at."

THREAD_SWITCH_S: Final = 0.0005
"Seconds after which a thread that has work is let in: the commit thread comes back from the disk,"
"and programs wait for what it has to say. Python's own 5 ms are longer than a commit."

_SEVERAL: Final = ("aliases", "directory")
"Options that can be given again and again."


class Port(click.ParamType[int | str]):
    """A number, or `off`."""

    name = "port"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> int | str:
        """The number of the port, 0 for any."""
        if isinstance(value, str) and value.lower() == OFF:
            return OFF
        return click.IntRange(0, 0xFFFF).convert(value, param, ctx)


class PeerOption(click.ParamType[tuple[str, str]]):
    """A computer and where it is."""

    name = "peer"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, str]:
        """The name and the address."""
        name, sign, address = str(value).partition("=")
        if not (name and sign and address):
            self.fail(f"{value!r} is not NAME=HOST or NAME=HOST:PORT", param, ctx)
        return name, address


def _manager_options(function: Callable[..., None]) -> Callable[..., None]:
    """All options of a service on the command line."""
    for name, option in reversed(list(OPTIONS.items())):
        flag, _, metavar = option.flag.partition(" ")
        if flag:
            function = click.option(flag, name, help=_help(name), **_kind(name, metavar))(function)
    return function


def _kind(name: str, metavar: str) -> dict[str, Any]:
    """How click reads what follows an option."""
    if not metavar:
        return {"is_flag": True}
    if "|" in metavar:
        return {"type": click.Choice(metavar.split("|"))}
    types: Mapping[str, Any] = {
        "PORT": Port(),
        "FILE": click.Path(dir_okay=False, path_type=Path),
        "DIR": click.Path(file_okay=False, readable=False, path_type=Path),
        "PATH": click.Path(path_type=Path),
    }
    if name == "peers":
        return {"type": PeerOption(), "metavar": metavar, "multiple": True}
    return {"type": types.get(metavar, str), "metavar": metavar, "multiple": name in _SEVERAL}


def _help(name: str) -> str:
    words = OPTIONS[name].help
    if name == "data":
        return f"{words}  [env var: {DATA_VARIABLE}]"
    default = default_text(name)
    return words if default in ("", "true", "false") else f"{words}  [default: {default}]"


@click.command()
@_manager_options
@click.option(
    "--config",
    "file",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help=f"The configuration, in TOML.  [default: {CONFIG_FILE} in the directory, if it is there]",
)
@click.pass_context
def serve(context: click.Context, /, *, file: Path | None, **given: Any) -> None:
    """Run a queue manager as a service, until a signal stops it.

    Options override the file. Other computers need TLS and a token (see openmsmq token), or a
    certificate that tls.clients names. Every port takes 0 for any, and off.

    SIGTERM and Ctrl-C shut it down gracefully: commits are finished and programs are notified; a
    second signal ends it immediately. SIGHUP reloads the file, the tokens and the certificates,
    and logs what has changed and what needs a restart. Exits with 1 if it cannot start.

    \b
    Examples:
      openmsmq serve --data data
      openmsmq serve --data data --app-port 0 --console-port off --ready-file ready.json
      openmsmq serve --config /etc/openmsmq.toml --log-format json
      openmsmq serve --data data --bind 0.0.0.0 --tls-cert server.pem --tls-key server.key
    """
    overrides = {name: value for name, value in given.items() if _is_given(context, name)}
    if "data" not in overrides and (above := context.find_root().params.get("data")):
        overrides["data"] = above
    if "peers" in overrides:
        overrides["peers"] = dict(overrides["peers"])

    def load() -> Config:
        return load_config(file, overrides)

    config = load()
    set_up_logs(config.log_format, config.log_level, sys.stderr)
    descriptors = raise_limit(needed(config))
    extend_table(min(descriptors, needed(config)))
    listeners = StandardListeners(config, descriptors, _console_pages(config), reload=load)
    service = Service(config, listeners, reload=load)
    _relax_collector()
    sys.setswitchinterval(THREAD_SWITCH_S)
    keep_memory()
    with asyncio.Runner(loop_factory=_loop_factory(config.event_loop)) as runner:
        runner.run(service.run())


def _console_pages(config: Config) -> ServicePages | None:
    """The pages of the console, if there is one."""
    if config.console_port is None:
        return None
    from openmsmq.console.host import ServicePages

    return ServicePages(config)


def _loop_factory(name: str) -> Callable[[], asyncio.AbstractEventLoop] | None:
    """How to make the event loop with this name; None for Python's own."""
    if name != "uvloop":
        return None
    try:
        found: Callable[[], asyncio.AbstractEventLoop] = import_module("uvloop").new_event_loop
    except ImportError:
        return None
    return found


def _relax_collector() -> None:
    """Let the garbage collector look less often, and never again at what is there from the start.

    Messages on their way are many objects that live shortly and never in circles: to look for
    circles among them takes an eighth of the time.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(*COLLECTIONS)


def _is_given(context: click.Context, name: str) -> bool:
    return context.get_parameter_source(name) is ParameterSource.COMMANDLINE
