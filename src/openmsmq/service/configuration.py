"""The configuration of a service: from a file, or from the command line."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Final, Literal

from openmsmq.engine.arrivals.peers import Identity
from openmsmq.errors import InvalidParameter
from openmsmq.names.parts import host_key
from openmsmq.net.addresses import is_loopback
from openmsmq.service.option import Option
from openmsmq.service.options import OPTIONS, PORT, SECONDS, TABLES
from openmsmq.service.values import (
    OFF,
    ConsoleManagerEntry,
    HttpDestination,
    PeerEntry,
    ProxyEntry,
    RemoteManagerEntry,
)
from openmsmq.toml import read_toml
from openmsmq.transports.pgm.limits import WINDOW_BYTES_MAX
from openmsmq.types.caller import Grant

CONFIG_FILE: Final = "openmsmq.toml"
"In the directory of the manager; read if no other file is named."
LOOPBACK: Final = ("127.0.0.1", "::1")


class ConfigError(InvalidParameter):
    """Invalid configuration."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """The configuration of a service; `OPTIONS` says what each field means."""

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
    app_socket_for: Literal["owner", "group", "everyone"] = "owner"
    loopback: Literal["admin", "anonymous"] = "admin"
    clients_max: int = 10_000
    requests_max: int = 1024
    request_bytes_max: int = 16 << 20
    idle_transaction_limit: int | None = None
    abandon_prepared_after: int | None = None

    console_port: int | None = 1810
    console_hosts: tuple[str, ...] = ()
    console_read_only: bool = False
    console_masks: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    console_proxy: ProxyEntry | None = None
    console_managers: Mapping[str, ConsoleManagerEntry] = field(default_factory=dict)
    console_audit_reads: bool = False
    binary_port: int | None = 1801
    binary_bind: str | None = None
    binary_tls_port: int | None = None
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
    rpc_keytab: Path | None = None
    supporting_server: bool = False
    supporting_clients_max: int = 100
    rpc_managers: Mapping[str, RemoteManagerEntry] = field(default_factory=dict)
    srmp_port: int | None = None
    srmp_bind: str | None = None
    srmp_url: str | None = None
    srmp_ca: Path | None = None
    srmp_proxy: str | None = None
    srmp_posts_max: int = 64
    srmp_destinations: Mapping[str, HttpDestination] = field(default_factory=dict)
    srmp_redirect_outgoing: Mapping[str, str] = field(default_factory=dict)
    srmp_redirect_except: tuple[str, ...] = ()
    srmp_redirect_incoming: Mapping[str, str] = field(default_factory=dict)
    srmp_forward: tuple[str, ...] = ()
    srmp_receipt_urls: Mapping[str, str] = field(default_factory=dict)
    srmp_retry_after: int = 20
    srmp_resend_after: tuple[int, ...] = (30, 30, 30, 300, 300, 300, 1800, 1800, 1800, 21600)
    srmp_disconnect_after: int = 300
    srmp_signing_key: Path | None = None
    srmp_senders: Mapping[str, Path] = field(default_factory=dict)
    multicast: Literal["off", "raw", "udp"] = "off"
    multicast_interface: str | None = None
    multicast_udp_port: int = 3056
    multicast_rate: int = 70
    multicast_window: int = 300
    multicast_ttl: int = 16
    multicast_sources: tuple[str, ...] = ()
    multicast_relays: bool = False
    multicast_router_alert: bool = True

    tls_cert: Path | None = None
    tls_key: Path | None = None
    tls_client_ca: Path | None = None
    tls_clients: Mapping[str, Grant] = field(default_factory=dict)
    allow_insecure: bool = False

    security_signatures: tuple[str, ...] = ("2.0", "3.0")
    security_hashes: tuple[str, ...] = ("sha512", "sha256")
    security_key_bits_min: int = 2048
    security_ciphers: tuple[str, ...] = ("aes",)
    security_accept_unidentified: bool = False
    security_replay_window: int | None = None
    security_encrypt_direct: bool = False
    security_session_key_lifetime: int = 0

    directory: tuple[str, ...] = ()
    directory_site: str | None = None
    directory_auth: Literal["password", "ntlm", "kerberos"] = "kerberos"
    directory_user: str | None = None
    directory_password_file: Path | None = None
    directory_keytab: Path | None = None
    directory_ca: Path | None = None

    event_loop: Literal["uvloop", "asyncio"] = "uvloop"
    log_format: Literal["text", "json"] = "text"
    log_level: Literal["debug", "info", "warning", "error"] = "info"

    def __post_init__(self) -> None:
        if (self.tls_cert is None) != (self.tls_key is None):
            raise ConfigError("tls.cert and tls.key are needed together")
        if self.tls_client_ca is not None and self.tls_cert is None:
            raise ConfigError("tls.client_ca needs tls.cert and tls.key, too")
        if (self.binary_tls_port or self.peer_certificates) and self.tls_cert is None:
            raise ConfigError("binary.tls_port and certificates of peers need tls.cert and tls.key")
        has_login = self.directory_user is not None and self.directory_password_file is not None
        if self.directory and self.directory_auth != "kerberos" and not has_login:
            raise ConfigError(
                f"directory.auth {self.directory_auth} needs directory.user and"
                " directory.password_file"
            )
        if self.tls_clients and self.tls_client_ca is None:
            raise ConfigError("tls.clients needs tls.client_ca: else no certificate is asked for")
        if self.supporting_server and not self.takes_remote_calls:
            raise ConfigError("rpc.supporting_server needs rpc.port, where its clients call")
        if self.multicast_rate * 1024 * self.multicast_window > WINDOW_BYTES_MAX:
            raise ConfigError(
                f"multicast.rate times multicast.window is {self.multicast_rate} KiB/s times"
                f" {self.multicast_window} s, more than {WINDOW_BYTES_MAX >> 20} MiB of memory for"
                " each group: take a smaller window"
            )

    @property
    def is_local(self) -> bool:
        """Whether only this computer can reach the listeners."""
        return host_key(self.bind) == host_key("localhost") or is_loopback(self.bind)

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
    def peer_certificates(self) -> dict[str, Path]:
        """The files with the certificates of other managers, by the name of the computer."""
        return {
            name: self.data / entry.certificate
            for name, entry in self.peers.items()
            if entry.certificate is not None
        }

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


assert list(OPTIONS) == [entry.name for entry in fields(Config)]


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
    if default is None and OPTIONS[name].read in (PORT, SECONDS):
        return OFF
    if isinstance(default, bool):
        return str(default).lower()
    if isinstance(default, tuple) and default:
        return json.dumps(default)
    return str(default) if isinstance(default, str | int) else ""


def changes(old: Config, new: Config) -> list[str]:
    """The fields in which they differ."""
    return [name for name in OPTIONS if getattr(old, name) != getattr(new, name)]


def _read_file(file: Path) -> dict[str, Any]:
    try:
        document = read_toml(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{file}: {error.strerror}") from error
    except ValueError as error:
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
