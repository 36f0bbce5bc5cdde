"""`openmsmq manage`, against a manager that takes remote calls."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from tests.unit.client.management._sync.test_management import OFFICE, send_away
from tests.unit.client.remote_read.managers import RemoteManager, remote_manager

from openmsmq.cli.main import main


@pytest.fixture
def elsewhere(tmp_path: Path) -> Iterator[RemoteManager]:
    with remote_manager(tmp_path, is_mapped=True) as made:
        made.users.add("root", "secret", "admin")
        yield made


def manage(elsewhere: RemoteManager, *words: str, user: str = "root") -> Result:
    options = ("--user", user, "--password-stdin", "--computer", "HOST")
    place = ("--mapper-port", str(elsewhere.mapper_port))
    args = ["manage", "127.0.0.1", *words, *options, *place]
    return CliRunner().invoke(main, args, input="secret\n")


def done(result: Result) -> str:
    assert result.exit_code == 0, result.output
    return result.stdout


def test_figures_are_shown(elsewhere: RemoteManager) -> None:
    elsewhere.send("a", "b")
    send_away(elsewhere)
    assert "connected" in done(manage(elsewhere, "show"))
    assert json.loads(done(manage(elsewhere, "show", "--json")))["connected"] is True
    listed = done(manage(elsewhere, "queues"))
    assert r"HOST\private$\orders" in listed
    assert OFFICE in listed
    lines = done(manage(elsewhere, "queues", "--json")).splitlines()
    assert {json.loads(line)["messages"] for line in lines} == {0, 1, 2}
    shown = done(manage(elsewhere, "queue", "orders"))
    assert "2 messages" in shown
    found = json.loads(done(manage(elsewhere, "queue", "orders", "--json")))
    assert (found["messages"], found["state"]) == (2, "LOCAL CONNECTION")


def test_actions_say_what_they_did(elsewhere: RemoteManager) -> None:
    send_away(elsewhere)
    assert done(manage(elsewhere, "pause", OFFICE)) == f"paused {OFFICE}\n"
    assert "onhold" in done(manage(elsewhere, "queue", OFFICE))
    assert done(manage(elsewhere, "resume", OFFICE)) == f"resumed {OFFICE}\n"
    assert done(manage(elsewhere, "resend", OFFICE)) == f"sent again {OFFICE}\n"
    assert done(manage(elsewhere, "disconnect")) == "disconnected\n"
    assert "disconnected" in done(manage(elsewhere, "show"))
    assert done(manage(elsewhere, "connect")) == "connected\n"
    assert done(manage(elsewhere, "tidy")) == "tidied\n"


def test_refusals_are_errors(elsewhere: RemoteManager) -> None:
    refused = manage(elsewhere, "pause", "orders")
    assert refused.exit_code == 1
    assert "0xC00E0004" in refused.stderr
    refused = manage(elsewhere, "show", user="alice")
    assert refused.exit_code == 1
    assert "0xC00E0025" in refused.stderr


def test_the_password_is_asked_for(elsewhere: RemoteManager) -> None:
    options = ("--user", "root", "--port", str(elsewhere.port), "--computer", "HOST")
    args = ["manage", "127.0.0.1", "show", *options]
    result = CliRunner().invoke(main, args, input="secret\n")
    assert result.exit_code == 0
    assert "Password" in result.stderr
