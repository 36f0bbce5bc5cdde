"""`openmsmq session`, `openmsmq recording` and `openmsmq configuration`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from tests.unit.app_server.test_control_calls import Dependents, sessions
from tests.unit.client.services import Service

from openmsmq.cli.main import main
from openmsmq.types.settings import ConfigurationEntry

ENTRIES = [
    ConfigurationEntry("app.port", "1811", "1811", True, False, False, "A port."),
    ConfigurationEntry("binary.port", "1801", "1802", True, True, False, "A port."),
    ConfigurationEntry("log.level", "info", "debug", True, False, True, "A level."),
]


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Service]:
    made = Service(tmp_path)
    made.server.control = sessions(tmp_path)[0]
    made.server.dependents = Dependents()
    made.server.configured = lambda: ENTRIES
    yield made
    made.close()


def run(service: Service, *arguments: str, code: int = 0) -> str:
    done = CliRunner().invoke(main, ["--manager", service.address, *arguments])
    assert done.exit_code == code, done.output
    return done.output


def objects(service: Service, *arguments: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in run(service, *arguments, "--json").splitlines()]


def test_sessions_are_listed_and_ended(service: Service) -> None:
    text = run(service, "session", "list")
    assert "10.0.0.7:1801" in text
    assert "program" in text
    assert objects(service, "session", "list")[0]["id"] == "m3"
    assert run(service, "session", "end", "m3") == "ended m3\n"
    assert "there is no session" in run(service, "session", "end", "m4", code=1)


def test_a_session_is_shown_with_its_window_and_packets_or_its_queues(service: Service) -> None:
    text = run(service, "session", "show", "m3")
    assert "SessionAck: 7 came, window 64" in text
    assert "not acknowledged" in text
    (shown,) = objects(service, "session", "show", "m3")
    assert (shown["window"], shown["packets"][0]["size"]) == (64, 36)
    assert "orders" in run(service, "session", "show", "d5")
    assert "there is no session" in run(service, "session", "show", "m4", code=1)


def test_dependent_clients_are_listed_with_what_they_wait_for(service: Service) -> None:
    text = run(service, "session", "dependents")
    assert "orders" in text
    assert "user:anna" in text
    (shown,) = objects(service, "session", "dependents")
    assert (shown["id"], shown["waiting"], shown["queues"][0]["waiting"]) == ("d5", 2, 2)
    assert run(service, "session", "end", "d5") == "ended d5\n"
    assert objects(service, "session", "dependents") == []


def test_a_recording_is_made_fetched_and_removed(service: Service, tmp_path: Path) -> None:
    name = run(service, "recording", "start", "--seconds", "9", "--peer", "10.0.0.7").strip()
    control = service.server.control
    assert control is not None
    running = control.recordings.running
    assert running is not None
    running.recorder.session(("10.0.0.1", 1), ("10.0.0.7", 2), 5.0).sent(b"hello", 5.0)
    assert "running" in run(service, "recording", "list")
    assert "1 files" in run(service, "recording", "stop", name)
    (shown,) = objects(service, "recording", "list")
    assert (shown["state"], shown["peer"]) == ("done", "10.0.0.7")
    folder = tmp_path / "traces"
    (file,) = objects(service, "recording", "fetch", name, "--to", str(folder))
    assert b"hello" in Path(file["file"]).read_bytes()
    assert "no recording" in run(service, "recording", "fetch", "x", code=1)
    assert run(service, "recording", "remove", name) == f"removed {name}\n"
    assert objects(service, "recording", "list") == []
    assert objects(service, "recording", "start")[0]["state"] == "running"


def test_the_configuration_says_what_is_to_be_done(service: Service) -> None:
    text = run(service, "configuration")
    assert "needs a restart" in text
    assert "needs a reload" in text
    assert "app.port" not in text
    assert len(objects(service, "configuration", "--all")) == 3
