"""What a queue manager that runs as a service can be told: in a file, or on the command line."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Final, Literal

from openmsmq.errors import InvalidParameter, MQError
from openmsmq.manager.certificates import read_clients
from openmsmq.manager.tokens import Grant
from openmsmq.names.parts import host_key
from openmsmq.names.path import parse_path_name

CONFIG_FILE: Final = "openmsmq.toml"
"In the directory of the manager; read if no other file is named."
OFF: Final = "off"
LOOPBACK: Final = ("127.0.0.1", "::1")
LOG_FORMATS: Final = ("text", "json")
LOG_LEVELS: Final = ("debug", "info", "warning", "error")
_PORT_MAX: Final = 0xFFFF
_SECONDS_MAX: Final = 10**9
_ADDRESS: Final = re.compile(
    r"(?:\[(?P<six>[0-9a-f:.]+)\]|(?P<host>[^\[\]:\\/\s]+))(?::(?P<port>\d{1,5}))?",
    re.ASCII | re.IGNORECASE,
)

Read = Callable[[object], Any]
"What a file or an option gives as the value of a field; `ValueError` in words if it is none."


class ConfigError(InvalidParameter):
    """The queue manager was told what cannot be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """All that a service is told before it starts; `OPTIONS` says what each of it means."""

    data: Path
    name: str | None = None
    aliases: tuple[str, ...] = ()
    bind: str = "127.0.0.1"
    peers: Mapping[str, str] = field(default_factory=dict)
    ready_file: Path | None = None
    retry: bool = True

    app_port: int | None = 1811
    app_socket: Path | None = None
    clients_max: int = 10_000
    requests_max: int = 1024
    request_bytes_max: int = 16 << 20
    idle_transaction_limit: int | None = None
    abandon_prepared_after: int | None = None

    console_port: int | None = 1810
    binary_port: int | None = 1801
    binary_bind: str | None = None
    sessions_max: int = 10_000
    pending_bytes_max: int = 64 << 20
    answers_early: bool = True
    record: Path | None = None
    ping_port: int | None = None
    rpc_port: int | None = None
    srmp_port: int | None = None

    tls_cert: Path | None = None
    tls_key: Path | None = None
    tls_client_ca: Path | None = None
    tls_clients: Mapping[str, Grant] = field(default_factory=dict)
    allow_insecure: bool = False

    log_format: Literal["text", "json"] = "text"
    log_level: Literal["debug", "info", "warning", "error"] = "info"

    def __post_init__(self) -> None:
        if (self.tls_cert is None) != (self.tls_key is None):
            raise ConfigError("tls.cert and tls.key are needed together")
        if self.tls_client_ca is not None and self.tls_cert is None:
            raise ConfigError("tls.client_ca needs tls.cert and tls.key, too")
        if self.tls_clients and self.tls_client_ca is None:
            raise ConfigError("tls.clients needs tls.client_ca: else no certificate is asked for")

    @property
    def is_local(self) -> bool:
        """Whether only this computer can reach the doors."""
        if host_key(self.bind) == host_key("localhost"):
            return True
        try:
            return ip_address(self.bind).is_loopback
        except ValueError:
            return False

    @property
    def peer_bind(self) -> str:
        """The address that the listeners for other queue managers are bound to.

        What they speak has no encryption and no login, so that an address that other computers can
        reach is never taken over from `bind`, which TLS and tokens protect.
        """
        if self.binary_bind is not None:
            return self.binary_bind
        return self.bind if self.is_local else LOOPBACK[0]

    @property
    def own_addresses(self) -> tuple[str, ...]:
        """The loopback addresses that mean this manager: others may have others (127.0.0.2)."""
        bound = self.peer_bind
        try:
            address = ip_address(bound)
        except ValueError:
            return LOOPBACK
        return LOOPBACK if address.is_unspecified or not address.is_loopback else (bound,)


@dataclass(frozen=True, slots=True)
class Option:
    """How a field of `Config` is written, and what it means."""

    place: str
    "In a file: the table and the key."
    read: Read
    help: str
    flag: str = ""
    "On the command line, with what follows it; empty: only a file can say it."
    live: bool = False
    "It can change while the manager runs."

    @property
    def table(self) -> str:
        """The table of a file that it stands in."""
        return self.place.partition(".")[0]

    @property
    def key(self) -> str:
        """Its name there."""
        return self.place.partition(".")[2]


def _text(value: object) -> str:
    if isinstance(value, str) and value.strip() == value != "" and value.isprintable():
        return value
    raise ValueError("a text is needed")


def _path(value: object) -> Path:
    return value if isinstance(value, Path) else Path(_text(value))


def _computer(value: object) -> str:
    name = _text(value)
    try:
        parse_path_name(f"{name}\\queue")
    except MQError as error:
        raise ValueError(f"the name of a computer is needed; {error.detail}") from None
    return name


def _computers(value: object) -> tuple[str, ...]:
    if isinstance(value, list | tuple):
        return tuple(map(_computer, value))
    raise ValueError("a list of names is needed")


def _peers(value: object) -> dict[str, str]:
    if isinstance(value, dict):
        for address in value.values():
            split_address(_text(address), 1)
        if len({host_key(_computer(name)) for name in value}) == len(value):
            return value
    raise ValueError("a table of different names and their addresses is needed")


def _flag(value: object) -> bool:
    if isinstance(value, bool):
        return value
    raise ValueError("true or false is needed")


def _is_whole(value: object, least: int, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def _whole(least: int, most: int) -> Read:
    def read(value: object) -> object:
        if _is_whole(value, least, most):
            return value
        raise ValueError(f"a whole number from {least} to {most} is needed")

    return read


def _whole_or_off(least: int, most: int) -> Read:
    def read(value: object) -> object:
        if value == OFF or _is_whole(value, least, most):
            return None if value == OFF else value
        raise ValueError(f'a whole number from {least} to {most}, or "{OFF}" is needed')

    return read


def _not_built(value: object) -> None:
    """The port of a door that is yet to come."""
    if value != OFF:
        raise ValueError(f'this version does not have this door yet, so only "{OFF}" is possible')


def _one_of(*words: str) -> Read:
    def read(value: object) -> object:
        if value in words:
            return value
        raise ValueError(f"one of {', '.join(words)} is needed")

    return read


_PORT: Final = _whole_or_off(0, _PORT_MAX)
_LIMIT: Final = _whole(1, 1 << 40)
_SECONDS: Final = _whole_or_off(1, _SECONDS_MAX)

OPTIONS: Final[Mapping[str, Option]] = {
    "data": Option("manager.data", _path, "The directory of the queue manager.", "--data DIR"),
    "name": Option(
        "manager.name",
        _computer,
        "What other computers call this one; if it is not given, the host's own name.",
        "--name NAME",
    ),
    "aliases": Option(
        "manager.aliases", _computers, "Other names that mean this computer.", "--alias NAME"
    ),
    "bind": Option(
        "manager.bind",
        _text,
        "The address that the doors for programs and the console listen on; the one for other queue"
        " managers too, if only this computer can reach it.",
        "--bind ADDRESS",
    ),
    "peers": Option(
        "manager.peers",
        _peers,
        "Where other computers are, if DNS does not say so.",
        "--peer NAME=HOST[:PORT]",
    ),
    "ready_file": Option(
        "manager.ready_file",
        _path,
        "Gets process, identity and addresses in JSON when all doors are open.",
        "--ready-file FILE",
    ),
    "retry": Option(
        "manager.retry",
        _flag,
        "If the store cannot be opened, try again after 2 minutes, then every 15.",
        "--retry/--no-retry",
    ),
    "app_port": Option("app.port", _PORT, "For programs.", "--app-port PORT"),
    "app_socket": Option(
        "app.socket", _path, "A Unix socket for programs, beside the port.", "--app-socket PATH"
    ),
    "clients_max": Option("app.clients_max", _LIMIT, "Connections of programs at a time."),
    "requests_max": Option(
        "app.requests_max", _LIMIT, "Requests of a connection that may be unanswered."
    ),
    "request_bytes_max": Option("app.request_bytes_max", _LIMIT, "Bytes in them."),
    "idle_transaction_limit": Option(
        "app.idle_transaction_limit",
        _SECONDS,
        "Seconds after which an open transaction is aborted that its program does nothing with.",
    ),
    "abandon_prepared_after": Option(
        "app.abandon_prepared_after",
        _SECONDS,
        "Seconds after which a prepared transaction that nobody decides is aborted.",
    ),
    "console_port": Option(
        "console.port", _PORT, "For metrics and health checks, over HTTP.", "--console-port PORT"
    ),
    "binary_port": Option(
        "binary.port",
        _PORT,
        "For other queue managers, MSMQ's own among them.",
        "--binary-port PORT",
    ),
    "binary_bind": Option(
        "binary.bind",
        _text,
        "The address that the doors for other queue managers (binary, ping) listen on; else that of"
        " --bind if it is a loopback address, or 127.0.0.1. The protocol has no encryption and no"
        " login: any computer that can reach the address can send messages to every queue that"
        " takes them.",
        "--binary-bind ADDRESS",
    ),
    "sessions_max": Option(
        "binary.sessions_max", _LIMIT, "Connections of other queue managers at a time."
    ),
    "pending_bytes_max": Option(
        "binary.pending_bytes_max",
        _whole(8 << 20, 1 << 40),
        "Bytes of unfinished packets, over all sessions; beyond it sessions are closed, those of"
        " managers that this one does not know first.",
    ),
    "answers_early": Option(
        "binary.answers_early",
        _flag,
        "A message that comes without a greeting is answered, though not taken, as MSMQ does.",
    ),
    "record": Option(
        "binary.record",
        _path,
        "Record what is said on connections with other queue managers, as pcap files.",
        "--record DIR",
    ),
    "ping_port": Option(
        "ping.port",
        _PORT,
        "Answers other queue managers that ask whether this one is there; MSMQ uses 3527.",
        "--ping-port PORT",
    ),
    "rpc_port": Option(
        "rpc.port",
        _not_built,
        "For remote reading and management; not built yet.",
        "--rpc-port PORT",
    ),
    "srmp_port": Option(
        "srmp.port", _not_built, "For messages over HTTP; not built yet.", "--srmp-port PORT"
    ),
    "tls_cert": Option(
        "tls.cert",
        _path,
        "The certificate of this computer, in PEM, and those it was issued with.",
        "--tls-cert FILE",
    ),
    "tls_key": Option("tls.key", _path, "The key of the certificate, in PEM.", "--tls-key FILE"),
    "tls_client_ca": Option(
        "tls.client_ca",
        _path,
        "Programs need a certificate that one of these has issued; their rights come from a token,"
        " or from tls.clients.",
        "--tls-client-ca FILE",
    ),
    "tls_clients": Option(
        "tls.clients",
        read_clients,
        "What programs may do without a token, by a name of their certificate: CN=common name, or"
        " DNS=one of its host names; the first entry that fits counts. Without one, and without a"
        " token, they have no rights.",
        live=True,
    ),
    "allow_insecure": Option(
        "tls.allow_insecure",
        _flag,
        "Let other computers in without TLS and tokens: anybody there can read and send.",
        "--allow-insecure",
    ),
    "log_format": Option(
        "log.format",
        _one_of(*LOG_FORMATS),
        "Lines for people, or JSON for programs; both go to stderr.",
        "--log-format text|json",
        live=True,
    ),
    "log_level": Option(
        "log.level",
        _one_of(*LOG_LEVELS),
        "What is worth a line.",
        "--log-level debug|info|warning|error",
        live=True,
    ),
}
assert list(OPTIONS) == [entry.name for entry in fields(Config)]
TABLES: Final = tuple(dict.fromkeys(option.table for option in OPTIONS.values()))


def load_config(file: Path | None, overrides: Mapping[str, object]) -> Config:
    """What a file says, or else `openmsmq.toml` in the directory; `overrides` count for more."""
    values: dict[str, Any] = {}
    for name, given in overrides.items():
        option = OPTIONS[name]
        values[name] = _read(option.flag.partition(" ")[0] or option.place, option, given)
    if file is None and "data" in values:
        file = values["data"] / CONFIG_FILE
        file = file if file.exists() else None
    values = {**(_read_file(file) if file else {}), **values}
    if "data" not in values:
        raise ConfigError("which directory? Give --data DIR, or manager.data in the file")
    return Config(**values)


def default_text(name: str) -> str:
    """The default of a field as a file would say it; empty if there is none."""
    default = next(entry.default for entry in fields(Config) if entry.name == name)
    if default is None and OPTIONS[name].read in (_PORT, _SECONDS, _not_built):
        return OFF
    if isinstance(default, bool):
        return str(default).lower()
    return str(default) if isinstance(default, str | int) else ""


def changes(old: Config, new: Config) -> list[str]:
    """The fields in which they differ."""
    return [name for name in OPTIONS if getattr(old, name) != getattr(new, name)]


def split_address(text: str, port: int) -> tuple[str, int]:
    """Host and port of `HOST[:PORT]`, where `port` is the one if none is given."""
    found = _ADDRESS.fullmatch(text)
    if found is None:
        raise ValueError(f"{text}: HOST or HOST:PORT is needed, with [] around an IPv6 address")
    number = int(found["port"] or port)
    if not 1 <= number <= _PORT_MAX:
        raise ValueError(f"{text}: a port is a number from 1 to {_PORT_MAX}")
    return found["six"] or found["host"], number


def _read_file(file: Path) -> dict[str, Any]:
    try:
        document = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{file}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file}: {error}") from error
    _check_names(file, "", document, TABLES)
    found = {}
    for table, values in document.items():
        if not isinstance(values, dict):
            raise ConfigError(f"{file}: {table}: a table is needed")
        options = {o.key: (name, o) for name, o in OPTIONS.items() if o.table == table}
        _check_names(file, f"{table}.", values, options)
        for key, given in values.items():
            name, option = options[key]
            value = _read(f"{file}: {option.place}", option, given)
            found[name] = file.parent / value if isinstance(value, Path) else value
    return found


def _read(where: str, option: Option, given: object) -> object:
    try:
        return option.read(given)
    except ValueError as error:
        raise ConfigError(f"{where}: {error}, not {given!r}") from None


def _check_names(file: Path, where: str, table: Iterable[str], known: Iterable[str]) -> None:
    known = list(known)
    for name in table:
        if name not in known:
            near = get_close_matches(name, known, 1)
            hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(known)}"
            raise ConfigError(f"{file}: {where}{name}: no such key; {hint}")
