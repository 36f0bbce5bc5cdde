"""What doctor says of remote read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from openmsmq.access.users import ANONYMOUS, Users
from openmsmq.cli.doctor.remote_read import remote_read_risks
from openmsmq.names.parts import host_key
from openmsmq.service.backup import write_down
from openmsmq.service.configuration import Config
from openmsmq.service.values import RemoteManagerEntry

OPEN = {"rpc_port": 2105, "rpc_bind": "0.0.0.0"}


def risks(directory: Path, **given: Any) -> list[str]:
    write_down(Config(data=directory, **given), "shop")
    return [risk.text for risk in remote_read_risks(directory)]


def test_nothing_is_said_where_nothing_is_taken(tmp_path: Path) -> None:
    assert risks(tmp_path) == []


def test_a_user_is_needed(tmp_path: Path) -> None:
    [found] = risks(tmp_path, **OPEN)
    assert "no user" in found
    Users(tmp_path).add("alice", "secret", "read")
    assert risks(tmp_path, **OPEN) == []


@pytest.mark.parametrize(
    ("switch", "words"),
    [
        ("rpc_allow_unauthenticated", "no login and no encryption"),
        ("rpc_allow_anonymous", "no login and no encryption"),
        ("rpc_accept_integrity", "need not be encrypted"),
    ],
)
def test_calls_that_are_not_protected_are_named(tmp_path: Path, switch: str, words: str) -> None:
    Users(tmp_path).add("alice", "secret", "read")
    if switch != "rpc_accept_integrity":
        Users.load(tmp_path).add(ANONYMOUS, "", "read")
    [found] = risks(tmp_path, **OPEN, **{switch: True})
    assert words in found
    assert risks(tmp_path, rpc_port=2105, **{switch: True}) == [], "loopback"


def test_an_anonymous_user_goes_with_the_switches(tmp_path: Path) -> None:
    Users(tmp_path).add("alice", "secret", "read")
    [found] = risks(tmp_path, rpc_port=2105, rpc_allow_anonymous=True)
    assert "anonymous does not exist" in found
    Users.load(tmp_path).add(ANONYMOUS, "", "read")
    [found] = risks(tmp_path, rpc_port=2105)
    assert "all remote calls need a login" in found


def test_passwords_that_others_can_read_or_that_are_missing_are_named(tmp_path: Path) -> None:
    entry = RemoteManagerEntry("backend", Path("shop02.password"))
    managers = {host_key("shop02"): entry}
    [found] = risks(tmp_path, rpc_managers=managers)
    assert "cannot be read: there is no" in found
    (tmp_path / "shop02.password").write_text("secret")
    (tmp_path / "shop02.password").chmod(0o644)
    [found] = risks(tmp_path, rpc_managers=managers)
    assert "can read" in found
    (tmp_path / "shop02.password").chmod(0o600)
    assert risks(tmp_path, rpc_managers=managers) == []
