"""`openmsmq audit`."""

from __future__ import annotations

import json
import os
from pathlib import Path

from tests.unit.cli.commands import Cli


def test_administrative_acts_are_shown(cli: Cli) -> None:
    cli("queue", "create", "orders")
    cli("queue", "set", "orders", "--label", "new")
    cli("queue", "permissions", "set", "orders", "--allow", "user:anna=send")
    cli("message", "send", "orders", "--body", "1")
    cli("queue", "purge", "orders", "--yes")
    cli("queue", "delete", "orders", "--yes")
    found = cli.objects("audit")
    acts = ["create queue", "change queue", "set permissions", "purge", "delete queue"]
    assert [entry["act"] for entry in found] == acts
    assert {entry["target"] for entry in found} == {r".\private$\orders"}
    assert {entry["who"] for entry in found} == {"administrators"}
    assert found[1]["reason"] == "label = new"
    assert all(entry["allowed"] and entry["by"] for entry in found)
    assert "set permissions" in cli("audit", "--last", "3").stdout


def test_entries_are_chosen_by_who_what_and_when(cli: Cli) -> None:
    for name in ("orders", "invoices"):
        cli("queue", "create", name)
    [found] = cli.objects("audit", "--target", "*INV*")
    assert found["number"] == 2
    assert cli.objects("audit", "--denied") == []
    assert cli.objects("audit", "--who", "user:*") == []
    assert cli.objects("audit", "--act", "delete*") == []
    assert cli.objects("audit", "--until", "2001-01-01") == []
    assert len(cli.objects("audit", "--since", "2001-01-01T10:00")) == 2
    assert [entry["number"] for entry in cli.objects("audit", "--after", "1")] == [2]
    assert [entry["number"] for entry in cli.objects("audit", "--last", "1")] == [2]


def test_opens_are_recorded_if_that_is_set(cli: Cli, tmp_path: Path) -> None:
    plan = tmp_path / "plan.toml"
    plan.write_text("[settings]\naudit_opens = true\n")
    cli("queue", "create", "orders")
    cli("apply", str(plan), "--yes")
    cli("message", "send", "orders", "--body", "1")
    found = cli.objects("audit", "--act", "open")[-1]
    assert (found["target"], found["allowed"]) == (r".\private$\orders", True)
    assert "send" in found["reason"]


def test_an_export_goes_on_where_it_ended(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "audit.jsonl"
    cli("queue", "create", "orders")
    assert cli("audit", "--export", str(file)).stdout == "1 exported\n"
    assert cli("audit", "--export", str(file)).stdout == "0 exported\n"
    cli("queue", "create", "invoices")
    cli("audit", "--export", str(file))
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert [line["number"] for line in lines] == [1, 2]
    assert file.stat().st_mode & 0o777 == 0o600
    file.write_text("no entry\n")
    assert "no entry of an audit log" in cli("audit", "--export", str(file), code=2).stderr


def test_changes_of_tokens_and_users_are_shown(cli: Cli) -> None:
    cli("queue", "create", "orders")
    [made] = cli.objects("token", "create", "--role", "send", "--queue", "orders")
    cli("user", "add", "anna", "--role", "read", "--kerberos")
    cli("user", "remove", "anna")
    cli("token", "revoke", made["id"])
    found = cli.objects("audit", "--after", "1")
    assert [(entry["act"], entry["target"]) for entry in found] == [
        ("create token", f"token:{made['id']}"),
        ("revoke token", f"token:{made['id']}"),
        ("add user", "user:anna"),
        ("remove user", "user:anna"),
    ]
    assert {entry["who"] for entry in found} == {f"unix:{os.getuid()}"}
    assert cli.objects("audit", "--after", "1") == found
