"""What a service is given: in a file, on the command line, or not at all."""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import fields
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from openmsmq.service.configuration import (
    CONFIG_FILE,
    LOOPBACK,
    Config,
    ConfigError,
    changes,
    default_text,
    load_config,
)
from openmsmq.service.options import OPTIONS
from openmsmq.service.values import PeerEntry
from openmsmq.types.caller import Grant

EVERYTHING = """
[manager]
data = "store"
name = "shop01"
aliases = ["shop", "shop01.example"]
bind = "0.0.0.0"
peers = { office = "10.0.0.7:1801", depot = "depot.example" }
ready_file = "/run/ready.json"
retry = false
[app]
port = 0
socket = "app.sock"
clients_max = 5
requests_max = 6
request_bytes_max = 7
idle_transaction_limit = 60
abandon_prepared_after = 3600
[console]
port = "off"
[binary]
port = "off"
bind = "127.0.0.2"
sessions_max = 8
pending_bytes_max = 9000000
answers_early = false
record = "recorded"
[ping]
port = 3527
[tls]
cert = "server.pem"
key = "server.key"
client_ca = "ca.pem"
clients = { "CN=web shop" = ["send"] }
allow_insecure = true
[log]
format = "json"
level = "debug"
"""


def write(folder: Path, text: str) -> Path:
    """A file that says so."""
    file = folder / "some.toml"
    file.write_text(text)
    return file


def refusal(folder: Path, text: str) -> str:
    """Why a file is refused."""
    with pytest.raises(ConfigError) as info:
        load_config(write(folder, text), {"data": folder})
    assert str(folder / "some.toml") in info.value.detail
    return info.value.detail.removeprefix(f"{folder / 'some.toml'}: ")


def test_a_directory_is_enough(tmp_path: Path) -> None:
    """MQQB-003: others are let in at port 1801."""
    config = load_config(None, {"data": tmp_path})
    assert config == Config(data=tmp_path)
    assert (config.bind, config.app_port, config.console_port) == ("127.0.0.1", 1811, 1810)
    assert config.binary_port == 1801
    assert config.ping_port is config.rpc_port is config.srmp_port is None


@pytest.mark.parametrize(
    ("bind", "rpc_bind", "host"),
    [
        ("127.0.0.1", None, "127.0.0.1"),
        ("127.0.0.5", None, "127.0.0.5"),
        ("0.0.0.0", None, "127.0.0.1"),
        ("0.0.0.0", "192.0.2.1", "192.0.2.1"),
    ],
)
def test_remote_calls_are_taken_from_other_computers_only_if_that_is_asked_for(
    tmp_path: Path, bind: str, rpc_bind: str | None, host: str
) -> None:
    assert Config(data=tmp_path, bind=bind, rpc_bind=rpc_bind).rpc_host == host


def test_without_a_directory_there_is_no_manager(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="which directory"):
        load_config(None, {})
    with pytest.raises(ConfigError, match="which directory"):
        load_config(write(tmp_path, "[app]\nport = 1\n"), {})


def test_a_file_says_everything_and_its_paths_are_beside_it(tmp_path: Path) -> None:
    assert load_config(write(tmp_path, EVERYTHING), {}) == Config(
        data=tmp_path / "store",
        name="shop01",
        aliases=("shop", "shop01.example"),
        bind="0.0.0.0",
        peers={"office": PeerEntry("10.0.0.7:1801"), "depot": PeerEntry("depot.example")},
        ready_file=Path("/run/ready.json"),
        retry=False,
        app_port=0,
        app_socket=tmp_path / "app.sock",
        clients_max=5,
        requests_max=6,
        request_bytes_max=7,
        idle_transaction_limit=60,
        abandon_prepared_after=3600,
        console_port=None,
        binary_port=None,
        binary_bind="127.0.0.2",
        sessions_max=8,
        pending_bytes_max=9_000_000,
        answers_early=False,
        record=tmp_path / "recorded",
        ping_port=3527,
        tls_cert=tmp_path / "server.pem",
        tls_key=tmp_path / "server.key",
        tls_client_ca=tmp_path / "ca.pem",
        tls_clients={"CN=web shop": Grant("send", certificate="CN=web shop")},
        allow_insecure=True,
        log_format="json",
        log_level="debug",
    )


def test_options_count_for_more_than_the_file(tmp_path: Path) -> None:
    file = write(tmp_path, EVERYTHING)
    given = {"data": Path("other"), "app_port": "off", "console_port": 7, "peers": {"a": "b"}}
    config = load_config(file, given)
    assert (config.data, config.app_port, config.console_port) == (Path("other"), None, 7)
    assert config.peers == {"a": PeerEntry("b")}, "whole, not one by one"
    assert config.name == "shop01"


def test_the_file_in_the_directory_is_read_unless_another_is_named(tmp_path: Path) -> None:
    (tmp_path / CONFIG_FILE).write_text('[manager]\nname = "inside"\n')
    assert load_config(None, {"data": tmp_path}).name == "inside"
    other = write(tmp_path, '[app]\nsocket = "s"\n')
    assert load_config(other, {"data": tmp_path}).name is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[manger]\n", "manger: no such key; did you mean manager?"),
        ("[xyz]\n", "xyz: no such key; there are manager, app, console, binary, ping, rpc"),
        ("[app]\nprot = 1\n", "app.prot: no such key; did you mean port?"),
        ("app = 1\n", "app: a table is needed"),
        ("[app]\nport = 65536\n", 'app.port: a whole number from 0 to 65535, or "off" is needed'),
        ("[app]\nport = true\n", 'a whole number from 0 to 65535, or "off" is needed, not True'),
        ('[app]\nport = "1811"\n', "not '1811'"),
        ("[app]\nclients_max = 0\n", "a whole number from 1 to"),
        ("[app]\nidle_transaction_limit = 0.5\n", "app.idle_transaction_limit: a whole number"),
        ("[binary]\nport = -1\n", "binary.port: a whole number from 0 to 65535"),
        ("[binary]\nsessions_max = 0\n", "binary.sessions_max: a whole number from 1 to"),
        ("[ping]\nport = 65536\n", "ping.port: a whole number from 0 to 65535"),
        ("[rpc]\nport = 65536\n", "rpc.port: a whole number from 0 to 65535"),
        ("[manager]\nname = 5\n", "manager.name: a text is needed, not 5"),
        ('[manager]\nname = ""\n', "manager.name: a text is needed"),
        ('[manager]\nname = "a\\\\b"\n', "manager.name: the name of a computer is needed"),
        ('[manager]\naliases = "a"\n', "manager.aliases: a list of names is needed"),
        ('[manager]\nready_file = " x"\n', "manager.ready_file: a text is needed"),
        ('[manager]\nretry = "no"\n', "manager.retry: true or false is needed"),
        ("[manager]\npeers = 1\n", "manager.peers: a table of different names"),
        ('[manager]\npeers = {a = "x", A = "y"}\n', "manager.peers: a table of different names"),
        ('[manager]\npeers = {a = "x:0"}\n', "manager.peers: x:0: a port is a number"),
        ('[log]\nformat = "xml"\n', "log.format: one of text, json is needed, not 'xml'"),
        ("[log\n", "Expected ']'"),
    ],
)
def test_a_file_that_makes_no_sense_is_refused_in_words(
    tmp_path: Path, text: str, words: str
) -> None:
    assert words in refusal(tmp_path, text)


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"missing\.toml: No such file"):
        load_config(tmp_path / "missing.toml", {})
    (tmp_path / "latin.toml").write_bytes(b'[manager]\nname = "\xe4"\n')
    with pytest.raises(ConfigError, match=r"latin\.toml: .*codec"):
        load_config(tmp_path / "latin.toml", {})


def test_a_refused_option_is_named_as_it_was_given(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="--rpc-port: a whole number"):
        load_config(None, {"data": tmp_path, "rpc_port": -1})
    with pytest.raises(ConfigError, match=r"app\.clients_max: a whole number"):
        load_config(None, {"data": tmp_path, "clients_max": 0})


@pytest.mark.parametrize(
    "text",
    ['[tls]\ncert = "c"\n', '[tls]\nkey = "k"\n', '[tls]\nclient_ca = "a"\n'],
    ids=["no key", "no certificate", "only others"],
)
def test_half_of_a_certificate_is_none(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigError, match=r"tls\.cert and tls\.key"):
        load_config(write(tmp_path, text), {"data": tmp_path})


def test_rights_of_certificates_need_a_client_ca(tmp_path: Path) -> None:
    text = '[tls]\ncert = "c"\nkey = "k"\nclients = { "CN=x" = ["read"] }\n'
    with pytest.raises(ConfigError, match=r"tls\.clients needs tls\.client_ca"):
        load_config(write(tmp_path, text), {"data": tmp_path})


@pytest.mark.parametrize(
    ("bind", "local"),
    [
        ("127.0.0.1", True),
        ("127.9.9.9", True),
        ("::1", True),
        ("LocalHost", True),
        ("0.0.0.0", False),
        ("::", False),
        ("10.0.0.1", False),
        ("localhost.example", False),
    ],
)
def test_whether_others_can_reach_it(bind: str, *, local: bool) -> None:
    assert Config(data=Path("d"), bind=bind).is_local is local


@pytest.mark.parametrize(
    ("bind", "binary_bind", "own"),
    [
        ("127.0.0.1", None, ("127.0.0.1",)),
        ("127.0.0.2", None, ("127.0.0.2",)),
        ("0.0.0.0", "127.0.0.2", ("127.0.0.2",)),
        ("127.0.0.2", "10.0.0.1", LOOPBACK),
        ("0.0.0.0", None, ("127.0.0.1",)),
        ("0.0.0.0", "0.0.0.0", LOOPBACK),
        ("::1", None, ("::1",)),
        ("localhost", None, LOOPBACK),
    ],
)
def test_which_addresses_of_this_computer_mean_the_manager(
    bind: str, binary_bind: str | None, own: tuple[str, ...]
) -> None:
    """Managers that share a computer have addresses of their own."""
    assert Config(data=Path("d"), bind=bind, binary_bind=binary_bind).own_addresses == own


@pytest.mark.parametrize(
    ("bind", "binary_bind", "bound"),
    [
        ("127.0.0.1", None, "127.0.0.1"),
        ("127.0.0.2", None, "127.0.0.2"),
        ("::1", None, "::1"),
        ("localhost", None, "localhost"),
        ("0.0.0.0", None, "127.0.0.1"),
        ("::", None, "127.0.0.1"),
        ("192.0.2.1", None, "127.0.0.1"),
        ("shop01", None, "127.0.0.1"),
        ("0.0.0.0", "0.0.0.0", "0.0.0.0"),
        ("127.0.0.1", "192.0.2.1", "192.0.2.1"),
    ],
)
def test_other_managers_are_let_in_from_elsewhere_only_where_that_is_said(
    bind: str, binary_bind: str | None, bound: str
) -> None:
    """Their protocol has no login: an address for TLS and tokens is not theirs as well."""
    assert Config(data=Path("d"), bind=bind, binary_bind=binary_bind).peer_bind == bound


def test_changes_are_found_by_name() -> None:
    old = Config(data=Path("d"))
    assert changes(old, old) == []
    new = Config(data=Path("d"), log_level="debug", app_port=5)
    assert changes(old, new) == ["app_port", "log_level"]


def test_defaults_are_said_as_a_file_would() -> None:
    said = {name: default_text(name) for name in OPTIONS}
    assert said["app_port"] == "1811"
    assert said["binary_port"] == "1801"
    assert said["ping_port"] == said["idle_transaction_limit"] == "off"
    assert said["retry"] == "false"
    assert said["bind"] == "127.0.0.1"
    assert said["data"] == said["name"] == said["peers"] == said["tls_cert"] == ""


@pytest.mark.parametrize("name", list(OPTIONS))
def test_a_default_can_be_said_in_a_file(name: str) -> None:
    default = next(field.default for field in fields(Config) if field.name == name)
    text = default_text(name)
    if text:
        value: object = text == "true" if text in ("true", "false") else text
        if text.startswith("["):
            value = json.loads(text)
        assert OPTIONS[name].read(int(text) if text.isdigit() else value) == default


@given(st.dictionaries(st.sampled_from(list(OPTIONS)), st.none() | st.booleans() | st.text()))
def test_any_value_is_taken_or_refused_as_a_configuration(given: dict[str, object]) -> None:
    with suppress(ConfigError):
        load_config(None, {**given, "data": Path("nowhere")})
