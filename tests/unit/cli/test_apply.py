"""`openmsmq apply`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.unit.cli.commands import Cli

SHOP = r"""
[settings]
history = 10
quota = 100000
[queue.orders]
transactional = true
quota = 2048
[queue.'private$\bills']
label = "bills"
privacy = "body"
type = "00000000-0000-0000-0000-00000000004d"
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Two queues and some settings."""
    path = tmp_path / "shop.toml"
    path.write_text(SHOP)
    return path


def queues(cli: Cli) -> dict[str, dict[str, Any]]:
    return {found["name"].rpartition("\\")[2]: found for found in cli.objects("queue", "list")}


def test_a_file_becomes_a_manager(cli: Cli, file: Path) -> None:
    output = cli("apply", str(file), "--yes").stdout
    assert "+ create" in " ".join(output.split())
    assert "done: 3 changes" in output
    found = queues(cli)
    assert (found["orders"]["transactional"], found["orders"]["quota"]) == (True, 2048)
    assert (found["bills"]["label"], found["bills"]["privacy"]) == ("bills", 2)
    with cli.open() as manager:
        assert (manager.settings().history, manager.settings().quota) == (10, 100_000)


def test_a_second_time_there_is_nothing_to_do(cli: Cli, file: Path) -> None:
    cli("apply", str(file), "--yes")
    before = queues(cli)
    output = cli("apply", str(file)).stdout
    assert output.endswith("nothing to do\n")
    assert queues(cli) == before


def test_a_plan_is_shown_before_anything_is_done(cli: Cli, file: Path) -> None:
    plan = cli.objects("apply", str(file), "--dry-run")
    assert cli.is_new
    assert plan[0]["name"] is None
    assert plan[1] == {
        "action": "create",
        "name": r".\private$\orders",
        "changes": {
            "transactional": {"from": None, "to": True},
            "quota": {"from": None, "to": 2048},
        },
    }
    assert plan[2]["changes"]["type"]["to"] == "00000000-0000-0000-0000-00000000004d"


def test_differences_are_shown_and_done(cli: Cli, file: Path) -> None:
    cli("apply", str(file), "--yes")
    text = SHOP.replace("quota = 2048", 'quota = "none"\njournal = true').replace("body", "none")
    file.write_text(text.replace('"bills"', '""').replace("history = 10", "history = 0"))
    words = " ".join(cli("apply", str(file), "--yes").stdout.split())
    assert "~ change settings history 10 -> 0" in words
    assert r"~ change .\private$\orders quota 2048 -> none, journal off -> on" in words
    assert r'~ change .\private$\bills label bills -> "", privacy body -> none' in words
    found = queues(cli)
    assert (found["orders"]["quota"], found["orders"]["journal"]) == (None, True)
    assert (found["bills"]["label"], found["bills"]["privacy"]) == ("", 0)
    with cli.open() as manager:
        assert manager.settings().history == 0


def test_without_a_person_agreement_is_an_option(cli: Cli, file: Path) -> None:
    result = cli("apply", str(file), code=2)
    assert "--yes" in result.stderr
    assert r".\private$\orders" in result.stdout
    assert cli.is_new


@pytest.mark.usefixtures("terminal")
def test_a_person_is_asked(cli: Cli, file: Path) -> None:
    assert "Carry this out?" in cli("apply", str(file), stdin="n\n", code=1).stderr
    assert cli.is_new
    cli("apply", str(file), stdin="y\n")
    assert sorted(queues(cli)) == ["bills", "orders"]


def test_a_wrong_file_changes_nothing(cli: Cli, file: Path) -> None:
    file.write_text(SHOP + "labell = 'a'")
    result = cli("apply", str(file), "--yes", code=2)
    assert r"queue.'private$\bills'.labell: no such key; did you mean label?" in result.stderr
    assert str(file) in result.stderr
    assert cli.is_new
    file.write_bytes(b"\xff")
    cli("apply", str(file), "--yes", code=2)
    cli("apply", str(file.parent / "missing.toml"), code=2)


def test_what_cannot_be_reached_changes_nothing(cli: Cli, file: Path) -> None:
    cli("queue", "create", "orders")
    result = cli("apply", str(file), "--yes", code=1)
    assert "cannot change that" in result.stderr
    assert sorted(queues(cli)) == ["orders"]


def test_queues_are_pruned(cli: Cli, file: Path) -> None:
    cli("queue", "create", "old")
    cli.fill("full", b"1", b"2")
    assert "holds 2 messages" in cli("apply", str(file), "--yes", "--prune", code=1).stderr
    assert sorted(queues(cli)) == ["full", "old"]
    words = " ".join(cli("apply", str(file), "--yes", "--prune", "--force").stdout.split())
    assert r"- delete .\private$\full with 2 messages" in words
    assert sorted(queues(cli)) == ["bills", "orders"]


def test_json_has_what_is_deleted(cli: Cli, file: Path) -> None:
    cli.fill("full", b"1", b"2")
    plan = cli.objects("apply", str(file), "--prune", "--force", "--dry-run")
    assert plan[-1] == {"action": "delete", "name": r".\private$\full", "messages": 2}


def test_a_program_gets_nothing_but_the_plan(cli: Cli, file: Path) -> None:
    assert [step["action"] for step in cli.objects("apply", str(file), "--yes")] == [
        "change",
        "create",
        "create",
    ]
    assert {step["action"] for step in cli.objects("apply", str(file))} == {"keep"}


def test_an_empty_file_wants_nothing(cli: Cli, file: Path) -> None:
    file.write_text("")
    assert cli.lines("apply", str(file)) == ["nothing to do"]
