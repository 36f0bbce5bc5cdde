"""`openmsmq subscription`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.unit.cli.commands import Cli

from openmsmq import Message


@pytest.fixture
def reading(cli: Cli) -> Cli:
    """`lake` has taken two of three orders and is done with one, `audit` has no copies yet."""
    with cli.open() as manager:
        queue = manager.create_queue("orders")
        queue.send_many([Message(b"1"), Message(b"2"), Message(b"3")])
        lake = queue.subscription("lake")
        lake.reserve(0, 2)
        lake.commit(1)
        queue.subscription("audit", copy=True)
    return cli


def test_subscriptions_are_listed(reading: Cli) -> None:
    head, audit, lake = reading.lines("subscription", "list")
    columns = "NAME QUEUE MODE COMMITTED RESERVED UNCOMMITTED UNREAD SIZE LAG IDLE"
    assert head.split() == columns.split()
    assert audit.split()[:6] == ["audit", r".\private$\orders", "copy", "0", "0", "0"]
    assert lake.split()[:6] == ["lake", r".\private$\orders", "take", "1", "2", "1"]
    [found] = reading.objects("subscription", "list", "LA*")
    assert found == {
        "name": "lake",
        "queue": r".\private$\orders",
        "copy": False,
        "committed": 1,
        "reserved": 2,
        "uncommitted": 1,
        "bytes": found["bytes"],
        "idle": found["idle"],
        "lag": 1,
        "oldest": found["oldest"],
        "owner": "",
        "unread": 0,
        "queue_id": found["queue_id"],
    }
    assert 0 <= found["oldest"] < 1000
    assert 0 <= found["idle"] < 1000
    assert reading.lines("subscription", "list", "other") == []


def test_a_subscription_is_dropped(reading: Cli) -> None:
    assert reading.lines("subscription", "drop", "lake", "ORDERS", "--yes") == [
        r"dropped lake of .\private$\orders with 1 message uncommitted"
    ]
    assert reading.bodies("orders") == [b"2", b"3"]
    assert reading.objects("subscription", "drop", "audit", r".\private$\orders", "--yes") == [
        {"name": "audit", "queue": r".\private$\orders", "state": "dropped", "uncommitted": 0}
    ]
    assert reading.lines("subscription", "list") == []


def test_an_unknown_subscription_is_refused(reading: Cli) -> None:
    refused = reading("subscription", "drop", "lake", "others", code=1).stderr
    assert "others has no subscription lake" in refused


def test_names_are_completed(reading: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    from click.shell_completion import ShellComplete

    from openmsmq.cli.main import main

    monkeypatch.setenv("OPENMSMQ_DATA", str(reading.directory))
    complete = ShellComplete(main, {}, "openmsmq", "_OPENMSMQ_COMPLETE")

    def names(*arguments: str) -> list[str]:
        return [item.value for item in complete.get_completions(list(arguments), "")]

    assert names("subscription", "drop") == ["audit", "lake"]
    assert names("subscription", "drop", "lake") == ["orders"]


def test_a_backup_has_them(reading: Cli, tmp_path: Path) -> None:
    def listed() -> list[dict[str, Any]]:
        shown = reading.objects("subscription", "list")
        return [{**found, "idle": 0, "oldest": 0} for found in shown]  # these are ages

    before = listed()
    reading("backup", str(tmp_path / "copy"))
    reading("subscription", "drop", "lake", "orders", "--yes")
    reading("restore", str(tmp_path / "copy"), "--force")
    assert listed() == before
    reading("check")
    with reading.open() as manager:
        lake = manager.open_queue("orders").subscription("lake")
        assert [message.body for message in lake.read(1, 2)] == [b"2"]


def test_drop_unread_returns_what_a_reader_has_skipped(cli: Cli) -> None:
    with cli.open() as manager:
        queue = manager.create_queue("orders")
        queue.send_many([Message(b"1"), Message(b"2"), Message(b"3")])
        for name, copy in (("lake", False), ("audit", True)):
            lake = queue.subscription(name, copy=copy, owner="me")
            lake.bind()
            lake.commit(lake.reserve(0, 2))
        queue.purge()
    (_, _, lake_row) = cli.lines("subscription", "list")
    assert lake_row.split()[:7] == ["lake", r".\private$\orders", "take", "2", "2", "0", "2"]
    assert cli.lines("subscription", "drop", "lake", "orders", "--unread") == [
        r"returned 2 messages of .\private$\orders that lake never read"
    ]
    assert cli.bodies("orders") == [b"1", b"2"]
    assert cli.objects("subscription", "drop", "lake", "orders", "--unread") == [
        {"name": "lake", "queue": r".\private$\orders", "unread": 0}
    ]
    assert cli.lines("subscription", "drop", "audit", "orders", "--unread") == [
        r"dropped 1 message of .\private$\orders that audit never read"
    ]
