"""`openmsmq directory`, against an LDAP server in a thread."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from tests.directories import BASE, CERTIFICATE, guid_of
from tests.unit.cli.directory.conftest import Directory

import openmsmq


def test_the_enterprise_is_shown(directory: Directory) -> None:
    text = directory("show").stdout
    assert "5 sites, 3 links, 5 managers" in text
    assert "HQ - Plant" in text
    assert "hq-gate.openmsmq.test" in text
    kinds = [item["kind"] for item in directory.objects("show")]
    assert (kinds.count("site"), kinds.count("link"), kinds.count("manager")) == (5, 3, 5)


def test_queues_are_found_made_changed_and_deleted(directory: Directory) -> None:
    assert len(directory.objects("find")) == 5
    (orders,) = directory.objects("find", "--label", "orders of the HQ")
    assert orders["path_name"] == "hq-app\\orders"
    assert directory.objects("find", "--id", orders["id"]) == [orders]
    assert directory.objects("find", "--type", orders["type"]) == [orders]
    assert len(directory.objects("find", "--computer", "HQ-APP")) == 3
    (made,) = directory.objects("create-queue", "hq-app\\new", "--label", "fresh", "--journal")
    directory("set-queue", "hq-app\\new", "--label", "old", "--quota", "7")
    (changed,) = directory.objects("find", "--path", "hq-app\\new")
    assert (changed["id"], changed["label"], changed["quota"]) == (made["id"], "old", 7)
    assert "PUBLIC=" in directory("create-queue", "hq-app\\more").stdout
    directory("delete-queue", "hq-app\\new")
    assert "QueueNotFound" in directory("find", "--path", "hq-app\\new", code=1).output
    directory("set-queue", "hq-app\\more", code=2)
    assert "hq-app\\orders" in directory("find").stdout


def test_the_manager_of_a_queue_is_notified(
    directory: Directory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """MQDS-205, MQDS-206, MQDS-208, MQDS-211"""
    with openmsmq.open(tmp_path / "manager") as manager:
        asked = []

        def connect(address: str, token: str) -> Any:
            asked.append((address, token))
            return nullcontext(manager)

        monkeypatch.setattr(openmsmq, "connect", connect)
        monkeypatch.setenv("OPENMSMQ_TOKEN", "secret")
        by = ("--notify-by", "127.0.0.1:1811")
        (made,) = directory.objects("create-queue", "hq-app\\new", *by)
        directory("set-queue", "hq-app\\new", "--label", "old", *by)
        directory("delete-queue", "hq-app\\new", *by)
        assert asked == [("127.0.0.1:1811", "secret")] * 3
        owner = directory.run(
            guid_of(directory.server.tree, f"CN=msmq,CN=HQ-APP,OU=Servers,{BASE}")
        )
        (queue,) = manager.outgoing()
        assert queue.name == f"PRIVATE={owner}\\00000003"
        assert queue.messages == 3
        UUID(made["id"])


def test_members_and_certificates(directory: Directory, tmp_path: Path) -> None:
    tree = directory.server.tree
    everything = directory.run(guid_of(tree, f"CN=mq-all,OU=MQ,{BASE}"))
    assert len(directory("members", str(everything)).stdout.splitlines()) == 3
    file = tmp_path / "ann.der"
    file.write_bytes(CERTIFICATE)
    directory("certificate", "ann", str(file))
    assert "no user bob" in directory("certificate", "bob", str(file), code=1).output
