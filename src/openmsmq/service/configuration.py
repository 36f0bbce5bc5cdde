"""What a queue manager that runs as a service can be told: in a file, or on the command line."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Final, Literal

from openmsmq.access.certificates import read_clients
from openmsmq.engine.arrivals.peers import Identity
from openmsmq.errors import InvalidParameter
from openmsmq.limits import U16_MAX
from openmsmq.names.parts import host_key
from openmsmq.service.values import (
    OFF,
    PeerEntry,
    Read,
    one_of,
    read_computer,
    read_computers,
    read_flag,
    read_identity,
    read_path,
    read_peers,
    read_text,
    whole,
    whole_or_off,
)
from openmsmq.types.caller import Grant

CONFIG_FILE: Final = "openmsmq.toml"
"In the directory of the manager; read if no other file is named."
LOOPBACK: Final = ("127.0.0.1", "::1")
LOG_FORMATS: Final = ("text", "json")
LOG_LEVELS: Final = ("debug", "info", "warning", "error")
_SECONDS_MAX: Final = 10**9


class ConfigError(InvalidParameter):
    """Invalid configuration."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """All that a service is told before it starts; `OPTIONS` says what each of it means."""

    data: Path
    name: str | None = None
    aliases: tuple[str, ...] = ()
    bind: str = "127.0.0.1"
    peers: Mapping[str, PeerEntry] = field(default_factory=dict)
    restored: bool = False
    ready_file: Path | None = None
    retry: bool = False

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
    identity: Identity = Identity.ADDRESS
    sessions_max: int = 10_000
    pending_bytes_max: int = 64 << 20
    answers_early: bool = True
    ignore_os_name_validation: bool = False
    record: Path | None = None
    ping_port: int | None = None
    rpc_port: int | None = None
    rpc_alternate_port: int | None = None
    endpoint_mapper_port: int | None = None
    rpc_bind: str | None = None
    rpc_connections_max: int = 1000
    rpc_allow_unauthenticated: bool = False
    rpc_deny_workgroup_clients: bool = False
    rpc_allow_anonymous: bool = False
    rpc_accept_integrity: bool = False
    srmp_port: int | None = None

    tls_cert: Path | None = None
    tls_key: Path | None = None
    tls_client_ca: Path | None = None
    tls_clients: Mapping[str, Grant] = field(default_factory=dict)
    allow_insecure: bool = False

    event_loop: Literal["uvloop", "asyncio"] = "uvloop"
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
        """Whether only this computer can reach the listeners."""
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
    def rpc_host(self) -> str:
        """The address that the listeners for remote calls are bound to.

        They have logins of their own, so that an address which other computers can reach is never
        taken over from `bind`, which TLS and tokens protect.
        """
        if self.rpc_bind is not None:
            return self.rpc_bind
        return self.bind if self.is_local else LOOPBACK[0]

    @property
    def takes_remote_calls(self) -> bool:
        """Whether any of the listeners for remote calls is on."""
        ports = self.rpc_port, self.rpc_alternate_port, self.endpoint_mapper_port
        return any(port is not None for port in ports)

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


_PORT: Final = whole_or_off(0, U16_MAX)
_LIMIT: Final = whole(1, 1 << 40)
_SECONDS: Final = whole_or_off(1, _SECONDS_MAX)

OPTIONS: Final[Mapping[str, Option]] = {
    "data": Option("manager.data", read_path, "The directory of the queue manager.", "--data DIR"),
    "name": Option(
        "manager.name",
        read_computer,
        "What other computers call this one; if it is not given, the host's own name.",
        "--name NAME",
    ),
    "aliases": Option(
        "manager.aliases", read_computers, "Other names that mean this computer.", "--alias NAME"
    ),
    "bind": Option(
        "manager.bind",
        read_text,
        "The address of the listeners for programs and of the console; the one for other queue"
        " managers too, if only this computer can reach it.",
        "--bind ADDRESS",
    ),
    "peers": Option(
        "manager.peers",
        read_peers,
        "Where other computers are, if DNS does not say so. In a file also"
        ' NAME = { address = "HOST:PORT", id = "GUID", relay = true }: which queue manager must'
        " answer there, and whether it may bring messages of others.",
        "--peer NAME=HOST[:PORT]",
    ),
    "restored": Option(
        "manager.restored",
        read_flag,
        "The directory is a copy, or the machine was rolled back: other managers know more of this"
        " one than it does itself. For one start only; openmsmq restore says so by itself.",
        "--restored",
    ),
    "ready_file": Option(
        "manager.ready_file",
        read_path,
        "Gets process, identity and addresses in JSON when all listeners are open.",
        "--ready-file FILE",
    ),
    "retry": Option(
        "manager.retry",
        read_flag,
        "Retry to open a store that is in use or fails, after 2 minutes, then every 15.",
        "--retry/--no-retry",
    ),
    "app_port": Option("app.port", _PORT, "For programs.", "--app-port PORT"),
    "app_socket": Option(
        "app.socket", read_path, "A Unix socket for programs, beside the port.", "--app-socket PATH"
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
        read_text,
        "The address of the listeners for other queue managers (binary, ping); else that of"
        " --bind if it is a loopback address, or 127.0.0.1. The protocol has no encryption and no"
        " login: any computer that can reach the address can send messages to every queue that"
        " takes them.",
        "--binary-bind ADDRESS",
    ),
    "identity": Option(
        "binary.identity",
        read_identity,
        "What is asked of a session before it may speak for the queue manager that it names:"
        " claimed (nothing), address (it comes from where that manager answered, if it was ever"
        " dialled) or pinned (peers names its id).",
    ),
    "sessions_max": Option(
        "binary.sessions_max", _LIMIT, "Connections of other queue managers at a time."
    ),
    "pending_bytes_max": Option(
        "binary.pending_bytes_max",
        whole(8 << 20, 1 << 40),
        "Bytes of unfinished packets, over all sessions; beyond it sessions are closed, those of"
        " managers that this one does not know first.",
    ),
    "answers_early": Option(
        "binary.answers_early",
        read_flag,
        "A message that comes without a greeting is answered, though not taken, as MSMQ does.",
    ),
    "ignore_os_name_validation": Option(
        "binary.ignore_os_name_validation",
        read_flag,
        "Take messages for DIRECT=OS: names of other computers, as MSMQ does if set so.",
    ),
    "record": Option(
        "binary.record",
        read_path,
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
        _PORT,
        "For remote calls: other queue managers and programs that read queues here; MSMQ uses 2105."
        " They log on with NTLM (openmsmq user add).",
        "--rpc-port PORT",
    ),
    "rpc_alternate_port": Option(
        "rpc.alternate_port",
        _PORT,
        "A second port for remote calls; MSMQ uses 2103, and clients are told this one.",
        "--rpc-alternate-port PORT",
    ),
    "endpoint_mapper_port": Option(
        "rpc.endpoint_mapper_port",
        _PORT,
        "Answers clients that ask for the ports of remote calls; they ask at 135, which needs root"
        " or CAP_NET_BIND_SERVICE.",
        "--endpoint-mapper-port PORT",
    ),
    "rpc_bind": Option(
        "rpc.bind",
        read_text,
        "The address that remote calls are taken at; else that of --bind if it is a loopback"
        " address, or 127.0.0.1.",
        "--rpc-bind ADDRESS",
    ),
    "rpc_connections_max": Option(
        "rpc.connections_max", _LIMIT, "Connections at each of these ports at a time."
    ),
    "rpc_allow_unauthenticated": Option(
        "rpc.allow_unauthenticated",
        read_flag,
        "Take remote calls without a login and without encryption, with the role of the user"
        " anonymous (AllowNonauthenticatedRpc of MSMQ).",
    ),
    "rpc_deny_workgroup_clients": Option(
        "rpc.deny_workgroup_clients",
        read_flag,
        "Where calls without a login are taken, only from clients that are in no domain"
        " (NewRemoteReadServerDenyWorkgroupClient of MSMQ, whose rule this is).",
    ),
    "rpc_allow_anonymous": Option(
        "rpc.allow_anonymous",
        read_flag,
        "Take calls without a login for queues that the user anonymous may read"
        " (NewRemoteReadServerAllowNoneSecurityClient of MSMQ).",
    ),
    "rpc_accept_integrity": Option(
        "rpc.accept_integrity",
        read_flag,
        "Take calls of other computers that are signed and not encrypted (DebugRpc of MSMQ).",
    ),
    "srmp_port": Option(
        "srmp.port",
        _PORT,
        "Takes messages over HTTP, and sends to DIRECT=HTTP names.",
        "--srmp-port PORT",
    ),
    "tls_cert": Option(
        "tls.cert",
        read_path,
        "The certificate of this computer, in PEM, and those it was issued with.",
        "--tls-cert FILE",
    ),
    "tls_key": Option(
        "tls.key", read_path, "The key of the certificate, in PEM.", "--tls-key FILE"
    ),
    "tls_client_ca": Option(
        "tls.client_ca",
        read_path,
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
        read_flag,
        "Let other computers in without TLS and tokens: anybody there can read and send.",
        "--allow-insecure",
    ),
    "event_loop": Option(
        "manager.event_loop",
        one_of("uvloop", "asyncio"),
        "uvloop takes less processor time; asyncio, Python's own, is used where uvloop is not"
        " installed.",
        "--event-loop uvloop|asyncio",
    ),
    "log_format": Option(
        "log.format",
        one_of(*LOG_FORMATS),
        "Lines for people, or JSON for programs; both go to stderr.",
        "--log-format text|json",
        live=True,
    ),
    "log_level": Option(
        "log.level",
        one_of(*LOG_LEVELS),
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
    if default is None and OPTIONS[name].read in (_PORT, _SECONDS):
        return OFF
    if isinstance(default, bool):
        return str(default).lower()
    return str(default) if isinstance(default, str | int) else ""


def changes(old: Config, new: Config) -> list[str]:
    """The fields in which they differ."""
    return [name for name in OPTIONS if getattr(old, name) != getattr(new, name)]


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
