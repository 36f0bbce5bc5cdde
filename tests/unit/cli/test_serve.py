"""`openmsmq serve`: what it starts; e2e tests see it run."""

from __future__ import annotations

import asyncio
import gc
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from click.testing import CliRunner
from tests.unit.cli.commands import Cli

from openmsmq.cli import serve as module
from openmsmq.cli.main import main
from openmsmq.service.configuration import Config, ConfigError
from openmsmq.service.descriptors import needed
from openmsmq.service.options import OPTIONS
from openmsmq.service.values import PeerEntry


class Started:
    """Stands for the service, and keeps what it is given."""

    config: Config
    reload: Callable[[], Config]
    logs: tuple[Any, ...] = ()
    loop: asyncio.AbstractEventLoop
    collects_after = 0

    def __call__(
        self, config: Config, listeners: object, *, reload: Callable[[], Config]
    ) -> Started:
        self.config, self.reload = config, reload
        return self

    def make_listeners(
        self, config: Config, descriptors: int, pages: object = None, *, reload: object = None
    ) -> Config:
        self.descriptors = descriptors
        return config

    async def run(self) -> None:
        """Nothing happens."""
        self.loop = asyncio.get_running_loop()
        self.collects_after = gc.get_threshold()[0]

    def set_up_logs(self, *given: object) -> None:
        self.logs = given[:2]


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Iterator[Started]:
    """What the service is started with; the process of the tests is as it was when it is over."""
    started, thresholds = Started(), gc.get_threshold()
    monkeypatch.setitem(sys.modules, "uvloop", None)
    monkeypatch.setattr(module, "Service", started)
    monkeypatch.setattr(module, "StandardListeners", started.make_listeners)
    monkeypatch.setattr(module, "raise_limit", lambda wanted: wanted + 1)
    monkeypatch.setattr(module, "set_up_logs", started.set_up_logs)
    yield started
    gc.unfreeze()
    gc.set_threshold(*thresholds)


def test_a_quicker_event_loop_is_used_where_it_is_installed(
    cli: Cli, started: Started, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Quick(asyncio.SelectorEventLoop):
        """Stands for it."""

    cli("serve")
    assert not isinstance(started.loop, Quick)
    found = ModuleType("uvloop")
    found.new_event_loop = Quick  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "uvloop", found)
    cli("serve")
    assert isinstance(started.loop, Quick)
    cli("serve", "--event-loop", "asyncio")
    assert not isinstance(started.loop, Quick)


def test_the_garbage_collector_looks_less_often(cli: Cli, started: Started) -> None:
    cli("serve")
    assert started.collects_after == module.COLLECTIONS[0]


def test_there_are_to_be_descriptors_for_all_connections(cli: Cli, started: Started) -> None:
    cli("serve")
    assert started.descriptors == needed(started.config) + 1


def test_a_directory_is_enough(cli: Cli, started: Started) -> None:
    cli("serve")
    assert started.config == Config(data=cli.directory)
    assert started.logs == ("text", "info")


def test_every_option_reaches_the_service(cli: Cli, started: Started, tmp_path: Path) -> None:
    cli(
        "serve", "--data", "other", "--name", "shop01", "--alias", "a", "--alias", "b",
        "--bind", "::1", "--peer", "office=10.0.0.7:1801", "--peer", "depot=depot.example",
        "--ready-file", "ready", "--retry", "--app-port", "0", "--app-socket", "app.sock",
        "--console-port", "OFF", "--binary-port", "off", "--ping-port", "3527", "--rpc-port", "off",
        "--binary-bind", "::2", "--record", "recorded",
        "--srmp-port", "off", "--tls-cert", "c", "--tls-key", "k", "--tls-client-ca", "ca",
        "--allow-insecure", "--log-format", "json", "--log-level", "debug",
    )  # fmt: skip
    assert started.config == Config(
        data=Path("other"),
        name="shop01",
        aliases=("a", "b"),
        bind="::1",
        peers={"office": PeerEntry("10.0.0.7:1801"), "depot": PeerEntry("depot.example")},
        ready_file=Path("ready"),
        retry=True,
        app_port=0,
        app_socket=Path("app.sock"),
        console_port=None,
        binary_port=None,
        binary_bind="::2",
        record=Path("recorded"),
        ping_port=3527,
        tls_cert=Path("c"),
        tls_key=Path("k"),
        tls_client_ca=Path("ca"),
        allow_insecure=True,
        log_format="json",
        log_level="debug",
    )
    assert started.logs == ("json", "debug")


@pytest.mark.parametrize("name", [name for name, option in OPTIONS.items() if option.flag])
def test_the_help_tells_every_option(name: str) -> None:
    shown = " ".join(CliRunner().invoke(main, ["serve", "--help"]).stdout.split())
    flag, _, metavar = OPTIONS[name].flag.partition(" ")
    assert flag.replace("/", " / ") in shown
    assert metavar in shown
    assert OPTIONS[name].help in shown


def test_options_count_for_more_than_the_file(cli: Cli, started: Started, tmp_path: Path) -> None:
    file = tmp_path / "some.toml"
    file.write_text('[manager]\ndata = "here"\nretry = true\nname = "a"\n[app]\nport = 5\n')
    CliRunner().invoke(main, ["serve", "--config", str(file)], catch_exceptions=False)
    assert started.config == Config(data=tmp_path / "here", retry=True, name="a", app_port=5)
    cli("serve", "--config", str(file), "--no-retry", "--app-port", "6")
    assert started.config == Config(data=cli.directory, name="a", app_port=6)


def test_the_file_is_read_again_under_the_same_options(cli: Cli, started: Started) -> None:
    cli("serve", "--name", "a")
    cli.directory.mkdir()
    file = cli.directory / "openmsmq.toml"
    file.write_text('[manager]\nname = "b"\n[log]\nlevel = "error"\n')
    assert started.reload() == Config(data=cli.directory, name="a", log_level="error")
    file.write_text("nonsense")
    with pytest.raises(ConfigError):
        started.reload()


@pytest.mark.parametrize(
    "options",
    [
        ["--app-port", "65536"],
        ["--app-port", "x"],
        ["--peer", "office"],
        ["--peer", "=x"],
        ["--peer", "office="],
        ["--log-format", "xml"],
        ["--log-level", "loud"],
        ["--nonsense"],
    ],
    ids=" ".join,
)
def test_what_makes_no_sense_is_wrong_usage(cli: Cli, started: Started, options: list[str]) -> None:
    cli("serve", *options, code=2)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--tls-cert", "c"], "tls.cert and tls.key are needed together"),
        (["--config", "missing.toml"], "missing.toml: No such file or directory"),
        (["--name", "a\\b"], "--name: the name of a computer is needed"),
        (["--peer", "a=b:0"], "--peer: b:0: a port is a number from 1 to 65535"),
    ],
)
def test_what_cannot_be_is_refused_in_words(
    cli: Cli, started: Started, options: list[str], words: str
) -> None:
    done = cli("serve", *options, code=1)
    assert "openmsmq: ConfigError (0xC00E0006): " in done.stderr
    assert words in done.stderr


def test_it_needs_a_directory(started: Started, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENMSMQ_DATA", raising=False)
    done = CliRunner().invoke(main, ["serve"])
    assert done.exit_code == 1
    assert "which directory? Give --data DIR" in done.stderr
    monkeypatch.setenv("OPENMSMQ_DATA", "somewhere")
    assert CliRunner().invoke(main, ["serve"]).exit_code == 0
    assert started.config.data == Path("somewhere")


def test_a_bad_certificate_is_refused(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "bad.pem").write_text("nonsense")
    bad = str(tmp_path / "bad.pem")
    done = cli("serve", "--tls-cert", bad, "--tls-key", bad, code=1)
    assert "bad.pem" in done.stderr
    assert not cli.directory.exists()
