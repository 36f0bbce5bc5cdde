"""Managers in the directory, against an LDAP server in a thread."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from tests.directories import BASE
from tests.unit.cli.directory.conftest import Directory

import openmsmq
from openmsmq.directory.objects import ManagerObject
from openmsmq.directory.rights import CREATE_CHILD, QUEUE_CLASS, object_ace
from openmsmq.directory.writer import DirectoryWriter
from openmsmq.security.descriptor import SecurityDescriptor
from openmsmq.security.sid import EVERYONE


def manager(directory: Directory, name: str) -> dict[str, Any]:
    """What the directory says of a manager."""
    found = directory.objects("show")
    (one,) = [item for item in found if item.get("account") == f"{name}$"]
    return one


def add_computer(directory: Directory, name: str) -> None:
    attributes = {"objectClass": [b"computer"], "sAMAccountName": [f"{name}$".encode()]}
    directory.run(directory.server.tree.add(f"CN={name},OU=Servers,{BASE}", attributes))


def test_a_manager_joins(directory: Directory, tmp_path: Path) -> None:
    add_computer(directory, "NEW")
    data = str(tmp_path / "data")
    (joined,) = directory.objects("join", "--name", "NEW", "--site", "HQ", "--data", data)
    (again,) = directory.objects("join", "--name", "NEW", "--site", "HQ", "--data", data)
    assert again["id"] == joined["id"]
    assert joined["id"] in directory("join", "--name", "NEW", "--site", "HQ", "--data", data).stdout


def test_a_computer_of_another_system_is_registered(directory: Directory) -> None:
    """MQDS-166: everyone may create queues of it."""
    add_computer(directory, "BROKER1")
    directory("create-foreign-site", "rabbitmq")
    (made,) = directory.objects("create-foreign-manager", "BROKER1", "--site", "rabbitmq")
    found = manager(directory, "BROKER1")
    assert (found["id"], found["foreign"]) == (made["id"], True)
    writer = DirectoryWriter(directory.server.tree)
    kept = directory.run(writer.by_id(ManagerObject, UUID(made["id"]), security=True))
    dacl = SecurityDescriptor.decode(kept.security).dacl
    assert dacl is not None
    assert object_ace(EVERYONE, CREATE_CHILD, QUEUE_CLASS) in dacl.aces
    assert made["id"] in directory("create-foreign-manager", "BROKER1", "--site", "rabbitmq").stdout
    refused = directory("create-foreign-manager", "HQ-APP", "--site", "rabbitmq", code=1)
    assert "not foreign" in refused.output


def test_a_manager_is_changed_and_notified(
    directory: Directory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """MQDS-067, MQDS-068, MQDS-207"""
    with openmsmq.open(tmp_path / "manager") as local:
        monkeypatch.setattr(openmsmq, "connect", lambda address, token: nullcontext(local))
        change = ("set-manager", "HQ-APP", "--notify-by", "127.0.0.1:1811")
        directory(*change, "--out", "HQ-GATE", "--in", "HQ-GATE", "--quota", "4711")
        gate = manager(directory, "HQ-GATE")["id"]
        found = manager(directory, "HQ-APP")
        assert (found["out_servers"], found["in_servers"]) == ([gate], [gate])
        assert found["quota"] == 4711
        (queue,) = local.outgoing()
        assert (queue.name, queue.messages) == (f"PRIVATE={found['id']}\\00000003", 1)
    directory("set-manager", "HQ-APP", "--no-out", "--no-in", "--journal-quota", "5")
    found = manager(directory, "HQ-APP")
    assert (found["out_servers"], found["in_servers"], found["journal_quota"]) == ([], [], 5)


def test_a_manager_becomes_a_router_and_moves(directory: Directory) -> None:
    directory("set-manager", "HQ-APP", "--router", "--site", "Plant")
    found = manager(directory, "HQ-APP")
    assert (found["router"], found["services"] & 1) == (True, 1)
    writer = DirectoryWriter(directory.server.tree)
    sites = {
        item["name"]: item["id"] for item in directory.objects("show") if item["kind"] == "site"
    }
    assert found["sites"] == [sites["Plant"]]
    settings = f"CN=MSMQ Settings,CN=HQ-APP,CN=Servers,CN=Plant,CN=Sites,CN=Configuration,{BASE}"
    assert directory.run(writer.id_of(settings)) is not None
    directory("set-manager", "HQ-APP", "--no-router")
    assert directory.run(writer.id_of(settings)) is None
    assert manager(directory, "HQ-APP")["services"] & 1 == 0


@pytest.mark.parametrize(
    "wrong",
    [(), ("--out", "HQ-GATE", "--no-out"), ("--in", "HQ-GATE", "--no-in"), ("--quota", "-1")],
)
def test_a_change_that_says_nothing_or_too_much_is_refused(
    directory: Directory, wrong: tuple[str, ...]
) -> None:
    directory("set-manager", "HQ-APP", *wrong, code=2)


def test_a_manager_that_is_not_there_is_not_changed(directory: Directory) -> None:
    assert "no computer other" in directory("set-manager", "other", "--quota", "1", code=1).output
    unknown = directory("set-manager", "HQ-APP", "--out", "other", code=1)
    assert "no computer other" in unknown.output


def test_managers_are_deleted_with_their_queues(directory: Directory) -> None:
    """MQDS-083, MQDS-084, MQDS-085: by computer, identifier and distinguished name."""
    asked = directory("delete-manager", "HQ-APP", code=2)
    assert "3 public queues" in asked.output
    assert len(directory.objects("find", "--computer", "HQ-APP")) == 3
    (deleted,) = directory.objects("delete-manager", "hq-app", "--yes")
    assert (deleted["deleted"], deleted["queues"]) == ("HQ-APP", 3)
    directory("delete-manager", manager(directory, "HQ-GATE")["id"], "--yes")
    path = manager(directory, "PL-GATE")["path"]
    directory("delete-manager", path, "--yes")
    left = [item["account"] for item in directory.objects("show") if item["kind"] == "manager"]
    assert set(left).isdisjoint({"HQ-APP$", "HQ-GATE$", "PL-GATE$"})
    assert len(left) == 2
    directory("delete-manager", "HQ-APP", "--yes", code=1)
